// SPDX-License-Identifier: GPL-2.0-or-later
// Random numbers of the card.
#pragma once

#include <cstdint>

namespace verna {

/// Source of keys and queue pair numbers. The shim seeds it from the system's entropy; simulations
/// seed it by number and then repeat byte for byte. It is a stream cipher (ChaCha20), so keys seen
/// by a guest do not tell the next ones.
class Rng {
 public:
  explicit Rng(const uint8_t (&seed)[32]);
  explicit Rng(uint64_t seed);
  uint32_t next32();
  uint64_t next64() { return static_cast<uint64_t>(next32()) << 32 | next32(); }
  /// Uniform in [0, bound), bound > 0.
  uint32_t below(uint32_t bound);

 private:
  void refill();
  uint32_t key_[8];
  uint64_t counter_ = 0;
  uint32_t block_[16];
  unsigned used_ = 16;
};

}  // namespace verna
