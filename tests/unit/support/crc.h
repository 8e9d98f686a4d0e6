// SPDX-License-Identifier: GPL-2.0-or-later
// CRC-32 one bit at a time: slow and independent of the card's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace verna::test {

/// Feeds `len` bytes into a running CRC state (start with 0xffffffff, complement the end).
uint32_t crc32_update(uint32_t state, const uint8_t* data, size_t len);

/// The Ethernet frame check sequence of `len` bytes; sent in little endian order.
inline uint32_t ethernet_fcs(const uint8_t* data, size_t len) {
  return ~crc32_update(0xffffffff, data, len);
}

/// The ICRC of a RoCEv2 frame that starts with an Ethernet header (VLAN tags allowed) and ends
/// before the ICRC. 0 if it is no RoCEv2 frame. Sent in little endian order.
uint32_t roce_icrc(const uint8_t* frame, size_t len);

}  // namespace verna::test
