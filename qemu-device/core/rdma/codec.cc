// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/codec.h"

#include <algorithm>
#include <cstring>

#include "pkt/crc32.h"

namespace verna {
namespace {

constexpr uint8_t kDefaultHops = 64;
/// Longest masked prefix: 8 bytes of ones in place of a local route header, IPv6, UDP, BTH.
constexpr uint32_t kPrefixMax = 8 + kIpv6Bytes + kUdpBytes + kBthSize;

/// CRC over the part of the headers in which routers may change fields; these count as ones.
/// `l3` points at `ip_len` bytes of IP header, then UDP and BTH.
uint32_t icrc_prefix(const uint8_t* l3, uint32_t ip_len) {
  uint8_t masked[kPrefixMax];
  const uint32_t len = ip_len + kUdpBytes + kBthSize;
  std::memset(masked, 0xff, 8);
  uint8_t* ip = masked + 8;
  std::memcpy(ip, l3, len);
  if (ip_len == kIpv6Bytes) {
    ip[0] |= 0x0f;  // traffic class, flow label
    ip[1] = ip[2] = ip[3] = 0xff;
    ip[7] = 0xff;  // hop limit
  } else {
    ip[1] = 0xff;            // type of service
    ip[8] = 0xff;            // time to live
    ip[10] = ip[11] = 0xff;  // header checksum
  }
  uint8_t* udp = ip + ip_len;
  udp[6] = udp[7] = 0xff;     // checksum
  udp[kUdpBytes + 4] = 0xff;  // BTH: FECN, BECN, reserved
  return crc32(0, masked, 8 + len);
}

void parse_bth(const uint8_t* bth, RocePacket* out) {
  out->solicited = bth[1] & 0x80;
  out->pad = bth[1] >> 4 & 3;
  out->pkey = load_be16(bth + 2);
  out->dest_qpn = load_be24(bth + 5);
  out->ack_req = bth[8] & 0x80;
  out->psn = load_be24(bth + 9);
}

/// Extension headers in the order in which they lie on the wire.
void parse_extensions(const uint8_t* p, RocePacket* out) {
  const OpInfo& op = *out->op;
  if (op.has(kOpDeth)) {
    out->qkey = load_be32(p);
    out->src_qpn = load_be24(p + 5);
    p += 8;
  }
  if (op.has(kOpReth | kOpAtomicEth)) {
    out->va = load_be64(p);
    out->rkey = load_be32(p + 8);
  }
  if (op.has(kOpReth)) {
    out->dma_len = load_be32(p + 12);
    p += 16;
  }
  if (op.has(kOpAtomicEth)) {
    out->swap_add = load_be64(p + 12);
    out->compare = load_be64(p + 20);
    p += 28;
  }
  if (op.has(kOpAeth)) {
    out->syndrome = p[0];
    out->msn = load_be24(p + 1);
    p += 4;
  }
  if (op.has(kOpAtomicAck)) out->original = load_be64(p);
  if (op.has(kOpImm)) out->imm = load_le<uint32_t>(p);
  if (op.has(kOpIeth)) out->inv_rkey = load_be32(p);
}

uint32_t ip_header_len(const PacketView& view) { return view.l4 - view.l3; }

}  // namespace

ParseResult parse_roce(const PacketView& view, RocePacket* out) {
  const uint32_t bth = view.l4 + kUdpBytes;
  if (bth + kBthSize + kIcrcSize > view.l3_end || bth + kBthSize > view.hdr_len)
    return ParseResult::kMalformed;
  // No options or extension headers: the ICRC covers exactly these.
  if (ip_header_len(view) != (view.ip_version == 4 ? kIpv4Bytes : kIpv6Bytes))
    return ParseResult::kMalformed;
  out->view = &view;
  out->opcode = view.hdr[bth];
  out->op = &op_info(out->opcode);
  if (!out->op->has(kOpKnown)) return ParseResult::kBadOpcode;
  parse_bth(view.hdr + bth, out);

  const uint32_t udp_end = view.l4 + load_be16(view.hdr + view.l4 + 4);
  const uint32_t headers_end = bth + kBthSize + out->op->ext_len;
  if (udp_end != view.l3_end || headers_end > view.hdr_len) return ParseResult::kMalformed;
  if (headers_end + out->pad + kIcrcSize > udp_end) return ParseResult::kMalformed;
  if ((view.hdr[bth + 1] & 0x0f) != 0) return ParseResult::kBadVersion;

  parse_extensions(view.hdr + bth + kBthSize, out);
  out->payload = view.data + headers_end;
  out->payload_len = udp_end - headers_end - out->pad - kIcrcSize;
  if (out->payload_len > 0 && !out->op->has(kOpPayload)) return ParseResult::kMalformed;
  return ParseResult::kOk;
}

bool icrc_ok(const RocePacket& packet) {
  const PacketView& view = *packet.view;
  uint32_t crc = icrc_prefix(view.hdr + view.l3, ip_header_len(view));
  const uint32_t ext = view.l4 + kUdpBytes + kBthSize;
  if (packet.op->ext_len) crc = crc32(crc, view.hdr + ext, packet.op->ext_len);
  const uint32_t body = packet.payload_len + packet.pad;
  crc = crc32(crc, packet.payload, body);
  return crc == load_le<uint32_t>(packet.payload + body);
}

bool gid_is_ipv4(const uint8_t gid[16]) {
  static constexpr uint8_t kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(gid, kMapped, sizeof kMapped) == 0;
}

namespace {

void put_ipv4(const PathAddress& a, FrameTemplate* out, uint8_t* ip) {
  ip[0] = 0x45;
  ip[1] = a.traffic_class;
  store_be16(ip + 6, 0x4000);  // do not fragment; with it the identification may be 0 (RFC 6864)
  ip[8] = a.hop_limit ? a.hop_limit : kDefaultHops;
  ip[9] = kProtoUdp;
  std::memcpy(ip + 12, a.sgid + 12, 4);
  std::memcpy(ip + 16, a.dgid + 12, 4);
  out->ip_sum = 0;
  for (uint32_t i = 0; i < kIpv4Bytes; i += 2) out->ip_sum += load_be16(ip + i);
}

void put_ipv6(const PathAddress& a, uint8_t* ip) {
  store_be32(ip, 6u << 28 | uint32_t{a.traffic_class} << 20 | (a.flow_label & 0xfffff));
  ip[6] = kProtoUdp;
  ip[7] = a.hop_limit ? a.hop_limit : kDefaultHops;
  std::memcpy(ip + 8, a.sgid, 16);
  std::memcpy(ip + 24, a.dgid, 16);
}

}  // namespace

void make_template(const PathAddress& a, FrameTemplate* out) {
  const bool ipv4 = gid_is_ipv4(a.sgid) && gid_is_ipv4(a.dgid);
  std::memset(out->bytes, 0, sizeof out->bytes);
  uint8_t* p = out->bytes;
  std::memcpy(p, a.dmac, 6);
  std::memcpy(p + 6, a.smac, 6);
  p += 12;
  if (a.vlan) {
    store_be16(p, kEthertypeVlan);
    store_be16(p + 2, a.vlan_tci);
    p += 4;
  }
  store_be16(p, ipv4 ? kEthertypeIpv4 : kEthertypeIpv6);
  p += 2;
  out->l3 = static_cast<uint8_t>(p - out->bytes);
  out->ip_version = ipv4 ? 4 : 6;
  if (ipv4)
    put_ipv4(a, out, p);
  else
    put_ipv6(a, p);
  p += ipv4 ? kIpv4Bytes : kIpv6Bytes;
  store_be16(p, a.udp_sport);
  store_be16(p + 2, kRocePort);
  out->length = static_cast<uint8_t>(p + kUdpBytes - out->bytes);
}

uint32_t roce_frame_len(const FrameTemplate& path, uint8_t opcode, uint32_t payload_len) {
  return path.length + kBthSize + op_info(opcode).ext_len + ((payload_len + 3) & ~3u) + kIcrcSize;
}

uint8_t* begin_roce_frame(const FrameTemplate& path, const BthFields& bth, uint32_t payload_len,
                          uint8_t* frame) {
  const uint32_t end = roce_frame_len(path, bth.opcode, payload_len);
  std::memcpy(frame, path.bytes, path.length);
  uint8_t* ip = frame + path.l3;
  uint8_t* udp = frame + path.length - kUdpBytes;
  const uint16_t udp_len = static_cast<uint16_t>(end - (path.length - kUdpBytes));
  store_be16(udp + 4, udp_len);
  if (path.ip_version == 4) {
    const uint16_t total = static_cast<uint16_t>(kIpv4Bytes + udp_len);
    uint32_t sum = path.ip_sum + total;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    store_be16(ip + 2, total);
    store_be16(ip + 10, static_cast<uint16_t>(~sum));
  } else {
    store_be16(ip + 4, udp_len);
  }
  uint8_t* p = frame + path.length;
  const uint32_t pad = -payload_len & 3;
  p[0] = bth.opcode;
  p[1] = static_cast<uint8_t>((bth.solicited ? 0x80 : 0) | 0x40 | pad << 4);  // migrated state
  store_be16(p + 2, kDefaultPkey);
  p[4] = 0;
  store_be24(p + 5, bth.dest_qpn);
  p[8] = bth.ack_req ? 0x80 : 0;
  store_be24(p + 9, bth.psn);
  return p + kBthSize;
}

void finish_roce_frame(const FrameTemplate& path, uint8_t opcode, uint32_t payload_len,
                       uint8_t* frame) {
  const uint32_t ext = path.length + kBthSize;
  const uint32_t body = op_info(opcode).ext_len + payload_len;
  const uint32_t pad = -payload_len & 3;
  std::memset(frame + ext + body, 0, pad);
  uint32_t crc = icrc_prefix(frame + path.l3, path.length - kUdpBytes - path.l3);
  crc = crc32(crc, frame + ext, body + pad);
  store_le(frame + ext + body + pad, crc);
}

}  // namespace verna
