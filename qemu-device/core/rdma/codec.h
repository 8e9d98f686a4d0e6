// SPDX-License-Identifier: GPL-2.0-or-later
// RoCEv2 packets: parsing, building, and the invariant CRC.
#pragma once

#include "pkt/packet_view.h"
#include "rdma/opcodes.h"

namespace verna {

inline constexpr uint32_t kBthSize = 12;
inline constexpr uint32_t kIcrcSize = 4;
inline constexpr uint16_t kDefaultPkey = 0xffff;

// AETH syndromes: 000ccccc acknowledge with credits, 001ttttt RNR NAK, 011ccccc NAK.
inline constexpr uint8_t kAethAck = 0x1f;  // no credit information, as software peers send it
inline constexpr uint8_t kAethTypeMask = 0xe0;
inline constexpr uint8_t kAethTypeAck = 0x00;
inline constexpr uint8_t kAethTypeRnr = 0x20;
inline constexpr uint8_t kAethTypeNak = 0x60;
inline constexpr uint8_t kNakSequence = 0x60;
inline constexpr uint8_t kNakInvalid = 0x61;
inline constexpr uint8_t kNakAccess = 0x62;
inline constexpr uint8_t kNakOperation = 0x63;

/// A parsed packet. All fields come from the private header copy of the PacketView; `payload`
/// points into the frame, which the peer may still change.
struct RocePacket {
  const PacketView* view;
  const OpInfo* op;
  uint8_t opcode;
  bool solicited;
  bool ack_req;
  uint16_t pkey;
  uint32_t dest_qpn;
  uint32_t psn;
  // Extension headers; valid if `op` has them.
  uint64_t va;  // RETH, AtomicETH
  uint32_t rkey;
  uint32_t dma_len;   // RETH
  uint64_t swap_add;  // AtomicETH
  uint64_t compare;
  uint64_t original;  // AtomicAckETH
  uint8_t syndrome;   // AETH
  uint32_t msn;
  uint32_t qkey;  // DETH
  uint32_t src_qpn;
  uint32_t imm;       // as on the wire
  uint32_t inv_rkey;  // IETH

  const uint8_t* payload;
  uint32_t payload_len;  // without pad
  uint32_t pad;
};

enum class ParseResult { kOk, kMalformed, kBadOpcode, kBadVersion };

/// Parses a frame that has UDP at `view.l4`. Does not check the ICRC.
ParseResult parse_roce(const PacketView& view, RocePacket* out);

/// True if the ICRC at the end of the packet is right.
bool icrc_ok(const RocePacket& packet);

/// Ethernet to UDP headers of one path, ready but for lengths and checksum.
struct FrameTemplate {
  uint8_t bytes[14 + 4 + 40 + 8];
  uint8_t length = 0;      // of `bytes`
  uint8_t l3 = 0;          // offset of the IP header
  uint8_t ip_version = 0;  // 0: no path
  uint32_t ip_sum = 0;     // IPv4: sum of the header's words with length and checksum zero
};

struct PathAddress {
  uint8_t smac[6];
  uint8_t dmac[6];
  uint8_t sgid[16];
  uint8_t dgid[16];
  bool vlan;
  uint16_t vlan_tci;
  uint8_t hop_limit;
  uint8_t traffic_class;
  uint32_t flow_label;
  uint16_t udp_sport;
};
/// IPv4 if both GIDs are IPv4-mapped, else IPv6.
void make_template(const PathAddress& address, FrameTemplate* out);
bool gid_is_ipv4(const uint8_t gid[16]);

/// Fields of the BTH that a sender chooses.
struct BthFields {
  uint8_t opcode;
  bool solicited = false;
  bool ack_req = false;
  uint32_t dest_qpn;
  uint32_t psn;
};

/// Bytes of the whole frame without FCS.
uint32_t roce_frame_len(const FrameTemplate& path, uint8_t opcode, uint32_t payload_len);

/// Writes the headers up to the BTH and returns where the extension headers begin; the payload
/// follows them.
uint8_t* begin_roce_frame(const FrameTemplate& path, const BthFields& bth, uint32_t payload_len,
                          uint8_t* frame);
/// Writes pad and ICRC behind the payload.
void finish_roce_frame(const FrameTemplate& path, uint8_t opcode, uint32_t payload_len,
                       uint8_t* frame);

inline uint8_t* put_reth(uint8_t* p, uint64_t va, uint32_t rkey, uint32_t len) {
  store_be64(p, va);
  store_be32(p + 8, rkey);
  store_be32(p + 12, len);
  return p + 16;
}
inline uint8_t* put_atomic(uint8_t* p, uint64_t va, uint32_t rkey, uint64_t swap_add,
                           uint64_t compare) {
  store_be64(p, va);
  store_be32(p + 8, rkey);
  store_be64(p + 12, swap_add);
  store_be64(p + 20, compare);
  return p + 28;
}
inline uint8_t* put_aeth(uint8_t* p, uint8_t syndrome, uint32_t msn) {
  p[0] = syndrome;
  store_be24(p + 1, msn);
  return p + 4;
}
inline uint8_t* put_deth(uint8_t* p, uint32_t qkey, uint32_t src_qpn) {
  store_be32(p, qkey);
  store_be32(p + 4, src_qpn);
  return p + 8;
}

}  // namespace verna
