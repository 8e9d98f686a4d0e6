// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/card_test.h"

namespace verna::test {
namespace {

struct Events : CardTest {
  Events() { card.driver.bring_up(); }
  void flap(int times) {
    for (int i = 0; i < times; i++) {
      card.set_link(i % 2 != 0);
      world.settle();
    }
  }
};

TEST_F(Events, LinkChangesAreReportedOnEventQueueZero) {
  flap(2);
  verna_eqe eqe;
  ASSERT_TRUE(card.driver.take_event(card.driver.eq0, &eqe));
  EXPECT_EQ(eqe.type, VERNA_EVENT_LINK);
  EXPECT_EQ(eqe.id, 0u);
  EXPECT_EQ(eqe.data, 0u);
  ASSERT_TRUE(card.driver.take_event(card.driver.eq0, &eqe));
  EXPECT_EQ(eqe.type, VERNA_EVENT_LINK);
  EXPECT_EQ(eqe.data, 1u);
  EXPECT_FALSE(card.driver.take_event(card.driver.eq0, &eqe));
  EXPECT_EQ(dev(VERNA_DEV_events), 2u);
}

TEST_F(Events, AnArmedQueueRaisesItsVectorOnce) {
  flap(2);
  EXPECT_EQ(card.bus.total_interrupts(), 0u) << "nobody armed it";
  card.driver.arm(card.driver.eq0, VERNA_ARM_NEXT);
  flap(4);
  EXPECT_EQ(card.bus.interrupts(0), 1u);
  card.driver.arm(card.driver.eq0, VERNA_ARM_NEXT);
  flap(2);
  EXPECT_EQ(card.bus.interrupts(0), 2u);
}

/// Makes the card report TXQ_ERROR `times` times: each time by a queue whose index lies.
void break_queues(TestCard& card, RingHandle* cq, int times) {
  for (int i = 0; i < times; i++) {
    EthQueue* q = card.driver.create_txq(0, cq, 0);
    q->mem.store<uint32_t>(0, 2);
    card.ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 0));
    card.world.settle(5 * kMicro);
    if (card.driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_FATAL) break;
    card.driver.object(VERNA_CMD_DESTROY_TXQ, 0);
  }
}

TEST_F(Events, EventsWaitForRoomInTheirQueue) {
  RingHandle* eq = card.driver.create_eq(1, 1, 9);
  RingHandle* cq = card.driver.create_cq(2, 1);
  break_queues(card, cq, 10);
  verna_eqe eqe;
  int seen = 0;
  for (int i = 0; i < 30; i++) {
    world.run_for(kMilli);
    while (card.driver.take_event(eq, &eqe)) {
      EXPECT_EQ(eqe.type, VERNA_EVENT_TXQ_ERROR);
      seen++;
    }
  }
  EXPECT_EQ(seen, 10) << "a full queue delays events, it does not lose them";
}

TEST_F(Events, EventsWithoutBoundAreFatal) {
  RingHandle* eq = card.driver.create_eq(1, 1, 9);
  RingHandle* cq = card.driver.create_cq(2, 1);
  break_queues(card, cq, 6000);
  EXPECT_TRUE(reg(VERNA_REG_STATUS) & VERNA_STATUS_FATAL) << "events are kept without bound";
  EXPECT_EQ(reg(VERNA_REG_FATAL_CODE), uint32_t{VERNA_FATAL_EQ_OVERRUN});
  verna_eqe eqe;
  ASSERT_TRUE(card.driver.take_event(eq, &eqe));
  EXPECT_EQ(eqe.type, VERNA_EVENT_TXQ_ERROR) << "the oldest event was not overwritten";
}

TEST_F(Events, AFlappingLinkIsNotFatal) {
  for (int i = 0; i < 2000; i++) {
    card.set_link(i % 2 != 0);
    world.settle(10 * kMicro);
  }
  EXPECT_FALSE(reg(VERNA_REG_STATUS) & VERNA_STATUS_FATAL);
  verna_eqe eqe;
  uint64_t last = 99;
  for (int i = 0; i < 50; i++) {
    world.run_for(10 * kMilli);
    while (card.driver.take_event(card.driver.eq0, &eqe)) last = eqe.data;
  }
  EXPECT_EQ(last, 1u) << "the last state is always told";
}

TEST_F(Events, LostEventQueueMemoryIsFatal) {
  card.bus.expect_faults();
  card.driver.eq0->mem.unmap();
  flap(1);
  EXPECT_TRUE(reg(VERNA_REG_STATUS) & VERNA_STATUS_FATAL);
  EXPECT_EQ(reg(VERNA_REG_FATAL_CODE), uint32_t{VERNA_FATAL_EQ_DMA});
}

TEST_F(Events, BadDoorbellsAreCountedAndHarmless) {
  const uint64_t before = card.bus.hash();
  for (uint32_t type = 0; type < 8; type++) {
    for (uint32_t id : {0u, 1u, 0x123456u, 0xffffffu}) {
      for (uint32_t uar : {0u, 1u, 1023u, 1024u, 0xffffffffu}) {
        card.ring_doorbell(uar, VERNA_DB(type, id));
      }
      world.settle();
    }
  }
  EXPECT_EQ(dev(VERNA_DEV_doorbells), 8u * 4 * 5);
  EXPECT_EQ(dev(VERNA_DEV_bad_doorbells), 8u * 4 * 5);
  EXPECT_EQ(card.bus.hash(), before);
}

TEST_F(Events, ADoorbellFromAnotherPageIsIgnored) {
  RingHandle* cq = card.driver.create_cq(4);
  EthQueue* txq = card.driver.create_txq(0, cq, 4, 5);
  const uint64_t frame = card.bus.alloc(64);
  card.driver.post_tx(txq, frame, 60);
  txq->wq.mem->store<uint32_t>(0, txq->wq.prod);
  card.ring_doorbell(6, VERNA_DB(VERNA_DB_TXQ, 0));
  world.settle();
  EXPECT_EQ(card.port_counter(VERNA_PORT_tx_frames), 0u);
  EXPECT_EQ(dev(VERNA_DEV_bad_doorbells), 1u);
  card.ring_doorbell(5, VERNA_DB(VERNA_DB_TXQ, 0));
  world.settle();
  EXPECT_EQ(card.port_counter(VERNA_PORT_tx_frames), 1u);
}

TEST_F(Events, ADoorbellStormLosesNoWork) {
  RingHandle* cq = card.driver.create_cq(4);
  EthQueue* txq = card.driver.create_txq(0, cq, 4, 5);
  const uint64_t frame = card.bus.alloc(64);
  // Far more doorbells than the ring holds before ours; ours is turned away.
  for (int i = 0; i < 5000; i++) card.ring_doorbell(9, VERNA_DB(VERNA_DB_TXQ, 77));
  card.driver.post_tx(txq, frame, 60);
  card.driver.publish(&txq->wq);
  world.settle();
  EXPECT_EQ(card.port_counter(VERNA_PORT_tx_frames), 1u);
}

}  // namespace
}  // namespace verna::test
