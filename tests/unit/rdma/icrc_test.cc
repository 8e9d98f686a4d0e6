// SPDX-License-Identifier: GPL-2.0-or-later
// Golden vectors: packets that code and hardware of others made.
#include <gtest/gtest.h>

#include <algorithm>

#include "rdma/codec.h"
#include "support/crc.h"
#include "support/packet_builder.h"
#include "support/world.h"

namespace verna::test {
namespace {

Bytes from_hex(const std::string& hex) {
  Bytes out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  }
  return out;
}

/// What the card thinks of a frame.
bool card_accepts(const Bytes& frame) {
  PacketView view;
  parse_packet(frame.data(), static_cast<uint32_t>(frame.size()), &view);
  verna::RocePacket packet;
  if (verna::parse_roce(view, &packet) != ParseResult::kOk) return false;
  return icrc_ok(packet);
}

/// A CNP that a ConnectX-4 Lx sent.
const char kCnpCapture[] =
    "e41d2dab2bc27cfe90643b32080045c2003c718c4000401191610a0011010a001201000012b700280000"
    "8100ffff40000118000000000000000000000000000000000000000082fd002a";

/// The UC SEND ONLY of scapy's test suite; its ICRC is 0x78f353f3 in the order of the wire.
Bytes scapy_uc_send_only() {
  RocePacket p;
  const uint8_t mac[6] = {0x24, 0x8a, 0x07, 0xa8, 0xfa, 0x22};
  std::copy_n(mac, 6, p.dmac);
  std::copy_n(mac, 6, p.smac);
  const uint8_t ip[4] = {192, 168, 0, 7};
  std::copy_n(ip, 4, p.sip + 12);
  std::copy_n(ip, 4, p.dip + 12);
  p.tos = 1;
  p.ip_id = 1144;
  p.sport = 49152;
  p.udp_checksum = 0xaca2;
  p.opcode = kUcSendOnly;
  p.migreq = true;
  p.pad = 2;
  p.dest_qpn = 211;
  p.psn = 13571856;
  const char payload[] =
      "F0\x81\x8b\xe2\x89"
      "5\xd9\x0e\x9a\x95PT\x01\xbe\x88^P";
  p.payload.assign(payload, payload + 18);
  return p.build();
}

TEST(Icrc, ConnectX4Cnp) {
  const Bytes frame = from_hex(kCnpCapture);
  ASSERT_EQ(frame.size(), 74u);
  EXPECT_EQ(roce_icrc(frame.data(), frame.size() - 4), 0x2a00fd82u) << "of the tests' own code";
  EXPECT_TRUE(card_accepts(frame));
}

TEST(Icrc, ScapyUcSendOnly) {
  const Bytes frame = scapy_uc_send_only();
  ASSERT_EQ(frame.size(), 14u + 64);
  EXPECT_EQ(frame[24], 0xb4) << "scapy's IP checksum";
  EXPECT_EQ(frame[25], 0xd5);
  const Bytes icrc(frame.end() - 4, frame.end());
  EXPECT_EQ(icrc, (Bytes{0x78, 0xf3, 0x53, 0xf3}));
  EXPECT_TRUE(card_accepts(frame));
}

/// Every single bit counts, but for those that routers may change.
TEST(Icrc, EveryProtectedBitMatters) {
  for (const Bytes& good : {from_hex(kCnpCapture), scapy_uc_send_only()}) {
    ASSERT_TRUE(card_accepts(good));
    for (size_t bit = 14 * 8; bit < good.size() * 8; bit++) {
      Bytes bad = good;
      bad[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
      const size_t at = bit / 8 - 14;
      const bool free = at == 1 || at == 8 || at == 10 || at == 11 ||  // ToS, TTL, IP checksum
                        at == 26 || at == 27 || at == 32;              // UDP checksum, BTH resv8a
      if (free) {
        EXPECT_EQ(roce_icrc(bad.data(), bad.size() - 4), roce_icrc(good.data(), good.size() - 4));
        EXPECT_TRUE(card_accepts(bad)) << "byte " << at << " of the IP packet is masked";
      } else {
        EXPECT_FALSE(card_accepts(bad)) << "byte " << at << " of the IP packet";
      }
    }
  }
}

TEST(Icrc, Ipv6AndVlanAgreeWithTheTestsOwn) {
  for (size_t len = 0; len < 70; len++) {
    RocePacket p;
    p.ipv6 = true;
    p.tos = static_cast<uint8_t>(len);
    if (len % 2) p.vlan_tci = 0x2005;
    p.opcode = kUdSendOnly;
    p.payload = pattern(len, len);
    Bytes frame = p.build();
    EXPECT_TRUE(card_accepts(frame)) << len;
    const size_t ip = len % 2 ? 18 : 14;
    Bytes masked = frame;
    masked[ip + 7] ^= 0xff;  // hop limit
    masked[ip + 3] ^= 0xff;  // flow label
    masked[ip] ^= 0x0f;      // traffic class
    EXPECT_TRUE(card_accepts(masked)) << len;
    frame[ip + 8] ^= 1;  // source address
    EXPECT_FALSE(card_accepts(frame)) << len;
  }
}

}  // namespace
}  // namespace verna::test
