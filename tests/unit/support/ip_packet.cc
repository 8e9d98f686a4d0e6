// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/ip_packet.h"

namespace verna::test {
namespace {

void put16(Bytes* out, uint32_t v) {
  out->push_back(static_cast<uint8_t>(v >> 8));
  out->push_back(static_cast<uint8_t>(v));
}
void put32(Bytes* out, uint32_t v) {
  put16(out, v >> 16);
  put16(out, v & 0xffff);
}
void set16(Bytes* out, size_t at, uint32_t v) {
  (*out)[at] = static_cast<uint8_t>(v >> 8);
  (*out)[at + 1] = static_cast<uint8_t>(v);
}
void append(Bytes* out, const Bytes& more) { out->insert(out->end(), more.begin(), more.end()); }

Bytes address(const IpHeader& ip, uint8_t last) {
  Bytes out;
  if (ip.v6) {
    out.assign(16, 0);
    out[0] = 0xfd;
  } else {
    out = {192, 168, 1, 0};
  }
  out.back() = last;
  return out;
}

uint32_t pseudo(const IpHeader& ip, uint8_t proto, size_t len) {
  Bytes p = address(ip, ip.source);
  append(&p, address(ip, ip.dest));
  put32(&p, static_cast<uint32_t>(len));
  put32(&p, proto);
  return naive_sum(p.data(), p.size());
}

uint16_t checksum(const IpHeader& ip, uint8_t proto, const Bytes& segment) {
  return static_cast<uint16_t>(
      ~naive_sum(segment.data(), segment.size(), pseudo(ip, proto, segment.size())));
}

uint32_t crc32c_bitwise(const Bytes& data) {
  uint32_t crc = ~0u;
  for (const uint8_t byte : data) {
    crc ^= byte;
    for (int i = 0; i < 8; i++) crc = crc & 1 ? crc >> 1 ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

Bytes header(const IpHeader& ip, uint8_t proto, size_t payload) {
  Bytes h;
  if (ip.v6) {
    Bytes extension;
    if (ip.extension) {
      extension = {proto, static_cast<uint8_t>((ip.extension_bytes.size() + 2) / 8 - 1)};
      append(&extension, ip.extension_bytes);
    }
    put32(&h, 6u << 28 | static_cast<uint32_t>(ip.tos) << 20 | ip.flow_label);
    put16(&h, static_cast<uint32_t>(payload + extension.size()));
    h.push_back(ip.extension.value_or(proto));
    h.push_back(ip.ttl);
    append(&h, address(ip, ip.source));
    append(&h, address(ip, ip.dest));
    append(&h, extension);
    return h;
  }
  h = {static_cast<uint8_t>(0x45 + ip.options.size() / 4), ip.tos};
  put16(&h, static_cast<uint32_t>(20 + ip.options.size() + payload));
  put16(&h, ip.id);
  put16(&h, (ip.df ? 0x4000u : 0) | (ip.more_fragments ? 0x2000u : 0));
  h.push_back(ip.ttl);
  h.push_back(proto);
  put16(&h, 0);
  append(&h, address(ip, ip.source));
  append(&h, address(ip, ip.dest));
  append(&h, ip.options);
  const auto sum = static_cast<uint16_t>(~naive_sum(h.data(), h.size()));
  set16(&h, 10, static_cast<uint16_t>(sum + ip.break_checksum));
  return h;
}

Bytes transport(const IpPacket& p) {
  Bytes s;
  put16(&s, p.sport);
  put16(&s, p.dport);
  if (p.proto == 6) {
    put32(&s, p.seq);
    put32(&s, p.ack);
    s.push_back(static_cast<uint8_t>((5 + p.options.size() / 4) << 4 | p.ae));
    s.push_back(p.flags);
    put16(&s, p.window);
    put16(&s, 0);
    put16(&s, p.urgent);
    append(&s, p.options);
    append(&s, p.payload);
    set16(&s, 16, static_cast<uint16_t>(checksum(p.ip, 6, s) + p.break_checksum));
  } else if (p.proto == 17) {
    put16(&s, static_cast<uint32_t>(8 + p.payload.size()));
    put16(&s, 0);
    append(&s, p.payload);
    uint16_t sum = checksum(p.ip, 17, s);
    if (sum == 0) sum = 0xffff;
    if (!p.no_checksum) set16(&s, 6, static_cast<uint16_t>(sum + p.break_checksum));
  } else if (p.proto == 132) {
    put32(&s, p.seq);
    put32(&s, 0);
    append(&s, p.payload);
    const uint32_t crc = crc32c_bitwise(s) + p.break_checksum;
    for (size_t i = 0; i < 4; i++) s[8 + i] = static_cast<uint8_t>(crc >> 8 * i);
  } else {
    append(&s, p.payload);
  }
  return s;
}

/// The header of the tunnel, and what the outer IP header calls it.
Bytes encapsulate(const IpPacket& p, const Bytes& inner, uint8_t* proto) {
  const uint16_t ethertype = p.ip.v6 ? 0x86dd : 0x0800;
  Bytes t;
  if (p.tunnel == IpPacket::kIp) {
    *proto = p.ip.v6 ? 41 : 4;
  } else if (p.tunnel == IpPacket::kGre || p.tunnel == IpPacket::kGreChecksum) {
    *proto = 47;
    const bool sum = p.tunnel == IpPacket::kGreChecksum;
    put16(&t, sum ? 0x8000 : 0);
    put16(&t, ethertype);
    if (sum) put32(&t, 0);
  } else {
    *proto = 17;
    const bool vxlan = p.tunnel == IpPacket::kVxlan;
    put16(&t, 0xc000);
    put16(&t, vxlan ? 4789 : 6081);
    put16(&t, static_cast<uint32_t>(8 + 8 + 14 + inner.size()));
    put16(&t, 0);
    if (vxlan)
      put32(&t, 0x08000000);
    else
      put32(&t, 0x00006558);
    put32(&t, 0x00000700);
    t.insert(t.end(), 12, 0x02);
    put16(&t, ethertype);
  }
  return t;
}

}  // namespace

uint16_t naive_sum(const uint8_t* data, size_t len, uint32_t start) {
  uint32_t sum = start;
  for (size_t i = 0; i < len; i++) {
    sum += i % 2 ? data[i] : data[i] * 256u;
    sum = (sum & 0xffff) + (sum >> 16);
  }
  return static_cast<uint16_t>((sum & 0xffff) + (sum >> 16));
}

Bytes IpPacket::build(bool pad) const {
  const Bytes segment = transport(*this);
  Bytes packet = header(ip, proto, segment.size());
  append(&packet, segment);
  if (outer) {
    uint8_t outer_proto = 0;
    Bytes t = encapsulate(*this, packet, &outer_proto);
    append(&t, packet);
    if (udp_checksum) {
      const uint16_t sum = checksum(*outer, 17, t);
      set16(&t, 6, *udp_checksum ? sum : static_cast<uint16_t>(sum + 1));
    }
    packet = header(*outer, outer_proto, t.size());
    append(&packet, t);
  }
  Bytes frame(dmac, dmac + 6);
  frame.insert(frame.end(), smac, smac + 6);
  for (const Tag& tag : tags) {
    put16(&frame, tag.tpid);
    put16(&frame, tag.tci);
  }
  put16(&frame, (outer ? outer->v6 : ip.v6) ? 0x86dd : 0x0800);
  append(&frame, packet);
  append(&frame, trailer);
  if (pad && frame.size() < 60) frame.resize(60);
  return frame;
}

}  // namespace verna::test
