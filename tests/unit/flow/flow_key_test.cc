// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_key.h"

#include <gtest/gtest.h>

#include "support/packet_builder.h"
#include "support/world.h"

namespace verna::test {
namespace {

verna_flow_key key_of(const Bytes& frame, uint16_t port = 0) {
  PacketView view;
  parse_packet(frame.data(), static_cast<uint32_t>(frame.size()), &view);
  return make_flow_key(view, port);
}

uint16_t be(__be16 value) {
  uint8_t bytes[2];
  std::memcpy(bytes, &value, 2);
  return load_be16(bytes);
}

RocePacket packet(bool ipv6 = false) {
  RocePacket p;
  p.ipv6 = ipv6;
  p.dmac[0] = 0x52;
  p.smac[5] = 0x99;
  for (uint8_t i = 0; i < 16; i++) {
    p.sip[i] = i;
    p.dip[i] = static_cast<uint8_t>(0xf0 + i);
  }
  p.tos = 0xb8;
  p.ttl = 17;
  p.sport = 1234;
  p.dport = 80;
  p.opcode = kUdSendOnly;
  p.payload.resize(40);
  return p;
}

TEST(FlowKey, Ipv4) {
  const verna_flow_key key = key_of(packet().build(), 7);
  EXPECT_EQ(key.port, 7);
  EXPECT_EQ(key.flags, 0);
  EXPECT_EQ(key.ip_version, 4);
  EXPECT_EQ(key.dmac[0], 0x52);
  EXPECT_EQ(key.smac[5], 0x99);
  EXPECT_EQ(be(key.ethertype), 0x0800);
  EXPECT_EQ(key.ip_proto, 17);
  EXPECT_EQ(key.tos, 0xb8);
  EXPECT_EQ(key.ttl, 17);
  EXPECT_EQ(be(key.sport), 1234);
  EXPECT_EQ(be(key.dport), 80);
  const uint8_t src[16] = {12, 13, 14, 15};
  const uint8_t dst[16] = {0xfc, 0xfd, 0xfe, 0xff};
  EXPECT_EQ(std::memcmp(key.src_ip, src, 16), 0);
  EXPECT_EQ(std::memcmp(key.dst_ip, dst, 16), 0);
  EXPECT_EQ(key.vlan_tci, 0);
  EXPECT_EQ(key.tun_id, 0u);
}

TEST(FlowKey, Ipv6WithTagAndLabel) {
  RocePacket p = packet(true);
  p.vlan_tci = 0x6123;
  Bytes frame = p.build();
  frame[14 + 4 + 1] |= 0xa;
  frame[14 + 4 + 2] = 0xbc;
  frame[14 + 4 + 3] = 0xde;
  const verna_flow_key key = key_of(frame);
  EXPECT_EQ(key.ip_version, 6);
  EXPECT_EQ(key.flags, VERNA_FLOW_K_VLAN);
  EXPECT_EQ(be(key.vlan_tpid), 0x8100);
  EXPECT_EQ(be(key.vlan_tci), 0x6123);
  EXPECT_EQ(be(key.ethertype), 0x86dd);
  EXPECT_EQ(key.tos, 0xb8);
  EXPECT_EQ(std::memcmp(key.src_ip, p.sip, 16), 0);
  EXPECT_EQ(std::memcmp(key.dst_ip, p.dip, 16), 0);
  const uint8_t label[4] = {0, 0xa, 0xbc, 0xde};
  EXPECT_EQ(std::memcmp(&key.flow_label, label, 4), 0);
}

TEST(FlowKey, TwoTags) {
  Bytes frame = packet().build();
  const uint8_t tags[8] = {0x88, 0xa8, 0x20, 0x05, 0x81, 0x00, 0x00, 0x07};
  frame.insert(frame.begin() + 12, std::begin(tags), std::end(tags));
  const verna_flow_key key = key_of(frame);
  EXPECT_EQ(key.flags, VERNA_FLOW_K_VLAN | VERNA_FLOW_K_VLAN2);
  EXPECT_EQ(be(key.vlan_tpid), 0x88a8);
  EXPECT_EQ(be(key.vlan_tci), 0x2005);
  EXPECT_EQ(be(key.vlan2_tpid), 0x8100);
  EXPECT_EQ(be(key.vlan2_tci), 7);
  EXPECT_EQ(be(key.ethertype), 0x0800);
  EXPECT_EQ(be(key.dport), 80);
}

TEST(FlowKey, TcpFlagsAndIcmp) {
  Bytes frame = packet().build();
  frame[23] = 6;
  frame[34 + 12] = 0x51;
  frame[34 + 13] = 0x12;
  EXPECT_EQ(be(key_of(frame).tcp_flags), 0x112);
  frame[23] = 1;
  frame[34] = 8;
  frame[35] = 3;
  const verna_flow_key key = key_of(frame);
  EXPECT_EQ(key.tcp_flags, 0);
  EXPECT_EQ(key.icmp_type, 8);
  EXPECT_EQ(key.icmp_code, 3);
  frame[23] = 58;
  EXPECT_EQ(key_of(frame).icmp_type, 0) << "ICMPv6 in IPv4 is no ICMP";
  EXPECT_EQ(be(key_of(frame).sport), 0x0803) << "the first bytes behind IP";
}

TEST(FlowKey, FragmentsHaveNoPorts) {
  Bytes frame = packet().build();
  frame[20] = 0x20;
  verna_flow_key key = key_of(frame);
  EXPECT_EQ(key.flags, VERNA_FLOW_K_FRAGMENT | VERNA_FLOW_K_FIRST);
  EXPECT_EQ(key.sport, 0);
  EXPECT_EQ(key.ip_proto, 17);
  frame[21] = 1;
  EXPECT_EQ(key_of(frame).flags, VERNA_FLOW_K_FRAGMENT);
  frame[20] = 0x40;
  frame[21] = 0;
  EXPECT_EQ(key_of(frame).flags, 0) << "DF is no fragment";

  frame = packet(true).build();
  Bytes extension = {frame[20], 0, 0, 1, 0, 0, 0, 9};
  frame[20] = 44;
  frame.insert(frame.begin() + 54, extension.begin(), extension.end());
  key = key_of(frame);
  EXPECT_EQ(key.flags, VERNA_FLOW_K_FRAGMENT | VERNA_FLOW_K_FIRST);
  EXPECT_EQ(key.ip_proto, 17);
  frame[54 + 3] = 9;
  EXPECT_EQ(key_of(frame).flags, VERNA_FLOW_K_FRAGMENT);
}

TEST(FlowKey, Arp) {
  Bytes arp = {0,  1, 8, 0, 6, 4, 0, 2, 2, 0, 0,  0, 0, 1,
               10, 0, 0, 1, 2, 0, 0, 0, 0, 2, 10, 0, 0, 2};
  const uint8_t mac[6] = {2, 1, 1, 1, 1, 1};
  arp.resize(46);
  const verna_flow_key key = key_of(ethernet_frame(mac, mac, 0x0806, arp));
  EXPECT_EQ(be(key.arp_op), 2);
  const uint8_t sender[4] = {10, 0, 0, 1};
  const uint8_t target[4] = {10, 0, 0, 2};
  EXPECT_EQ(std::memcmp(key.src_ip, sender, 4), 0);
  EXPECT_EQ(std::memcmp(key.dst_ip, target, 4), 0);
  EXPECT_EQ(key.ip_version, 0);
  arp[4] = 8;
  EXPECT_EQ(key_of(ethernet_frame(mac, mac, 0x0806, arp)).arp_op, 0) << "no Ethernet addresses";
}

/// Every prefix of a frame: reads stay inside (the sanitizer looks), and what is cut is zero.
TEST(FlowKey, TruncatedFrames) {
  for (const bool ipv6 : {false, true}) {
    const Bytes whole = packet(ipv6).build();
    for (size_t len = 14; len < whole.size(); len++) {
      const Bytes frame(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(len));
      const verna_flow_key key = key_of(frame);
      const size_t l4 = ipv6 ? 54 : 34;
      if (len < l4 + 8) {
        EXPECT_EQ(key.sport, 0) << len;
      }
    }
  }
}

}  // namespace
}  // namespace verna::test
