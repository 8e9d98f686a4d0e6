// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue/completion_queue.h"

#include <gtest/gtest.h>

#include "support/host_buffer.h"

namespace verna::test {
namespace {

struct Host {
  explicit Host(uint8_t log_size, uint8_t entry_size = 64, const BufferShape& shape = {})
      : mem(bus, 128 + (uint64_t{entry_size} << log_size), shape),
        log_size(log_size),
        entry_size(entry_size) {
    PageList pages;
    EXPECT_EQ(PageList::load(bus, 0, mem.pbl(), mem.length(), quota, &pages), PblStatus::kOk);
    EXPECT_TRUE(ring.init(&bus, 0, std::move(pages), {0, 128, log_size, entry_size}));
  }
  PhaseRing::Push push(uint64_t value) {
    std::vector<uint8_t> entry(entry_size, 0x5a);
    store_le(entry.data(), value);
    store_le(entry.data() + entry_size - 8, value << 8 >> 8);
    return ring.push(entry.data());
  }
  /// True if slot of `cons` is new.
  bool peek(uint64_t* value) {
    const uint32_t slot = cons & ((1u << log_size) - 1);
    const uint64_t at = 128 + uint64_t{slot} * entry_size;
    const uint8_t phase = mem.load<uint8_t>(at + entry_size - 1) & VERNA_PHASE;
    if (phase != ((cons >> log_size) & 1 ? 0 : 1)) return false;
    *value = mem.load<uint64_t>(at);
    return true;
  }
  void consume(uint32_t n = 1) {
    cons += n;
    mem.store<uint32_t>(0, cons);
  }
  void arm(uint32_t type) { mem.store<uint32_t>(4, VERNA_ARM(++sn, type)); }

  FakeHostBus bus;
  HostBuffer mem;
  PblQuota quota{1000};
  PhaseRing ring;
  uint8_t log_size;
  uint8_t entry_size;
  uint32_t cons = 0;
  uint32_t sn = 0;
};

TEST(PhaseRing, PhaseTellsNewEntriesForManyRounds) {
  for (uint8_t entry_size : {32, 64}) {
    Host host(2, entry_size);
    uint64_t next = 0, seen = 0, value;
    for (int i = 0; i < 100; i++) {
      for (int k = 0; k <= i % 4; k++) ASSERT_EQ(host.push(next++), PhaseRing::Push::kOk);
      while (host.peek(&value)) {
        ASSERT_EQ(value, seen++);
        host.consume();
      }
      ASSERT_EQ(seen, next);
    }
  }
}

TEST(PhaseRing, NeverOverwritesWhatWasNotConsumed) {
  Host host(2);
  for (uint64_t i = 0; i < 4; i++) ASSERT_EQ(host.push(i), PhaseRing::Push::kOk);
  const uint64_t before = host.bus.hash();
  EXPECT_FALSE(host.ring.has_room());
  EXPECT_EQ(host.push(4), PhaseRing::Push::kFull);
  EXPECT_EQ(host.bus.hash(), before);
  host.consume();
  EXPECT_TRUE(host.ring.has_room());
  EXPECT_EQ(host.push(4), PhaseRing::Push::kOk);
  EXPECT_EQ(host.push(5), PhaseRing::Push::kFull);
}

TEST(PhaseRing, ALyingConsumerIndexCannotMakeRoomInTheFuture) {
  for (uint32_t lie : {5u, 0x80000000u, 0xffffffffu, 0xfffffffcu}) {
    Host host(2);
    for (uint64_t i = 0; i < 4; i++) ASSERT_EQ(host.push(i), PhaseRing::Push::kOk);
    host.mem.store<uint32_t>(0, lie);
    EXPECT_NE(host.push(9), PhaseRing::Push::kOk) << lie;
  }
}

TEST(PhaseRing, TheLastEightBytesComeLast) {
  Host host(2);
  std::vector<FakeHostBus::Access> writes;
  host.bus.set_write_hook([&](const FakeHostBus::Access& a) { writes.push_back(a); });
  ASSERT_EQ(host.push(1), PhaseRing::Push::kOk);
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(writes.back().kind, FakeHostBus::Kind::kRelease);
  EXPECT_EQ(writes.back().addr, host.mem.at(128 + 56));
  for (size_t i = 0; i + 1 < writes.size(); i++) {
    EXPECT_LE(writes[i].addr + writes[i].len, host.mem.at(128 + 56));
  }
}

TEST(PhaseRing, ReportsAFault) {
  Host host(2);
  host.bus.expect_faults();
  host.bus.fail_nth(1);
  EXPECT_EQ(host.push(1), PhaseRing::Push::kDmaFault);
  host.bus.fail_nth(2);
  EXPECT_EQ(host.push(1), PhaseRing::Push::kDmaFault);
  host.mem.unmap();
  EXPECT_EQ(host.push(1), PhaseRing::Push::kDmaFault);
  EXPECT_FALSE(host.ring.take_arm(true));
}

TEST(PhaseRing, ArmIsServedExactlyOnce) {
  Host host(4);
  EXPECT_FALSE(host.ring.take_arm(true)) << "an arm word of zero is not armed";
  host.push(1);
  host.arm(VERNA_ARM_NEXT);
  EXPECT_TRUE(host.ring.take_arm(false));
  EXPECT_FALSE(host.ring.take_arm(false));
  host.push(2);
  EXPECT_FALSE(host.ring.take_arm(true)) << "not armed again";
  host.arm(VERNA_ARM_NEXT);
  host.push(3);
  EXPECT_TRUE(host.ring.take_arm(false));
}

TEST(PhaseRing, SolicitedArmWaitsForASolicitedEntry) {
  Host host(4);
  host.arm(VERNA_ARM_SOLICITED);
  host.push(1);
  EXPECT_FALSE(host.ring.take_arm(false));
  host.push(2);
  EXPECT_TRUE(host.ring.take_arm(true));
  EXPECT_FALSE(host.ring.take_arm(true));
}

TEST(PhaseRing, UpgradeFromSolicitedToNextCounts) {
  Host host(4);
  host.arm(VERNA_ARM_SOLICITED);
  host.push(1);
  EXPECT_FALSE(host.ring.take_arm(false));
  host.arm(VERNA_ARM_NEXT);
  EXPECT_TRUE(host.ring.take_arm(false));
}

TEST(PhaseRing, ArmOfNoKindRaisesNothing) {
  Host host(4);
  host.push(1);
  host.arm(VERNA_ARM_NONE);
  EXPECT_FALSE(host.ring.take_arm(true));
  host.arm(3);
  EXPECT_FALSE(host.ring.take_arm(true)) << "type 3 is not defined";
}

TEST(PhaseRing, ABarrierStandsBetweenTheEntryAndTheArmWord) {
  Host host(4);
  // The race of the contract: the host arms after the entry was written and before the card looks.
  // A card without the barrier (or that looked first) would miss this arm for ever.
  bool armed = false;
  host.bus.set_barrier_hook([&] {
    if (!armed) host.arm(VERNA_ARM_NEXT);
    armed = true;
  });
  host.push(1);
  EXPECT_TRUE(host.ring.take_arm(false));
  EXPECT_TRUE(armed);
}

TEST(PhaseRing, HostThatArmsAtAnyPointMissesNothing) {
  // For every moment between two memory accesses of push + take_arm at which the host may consume,
  // arm and look: either it sees the entry itself or the card raises the event.
  for (int moment = 1; moment < 12; moment++) {
    Host host(3);
    int step = 0;
    bool saw_itself = false;
    const auto tick = [&] {
      if (++step != moment) return;
      uint64_t value;
      while (host.peek(&value)) {
        host.consume();
        saw_itself = true;
      }
      host.arm(VERNA_ARM_NEXT);
      if (host.peek(&value)) saw_itself = true;
    };
    host.bus.set_read_hook([&](const FakeHostBus::Access&) { tick(); });
    host.bus.set_write_hook([&](const FakeHostBus::Access&) { tick(); });
    host.bus.set_barrier_hook(tick);
    host.push(1);
    const bool raised = host.ring.take_arm(false);
    if (step < moment) continue;
    EXPECT_TRUE(saw_itself || raised) << "lost at step " << moment;
  }
}

TEST(PhaseRing, ArmSequenceNumbersWrap) {
  Host host(4);
  host.sn = (1u << 30) - 2;
  for (int i = 0; i < 5; i++) {
    host.arm(VERNA_ARM_NEXT);
    host.push(1);
    host.consume();
    EXPECT_TRUE(host.ring.take_arm(false)) << i;
    EXPECT_FALSE(host.ring.take_arm(false)) << i;
  }
}

TEST(PhaseRing, BadLayoutsAreRefused) {
  FakeHostBus bus;
  PblQuota quota(100);
  const auto init = [&](PhaseRing::Layout layout, uint64_t len = 128 + 4 * 64) {
    HostBuffer mem(bus, len);
    PageList pages;
    EXPECT_EQ(PageList::load(bus, 0, mem.pbl(), len, quota, &pages), PblStatus::kOk);
    PhaseRing ring;
    return ring.init(&bus, 0, std::move(pages), layout);
  };
  EXPECT_TRUE(init({0, 128, 2, 64}));
  EXPECT_FALSE(init({0, 128, 3, 64}));
  EXPECT_FALSE(init({64, 128, 2, 64}));
  EXPECT_FALSE(init({0, 144, 2, 64}));
  EXPECT_FALSE(init({0, 0xffffffc0, 2, 64}));
  EXPECT_FALSE(init({0xffffff80, 128, 2, 64}));
  EXPECT_FALSE(init({0, 128, 200, 64}));
}

TEST(PhaseRing, WorksOverScatteredPages) {
  Host host(8, 64, {.level = 2});
  uint64_t value;
  for (uint64_t i = 0; i < 1000; i++) {
    ASSERT_EQ(host.push(i), PhaseRing::Push::kOk);
    ASSERT_TRUE(host.peek(&value));
    ASSERT_EQ(value, i);
    host.consume();
  }
}

}  // namespace
}  // namespace verna::test
