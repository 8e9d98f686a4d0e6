// SPDX-License-Identifier: GPL-2.0-or-later
// One turn of a source, as those who share with it see it.
#pragma once

#include <algorithm>

#include "sched/tx_source.h"

namespace verna {

/// What the turn of a source came to.
struct TxTurn {
  static constexpr uint32_t kIdleCost = 4096;  // of one that ended for lack of work

  uint32_t budget;  // bytes that it was given
  uint64_t sent;
  TxSource::Result result;

  /// Bytes that it sent; those that stand for the work if it sent none, as it must have an end.
  uint64_t cost_or_bytes() const {
    return sent || result == TxSource::Result::kWireFull ? sent : kIdleCost;
  }
  /// Bytes that stand for the work that it was.
  uint32_t cost() const {
    if (result != TxSource::Result::kMore || sent == 0) return kIdleCost;
    return std::max(budget, static_cast<uint32_t>(sent));
  }
};

}  // namespace verna
