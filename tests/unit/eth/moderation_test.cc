// SPDX-License-Identifier: GPL-2.0-or-later
// Moderation through a whole card: interrupts of a stream of packets, in virtual time.
#include "eth/eth_rig.h"
#include "flow/rss.h"

namespace verna::test {
namespace {

struct ModerationRig : EthRig {
  ModerationRig() {
    eq = card.driver.create_eq(1, 8, 3);
    slow_cq = card.driver.create_cq(8, 1);
    queue = card.driver.create_rxq(1, slow_cq, 8);
    card.driver.arm(eq, VERNA_ARM_NEXT);
    verna_cmd_set_rss rss{};
    const uint64_t table = card.bus.alloc(Rss::kTableSize * 2, "RSS table");
    for (int i = 0; i < Rss::kTableSize; i++) card.bus.store<uint16_t>(table + 2 * i, 1);
    rss.table_addr = table;
    rss.table_len = Rss::kTableSize;
    EXPECT_TRUE(card.driver.execute(VERNA_CMD_SET_RSS, rss).ok());
    for (int i = 0; i < 200; i++)
      card.driver.post_rx(queue, card.bus.alloc(2048, "receive buffer"), 2048);
    card.driver.publish(&queue->wq);
  }
  void moderate(uint32_t delay_ns, uint16_t entries) {
    verna_cmd_modify_cq cmd{};
    cmd.cqn = slow_cq->id;
    cmd.delay_ns = delay_ns;
    cmd.entries = entries;
    EXPECT_TRUE(card.driver.execute(VERNA_CMD_MODIFY_CQ, cmd).ok());
  }
  /// `count` packets, `gap` apart, with a host that takes and arms at every interrupt.
  unsigned interrupts_of(unsigned count, Nanos gap) {
    card.bus.clear_interrupts();
    card.driver.arm(slow_cq, VERNA_ARM_NEXT);
    unsigned served = 0;
    const auto serve = [&] {
      if (card.bus.interrupts(3) == served) return;
      served = card.bus.interrupts(3);
      verna_eqe eqe;
      while (card.driver.take_event(eq, &eqe)) {
      }
      verna_cqe cqe;
      while (card.driver.poll(slow_cq, &cqe)) packets++;
      card.driver.arm(slow_cq, VERNA_ARM_NEXT);
      card.driver.arm(eq, VERNA_ARM_NEXT);
    };
    for (unsigned i = 0; i < count; i++) {
      wire.to_a.send(frame_to(card.mac, 100));
      const Nanos until = world.clock.now + gap;
      world.run_until(
          [&] {
            serve();
            return world.clock.now >= until;
          },
          gap);
    }
    world.run_until(
        [&] {
          serve();
          return packets >= count;
        },
        10 * kMilli);
    return card.bus.interrupts(3);
  }

  RingHandle* eq;
  RingHandle* slow_cq;
  EthQueue* queue;
  unsigned packets = 0;
};

TEST_F(ModerationRig, WithoutItEachPacketThatComesAloneInterrupts) {
  EXPECT_EQ(interrupts_of(50, 10 * kMicro), 50u);
  EXPECT_EQ(packets, 50u);
}

TEST_F(ModerationRig, TimeBoundsTheRateOfInterrupts) {
  moderate(100 * kMicro, 0);
  const unsigned interrupts = interrupts_of(100, 10 * kMicro);  // a millisecond
  EXPECT_GE(interrupts, 9u);
  EXPECT_LE(interrupts, 11u);
  EXPECT_EQ(packets, 100u);
}

TEST_F(ModerationRig, EntriesBoundWhatOneInterruptTells) {
  moderate(kMilli, 8);
  const unsigned interrupts = interrupts_of(96, 10 * kMicro);
  EXPECT_GE(interrupts, 12u);
  EXPECT_LE(interrupts, 13u);
  EXPECT_EQ(packets, 96u);
}

TEST_F(ModerationRig, TheLastPacketIsNotLeftBehind) {
  moderate(500 * kMicro, 1000);
  const Nanos begin = world.clock.now;
  EXPECT_EQ(interrupts_of(1, kMicro), 1u);
  EXPECT_EQ(packets, 1u);
  EXPECT_GE(world.clock.now - begin, 500 * kMicro);
  EXPECT_LT(world.clock.now - begin, 520 * kMicro);
}

}  // namespace
}  // namespace verna::test
