// SPDX-License-Identifier: GPL-2.0-or-later
// The Toeplitz hash that hosts expect of receive side scaling.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "hw/verna_eth.h"

namespace verna {

/// Toeplitz hash with a 52-byte key. Hashes a nibble a step by tables that are made with the key.
class Toeplitz {
 public:
  static constexpr size_t kMaxInput = VERNA_RSS_KEY_SIZE - 4;  // all of an IPv6 packet fits

  void set_key(const uint8_t (&key)[VERNA_RSS_KEY_SIZE]);
  /// Hash of `len` (at most kMaxInput) bytes; 0 before the first set_key().
  uint32_t hash(const uint8_t* input, size_t len) const;

 private:
  std::array<std::array<uint32_t, 16>, 2 * kMaxInput> table_{};
};

}  // namespace verna
