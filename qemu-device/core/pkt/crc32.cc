// SPDX-License-Identifier: GPL-2.0-or-later
#include "pkt/crc32.h"

#include <isa-l/crc.h>

namespace verna {

uint32_t crc32(uint32_t crc, const void* data, size_t len) {
  return crc32_gzip_refl(crc, static_cast<const uint8_t*>(data), len);
}

}  // namespace verna
