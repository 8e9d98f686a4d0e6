// SPDX-License-Identifier: GPL-2.0-or-later
// Rates, weights and priorities of the transmit scheduler in virtual time.
#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "sched/fake_source.h"

namespace verna::test {
namespace {

TEST(Shaper, IsExactForEverySizeOfFrame) {
  for (const uint32_t frame : {60u, 61u, 577u, 1514u, 9618u}) {
    for (const uint32_t kbps : {64u, 7'777u, 100'000u, 40'000'000u}) {
      Shaper shaper;
      Nanos now = 5;
      shaper.configure(kbps, 1, now);
      uint64_t bytes = 0;
      for (int i = 0; i < 20'000; i++) {
        now = std::max(now, shaper.ready_at());
        ASSERT_GT(shaper.allowance(now), 0u);
        shaper.charge(frame, now);
        bytes += frame;
      }
      const double exact = static_cast<double>(bytes) * 8e6 / kbps;
      EXPECT_NEAR(static_cast<double>(shaper.ready_at()), exact, exact * 1e-4 + 10)
          << frame << " " << kbps;
    }
  }
}

TEST(Shaper, ALatecomerLosesNothingWithinTheBurst) {
  Shaper shaper;
  shaper.configure(1'000'000, 250'000, 0);  // 2 ms
  uint64_t sent = 0;
  for (Nanos now = 0; now < kSecond; now += 1'900'000) {
    const uint32_t bytes = shaper.allowance(now);
    shaper.charge(bytes, now);
    sent += bytes;
  }
  EXPECT_NEAR(mbps(sent, kSecond), 1000, 10);
}

TEST(Shaper, APauseIsWorthOneBurst) {
  Shaper shaper;
  shaper.configure(1'000'000, 10'000, 0);
  EXPECT_EQ(shaper.allowance(100 * kSecond), 10'000u);
  shaper.charge(10'000, 100 * kSecond);
  EXPECT_LE(shaper.allowance(100 * kSecond), 1u);
}

TEST(Shaper, AChangeKeepsTheDebtInBytes) {
  Shaper shaper;
  shaper.configure(1, 0, 0);
  shaper.charge(9618, 0);  // 77 seconds
  shaper.configure(1'000'000, 1, 1000);
  EXPECT_NEAR(static_cast<double>(shaper.ready_at()), 1000 + 9618 * 8, 100);
  shaper.configure(1'000, 0, 1000);
  shaper.configure(1'000'000, 1, 1000);
  EXPECT_NEAR(static_cast<double>(shaper.ready_at()), 1000 + 9618 * 8, 1000);
  shaper.configure(0, 0, 2000);
  EXPECT_EQ(shaper.allowance(2000), ~uint32_t{0});
}

TEST(Shaping, QueueRatesHoldWithinTwoPercent) {
  SchedulerRig rig;
  FakeSource small(60), medium(1514), large(9618), free(1514);
  rig.add(&small, {0, 1, 50'000});
  rig.add(&medium, {0, 1, 1'000'000});
  rig.add(&large, {0, 1, 2'000'000});
  rig.add(&free, {});
  rig.run_for(300 * kMilli);
  EXPECT_NEAR(mbps(small.sent, 300 * kMilli), 50, 1);
  EXPECT_NEAR(mbps(medium.sent, 300 * kMilli), 1000, 20);
  EXPECT_NEAR(mbps(large.sent, 300 * kMilli), 2000, 40);
  EXPECT_GT(mbps(free.sent, 300 * kMilli), 6500) << "what they leave is for others";
}

TEST(Shaping, ShortFramesAreChargedAsTheyAreOnTheWire) {
  SchedulerRig rig;
  FakeSource tiny(20);
  rig.add(&tiny, {0, 1, 60'000});
  rig.run_for(kSecond);
  EXPECT_NEAR(mbps(tiny.frames * 60, kSecond), 60, 1.2);
}

TEST(Shaping, TheEngineSleepsUntilThereAreTokens) {
  SchedulerRig rig;
  FakeSource a(1514);
  rig.add(&a, {0, 1, 10'000, 1});  // a frame every 1.2 ms
  rig.run_for(kSecond);
  EXPECT_NEAR(mbps(a.sent, kSecond), 10, 0.2);
  EXPECT_LT(rig.runs, 4 * a.frames) << "no polling for time to pass";
}

TEST(Shaping, AGroupSharesItsRate) {
  SchedulerRig rig;
  TxGroup group, other;
  FakeSource a(1514), b(1514), c(1514, TxSource::Kind::kRdma), free(1514), slow(1514);
  for (FakeSource* source : {&a, &b, &c, &slow}) source->join(group);
  free.join(other);
  rig.scheduler.limit(&group, 300'000);
  for (FakeSource* source : {&a, &b, &free}) rig.add(source, {});
  c.backlog = ~0ull >> 1;
  c.may_send = a.may_send;
  rig.scheduler.wake(&c);
  rig.add(&slow, {0, 1, 10'000});
  rig.run_for(kSecond);
  EXPECT_NEAR(mbps(a.sent + b.sent + c.sent + slow.sent, kSecond), 300, 6);
  EXPECT_NEAR(mbps(slow.sent, kSecond), 10, 1) << "its own rate is less than its share";
  for (const FakeSource* source : {&a, &b, &c}) EXPECT_NEAR(mbps(source->sent, kSecond), 97, 10);
  EXPECT_GT(mbps(free.sent, kSecond), 9000) << "others go on";
}

TEST(Shaping, AGroupsLimitChangesForThoseWhoWait) {
  SchedulerRig rig;
  TxGroup group;
  FakeSource a(9000), b(9000);
  a.join(group);
  b.join(group);
  rig.scheduler.limit(&group, 1);
  rig.add(&a, {});
  rig.add(&b, {});
  rig.run_for(10 * kMilli);
  EXPECT_LE(a.frames + b.frames, 1u);
  EXPECT_EQ(rig.scheduler.num_parked(), 2u);
  rig.scheduler.limit(&group, 0);
  EXPECT_EQ(rig.scheduler.num_parked(), 0u);
  rig.run_for(10 * kMilli);
  EXPECT_NEAR(mbps(a.sent, 10 * kMilli), mbps(b.sent, 10 * kMilli), 100);
  EXPECT_GT(mbps(a.sent + b.sent, 10 * kMilli), 9000);
  // Gone while they wait.
  rig.scheduler.limit(&group, 1);
  rig.run_for(kMilli);
  rig.scheduler.remove(&a);
  rig.scheduler.limit(&group, 0);
  rig.scheduler.remove(&b);
  EXPECT_EQ(rig.scheduler.num_runnable(), 0u);
}

TEST(Shaping, ARateChangesOnTheFly) {
  SchedulerRig rig;
  FakeSource a(1514);
  rig.add(&a, {0, 1, 100'000});
  rig.run_for(kSecond);
  uint64_t before = a.sent;
  rig.scheduler.set_now(rig.now);
  rig.scheduler.configure(&a, {0, 1, 1'000'000});
  rig.run_for(kSecond);
  EXPECT_NEAR(mbps(a.sent - before, kSecond), 1000, 20);
  before = a.sent;
  rig.scheduler.configure(&a, {0, 1, 1'000});
  rig.run_for(10 * kSecond);
  EXPECT_NEAR(mbps(a.sent - before, 10 * kSecond), 1, 0.02);
  before = a.sent;
  rig.scheduler.configure(&a, {});
  rig.run_for(100 * kMilli);
  EXPECT_GT(mbps(a.sent - before, 100 * kMilli), 9500) << "a parked queue does not stay parked";
}

TEST(Shaping, ClassRatesHoldAndLeaveTheRest) {
  SchedulerRig rig;
  TxClassSetup classes;
  classes.max_kbps[3] = 500'000;
  rig.scheduler.configure_classes(classes, 0);
  FakeSource a(1514), b(300), low(1514);
  rig.add(&a, {3});
  rig.add(&b, {3});
  rig.add(&low, {1});
  rig.run_for(300 * kMilli);
  EXPECT_NEAR(mbps(a.sent + b.sent, 300 * kMilli), 500, 10);
  EXPECT_NEAR(mbps(a.sent, 300 * kMilli), mbps(b.sent, 300 * kMilli), 5);
  EXPECT_GT(mbps(low.sent, 300 * kMilli), 9300);
}

TEST(Shaping, WeightsOfQueuesAreSharesOfBytes) {
  SchedulerRig rig;
  FakeSource a(64), b(1514), c(9618), d(1514);
  rig.add(&a, {0, 1});
  rig.add(&b, {0, 2});
  rig.add(&c, {0, 5});
  rig.add(&d, {0, 8});
  rig.run_for(300 * kMilli);
  const auto total = static_cast<double>(a.sent + b.sent + c.sent + d.sent);
  EXPECT_NEAR(static_cast<double>(a.sent) / total, 1.0 / 16, 0.02 / 16);
  EXPECT_NEAR(static_cast<double>(b.sent) / total, 2.0 / 16, 0.04 / 16);
  EXPECT_NEAR(static_cast<double>(c.sent) / total, 5.0 / 16, 0.1 / 16);
  EXPECT_NEAR(static_cast<double>(d.sent) / total, 8.0 / 16, 0.16 / 16);
}

TEST(Shaping, TheLightestOf1024IsNotForgotten) {
  SchedulerRig rig;
  FakeSource light(9618), heavy(1514);
  rig.add(&light, {0, 1});
  rig.add(&heavy, {0, 1024});
  rig.run_for(kSecond);
  EXPECT_NEAR(static_cast<double>(heavy.sent) / static_cast<double>(light.sent), 1024, 120);
}

TEST(Shaping, WeightsOfClassesAreSharesOfWhatStrictOnesLeave) {
  SchedulerRig rig;
  TxClassSetup classes;
  classes.weight = {1, 3, 6, 0};
  classes.max_kbps[3] = 2'000'000;
  rig.scheduler.configure_classes(classes, 0);
  FakeSource a(1514), b(64), b2(9000), c(600), strict(1514);
  rig.add(&a, {0});
  rig.add(&b, {1});
  rig.add(&b2, {1});
  rig.add(&c, {2});
  rig.add(&strict, {3});
  rig.run_for(300 * kMilli);
  const auto rest = static_cast<double>(a.sent + b.sent + b2.sent + c.sent);
  EXPECT_NEAR(mbps(strict.sent, 300 * kMilli), 2000, 40);
  EXPECT_NEAR(static_cast<double>(a.sent) / rest, 0.1, 0.002);
  EXPECT_NEAR(static_cast<double>(b.sent + b2.sent) / rest, 0.3, 0.006);
  EXPECT_NEAR(static_cast<double>(c.sent) / rest, 0.6, 0.012);
  EXPECT_NEAR(static_cast<double>(b.sent) / static_cast<double>(b2.sent), 1, 0.02);
}

TEST(Shaping, RdmaSharesOneClassAndFollowsIt) {
  SchedulerRig rig;
  FakeSource qp1(4096, TxSource::Kind::kRdma), qp2(4096, TxSource::Kind::kRdma), eth(1514);
  rig.add(&eth, {0});
  qp1.backlog = qp2.backlog = ~0ull >> 1;
  qp1.may_send = qp2.may_send = eth.may_send;
  rig.scheduler.wake(&qp1);
  rig.scheduler.wake(&qp2);
  rig.run_for(100 * kMilli);
  EXPECT_NEAR(static_cast<double>(qp1.sent) / static_cast<double>(eth.sent), 1, 0.02);
  TxClassSetup classes;
  classes.weight = {1, 0, 1};
  rig.scheduler.configure_classes(classes, 2);
  const uint64_t rdma = qp1.sent + qp2.sent, ethernet = eth.sent;
  rig.run_for(100 * kMilli);
  EXPECT_NEAR(
      static_cast<double>(qp1.sent + qp2.sent - rdma) / static_cast<double>(eth.sent - ethernet), 1,
      0.02);
}

TEST(Shaping, StrictPriorityIsNeverInvertedByMoreThanAFrame) {
  SchedulerRig rig;
  FakeSource low(1514), high(200);
  rig.add(&low, {1});
  rig.add(&high, {6}, 1);
  unsigned low_frames = 0, worst = 0;
  std::mt19937 random(7);
  // The host posts to the high queue, without a doorbell, at any time between two frames.
  low.on_frame = [&] {
    if (high.backlog > 0) worst = std::max(worst, ++low_frames);
    if (random() % 5 == 0) high.backlog += 1 + random() % 3;
  };
  high.on_frame = [&] { low_frames = 0; };
  rig.run_for(50 * kMilli);
  EXPECT_GT(high.frames, 1000u);
  EXPECT_GT(low.frames, 10'000u);
  EXPECT_LE(worst, 1u);
}

TEST(Shaping, ASaturatedStrictClassStarvesWhatIsBelowIt) {
  SchedulerRig rig;
  FakeSource low(64), high(9618);
  rig.add(&low, {0});
  rig.add(&high, {7});
  rig.run_for(10 * kMilli);
  EXPECT_EQ(low.sent, 0u) << "also while large frames wait for room and small ones would fit";
  EXPECT_GT(mbps(high.sent, 10 * kMilli), 9500);
}

TEST(Shaping, AFullWireDoesNotChangeShares) {
  SchedulerRig rig(0.1);  // a frame at a time
  FakeSource a(60), b(9618), c(1514);
  rig.add(&a, {0, 1});
  rig.add(&b, {0, 1});
  rig.add(&c, {0, 2});
  rig.run_for(5 * kSecond);
  const auto total = static_cast<double>(a.sent + b.sent + c.sent);
  EXPECT_NEAR(static_cast<double>(a.sent) / total, 0.25, 0.005);
  EXPECT_NEAR(static_cast<double>(b.sent) / total, 0.25, 0.005);
  EXPECT_NEAR(static_cast<double>(c.sent) / total, 0.5, 0.01);
}

TEST(Shaping, ManyQueuesAllAtTheirRates) {
  SchedulerRig rig(100);
  std::vector<std::unique_ptr<FakeSource>> queues;
  for (uint32_t i = 0; i < 128; i++) {
    queues.push_back(std::make_unique<FakeSource>(60 + i * 70));
    rig.add(queues.back().get(), {static_cast<uint8_t>(i % 8), 1, 10'000 * (1 + i % 16)});
  }
  rig.run_for(kSecond);
  for (uint32_t i = 0; i < 128; i++) {
    const double rate = 10.0 * (1 + i % 16);
    // Besides the burst of 4 ms at the beginning, at most a frame.
    EXPECT_NEAR(mbps(queues[i]->sent, kSecond), rate, rate * 0.02) << i;
  }
}

TEST(Shaping, AQueueThatGoesInTheMiddleIsNotMissed) {
  SchedulerRig rig;
  std::vector<std::unique_ptr<FakeSource>> queues;
  for (uint32_t i = 0; i < 16; i++) {
    queues.push_back(std::make_unique<FakeSource>(700 + i));
    rig.add(queues.back().get(), {static_cast<uint8_t>(i % 2), static_cast<uint16_t>(1 + i % 5),
                                  i % 3 == 0 ? 50'000u : 0});
  }
  std::mt19937 random(3);
  while (queues.size() > 2) {
    rig.run_for(kMilli);
    const size_t victim = random() % queues.size();
    rig.scheduler.remove(queues[victim].get());
    queues.erase(queues.begin() + static_cast<ptrdiff_t>(victim));
  }
  for (auto& queue : queues) rig.scheduler.remove(queue.get());
  EXPECT_EQ(rig.scheduler.num_runnable() + rig.scheduler.num_parked() + rig.scheduler.num_polled(),
            0u);
  EXPECT_EQ(rig.scheduler.next_deadline(rig.now), kNever);
}

TEST(Shaping, WhoMayNotSendYetIsAskedAgainInTime) {
  SchedulerRig rig;
  FakeSource paced(1514), other(1514);
  rig.add(&paced);
  paced.on_frame = [&] { paced.not_before = rig.now + 10'000; };
  rig.run_for(10 * kMilli);
  EXPECT_NEAR(static_cast<double>(paced.frames), 1000, 10);
  const uint64_t alone = paced.frames;
  rig.add(&other);
  rig.run_for(10 * kMilli);
  // Besides its own wait it waits for the turn of the other.
  EXPECT_GT(paced.frames - alone, 400u);
  EXPECT_GT(mbps(other.sent, 10 * kMilli), 8000) << "one that waits holds nobody up";
}

TEST(Shaping, APauseStopsAllAndEndsByItself) {
  SchedulerRig rig;
  FakeSource a(1514), b(1514, TxSource::Kind::kRdma);
  rig.add(&a);
  rig.run_for(kMilli);
  rig.scheduler.pause(rig.now + kMilli);
  const uint64_t before = a.sent;
  EXPECT_EQ(rig.scheduler.next_deadline(rig.now), rig.now + kMilli);
  EXPECT_FALSE(rig.scheduler.can_send(rig.now));
  rig.run_for(kMilli);
  EXPECT_EQ(a.sent, before);
  rig.run_for(kMilli);
  EXPECT_GT(a.sent, before);
  rig.scheduler.pause(rig.now + 1000 * kSecond);
  rig.run_for(kMilli);
  const uint64_t paused = a.sent;
  rig.scheduler.pause(0);
  rig.run_for(kMilli);
  EXPECT_GT(a.sent, paused) << "a pause of no time is the end of the pause";
}

TEST(Shaping, AParkedQueueDoesNotKeepTheCardAwake) {
  Scheduler scheduler;
  FakeSource a(1514);
  a.backlog = 100;
  scheduler.set_now(0);
  scheduler.configure(&a, {0, 1, 1'000, 1});
  scheduler.wake(&a);
  scheduler.run(0, 65536);
  EXPECT_EQ(a.frames, 1u);
  EXPECT_FALSE(scheduler.can_send(0));
  EXPECT_TRUE(scheduler.arm_all(0)) << "it needs no doorbell";
  EXPECT_NEAR(static_cast<double>(scheduler.next_deadline(0)), 1514 * 8000, 8010);
  scheduler.wake(&a);
  EXPECT_FALSE(scheduler.can_send(0)) << "a doorbell does not get around the rate";
  scheduler.remove(&a);
}

}  // namespace
}  // namespace verna::test
