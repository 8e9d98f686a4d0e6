// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/tx_offload.h"

#include "pkt/checksum.h"
#include "pkt/crc32.h"
#include "pkt/packet_view.h"

namespace verna {
namespace {

constexpr uint16_t kUdpChecksum = 6;  // offset in its header

}  // namespace

void tx_write_checksum(const verna_tx_desc& request, uint8_t* packet, uint32_t len) {
  const uint8_t* start = packet + request.csum_start;
  uint8_t* field = packet + request.csum_start + request.csum_offset;
  const size_t covered = len - request.csum_start;
  if (request.flags & VERNA_TX_F_CSUM) {
    // The field holds the sum of the pseudo header and is itself covered.
    const CsumSum sum = csum_add(0, start, covered);
    store_le(field, request.csum_offset == kUdpChecksum ? csum_finish_udp(sum) : csum_finish(sum));
  } else if (request.flags & VERNA_TX_F_CRC32C) {
    store_le<uint32_t>(field, 0);
    store_le(field, crc32c(0, start, covered));
  }
}

void tx_insert_tag(const verna_tx_desc& request, uint8_t* frame) {
  std::memmove(frame, frame + kVlanBytes, kMacAddressBytes);
  store_be16(frame + kMacAddressBytes,
             request.flags & VERNA_TX_F_SVLAN ? kEthertypeQinq : kEthertypeVlan);
  store_be16(frame + kMacAddressBytes + 2, request.vlan_tci);
}

}  // namespace verna
