// SPDX-License-Identifier: GPL-2.0-or-later
// Meters and edits that rules of the switch share, through commands and frames.
#include "functions/switchdev_objects.h"
#include "flow/tunnel_frames.h"

namespace verna::test {
namespace {

using Frames = std::vector<Bytes>;

TEST_F(ObjectsRig, AMeterThatTwoRulesShare) {
  const uint32_t meter = make(packets(10));
  add({2}, metered(meter, Rule().port(4)));
  add({3}, metered(meter, Rule().port(4)));
  for (int i = 0; i < 10; i++) {
    vf1.send(vf1.frame_to(vf3.address.mac, 100, i));
    vf2.send(vf2.frame_to(vf3.address.mac, 200, i));
  }
  settle();
  EXPECT_EQ(vf3.received().size(), 10u);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_meter) + vport(3, VERNA_VPORT_tx_drop_meter), 10u);
  verna_meter_stats s = stats(meter);
  EXPECT_EQ(s.packets[0], 10u);
  EXPECT_EQ(s.packets[1], 0u);
  EXPECT_EQ(s.packets[2], 10u);
  EXPECT_EQ(s.bytes[0] + s.bytes[2], 3000u);
  world.run_for(kSecond);
  for (int i = 0; i < 20; i++) vf1.send(vf1.frame_to(vf3.address.mac, 100, i));
  settle();
  EXPECT_EQ(vf3.received().size(), 10u) << "a second brings ten";
  ASSERT_TRUE(object(VERNA_CMD_MODIFY_METER, packets(1000), meter).ok());
  world.run_for(kSecond);
  for (int i = 0; i < 20; i++) vf1.send(vf1.frame_to(vf3.address.mac, 100, i));
  settle();
  EXPECT_EQ(vf3.received().size(), 20u);
  expect_silence();
}

TEST_F(ObjectsRig, YellowMayPass) {
  verna_meter m = packets(2);
  m.second_rate = {3, kSecond, 3};
  const uint32_t meter = make(m);
  add({2}, metered(meter, Rule().port(4)));
  const auto passed = [&] {
    for (int i = 0; i < 8; i++) vf1.send(vf1.frame_to(vf3.address.mac, 100, i));
    settle();
    return vf3.received().size();
  };
  EXPECT_EQ(passed(), 5u);
  EXPECT_EQ(stats(meter).packets[1], 3u);
  m.flags = VERNA_METER_DROP_YELLOW;
  ASSERT_TRUE(object(VERNA_CMD_MODIFY_METER, m, meter).ok());
  world.run_for(2 * kSecond);
  EXPECT_EQ(passed(), 2u);
}

TEST_F(ObjectsRig, AMeterHoldsForRdma) {
  const uint32_t meter = make(packets(1));
  add({2}, metered(meter, Rule().udp(4791).port(3)));
  vf1.send(packet(vf1, vf2).build());
  settle();
  EXPECT_EQ(soft.received().size(), 1u) << "not what is not RDMA";
  EXPECT_EQ(stats(meter).packets[0], 0u);
}

TEST_F(ObjectsRig, WhatIsUsedStays) {
  const uint32_t meter = make(packets(1));
  const uint32_t edit = make(verna_flow_edit{});
  const uint32_t rule = add({2}, edited(edit, metered(meter, Rule().port(3))));
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_METER, meter).status, VERNA_CMD_BUSY);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_FLOW_EDIT, edit).status, VERNA_CMD_BUSY);
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DEL_FLOW, rule).ok());
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DESTROY_METER, meter).ok());
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DESTROY_FLOW_EDIT, edit).ok());
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_METER, meter).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_FLOW_EDIT, edit).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(try_add({2}, metered(meter, Rule().port(3))).status, VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(try_add({2}, edited(edit, Rule().port(3))).status, VERNA_CMD_BAD_PARAM);
  EXPECT_NE(make(packets(1)), meter) << "a number is not given again soon";
}

TEST_F(ObjectsRig, TheyGoWithTheMode) {
  const uint32_t meter = make(packets(1));
  add({2}, metered(meter, Rule().port(3)));
  legacy();
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_METER, meter).status, VERNA_CMD_NOT_FOUND);
  switchdev();
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_METER, meter).status, VERNA_CMD_NOT_FOUND);
}

TEST_F(ObjectsRig, ARouter) {
  verna_flow_edit edit{};
  edit.flags = VERNA_EDIT_REWRITE | VERNA_EDIT_DEC_TTL;
  std::copy_n(vf2.address.mac, 6, edit.value.dmac);
  std::fill_n(edit.mask.dmac, 6, uint8_t{0xff});
  edit.value.ip_version = 4;
  const uint8_t nat[4] = {192, 0, 2, 1};
  std::copy_n(nat, 4, edit.value.src_ip);
  std::fill_n(edit.mask.src_ip, 4, uint8_t{0xff});
  edit.value.sport = __builtin_bswap16(4000);
  edit.mask.sport = 0xffff;
  const uint32_t rule = add({2}, edited(make(edit), Rule().port(3)));
  IpPacket p = packet(vf1, pf);
  vf1.send(p.build());
  settle();
  const Frames got = vf2.received();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(Bytes(got[0].begin(), got[0].begin() + 6), Bytes(vf2.address.mac, vf2.address.mac + 6));
  EXPECT_EQ(got[0][22], 63u);
  EXPECT_EQ(Bytes(got[0].begin() + 26, got[0].begin() + 30), Bytes(nat, nat + 4));
  EXPECT_EQ(card.vfs[1].counters().eth[VERNA_ETH_rx_csum_ok], 1u) << "checksums followed";
  p.ip.ttl = 1;
  const Bytes expired = p.build();
  vf1.send(expired);
  settle();
  EXPECT_EQ(soft.received(), Frames{expired}) << "as it came";
  EXPECT_EQ(query(rule).packets, 2u);
  expect_silence();
}

TEST_F(ObjectsRig, TagsArePushedAndPopped) {
  verna_flow_edit push{};
  push.num_push = 1;
  push.push[0] = {__builtin_bswap16(0x8100), __builtin_bswap16(7)};
  verna_flow_edit pop{};
  pop.num_pop = 1;
  add({2}, edited(make(push), Rule().port(VERNA_VPORT_UPLINK)));
  add({VERNA_VPORT_UPLINK}, edited(make(pop), Rule().port(2)));
  const Bytes frame = vf1.frame_to(peer.mac),
              back = ethernet_frame(vf1.address.mac, peer.mac, 0x88b5, pattern(46, 3));
  vf1.send(frame);
  EXPECT_EQ(on_wire(), Frames{tagged(frame, 7)});
  inject(tagged(back, 7));
  inject(back);
  settle();
  EXPECT_EQ(vf1.received(), (Frames{back, back}));
}

TEST_F(ObjectsRig, ThroughATunnelAndOut) {
  verna_flow_edit in{};
  in.flags = VERNA_EDIT_ENCAP;
  in.encap.kind = VERNA_FLOW_TUN_GENEVE;
  in.encap.ip_version = 4;
  in.encap.ttl = 9;
  in.encap.flags = VERNA_ENCAP_ID | VERNA_ENCAP_UDP_CSUM;
  in.encap.dport = __builtin_bswap16(6081);
  in.encap.id = __builtin_bswap32(77);
  std::copy_n(peer.mac, 6, in.encap.dmac);
  std::copy_n(pf.address.mac, 6, in.encap.smac);
  in.encap.src_ip[3] = 1;
  in.encap.dst_ip[3] = 2;
  verna_flow_edit out{};
  out.flags = VERNA_EDIT_DECAP;
  add({2}, edited(make(in), Rule().port(VERNA_VPORT_UPLINK)));
  const uint32_t decap = make(out);
  add({VERNA_VPORT_UPLINK}, edited(decap, Rule().vni(VERNA_FLOW_TUN_GENEVE, 77).chain(5)));
  add({VERNA_VPORT_UPLINK, 5}, Rule().dmac(vf2.address.mac).port(3));
  const Bytes frame = vf1.frame_to(vf2.address.mac, 500);
  vf1.send(frame);
  const Frames tunnel = on_wire();
  ASSERT_EQ(tunnel.size(), 1u);
  EXPECT_EQ(tunnel[0].size(), 500 + 14 + 20 + 8 + 8u);
  FlowEncap outer;
  outer.kind = TunnelKind::kGeneve;
  std::copy_n(peer.mac, 6, outer.dmac);
  std::copy_n(pf.address.mac, 6, outer.smac);
  outer.source[3] = 1;
  outer.destination[3] = 2;
  outer.ttl = 9;
  outer.udp_checksum = true;
  outer.dport = 6081;
  outer.id = 77;
  const auto sport = static_cast<uint16_t>(tunnel[0][34] << 8 | tunnel[0][35]);
  EXPECT_EQ(tunnel[0], wrap(outer, sport, frame));
  inject(tunnel[0]);
  settle();
  EXPECT_EQ(vf2.received(), Frames{frame});
  // What is no tunnel any more cannot be taken off again.
  EXPECT_EQ(try_add({VERNA_VPORT_UPLINK, 5}, edited(decap, Rule().port(3))).status,
            VERNA_CMD_BAD_PARAM);
  expect_silence();
}

TEST_F(ObjectsRig, AFrameThatATunnelMakesTooLong) {
  ASSERT_TRUE(vf1.driver.set_mtu(9600).ok());
  verna_flow_edit in{};
  in.flags = VERNA_EDIT_ENCAP;
  in.encap.kind = VERNA_FLOW_TUN_GRE;
  in.encap.ip_version = 6;
  in.encap.ttl = 9;
  add({2}, edited(make(in), Rule().port(VERNA_VPORT_UPLINK)));
  constexpr size_t kMore = 14 + 40 + 4;
  vf1.send(vf1.frame_to(peer.mac, 9622 - kMore));
  vf1.send(vf1.frame_to(peer.mac, 9622 - kMore + 1));
  EXPECT_EQ(on_wire().size(), 1u);
  EXPECT_EQ(vport(VERNA_VPORT_UPLINK, VERNA_VPORT_rx_drop_oversize), 1u);
}

TEST_F(ObjectsRig, CopiesAreCountedAndCharged) {
  verna_flow_edit edit{};
  edit.num_copies = 3;
  edit.copies[0] = {VERNA_VPORT_UPLINK, 0, 0};
  edit.copies[1] = {4, 1, 0};
  edit.copies[2] = {5, 0, 0};  // of a VF that is not there
  edit.num_push = 1;
  edit.push[0] = {__builtin_bswap16(0x8100), __builtin_bswap16(7)};
  const uint32_t number = make(edit);
  const uint32_t rule = add({2}, edited(number, Rule().port(3)));
  const Bytes frame = vf1.frame_to(vf2.address.mac);
  ASSERT_TRUE(vf3.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC).ok());
  vf1.send(frame);
  EXPECT_EQ(on_wire(), Frames{frame});
  EXPECT_EQ(vf2.received(), Frames{tagged(frame, 7)});
  EXPECT_EQ(vf3.received(), Frames{tagged(frame, 7)});
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_copies), 3u);
  EXPECT_EQ(vport(5, VERNA_VPORT_rx_drop_disabled), 1u);
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DEL_FLOW, rule).ok());
  add({2}, edited(number, Rule().drop()));
  vf1.send(frame);
  EXPECT_EQ(on_wire(), Frames{frame}) << "what is dropped was copied before";
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_rule), 1u);
  (void)vf3.received();

  // Alone, a frame that is copied costs more of its sender's turns.
  const auto turns = [&](const Station& to) {
    for (int i = 0; i < 200; i++) vf1.send(vf1.frame_to(to.address.mac, 1400, i));
    const uint64_t before = world.rounds;
    settle();
    for (Station& s : stations) (void)s.received();
    (void)on_wire();
    return world.rounds - before;
  };
  world.budget = 16384;
  add({2}, Rule().dmac(pf.address.mac).port(3), 0);
  EXPECT_GT(turns(vf2), 2 * turns(pf));
}

TEST_F(ObjectsRig, AnEditThatCannotBeDone) {
  verna_flow_edit out{};
  out.flags = VERNA_EDIT_DECAP;
  add({2}, edited(make(out), Rule().vni(VERNA_FLOW_TUN_VXLAN, 7).port(3)));
  FlowEncap outer;
  std::copy_n(vf1.address.mac, 6, outer.smac);
  outer.id = 7;
  Bytes broken = wrap(outer, 50'000, vf1.frame_to(vf2.address.mac));
  broken[24] ^= 1;  // the outer header's checksum
  vf1.send(broken);
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_edit), 1u);
  expect_silence();
}

TEST_F(ObjectsRig, ShownToPeople) {
  const uint32_t meter = make(packets(5));
  verna_flow_edit edit{};
  edit.num_pop = 1;
  const uint32_t number = make(edit);
  add({2, 3}, metered(meter, edited(number, Rule().dmac(vf1.address.mac).port(3))), 9);
  add({2}, Rule().chain(3), 9);
  const std::string all = card.nic->control("switch", 0);
  for (const char* part :
       {"\"mode\":\"switchdev\"", "\"direction\":\"switch\",\"group\":2,\"chain\":3",
        "\"group\":2,\"chain\":3,\"priority\":9,\"match\":\"dmac=52:57:4e:00:00:01\","
        "\"action\":\"meter=1 pop port=3\"",
        "\"committed\":\"5 in 1000000000 ns, burst 5\"", "\"changes\":\"pop\""})
    EXPECT_NE(all.find(part), std::string::npos) << part << " in " << all;
  EXPECT_NE(card.nic->control("fn 1 switch", 0).find("error"), std::string::npos);
  EXPECT_NE(card.nic->control("vports", 0).find("\"mode\":\"switchdev\""), std::string::npos);
  EXPECT_NE(card.nic->control("caps", 0).find("\"max_meters\":65536"), std::string::npos);
  EXPECT_EQ(card.nic->control("flow", 0).find("switch"), std::string::npos);
}

}  // namespace
}  // namespace verna::test
