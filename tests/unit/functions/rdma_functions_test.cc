// SPDX-License-Identifier: GPL-2.0-or-later
// RDMA between functions of one card, and between them and another card.
#include "functions/rdma_node.h"
#include "functions/switch_rig.h"

namespace verna::test {
namespace {

struct RdmaFunctions : SwitchRig {
  /// A second card at the other end of the wire.
  TestCard& other() {
    if (other_) return *other_;
    other_ = std::make_unique<TestCard>(world, wire.b, 9);
    other_->driver.bring_up();
    return *other_;
  }
  Node node(Station& s) { return Node(world, s.driver, s.address); }
  void TearDown() override {
    SwitchRig::TearDown();
    if (other_) EXPECT_EQ(other_->check_conservation(), "");
  }
  std::unique_ptr<TestCard> other_;
};

TEST_F(RdmaFunctions, BetweenVfs) {
  Node a = node(vf1), b = node(vf2);
  a.connect(b);
  b.connect(a);
  exchange(a, b);
  exchange(b, a);
  EXPECT_GT(card.vfs[1].counters().rdma[VERNA_RDMA_rx_accepted], 20u);
  EXPECT_EQ(card.port_counter(VERNA_PORT_tx_frames), 0u) << "nothing crossed the wire";
  EXPECT_GT(vport(3, VERNA_VPORT_rx_frames), 20u);
}

TEST_F(RdmaFunctions, BetweenVfAndPf) {
  Node a = node(vf1), b = node(pf);
  Connection how;
  how.ipv6 = true;
  a.connect(b, how);
  b.connect(a, how);
  exchange(a, b);
  exchange(b, a);
}

TEST_F(RdmaFunctions, OverTheWire) {
  Node a = node(vf1), b(world, other().driver, other());
  a.connect(b);
  b.connect(a);
  exchange(a, b);
  exchange(b, a);
  EXPECT_GT(card.port_counter(VERNA_PORT_tx_frames), 20u);
}

TEST_F(RdmaFunctions, InAVlanOfTheAdministrator) {
  ASSERT_TRUE(set_vlan(1, 10, 4).ok());
  ASSERT_TRUE(set_vlan(2, 10).ok());
  Node a = node(vf1), b = node(vf2);
  a.connect(b);
  b.connect(a);
  exchange(a, b);
}

TEST_F(RdmaFunctions, WithinAFunctionNothingPassesTheSwitch) {
  const uint64_t before = vport(2, VERNA_VPORT_tx_frames);
  Node a = node(vf1);
  Node b = a;
  b.make_qp();
  a.connect(b);
  b.connect(a);
  exchange(a, b);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_frames), before);
}

TEST_F(RdmaFunctions, AConnectionOutlivesTheSwitch) {
  card.set_num_vfs(0);
  Node a = node(pf), b(world, other().driver, other());
  a.connect(b);
  b.connect(a);
  exchange(a, b);
  card.set_num_vfs(2);
  exchange(a, b);
  EXPECT_GT(vport(1, VERNA_VPORT_tx_frames), 10u);
  card.set_num_vfs(0);
  exchange(b, a);
}

TEST_F(RdmaFunctions, AGidOfAnothersAddressIsSpoofed) {
  Node a = node(vf1), b = node(vf2);
  ASSERT_TRUE(vf1.driver.set_gid(0, a.address.gid4, vf3.address.mac).ok());
  Connection how;
  how.retry_cnt = 1;
  how.timeout = 4;
  a.connect(b, how);
  b.connect(a, how);
  a.write(b, 0, 100);
  EXPECT_EQ(a.driver.wait(a.qp->send_cq).status, VERNA_CQE_RETRY_EXC_ERR);
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_spoof), 2u);
}

TEST_F(RdmaFunctions, ANeighboursQueuePairIsReachedByItsAddressOnly) {
  // The same QPN may be two functions': VF 3 has none of VF 2's number.
  Node a = node(vf1), b = node(vf2), c = node(vf3);
  Connection how;
  how.retry_cnt = 1;
  how.timeout = 4;
  bring_to_rts(a.driver, a.qp, c.address, b.qp->qpn, how);
  b.connect(a, how);
  a.write(b, 0, 100);
  EXPECT_EQ(a.driver.wait(a.qp->send_cq).status, VERNA_CQE_RETRY_EXC_ERR);
  EXPECT_EQ(card.vfs[2].counters().rdma[VERNA_RDMA_rx_drop_no_qp], 2u);
  EXPECT_EQ(card.vfs[1].counters().rdma[VERNA_RDMA_rx_packets], 0u);
}

TEST_F(RdmaFunctions, ResetUnderTraffic) {
  Node a = node(vf1), b = node(vf2), c = node(vf3), d(world, other().driver, other());
  Connection how;
  how.retry_cnt = 2;
  how.timeout = 5;
  a.connect(b, how);
  b.connect(a, how);
  c.connect(d, how);
  d.connect(c, how);
  for (int i = 0; i < 30; i++) {
    a.write(b, 0, 9000);
    c.write(d, 0, 9000);
    d.write(c, 20'000, 9000);
  }
  world.budget = 8192;
  world.run_for(2 * kMicro);
  card.vfs[1].reset();
  const uint64_t memory = vf2.bus.hash();
  verna_cqe failed{};
  for (int i = 0; i < 30 && failed.status == VERNA_CQE_OK; i++)
    failed = a.driver.wait(a.qp->send_cq);
  EXPECT_EQ(failed.status, VERNA_CQE_RETRY_EXC_ERR);
  for (int i = 0; i < 30; i++) {
    ASSERT_EQ(c.driver.wait(c.qp->send_cq).status, VERNA_CQE_OK) << i;
    ASSERT_EQ(d.driver.wait(d.qp->send_cq).status, VERNA_CQE_OK) << i;
  }
  EXPECT_EQ(vf2.bus.hash(), memory) << "nothing touches memory of a function after its reset";
  // Alive again, by new objects.
  vf2.bring_up();
  Node again = node(vf2);
  Node back = node(vf1);
  again.connect(back);
  back.connect(again);
  exchange(back, again);
}

TEST_F(RdmaFunctions, BothWaysAtOnceOverASmallBudget) {
  world.budget = 8192;
  Node a = node(vf1), b = node(vf2);
  Connection how;
  how.timeout = 9;
  a.connect(b, how);
  b.connect(a, how);
  for (int i = 0; i < 30; i++) {
    a.write(b, 0, 30'000);
    b.write(a, 30'000, 30'000);
  }
  for (int i = 0; i < 30; i++) {
    ASSERT_EQ(a.driver.wait(a.qp->send_cq).status, VERNA_CQE_OK);
    ASSERT_EQ(b.driver.wait(b.qp->send_cq).status, VERNA_CQE_OK);
  }
  EXPECT_EQ(vport(2, VERNA_VPORT_rx_drop_full) + vport(3, VERNA_VPORT_rx_drop_full), 0u);
  EXPECT_EQ(card.vfs[0].counters().rdma[VERNA_RDMA_tx_retransmits], 0u);
}

}  // namespace
}  // namespace verna::test
