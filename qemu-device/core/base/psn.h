// SPDX-License-Identifier: GPL-2.0-or-later
// Packet sequence numbers: 24 bits that wrap.
#pragma once

#include <cstdint>

namespace verna {

inline constexpr uint32_t kPsnMask = 0xffffff;
/// Half of the number space: what lies further ahead counts as behind.
inline constexpr uint32_t kPsnHalf = 0x800000;

inline uint32_t psn_add(uint32_t psn, uint32_t n) { return (psn + n) & kPsnMask; }

/// Steps forward from `from` to `to`, 0..2^24-1.
inline uint32_t psn_distance(uint32_t from, uint32_t to) { return (to - from) & kPsnMask; }

/// True if `psn` comes before `other`. Exactly half the space away counts as before, so that the
/// first packet of the longest possible READ (2^23 packets) is still known as a duplicate.
inline bool psn_before(uint32_t psn, uint32_t other) {
  return psn_distance(other, psn) >= kPsnHalf;
}

}  // namespace verna
