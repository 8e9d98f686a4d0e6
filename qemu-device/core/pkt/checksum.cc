// SPDX-License-Identifier: GPL-2.0-or-later
#include "pkt/checksum.h"

namespace verna {
namespace {

// Lanes of 64 bits whose halves are summed apart, so that no carry is lost and none must be looked
// for: compilers make vector instructions of it on every processor.
typedef uint64_t Lanes __attribute__((vector_size(32)));

// A lane holds the halves of 2^32 steps.
constexpr size_t kStep = sizeof(Lanes);

CsumSum add_blocks(CsumSum sum, const uint8_t** data, size_t* len) {
  Lanes low{}, high{};
  const uint8_t* p = *data;
  const uint8_t* end = p + *len / kStep * kStep;
  for (; p != end; p += kStep) {
    Lanes words;
    std::memcpy(&words, p, sizeof words);
    low += words & 0xffffffff;
    high += words >> 32;
  }
  *len -= static_cast<size_t>(p - *data);
  *data = p;
  for (size_t i = 0; i < kStep / sizeof(uint64_t); i++) sum = csum_join(sum, low[i] + high[i]);
  return sum;
}

}  // namespace

CsumSum csum_add(CsumSum sum, const void* data, size_t len) {
  const uint8_t* p = static_cast<const uint8_t*>(data);
  if (len >= kStep) sum = add_blocks(sum, &p, &len);
  for (; len >= 4; len -= 4, p += 4) sum = csum_join(sum, load_le<uint32_t>(p));
  if (len >= 2) {
    sum = csum_join(sum, load_le<uint16_t>(p));
    p += 2;
  }
  return len & 1 ? csum_join(sum, *p) : sum;
}

}  // namespace verna
