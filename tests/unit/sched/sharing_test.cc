// SPDX-License-Identifier: GPL-2.0-or-later
// How functions share the wire in virtual time, whatever each of them has.
#include <gtest/gtest.h>

#include <deque>
#include <random>

#include "sched/fake_function.h"

namespace verna::test {
namespace {

/// `part` is `share` of `whole` within 2 % of it.
void expect_share(uint64_t part, uint64_t whole, double share, const char* what = "") {
  EXPECT_NEAR(static_cast<double>(part) / static_cast<double>(whole), share, 0.02 * share) << what;
}

/// What each has sent since the last call.
std::vector<uint64_t> sent_since(std::vector<uint64_t>* before,
                                 std::initializer_list<const FakeFunction*> functions) {
  before->resize(functions.size());
  std::vector<uint64_t> out;
  for (size_t i = 0; const FakeFunction* f : functions) {
    out.push_back(f->sent() - (*before)[i]);
    (*before)[i++] = f->sent();
  }
  return out;
}

TEST(Sharing, TheNumberOfQueuesGivesNothing) {
  SchedulerRig rig;
  FakeFunction one(rig), eight(rig);
  one.add(1514);
  eight.add_many(8, 1514);
  rig.run_for(100 * kMilli);
  const uint64_t all = one.sent() + eight.sent();
  EXPECT_GT(mbps(all, 100 * kMilli), 9500);
  expect_share(one.sent(), all, 0.5);
  for (const auto& queue : eight.queues) expect_share(queue->sent, eight.sent(), 1.0 / 8);
}

TEST(Sharing, NorDoesThatOfQueuePairs) {
  SchedulerRig rig;
  FakeFunction rdma(rig), ethernet(rig);
  for (int i = 0; i < 64; i++) rdma.add_qp(4178);
  ethernet.add(1514);
  rig.run_for(200 * kMilli);
  expect_share(ethernet.sent(), ethernet.sent() + rdma.sent(), 0.5);
  for (const auto& qp : rdma.queues)
    EXPECT_NEAR(static_cast<double>(qp->sent), static_cast<double>(rdma.sent()) / 64, 40'000);
}

TEST(Sharing, NorDoesTheSizeOfFrames) {
  SchedulerRig rig;
  FakeFunction tiny(rig), usual(rig), jumbo(rig), mixed(rig);
  tiny.add_many(5, 60);
  usual.add(1514);
  jumbo.add_many(2, 9618);
  for (const uint32_t frame : {64u, 577u, 9000u}) mixed.add(frame);
  rig.run_for(100 * kMilli);
  uint64_t all = 0;
  for (const FakeFunction* f : {&tiny, &usual, &jumbo, &mixed}) all += f->sent();
  for (const FakeFunction* f : {&tiny, &usual, &jumbo, &mixed}) expect_share(f->sent(), all, 0.25);
  for (const auto& queue : mixed.queues) expect_share(queue->sent, mixed.sent(), 1.0 / 3);
}

TEST(Sharing, WeightsWithinAFunctionAreItsOwnAffair) {
  SchedulerRig rig;
  FakeFunction a(rig), b(rig);
  for (const uint16_t weight : {1, 2, 5}) a.add(700, {0, weight});
  for (const uint16_t weight : {1024, 512}) b.add(1514, {0, weight});
  rig.run_for(300 * kMilli);
  expect_share(a.sent(), a.sent() + b.sent(), 0.5);
  expect_share(a[0].sent, a.sent(), 1.0 / 8);
  expect_share(a[1].sent, a.sent(), 2.0 / 8);
  expect_share(a[2].sent, a.sent(), 5.0 / 8);
  expect_share(b[0].sent, b.sent(), 2.0 / 3);
  expect_share(b[1].sent, b.sent(), 1.0 / 3);
}

TEST(Sharing, WeightsOfFunctionsAreSharesOfBytes) {
  SchedulerRig rig;
  std::vector<uint64_t> before;
  FakeFunction a(rig), b(rig);
  a.add_many(8, 300);
  b.add(1514);
  rig.scheduler.share(&b.group, 3);
  rig.run_for(100 * kMilli);
  std::vector<uint64_t> sent = sent_since(&before, {&a, &b});
  expect_share(sent[0], sent[0] + sent[1], 0.25);
  rig.scheduler.share(&a.group, 6);
  rig.run_for(100 * kMilli);
  sent = sent_since(&before, {&a, &b});
  expect_share(sent[0], sent[0] + sent[1], 2.0 / 3);
  rig.scheduler.share(&a.group, 1);
  rig.scheduler.share(&b.group, 1);
  rig.run_for(100 * kMilli);
  sent = sent_since(&before, {&a, &b});
  expect_share(sent[0], sent[0] + sent[1], 0.5);
}

TEST(Sharing, TheLightestFunctionOf1024IsNotForgotten) {
  SchedulerRig rig;
  FakeFunction light(rig), heavy(rig);
  light.add_many(3, 9618);
  heavy.add(1514);
  rig.scheduler.share(&heavy.group, 1024);
  rig.run_for(kSecond);
  EXPECT_NEAR(static_cast<double>(heavy.sent()) / static_cast<double>(light.sent()), 1024, 120);
}

TEST(Sharing, EachClassIsSharedByItself) {
  SchedulerRig rig;
  FakeFunction a(rig), b(rig);
  a.add(1514);
  b.add_many(8, 1514);
  for (int i = 0; i < 8; i++) a.add_qp(4178);
  b.add_qp(1100);
  TxClassSetup classes;
  classes.weight = {1, 0, 3};
  rig.scheduler.configure_classes(classes, 2);
  rig.run_for(200 * kMilli);
  const uint64_t rdma_of_a = a.sent() - a[0].sent;
  const uint64_t rdma_of_b = b[8].sent;
  const uint64_t rdma = rdma_of_a + rdma_of_b;
  const uint64_t all = a.sent() + b.sent();
  expect_share(rdma, all, 0.75, "of the class");
  expect_share(rdma_of_a, rdma, 0.5);
  expect_share(a[0].sent, all - rdma, 0.5);
  // All in one class again: a function has one share there.
  rig.scheduler.configure_classes({}, 0);
  std::vector<uint64_t> before = {a.sent(), b.sent()};
  rig.run_for(200 * kMilli);
  const std::vector<uint64_t> sent = sent_since(&before, {&a, &b});
  expect_share(sent[0], sent[0] + sent[1], 0.5);
}

TEST(Sharing, QueuesOfNoFunctionAreOneTogether) {
  SchedulerRig rig;
  FakeSource alone(1514), beside(300);
  FakeFunction f(rig);
  rig.add(&alone);
  rig.add(&beside);
  f.add(1514);
  rig.run_for(100 * kMilli);
  const uint64_t all = alone.sent + beside.sent + f.sent();
  expect_share(f.sent(), all, 0.5);
  expect_share(alone.sent, all, 0.25);
}

TEST(Sharing, AFunctionThatItsRateHoldsBackHoldsUpNobody) {
  SchedulerRig rig;
  std::vector<uint64_t> before;
  FakeFunction slow(rig), a(rig), b(rig);
  slow.add_many(4, 1514);
  a.add(1514);
  b.add_many(3, 1514);
  rig.scheduler.limit(&slow.group, 1'000'000);
  rig.run_for(500 * kMilli);
  std::vector<uint64_t> sent = sent_since(&before, {&slow, &a, &b});
  EXPECT_NEAR(mbps(sent[0], 500 * kMilli), 1000, 20);
  EXPECT_GT(mbps(sent[0] + sent[1] + sent[2], 500 * kMilli), 9700) << "the wire is full";
  expect_share(sent[1], sent[1] + sent[2], 0.5);
  rig.scheduler.set_now(rig.now);
  rig.scheduler.limit(&slow.group, 0);
  rig.run_for(100 * kMilli);
  sent = sent_since(&before, {&slow, &a, &b});
  for (const uint64_t bytes : sent) expect_share(bytes, sent[0] + sent[1] + sent[2], 1.0 / 3);
}

TEST(Sharing, ARateOfAQueueLeavesTheRestToItsFunction) {
  SchedulerRig rig;
  FakeFunction a(rig), b(rig);
  a.add(1514, {0, 1, 500'000, 65536});
  a.add(1514);
  b.add(1514);
  rig.run_for(500 * kMilli);
  EXPECT_NEAR(mbps(a[0].sent, 500 * kMilli), 500, 10);
  expect_share(a.sent(), a.sent() + b.sent(), 0.5);
}

TEST(Sharing, AFunctionThatIsIdleSavesNothing) {
  SchedulerRig rig;
  FakeFunction a(rig), b(rig);
  a.add_many(2, 1514);
  b.add_many(8, 1514);
  rig.run_for(kMilli);
  for (auto& queue : b.queues) queue->backlog = 0;
  rig.run_for(100 * kMilli);
  std::vector<uint64_t> before;
  (void)sent_since(&before, {&a, &b});
  for (auto& queue : b.queues) {
    queue->backlog = SchedulerRig::kEndless;
    rig.scheduler.wake(queue.get());
  }
  for (int i = 0; i < 50; i++) {
    rig.run_for(20 * kMicro);
    EXPECT_LE(b.sent() - before[1], a.sent() - before[0] + 2 * (kQuantum + 1514));
    EXPECT_LE(a.sent() - before[0], b.sent() - before[1] + 2 * (kQuantum + 1514));
  }
}

TEST(Sharing, NorDoesOneThatComesAndGoes) {
  SchedulerRig rig;
  FakeFunction a(rig), b(rig);
  uint64_t in_a_row = 0, longest = 0;
  a.add(1514).on_frame = [&] { in_a_row = 0; };
  for (int i = 0; i < 8; i++)
    b.add(1514, {}, 0).on_frame = [&] { longest = std::max(longest, in_a_row += 1514); };
  const auto post = [&](FakeSource& queue, uint64_t frames) {
    queue.backlog = frames;
    rig.scheduler.wake(&queue);
  };
  for (size_t i = 0; i < 100; i++) {
    post(b[i % 8], 1);
    rig.run_for(50 * kMicro);
  }
  EXPECT_EQ(b.sent(), 100 * 1514u);
  for (auto& queue : b.queues) post(*queue, SchedulerRig::kEndless);
  rig.run_for(kMilli);
  EXPECT_LE(longest, kQuantum + 2 * 1514);
}

TEST(Sharing, WhatAFunctionSentTooMuchIsNotForgottenWhileItIsIdle) {
  SchedulerRig rig;
  FakeFunction a(rig), b(rig);
  a.add(1514);
  b.add(9618, {}, 1);  // nine times what it gets for a round
  rig.scheduler.share(&a.group, 16);
  for (int i = 0; i < 100'000; i++) {
    rig.run_for(kMicro);
    if (b[0].backlog == 0) b[0].backlog = 1;
  }
  EXPECT_LT(static_cast<double>(b.sent()) / static_cast<double>(a.sent()), 1.02 / 16);
  EXPECT_GT(b[0].frames, 100u);
}

TEST(Sharing, ALightFunctionSendsLittleAtATime) {
  SchedulerRig rig;
  FakeFunction light(rig), heavy(rig);
  uint64_t in_a_row = 0, longest = 0;
  for (int i = 0; i < 3; i++)
    light.add(200).on_frame = [&] { longest = std::max(longest, in_a_row += 200); };
  heavy.add(1514).on_frame = [&] { in_a_row = 0; };
  rig.scheduler.share(&heavy.group, 16);
  rig.run_for(10 * kMilli);
  EXPECT_LE(longest, kQuantum / 16 + 200);
  EXPECT_GT(longest, kQuantum / 16 / 2);
}

TEST(Sharing, WhatALightFunctionSentAloneIsNotHeldAgainstIt) {
  Scheduler scheduler;
  TxGroup a, b;
  FakeSource light(1514), heavy(1514);
  light.join(a);
  heavy.join(b);
  light.backlog = heavy.backlog = SchedulerRig::kEndless;
  scheduler.share(&b, 64);
  scheduler.wake(&light);
  scheduler.run(0, 1 << 20);
  const uint64_t frames = light.frames;
  EXPECT_GT(frames, 600u);
  scheduler.wake(&heavy);
  for (Nanos now = 1; now < 1000 && light.frames < frames + 3; now++) scheduler.run(now, 4096);
  EXPECT_EQ(light.frames, frames + 3);
  EXPECT_LE(heavy.sent, 3 * 64 * 1514 + 2 * kQuantum);
  scheduler.remove(&light);
  scheduler.remove(&heavy);
}

/// The most that `others` send while a frame of a function that was idle waits.
uint64_t longest_wait(size_t others, size_t queues) {
  SchedulerRig rig(100);
  std::deque<FakeFunction> busy;
  for (size_t i = 0; i < others; i++) busy.emplace_back(rig).add_many(queues + i, 1514);
  FakeFunction f(rig);
  FakeSource& lonely = f.add(60, {}, 0);
  const auto sent = [&] {
    uint64_t bytes = 0;
    for (const FakeFunction& other : busy) bytes += other.sent();
    return bytes;
  };
  std::mt19937 random(5);
  uint64_t worst = 0;
  for (uint64_t i = 1; i <= 1000; i++) {
    rig.run_for(random() % 3000, 4096);
    const uint64_t before = sent();
    lonely.on_frame = [&] { worst = std::max(worst, sent() - before); };
    lonely.backlog = 1;
    rig.scheduler.wake(&lonely);
    for (int j = 0; j < 100 && lonely.frames < i; j++) rig.run_for(500, 4096);
    EXPECT_EQ(lonely.frames, i);
  }
  return worst;
}

TEST(Sharing, ALonelyFrameWaitsForOneRoundOfFunctions) {
  for (const size_t others : {1u, 2u, 5u}) {
    for (const size_t queues : {1u, 8u, 64u}) {
      const uint64_t wait = longest_wait(others, queues);
      EXPECT_LE(wait, others * (kQuantum + 2 * 1514)) << others << " " << queues;
      EXPECT_GT(wait, others * kQuantum / 2) << others << " " << queues;
    }
  }
}

TEST(Sharing, AFunctionThatIsAloneHasTheTurnsOfItsQueuesOnly) {
  Scheduler scheduler;
  FakeSource a(1514), b(64);
  a.backlog = b.backlog = SchedulerRig::kEndless;
  scheduler.wake(&a);
  scheduler.wake(&b);
  scheduler.run(0, 100 << 20);
  for (const FakeSource* q : {&a, &b})
    EXPECT_NEAR(static_cast<double>(q->sent) / q->turns, kQuantum, kQuantum / 50);
  scheduler.remove(&a);
  scheduler.remove(&b);
}

/// Has much to do, of which nothing is sent, or one small frame in a turn.
struct FruitlessSource : TxSource {
  bool poll(Nanos) override { return true; }
  Result transmit(uint32_t, Nanos) override {
    turns++;
    if (sends) charge(60);
    return more ? Result::kMore : Result::kIdle;
  }
  bool arm_doorbell(Nanos) override { return true; }
  void disarm_doorbell() override {}

  bool more = true;
  bool sends = false;
  uint64_t turns = 0;
};

/// Turns of its sources in one turn of the function, which says again and again that it has work.
double fruitless_turns(bool more, bool sends) {
  SchedulerRig rig;
  rig.scheduler.set_polling(false);
  FakeFunction a(rig), b(rig);
  b.add(1514);
  std::vector<FruitlessSource> busy(64);
  for (FruitlessSource& source : busy) {
    source.more = more;
    source.sends = sends;
    source.join(a.group);
  }
  for (int i = 0; i < 1000; i++) {
    for (FruitlessSource& source : busy) rig.scheduler.wake(&source);
    rig.scheduler.run(rig.now += 20'000, 65536);
  }
  uint64_t turns = 0;
  for (FruitlessSource& source : busy) {
    turns += source.turns;
    rig.scheduler.remove(&source);
  }
  return static_cast<double>(turns) / (static_cast<double>(b.sent()) / kQuantum);
}

TEST(Sharing, AFunctionThatSendsLittleDoesNotKeepTheTurn) {
  EXPECT_NEAR(fruitless_turns(true, false), 16, 1);
  EXPECT_NEAR(fruitless_turns(false, false), 16, 1);
  EXPECT_NEAR(fruitless_turns(false, true), 16, 1);
  EXPECT_NEAR(fruitless_turns(true, true), 4, 1) << "each uses up its budget";
}

TEST(Sharing, QueuesThatSendNothingDoNotCostTheirFunctionItsShare) {
  SchedulerRig rig;
  FakeFunction a(rig), b(rig);
  std::vector<FruitlessSource> busy(8);
  for (FruitlessSource& source : busy) {
    source.join(a.group);
    rig.scheduler.wake(&source);
  }
  a.add(1514);
  b.add_many(3, 1514);
  rig.run_for(100 * kMilli);
  expect_share(a.sent(), a.sent() + b.sent(), 0.5);
  for (FruitlessSource& source : busy) rig.scheduler.remove(&source);
}

TEST(Sharing, AFullWireDoesNotChangeShares) {
  SchedulerRig rig(0.1);  // a frame at a time
  FakeFunction a(rig), b(rig);
  a.add_many(8, 60);
  b.add(9618);
  rig.scheduler.share(&b.group, 2);
  rig.run_for(5 * kSecond);
  expect_share(a.sent(), a.sent() + b.sent(), 1.0 / 3);
}

TEST(Sharing, AFunctionThatGoesLeavesItsShare) {
  SchedulerRig rig;
  FakeFunction a(rig);
  a.add(1514);
  {
    FakeFunction b(rig);
    b.add_many(8, 1514);
    rig.scheduler.share(&b.group, 1024);
    rig.run_for(10 * kMilli);
  }
  std::vector<uint64_t> before;
  (void)sent_since(&before, {&a});
  rig.run_for(10 * kMilli);
  EXPECT_GT(mbps(sent_since(&before, {&a})[0], 10 * kMilli), 9500);
  FakeFunction c(rig);
  c.add_many(8, 1514);
  rig.run_for(10 * kMilli);
  expect_share(sent_since(&before, {&a})[0], 10 * kMilli * 10 / 8, 0.5);
}

}  // namespace
}  // namespace verna::test
