// SPDX-License-Identifier: GPL-2.0-or-later
// Rates and classes through a whole card, in virtual time.
#include "eth/eth_rig.h"
#include "eth/tso_model.h"

namespace verna::test {
namespace {

struct Rate : EthRig {
  static constexpr uint32_t kLen = 1000;

  void modify(uint32_t id, uint32_t rate_kbps, uint8_t tclass = 0) {
    verna_cmd_modify_txq cmd{};
    cmd.id = id;
    cmd.rate_kbps = rate_kbps;
    cmd.burst_bytes = kLen;
    cmd.weight = 1;
    cmd.tclass = tclass;
    EXPECT_TRUE(card.driver.execute(VERNA_CMD_MODIFY_TXQ, cmd).ok());
  }
  void post(EthQueue* queue, unsigned count) {
    const uint64_t addr = buffer(frame_to(card.mac, kLen));
    for (unsigned i = 0; i < count; i++) card.driver.post_tx(queue, addr, kLen);
    card.driver.publish(&queue->wq);
  }
  /// Takes everything off the wire; returns how many frames.
  unsigned take() {
    unsigned count = 0;
    for (; wire.b.rx_peek().data; count++) wire.b.rx_release();
    return count;
  }
};

TEST_F(Rate, FramesLeaveAtTheRateOfTheirQueueAndTheCardSleepsMeanwhile) {
  modify(0, 80'000);  // a frame of 1000 bytes each 100 us
  post(txq, 50);
  const uint64_t runs = dev(VERNA_DEV_engine_runs);
  world.run_for(2 * kMilli);
  EXPECT_NEAR(take(), 21, 1);
  world.run_for(4 * kMilli);
  EXPECT_EQ(port(VERNA_PORT_tx_frames), 50u);
  EXPECT_LT(dev(VERNA_DEV_engine_runs) - runs, 400u) << "it did not poll for the time to pass";
}

TEST_F(Rate, ADestroyedQueueLeavesNoDeadline) {
  modify(0, 1);
  post(txq, 3);
  world.run_for(kMilli);
  EXPECT_LE(take(), 2u);
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DESTROY_TXQ, 0).ok());
  const uint64_t runs = dev(VERNA_DEV_engine_runs);
  world.run_for(kMilli);
  EXPECT_LT(dev(VERNA_DEV_engine_runs) - runs, 50u);
}

TEST_F(Rate, AResetForgetsClassesAndRates) {
  verna_cmd_set_tx_classes classes{};
  classes.max_kbps[0] = 8;  // a frame a second
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_SET_TX_CLASSES, classes).ok());
  post(txq, 60);
  world.run_for(kMilli);
  EXPECT_LT(port(VERNA_PORT_tx_frames), 10u);
  card.reset();
  card.driver.bring_up();
  EthQueue* fresh = card.driver.create_txq(0, card.driver.create_cq(8), 6);
  take();
  post(fresh, 60);
  world.run_for(kMilli);
  EXPECT_EQ(take(), 60u);
}

TEST_F(Rate, SegmentsOfOnePacketLeaveAtItsPace) {
  verna_cmd_modify_txq cmd{};
  cmd.weight = 1;
  cmd.pace_kbps = 80'000;
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_MODIFY_TXQ, cmd).ok());
  TsoSpec spec;
  spec.mss = 946;  // with 54 bytes of headers a frame is 1000, each 100 us
  spec.payload = pattern(20 * 946, 1);
  const TsoCase c = make_case(spec);
  ASSERT_EQ(c.segments[0].size(), 1000u);
  verna_tx_desc desc = c.request;
  desc.addr = buffer(c.packet);
  desc.len = static_cast<uint32_t>(c.packet.size());
  desc.flags |= VERNA_TX_F_EOP;
  std::memcpy(card.bus.ptr(txq->wq.entry(txq->wq.prod), sizeof desc), &desc, sizeof desc);
  txq->wq.prod++;
  post(txq, 1);  // one that is not cut waits for its turn only
  const uint64_t runs = dev(VERNA_DEV_engine_runs);
  world.run_for(10 * kMicro);
  EXPECT_EQ(take(), 1u);
  for (int i = 1; i < 20; i++) {
    world.run_for(100 * kMicro);
    EXPECT_EQ(take(), i == 19 ? 2u : 1u) << i;
  }
  EXPECT_LT(dev(VERNA_DEV_engine_runs) - runs, 300u);
}

TEST_F(Rate, AHigherClassGoesFirst) {
  EthQueue* urgent = card.driver.create_txq(1, card.driver.create_cq(8), 6);
  modify(1, 0, 5);
  verna_cmd_set_tx_classes classes{};
  classes.max_kbps[0] = 80'000;
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_SET_TX_CLASSES, classes).ok());
  post(txq, 60);
  world.run_for(100 * kMicro);
  take();
  post(urgent, 30);
  world.run_for(20 * kMicro);
  EXPECT_GE(take(), 30u) << "the class below waits for its rate, this one does not";
}

}  // namespace
}  // namespace verna::test
