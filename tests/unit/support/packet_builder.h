// SPDX-License-Identifier: GPL-2.0-or-later
// RoCEv2 frames made and taken apart by code that shares nothing with the card's codec.
#pragma once

#include <optional>

#include "support/wire.h"

namespace verna::test {

/// Opcodes as the table in Documentation/hw names them.
enum RoceOpcode : uint8_t {
  kRcSendFirst = 0x00,
  kRcSendMiddle,
  kRcSendLast,
  kRcSendLastImm,
  kRcSendOnly,
  kRcSendOnlyImm,
  kRcWriteFirst,
  kRcWriteMiddle,
  kRcWriteLast,
  kRcWriteLastImm,
  kRcWriteOnly,
  kRcWriteOnlyImm,
  kRcReadRequest,
  kRcReadRespFirst,
  kRcReadRespMiddle,
  kRcReadRespLast,
  kRcReadRespOnly,
  kRcAck,
  kRcAtomicAck,
  kRcCompareSwap,
  kRcFetchAdd,
  kRcSendLastInv = 0x16,
  kRcSendOnlyInv = 0x17,
  kUcSendFirst = 0x20,
  kUcSendMiddle,
  kUcSendLast,
  kUcSendLastImm,
  kUcSendOnly,
  kUcSendOnlyImm,
  kUcWriteFirst,
  kUcWriteMiddle,
  kUcWriteLast,
  kUcWriteLastImm,
  kUcWriteOnly,
  kUcWriteOnlyImm,
  kUdSendOnly = 0x64,
  kUdSendOnlyImm = 0x65,
  kCnp = 0x81,
};

inline constexpr uint8_t kNakSequence = 0x60;
inline constexpr uint8_t kNakInvalidRequest = 0x61;
inline constexpr uint8_t kNakRemoteAccess = 0x62;
inline constexpr uint8_t kNakRemoteOperational = 0x63;
inline bool is_ack(uint8_t syndrome) { return (syndrome & 0xe0) == 0; }
inline bool is_rnr_nak(uint8_t syndrome) { return (syndrome & 0xe0) == 0x20; }

struct RocePacket {
  // Ethernet and IP
  uint8_t dmac[6] = {};
  uint8_t smac[6] = {};
  std::optional<uint16_t> vlan_tci;
  bool ipv6 = false;
  uint8_t sip[16] = {};  // IPv4 in the last four bytes
  uint8_t dip[16] = {};
  uint8_t tos = 0;
  uint8_t ttl = 64;
  uint16_t ip_id = 0;
  uint16_t sport = 0xc123;
  uint16_t dport = 4791;
  uint16_t udp_checksum = 0;
  // BTH
  uint8_t opcode = 0;
  bool solicited = false;
  bool migreq = false;
  std::optional<uint8_t> pad;  // default: what the payload needs
  uint8_t tver = 0;
  uint16_t pkey = 0xffff;
  bool fecn = false;
  bool becn = false;
  uint32_t dest_qpn = 0;
  bool ack_req = false;
  uint32_t psn = 0;
  // extended headers; which are there follows from the opcode
  uint64_t va = 0;
  uint32_t rkey = 0;
  uint32_t dma_len = 0;
  uint64_t swap_add = 0;
  uint64_t compare = 0;
  uint8_t syndrome = 0;
  uint32_t msn = 0;
  uint64_t atomic_original = 0;
  uint32_t qkey = 0;
  uint32_t src_qpn = 0;
  uint32_t imm = 0;   // value of the four bytes in network order
  uint32_t ieth = 0;  // same
  Bytes payload;

  bool icrc_ok = true;  // when parsed
  bool ip_checksum_ok = true;

  /// The frame without FCS.
  Bytes build() const;
};

/// Takes a frame (without FCS) apart. Nothing: it is no RoCEv2 frame, or its lengths contradict.
std::optional<RocePacket> parse_roce(const Bytes& frame);

/// Replaces the last four bytes by the right ICRC.
void fix_icrc(Bytes* frame);

/// A UDP or TCP frame over IPv4 or IPv6 for Ethernet tests.
Bytes ethernet_frame(const uint8_t (&dmac)[6], const uint8_t (&smac)[6], uint16_t ethertype,
                     const Bytes& payload);

}  // namespace verna::test
