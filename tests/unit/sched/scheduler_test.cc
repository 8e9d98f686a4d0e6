// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "sched/fake_source.h"

namespace verna::test {
namespace {

TEST(Scheduler, NothingToDoIsNothing) {
  Scheduler scheduler;
  EXPECT_FALSE(scheduler.run(0, 100000));
  EXPECT_TRUE(scheduler.arm_all(0));
}

TEST(Scheduler, SendsWhatIsThere) {
  Scheduler scheduler;
  FakeSource a(1000);
  a.backlog = 5;
  scheduler.wake(&a);
  EXPECT_FALSE(a.armed) << "the card polls it now";
  EXPECT_FALSE(scheduler.run(0, 1 << 20));
  EXPECT_EQ(a.sent, 5000u);
  scheduler.remove(&a);
}

TEST(Scheduler, RespectsTheBudget) {
  Scheduler scheduler;
  FakeSource a(1000);
  a.backlog = 1000;
  scheduler.wake(&a);
  EXPECT_TRUE(scheduler.run(0, 32768));
  EXPECT_GE(a.sent, 30000u);
  EXPECT_LE(a.sent, 50000u);
  scheduler.remove(&a);
}

TEST(Scheduler, SharesBytesFairlyWhateverTheFrameSize) {
  Scheduler scheduler;
  FakeSource sources[] = {FakeSource(64), FakeSource(1500), FakeSource(9000), FakeSource(4096)};
  for (FakeSource& s : sources) {
    s.backlog = 1'000'000'000 / s.frame;
    scheduler.wake(&s);
  }
  for (int i = 0; i < 2000; i++) scheduler.run(static_cast<Nanos>(i), 65536);
  uint64_t least = ~uint64_t{0}, most = 0;
  for (FakeSource& s : sources) {
    least = std::min(least, s.sent);
    most = std::max(most, s.sent);
  }
  EXPECT_GT(least, 0u);
  EXPECT_LT(static_cast<double>(most) / static_cast<double>(least), 1.01) << least << " " << most;
  for (FakeSource& s : sources) scheduler.remove(&s);
}

TEST(Scheduler, SmallBudgetsStarveNobody) {
  Scheduler scheduler;
  std::vector<FakeSource> sources(50, FakeSource(1000));
  for (FakeSource& s : sources) {
    s.backlog = 1'000'000;
    scheduler.wake(&s);
  }
  for (int i = 0; i < 500; i++) scheduler.run(static_cast<Nanos>(i), 4000);
  for (FakeSource& s : sources) EXPECT_GT(s.sent, 0u);
  for (FakeSource& s : sources) scheduler.remove(&s);
}

TEST(Scheduler, AFullWireEndsTheRunAndIsReported) {
  Scheduler scheduler;
  FakeSource a(1000), b(1000);
  a.backlog = b.backlog = 10;
  a.wire_full = b.wire_full = true;
  scheduler.wake(&a);
  scheduler.wake(&b);
  EXPECT_FALSE(scheduler.run(0, 1 << 20)) << "nothing can be done at once";
  EXPECT_TRUE(scheduler.wire_full());
  EXPECT_LE(a.turns + b.turns, 4u) << "no spinning on a full wire";
  a.wire_full = b.wire_full = false;
  scheduler.run(1, 1 << 20);
  EXPECT_EQ(a.sent + b.sent, 20000u) << "what waited for room is tried again";
  EXPECT_FALSE(scheduler.wire_full());
  scheduler.remove(&a);
  scheduler.remove(&b);
}

TEST(Scheduler, PolledQueueNeedsNoDoorbell) {
  Scheduler scheduler;
  FakeSource a(1000);
  a.backlog = 1;
  scheduler.wake(&a);
  scheduler.run(0, 1 << 20);
  a.backlog = 3;  // posted without a doorbell
  scheduler.run(1, 1 << 20);
  EXPECT_EQ(a.sent, 4000u);
  scheduler.remove(&a);
}

TEST(Scheduler, AnIdleQueueIsArmedAndLeavesTheList) {
  Scheduler scheduler;
  FakeSource a(1000);
  scheduler.wake(&a);
  for (int i = 0; i < 2000 && !a.armed; i++) scheduler.run(static_cast<Nanos>(i), 1 << 20);
  EXPECT_TRUE(a.armed);
  const unsigned polls = a.polls;
  for (int i = 0; i < 100; i++) scheduler.run(static_cast<Nanos>(5000 + i), 1 << 20);
  EXPECT_EQ(a.polls, polls) << "it is not polled any more";
  a.backlog = 1;
  scheduler.wake(&a);
  scheduler.run(9000, 1 << 20);
  EXPECT_EQ(a.sent, 1000u);
  scheduler.remove(&a);
}

TEST(Scheduler, WorkThatAppearsWhileArmingIsNotLost) {
  Scheduler scheduler;
  FakeSource a(1000), b(1000);
  scheduler.wake(&a);
  scheduler.wake(&b);
  scheduler.run(0, 1 << 20);
  a.backlog = 2;
  EXPECT_FALSE(scheduler.arm_all(1)) << "the card must not sleep";
  scheduler.run(2, 1 << 20);
  EXPECT_EQ(a.sent, 2000u);
  EXPECT_TRUE(scheduler.arm_all(3));
  EXPECT_TRUE(a.armed);
  EXPECT_TRUE(b.armed);
  scheduler.remove(&a);
  scheduler.remove(&b);
}

TEST(Scheduler, WithoutPollingDoorbellsStayArmed) {
  Scheduler scheduler;
  scheduler.set_polling(false);
  FakeSource a(1000);
  a.backlog = 1;
  scheduler.wake(&a);
  EXPECT_TRUE(a.armed);
  scheduler.run(0, 1 << 20);
  EXPECT_EQ(a.sent, 1000u);
  scheduler.remove(&a);
}

TEST(Scheduler, ARemovedSourceIsNotTouched) {
  Scheduler scheduler;
  auto a = std::make_unique<FakeSource>(1000);
  auto b = std::make_unique<FakeSource>(1000);
  a->backlog = b->backlog = 100;
  scheduler.wake(a.get());
  scheduler.wake(b.get());
  scheduler.run(0, 20000);
  scheduler.remove(a.get());
  a.reset();
  scheduler.run(1, 1 << 20);
  EXPECT_EQ(b->sent, 100000u);
  scheduler.remove(b.get());
  b.reset();
  EXPECT_FALSE(scheduler.run(2, 1 << 20));
  EXPECT_TRUE(scheduler.arm_all(3));
}

}  // namespace
}  // namespace verna::test
