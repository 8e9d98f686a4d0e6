// SPDX-License-Identifier: GPL-2.0-or-later
// Ethernet between functions of one card, and between them and the wire.
#include "functions/switch_rig.h"

namespace verna::test {
namespace {

using Switching = SwitchRig;

Bytes padded(Bytes frame) {
  if (frame.size() < 60) frame.resize(60, 0);
  return frame;
}

TEST_F(Switching, FromVfToVf) {
  const Bytes frame = vf1.frame_to(vf2.address.mac, 300);
  vf1.send(frame);
  settle();
  EXPECT_EQ(vf2.received(), std::vector<Bytes>{frame});
  expect_silence();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_frames), 1u);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_bytes), 300u);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_copies), 0u);
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_frames), 1u);
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_bytes), 300u);
  EXPECT_EQ(card.vfs[1].counters().port[VERNA_PORT_rx_to_eth], 1u);
  EXPECT_EQ(card.vfs[1].counters().eth[VERNA_ETH_rx_packets], 1u);
  EXPECT_EQ(card.port_counter(VERNA_PORT_tx_frames), 0u);
}

TEST_F(Switching, FromVfToWireAndBack) {
  const Bytes out = vf1.frame_to(peer.mac, 20);
  vf1.send(out);
  EXPECT_EQ(on_wire(), std::vector<Bytes>{padded(out)});
  EXPECT_EQ(vport(VERNA_VPORT_UPLINK, VERNA_VPORT_rx_frames), 1u);
  const Bytes back = ethernet_frame(vf1.address.mac, peer.mac, 0x88b5, pattern(1400, 2));
  inject(back);
  settle();
  EXPECT_EQ(vf1.received(), std::vector<Bytes>{back});
  EXPECT_EQ(card.port_counter(VERNA_PORT_rx_to_switch), 1u);
  EXPECT_EQ(card.port_counter(VERNA_PORT_rx_to_eth), 0u);
  EXPECT_EQ(vport(VERNA_VPORT_UPLINK, VERNA_VPORT_tx_frames), 1u);
  expect_silence();
}

TEST_F(Switching, ThePfIsOneOfThem) {
  const Bytes there = pf.frame_to(vf2.address.mac);
  const Bytes back = vf2.frame_to(pf.address.mac);
  const Bytes out = pf.frame_to(peer.mac);
  const Bytes in = ethernet_frame(pf.address.mac, peer.mac, 0x88b5, pattern(80, 3));
  pf.send(there);
  pf.send(out);
  vf2.send(back);
  inject(in);
  settle();
  EXPECT_EQ(vf2.received(), std::vector<Bytes>{there});
  EXPECT_EQ(on_wire(), std::vector<Bytes>{out});
  std::vector<Bytes> at_pf = pf.received();
  std::sort(at_pf.begin(), at_pf.end());
  std::vector<Bytes> expected = {back, in};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(at_pf, expected);
  EXPECT_EQ(card.eth_counter(VERNA_ETH_rx_packets), 2u);
  expect_silence();
}

TEST_F(Switching, BroadcastGoesToAllButItsSender) {
  const Bytes frame = vf2.frame_to(kEverybody);
  vf2.send(frame);
  settle();
  for (Station* s : {&pf, &vf1, &vf3}) EXPECT_EQ(s->received(), std::vector<Bytes>{frame});
  EXPECT_EQ(on_wire(), std::vector<Bytes>{frame});
  EXPECT_EQ(vport(3, VERNA_VPORT_tx_copies), 3u);
  EXPECT_EQ(vport(3, VERNA_VPORT_tx_broadcast), 1u);
  EXPECT_EQ(vport(1, VERNA_VPORT_rx_broadcast), 1u);
  expect_silence();
}

TEST_F(Switching, GroupsGoToWhoAskedForThem) {
  const uint8_t group[6] = {0x33, 0x33, 0, 0, 0, 7};
  ASSERT_TRUE(vf3.driver.set_mac(VERNA_CMD_ADD_MAC, group).ok());
  const Bytes frame = vf1.frame_to(group);
  vf1.send(frame);
  settle();
  EXPECT_EQ(vf3.received(), std::vector<Bytes>{frame});
  EXPECT_EQ(on_wire(), std::vector<Bytes>{frame});
  EXPECT_EQ(vport(4, VERNA_VPORT_rx_multicast), 1u);
  ASSERT_TRUE(vf3.driver.set_mac(VERNA_CMD_DEL_MAC, group).ok());
  vf1.send(frame);
  EXPECT_EQ(on_wire(), std::vector<Bytes>{frame});
  expect_silence();
}

TEST_F(Switching, WhatIsUnknownLeavesByTheWireAndComesToNobody) {
  const uint8_t stranger[6] = {2, 8, 8, 8, 8, 8};
  const Bytes frame = vf1.frame_to(stranger);
  vf1.send(frame);
  EXPECT_EQ(on_wire(), std::vector<Bytes>{frame});
  inject(ethernet_frame(stranger, peer.mac, 0x88b5, pattern(80, 1)));
  settle();
  EXPECT_EQ(vport(VERNA_VPORT_UPLINK, VERNA_VPORT_tx_drop_nobody), 1u);
  expect_silence();
  ASSERT_TRUE(pf.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC).ok());
  inject(ethernet_frame(stranger, peer.mac, 0x88b5, pattern(80, 1)));
  settle();
  EXPECT_EQ(pf.received().size(), 1u) << "unless the PF wants all";
  ASSERT_TRUE(vf1.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC).ok());
  inject(ethernet_frame(stranger, peer.mac, 0x88b5, pattern(80, 1)));
  settle();
  EXPECT_EQ(pf.received().size(), 1u);
  EXPECT_EQ(vf1.received().size(), 0u) << "a VF that nobody trusts";
}

TEST_F(Switching, SpoofedFramesAreRefusedAndCounted) {
  vf1.send(ethernet_frame(vf2.address.mac, vf3.address.mac, 0x88b5, pattern(80, 1)));
  vf1.send(ethernet_frame(peer.mac, pf.address.mac, 0x88b5, pattern(80, 1)));
  const Bytes good = vf1.frame_to(vf2.address.mac);
  vf1.send(good);
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_frames), 3u);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_spoof), 2u);
  EXPECT_EQ(vf2.received(), std::vector<Bytes>{good});
  expect_silence();
  const uint8_t lldp[6] = {0x01, 0x80, 0xc2, 0, 0, 0x0e};
  vf1.send(vf1.frame_to(lldp));
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_reserved), 1u);
  expect_silence();
}

TEST_F(Switching, AVlanOfTheAdministrator) {
  ASSERT_TRUE(set_vlan(1, 10, 5).ok());
  ASSERT_TRUE(set_vlan(2, 10, 3).ok());
  const Bytes inside = vf1.frame_to(vf2.address.mac);
  vf1.send(inside);
  settle();
  EXPECT_EQ(vf2.received(), std::vector<Bytes>{inside}) << "untagged at both ends";
  const Bytes out = vf1.frame_to(peer.mac);
  vf1.send(out);
  EXPECT_EQ(on_wire(), std::vector<Bytes>{tagged(out, 5 << 13 | 10)});
  const Bytes in = ethernet_frame(vf2.address.mac, peer.mac, 0x88b5, pattern(46, 3));
  inject(tagged(in, 10));
  inject(tagged(in, 11));
  inject(in);
  settle();
  EXPECT_EQ(vf2.received(), std::vector<Bytes>{in}) << "of its VLAN only";
  const Bytes everybody = vf1.frame_to(kEverybody);
  vf1.send(everybody);
  EXPECT_EQ(on_wire(), std::vector<Bytes>{tagged(everybody, 5 << 13 | 10)});
  EXPECT_EQ(vf2.received(), std::vector<Bytes>{everybody});
  EXPECT_EQ(pf.received(), std::vector<Bytes>{tagged(everybody, 5 << 13 | 10)})
      << "the PF has all VLANs";
  EXPECT_EQ(vf3.received().size(), 1u) << "so has a VF without one";
  vf1.send(tagged(vf1.frame_to(vf2.address.mac), 10));
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_tag), 1u);
  expect_silence();
}

TEST_F(Switching, ATagThatMakesAFrameTooLong) {
  NicConfig config;
  ASSERT_TRUE(vf1.driver.set_mtu(9600).ok());
  ASSERT_TRUE(set_vlan(1, 10).ok());
  vf1.send(vf1.frame_to(peer.mac, 9622));
  settle();
  EXPECT_EQ(vport(VERNA_VPORT_UPLINK, VERNA_VPORT_rx_drop_oversize), 1u);
  vf1.send(vf1.frame_to(peer.mac, 9618));
  settle();
  const std::vector<Bytes> out = on_wire();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0].size(), 9622u);
}

TEST_F(Switching, EachHasAnMtuOfItsOwn) {
  ASSERT_TRUE(vf1.driver.set_mtu(4000).ok());
  ASSERT_TRUE(vf2.driver.set_mtu(2000).ok());
  vf1.send(vf1.frame_to(vf2.address.mac, 3000));
  vf1.send(vf1.frame_to(vf2.address.mac, 1900));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u);
  EXPECT_EQ(card.vfs[1].counters().port[VERNA_PORT_rx_drop_oversize], 1u);
  inject(ethernet_frame(pf.address.mac, peer.mac, 0x88b5, pattern(3000, 1)));
  inject(ethernet_frame(vf2.address.mac, peer.mac, 0x88b5, pattern(1900, 1)));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u) << "the wire takes what the largest MTU allows";
  EXPECT_EQ(card.nic->vport_mac_counters().port[VERNA_PORT_rx_drop_oversize], 1u);
}

TEST_F(Switching, SegmentsAndChecksumsAreMadeBeforeTheSwitch) {
  IpPacket p;
  std::copy_n(vf2.address.mac, 6, p.dmac);
  std::copy_n(vf1.address.mac, 6, p.smac);
  p.payload = pattern(3000, 1);
  vf1.send_large(p.build(false), 1000);
  settle();
  const std::vector<Bytes> segments = vf2.received();
  ASSERT_EQ(segments.size(), 3u);
  for (const Bytes& s : segments) EXPECT_EQ(s.size(), 1054u);
  EXPECT_EQ(card.vfs[1].counters().eth[VERNA_ETH_rx_csum_ok], 3u);
}

TEST_F(Switching, AFullWireHoldsFramesBackAndLosesNone) {
  wire.a.block_tx = true;
  for (int i = 0; i < 20; i++) vf1.send(vf1.frame_to(peer.mac, 100, i));
  settle();
  EXPECT_EQ(on_wire().size(), 0u);
  wire.a.block_tx = false;
  EXPECT_EQ(on_wire().size(), 20u);
}

TEST_F(Switching, AVfWithoutBuffersHoldsUpNobody) {
  for (int round = 0; round < 20; round++) {
    for (int i = 0; i < 20; i++) {
      vf1.send(vf1.frame_to(vf2.address.mac, 1000, i));
      vf1.send(vf1.frame_to(vf3.address.mac, 1000, i));
    }
    settle();
    EXPECT_EQ(vf3.received().size(), 20u);
    (void)vf1.received();
  }
  const Counters& slow = card.vfs[1].counters();
  EXPECT_EQ(slow.eth[VERNA_ETH_rx_packets], Station::kBuffers);
  EXPECT_EQ(slow.eth[VERNA_ETH_rx_drop_no_buffer], 400 - Station::kBuffers);
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_drop_full), 0u);
}

TEST_F(Switching, AFullVportDropsAndItsSendersGoOn) {
  world.budget = 4 << 20;  // more in one run than the vport's ring holds
  for (int i = 0; i < 250; i++) {
    vf1.send(vf1.frame_to(vf2.address.mac, 1500, i));
    vf3.send(vf3.frame_to(vf2.address.mac, 1500, i));
  }
  settle();
  const uint64_t lost = vport(3, VERNA_VPORT_rx_drop_full);
  EXPECT_GT(lost, 100u);
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_frames) + lost, 500u);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_frames), 250u);
  EXPECT_EQ(vport(4, VERNA_VPORT_tx_frames), 250u);
  EXPECT_GT(vf2.received().size(), 0u);
  vf1.send(vf1.frame_to(vf3.address.mac));
  settle();
  EXPECT_EQ(vf3.received().size(), 1u);
}

TEST_F(Switching, TheTraceTellsTheWay) {
  card.nic->control("trace on", 0);
  vf1.send(vf1.frame_to(vf2.address.mac, 300));
  vf1.send(ethernet_frame(vf2.address.mac, vf3.address.mac, 0x88b5, pattern(80, 1)));
  settle();
  const std::string trace = card.nic->control("trace show", 0);
  const auto line = [&](const char* stage, uint64_t a, uint64_t b) {
    const std::string text = "\"stage\":\"" + std::string(stage) + "\",\"a\":" + std::to_string(a) +
                             ",\"b\":" + std::to_string(b) + "}";
    return trace.find(text) != std::string::npos;
  };
  EXPECT_TRUE(line("switch", 2 << 16 | 3, 300)) << trace;
  EXPECT_TRUE(line("drop", VERNA_COUNTERS_VPORT << 16 | VERNA_VPORT_tx_drop_spoof, 94)) << trace;
}

TEST_F(Switching, AVfWhoseMemoryIsGoneDiesAlone) {
  vf2.bus.expect_faults();
  vf2.bus.fail_nth(1);
  verna_cmd_object nop{};
  nop.hdr.function = 2;
  vf2.driver.post_command(&nop, sizeof nop);
  vf2.driver.ring_admin_doorbell();
  settle();
  EXPECT_TRUE(vf2.driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_FATAL);
  const uint32_t beat = vf2.driver.reg(VERNA_REG_HEARTBEAT);
  const uint32_t beat_of_other = vf3.driver.reg(VERNA_REG_HEARTBEAT);
  vf2.send(vf2.frame_to(vf3.address.mac));
  for (int i = 0; i < 30; i++) {
    vf1.send(vf1.frame_to(vf2.address.mac, 100, i));
    vf1.send(vf1.frame_to(vf3.address.mac, 100, i));
  }
  world.run_for(2 * kSecond);
  EXPECT_EQ(vf3.received().size(), 30u);
  EXPECT_EQ(card.vfs[1].counters().port[VERNA_PORT_rx_drop_disabled], 30u);
  EXPECT_EQ(vf2.driver.reg(VERNA_REG_HEARTBEAT), beat);
  EXPECT_NE(vf3.driver.reg(VERNA_REG_HEARTBEAT), beat_of_other);
  card.vfs[1].reset();
  vf2.bring_up();
  vf2.send(vf2.frame_to(vf3.address.mac));
  settle();
  EXPECT_EQ(vf3.received().size(), 1u);
}

TEST_F(Switching, AFloodIsChargedToItsSender) {
  // Alone, a broadcast frame costs four times as much as one to a neighbour.
  const auto turns_for = [&](const uint8_t(&dmac)[6]) {
    for (int i = 0; i < 200; i++) vf1.send(vf1.frame_to(dmac, 1400, i));
    const uint64_t before = world.rounds;
    settle();
    for (Station& s : stations) (void)s.received();
    (void)on_wire();
    return world.rounds - before;
  };
  world.budget = 16384;
  const uint64_t one = turns_for(vf2.address.mac);
  const uint64_t all = turns_for(kEverybody);
  EXPECT_GT(all, 2 * one);
}

TEST_F(Switching, ThereIsNoSwitchWithoutVfs) {
  card.set_num_vfs(0);
  const uint64_t before = vport(1, VERNA_VPORT_tx_frames);
  const Bytes frame = pf.frame_to(vf1.address.mac);
  pf.send(frame);
  EXPECT_EQ(on_wire(), std::vector<Bytes>{frame});
  inject(ethernet_frame(pf.address.mac, peer.mac, 0x88b5, pattern(80, 3)));
  settle();
  EXPECT_EQ(pf.received().size(), 1u);
  EXPECT_EQ(vport(1, VERNA_VPORT_tx_frames), before);
  EXPECT_EQ(card.port_counter(VERNA_PORT_rx_to_eth), 1u);
}

}  // namespace
}  // namespace verna::test
