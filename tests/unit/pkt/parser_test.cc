// SPDX-License-Identifier: GPL-2.0-or-later
#include "pkt/packet_view.h"

#include <gtest/gtest.h>

#include <random>

#include "support/packet_builder.h"
#include "support/world.h"

namespace verna::test {
namespace {

PacketView parse(const Bytes& frame) {
  // A copy of exactly the frame's size, so that the sanitizer sees a read behind its end.
  const Bytes exact(frame);
  PacketView view;
  std::memset(static_cast<void*>(&view), 0xa5, sizeof view);
  parse_packet(exact.data(), static_cast<uint32_t>(exact.size()), &view);
  return view;
}

Bytes roce(bool ipv6 = false, std::optional<uint16_t> vlan = {}) {
  RocePacket p;
  p.opcode = kUdSendOnly;
  p.ipv6 = ipv6;
  p.vlan_tci = vlan;
  p.payload = pattern(40, 1);
  return p.build();
}

TEST(Parser, Ipv4Udp) {
  const Bytes frame = roce();
  const PacketView v = parse(frame);
  EXPECT_EQ(v.len, frame.size());
  EXPECT_EQ(v.hdr_len, frame.size());
  EXPECT_EQ(v.ethertype, kEthertypeIpv4);
  EXPECT_FALSE(v.has_vlan);
  EXPECT_EQ(v.l3, 14);
  EXPECT_EQ(v.ip_version, 4);
  EXPECT_EQ(v.ip_proto, kProtoUdp);
  EXPECT_EQ(v.l4, 34);
  EXPECT_EQ(v.l3_end, frame.size());
  EXPECT_EQ(v.dport(), kRocePort);
  EXPECT_EQ(v.sport(), 0xc123);
}

TEST(Parser, Ipv6UdpWithVlan) {
  const Bytes frame = roce(true, 0x6123);
  const PacketView v = parse(frame);
  EXPECT_TRUE(v.has_vlan);
  EXPECT_EQ(v.vlan_tci, 0x6123);
  EXPECT_EQ(v.ethertype, kEthertypeIpv6);
  EXPECT_EQ(v.l3, 18);
  EXPECT_EQ(v.ip_version, 6);
  EXPECT_EQ(v.l4, 58);
  EXPECT_EQ(v.dport(), kRocePort);
}

/// Of all fragments only the first has an upper layer, and no later stage may take it for whole.
TEST(Parser, UpperLayerOfAFirstFragment) {
  Bytes frame = roce();
  frame[20] = 0x20;
  PacketView v = parse(frame);
  EXPECT_TRUE(v.first_fragment);
  EXPECT_EQ(v.l4, 0);
  EXPECT_EQ(v.first_l4, 34);
  frame[21] = 1;
  EXPECT_EQ(parse(frame).first_l4, 0);
  frame[20] = frame[21] = 0;
  EXPECT_EQ(parse(frame).first_l4, 0);

  frame = roce(true);
  const Bytes extension = {frame[20], 0, 0, 1, 0, 0, 0, 9};
  frame[20] = 44;
  frame.insert(frame.begin() + 54, extension.begin(), extension.end());
  v = parse(frame);
  EXPECT_EQ(v.l4, 0);
  EXPECT_EQ(v.first_l4, 62);
  frame[54 + 3] = 9;
  EXPECT_EQ(parse(frame).first_l4, 0);
}

TEST(Parser, ExtensionHeaders) {
  for (const uint8_t proto : {0, 43, 44, 51, 60, 135}) EXPECT_TRUE(is_ip_extension(proto));
  for (const uint8_t proto : {6, 17, 50, 58, 59}) EXPECT_FALSE(is_ip_extension(proto));
}

TEST(Parser, PaddingIsNotPartOfTheIpPacket) {
  Bytes frame = roce();
  const size_t end = frame.size();
  frame.resize(end + 20, 0xff);
  EXPECT_EQ(parse(frame).l3_end, end);
}

TEST(Parser, ATruncatedFrameEndsWhereItEnds) {
  const Bytes frame = roce();
  for (size_t len = 14; len < frame.size(); len++) {
    const PacketView v = parse(Bytes(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(len)));
    EXPECT_LE(v.l3_end, len);
    if (v.l4) {
      EXPECT_LE(v.l4 + 8u, len) << "the UDP header is not all there";
    }
    if (len < 14 + 20) EXPECT_EQ(v.l3, 0);
  }
}

TEST(Parser, Ipv4Options) {
  Bytes frame = roce();
  frame[14] = 0x46;  // 24 bytes of header
  frame.insert(frame.begin() + 34, {1, 1, 1, 1});
  frame[17] = static_cast<uint8_t>(frame[17] + 4);
  EXPECT_EQ(parse(frame).l4, 38);
}

TEST(Parser, Ipv4HeaderLengthLies) {
  for (uint8_t first : {0x40, 0x41, 0x44, 0x4f, 0x55, 0x05, 0xf5}) {
    Bytes frame = roce();
    frame[14] = first;
    const PacketView v = parse(frame);
    if (first == 0x4f) {
      EXPECT_EQ(v.l4, 74);  // 60 bytes of header: legal, and the frame is long enough
    } else {
      EXPECT_EQ(v.l4, 0) << int{first};
    }
  }
}

TEST(Parser, Ipv4TotalLengthLies) {
  for (unsigned total : {0u, 1u, 19u, 20u, 27u, 0xffffu}) {
    Bytes frame = roce();
    frame[16] = static_cast<uint8_t>(total >> 8);
    frame[17] = static_cast<uint8_t>(total);
    const PacketView v = parse(frame);
    EXPECT_LE(v.l3_end, frame.size());
    if (total < 28) EXPECT_EQ(v.l4, 0) << total;
    if (total < 20) EXPECT_EQ(v.ip_version, 0) << total;
  }
}

TEST(Parser, FragmentsHaveNoUpperLayer) {
  for (uint16_t field : {0x2000, 0x0001, 0x1fff, 0x3fff}) {
    Bytes frame = roce();
    frame[20] = static_cast<uint8_t>(field >> 8);
    frame[21] = static_cast<uint8_t>(field);
    const PacketView v = parse(frame);
    EXPECT_TRUE(v.fragment);
    EXPECT_EQ(v.l4, 0);
  }
}

TEST(Parser, Ipv6ExtensionHeaders) {
  Bytes frame = roce(true);
  // Hop-by-hop, then destination options, then UDP.
  frame[20] = 0;
  const Bytes extensions = {60, 0, 1, 4, 0, 0, 0, 0, 17, 1, 1, 12,
                            0,  0, 0, 0, 0, 0, 0, 0, 0,  0, 0, 0};
  frame.insert(frame.begin() + 54, extensions.begin(), extensions.end());
  frame[19] = static_cast<uint8_t>(frame[19] + extensions.size());
  const PacketView v = parse(frame);
  EXPECT_EQ(v.ip_proto, kProtoUdp);
  EXPECT_EQ(v.l4, 54 + 24);
}

TEST(Parser, Ipv6FragmentHeader) {
  Bytes frame = roce(true);
  frame[20] = 44;
  const Bytes fragment = {17, 0, 0, 1, 0, 0, 0, 7};  // more fragments follow
  frame.insert(frame.begin() + 54, fragment.begin(), fragment.end());
  frame[19] = static_cast<uint8_t>(frame[19] + 8);
  const PacketView v = parse(frame);
  EXPECT_TRUE(v.fragment);
  EXPECT_EQ(v.l4, 0);
}

TEST(Parser, ExtensionHeadersThatLeadOutside) {
  Bytes frame = roce(true);
  frame[20] = 0;
  frame[54] = 0;
  frame[55] = 255;  // 2048 bytes long
  const PacketView v = parse(frame);
  EXPECT_EQ(v.l4, 0);
}

TEST(Parser, ManyVlanTags) {
  Bytes frame = roce();
  for (int i = 0; i < 30; i++) frame.insert(frame.begin() + 12, {0x81, 0x00, 0x00, 0x05});
  const PacketView v = parse(frame);
  EXPECT_TRUE(v.has_vlan);
  EXPECT_EQ(v.l4, 0);
}

TEST(Parser, NothingButTagsAtTheEnd) {
  Bytes frame(14, 0);
  frame[12] = 0x81;
  EXPECT_EQ(parse(frame).l3, 0);
  frame.resize(16);
  EXPECT_EQ(parse(frame).l3, 0);
}

/// Whatever the bytes are, every offset lies inside of what was copied.
TEST(Parser, RandomDamageKeepsTheInvariants) {
  std::mt19937 random(3);
  for (int i = 0; i < 200000; i++) {
    Bytes frame = roce(i & 1, i & 2 ? std::optional<uint16_t>(random()) : std::nullopt);
    for (unsigned k = random() % 6; k > 0; k--) {
      frame[12 + random() % 60] = static_cast<uint8_t>(random());
    }
    frame.resize(14 + random() % (frame.size() - 13));
    const PacketView v = parse(frame);
    ASSERT_EQ(v.hdr_len, std::min<size_t>(frame.size(), PacketView::kHeaderBytes));
    ASSERT_LE(v.l3_end, v.len);
    ASSERT_TRUE(v.l3 == 0 || v.l3 + (v.ip_version == 6 ? 40u : 20u) <= v.hdr_len);
    if (v.l4) {
      ASSERT_FALSE(v.fragment);
      ASSERT_LE(v.l4, v.hdr_len);
      if (v.ip_proto == kProtoUdp) ASSERT_LE(v.l4 + 8u, v.hdr_len);
      if (v.ip_proto == kProtoTcp) ASSERT_LE(v.l4 + 20u, v.hdr_len);
    }
  }
}

}  // namespace
}  // namespace verna::test
