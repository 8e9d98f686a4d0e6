// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/tx_request.h"

#include "pkt/protocols.h"

namespace verna {
namespace {

constexpr uint16_t kTags = VERNA_TX_F_VLAN | VERNA_TX_F_SVLAN;
constexpr uint16_t kSums = VERNA_TX_F_CSUM | VERNA_TX_F_CRC32C;
constexpr uint16_t kCuts = VERNA_TX_F_TSO | VERNA_TX_F_USO;
constexpr uint16_t kIds = VERNA_TX_F_FIXED_ID | VERNA_TX_F_OUTER_FIXED_ID;
constexpr uint16_t kKnown =
    VERNA_TX_F_EOP | kTags | kSums | kCuts | kIds | VERNA_TX_F_KEEP_CWR | VERNA_TX_F_VPORT;

bool at_most_one(uint16_t flags) { return (flags & (flags - 1)) == 0; }

bool flags_valid(uint16_t flags) {
  if (flags & ~kKnown) return false;
  if (!at_most_one(flags & kTags) || !at_most_one(flags & (kSums | kCuts))) return false;
  if ((flags & kIds) && !(flags & kCuts)) return false;
  return !(flags & VERNA_TX_F_KEEP_CWR) || (flags & VERNA_TX_F_TSO);
}

/// A field that no flag uses must be zero.
bool fields_valid(const verna_tx_desc& d) {
  const bool sum = d.flags & kSums;
  const bool cut = d.flags & kCuts;
  if (d.vlan_tci && !(d.flags & kTags)) return false;
  if (d.csum_start && !sum && !cut) return false;
  if (d.csum_offset && !sum) return false;
  if (d.vport && !(d.flags & VERNA_TX_F_VPORT)) return false;
  if (cut) return d.mss != 0 && d.hdr_len != 0 && d.hdr_len <= VERNA_TX_MAX_HDR;
  return !d.mss && !d.hdr_len && !d.l3_offset && !d.outer_l3_offset && !d.outer_l4_offset;
}

bool continuation_valid(const verna_tx_desc& d) {
  return !(d.flags & ~VERNA_TX_F_EOP) && !d.vlan_tci && !d.csum_start && !d.csum_offset && !d.mss &&
         !d.hdr_len && !d.l3_offset && !d.outer_l3_offset && !d.outer_l4_offset && !d.vport;
}

/// The checksum lies inside of what it covers, and that inside of the packet.
bool checksum_fits(const verna_tx_desc& d, uint64_t bytes) {
  if (!(d.flags & kSums)) return true;
  const uint32_t size = d.flags & VERNA_TX_F_CSUM ? 2 : 4;
  return uint32_t{d.csum_start} + d.csum_offset + size <= bytes;
}

bool length_valid(const TxPacket& packet, uint32_t max_frame) {
  const verna_tx_desc& d = packet.request();
  if (packet.segmented()) return packet.bytes > d.hdr_len && packet.bytes <= kMaxTsoBytes;
  return packet.bytes >= kMacHeaderBytes && packet.bytes + tx_tag_bytes(d) <= max_frame;
}

}  // namespace

bool tx_request_valid(const TxPacket& packet, uint32_t max_frame) {
  for (uint32_t i = 0; i < packet.count; i++) {
    const verna_tx_desc& d = packet.frags[i];
    if (d.len == 0 || d.len > kMaxBufferBytes) return false;
    if (i > 0 && !continuation_valid(d)) return false;
  }
  const verna_tx_desc& request = packet.request();
  return flags_valid(request.flags) && fields_valid(request) && length_valid(packet, max_frame) &&
         checksum_fits(request, packet.bytes);
}

}  // namespace verna
