// SPDX-License-Identifier: GPL-2.0-or-later
// Switchdev mode: where frames go by rules, and what software gets of those that none decides.
#include "flow/tunnel_frames.h"
#include "functions/rdma_node.h"
#include "functions/switchdev_rig.h"

namespace verna::test {
namespace {

using Switchdev = SwitchdevRig;
using Frames = std::vector<Bytes>;

TEST_F(Switchdev, WhatAVfSendsGoesToSoftwareAtFirst) {
  const uint8_t stranger[6] = {2, 8, 8, 8, 8, 8};
  const Frames sent = {vf2.frame_to(vf1.address.mac), vf2.frame_to(stranger),
                       vf2.frame_to(kEverybody), vf2.frame_to(pf.address.mac)};
  for (const Bytes& frame : sent) vf2.send(frame);
  settle();
  EXPECT_EQ(soft.received(), sent) << "past all filters";
  for (const verna_cqe& cqe : soft.cqes) {
    EXPECT_EQ(cqe.rx_flags & (VERNA_CQE_RX_VPORT | VERNA_CQE_RX_MARK), VERNA_CQE_RX_VPORT);
    EXPECT_EQ(cqe.pkey_index, 3u);
    EXPECT_EQ(cqe.src_qp, 0u);
  }
  EXPECT_EQ(vport(3, VERNA_VPORT_tx_to_software), 4u);
  EXPECT_EQ(vport(VERNA_VPORT_PF, VERNA_VPORT_rx_frames), 4u);
  expect_silence();
}

TEST_F(Switchdev, WhatTheWireBringsIsThePfsAsFromAWire) {
  const Bytes good = ethernet_frame(pf.address.mac, peer.mac, 0x88b5, pattern(300, 1));
  inject(good);
  inject(ethernet_frame(vf1.address.mac, peer.mac, 0x88b5, pattern(300, 2)));
  settle();
  EXPECT_EQ(pf.received(), Frames{good});
  EXPECT_TRUE(pf.cqes[0].rx_flags & VERNA_CQE_RX_VPORT);
  EXPECT_EQ(pf.cqes[0].pkey_index, VERNA_VPORT_UPLINK);
  EXPECT_EQ(card.nic->vport_mac_counters().port[VERNA_PORT_rx_drop_filter], 1u);
  EXPECT_EQ(vport(VERNA_VPORT_UPLINK, VERNA_VPORT_tx_to_software), 2u);
  EXPECT_EQ(card.port_counter(VERNA_PORT_rx_to_switch), 2u);
  expect_silence();
}

TEST_F(Switchdev, WhatThePfSendsLeavesByTheWire) {
  const Bytes frame = pf.frame_to(vf1.address.mac);
  pf.send(frame);
  EXPECT_EQ(on_wire(), Frames{frame});
  add({VERNA_VPORT_PF}, Rule().trap());
  pf.send(frame);
  EXPECT_EQ(on_wire(), Frames{frame}) << "the PF is software";
  EXPECT_EQ(vport(VERNA_VPORT_PF, VERNA_VPORT_tx_to_software), 2u);
  expect_silence();
}

TEST_F(Switchdev, RulesSendToVports) {
  const uint32_t there = add({2}, Rule().dmac(vf2.address.mac).port(3));
  add({3}, Rule().port(VERNA_VPORT_UPLINK));
  add({VERNA_VPORT_UPLINK}, Rule().dmac(vf1.address.mac).port(2));
  add({VERNA_VPORT_PF}, Rule().port(4));
  add({4}, Rule().port(VERNA_VPORT_PF));
  const Bytes a = vf1.frame_to(vf2.address.mac, 300), b = vf2.frame_to(peer.mac, 1400),
              c = ethernet_frame(vf1.address.mac, peer.mac, 0x88b5, pattern(64, 2)),
              d = pf.frame_to(vf3.address.mac), e = vf3.frame_to(pf.address.mac);
  vf1.send(a);
  vf2.send(b);
  inject(c);
  pf.send(d);
  vf3.send(e);
  EXPECT_EQ(on_wire(), Frames{b});
  EXPECT_EQ(vf2.received(), Frames{a});
  EXPECT_EQ(vf1.received(), Frames{c});
  EXPECT_EQ(vf3.received(), Frames{d});
  EXPECT_EQ(pf.received(), Frames{e});
  EXPECT_FALSE(pf.cqes[0].rx_flags & VERNA_CQE_RX_VPORT) << "a rule decided it";
  EXPECT_EQ(pf.cqes[0].pkey_index, 0u);
  EXPECT_EQ(query(there).packets, 1u);
  EXPECT_EQ(query(there).bytes, 300u);
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_frames), 1u);
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_bytes), 300u);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_to_software), 0u);
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DEL_FLOW, there).ok());
  vf1.send(a);
  settle();
  EXPECT_EQ(soft.received(), Frames{a});
  expect_silence();
}

TEST_F(Switchdev, RulesWithoutADestinationTrapAndCount) {
  const uint32_t rule = add({2}, Rule().mark(0xabc));
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(soft.received().size(), 1u);
  EXPECT_TRUE(soft.cqes[0].rx_flags & VERNA_CQE_RX_MARK);
  EXPECT_EQ(soft.cqes[0].imm, 0xabcu);
  EXPECT_EQ(query(rule).packets, 1u);
  add({VERNA_VPORT_UPLINK}, Rule().mark(0x77).trap());
  inject(ethernet_frame(pf.address.mac, peer.mac, 0x88b5, pattern(64, 2)));
  settle();
  EXPECT_EQ(pf.received().size(), 1u);
  EXPECT_EQ(pf.cqes[0].imm, 0x77u);
}

TEST_F(Switchdev, DropsAreCountedAtTheSource) {
  add({2}, Rule().dmac(vf2.address.mac).drop());
  ASSERT_TRUE(set_miss({3}, VERNA_FLOW_MISS_DROP).ok());
  vf1.send(vf1.frame_to(vf2.address.mac));
  vf2.send(vf2.frame_to(vf1.address.mac));
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_rule), 1u);
  EXPECT_EQ(vport(3, VERNA_VPORT_tx_drop_rule), 1u);
  expect_silence();
}

TEST_F(Switchdev, ChainsAndWhereTheyEnd) {
  add({2}, Rule().type(0x88b5).chain(7));
  add({2, 7}, Rule().dmac(vf2.address.mac).port(3));
  ASSERT_TRUE(set_miss({2, 7}, VERNA_FLOW_MISS_CHAIN, 1000).ok());
  vf1.send(vf1.frame_to(vf2.address.mac));
  vf1.send(vf1.frame_to(vf3.address.mac));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u);
  ASSERT_EQ(soft.received().size(), 1u);
  EXPECT_EQ(soft.cqes[0].src_qp, 1000u) << "a chain that has no rules";
  ASSERT_TRUE(set_miss({2, 7}, VERNA_FLOW_MISS_TRAP).ok());
  vf1.send(vf1.frame_to(vf3.address.mac));
  settle();
  ASSERT_EQ(soft.received().size(), 1u);
  EXPECT_EQ(soft.cqes[0].src_qp, 7u);
  add({VERNA_VPORT_UPLINK}, Rule().chain(5));
  inject(ethernet_frame(pf.address.mac, peer.mac, 0x88b5, pattern(64, 2)));
  settle();
  ASSERT_EQ(pf.received().size(), 1u);
  EXPECT_EQ(pf.cqes[0].src_qp, 5u) << "also from the wire";
}

TEST_F(Switchdev, MoreChainsThanOneFrameMayPass) {
  for (uint32_t chain = 0; chain < 20; chain++) add({2, chain}, Rule().chain(chain + 1));
  add({2, 20}, Rule().port(3));
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(soft.received().size(), 1u);
  expect_silence();
}

TEST_F(Switchdev, VportsCanShareABlock) {
  ASSERT_TRUE(set_group(2, 900).ok());
  ASSERT_TRUE(set_group(3, 900).ok());
  add({900}, Rule().from(3).port(VERNA_VPORT_UPLINK), 1);
  add({900}, Rule().port(4), 2);
  add({2}, Rule().drop());  // nobody's any more
  const Bytes a = vf1.frame_to(peer.mac), b = vf2.frame_to(peer.mac);
  vf1.send(a);
  vf2.send(b);
  EXPECT_EQ(on_wire(), Frames{b});
  settle();
  ASSERT_TRUE(vf3.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC).ok());
  EXPECT_EQ(card.vfs[2].counters().port[VERNA_PORT_rx_drop_filter], 1u);
  vf1.send(a);
  settle();
  EXPECT_EQ(vf3.received(), Frames{a});
  ASSERT_TRUE(set_group(2, 2).ok());
  vf1.send(a);
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_rule), 1u);
  expect_silence();
}

TEST_F(Switchdev, RangesOfPorts) {
  Rule rule = Rule().type(0x0800).port(3);
  rule.dport = {1000, 2000};
  add({2}, rule);
  IpPacket p;
  std::copy_n(vf2.address.mac, 6, p.dmac);
  std::copy_n(vf1.address.mac, 6, p.smac);
  p.proto = 17;
  p.payload = pattern(100, 1);
  for (const uint16_t dport : {999, 1000, 2000, 2001}) {
    p.dport = dport;
    vf1.send(p.build());
  }
  settle();
  EXPECT_EQ(vf2.received().size(), 2u);
  EXPECT_EQ(soft.received().size(), 2u);
}

TEST_F(Switchdev, RulesLookInsideOfTunnels) {
  FlowEncap outer;
  std::copy_n(vf1.address.mac, 6, outer.smac);
  std::copy_n(vf2.address.mac, 6, outer.dmac);
  outer.id = 7;
  const Bytes inner = vf3.frame_to(peer.mac), seven = wrap(outer, 50000, inner);
  outer.id = 8;
  const Bytes eight = wrap(outer, 50000, inner);
  add({2}, Rule().vni(VERNA_FLOW_TUN_VXLAN, 7).dmac(peer.mac).port(3));
  vf1.send(seven);
  vf1.send(eight);
  settle();
  EXPECT_EQ(vf2.received(), Frames{seven});
  EXPECT_EQ(soft.received(), Frames{eight});
}

TEST_F(Switchdev, SpoofCheckHolds) {
  add({2}, Rule().port(3));
  vf1.send(ethernet_frame(vf2.address.mac, vf3.address.mac, 0x88b5, pattern(80, 1)));
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_spoof), 1u);
  expect_silence();
  verna_cmd_set_vport command{};
  command.fields = VERNA_VPORT_SET_SPOOF_CHECK;
  ASSERT_TRUE(set_vport(1, command).ok());
  vf1.send(ethernet_frame(vf2.address.mac, vf3.address.mac, 0x88b5, pattern(80, 1)));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u);
}

TEST_F(Switchdev, VlansAndReservedGroupsAreForRulesToSay) {
  ASSERT_TRUE(set_vlan(1, 10).ok());
  connect(vf1, vf2);
  const Bytes plain = vf1.frame_to(vf2.address.mac), tag = tagged(plain, 20);
  const uint8_t lldp[6] = {0x01, 0x80, 0xc2, 0, 0, 0x0e};
  vf1.send(plain);
  vf1.send(tag);
  vf1.send(vf1.frame_to(lldp));
  settle();
  EXPECT_EQ(vf2.received(), (Frames{plain, tag}));
  EXPECT_EQ(soft.received(), Frames{vf1.frame_to(lldp)});
}

TEST_F(Switchdev, SegmentsAreMadeBeforeTheSwitch) {
  const uint32_t rule = add({2}, Rule().port(3));
  IpPacket p;
  std::copy_n(vf2.address.mac, 6, p.dmac);
  std::copy_n(vf1.address.mac, 6, p.smac);
  p.payload = pattern(3000, 1);
  vf1.send_large(p.build(false), 1000);
  settle();
  EXPECT_EQ(vf2.received().size(), 3u);
  EXPECT_EQ(card.vfs[1].counters().eth[VERNA_ETH_rx_csum_ok], 3u);
  EXPECT_EQ(query(rule).packets, 3u);
  EXPECT_EQ(query(rule).bytes, 3u * 1054);
}

TEST_F(Switchdev, SegmentsForSoftwareAreNotMerged) {
  verna_cmd_eth_features on{};
  on.features = VERNA_ETH_ON_MERGE;
  ASSERT_TRUE(card.driver.execute(VERNA_CMD_SET_ETH_FEATURES, on).ok());
  IpPacket p;
  std::copy_n(pf.address.mac, 6, p.dmac);
  std::copy_n(vf1.address.mac, 6, p.smac);
  p.payload = pattern(400, 1);
  for (int i = 0; i < 4; i++, p.seq += 400, p.ip.id++) {
    const Bytes frame = p.build();
    vf1.send(frame);
    inject(frame);
  }
  settle();
  EXPECT_EQ(soft.received().size(), 4u);
  EXPECT_EQ(pf.received().size(), 1u) << "from the wire they are";
  EXPECT_EQ(pf.cqes[0].gro_segs, 4u);
  EXPECT_TRUE(pf.cqes[0].rx_flags & VERNA_CQE_RX_VPORT);
}

TEST_F(Switchdev, SoftwareWithoutAQueueLosesFrames) {
  ASSERT_TRUE(set_mode(VERNA_ESWITCH_SWITCHDEV, 100).ok());
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(card.eth_counter(VERNA_ETH_rx_drop_no_queue), 1u);
  ASSERT_TRUE(set_mode(VERNA_ESWITCH_SWITCHDEV, 0).ok());
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(pf.received().size(), 1u);
}

TEST_F(Switchdev, RdmaByRules) {
  connect(vf1, vf2);
  connect(vf2, vf1);
  Node a(world, vf1.driver, vf1.address), b(world, vf2.driver, vf2.address);
  a.connect(b);
  b.connect(a);
  exchange(a, b);
  exchange(b, a);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_to_software), 0u);
  EXPECT_GT(vport(3, VERNA_VPORT_rx_frames), 20u);
}

TEST_F(Switchdev, RdmaThatNoRuleDecidesIsSoftwares) {
  Node a(world, vf1.driver, vf1.address), b(world, pf.driver, pf.address);
  Connection how;
  how.retry_cnt = 1;
  how.timeout = 4;
  a.connect(b, how);
  b.connect(a, how);
  a.write(b, 0, 100);
  EXPECT_EQ(a.driver.wait(a.qp->send_cq).status, VERNA_CQE_RETRY_EXC_ERR);
  EXPECT_EQ(card.rdma_counter(VERNA_RDMA_rx_packets), 0u) << "though it is to the PF's GID";
  EXPECT_EQ(soft.received().size(), 2u);
}

TEST_F(Switchdev, TheTraceTellsRuleAndWay) {
  card.nic->control("trace on", 0);
  const uint32_t rule = add({2}, Rule().port(3), 9);
  vf1.send(vf1.frame_to(vf2.address.mac, 300));
  settle();
  const std::string trace = card.nic->control("trace show", 0);
  EXPECT_NE(trace.find("\"stage\":\"flow\",\"a\":" + std::to_string(rule)), std::string::npos);
  EXPECT_NE(trace.find("\"stage\":\"switch\",\"a\":" + std::to_string(2 << 16 | 3)),
            std::string::npos);
}

}  // namespace
}  // namespace verna::test
