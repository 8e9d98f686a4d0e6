// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/shaper.h"

#include <algorithm>

namespace verna {
namespace {

/// A byte takes so many nanoseconds at 1 kbit/s.
constexpr uint64_t kByteTime = 8'000'000;

Nanos time_of(uint64_t bytes, uint32_t kbps) { return bytes * kByteTime / kbps; }

/// Saturates: no bucket holds more than 4 GiB.
uint64_t bytes_in(Nanos time, uint32_t kbps) {
  const auto bytes = static_cast<double>(time) * kbps / static_cast<double>(kByteTime);
  return bytes >= 4294967295.0 ? 4294967295u : static_cast<uint64_t>(bytes);
}

}  // namespace

void Shaper::configure(uint32_t kbps, uint32_t burst_bytes, Nanos now) {
  const bool was_limited = limited();
  const uint64_t debt = was_limited && ready_at() > now ? bytes_in(ready_at() - now, kbps_) : 0;
  const uint64_t credit = was_limited ? allowance(now) : ~uint32_t{0};
  kbps_ = kbps;
  fraction_ = 0;
  burst_ns_ = 0;
  empty_at_ = 0;
  if (!kbps) return;
  burst_ns_ = burst_bytes ? time_of(burst_bytes, kbps) : kAutoBurst;
  empty_at_ = now + burst_ns_ + time_of(debt, kbps) - std::min(time_of(credit, kbps), burst_ns_);
}

uint32_t Shaper::allowance(Nanos now) const {
  if (!kbps_) return ~uint32_t{0};
  if (now < ready_at()) return 0;
  const Nanos credit = std::min(now - ready_at(), burst_ns_);
  return static_cast<uint32_t>(std::max<uint64_t>(1, bytes_in(credit, kbps_)));
}

void Shaper::charge(uint64_t bytes, Nanos now) {
  if (!kbps_) return;
  const uint64_t time = bytes * kByteTime + fraction_;
  empty_at_ = std::max(empty_at_, now) + time / kbps_;
  fraction_ = time % kbps_;
}

}  // namespace verna
