// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_packet.h"

#include <algorithm>

#include "pkt/checksum.h"
#include "pkt/crc32.h"

namespace verna {
namespace {

constexpr uint8_t kProtoIcmpv6 = 58;
constexpr uint8_t kProtoDccp = 33;
constexpr uint8_t kProtoUdpLite = 136;
constexpr uint16_t kDontFragment = 0x4000;
constexpr uint16_t kFirstSourcePort = 0xc000;  // of the range for private use

void replace(uint8_t* at, const void* value, const void* mask, size_t len) {
  const auto* v = static_cast<const uint8_t*>(value);
  const auto* m = static_cast<const uint8_t*>(mask);
  for (size_t i = 0; i < len; i++) at[i] = static_cast<uint8_t>((at[i] & ~m[i]) | (v[i] & m[i]));
}

void update_checksum(uint8_t* at, CsumSum before, CsumSum after) {
  store_le(at, csum_update(load_le<uint16_t>(at), before, after));
}

/// Changes bytes of an IPv4 header and its checksum.
void change_ipv4(uint8_t* ip, auto change) {
  const CsumSum before = csum_add(0, ip, kIpv4Bytes);
  change();
  update_checksum(ip + 10, before, csum_add(0, ip, kIpv4Bytes));
}

uint8_t ttl_of(const uint8_t* hdr, const FrameLayers& l) {
  return hdr[l.l3 + (l.ip_version == 4 ? 8 : 7)];
}
uint8_t tos_of(const uint8_t* hdr, const FrameLayers& l) {
  return l.ip_version == 4 ? hdr[l.l3 + 1] : static_cast<uint8_t>(load_be16(hdr + l.l3) >> 4);
}

bool has_ports(uint8_t proto) {
  return proto == kProtoTcp || proto == kProtoUdp || proto == kProtoSctp;
}

/// Where a checksum is that covers addresses.
enum class Cover { kNone, kAt, kUnknown };
struct Covering {
  Cover where;
  uint32_t at = 0;
  bool udp = false;
};
Covering covering_checksum(const FrameLayers& l, uint32_t hdr_len) {
  uint32_t offset = 0;
  switch (l.ip_proto) {
    case kProtoTcp:
      offset = 16;
      break;
    case kProtoUdp:
    case kProtoUdpLite:
    case kProtoDccp:
      offset = 6;
      break;
    case kProtoIcmpv6:
      if (l.ip_version == 4) return {Cover::kNone};
      offset = 2;
      break;
    default:
      // Behind an extension header that was not skipped anything may be.
      return {is_ip_extension(l.ip_proto) ? Cover::kUnknown : Cover::kNone};
  }
  if (l.fragment && !l.first_fragment) return {Cover::kNone};
  const uint32_t l4 = l.l4 ? l.l4 : l.first_l4;
  if (!l4 || l4 + offset + 2 > std::min(hdr_len, l.l3_end)) return {Cover::kUnknown};
  return {Cover::kAt, l4 + offset, l.ip_proto == kProtoUdp};
}

/// Follows what changed under a checksum. UDP without one stays so.
void follow(uint8_t* check, bool udp, CsumSum before, CsumSum after) {
  if (udp && load_le<uint16_t>(check) == 0) return;
  update_checksum(check, before, after);
  if (udp && load_le<uint16_t>(check) == 0) store_le<uint16_t>(check, 0xffff);
}

}  // namespace

FlowPacket::FlowPacket(const PacketView& packet, uint16_t port, const TunnelPorts& ports)
    : port_(port),
      ports_(ports),
      head_(packet.hdr),
      head_bytes_(packet.hdr_len),
      rest_(packet.data + packet.hdr_len),
      rest_bytes_(packet.len - packet.hdr_len),
      layers_(packet),
      tunnel_(find_tunnel(header_bytes(), layers_, ports)) {}

void FlowPacket::copy_to(uint8_t* out) const {
  std::memcpy(out, head_, head_bytes_);
  if (rest_bytes_) std::memcpy(out + head_bytes_, rest_, rest_bytes_);
}

/// The head in memory that may be changed.
uint8_t* FlowPacket::own() {
  if (!own_) {
    std::memcpy(store_ + kRoom, head_, head_bytes_);
    head_ = store_ + kRoom;
    own_ = true;
  }
  keyed_ = false;
  return store_ + (head_ - store_);
}

/// Room in front, or null.
uint8_t* FlowPacket::grow(uint32_t more) {
  uint8_t* head = own();
  if (head - store_ < more || bytes() + more > kMaxBytes) return nullptr;
  head_ -= more;
  head_bytes_ += more;
  parsed_ = false;
  return head - more;
}

/// Leaves the first `len` bytes.
void FlowPacket::cut(uint32_t len) {
  if (len >= bytes()) return;
  rest_bytes_ = len > head_bytes_ ? len - head_bytes_ : 0;
  head_bytes_ = std::min(head_bytes_, len);
}

void FlowPacket::parse() {
  if (parsed_) return;
  parse_frame(header_bytes(), 0, &layers_);
  tunnel_ = find_tunnel(header_bytes(), layers_, ports_);
  parsed_ = true;
  keyed_ = false;
}

const FrameLayers& FlowPacket::layers() {
  parse();
  return layers_;
}

const FlowKeys& FlowPacket::keys() {
  parse();
  if (keyed_) return keys_;
  const verna_flow_key plain = make_flow_key(header_bytes(), layers_, port_);
  keys_.plain = flow_words(plain);
  keys_.has_tunnel = tunnel_.kind != TunnelKind::kNone || was_tunnel_;
  if (tunnel_.kind != TunnelKind::kNone) {
    const HeaderBytes inside = {head_, std::min(head_bytes_, layers_.l3_end), layers_.l3_end};
    verna_flow_key key = make_flow_key(inside, tunnel_.inner, port_);
    set_tunnel(header_bytes(), layers_, tunnel_, &key);
    keys_.tunnel = flow_words(key);
  } else if (was_tunnel_) {
    verna_flow_key key = plain;
    copy_tunnel(outer_key_, &key);
    keys_.tunnel = flow_words(key);
  }
  keyed_ = true;
  return keys_;
}

bool FlowPacket::apply(const FlowEdit& edit, uint16_t ip_id) {
  if (edit.decap && !decap()) return false;
  for (uint8_t i = 0; i < edit.pop_tags; i++) pop_vlan();
  if (edit.rewrite && !rewrite(*edit.rewrite)) return false;
  if (edit.dec_ttl && !decrement_ttl()) return false;
  if (edit.encap && !encap(*edit.encap, ip_id)) return false;
  for (uint8_t i = 0; i < edit.num_push; i++)
    if (!push_vlan(edit.push[i])) return false;
  return true;
}

bool FlowPacket::ttl_expires(const FlowEdit& edit) {
  if (!edit.dec_ttl) return false;
  parse();
  const bool inside = edit.decap && tunnel_.kind != TunnelKind::kNone;
  const FrameLayers& l = inside ? tunnel_.inner : layers_;
  return l.ip_version && ttl_of(head_, l) <= 1;
}

bool FlowPacket::decap() {
  parse();
  if (tunnel_.kind == TunnelKind::kNone) return false;
  const uint8_t* ip = head_ + layers_.l3;
  if (layers_.ip_version == 4 && csum_fold(csum_add(0, ip, (ip[0] & 0xfu) * 4)) != 0xffff)
    return false;
  const uint8_t ecn = tos_of(head_, layers_) & kEcnMask;
  outer_key_ = {};
  set_tunnel(header_bytes(), layers_, tunnel_, &outer_key_);
  was_tunnel_ = true;
  cut(layers_.l3_end);
  shrink(tunnel_.inner.eth);
  parsed_ = false;
  if (ecn != kEcnMask || !layers().ip_version) return true;
  const uint8_t tos = tos_of(head_, layers_);
  if (!(tos & kEcnMask)) return false;
  set_tos(tos | kEcnMask);
  return true;
}

void FlowPacket::pop_vlan() {
  if (!layers().vlan_tags) return;
  uint8_t* head = own();
  std::memmove(head + kVlanBytes, head, kMacAddressBytes);
  shrink(kVlanBytes);
  parsed_ = false;
}

bool FlowPacket::push_vlan(const VlanTag& tag) {
  uint8_t* head = grow(kVlanBytes);
  if (!head) return false;
  std::memmove(head, head + kVlanBytes, kMacAddressBytes);
  store_be16(head + kMacAddressBytes, tag.tpid);
  store_be16(head + kMacAddressBytes + 2, tag.tci);
  return true;
}

bool FlowPacket::rewrite(const FlowRewrite& r) {
  parse();
  own();
  set_ethernet(r);
  const bool whole = set_ip(r) && set_ports(r);
  parsed_ = false;  // another port may be a tunnel's
  return whole;
}

void FlowPacket::set_ethernet(const FlowRewrite& r) {
  uint8_t* head = own();
  replace(head, r.value.dmac, r.mask.dmac, 6);
  replace(head + 6, r.value.smac, r.mask.smac, 6);
  if (!layers_.vlan_tags) return;
  replace(head + kMacAddressBytes, &r.value.vlan_tpid, &r.mask.vlan_tpid, 2);
  replace(head + kMacAddressBytes + 2, &r.value.vlan_tci, &r.mask.vlan_tci, 2);
}

void FlowPacket::set_tos(uint8_t tos) {
  uint8_t* ip = own() + layers_.l3;
  if (layers_.ip_version == 4)
    change_ipv4(ip, [&] { ip[1] = tos; });
  else
    store_be16(ip, static_cast<uint16_t>((load_be16(ip) & 0xf00f) | tos << 4));
}

bool FlowPacket::set_ip(const FlowRewrite& r) {
  if (!layers_.ip_version) return true;
  const bool v4 = layers_.ip_version == 4;
  uint8_t* ip = own() + layers_.l3;
  if (r.mask.tos) {
    uint8_t tos = tos_of(head_, layers_);
    replace(&tos, &r.value.tos, &r.mask.tos, 1);
    set_tos(tos);
  }
  if (r.mask.ttl && v4) change_ipv4(ip, [&] { replace(ip + 8, &r.value.ttl, &r.mask.ttl, 1); });
  if (r.mask.ttl && !v4) replace(ip + 7, &r.value.ttl, &r.mask.ttl, 1);
  if (!v4) replace(ip, &r.value.flow_label, &r.mask.flow_label, 4);

  if (r.value.ip_version != layers_.ip_version) return true;
  const size_t len = v4 ? 4 : 16;
  uint8_t* addresses = ip + (v4 ? 12 : 8);
  const Covering check = covering_checksum(layers_, head_bytes_);
  if (check.where == Cover::kUnknown) return false;
  const CsumSum before = csum_add(0, addresses, 2 * len);
  const auto change = [&] {
    replace(addresses, r.value.src_ip, r.mask.src_ip, len);
    replace(addresses + len, r.value.dst_ip, r.mask.dst_ip, len);
  };
  v4 ? change_ipv4(ip, change) : change();
  if (check.where == Cover::kAt)
    follow(own() + check.at, check.udp, before, csum_add(0, addresses, 2 * len));
  return true;
}

bool FlowPacket::set_ports(const FlowRewrite& r) {
  if (!r.mask.sport && !r.mask.dport) return true;
  if (!layers_.ip_version || !has_ports(layers_.ip_proto)) return true;
  if (layers_.fragment && !layers_.first_fragment) return true;
  const uint32_t l4 = layers_.l4 ? layers_.l4 : layers_.first_l4;
  if (!l4) return false;
  uint8_t* ports = own() + l4;
  if (layers_.ip_proto == kProtoSctp) {
    if (layers_.fragment) return false;  // the CRC is over all fragments
    set_sctp_ports(r, l4);
    return true;
  }
  const CsumSum before = csum_add(0, ports, 4);
  replace(ports, &r.value.sport, &r.mask.sport, 2);
  replace(ports + 2, &r.value.dport, &r.mask.dport, 2);
  const bool udp = layers_.ip_proto == kProtoUdp;
  follow(ports + (udp ? 6 : 16), udp, before, csum_add(0, ports, 4));
  return true;
}

/// CRC-32C of the SCTP packet at `l4` as if its own field were zero.
uint32_t FlowPacket::sctp_crc(uint32_t l4) const {
  constexpr uint8_t kZero[4] = {};
  const uint32_t end = std::min(head_bytes_, layers_.l3_end);
  uint32_t crc = crc32c(0, head_ + l4, 8);
  crc = crc32c(crc, kZero, sizeof kZero);
  crc = crc32c(crc, head_ + l4 + 12, end - l4 - 12);
  return layers_.l3_end > end ? crc32c(crc, rest_, layers_.l3_end - end) : crc;
}

/// What was wrong with the CRC is so by the same bits afterwards.
void FlowPacket::set_sctp_ports(const FlowRewrite& r, uint32_t l4) {
  uint8_t* sctp = own() + l4;
  const uint32_t error = load_le<uint32_t>(sctp + 8) ^ sctp_crc(l4);
  replace(sctp, &r.value.sport, &r.mask.sport, 2);
  replace(sctp + 2, &r.value.dport, &r.mask.dport, 2);
  store_le(sctp + 8, sctp_crc(l4) ^ error);
}

bool FlowPacket::decrement_ttl() {
  if (!layers().ip_version) return true;
  if (ttl_of(head_, layers_) <= 1) return false;
  uint8_t* ip = own() + layers_.l3;
  if (layers_.ip_version == 4)
    change_ipv4(ip, [&] { ip[8]--; });
  else
    ip[7]--;
  return true;
}

/// Of what says to which flow the packet belongs.
uint32_t FlowPacket::flow_hash() {
  const verna_flow_key key = flow_key(keys().plain);
  verna_flow_key of{};
  of.ip_proto = key.ip_proto;
  of.sport = key.sport;
  of.dport = key.dport;
  std::memcpy(of.src_ip, key.src_ip, 16);
  std::memcpy(of.dst_ip, key.dst_ip, 16);
  std::memcpy(of.dmac, key.dmac, 6);
  std::memcpy(of.smac, key.smac, 6);
  uint64_t hash = 0;
  for (const uint64_t word : flow_words(of)) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return static_cast<uint32_t>(hash);
}

bool FlowPacket::encap(const FlowEncap& e, uint16_t ip_id) {
  const bool v4 = e.ip_version == 4;
  const bool udp = e.kind != TunnelKind::kGre;
  const auto source = static_cast<uint16_t>(kFirstSourcePort | (flow_hash() & 0x3fff));
  const uint8_t ecn = layers_.ip_version ? tos_of(head_, layers_) & kEcnMask : 0;
  const uint32_t l4 = kMacHeaderBytes + (v4 ? kIpv4Bytes : kIpv6Bytes);
  const uint32_t tunnel = l4 + (udp ? kUdpBytes : 0);
  uint8_t* out = grow(tunnel + (udp ? kVxlanBytes : kGreBytes + (e.has_id ? 4u : 0u)));
  if (!out) return false;
  was_tunnel_ = false;
  std::memcpy(out, e.dmac, 6);
  std::memcpy(out + 6, e.smac, 6);
  store_be16(out + kMacAddressBytes, v4 ? kEthertypeIpv4 : kEthertypeIpv6);

  uint8_t* ip = out + kMacHeaderBytes;
  const uint8_t proto = udp ? kProtoUdp : kProtoGre;
  const auto tos = static_cast<uint8_t>(e.tos | ecn);
  if (v4) {
    store_be32(ip, 0x45000000u | static_cast<uint32_t>(tos) << 16 | (bytes() - kMacHeaderBytes));
    store_be16(ip + 4, e.may_fragment ? ip_id : 0);
    store_be16(ip + 6, e.may_fragment ? 0 : kDontFragment);
    store_be32(ip + 8, static_cast<uint32_t>(e.ttl) << 24 | static_cast<uint32_t>(proto) << 16);
    std::memcpy(ip + 12, e.source, 4);
    std::memcpy(ip + 16, e.destination, 4);
    store_le(ip + 10, csum_finish(csum_add(0, ip, kIpv4Bytes)));
  } else {
    store_be32(ip, 6u << 28 | static_cast<uint32_t>(tos) << 20);
    store_be16(ip + 4, static_cast<uint16_t>(bytes() - l4));
    ip[6] = proto;
    ip[7] = e.ttl;
    std::memcpy(ip + 8, e.source, 16);
    std::memcpy(ip + 24, e.destination, 16);
  }
  write_tunnel(e, out + tunnel);
  if (udp) write_outer_udp(e, source, l4);
  return true;
}

void FlowPacket::write_tunnel(const FlowEncap& e, uint8_t* out) {
  switch (e.kind) {
    case TunnelKind::kVxlan:
      store_be32(out, 0x08000000);
      store_be32(out + 4, e.id << 8);
      break;
    case TunnelKind::kGeneve:
      store_be32(out, kEthertypeBridged);
      store_be32(out + 4, e.id << 8);
      break;
    default:
      store_be32(out, (e.has_id ? 0x20000000u : 0u) | kEthertypeBridged);
      if (e.has_id) store_be32(out + 4, e.id);
      break;
  }
}

void FlowPacket::write_outer_udp(const FlowEncap& e, uint16_t source, uint32_t l4) {
  uint8_t* udp = own() + l4;
  const uint32_t len = bytes() - l4;
  store_be16(udp, source);
  store_be16(udp + 2, e.dport);
  store_be16(udp + 4, static_cast<uint16_t>(len));
  store_be16(udp + 6, 0);
  if (!e.udp_checksum) return;
  const uint8_t* ip = head_ + kMacHeaderBytes;
  const CsumSum pseudo = e.ip_version == 4 ? csum_pseudo_ipv4(ip, kProtoUdp, len)
                                           : csum_pseudo_ipv6(ip, kProtoUdp, len);
  const uint32_t in_head = head_bytes_ - l4;
  const CsumSum rest = csum_at(csum_add(0, rest_, rest_bytes_), in_head);
  store_le(udp + 6, csum_finish_udp(csum_join(csum_add(pseudo, udp, in_head), rest)));
}

}  // namespace verna
