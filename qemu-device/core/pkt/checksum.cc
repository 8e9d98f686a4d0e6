// SPDX-License-Identifier: GPL-2.0-or-later
#include "pkt/checksum.h"

namespace verna {
namespace {

// Lanes of 64 bits whose halves are summed apart, so that no carry is lost and none must be looked
// for: compilers make vector instructions of it on every processor. A lane holds the halves of 2^32
// steps. Two of them at a time keep the adders busy.
typedef uint64_t Lanes __attribute__((vector_size(16)));

constexpr size_t kStep = 2 * sizeof(Lanes);

Lanes load(const uint8_t* p) {
  Lanes words;
  std::memcpy(&words, p, sizeof words);
  return words;
}

CsumSum add_blocks(CsumSum sum, const uint8_t** data, size_t* len) {
  Lanes low[2]{}, high[2]{};
  const uint8_t* p = *data;
  const uint8_t* end = p + *len / kStep * kStep;
  for (; p != end; p += kStep) {
    const Lanes a = load(p), b = load(p + sizeof(Lanes));
    low[0] += a & 0xffffffff;
    high[0] += a >> 32;
    low[1] += b & 0xffffffff;
    high[1] += b >> 32;
  }
  *len -= static_cast<size_t>(p - *data);
  *data = p;
  const Lanes all = low[0] + low[1] + high[0] + high[1];
  return csum_join(csum_join(sum, all[0]), all[1]);
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
