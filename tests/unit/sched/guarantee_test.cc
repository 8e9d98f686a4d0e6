// SPDX-License-Identifier: GPL-2.0-or-later
// What is guaranteed to functions, in virtual time.
#include <gtest/gtest.h>

#include <array>

#include "sched/fake_function.h"

namespace verna::test {
namespace {

constexpr Nanos kSpan = 200 * kMilli;

/// `bytes` in kSpan are `expected` Mbit/s within 2 %.
void expect_mbps(uint64_t bytes, double expected, const char* what) {
  EXPECT_NEAR(mbps(bytes, kSpan), expected, 0.02 * expected) << what;
}

struct GuaranteeTest : testing::Test {
  ~GuaranteeTest() override {
    for (FakeFunction* f : {&a, &b, &c}) rig.scheduler.guarantee(&f->group, 0);
  }

  /// What all send in kSpan, after a while in which bursts are used up.
  void run() {
    rig.run_for(50 * kMilli);
    before = {a.sent(), b.sent(), c.sent()};
    rig.run_for(kSpan);
  }
  void expect(double of_a, double of_b, double of_c) const {
    expect_mbps(a.sent() - before[0], of_a, "a");
    expect_mbps(b.sent() - before[1], of_b, "b");
    expect_mbps(c.sent() - before[2], of_c, "c");
  }

  std::array<uint64_t, 3> before{};
  SchedulerRig rig{1};  // Gbit/s
  FakeFunction a{rig}, b{rig}, c{rig};
};

TEST_F(GuaranteeTest, GoesFirstAndTheRestIsShared) {
  a.add(1514);
  b.add_many(8, 1514);
  c.add_qp(4178);
  rig.scheduler.guarantee(&a.group, 700'000);
  run();
  expect(800, 100, 100);
}

TEST_F(GuaranteeTest, OfSeveralHoldForEach) {
  a.add(60);
  b.add_many(3, 9618);
  c.add(1514);
  rig.scheduler.guarantee(&a.group, 500'000);
  rig.scheduler.guarantee(&b.group, 200'000);
  run();
  expect(600, 300, 100);
}

TEST_F(GuaranteeTest, OfMoreThanThereIsIsSharedByRate) {
  a.add(1514);
  b.add_many(4, 700);
  c.add(1514);
  rig.scheduler.guarantee(&a.group, 2'000'000);
  rig.scheduler.guarantee(&b.group, 3'000'000);
  run();
  expect(400, 600, 0);
}

TEST_F(GuaranteeTest, ThatNobodyUsesIsTheOthers) {
  a.add(1514, {}, 0);
  b.add(1514);
  c.add(1514);
  rig.scheduler.guarantee(&a.group, 900'000);
  run();
  expect(0, 500, 500);
}

TEST_F(GuaranteeTest, IsNotUsedUpByWhatWasSentWithoutNeed) {
  a.add(1514);
  rig.scheduler.guarantee(&a.group, 600'000);
  run();
  expect(1000, 0, 0);
  b.add_many(2, 1514);
  run();
  expect(800, 200, 0);
}

TEST_F(GuaranteeTest, IsNotSavedUp) {
  FakeSource& queue = a.add(1514, {}, 0);
  b.add(1514);
  rig.scheduler.guarantee(&a.group, 500'000);
  run();
  expect(0, 1000, 0);
  queue.backlog = SchedulerRig::kEndless;
  rig.scheduler.wake(&queue);
  run();
  expect(750, 250, 0);
}

TEST_F(GuaranteeTest, HasALimitBesides) {
  a.add(1514);
  b.add(1514);
  rig.scheduler.guarantee(&a.group, 300'000);
  rig.scheduler.limit(&a.group, 400'000);
  run();
  expect(400, 600, 0);
}

TEST_F(GuaranteeTest, ComesAndGoesWhileAllSend) {
  a.add(1514);
  b.add(1514);
  run();
  expect(500, 500, 0);
  rig.scheduler.set_now(rig.now);
  rig.scheduler.guarantee(&a.group, 800'000);
  run();
  expect(900, 100, 0);
  rig.scheduler.set_now(rig.now);
  rig.scheduler.guarantee(&a.group, 0);
  run();
  expect(500, 500, 0);
}

TEST_F(GuaranteeTest, IsNoPriorityOverAHigherClass) {
  a.add(1514);
  const FakeSource& urgent = b.add(1514, {1, 1});
  TxClassSetup classes;
  classes.weight = {1, 0};
  rig.scheduler.configure_classes(classes, 0);
  rig.scheduler.guarantee(&a.group, 900'000);
  run();
  expect(0, 1000, 0);
  EXPECT_EQ(urgent.sent, b.sent());
}

TEST_F(GuaranteeTest, OfAFunctionWhoseQueuesGoIsForgotten) {
  b.add(1514);
  {
    FakeFunction gone(rig);
    gone.add_many(4, 1514);
    rig.scheduler.guarantee(&gone.group, 900'000);
    rig.run_for(10 * kMilli);
    EXPECT_GT(gone.sent(), 0u);
    rig.scheduler.guarantee(&gone.group, 0);
  }
  run();
  expect(0, 1000, 0);
}

}  // namespace
}  // namespace verna::test
