// SPDX-License-Identifier: GPL-2.0-or-later
// A received frame: a private copy of its headers, where they lie, and the rest in place.
#pragma once

#include "pkt/protocols.h"

namespace verna {

/// Where an IP header and what follows it lie. Offsets are from the start of the frame; 0 means
/// "not there".
struct IpLayer {
  uint16_t l3 = 0;         // IPv4 or IPv6 header
  uint8_t ip_version = 0;  // 4, 6 or 0
  uint8_t ip_proto = 0;    // upper layer, after IPv6 extension headers that we know
  bool fragment = false;   // an IP fragment (then l4 is 0)
  bool first_fragment = false;
  uint16_t l4 = 0;
  uint16_t first_l4 = 0;  // upper layer of a first fragment, whose l4 is 0
  uint32_t l3_end = 0;  // end of the IP packet as its length field says, at most that of the frame
};

/// An Ethernet header and what follows it.
struct FrameLayers : IpLayer {
  uint16_t eth = 0;        // Ethernet header
  uint16_t ethertype = 0;  // after VLAN tags
  bool has_vlan = false;
  uint8_t vlan_tags = 0;  // 0 to 2; a third tag is the payload's
  uint16_t vlan_tci = 0;  // outer tag
};

/// Of a frame that no rule of the embedded switch decided.
struct SwitchOrigin {
  bool valid = false;  // else nothing of this
  uint16_t vport = 0;  // that it came from
  uint32_t chain = 0;  // in which its way ended
  uint32_t mark = 0;   // that a rule gave it, 0: none

  /// Not from the wire.
  bool is_function() const { return valid && vport != 0; }
  bool operator==(const SwitchOrigin&) const = default;
};

/// Every stage of reception reads headers from `hdr` (copied once, so that a peer that shares the
/// frame's memory cannot change them after a check) and payload from `data`.
struct PacketView : FrameLayers {
  static constexpr uint32_t kHeaderBytes = 256;

  uint8_t hdr[kHeaderBytes];
  uint32_t hdr_len = 0;           // min(len, kHeaderBytes)
  const uint8_t* data = nullptr;  // whole frame without FCS
  uint32_t len = 0;
  SwitchOrigin origin;

  const uint8_t* dmac() const { return hdr; }
  const uint8_t* smac() const { return hdr + 6; }
  bool is_group() const { return hdr[0] & 1; }
  /// Ports of TCP, UDP or SCTP; valid if l4 is set and ip_proto is one of these (then the whole
  /// fixed header is in `hdr` and inside of the IP packet).
  uint16_t sport() const { return load_be16(hdr + l4); }
  uint16_t dport() const { return load_be16(hdr + l4 + 2); }
};

/// Copies the headers of `data` (at least 14 bytes) and parses them. Never fails: what cannot be
/// parsed has no offsets.
void parse_packet(const uint8_t* data, uint32_t len, PacketView* out);

/// A packet's headers in memory that cannot change: `hdr_len` bytes at `hdr`, of `len` in all.
struct HeaderBytes {
  const uint8_t* hdr;
  uint32_t hdr_len;
  uint32_t len;
};
/// Parses the frame whose Ethernet header is at `eth`, by itself or inside of another. What cannot
/// be parsed has no offsets.
void parse_frame(const HeaderBytes& bytes, uint32_t eth, FrameLayers* out);
/// Parses the IPv4 or IPv6 header at `l3`, by itself or inside of another. What cannot be parsed
/// has no offsets.
void parse_ip(const HeaderBytes& bytes, uint32_t l3, uint16_t ethertype, IpLayer* out);
/// An IP protocol number of an extension header: as IpLayer::ip_proto, what is behind is unknown.
bool is_ip_extension(uint8_t proto);

}  // namespace verna
