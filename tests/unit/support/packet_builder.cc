// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/packet_builder.h"

#include <algorithm>

#include "support/crc.h"

namespace verna::test {
namespace {

void put(Bytes* out, uint64_t v, int bytes) {
  for (int i = bytes - 1; i >= 0; i--) out->push_back(static_cast<uint8_t>(v >> (8 * i)));
}

uint64_t get(const Bytes& in, size_t* at, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++) v = v << 8 | in[(*at)++];
  return v;
}

struct Headers {
  bool reth, atomic, aeth, atomic_ack, deth, imm, ieth;
};

Headers headers_of(uint8_t opcode) {
  Headers h{};
  const uint8_t op = opcode & 0x1f;
  const bool ud = opcode >> 5 == 3;
  if (opcode == kCnp) return h;
  h.deth = ud;
  h.reth = op == 0x06 || op == 0x0a || op == 0x0b || op == 0x0c;
  h.atomic = op == 0x13 || op == 0x14;
  h.aeth = op == 0x0d || op == 0x0f || op == 0x10 || op == 0x11 || op == 0x12;
  h.atomic_ack = op == 0x12;
  h.imm = op == 0x03 || op == 0x05 || op == 0x09 || op == 0x0b;
  h.ieth = op == 0x16 || op == 0x17;
  return h;
}

size_t header_bytes(const Headers& h) {
  return 12 + (h.deth ? 8 : 0) + (h.reth ? 16 : 0) + (h.atomic ? 28 : 0) + (h.aeth ? 4 : 0) +
         (h.atomic_ack ? 8 : 0) + (h.imm ? 4 : 0) + (h.ieth ? 4 : 0);
}

uint16_t ip_checksum(const uint8_t* p, size_t len) {
  uint32_t sum = 0;
  for (size_t i = 0; i < len; i += 2) sum += static_cast<uint32_t>(p[i] << 8 | p[i + 1]);
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

void put_ip(Bytes* out, const RocePacket& p, size_t udp_len) {
  if (p.ipv6) {
    put(out, 0x60000000u | static_cast<uint32_t>(p.tos) << 20, 4);
    put(out, udp_len, 2);
    put(out, 17, 1);
    put(out, p.ttl, 1);
    out->insert(out->end(), p.sip, p.sip + 16);
    out->insert(out->end(), p.dip, p.dip + 16);
    return;
  }
  const size_t start = out->size();
  put(out, 0x45, 1);
  put(out, p.tos, 1);
  put(out, 20 + udp_len, 2);
  put(out, p.ip_id, 2);
  put(out, 0x4000, 2);
  put(out, p.ttl, 1);
  put(out, 17, 1);
  put(out, 0, 2);
  out->insert(out->end(), p.sip + 12, p.sip + 16);
  out->insert(out->end(), p.dip + 12, p.dip + 16);
  const uint16_t sum = ip_checksum(out->data() + start, 20);
  (*out)[start + 10] = static_cast<uint8_t>(sum >> 8);
  (*out)[start + 11] = static_cast<uint8_t>(sum);
}

void put_extended(Bytes* out, const RocePacket& p, const Headers& h) {
  if (h.deth) {
    put(out, p.qkey, 4);
    put(out, p.src_qpn, 4);
  }
  if (h.reth) {
    put(out, p.va, 8);
    put(out, p.rkey, 4);
    put(out, p.dma_len, 4);
  }
  if (h.atomic) {
    put(out, p.va, 8);
    put(out, p.rkey, 4);
    put(out, p.swap_add, 8);
    put(out, p.compare, 8);
  }
  if (h.aeth) put(out, static_cast<uint32_t>(p.syndrome) << 24 | (p.msn & 0xffffff), 4);
  if (h.atomic_ack) put(out, p.atomic_original, 8);
  if (h.imm) put(out, p.imm, 4);
  if (h.ieth) put(out, p.ieth, 4);
}

void get_extended(const Bytes& in, size_t* at, RocePacket* p, const Headers& h) {
  if (h.deth) {
    p->qkey = static_cast<uint32_t>(get(in, at, 4));
    p->src_qpn = static_cast<uint32_t>(get(in, at, 4)) & 0xffffff;
  }
  if (h.reth) {
    p->va = get(in, at, 8);
    p->rkey = static_cast<uint32_t>(get(in, at, 4));
    p->dma_len = static_cast<uint32_t>(get(in, at, 4));
  }
  if (h.atomic) {
    p->va = get(in, at, 8);
    p->rkey = static_cast<uint32_t>(get(in, at, 4));
    p->swap_add = get(in, at, 8);
    p->compare = get(in, at, 8);
  }
  if (h.aeth) {
    p->syndrome = static_cast<uint8_t>(get(in, at, 1));
    p->msn = static_cast<uint32_t>(get(in, at, 3));
  }
  if (h.atomic_ack) p->atomic_original = get(in, at, 8);
  if (h.imm) p->imm = static_cast<uint32_t>(get(in, at, 4));
  if (h.ieth) p->ieth = static_cast<uint32_t>(get(in, at, 4));
}

/// Reads the IP header at `*at`; false if this is not a whole UDP datagram.
bool get_ip(const Bytes& in, size_t* at, uint16_t ethertype, RocePacket* p, size_t* end) {
  const size_t l3 = *at;
  if (ethertype == 0x86dd) {
    if (in.size() < l3 + 48 || in[l3] >> 4 != 6 || in[l3 + 6] != 17) return false;
    p->ipv6 = true;
    p->tos = static_cast<uint8_t>(in[l3] << 4 | in[l3 + 1] >> 4);
    p->ttl = in[l3 + 7];
    std::copy_n(in.begin() + static_cast<ptrdiff_t>(l3) + 8, 16, p->sip);
    std::copy_n(in.begin() + static_cast<ptrdiff_t>(l3) + 24, 16, p->dip);
    *end = l3 + 40 + static_cast<size_t>(in[l3 + 4] << 8 | in[l3 + 5]);
    *at = l3 + 40;
    return true;
  }
  if (ethertype != 0x0800 || in.size() < l3 + 28 || in[l3] != 0x45 || in[l3 + 9] != 17)
    return false;
  p->tos = in[l3 + 1];
  p->ip_id = static_cast<uint16_t>(in[l3 + 4] << 8 | in[l3 + 5]);
  p->ttl = in[l3 + 8];
  p->ip_checksum_ok = ip_checksum(in.data() + l3, 20) == 0;
  p->sip[10] = p->sip[11] = p->dip[10] = p->dip[11] = 0xff;
  std::copy_n(in.begin() + static_cast<ptrdiff_t>(l3) + 12, 4, p->sip + 12);
  std::copy_n(in.begin() + static_cast<ptrdiff_t>(l3) + 16, 4, p->dip + 12);
  *end = l3 + static_cast<size_t>(in[l3 + 2] << 8 | in[l3 + 3]);
  *at = l3 + 20;
  return true;
}

void put_bth(Bytes* out, const RocePacket& p, uint8_t pad) {
  put(out, p.opcode, 1);
  put(out, static_cast<uint32_t>(p.solicited << 7 | p.migreq << 6 | pad << 4 | p.tver), 1);
  put(out, p.pkey, 2);
  put(out, static_cast<uint32_t>(p.fecn << 7 | p.becn << 6), 1);
  put(out, p.dest_qpn, 3);
  put(out, p.ack_req ? 0x80 : 0, 1);
  put(out, p.psn, 3);
}

void get_bth(const Bytes& in, size_t* at, RocePacket* p) {
  p->opcode = static_cast<uint8_t>(get(in, at, 1));
  const uint8_t flags = static_cast<uint8_t>(get(in, at, 1));
  p->solicited = flags & 0x80;
  p->migreq = flags & 0x40;
  p->pad = (flags >> 4) & 3;
  p->tver = flags & 0xf;
  p->pkey = static_cast<uint16_t>(get(in, at, 2));
  const uint8_t ecn = static_cast<uint8_t>(get(in, at, 1));
  p->fecn = ecn & 0x80;
  p->becn = ecn & 0x40;
  p->dest_qpn = static_cast<uint32_t>(get(in, at, 3));
  p->ack_req = get(in, at, 1) & 0x80;
  p->psn = static_cast<uint32_t>(get(in, at, 3));
}

}  // namespace

Bytes RocePacket::build() const {
  const Headers h = headers_of(opcode);
  const uint8_t padding = pad.value_or(static_cast<uint8_t>(-payload.size() & 3));
  const size_t udp_len = 8 + header_bytes(h) + payload.size() + padding + 4;
  Bytes out(dmac, dmac + 6);
  out.insert(out.end(), smac, smac + 6);
  if (vlan_tci) {
    put(&out, 0x8100, 2);
    put(&out, *vlan_tci, 2);
  }
  put(&out, ipv6 ? 0x86dd : 0x0800, 2);
  put_ip(&out, *this, udp_len);
  put(&out, sport, 2);
  put(&out, dport, 2);
  put(&out, udp_len, 2);
  put(&out, udp_checksum, 2);
  put_bth(&out, *this, padding);
  put_extended(&out, *this, h);
  out.insert(out.end(), payload.begin(), payload.end());
  out.insert(out.end(), padding, 0);
  out.insert(out.end(), 4, 0);
  fix_icrc(&out);
  return out;
}

void fix_icrc(Bytes* frame) {
  if (frame->size() < 18) return;
  const uint32_t icrc = roce_icrc(frame->data(), frame->size() - 4);
  for (size_t i = 0; i < 4; i++) {
    (*frame)[frame->size() - 4 + i] = static_cast<uint8_t>(icrc >> (8 * i));
  }
}

std::optional<RocePacket> parse_roce(const Bytes& frame) {
  RocePacket p;
  if (frame.size() < 60) return {};
  std::copy_n(frame.begin(), 6, p.dmac);
  std::copy_n(frame.begin() + 6, 6, p.smac);
  size_t at = 12;
  uint16_t ethertype = static_cast<uint16_t>(get(frame, &at, 2));
  if (ethertype == 0x8100) {
    p.vlan_tci = static_cast<uint16_t>(get(frame, &at, 2));
    ethertype = static_cast<uint16_t>(get(frame, &at, 2));
  }
  size_t end = 0;
  if (!get_ip(frame, &at, ethertype, &p, &end) || end > frame.size() || end < at + 8 + 16)
    return {};
  p.sport = static_cast<uint16_t>(get(frame, &at, 2));
  p.dport = static_cast<uint16_t>(get(frame, &at, 2));
  const size_t udp_len = get(frame, &at, 2);
  p.udp_checksum = static_cast<uint16_t>(get(frame, &at, 2));
  if (p.dport != 4791 || at - 8 + udp_len != end) return {};
  const size_t bth = at;
  get_bth(frame, &at, &p);
  const Headers h = headers_of(p.opcode);
  const size_t tail = static_cast<size_t>(*p.pad) + 4;
  if (bth + header_bytes(h) + tail > end) return {};
  get_extended(frame, &at, &p, h);
  p.payload.assign(frame.begin() + static_cast<ptrdiff_t>(at),
                   frame.begin() + static_cast<ptrdiff_t>(end - tail));
  const uint32_t icrc = load_le<uint32_t>(frame.data() + end - 4);
  p.icrc_ok = icrc == roce_icrc(frame.data(), end - 4);
  return p;
}

Bytes ethernet_frame(const uint8_t (&dmac)[6], const uint8_t (&smac)[6], uint16_t ethertype,
                     const Bytes& payload) {
  Bytes out(dmac, dmac + 6);
  out.insert(out.end(), smac, smac + 6);
  put(&out, ethertype, 2);
  out.insert(out.end(), payload.begin(), payload.end());
  return out;
}

}  // namespace verna::test
