// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/tso_headers.h"

#include "pkt/packet_view.h"

namespace verna {
namespace {

constexpr int kNotIp = -1;

enum GreFlags : uint16_t { kGreChecksum = 0x8000, kGreKey = 0x2000 };

uint8_t ip_version(const uint8_t* ip) { return ip[0] >> 4; }

/// The upper layer of an IPv4 header that ends at `end`.
int ipv4_upper(const uint8_t* ip, uint32_t size) {
  if (size < kIpv4Bytes || (ip[0] & 0xfu) * 4 != size) return kNotIp;
  const bool fragment = load_be16(ip + 6) & 0x3fff;  // more fragments, or an offset
  return fragment ? kNotIp : ip[9];
}

/// Extension headers that can be repeated. A routing header must have arrived: with segments left
/// the checksum's destination would be another than the header's.
bool extension_repeats(uint8_t type, const uint8_t* ext) {
  switch (type) {
    case 0:   // hop by hop
    case 60:  // destination
      return true;
    case 43:  // routing
      return ext[3] == 0;
    default:
      return false;
  }
}

/// The upper layer of an IPv6 header whose last extension ends at `size`.
int ipv6_upper(const uint8_t* ip, uint32_t size) {
  if (size < kIpv6Bytes) return kNotIp;
  uint8_t next = ip[6];
  uint32_t at = kIpv6Bytes;
  while (at + 8 <= size) {
    const uint8_t* ext = ip + at;
    if (!extension_repeats(next, ext)) return kNotIp;
    next = ext[0];
    at += (ext[1] + 1u) * 8;
  }
  return at == size ? next : kNotIp;
}

/// Upper layer of the IP header at `l3` with all that is between it and `end`.
int upper_layer(const uint8_t* hdr, uint32_t l3, uint32_t end) {
  if (l3 >= end) return kNotIp;
  const uint8_t* ip = hdr + l3;
  if (ip_version(ip) == 4) return ipv4_upper(ip, end - l3);
  return ip_version(ip) == 6 ? ipv6_upper(ip, end - l3) : kNotIp;
}

/// Ethernet and its tags end where the outermost IP header begins, and name it.
bool link_layer_fits(const uint8_t* hdr, uint32_t l3) {
  if (l3 < kMacHeaderBytes) return false;
  uint32_t at = kMacHeaderBytes;
  uint16_t type = load_be16(hdr + at - 2);
  while (is_vlan(type) && at + kVlanBytes <= l3) {
    at += kVlanBytes;
    type = load_be16(hdr + at - 2);
  }
  return at == l3 && type == (ip_version(hdr + l3) == 4 ? kEthertypeIpv4 : kEthertypeIpv6);
}

}  // namespace

bool TsoHeaders::parse(const uint8_t* hdr, const verna_tx_desc& request) {
  *this = {};
  l3 = request.l3_offset;
  l4 = request.csum_start;
  end = request.hdr_len;
  outer_l3 = request.outer_l3_offset;
  outer_l4 = request.outer_l4_offset;
  tcp = request.flags & VERNA_TX_F_TSO;
  if (l3 >= l4 || l4 >= end) return false;
  if (outer_l3 >= l3 || outer_l4 >= l3) return false;
  if (!link_layer_fits(hdr, outer_l3 ? outer_l3 : l3)) return false;
  if (!parse_inner(hdr)) return false;
  if (outer_l3) return parse_tunnel(hdr);
  return !outer_l4 && !(request.flags & VERNA_TX_F_OUTER_FIXED_ID);
}

bool TsoHeaders::parse_inner(const uint8_t* hdr) {
  ipv4 = ip_version(hdr + l3) == 4;
  if (upper_layer(hdr, l3, l4) != (tcp ? kProtoTcp : kProtoUdp)) return false;
  const uint32_t size = end - l4;
  if (!tcp) return size == kUdpBytes;
  return size >= kTcpBytes && (hdr[l4 + 12] >> 4) * 4u == size;
}

bool TsoHeaders::parse_tunnel(const uint8_t* hdr) {
  outer_ipv4 = ip_version(hdr + outer_l3) == 4;
  if (!outer_l4) return upper_layer(hdr, outer_l3, l3) == (ipv4 ? kProtoIpv4 : kProtoIpv6);
  const int proto = upper_layer(hdr, outer_l3, outer_l4);
  if (proto == kProtoGre) return parse_gre(hdr);
  if (proto != kProtoUdp || outer_l4 + kUdpBytes > l3) return false;
  outer_udp = true;
  outer_checksum = load_be16(hdr + outer_l4 + 6) != 0;
  return true;
}

bool TsoHeaders::parse_gre(const uint8_t* hdr) {
  const uint16_t flags = load_be16(hdr + outer_l4);
  if (flags & ~(kGreChecksum | kGreKey)) return false;
  outer_checksum = flags & kGreChecksum;
  const uint32_t size = 4u + (flags & kGreChecksum ? 4 : 0) + (flags & kGreKey ? 4 : 0);
  return outer_l4 + size <= l3;
}

}  // namespace verna
