// SPDX-License-Identifier: GPL-2.0-or-later
// Walks Ethernet, VLAN, IPv4 and IPv6 headers in the card's private copy.
#include <algorithm>

#include "pkt/packet_view.h"

namespace verna {
namespace {

constexpr int kMaxVlanTags = 2;
constexpr int kMaxExtensions = 8;

enum Ipv6Next : uint8_t {
  kHopByHop = 0,
  kRouting = 43,
  kFragment = 44,
  kAuthentication = 51,
  kDestination = 60,
  kMobility = 135,
};

/// Bytes of the upper-layer header that must be there before it is offered to later stages.
uint32_t l4_minimum(uint8_t proto) {
  if (proto == kProtoTcp) return 20;
  if (proto == kProtoUdp) return 8;
  if (proto == kProtoSctp) return 12;
  return 0;
}

void set_l4(const HeaderBytes& b, uint32_t offset, IpLayer* p) {
  const uint32_t end = offset + l4_minimum(p->ip_proto);
  if (end > p->l3_end || end > b.hdr_len) return;
  (p->fragment ? p->first_l4 : p->l4) = static_cast<uint16_t>(offset);
}

void parse_ipv4(const HeaderBytes& b, uint32_t l3, IpLayer* p) {
  if (l3 + kIpv4Bytes > b.hdr_len) return;
  const uint8_t* ip = b.hdr + l3;
  const uint32_t header = (ip[0] & 0xfu) * 4;
  const uint32_t total = load_be16(ip + 2);
  if (ip[0] >> 4 != 4 || header < kIpv4Bytes || total < header || l3 + header > b.hdr_len) return;
  p->l3 = static_cast<uint16_t>(l3);
  p->ip_version = 4;
  p->ip_proto = ip[9];
  p->l3_end = std::min(l3 + total, b.len);
  p->fragment = (load_be16(ip + 6) & 0x3fff) != 0;  // more fragments, or an offset
  p->first_fragment = p->fragment && (load_be16(ip + 6) & 0x1fff) == 0;
  if (!p->fragment || p->first_fragment) set_l4(b, l3 + header, p);
}

/// Length of the extension header `next` at `ext`, 0 if it is an upper layer to us.
uint32_t extension_length(uint8_t next, const uint8_t* ext) {
  switch (next) {
    case kHopByHop:
    case kRouting:
    case kDestination:
    case kMobility:
      return (ext[1] + 1u) * 8;
    case kFragment:
      return 8;
    case kAuthentication:
      return (ext[1] + 2u) * 4;
    default:
      return 0;
  }
}

/// Everything that is not an extension header, ESP for example, is an upper layer as it stands.
void parse_extensions(const HeaderBytes& b, uint32_t pos, IpLayer* p) {
  for (int i = 0; i < kMaxExtensions; i++) {
    if (pos + 8 > b.hdr_len || pos + 8 > p->l3_end) {
      set_l4(b, pos, p);
      return;
    }
    const uint8_t* ext = b.hdr + pos;
    const uint32_t length = extension_length(p->ip_proto, ext);
    if (length == 0) {
      set_l4(b, pos, p);
      return;
    }
    if (p->ip_proto == kFragment) {
      const uint16_t place = load_be16(ext + 2);
      p->fragment = (place & 0xfff9) != 0;
      p->first_fragment = p->fragment && place < 8;
    }
    p->ip_proto = ext[0];
    pos += length;
    if (p->fragment) {
      if (p->first_fragment) set_l4(b, pos, p);
      return;
    }
  }
}

void parse_ipv6(const HeaderBytes& b, uint32_t l3, IpLayer* p) {
  if (l3 + kIpv6Bytes > b.hdr_len) return;
  const uint8_t* ip = b.hdr + l3;
  if (ip[0] >> 4 != 6) return;
  p->l3 = static_cast<uint16_t>(l3);
  p->ip_version = 6;
  p->ip_proto = ip[6];
  p->l3_end = std::min(l3 + kIpv6Bytes + load_be16(ip + 4), b.len);
  parse_extensions(b, l3 + kIpv6Bytes, p);
}

/// Returns the offset of the header after the tags.
uint32_t parse_vlan(const HeaderBytes& b, FrameLayers* p) {
  uint32_t pos = p->eth + kMacAddressBytes;
  p->ethertype = load_be16(b.hdr + pos);
  while (is_vlan(p->ethertype) && p->vlan_tags < kMaxVlanTags &&
         pos + kVlanBytes + 2 <= b.hdr_len) {
    if (!p->has_vlan) p->vlan_tci = load_be16(b.hdr + pos + 2);
    p->has_vlan = true;
    p->vlan_tags++;
    pos += kVlanBytes;
    p->ethertype = load_be16(b.hdr + pos);
  }
  return pos + 2;
}

}  // namespace

bool is_ip_extension(uint8_t proto) {
  constexpr uint8_t kAnyLength[2] = {};
  return extension_length(proto, kAnyLength) != 0;
}

void parse_packet(const uint8_t* data, uint32_t len, PacketView* out) {
  out->hdr_len = std::min(len, PacketView::kHeaderBytes);
  std::memcpy(out->hdr, data, out->hdr_len);
  out->data = data;
  out->len = len;
  out->origin = {};
  parse_frame({out->hdr, out->hdr_len, len}, 0, out);
}

void parse_frame(const HeaderBytes& bytes, uint32_t eth, FrameLayers* out) {
  *out = {};
  if (eth + kMacHeaderBytes > bytes.hdr_len) return;
  out->eth = static_cast<uint16_t>(eth);
  const uint32_t l3 = parse_vlan(bytes, out);
  parse_ip(bytes, l3, out->ethertype, out);
}

void parse_ip(const HeaderBytes& bytes, uint32_t l3, uint16_t ethertype, IpLayer* out) {
  *out = {};
  if (ethertype == kEthertypeIpv4) parse_ipv4(bytes, l3, out);
  if (ethertype == kEthertypeIpv6) parse_ipv6(bytes, l3, out);
}

}  // namespace verna
