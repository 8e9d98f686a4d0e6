// SPDX-License-Identifier: GPL-2.0-or-later
// What software sends to a vport of its choice.
#include "functions/switchdev_rig.h"

namespace verna::test {
namespace {

using Frames = std::vector<Bytes>;

struct SwitchdevTx : SwitchdevRig {
  SwitchdevTx() = default;
  explicit SwitchdevTx(bool on) : SwitchdevRig(on) {}
  /// The frame must be refused for its descriptor.
  void expect_refused(Station& from, uint16_t vport, const char* what) {
    send_aimed(from, vport, from.frame_to(vf2.address.mac));
    EXPECT_EQ(from.driver.wait(from.tx_cq).status, VERNA_CQE_ETH_DESC_ERR) << what;
  }
  static constexpr uint32_t kSegment = 1054;
  static verna_tx_desc tso() {
    verna_tx_desc request{};
    request.flags = VERNA_TX_F_TSO;
    request.csum_start = 34;
    request.mss = 1000;
    request.hdr_len = 54;
    request.l3_offset = 14;
    return request;
  }
  Bytes tcp_packet(const Station& to, size_t payload) {
    IpPacket p;
    std::copy_n(to.address.mac, 6, p.dmac);
    std::copy_n(pf.address.mac, 6, p.smac);
    p.payload = pattern(payload, 1);
    return p.build(false);
  }
};

struct LegacyTx : SwitchdevTx {
  LegacyTx() : SwitchdevTx(false) {}
};

TEST_F(SwitchdevTx, GoesStraightThere) {
  add({VERNA_VPORT_PF}, Rule().drop());
  add({3}, Rule().drop());
  const Bytes a = ethernet_frame(vf2.address.mac, peer.mac, 0x88b5, pattern(80, 1)),
              b = vf1.frame_to(peer.mac, 1400);
  send_aimed(pf, 3, a);
  send_aimed(soft, VERNA_VPORT_UPLINK, b);
  EXPECT_EQ(on_wire(), Frames{b});
  EXPECT_EQ(vf2.received(), Frames{a}) << "from whomever it says";
  EXPECT_EQ(vport(VERNA_VPORT_PF, VERNA_VPORT_tx_frames), 2u);
  EXPECT_EQ(vport(VERNA_VPORT_PF, VERNA_VPORT_tx_drop_rule), 0u);
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_frames), 1u);
  send_aimed(pf, VERNA_VPORT_PF, pf.frame_to(pf.address.mac));
  settle();
  EXPECT_EQ(pf.received().size(), 1u) << "also to itself";
  EXPECT_FALSE(pf.cqes[0].rx_flags & VERNA_CQE_RX_VPORT);
  expect_silence();
}

TEST_F(SwitchdevTx, ToRdmaOfAFunction) {
  // What a VF gets so is as from any wire: its filters and its RDMA.
  set_gids(vf2.driver, vf2.address);
  RocePacket p;
  std::copy_n(vf2.address.mac, 6, p.dmac);
  std::copy_n(peer.mac, 6, p.smac);
  std::copy_n(peer.gid4, 16, p.sip);
  std::copy_n(vf2.address.gid4, 16, p.dip);
  p.opcode = kUdSendOnly;
  send_aimed(pf, 3, p.build());
  send_aimed(pf, 3, pf.frame_to(vf1.address.mac));
  settle();
  EXPECT_EQ(card.vfs[1].counters().rdma[VERNA_RDMA_rx_packets], 1u);
  EXPECT_EQ(card.vfs[1].counters().port[VERNA_PORT_rx_drop_filter], 1u);
}

TEST_F(SwitchdevTx, AllSegmentsGoThere) {
  send_aimed(pf, 4, tcp_packet(vf3, 20'000), tso());
  settle();
  const Frames segments = vf3.received();
  ASSERT_EQ(segments.size(), 20u);
  for (const Bytes& s : segments) EXPECT_EQ(s.size(), kSegment);
  EXPECT_EQ(card.vfs[2].counters().eth[VERNA_ETH_rx_csum_ok], 20u);
  EXPECT_EQ(card.eth_counter(VERNA_ETH_tx_tso_segments), 20u);
  expect_silence();
}

TEST_F(SwitchdevTx, ATagIsInsertedAsAlways) {
  verna_tx_desc request{};
  request.flags = VERNA_TX_F_VLAN;
  request.vlan_tci = 5;
  const Bytes frame = pf.frame_to(vf2.address.mac);
  send_aimed(pf, 3, frame, request);
  settle();
  EXPECT_EQ(vf2.received(), Frames{tagged(frame, 5)});
}

TEST_F(SwitchdevTx, WhateverTheWireDoes) {
  wire.a.up = false;
  settle();
  send_aimed(pf, 3, pf.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u);
  EXPECT_EQ(card.port_counter(VERNA_PORT_tx_drop_link_down), 0u);
  wire.a.up = true;
  settle();
  verna_cmd_eth_features on{};
  on.features = VERNA_ETH_ON_LOOPBACK;
  ASSERT_TRUE(card.driver.execute(VERNA_CMD_SET_ETH_FEATURES, on).ok());
  send_aimed(pf, 3, pf.frame_to(vf2.address.mac));
  pf.send(pf.frame_to(pf.address.mac));
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u) << "past loopback";
  EXPECT_EQ(pf.received().size(), 1u);
  EXPECT_EQ(soft.received().size(), 1u) << "and so is what software gets";
}

TEST_F(SwitchdevTx, WhoMayNot) {
  expect_refused(vf1, 3, "a VF");
  expect_refused(pf, kVfs + 3, "no such vport");
  expect_refused(pf, 0xffff, "no such vport");
  legacy();
  expect_refused(pf, 3, "a bridge");
  EXPECT_EQ(vport(3, VERNA_VPORT_rx_frames), 0u);
  EXPECT_EQ(card.eth_counter(VERNA_ETH_tx_drop_desc), 3u);
}

TEST_F(LegacyTx, NeverHadIt) { expect_refused(pf, 3, "after power-on"); }

TEST_F(SwitchdevTx, OnlyTheFirstDescriptorNames) {
  const Bytes frame = pf.frame_to(vf2.address.mac);
  const uint64_t addr = pf.bus.alloc(frame.size(), "frame");
  pf.bus.fill(addr, frame);
  const auto post = [&](uint64_t offset, uint32_t len, uint16_t flags, uint16_t vport) {
    verna_tx_desc desc{};
    desc.addr = addr + offset;
    desc.len = len;
    desc.flags = flags;
    desc.vport = vport;
    std::memcpy(pf.bus.ptr(pf.txq->wq.entry(pf.txq->wq.prod++), sizeof desc), &desc, sizeof desc);
  };
  post(0, 50, VERNA_TX_F_VPORT, 3);
  post(50, 50, VERNA_TX_F_EOP, 0);
  post(0, 50, VERNA_TX_F_VPORT, 3);
  post(50, 50, VERNA_TX_F_EOP, 3);
  pf.driver.publish(&pf.txq->wq);
  EXPECT_EQ(pf.driver.wait(pf.tx_cq).status, VERNA_CQE_OK);
  EXPECT_EQ(pf.driver.wait(pf.tx_cq).status, VERNA_CQE_ETH_DESC_ERR);
  settle();
  EXPECT_EQ(vf2.received(), Frames{frame});
}

TEST_F(SwitchdevTx, TheModeEndsBetweenTwoSegments) {
  verna_cmd_modify_txq pace{};
  pace.pace_kbps = 8000;  // a segment a millisecond
  pace.weight = 1;
  ASSERT_TRUE(card.driver.execute(VERNA_CMD_MODIFY_TXQ, pace).ok());
  send_aimed(pf, 4, tcp_packet(vf3, 20'000), tso());
  world.run_for(5 * kMilli);
  const size_t before = vf3.received().size();
  EXPECT_GT(before, 2u);
  EXPECT_LT(before, 10u);
  legacy();
  EXPECT_EQ(pf.driver.wait(pf.tx_cq).status, VERNA_CQE_ETH_DESC_ERR);
  world.run_for(50 * kMilli);
  EXPECT_LE(vf3.received().size(), 1u);
  pf.send(pf.frame_to(vf3.address.mac));
  settle();
  EXPECT_EQ(vf3.received().size(), 1u) << "the queue goes on";
  expect_silence();
}

}  // namespace
}  // namespace verna::test
