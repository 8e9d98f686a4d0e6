// SPDX-License-Identifier: GPL-2.0-or-later
// What a function is to the transmit scheduler.
#pragma once

#include <array>

#include "hw/verna_cmd.h"
#include "sched/guarantee.h"
#include "sched/shaper.h"
#include "sched/tx_ring.h"

namespace verna {

/// Sources that have a rate in common and take turns together, those of a function.
struct TxGroup {
  /// What of it is in one class: it takes turns with other groups, its sources with each other.
  struct Part : TxMember {
    TxRing sources;     // that have something to send
    uint32_t cost = 0;  // of their turns in that of the group
    TxGroup* group = nullptr;
  };

  TxGroup() {
    for (Part& part : parts) part.group = this;
  }
  TxGroup(const TxGroup&) = delete;
  TxGroup& operator=(const TxGroup&) = delete;

  Shaper shaper;        // at most
  Guarantee guarantee;  // at least; charged with what is sent by it alone
  std::array<Part, VERNA_MAX_TX_CLASSES> parts;
};

}  // namespace verna
