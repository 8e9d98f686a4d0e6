// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/naive_tables.h"

#include <algorithm>

namespace verna::test {
namespace {

__be16 be(uint16_t value) {
  __be16 out;
  store_be16(reinterpret_cast<uint8_t*>(&out), value);
  return out;
}

void insert_tags(Bytes* frame, const std::vector<IpPacket::Tag>& tags) {
  Bytes out;
  for (const IpPacket::Tag& tag : tags) {
    put_be16(&out, tag.tpid);
    put_be16(&out, tag.tci);
  }
  frame->insert(frame->begin() + 12, out.begin(), out.end());
}

/// False: nothing behind the tags is looked at.
bool set_tags(const std::vector<IpPacket::Tag>& tags, verna_flow_key* key) {
  if (!tags.empty()) {
    key->flags |= VERNA_FLOW_K_VLAN;
    key->vlan_tpid = be(tags[0].tpid);
    key->vlan_tci = be(tags[0].tci);
  }
  if (tags.size() > 1) {
    key->flags |= VERNA_FLOW_K_VLAN2;
    key->vlan2_tpid = be(tags[1].tpid);
    key->vlan2_tci = be(tags[1].tci);
  }
  if (tags.size() > 2) key->ethertype = be(tags[2].tpid);
  return tags.size() <= 2;
}

verna_flow_key key_of(const IpPacket& p, uint16_t port) {
  verna_flow_key key{};
  key.port = port;
  std::memcpy(key.dmac, p.dmac, 6);
  std::memcpy(key.smac, p.smac, 6);
  if (!set_tags(p.tags, &key)) return key;
  key.ethertype = be(p.ip.v6 ? 0x86dd : 0x0800);
  key.ip_version = p.ip.v6 ? 6 : 4;
  key.ip_proto = p.proto;
  key.tos = p.ip.tos;
  key.ttl = p.ip.ttl;
  const uint8_t v4[4] = {192, 168, 1, 0};
  for (auto [address, host] : {std::pair{key.src_ip, p.ip.source}, {key.dst_ip, p.ip.dest}}) {
    if (!p.ip.v6) std::memcpy(address, v4, 4);
    if (p.ip.v6) address[0] = 0xfd;
    address[p.ip.v6 ? 15 : 3] = host;
  }
  if (p.ip.v6) store_be32(reinterpret_cast<uint8_t*>(&key.flow_label), p.ip.flow_label);
  if (p.ip.more_fragments) {
    key.flags |= VERNA_FLOW_K_FRAGMENT | VERNA_FLOW_K_FIRST;
    return key;
  }
  key.sport = be(p.sport);
  key.dport = be(p.dport);
  if (p.proto == 6) key.tcp_flags = be(static_cast<uint16_t>(p.ae << 8 | p.flags));
  if (p.proto == 1) {
    key.icmp_type = static_cast<uint8_t>(p.sport >> 8);
    key.icmp_code = static_cast<uint8_t>(p.sport);
  }
  return key;
}

verna_flow_key key_of(const NaiveOuter& o, uint16_t port) {
  const FlowEncap& e = o.headers;
  verna_flow_key key{};
  key.port = port;
  std::memcpy(key.dmac, e.dmac, 6);
  std::memcpy(key.smac, e.smac, 6);
  if (!set_tags(o.tags, &key)) return key;
  key.ethertype = be(e.ip_version == 4 ? 0x0800 : 0x86dd);
  key.ip_version = e.ip_version;
  key.ip_proto = e.kind == TunnelKind::kGre ? 47 : 17;
  key.tos = e.tos | o.ecn;
  key.ttl = e.ttl;
  std::memcpy(key.src_ip, e.source, 16);
  std::memcpy(key.dst_ip, e.destination, 16);
  // GRE: simply the first four bytes behind IP.
  key.sport = e.kind == TunnelKind::kGre ? be(e.has_id ? 0x2000 : 0) : be(o.sport);
  key.dport = e.kind == TunnelKind::kGre ? be(0x6558) : be(e.dport);
  return key;
}

void set_outer(const NaiveOuter& o, verna_flow_key* key) {
  const FlowEncap& e = o.headers;
  key->tun_kind = static_cast<uint8_t>(e.kind);
  key->tun_ip_version = e.ip_version;
  key->tun_tos = e.tos | o.ecn;
  key->tun_ttl = e.ttl;
  std::memcpy(key->tun_src, e.source, 16);
  std::memcpy(key->tun_dst, e.destination, 16);
  if (e.kind != TunnelKind::kGre) {
    key->tun_sport = be(o.sport);
    key->tun_dport = be(e.dport);
  }
  if (!e.has_id) return;
  key->flags |= VERNA_FLOW_K_TUN_ID;
  store_be64(reinterpret_cast<uint8_t*>(&key->tun_id), e.id);
}

bool matches(const FlowMatchSpec& spec, const verna_flow_key& packet) {
  const auto* p = reinterpret_cast<const uint8_t*>(&packet);
  const auto* k = reinterpret_cast<const uint8_t*>(&spec.key);
  const auto* m = reinterpret_cast<const uint8_t*>(&spec.mask);
  for (size_t i = 0; i < sizeof packet; i++)
    if ((p[i] & m[i]) != k[i]) return false;
  const auto in = [](const PortRange& range, __be16 port) {
    const uint16_t value = load_be16(reinterpret_cast<const uint8_t*>(&port));
    return range.low == 0 || (range.low <= value && value <= range.high);
  };
  return in(spec.sport, packet.sport) && in(spec.dport, packet.dport);
}

uint8_t changed(uint8_t old, uint8_t value, uint8_t mask) {
  return static_cast<uint8_t>((old & ~mask) | (value & mask));
}

/// The fields that the random rules set: TOS, TTL, the last byte of the destination, the source
/// port, the VLAN.
void apply(const FlowRewrite& r, NaivePacket* packet) {
  std::vector<IpPacket::Tag>& tags = packet->tags();
  const auto* vid = reinterpret_cast<const uint8_t*>(&r.value.vlan_tci);
  if (r.mask.vlan_tci && !tags.empty()) tags[0].tci = load_be16(vid);
  if (packet->opaque()) return;
  const auto* port = reinterpret_cast<const uint8_t*>(&r.value.sport);
  if (!packet->outers.empty()) {
    FlowEncap& e = packet->outers.back().headers;
    e.tos = changed(e.tos, r.value.tos, r.mask.tos);
    e.ttl = changed(e.ttl, r.value.ttl, r.mask.ttl);
    const size_t last = e.ip_version == 4 ? 3 : 15;
    if (r.value.ip_version == e.ip_version)
      e.destination[last] = changed(e.destination[last], r.value.dst_ip[last], r.mask.dst_ip[last]);
    if (r.mask.sport && e.kind != TunnelKind::kGre) packet->outers.back().sport = load_be16(port);
    return;
  }
  IpPacket& p = packet->frame;
  p.ip.tos = changed(p.ip.tos, r.value.tos, r.mask.tos);
  p.ip.ttl = changed(p.ip.ttl, r.value.ttl, r.mask.ttl);
  const size_t last = p.ip.v6 ? 15 : 3;
  if (r.value.ip_version == (p.ip.v6 ? 6 : 4))
    p.ip.dest = changed(p.ip.dest, r.value.dst_ip[last], r.mask.dst_ip[last]);
  if (r.mask.sport && p.proto != 1) p.sport = load_be16(port);
}

uint8_t* ttl_of(NaivePacket* packet) {
  if (packet->opaque()) return nullptr;
  return packet->outers.empty() ? &packet->frame.ip.ttl : &packet->outers.back().headers.ttl;
}

/// False: the packet cannot be changed so.
bool apply(const FlowEdit& edit, NaivePacket* packet) {
  if (edit.decap) {
    if (packet->outers.empty() || packet->opaque()) return false;
    packet->was = packet->outers.back();
    packet->outers.pop_back();
  }
  for (size_t i = 0; i < edit.pop_tags && !packet->tags().empty(); i++)
    packet->tags().erase(packet->tags().begin());
  if (edit.rewrite) apply(*edit.rewrite, packet);
  if (uint8_t* ttl = edit.dec_ttl ? ttl_of(packet) : nullptr) {
    if (*ttl <= 1) return false;
    --*ttl;
  }
  if (edit.encap) {
    const verna_flow_key key = packet->plain();
    packet->outers.push_back({*edit.encap, 0, static_cast<uint8_t>(key.tos & 3), {}});
    packet->was.reset();
  }
  for (size_t i = 0; i < edit.num_push; i++)
    packet->tags().insert(packet->tags().begin(), {edit.push[i].tpid, edit.push[i].tci});
  return true;
}

bool expires(const FlowEdit& edit, NaivePacket packet) {
  if (!edit.dec_ttl) return false;
  if (edit.decap && !packet.outers.empty() && !packet.opaque()) packet.outers.pop_back();
  const uint8_t* ttl = ttl_of(&packet);
  return ttl && *ttl <= 1;
}

}  // namespace

Bytes NaivePacket::build() const {
  Bytes out = frame.build(false);
  for (const NaiveOuter& outer : outers) {
    WrapOptions options;
    options.ecn = outer.ecn;
    out = wrap(outer.headers, outer.sport, out, options);
    insert_tags(&out, outer.tags);
  }
  return out;
}

verna_flow_key NaivePacket::plain() const {
  return outers.empty() ? key_of(frame, port) : key_of(outers.back(), port);
}

std::optional<verna_flow_key> NaivePacket::inside() const {
  if (!outers.empty() && !opaque()) {
    NaivePacket inner = *this;
    inner.outers.pop_back();
    verna_flow_key key = inner.plain();
    set_outer(outers.back(), &key);
    return key;
  }
  if (!was) return {};
  verna_flow_key key = plain();
  set_outer(*was, &key);
  return key;
}

NaiveRule* NaiveTables::find(uint32_t chain, const NaivePacket& packet) {
  const verna_flow_key plain = packet.plain();
  const std::optional<verna_flow_key> inside = packet.inside();
  NaiveRule* best = nullptr;
  for (NaiveRule& rule : rules) {
    if (rule.chain != chain) continue;
    const bool looks_inside = rule.spec.mask.tun_kind;
    if (looks_inside && !inside) continue;
    if (!matches(rule.spec, looks_inside ? *inside : plain)) continue;
    const auto rank = [](const NaiveRule& r) { return std::pair(r.spec.priority, r.order); };
    if (!best || rank(rule) < rank(*best)) best = &rule;
  }
  return best;
}

bool NaiveTables::execute(const FlowActions& a, NaivePacket* packet, Nanos now, NaiveVerdict* v) {
  using Kind = FlowVerdict::Kind;
  using Why = FlowVerdict::Why;
  const auto copy = [&](bool after) {
    for (size_t i = 0; a.edit && i < a.edit->num_copies; i++)
      if (a.edit->copies[i].changed == after)
        copies.push_back({a.edit->copies[i].port, packet->build()});
  };
  if (a.meter) {
    const auto bytes = static_cast<uint32_t>(packet->build().size());
    v->colour = meters[a.meter.get()]->colour(bytes, v->colour, now);
    if (v->colour == Colour::kRed) {
      v->kind = Kind::kDrop;
      v->why = Why::kMeter;
      return false;
    }
  }
  if (a.flags & VERNA_FLOW_A_MARK) v->mark = a.mark;
  if (a.edit && expires(*a.edit, *packet)) {
    v->kind = Kind::kTrap;
    v->why = Why::kTtl;
    return false;
  }
  copy(false);
  if (a.edit && !apply(*a.edit, packet)) {
    v->kind = Kind::kDrop;
    v->why = Why::kEdit;
    return false;
  }
  copy(true);
  v->why = Why::kRule;
  v->kind = a.flags & VERNA_FLOW_A_DROP     ? Kind::kDrop
            : a.target == FlowTarget::kPort ? Kind::kPort
            : a.target == FlowTarget::kTrap ? Kind::kTrap
                                            : Kind::kPass;
  v->port = a.port;
  return true;
}

NaiveVerdict NaiveTables::run(NaivePacket* packet, Nanos now) {
  NaiveVerdict v{FlowVerdict::Kind::kPass, FlowVerdict::Why::kMiss};
  copies.clear();
  uint32_t chain = 0;
  for (int hops = 0; hops < 16; hops++) {
    v.chain = chain;
    NaiveRule* rule = find(chain, *packet);
    if (!rule) {
      const auto miss = misses.find(chain);
      const FlowMiss does = miss == misses.end() ? FlowMiss() : miss->second;
      v.why = FlowVerdict::Why::kMiss;
      v.kind = does.kind == FlowMiss::Kind::kDrop   ? FlowVerdict::Kind::kDrop
               : does.kind == FlowMiss::Kind::kTrap ? FlowVerdict::Kind::kTrap
                                                    : FlowVerdict::Kind::kPass;
      if (does.kind != FlowMiss::Kind::kChain) return v;
      chain = does.chain;
      continue;
    }
    rule->packets++;
    v.rule = rule->id;
    if (!execute(rule->spec.actions, packet, now, &v)) return v;
    if (rule->spec.actions.target != FlowTarget::kChain) return v;
    chain = rule->spec.actions.chain;
  }
  v.kind = FlowVerdict::Kind::kTrap;
  v.why = FlowVerdict::Why::kHops;
  return v;
}

}  // namespace verna::test
