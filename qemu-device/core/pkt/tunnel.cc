// SPDX-License-Identifier: GPL-2.0-or-later
#include "pkt/tunnel.h"

#include <algorithm>

namespace verna {
namespace {

constexpr uint8_t kVxlanHasVni = 0x08;
constexpr uint8_t kGeneveControl = 0x80;
constexpr uint8_t kGeneveCritical = 0x40;
constexpr uint8_t kGreChecksum = 0x80;
constexpr uint8_t kGreRouting = 0x40;
constexpr uint8_t kGreKey = 0x20;
constexpr uint8_t kGreSequence = 0x10;

bool is_one_of(const std::array<uint16_t, 4>& ports, uint16_t port) {
  return port && std::find(ports.begin(), ports.end(), port) != ports.end();
}

/// The parsers return the offset of the inner frame, 0 if there is none. `end` is that of what may
/// be read.
uint32_t vxlan(const uint8_t* hdr, uint32_t at, uint32_t end, Tunnel* t) {
  if (at + kVxlanBytes > end || !(hdr[at] & kVxlanHasVni)) return 0;
  t->kind = TunnelKind::kVxlan;
  t->has_id = true;
  t->id = load_be24(hdr + at + 4);
  return at + kVxlanBytes;
}

uint32_t geneve(const uint8_t* hdr, uint32_t at, uint32_t end, Tunnel* t) {
  if (at + kGeneveBytes > end || hdr[at] >> 6 != 0) return 0;
  if (hdr[at + 1] & (kGeneveControl | kGeneveCritical)) return 0;
  if (load_be16(hdr + at + 2) != kEthertypeBridged) return 0;
  t->kind = TunnelKind::kGeneve;
  t->has_id = true;
  t->id = load_be24(hdr + at + 4);
  return at + kGeneveBytes + (hdr[at] & 0x3fu) * 4;
}

uint32_t gre(const uint8_t* hdr, uint32_t at, uint32_t end, Tunnel* t) {
  if (at + kGreBytes > end) return 0;
  const uint8_t flags = hdr[at];
  if ((flags & kGreRouting) || (hdr[at + 1] & 7) != 0) return 0;
  if (load_be16(hdr + at + 2) != kEthertypeBridged) return 0;
  at += kGreBytes + (flags & kGreChecksum ? 4 : 0);
  if (flags & kGreKey) {
    if (at + 4 > end) return 0;
    t->has_id = true;
    t->id = load_be32(hdr + at);
    at += 4;
  }
  t->kind = TunnelKind::kGre;
  return at + (flags & kGreSequence ? 4 : 0);
}

}  // namespace

Tunnel find_tunnel(const HeaderBytes& bytes, const FrameLayers& outer, const TunnelPorts& ports) {
  Tunnel t;
  if (!outer.l4) return t;
  const uint32_t end = std::min(bytes.hdr_len, outer.l3_end);
  uint32_t inner = 0;
  if (outer.ip_proto == kProtoGre) inner = gre(bytes.hdr, outer.l4, end, &t);
  if (outer.ip_proto == kProtoUdp) {
    const uint16_t port = load_be16(bytes.hdr + outer.l4 + 2);
    if (is_one_of(ports.vxlan, port)) inner = vxlan(bytes.hdr, outer.l4 + kUdpBytes, end, &t);
    if (is_one_of(ports.geneve, port)) inner = geneve(bytes.hdr, outer.l4 + kUdpBytes, end, &t);
  }
  if (!inner || inner + kMacHeaderBytes > end) return {};
  parse_frame({bytes.hdr, end, outer.l3_end}, inner, &t.inner);
  return t;
}

}  // namespace verna
