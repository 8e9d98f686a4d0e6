// SPDX-License-Identifier: GPL-2.0-or-later
#include "pkt/crc32.h"

#include <isa-l/crc.h>

namespace verna {

uint32_t crc32(uint32_t crc, const void* data, size_t len) {
  return crc32_gzip_refl(crc, static_cast<const uint8_t*>(data), len);
}

// The library wants the state as the polynomial has it, not inverted, and promises to change
// nothing though its pointer is not const. Its length is an int; a frame is far shorter.
uint32_t crc32c(uint32_t crc, const void* data, size_t len) {
  uint8_t* bytes = const_cast<uint8_t*>(static_cast<const uint8_t*>(data));
  return ~crc32_iscsi(bytes, static_cast<int>(len), ~crc);
}

}  // namespace verna
