// SPDX-License-Identifier: GPL-2.0-or-later
// Switchdev mode while functions come and go, are reset, and the mode changes under traffic.
#include "functions/rdma_node.h"
#include "functions/switchdev_rig.h"

namespace verna::test {
namespace {

using Frames = std::vector<Bytes>;
using SwitchdevLife = SwitchdevRig;

struct AloneRig : SwitchdevRig {
  AloneRig() : SwitchdevRig(false) { card.set_num_vfs(0); }
};

TEST_F(AloneRig, ThePfPassesTheSwitchWithoutVfs) {
  switchdev();
  const Bytes out = pf.frame_to(peer.mac),
              in = ethernet_frame(pf.address.mac, peer.mac, 0x88b5, pattern(80, 3));
  pf.send(out);
  inject(in);
  EXPECT_EQ(on_wire(), Frames{out});
  EXPECT_EQ(pf.received(), Frames{in});
  EXPECT_TRUE(pf.cqes[0].rx_flags & VERNA_CQE_RX_VPORT);
  EXPECT_EQ(vport(VERNA_VPORT_PF, VERNA_VPORT_tx_frames), 1u);
  EXPECT_EQ(vport(VERNA_VPORT_PF, VERNA_VPORT_rx_frames), 1u);
  add({VERNA_VPORT_UPLINK}, Rule().port(2));
  inject(in);
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_rx_drop_disabled), 1u) << "a VF that is not there";
  card.set_num_vfs(1);
  inject(in);
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_rx_frames), 1u) << "the rule outlived its absence";
  card.set_num_vfs(0);
  legacy();
  pf.send(out);
  inject(in);
  EXPECT_EQ(on_wire(), Frames{out});
  EXPECT_EQ(pf.received(), Frames{in});
  EXPECT_FALSE(pf.cqes[0].rx_flags & VERNA_CQE_RX_VPORT);
  EXPECT_EQ(vport(VERNA_VPORT_PF, VERNA_VPORT_tx_frames), 1u) << "past the switch again";
}

TEST_F(AloneRig, AConnectionOutlivesChangesOfMode) {
  TestCard other(world, wire.b, 9);
  other.driver.bring_up();
  Node a(world, pf.driver, pf.address), b(world, other.driver, other);
  a.connect(b);
  b.connect(a);
  exchange(a, b);
  switchdev();
  exchange(a, b);
  EXPECT_GT(vport(VERNA_VPORT_PF, VERNA_VPORT_tx_to_software), 10u);
  legacy();
  exchange(b, a);
  EXPECT_EQ(other.check_conservation(), "");
}

TEST_F(SwitchdevLife, AVportThatIsDown) {
  connect(vf1, vf2);
  connect(vf2, vf1);
  verna_cmd_set_vport command{};
  command.fields = VERNA_VPORT_SET_LINK;
  command.link = VERNA_VPORT_LINK_DOWN;
  ASSERT_TRUE(set_vport(2, command).ok());
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_drop_disabled), 1u);
  send_aimed(pf, 3, pf.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_drop_disabled), 2u);
  expect_silence();
}

TEST_F(SwitchdevLife, AVfGoesWhileRulesNameIt) {
  connect(vf1, vf3);
  connect(vf1, vf2);
  card.set_num_vfs(2);
  for (int i = 0; i < 5; i++) {
    vf1.send(vf1.frame_to(vf3.address.mac, 100, i));
    vf1.send(vf1.frame_to(vf2.address.mac, 100, i));
  }
  settle();
  EXPECT_EQ(vport(4, VERNA_VPORT_rx_drop_disabled), 5u);
  EXPECT_EQ(vf2.received().size(), 5u);
  card.set_num_vfs(3);
  vf3.bring_up();
  vf1.send(vf1.frame_to(vf3.address.mac));
  settle();
  EXPECT_EQ(vf3.received().size(), 1u);
  expect_silence();
}

TEST_F(SwitchdevLife, AResetOfAVfLeavesItsRules) {
  connect(vf1, vf2);
  vf1.send(vf1.frame_to(vf2.address.mac));
  card.vfs[1].reset();
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_frames), 2u);
  vf2.bring_up();
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u);
}

TEST_F(SwitchdevLife, AResetOfThePfEndsTheMode) {
  const uint32_t rule = add({2}, Rule().port(4));
  vf1.send(vf1.frame_to(vf2.address.mac));
  card.reset();
  for (Station* s : {&pf, &vf1, &vf2, &vf3}) s->bring_up();
  EXPECT_EQ(card.driver.object(VERNA_CMD_DEL_FLOW, rule).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(set_group(2, 1).status, VERNA_CMD_BAD_STATE);
  const Bytes frame = vf1.frame_to(vf2.address.mac);
  vf1.send(frame);
  settle();
  EXPECT_EQ(vf2.received(), Frames{frame}) << "the bridge again";
  soft.make_queues(kSoftQueue);
  switchdev();
  vf1.send(frame);
  settle();
  EXPECT_EQ(soft.received(), Frames{frame}) << "without the rule of before";
  expect_silence();
}

TEST_F(AloneRig, AResetOfThePfAloneTakesItOffTheSwitch) {
  switchdev();
  card.reset();
  pf.bring_up();
  const uint64_t before = vport(VERNA_VPORT_PF, VERNA_VPORT_tx_frames);
  pf.send(pf.frame_to(peer.mac));
  EXPECT_EQ(on_wire().size(), 1u);
  EXPECT_EQ(vport(VERNA_VPORT_PF, VERNA_VPORT_tx_frames), before);
}

TEST_F(SwitchdevLife, AChangeOfModeDropsRulesGroupsAndStations) {
  const uint32_t rule = add({2}, Rule().port(4));
  ASSERT_TRUE(set_group(3, 2).ok());
  ASSERT_TRUE(set_miss({4}, VERNA_FLOW_MISS_DROP).ok());
  ASSERT_TRUE(set_mode(VERNA_ESWITCH_SWITCHDEV, kSoftQueue).ok());
  EXPECT_EQ(query(rule).packets, 0u) << "the same mode changes nothing";
  legacy();
  switchdev();
  EXPECT_EQ(card.driver.object(VERNA_CMD_DEL_FLOW, rule).status, VERNA_CMD_NOT_FOUND);
  add({2}, Rule().drop());
  vf2.send(vf2.frame_to(vf1.address.mac));
  vf3.send(vf3.frame_to(vf1.address.mac));
  settle();
  EXPECT_EQ(soft.received().size(), 2u) << "VF 2 has its own group, VF 3's misses are trapped";
}

TEST_F(SwitchdevLife, StationsAreForgotten) {
  legacy();
  verna_cmd_set_vport open{};
  open.fields = VERNA_VPORT_SET_SPOOF_CHECK;
  ASSERT_TRUE(set_vport(1, open).ok());
  const uint8_t station[6] = {2, 7, 7, 7, 7, 7};
  vf1.send(ethernet_frame(peer.mac, station, 0x88b5, pattern(80, 1)));
  EXPECT_EQ(on_wire().size(), 1u);
  switchdev();
  legacy();
  vf2.send(vf2.frame_to(station));
  EXPECT_EQ(on_wire().size(), 1u) << "nobody knows where it was";
  expect_silence();
}

TEST_F(SwitchdevLife, WhatWasDecidedIsDelivered) {
  // More than the PF takes in the run in which it is sent, so that the mode changes meanwhile.
  for (int i = 0; i < 20; i++) vf1.send(vf1.frame_to(vf2.address.mac, 100, i));
  world.run_until([&] { return vport(VERNA_VPORT_PF, VERNA_VPORT_rx_frames) > 0; });
  legacy();
  settle();
  const size_t to_software = soft.received().size();
  EXPECT_EQ(to_software, vport(2, VERNA_VPORT_tx_to_software));
  EXPECT_EQ(vf2.received().size(), 20 - to_software);
  expect_silence();
}

TEST_F(SwitchdevLife, FiftyChangesUnderTraffic) {
  uint64_t sent = 0, got = 0;
  for (int round = 0; round < 50; round++) {
    for (int i = 0; i < 10; i++, sent += 3) {
      vf1.send(vf1.frame_to(vf2.address.mac, 100 + 10 * i, i));
      vf2.send(vf2.frame_to(peer.mac, 100 + 10 * i, i));
      inject(ethernet_frame(pf.address.mac, peer.mac, 0x88b5, pattern(60 + i, i)));
    }
    world.run_for(round * 100);
    if (round % 2) {
      switchdev();
      connect(vf1, vf2);
      add({3}, Rule().port(VERNA_VPORT_UPLINK));
    } else {
      legacy();
    }
    settle();
    got += soft.received().size() + on_wire().size();
    for (Station& s : stations) got += s.received().size();
  }
  EXPECT_EQ(got, sent);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_frames), 500u);
  EXPECT_EQ(vport(3, VERNA_VPORT_tx_frames), 500u);
  EXPECT_EQ(vport(VERNA_VPORT_UPLINK, VERNA_VPORT_tx_frames), 500u);
}

TEST_F(SwitchdevLife, SoftwareThatIsSlowLosesItsOwn) {
  world.budget = 4 << 20;
  connect(vf2, vf3);
  for (int i = 0; i < 250; i++) {
    vf1.send(vf1.frame_to(vf2.address.mac, 1500, i));
    vf3.send(vf3.frame_to(vf2.address.mac, 1500, i));
  }
  vf2.send(vf2.frame_to(vf3.address.mac));
  settle();
  const uint64_t lost = vport(VERNA_VPORT_PF, VERNA_VPORT_rx_drop_full);
  EXPECT_GT(lost, 100u);
  EXPECT_EQ(vport(VERNA_VPORT_PF, VERNA_VPORT_rx_frames) + lost, 500u);
  EXPECT_EQ(vf3.received().size(), 1u);
}

TEST_F(SwitchdevLife, OriginsStayWithTheirFrames) {
  // Several times around the ring, with frames of both kinds and sizes.
  add({VERNA_VPORT_UPLINK}, Rule().chain(9));
  add({3}, Rule().port(VERNA_VPORT_PF));
  for (int round = 0; round < 400; round++) {
    for (int i = 0; i < 10; i++) {
      const size_t len = 60 + static_cast<size_t>(round * 7 + i * 131) % 1400;
      vf1.send(vf1.frame_to(pf.address.mac, len, i));
      vf2.send(vf2.frame_to(pf.address.mac, len, i));
      inject(ethernet_frame(pf.address.mac, peer.mac, 0x88b5, pattern(len - 14, i)));
    }
    world.run_for(10 * kMicro);
    for (Station* s : {&pf, &soft}) {
      const Frames frames = s->received();
      for (size_t i = 0; i < frames.size(); i++) {
        const verna_cqe& cqe = s->cqes[i];
        const Bytes source(frames[i].begin() + 6, frames[i].begin() + 12);
        const bool flag = cqe.rx_flags & VERNA_CQE_RX_VPORT;
        const auto is = [&](const uint8_t(&mac)[6]) { return source == Bytes(mac, mac + 6); };
        ASSERT_EQ(flag, !is(vf2.address.mac));
        if (!flag) continue;
        ASSERT_EQ(cqe.pkey_index, is(vf1.address.mac) ? 2 : 0);
        ASSERT_EQ(cqe.src_qp, is(vf1.address.mac) ? 0u : 9u);
      }
    }
    for (Station* s : {&vf1, &vf2}) (void)s->received();
  }
}

}  // namespace
}  // namespace verna::test
