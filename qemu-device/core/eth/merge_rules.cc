// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/merge_rules.h"

#include <algorithm>

#include "hw/verna_cmd.h"

namespace verna {
namespace {

constexpr uint16_t kDontFragment = 0x4000;

enum TcpFlags : uint8_t {
  kFin = 0x01,
  kSyn = 0x02,
  kRst = 0x04,
  kPsh = 0x08,
  kUrg = 0x20,
  kCwr = 0x80,
};

/// Offsets in a TCP header.
enum Tcp : uint32_t {
  kSeq = 4,
  kAck = 8,
  kOffset = 12,
  kFlags = 13,
  kWindow = 14,
  kSum = 16,
  kUrgent = 18,
};

bool is_v4(const HeldFrame& f, uint32_t l3) { return f.data[l3] >> 4 == 4; }

uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 29;
}

uint64_t mix_addresses(uint64_t hash, const HeldFrame& f, uint32_t l3) {
  const uint8_t* p = f.data + l3 + (is_v4(f, l3) ? 12 : 8);
  const uint8_t* end = p + (is_v4(f, l3) ? 8 : 32);
  for (; p != end; p += 8) hash = mix(hash, load_le<uint64_t>(p));
  return hash;
}

/// The innermost IP layer, through one layer of IP in IP. No version: there is none to go into.
IpLayer innermost(const HeldFrame& f) {
  const bool tunnel = f.ip.ip_proto == kProtoIpv4 || f.ip.ip_proto == kProtoIpv6;
  if (!tunnel || !f.ip.l4) return f.ip;
  IpLayer inner;
  parse_ip({f.data, std::min(f.hdr_len(), f.ip.l3_end), f.ip.l3_end}, f.ip.l4,
           f.ip.ip_proto == kProtoIpv4 ? kEthertypeIpv4 : kEthertypeIpv6, &inner);
  return inner;
}

/// Only extension headers that GSO copies into each segment: hop by hop, routing, destination.
bool plain_extensions(const HeldFrame& f, uint32_t l3, uint32_t end) {
  uint8_t next = f.data[l3 + 6];
  for (uint32_t at = l3 + kIpv6Bytes; at < end;) {
    if (next != 0 && next != 43 && next != 60) return false;
    next = f.data[at];
    at += (f.data[at + 1] + 1u) * 8;
  }
  return true;
}

/// The IP header at `l3`, with `next` behind it, is one that can be made for each segment, and says
/// that its packet ends at `end`.
bool plain_ip(const HeldFrame& f, uint32_t l3, uint32_t next, uint32_t end) {
  const uint8_t* ip = f.data + l3;
  if (is_v4(f, l3))
    return next - l3 == kIpv4Bytes && load_be16(ip + 2) == end - l3 &&
           csum_fold(csum_add(0, ip, kIpv4Bytes)) == 0xffff;
  return load_be16(ip + 4) + kIpv6Bytes == end - l3 && plain_extensions(f, l3, next);
}

bool same(const HeldFrame& a, const HeldFrame& b, uint32_t from, uint32_t to) {
  return std::memcmp(a.data + from, b.data + from, to - from) == 0;
}

/// All that has to be the same in an IP header and what lies before `next`.
bool same_ip(const HeldFrame& a, const HeldFrame& b, uint32_t l3, uint32_t next) {
  if (is_v4(a, l3))
    return same(a, b, l3, l3 + 2) && same(a, b, l3 + 6, l3 + 10) && same(a, b, l3 + 12, next);
  return same(a, b, l3, l3 + 4) && same(a, b, l3 + 6, next);
}

bool same_tcp(const HeldFrame& a, const HeldFrame& b, const RxShared& settings) {
  const uint32_t l4 = a.l4;
  const uint8_t cwr_a = a.data[l4 + kFlags] & kCwr;
  const uint8_t cwr_b = b.data[l4 + kFlags] & kCwr;
  const bool cwr = settings.features & VERNA_ETH_ON_MERGE_CWR ? cwr_a == cwr_b : !cwr_b;
  const uint8_t fixed = static_cast<uint8_t>(~(kFin | kPsh | kCwr));
  return cwr && same(a, b, l4, l4 + kSeq) && same(a, b, l4 + kAck, l4 + kFlags) &&
         ((a.data[l4 + kFlags] ^ b.data[l4 + kFlags]) & fixed) == 0 &&
         same(a, b, l4 + kWindow, l4 + kSum) && same(a, b, l4 + kUrgent, a.payload);
}

bool same_headers(const HeldFrame& a, const HeldFrame& b, const RxShared& settings) {
  if (a.ip.l3 != b.ip.l3 || a.inner_l3 != b.inner_l3 || a.l4 != b.l4 || a.payload != b.payload ||
      a.stripped != b.stripped || a.stripped_s != b.stripped_s || a.vlan_tci != b.vlan_tci ||
      a.mark != b.mark || a.origin != b.origin)
    return false;
  const uint32_t outer_end = a.inner_l3 ? a.inner_l3 : a.l4;
  return same(a, b, 0, a.ip.l3) && same_ip(a, b, a.ip.l3, outer_end) &&
         (!a.inner_l3 || same_ip(a, b, a.inner_l3, a.l4)) && same_tcp(a, b, settings);
}

/// IPv4 IDs go up by one a frame or are the same in all; the second frame decides.
bool id_continues(const HeldFrame& packet, const HeldFrame& frame, uint32_t l3, bool inner,
                  uint32_t features, uint8_t* fixed) {
  if (!is_v4(packet, l3)) return true;
  const uint16_t step =
      static_cast<uint16_t>(load_be16(frame.data + l3 + 4) - load_be16(packet.data + l3 + 4));
  const uint8_t bit = inner ? 2 : 1;
  if (packet.merge.frames == 1 && step == 0) {
    const bool innermost_header = inner || !packet.inner_l3;
    const bool df = load_be16(packet.data + l3 + 6) & kDontFragment;
    if (!(features & VERNA_ETH_ON_MERGE_IDS) && !(innermost_header && df)) return false;
    *fixed |= bit;
  }
  return step == (*fixed & bit ? 0 : packet.merge.frames);
}

/// Writes an IP header's length, for a packet that ends at `end`.
void finish_ip(HeldFrame* packet, uint32_t l3, uint32_t end) {
  uint8_t* ip = packet->data + l3;
  if (!is_v4(*packet, l3)) {
    store_be16(ip + 4, static_cast<uint16_t>(end - l3 - kIpv6Bytes));
    return;
  }
  store_be16(ip + 2, static_cast<uint16_t>(end - l3));
  store_be16(ip + 10, 0);
  store_le<uint16_t>(ip + 10, csum_finish(csum_add(0, ip, kIpv4Bytes)));
}

}  // namespace

uint32_t tcp_sequence(const HeldFrame& frame) { return load_be32(frame.data + frame.l4 + kSeq); }
uint8_t tcp_flags(const HeldFrame& frame) { return frame.data[frame.l4 + kFlags]; }

FlowKind find_flow(HeldFrame* frame) {
  if (!frame->ip.ip_version) return FlowKind::kNone;
  const IpLayer ip = innermost(*frame);
  if (frame->ip.fragment || ip.fragment) return FlowKind::kUnknown;
  if (!ip.ip_version || ip.ip_proto != kProtoTcp) return FlowKind::kNone;
  if (!ip.l4) return FlowKind::kUnknown;
  frame->inner_l3 = ip.l3 == frame->ip.l3 ? 0 : ip.l3;
  frame->l4 = ip.l4;
  const uint32_t header = (frame->data[ip.l4 + kOffset] >> 4) * 4u;
  const uint32_t payload = ip.l4 + header;
  const bool fits = header >= kTcpBytes && payload <= ip.l3_end && payload <= frame->hdr_len();
  frame->payload = static_cast<uint16_t>(fits ? payload : 0);
  frame->payload_len = fits ? ip.l3_end - payload : 0;
  uint64_t flow = mix_addresses(frame->ip.ip_version, *frame, frame->ip.l3);
  if (frame->inner_l3) flow = mix_addresses(flow, *frame, frame->inner_l3);
  frame->merge.flow = mix(flow, load_be32(frame->data + ip.l4));
  return FlowKind::kTcp;
}

bool may_merge(const HeldFrame& f) {
  if (!f.payload_len || !f.csum_ok || f.csum_bad) return false;
  if (tcp_flags(f) & (kSyn | kRst | kUrg)) return false;
  const uint32_t end = f.payload + f.payload_len;
  const uint32_t wire_len = f.len + (f.stripped ? 4 : 0);
  if (f.len != end && wire_len > VERNA_ETH_MIN_FRAME) return false;  // a trailer would be lost
  if (!f.inner_l3) return plain_ip(f, f.ip.l3, f.l4, end);
  return plain_ip(f, f.ip.l3, f.inner_l3, end) && plain_ip(f, f.inner_l3, f.l4, end);
}

bool continues(HeldFrame* packet, const HeldFrame& frame, const RxShared& settings) {
  const MergeState& m = packet->merge;
  if (tcp_sequence(frame) != m.next_seq || frame.payload_len > m.mss || m.frames == 0xffff)
    return false;
  if (m.bytes - packet->ip.l3 + frame.payload_len > settings.merge_bytes) return false;
  if (!same_headers(*packet, frame, settings)) return false;
  uint8_t fixed = m.fixed_ids;
  if (!id_continues(*packet, frame, packet->ip.l3, false, settings.features, &fixed)) return false;
  if (packet->inner_l3 &&
      !id_continues(*packet, frame, packet->inner_l3, true, settings.features, &fixed))
    return false;
  packet->merge.fixed_ids = fixed;
  return true;
}

bool ends_packet(const HeldFrame& packet, const HeldFrame& frame) {
  return frame.payload_len < packet.merge.mss || tcp_flags(frame) & (kFin | kPsh);
}

void finish_headers(HeldFrame* packet) {
  const MergeState& m = packet->merge;
  finish_ip(packet, packet->ip.l3, m.bytes);
  if (packet->inner_l3) finish_ip(packet, packet->inner_l3, m.bytes);
  uint8_t* tcp = packet->data + packet->l4;
  tcp[kFlags] |= m.last_flags & (kFin | kPsh);
  store_be16(tcp + kSum, 0);
  const uint32_t l3 = packet->inner_l3 ? packet->inner_l3 : packet->ip.l3;
  const uint32_t length = m.bytes - packet->l4;
  CsumSum sum = is_v4(*packet, l3) ? csum_pseudo_ipv4(packet->data + l3, kProtoTcp, length)
                                   : csum_pseudo_ipv6(packet->data + l3, kProtoTcp, length);
  sum = csum_add(csum_join(sum, m.payload_sum), tcp, packet->payload - packet->l4);
  store_le<uint16_t>(tcp + kSum, csum_finish(sum));
  packet->sum =
      csum_add(m.payload_sum, packet->data + kMacHeaderBytes, packet->payload - kMacHeaderBytes);
}

}  // namespace verna
