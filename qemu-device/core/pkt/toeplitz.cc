// SPDX-License-Identifier: GPL-2.0-or-later
#include "pkt/toeplitz.h"

#include <algorithm>

#include "base/types.h"

namespace verna {
namespace {

/// The 32 bits of the key that start at bit `first`, bit 0 being the most significant of byte 0.
uint32_t key_window(const uint8_t* key, size_t first) {
  const size_t byte = first / 8;
  const unsigned shift = first % 8;
  const uint64_t five = uint64_t{load_be32(key + byte)} << 8 | key[byte + 4];
  return static_cast<uint32_t>(five >> (8 - shift));
}

}  // namespace

void Toeplitz::set_key(const uint8_t (&key)[VERNA_RSS_KEY_SIZE]) {
  uint8_t padded[VERNA_RSS_KEY_SIZE + 1] = {};  // the last window ends with the key
  std::copy(std::begin(key), std::end(key), padded);
  for (size_t nibble = 0; nibble < table_.size(); nibble++) {
    for (unsigned value = 0; value < 16; value++) {
      uint32_t sum = 0;
      for (unsigned bit = 0; bit < 4; bit++)
        if (value & 8u >> bit) sum ^= key_window(padded, nibble * 4 + bit);
      table_[nibble][value] = sum;
    }
  }
}

uint32_t Toeplitz::hash(const uint8_t* input, size_t len) const {
  uint32_t sum = 0;
  for (size_t i = 0; i < std::min(len, kMaxInput); i++)
    sum ^= table_[2 * i][input[i] >> 4] ^ table_[2 * i + 1][input[i] & 15];
  return sum;
}

}  // namespace verna
