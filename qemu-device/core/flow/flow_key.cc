// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_key.h"

#include <algorithm>

namespace verna {
namespace {

constexpr uint16_t kEthertypeArp = 0x0806;
constexpr uint8_t kProtoIcmp = 1;
constexpr uint8_t kProtoIcmpv6 = 58;

void set_ethernet(const PacketView& p, verna_flow_key* key) {
  std::memcpy(key->dmac, p.hdr, 6);
  std::memcpy(key->smac, p.hdr + 6, 6);
  const uint8_t* tag = p.hdr + kMacAddressBytes;
  if (p.vlan_tags > 0) {
    key->flags |= VERNA_FLOW_K_VLAN;
    std::memcpy(&key->vlan_tpid, tag, 2);
    std::memcpy(&key->vlan_tci, tag + 2, 2);
  }
  if (p.vlan_tags > 1) {
    key->flags |= VERNA_FLOW_K_VLAN2;
    std::memcpy(&key->vlan2_tpid, tag + kVlanBytes, 2);
    std::memcpy(&key->vlan2_tci, tag + kVlanBytes + 2, 2);
  }
  std::memcpy(&key->ethertype, tag + kVlanBytes * p.vlan_tags, 2);
}

/// ARP for IPv4 over Ethernet.
void set_arp(const PacketView& p, verna_flow_key* key) {
  const uint32_t arp = kMacAddressBytes + kVlanBytes * p.vlan_tags + 2;
  if (arp + 28 > p.hdr_len || load_be32(p.hdr + arp + 2) != 0x08000604) return;
  std::memcpy(&key->arp_op, p.hdr + arp + 6, 2);
  std::memcpy(key->src_ip, p.hdr + arp + 14, 4);
  std::memcpy(key->dst_ip, p.hdr + arp + 24, 4);
}

void set_ip(const PacketView& p, verna_flow_key* key) {
  const uint8_t* ip = p.hdr + p.l3;
  key->ip_version = p.ip_version;
  key->ip_proto = p.ip_proto;
  if (p.fragment) key->flags |= VERNA_FLOW_K_FRAGMENT;
  if (p.first_fragment) key->flags |= VERNA_FLOW_K_FIRST;
  if (p.ip_version == 4) {
    key->tos = ip[1];
    key->ttl = ip[8];
    std::memcpy(key->src_ip, ip + 12, 4);
    std::memcpy(key->dst_ip, ip + 16, 4);
    return;
  }
  key->tos = static_cast<uint8_t>(load_be16(ip) >> 4);
  key->ttl = ip[7];
  std::memcpy(key->src_ip, ip + 8, 16);
  std::memcpy(key->dst_ip, ip + 24, 16);
  store_be32(reinterpret_cast<uint8_t*>(&key->flow_label), ipv6_flow_label(ip));
}

void set_transport(const PacketView& p, verna_flow_key* key) {
  if (!p.l4 || p.l4 + 4u > std::min(p.l3_end, p.hdr_len)) return;
  const uint8_t* l4 = p.hdr + p.l4;
  std::memcpy(&key->sport, l4, 2);
  std::memcpy(&key->dport, l4 + 2, 2);
  if (p.ip_proto == (p.ip_version == 4 ? kProtoIcmp : kProtoIcmpv6)) {
    key->icmp_type = l4[0];
    key->icmp_code = l4[1];
  }
  if (p.ip_proto != kProtoTcp) return;
  const uint8_t flags[2] = {static_cast<uint8_t>(l4[12] & 0xf), l4[13]};
  std::memcpy(&key->tcp_flags, flags, 2);
}

}  // namespace

verna_flow_key make_flow_key(const PacketView& p, uint16_t port) {
  verna_flow_key key{};
  key.port = port;
  set_ethernet(p, &key);
  if (p.ethertype == kEthertypeArp) set_arp(p, &key);
  if (p.ip_version) set_ip(p, &key);
  set_transport(p, &key);
  return key;
}

}  // namespace verna
