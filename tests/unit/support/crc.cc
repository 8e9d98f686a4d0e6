// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/crc.h"

#include <algorithm>
#include <array>
#include <vector>

namespace verna::test {
namespace {

/// 256 remainders, made by the definition.
const std::array<uint32_t, 256>& table() {
  static const std::array<uint32_t, 256> made = [] {
    std::array<uint32_t, 256> t{};
    for (uint32_t i = 0; i < 256; i++) {
      uint32_t r = i;
      for (int bit = 0; bit < 8; bit++) r = (r & 1) ? (r >> 1) ^ 0xedb88320u : r >> 1;
      t[i] = r;
    }
    return t;
  }();
  return made;
}

uint16_t be16(const uint8_t* p) { return static_cast<uint16_t>(p[0] << 8 | p[1]); }

}  // namespace

uint32_t crc32_update(uint32_t state, const uint8_t* data, size_t len) {
  for (size_t i = 0; i < len; i++) state = (state >> 8) ^ table()[(state ^ data[i]) & 0xff];
  return state;
}

uint32_t roce_icrc(const uint8_t* frame, size_t len) {
  size_t l3 = 14;
  while (l3 + 2 <= len && (be16(frame + l3 - 2) == 0x8100 || be16(frame + l3 - 2) == 0x88a8)) {
    l3 += 4;
  }
  if (l3 + 20 > len) return 0;
  // What routers may change counts as ones; so does the LRH that an Ethernet frame does not have.
  std::vector<uint8_t> masked(8, 0xff);
  masked.insert(masked.end(), frame + l3, frame + len);
  uint8_t* ip = masked.data() + 8;
  size_t udp;
  if (be16(frame + l3 - 2) == 0x0800) {
    ip[1] = 0xff;
    ip[8] = 0xff;
    ip[10] = ip[11] = 0xff;
    udp = static_cast<size_t>(ip[0] & 0xf) * 4;
  } else {
    ip[0] |= 0x0f;
    ip[1] = ip[2] = ip[3] = 0xff;
    ip[7] = 0xff;
    udp = 40;
  }
  if (8 + udp + 8 + 12 > masked.size()) return 0;
  ip[udp + 6] = ip[udp + 7] = 0xff;
  ip[udp + 8 + 4] = 0xff;
  return ~crc32_update(0xffffffff, masked.data(), masked.size());
}

}  // namespace verna::test
