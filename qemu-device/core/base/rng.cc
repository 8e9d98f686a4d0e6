// SPDX-License-Identifier: GPL-2.0-or-later
// ChaCha20 as in RFC 8439, with a zero nonce and a 64-bit block counter.
#include "base/rng.h"

#include <bit>

#include "base/types.h"

namespace verna {
namespace {

constexpr uint32_t kSigma[4] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

void quarter_round(uint32_t* s, int a, int b, int c, int d) {
  s[a] += s[b];
  s[d] = std::rotl(s[d] ^ s[a], 16);
  s[c] += s[d];
  s[b] = std::rotl(s[b] ^ s[c], 12);
  s[a] += s[b];
  s[d] = std::rotl(s[d] ^ s[a], 8);
  s[c] += s[d];
  s[b] = std::rotl(s[b] ^ s[c], 7);
}

void double_round(uint32_t* s) {
  for (int i = 0; i < 4; i++) quarter_round(s, i, i + 4, i + 8, i + 12);
  for (int i = 0; i < 4; i++)
    quarter_round(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
}

/// SplitMix64, which spreads a small seed over a key.
uint64_t split_mix(uint64_t* state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Rng::Rng(const uint8_t (&seed)[32]) {
  for (int i = 0; i < 8; i++) key_[i] = load_le<uint32_t>(seed + 4 * i);
}

Rng::Rng(uint64_t seed) {
  for (int i = 0; i < 8; i += 2) {
    const uint64_t v = split_mix(&seed);
    key_[i] = static_cast<uint32_t>(v);
    key_[i + 1] = static_cast<uint32_t>(v >> 32);
  }
}

void Rng::refill() {
  uint32_t in[16];
  for (int i = 0; i < 4; i++) in[i] = kSigma[i];
  for (int i = 0; i < 8; i++) in[4 + i] = key_[i];
  in[12] = static_cast<uint32_t>(counter_);
  in[13] = static_cast<uint32_t>(counter_ >> 32);
  in[14] = in[15] = 0;
  counter_++;
  std::memcpy(block_, in, sizeof block_);
  for (int i = 0; i < 10; i++) double_round(block_);
  for (int i = 0; i < 16; i++) block_[i] += in[i];
  used_ = 0;
}

uint32_t Rng::next32() {
  if (used_ == 16) refill();
  return block_[used_++];
}

uint32_t Rng::below(uint32_t bound) {
  // Values below 2^32 mod bound would make small results more likely.
  const uint32_t skip = (0u - bound) % bound;
  for (;;) {
    const uint32_t v = next32();
    if (v >= skip) return v % bound;
  }
}

}  // namespace verna
