// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_key.h"

#include <algorithm>

namespace verna {
namespace {

constexpr uint16_t kEthertypeArp = 0x0806;
constexpr uint8_t kProtoIcmp = 1;
constexpr uint8_t kProtoIcmpv6 = 58;
constexpr size_t kFirstOfTunnel = offsetof(verna_flow_key, tun_id);

static_assert(static_cast<int>(TunnelKind::kVxlan) == VERNA_FLOW_TUN_VXLAN);
static_assert(static_cast<int>(TunnelKind::kGeneve) == VERNA_FLOW_TUN_GENEVE);
static_assert(static_cast<int>(TunnelKind::kGre) == VERNA_FLOW_TUN_GRE);

void set_ethernet(const uint8_t* hdr, const FrameLayers& p, verna_flow_key* key) {
  std::memcpy(key->dmac, hdr + p.eth, 6);
  std::memcpy(key->smac, hdr + p.eth + 6, 6);
  const uint8_t* tag = hdr + p.eth + kMacAddressBytes;
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
void set_arp(const HeaderBytes& b, const FrameLayers& p, verna_flow_key* key) {
  const uint32_t arp = p.eth + kMacHeaderBytes + kVlanBytes * p.vlan_tags;
  if (arp + 28 > b.hdr_len || load_be32(b.hdr + arp + 2) != 0x08000604) return;
  std::memcpy(&key->arp_op, b.hdr + arp + 6, 2);
  std::memcpy(key->src_ip, b.hdr + arp + 14, 4);
  std::memcpy(key->dst_ip, b.hdr + arp + 24, 4);
}

/// What IPv4 and IPv6 have in common.
struct IpFields {
  uint8_t tos;
  uint8_t ttl;
  const uint8_t* source;
  const uint8_t* destination;
  size_t address_bytes;
};
IpFields ip_fields(const uint8_t* ip, uint8_t version) {
  if (version == 4) return {ip[1], ip[8], ip + 12, ip + 16, 4};
  return {static_cast<uint8_t>(load_be16(ip) >> 4), ip[7], ip + 8, ip + 24, 16};
}

void set_ip(const uint8_t* hdr, const FrameLayers& p, verna_flow_key* key) {
  const uint8_t* ip = hdr + p.l3;
  const IpFields fields = ip_fields(ip, p.ip_version);
  key->ip_version = p.ip_version;
  key->ip_proto = p.ip_proto;
  if (p.fragment) key->flags |= VERNA_FLOW_K_FRAGMENT;
  if (p.first_fragment) key->flags |= VERNA_FLOW_K_FIRST;
  key->tos = fields.tos;
  key->ttl = fields.ttl;
  std::memcpy(key->src_ip, fields.source, fields.address_bytes);
  std::memcpy(key->dst_ip, fields.destination, fields.address_bytes);
  if (p.ip_version == 6)
    store_be32(reinterpret_cast<uint8_t*>(&key->flow_label), ipv6_flow_label(ip));
}

void set_transport(const HeaderBytes& b, const FrameLayers& p, verna_flow_key* key) {
  if (!p.l4 || p.l4 + 4u > std::min(p.l3_end, b.hdr_len)) return;
  const uint8_t* l4 = b.hdr + p.l4;
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

verna_flow_key make_flow_key(const PacketView& packet, uint16_t port) {
  return make_flow_key({packet.hdr, packet.hdr_len, packet.len}, packet, port);
}

verna_flow_key make_flow_key(const HeaderBytes& bytes, const FrameLayers& layers, uint16_t port) {
  verna_flow_key key{};
  key.port = port;
  set_ethernet(bytes.hdr, layers, &key);
  if (layers.ethertype == kEthertypeArp) set_arp(bytes, layers, &key);
  if (layers.ip_version) set_ip(bytes.hdr, layers, &key);
  set_transport(bytes, layers, &key);
  return key;
}

void set_tunnel(const HeaderBytes& bytes, const FrameLayers& outer, const Tunnel& tunnel,
                verna_flow_key* key) {
  const IpFields fields = ip_fields(bytes.hdr + outer.l3, outer.ip_version);
  key->tun_kind = static_cast<uint8_t>(tunnel.kind);
  key->tun_ip_version = outer.ip_version;
  key->tun_tos = fields.tos;
  key->tun_ttl = fields.ttl;
  std::memcpy(key->tun_src, fields.source, fields.address_bytes);
  std::memcpy(key->tun_dst, fields.destination, fields.address_bytes);
  if (outer.ip_proto == kProtoUdp) {
    std::memcpy(&key->tun_sport, bytes.hdr + outer.l4, 2);
    std::memcpy(&key->tun_dport, bytes.hdr + outer.l4 + 2, 2);
  }
  if (!tunnel.has_id) return;
  key->flags |= VERNA_FLOW_K_TUN_ID;
  store_be64(reinterpret_cast<uint8_t*>(&key->tun_id), tunnel.id);
}

void copy_tunnel(const verna_flow_key& from, verna_flow_key* key) {
  key->flags |= from.flags & VERNA_FLOW_K_TUN_ID;
  std::memcpy(reinterpret_cast<uint8_t*>(key) + kFirstOfTunnel,
              reinterpret_cast<const uint8_t*>(&from) + kFirstOfTunnel,
              sizeof *key - kFirstOfTunnel);
}

}  // namespace verna
