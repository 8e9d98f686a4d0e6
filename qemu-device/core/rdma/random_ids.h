// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers of objects that others must not guess: keys and queue pair numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_set>

#include "base/rng.h"

namespace verna {

/// Hands out random numbers of `bits` bits, none below `first` and never the largest (as a QPN that
/// is multicast). A number that was given back waits
/// behind kQuarantine others before it may come again, so that a stale key or a late packet does
/// not meet a new object.
class RandomIds {
 public:
  static constexpr size_t kQuarantine = 65536;

  RandomIds(Rng& rng, unsigned bits, uint32_t first)
      : rng_(rng), shift_(32 - bits), first_(first) {}

  /// The space must be much larger than the live numbers and the quarantine, so that this ends
  /// soon.
  uint32_t allocate() {
    uint32_t id;
    do {
      id = rng_.next32() >> shift_;
    } while (id < first_ || id == ~uint32_t{0} >> shift_ || !taken_.insert(id).second);
    return id;
  }

  void release(uint32_t id) {
    quarantine_.push_back(id);
    if (quarantine_.size() <= kQuarantine) return;
    taken_.erase(quarantine_.front());
    quarantine_.pop_front();
  }

 private:
  Rng& rng_;
  unsigned shift_;
  uint32_t first_;
  std::unordered_set<uint32_t> taken_;  // live or in quarantine
  std::deque<uint32_t> quarantine_;
};

}  // namespace verna
