// SPDX-License-Identifier: GPL-2.0-or-later
// CRC-32 of IEEE 802.3 (the FCS of frames and the ICRC of RoCEv2) and CRC-32C (SCTP).
#pragma once

#include <cstddef>
#include <cstdint>

namespace verna {

/// CRC of `len` bytes at `data` after bytes whose CRC is `crc` (0 at the start). On the wire it is
/// stored little endian, least significant byte first.
uint32_t crc32(uint32_t crc, const void* data, size_t len);

/// The same with Castagnoli's polynomial (RFC 9260 appendix A).
uint32_t crc32c(uint32_t crc, const void* data, size_t len);

}  // namespace verna
