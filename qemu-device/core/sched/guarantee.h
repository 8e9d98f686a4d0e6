// SPDX-License-Identifier: GPL-2.0-or-later
// A rate that one is to have before others: when what it may send by it is due.
#pragma once

#include <algorithm>

#include "base/types.h"

namespace verna {

/// A point in time that moves on with what was sent, at `kbps`. It may stay behind the clock while
/// there is not enough for all guarantees; who has nothing to send does not gather more than
/// kBurst.
class Guarantee {
 public:
  static constexpr Nanos kBurst = 4'000'000;  // as a limit's, see Shaper

  /// 0: none.
  void configure(uint32_t kbps, Nanos now) {
    kbps_ = kbps;
    due_ = now;
    fraction_ = 0;
  }
  uint32_t kbps() const { return kbps_; }
  /// It has something to send again.
  void begin(Nanos now) { due_ = std::max(due_, now - std::min(now, kBurst)); }
  /// Nothing is due before this.
  Nanos due() const { return due_; }
  /// What is due stays due.
  void postpone(Nanos time, Nanos now) { due_ = std::max(due_, std::min(due_ + time, now)); }
  /// Bytes that are due at `now`, at least 1.
  uint32_t allowance(Nanos now) const {
    const double bytes = static_cast<double>(now - std::min(now, due_)) * kbps_ / kByteTime;
    return static_cast<uint32_t>(std::clamp(bytes, 1.0, 4294967295.0));
  }
  void charge(uint64_t bytes) {
    const uint64_t time = bytes * kByteTime + fraction_;
    due_ += time / kbps_;
    fraction_ = time % kbps_;
  }

 private:
  static constexpr uint64_t kByteTime = 8'000'000;  // ns, at 1 kbit/s

  uint32_t kbps_ = 0;
  Nanos due_ = 0;
  uint64_t fraction_ = 0;  // of a nanosecond, in units of 1/kbps_
};

}  // namespace verna
