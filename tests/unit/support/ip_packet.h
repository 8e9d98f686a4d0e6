// SPDX-License-Identifier: GPL-2.0-or-later
// IP packets made by hand, by code that shares nothing with the card.
#pragma once

#include <optional>

#include "support/wire.h"

namespace verna::test {

/// One IP header. Lengths, protocol and the IPv4 checksum follow from what is around it.
struct IpHeader {
  bool v6 = false;
  uint8_t source = 1;  // last byte of the addresses
  uint8_t dest = 2;
  uint8_t tos = 0;
  uint8_t ttl = 64;
  uint16_t id = 0;
  bool df = true;
  bool more_fragments = false;
  uint32_t flow_label = 0;
  Bytes options;                     // IPv4, a multiple of 4
  std::optional<uint8_t> extension;  // IPv6: type of an extension header
  Bytes extension_bytes;             // what is behind its type and length, 6 or 14 bytes and so on
  uint16_t break_checksum = 0;
};

enum TcpFlag : uint8_t {
  kFin = 0x01,
  kSyn = 0x02,
  kRst = 0x04,
  kPsh = 0x08,
  kAckFlag = 0x10,
  kUrg = 0x20,
  kEce = 0x40,
  kCwr = 0x80,
};

/// A frame with TCP, UDP, SCTP or something else over IP, maybe inside of a tunnel.
struct IpPacket {
  uint8_t dmac[6] = {0x52, 0x56, 0x4e, 0, 0, 1};
  uint8_t smac[6] = {2, 9, 9, 9, 9, 9};
  struct Tag {
    uint16_t tpid;
    uint16_t tci;
  };
  std::vector<Tag> tags;
  std::optional<IpHeader> outer;  // IP in IP
  /// What is between the outer IP header and the inner packet: UDP with VXLAN or GENEVE, GRE.
  enum Tunnel { kIp, kVxlan, kGeneve, kGre, kGreChecksum } tunnel = kIp;
  std::optional<bool> udp_checksum;  // of VXLAN and GENEVE; default: 0
  IpHeader ip;

  uint8_t proto = 6;
  uint16_t sport = 1500;
  uint16_t dport = 8000;
  uint32_t seq = 100;
  uint32_t ack = 100;
  uint8_t flags = kAckFlag;
  bool ae = false;  // AccECN's flag in the byte before
  uint16_t window = 0xffff;
  uint16_t urgent = 0;
  Bytes options;  // TCP, a multiple of 4
  Bytes payload;
  uint16_t break_checksum = 0;  // added to the right one
  bool no_checksum = false;     // UDP
  Bytes trailer;                // behind the IP packet

  /// The frame without FCS, padded to 60 bytes as a MAC does.
  Bytes build(bool pad = true) const;
};

/// Folded, not inverted; big endian words.
uint16_t naive_sum(const uint8_t* data, size_t len, uint32_t start = 0);

}  // namespace verna::test
