// SPDX-License-Identifier: GPL-2.0-or-later
// A rate limit: a token bucket that is kept as a point in time.
#pragma once

#include "base/types.h"

namespace verna {

/// Lets `kbps` through on average, and `burst` bytes at once after a pause. What is sent may exceed
/// the bucket by one frame, which the next one waits for, so that the average is exact whatever the
/// size of frames and however late the caller comes, as long as that is within the burst.
class Shaper {
 public:
  /// `kbps` 0: no limit. `burst_bytes` 0: what the rate carries in kAutoBurst, which outlasts the
  /// time that a host takes to wake the card's thread. Bytes that may still be sent, or were sent
  /// too many, are kept; without a limit before, the burst may be sent at once.
  void configure(uint32_t kbps, uint32_t burst_bytes, Nanos now);

  bool limited() const { return kbps_ != 0; }
  uint32_t kbps() const { return kbps_; }
  /// Nothing may be sent before this.
  Nanos ready_at() const { return empty_at_ > burst_ns_ ? empty_at_ - burst_ns_ : 0; }
  /// Bytes that may be sent at `now`: 0, or at least 1.
  uint32_t allowance(Nanos now) const;
  void charge(uint64_t bytes, Nanos now);

 private:
  static constexpr Nanos kAutoBurst = 4'000'000;

  uint32_t kbps_ = 0;
  Nanos burst_ns_ = 0;     // time in which the rate carries the burst
  Nanos empty_at_ = 0;     // until then everything sent is paid for; earlier than now: credit
  uint64_t fraction_ = 0;  // of a nanosecond, in units of 1/kbps_
};

}  // namespace verna
