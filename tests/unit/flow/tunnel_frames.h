// SPDX-License-Identifier: GPL-2.0-or-later
// Frames inside of tunnels, put together by code that shares nothing with the card.
#pragma once

#include "flow/flow_packet.h"
#include "support/ip_packet.h"

namespace verna::test {

/// What FlowEncap has no word for.
struct WrapOptions {
  Bytes geneve_options;  // a multiple of 4
  uint8_t geneve_flags = 0;
  bool gre_checksum = false;
  bool gre_sequence = false;
  uint8_t ecn = 0;
  uint16_t ip_id = 0;
  Bytes trailer;  // behind the outer IP packet
};

inline void put(Bytes* out, const Bytes& more) {
  out->insert(out->end(), more.begin(), more.end());
}
inline void put_be16(Bytes* out, uint32_t v) {
  put(out, {static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v)});
}
inline void put_be32(Bytes* out, uint32_t v) {
  put_be16(out, v >> 16);
  put_be16(out, v & 0xffff);
}

inline Bytes tunnel_header(const FlowEncap& e, const WrapOptions& o) {
  Bytes t;
  if (e.kind == TunnelKind::kVxlan) {
    put_be32(&t, 0x08000000);
    put_be32(&t, e.id << 8);
  } else if (e.kind == TunnelKind::kGeneve) {
    t = {static_cast<uint8_t>(o.geneve_options.size() / 4), o.geneve_flags, 0x65, 0x58};
    put_be32(&t, e.id << 8);
    put(&t, o.geneve_options);
  } else {
    put_be16(&t, (o.gre_checksum ? 0x8000u : 0) | (e.has_id ? 0x2000u : 0) |
                     (o.gre_sequence ? 0x1000u : 0));
    put_be16(&t, 0x6558);
    if (o.gre_checksum) put_be32(&t, 0x12340000);
    if (e.has_id) put_be32(&t, e.id);
    if (o.gre_sequence) put_be32(&t, 77);
  }
  return t;
}

/// `inner` behind the headers that `e` describes.
inline Bytes wrap(const FlowEncap& e, uint16_t sport, const Bytes& inner,
                  const WrapOptions& o = {}) {
  const bool v4 = e.ip_version == 4;
  const bool udp = e.kind != TunnelKind::kGre;
  Bytes body = tunnel_header(e, o);
  put(&body, inner);
  const size_t address = v4 ? 4 : 16;
  Bytes addresses(e.source, e.source + address);
  addresses.insert(addresses.end(), e.destination, e.destination + address);
  if (udp) {
    Bytes u;
    put_be16(&u, sport);
    put_be16(&u, e.dport);
    put_be16(&u, static_cast<uint32_t>(8 + body.size()));
    put_be16(&u, 0);
    put(&u, body);
    if (e.udp_checksum) {
      Bytes pseudo = addresses;
      put_be32(&pseudo, static_cast<uint32_t>(u.size()));
      put_be32(&pseudo, 17);
      const auto sum = static_cast<uint16_t>(
          ~naive_sum(u.data(), u.size(), naive_sum(pseudo.data(), pseudo.size())));
      u[6] = static_cast<uint8_t>((sum ? sum : 0xffff) >> 8);
      u[7] = static_cast<uint8_t>(sum ? sum : 0xffff);
    }
    body = u;
  }
  Bytes ip;
  const uint8_t tos = e.tos | o.ecn;
  const uint8_t proto = udp ? 17 : 47;
  if (v4) {
    ip = {0x45, tos};
    put_be16(&ip, static_cast<uint32_t>(20 + body.size()));
    put_be16(&ip, e.may_fragment ? o.ip_id : 0);
    put_be16(&ip, e.may_fragment ? 0 : 0x4000);
    put(&ip, {e.ttl, proto, 0, 0});
    put(&ip, addresses);
    const auto sum = static_cast<uint16_t>(~naive_sum(ip.data(), ip.size()));
    ip[10] = static_cast<uint8_t>(sum >> 8);
    ip[11] = static_cast<uint8_t>(sum);
  } else {
    put_be32(&ip, 6u << 28 | static_cast<uint32_t>(tos) << 20);
    put_be16(&ip, static_cast<uint32_t>(body.size()));
    put(&ip, {proto, e.ttl});
    put(&ip, addresses);
  }
  Bytes frame(e.dmac, e.dmac + 6);
  frame.insert(frame.end(), e.smac, e.smac + 6);
  put_be16(&frame, v4 ? 0x0800 : 0x86dd);
  put(&frame, ip);
  put(&frame, body);
  put(&frame, o.trailer);
  return frame;
}

inline FlowEncap outer_headers(TunnelKind kind, uint8_t ip_version) {
  FlowEncap e;
  e.kind = kind;
  e.ip_version = ip_version;
  for (uint8_t i = 0; i < 6; i++) {
    e.dmac[i] = static_cast<uint8_t>(0x10 + i);
    e.smac[i] = static_cast<uint8_t>(0x20 + i);
  }
  for (uint8_t i = 0; i < (ip_version == 4 ? 4 : 16); i++) {
    e.source[i] = static_cast<uint8_t>(0xa0 + i);
    e.destination[i] = static_cast<uint8_t>(0xb0 + i);
  }
  e.tos = 0xb8;
  e.ttl = 61;
  e.id = 0x123456;
  e.dport = kind == TunnelKind::kGeneve ? 6081 : 4789;
  return e;
}

/// A FlowPacket and what it stands on.
struct PacketRig {
  explicit PacketRig(const Bytes& bytes, uint16_t port = 0) : frame(bytes) {
    parse_packet(frame.data(), static_cast<uint32_t>(frame.size()), &view);
    packet.emplace(view, port, ports);
  }
  PacketRig(const PacketRig&) = delete;
  Bytes bytes() const {
    Bytes out(packet->bytes());
    packet->copy_to(out.data());
    return out;
  }

  Bytes frame;
  PacketView view;
  TunnelPorts ports;
  std::optional<FlowPacket> packet;
};

}  // namespace verna::test
