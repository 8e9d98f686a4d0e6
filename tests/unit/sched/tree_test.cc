// SPDX-License-Identifier: GPL-2.0-or-later
// What a tree of rates promises, in virtual time, on a wire of 1 Gbit/s.
#include <gtest/gtest.h>

#include "sched/tree_rig.h"

namespace verna::test {
namespace {

using Status = RateTree::Status;

/// Four functions that have more to send than the wire carries.
struct TreeTest : TreeRig {
  TreeTest() : TreeRig(1, 4) {
    functions[0].add(1514);
    functions[1].add_many(8, 1514);
    functions[2].add_qp(4178);
    functions[3].add_many(2, 300);
  }
  /// Functions 0 and 1 are below a new node.
  uint16_t pair(const RateSetup& setup = {}) {
    const uint16_t id = node(setup);
    for (const size_t i : {0u, 1u}) leaf(i, {.parent = id});
    return id;
  }
};

TEST_F(TreeTest, ANodeIsOneAmongItsSiblings) {
  pair();
  run();
  expect({1000.0 / 6, 1000.0 / 6, 1000.0 / 3, 1000.0 / 3});
}

TEST_F(TreeTest, MaxHoldsOverAllThatIsBelow) {
  pair({.max_kbps = 200'000});
  run();
  expect({100, 100, 400, 400});
}

TEST_F(TreeTest, MaxIsSharedByWeightBelow) {
  const uint16_t id = node({.max_kbps = 200'000});
  leaf(0, {.parent = id, .weight = 3});
  leaf(1, {.parent = id});
  run();
  expect({150, 50, 400, 400});
}

TEST_F(TreeTest, WhatOneBelowDoesNotUseOthersBelowHave) {
  const uint16_t id = node({.max_kbps = 200'000});
  leaf(0, {.max_kbps = 30'000, .parent = id, .weight = 1000});
  leaf(1, {.parent = id});
  run();
  expect({30, 170, 400, 400});
}

TEST_F(TreeTest, TheTightestOfNestedLimitsHolds) {
  const uint16_t top = node({.max_kbps = 500'000});
  const uint16_t mid = node({.max_kbps = 300'000, .parent = top});
  const uint16_t low = node({.max_kbps = 200'000, .parent = mid});
  leaf(0, {.max_kbps = 50'000, .parent = low});
  leaf(1, {.parent = low});
  leaf(2, {.parent = mid});
  leaf(3, {.parent = top});
  run();
  expect({50, 75, 125, 250});
  modify(top, {});
  run();
  expect({50, 100, 150, 700});
  modify(mid, {.max_kbps = 120'000, .parent = top});
  run();
  expect({30, 30, 60, 880});
}

TEST_F(TreeTest, LimitsHoldAlsoForQueuesWithRates) {
  const uint16_t id = node({.max_kbps = 100'000});
  FakeFunction& f = add_function();
  FakeSource& slow = f.add(1514, {0, 1, 10'000});
  FakeSource& fast = f.add(1514);
  leaf(4, {.parent = id});
  run();
  EXPECT_NEAR(rate(4), 100, 2);
  const uint64_t before[] = {slow.sent, fast.sent};
  rig.run_for(kSecond);
  EXPECT_NEAR(mbps(slow.sent - before[0], kSecond), 10, 0.2);
  EXPECT_NEAR(mbps(fast.sent - before[1], kSecond), 90, 1.8);
}

TEST_F(TreeTest, ShareOfANodeGoesFirstAndTheRestIsShared) {
  pair({.min_kbps = 700'000});
  run();
  expect({400, 400, 100, 100});
}

TEST_F(TreeTest, ShareBelowANodeIsOfWhatTheNodeHas) {
  const uint16_t id = node({.max_kbps = 300'000});
  leaf(0, {.min_kbps = 200'000, .parent = id});
  leaf(1, {.parent = id});
  run();
  expect({250, 50, 350, 350});
}

TEST_F(TreeTest, SharesOfMoreThanTheNodeHasAreCutByRate) {
  const uint16_t id = node({.max_kbps = 300'000});
  leaf(0, {.min_kbps = 400'000, .parent = id});
  leaf(1, {.min_kbps = 200'000, .parent = id});
  run();
  expect({200, 100, 350, 350});
}

TEST_F(TreeTest, ShareOfTwoLevels) {
  const uint16_t top = node({.min_kbps = 600'000});
  leaf(0, {.min_kbps = 500'000, .parent = top});
  leaf(1, {.min_kbps = 50'000, .parent = top});
  run();  // top: 600 and a third of 400; below: 500, 50, and half of the rest each
  const double rest = (600 + 400.0 / 3 - 550) / 2;
  expect({500 + rest, 50 + rest, 400.0 / 3, 400.0 / 3});
}

TEST_F(TreeTest, WeightAtEachLevel) {
  const uint16_t top = node({.weight = 3});
  const uint16_t low = node({.parent = top, .weight = 4});
  leaf(0, {.parent = low, .weight = 1});
  leaf(1, {.parent = low, .weight = 2});
  leaf(2, {.parent = top, .weight = 1});
  run();
  expect({750 * 0.8 / 3, 750 * 0.8 * 2 / 3, 750 * 0.2, 250});
}

TEST_F(TreeTest, PriorityAtTheTop) {
  pair({.priority = 1});
  run();
  expect({500, 500, 0, 0});
  leaf(3, {.priority = 7});
  run();
  expect({0, 0, 0, 1000});
}

TEST_F(TreeTest, PriorityLeavesWhatItMayNotUse) {
  pair({.max_kbps = 400'000, .priority = 5});
  leaf(2, {.max_kbps = 100'000, .priority = 2});
  run();
  expect({200, 200, 100, 500});
}

TEST_F(TreeTest, PriorityBelowANode) {
  const uint16_t id = pair({});
  leaf(0, {.max_kbps = 100'000, .parent = id, .priority = 1});
  run();
  expect({100, 1000.0 / 3 - 100, 1000.0 / 3, 1000.0 / 3});
}

TEST_F(TreeTest, PriorityGoesBeforeShareAndThatBeforeWeight) {
  leaf(0, {.max_kbps = 300'000, .priority = 1});
  leaf(1, {.min_kbps = 500'000});
  leaf(2, {.weight = 2});
  leaf(3, {.weight = 1});
  run();
  expect({300, 550, 100, 50});
}

TEST_F(TreeTest, ThatOneCouldNotHaveItsShareForLongIsNoHarmToAnother) {
  leaf(0, {.priority = 1});
  leaf(1, {.min_kbps = 300'000});
  functions[2][0].backlog = 0;
  rig.run_for(3 * kSecond);
  leaf(2, {.min_kbps = 500'000});
  functions[2][0].backlog = SchedulerRig::kEndless;
  rig.scheduler.wake(&functions[2][0]);
  leaf(0, {.max_kbps = 1000, .priority = 1});
  run(0);
  EXPECT_GT(rate(1), 300 * 0.98);
  EXPECT_GT(rate(2), 500 * 0.98);
  EXPECT_GT(rate(3), 20) << "what is made up for has an end";
}

TEST_F(TreeTest, PriorityOfOneThatBecomesBusyCountsFromTheNextRunOn) {
  leaf(3, {.priority = 1});
  for (auto& queue : functions[3].queues) queue->backlog = 0;
  rig.run_for(10 * kMilli);
  const uint64_t low = functions[0].sent() + functions[1].sent() + functions[2].sent();
  functions[3][0].backlog = 10;
  rig.scheduler.wake(&functions[3][0]);
  rig.run_for(100 * kMicro, 16384);
  EXPECT_EQ(functions[3][0].backlog, 0u);
  const uint64_t after = functions[0].sent() + functions[1].sent() + functions[2].sent();
  EXPECT_LT(mbps(after - low, 100 * kMicro), 1000 * 0.9);
}

TEST_F(TreeTest, AClassGoesBeforeThePrioritiesBelowIt) {
  // Of function 2 alone, which has the least priority, in a strict class.
  const uint16_t id = node({.max_kbps = 600'000, .priority = 7});
  leaf(0, {.parent = id});
  leaf(2, {.max_kbps = 700'000});
  rig.scheduler.set_now(rig.now);
  rig.scheduler.configure_classes({}, 3);
  run();
  expect({300, 0, 700, 0});
}

TEST_F(TreeTest, ALimitIsOfAllClassesTogether) {
  const uint16_t id = node({.max_kbps = 200'000});
  for (const size_t i : {0u, 1u, 2u}) leaf(i, {.parent = id});
  TxClassSetup classes;
  classes.weight = {1, 3};
  rig.scheduler.set_now(rig.now);
  rig.scheduler.configure_classes(classes, 1);  // 2 is in class 1
  run();
  EXPECT_NEAR(sum({0, 1, 2}), 200, 4);
  EXPECT_NEAR(rate(0), rate(1), 2);
  EXPECT_GT(rate(2), 100) << "its class has three times the weight";
  EXPECT_NEAR(rate(3), 800, 16);
}

TEST_F(TreeTest, ALeafMovesUnderTraffic) {
  const uint16_t slow = node({.max_kbps = 100'000});
  const uint16_t fast = node({.max_kbps = 600'000});
  leaf(0, {.parent = slow});
  leaf(1, {.parent = slow});
  leaf(2, {.parent = fast});
  run();
  expect({50, 50, 1000.0 * 9 / 20, 1000.0 * 9 / 20});
  leaf(1, {.parent = fast});
  run();
  expect({100, 225, 225, 450});
  leaf(1, {});
  run();
  expect({100, 300, 300, 300});
}

TEST_F(TreeTest, ANodeMovesUnderTrafficWithAllThatIsBelow) {
  const uint16_t top = node({.max_kbps = 400'000});
  const uint16_t id = pair({.max_kbps = 300'000});
  leaf(2, {.parent = top});
  run();
  expect({150, 150, 350, 350});
  modify(id, {.max_kbps = 300'000, .parent = top, .weight = 3});
  run();
  expect({150, 150, 100, 600});
  modify(id, {.priority = 3});
  run();
  expect({500, 500, 0, 0});
}

TEST_F(TreeTest, AnEmptiedNodeGoesUnderTraffic) {
  const uint16_t id = pair({.max_kbps = 50'000, .min_kbps = 10'000, .priority = 2, .weight = 9});
  run();
  expect({25, 25, 475, 475});
  EXPECT_EQ(tree.destroy(id), Status::kBusy);
  leaf(0, {});
  EXPECT_EQ(tree.destroy(id), Status::kBusy);
  leaf(1, {});
  EXPECT_EQ(tree.destroy(id), Status::kOk);
  EXPECT_EQ(tree.find(id), nullptr);
  run();
  expect({250, 250, 250, 250});
}

TEST_F(TreeTest, AResetLetsEverybodyGo) {
  const uint16_t top = node({.max_kbps = 10, .weight = 7});
  const uint16_t id = pair({.max_kbps = 1, .min_kbps = 1, .parent = top});
  leaf(2, {.max_kbps = 1, .min_kbps = 1, .priority = 3, .weight = 5});
  rig.run_for(100 * kMilli);
  EXPECT_GT(rig.scheduler.num_parked(), 0u);
  rig.scheduler.set_now(rig.now);
  tree.reset();
  EXPECT_EQ(rig.scheduler.num_parked(), 0u);
  EXPECT_EQ(tree.find(top), nullptr);
  EXPECT_EQ(tree.find(id), nullptr);
  run();
  expect({250, 250, 250, 250});
  for (size_t i = 0; i < 4; i++) {
    const RateSetup now = RateTree::setup_of(functions[i].group);
    EXPECT_EQ(now.max_kbps + now.min_kbps + now.parent + now.priority, 0u);
    EXPECT_EQ(now.weight, 1u);
  }
}

TEST_F(TreeTest, SourcesThatGoWhileTheirNodeIsHeldAreNotMissed) {
  const uint16_t id = pair({.max_kbps = 1});
  rig.run_for(10 * kMilli);
  for (auto& queue : functions[1].queues) rig.scheduler.remove(queue.get());
  functions[1].queues.clear();
  rig.scheduler.remove(&functions[0][0]);
  functions[0].queues.clear();
  EXPECT_EQ(rig.scheduler.num_parked(), 0u);
  FakeSource& late = functions[0].add(9000, {}, 1);
  rig.run_for(10 * kMilli);
  EXPECT_EQ(late.frames, 0u) << "the limit is still overdrawn";
  EXPECT_EQ(rig.scheduler.num_parked(), 1u);
  modify(id, {});
  rig.run_for(kMilli);
  EXPECT_EQ(late.frames, 1u);
}

TEST_F(TreeTest, WhoIsHeldIsNotTouchedUntilItMayGoOn) {
  // 200 queues wait for one limit: the frame that goes every 1.2 ms is all the work there is.
  FakeFunction& f = add_function();
  f.add_many(200, 1514);
  for (size_t i = 0; i < 4; i++)
    for (auto& queue : functions[i].queues) queue->backlog = 0;
  leaf(4, {.parent = node({.max_kbps = 10'000})});
  rig.run_for(10 * kMilli);
  EXPECT_EQ(rig.scheduler.num_parked(), 200u);
  const uint64_t turns = rig.scheduler.turns(), runs = rig.runs;
  const auto calls = [&] {
    unsigned count = 0;
    for (auto& queue : f.queues) count += queue->turns;
    return count;
  };
  const unsigned before = calls();
  rig.run_for(kSecond);
  EXPECT_NEAR(static_cast<double>(rig.scheduler.turns() - turns), 825, 20);
  EXPECT_EQ(calls() - before, rig.scheduler.turns() - turns);
  EXPECT_LT(rig.runs - runs, 4 * 825u) << "no polling for time to pass";
  uint64_t least = ~0ull, most = 0;
  for (auto& queue : f.queues) {
    least = std::min(least, queue->frames);
    most = std::max(most, queue->frames);
  }
  EXPECT_LE(most, least + 4) << "turns are short where the limit is low";
}

TEST_F(TreeTest, BytesAreCountedAtEachLevel) {
  const uint16_t top = node({});
  const uint16_t id = pair({.max_kbps = 100'000, .parent = top});
  leaf(2, {.parent = top});
  const uint64_t before[] = {functions[0].sent(), functions[1].sent(), functions[2].sent()};
  rig.run_for(100 * kMilli);
  const uint64_t low = functions[0].sent() + functions[1].sent() - before[0] - before[1];
  EXPECT_EQ(tree.find(id)->sent, low);
  EXPECT_EQ(tree.find(top)->sent, low + functions[2].sent() - before[2]);
  EXPECT_EQ(functions[3].group.sent, functions[3].sent());
}

/// Who has the least of all has something, where no priority is above and no guarantee is more
/// than there is.
TEST_F(TreeTest, NobodyStarvesAmongEquals) {
  uint16_t parent = 0;
  for (int i = 0; i < RateTree::kMaxLevels; i++) parent = node({.parent = parent});
  leaf(0, {.parent = parent, .weight = 1});
  leaf(1, {.parent = parent, .weight = 9});
  leaf(2, {.weight = 1024});
  leaf(3, {.min_kbps = 500'000, .weight = 1024});
  rig.run_for(100 * kMilli);
  const uint64_t before[] = {functions[0].sent(), functions[1].sent()};
  rig.run_for(4 * kSecond);
  const double below = 500.0 / 2049;
  EXPECT_NEAR(mbps(functions[0].sent() - before[0], 4 * kSecond), 0.1 * below, 0.02 * below);
  EXPECT_NEAR(mbps(functions[1].sent() - before[1], 4 * kSecond), 0.9 * below, 0.05 * below);
}

TEST_F(TreeTest, WhatIsRefusedChangesNothing) {
  const uint16_t top = node({.weight = 5});
  const uint16_t mid = node({.parent = top});
  const uint16_t low = node({.parent = mid});
  EXPECT_EQ(tree.modify(99, {}), Status::kNotFound);
  EXPECT_EQ(tree.modify(0, {}), Status::kNotFound);
  EXPECT_EQ(tree.modify(70000, {}), Status::kNotFound);
  EXPECT_EQ(tree.destroy(0), Status::kNotFound);
  EXPECT_EQ(tree.modify(low, {.parent = 99}), Status::kNoParent);
  EXPECT_EQ(tree.check_leaf({.parent = 99}), Status::kNoParent);
  for (const uint16_t parent : {top, mid, low})
    EXPECT_EQ(tree.modify(top, {.max_kbps = 1, .parent = parent}), Status::kCycle);
  EXPECT_EQ(setup(top).weight, 5u);
  EXPECT_EQ(setup(top).max_kbps, 0u);
  EXPECT_EQ(tree.destroy(mid), Status::kBusy);
  const uint16_t fourth = node({.parent = low});
  uint16_t id = 77;
  EXPECT_EQ(tree.create({.parent = fourth}, &id), Status::kTooDeep);
  EXPECT_EQ(id, 77u);
  const uint16_t other = node({});
  EXPECT_EQ(tree.modify(top, {.parent = other}), Status::kTooDeep);
  EXPECT_EQ(tree.modify(mid, {.parent = other}), Status::kOk) << "other, mid, low, fourth";
  EXPECT_EQ(tree.modify(other, {.parent = top}), Status::kTooDeep);
  EXPECT_EQ(setup(other).parent, 0u);
  EXPECT_EQ(tree.find(other)->num_children, 1u);
  EXPECT_EQ(tree.find(top)->num_children, 0u);
}

TEST_F(TreeTest, ThereIsRoomForSoManyNodes) {
  for (uint16_t i = 1; i <= RateTree::kMaxNodes; i++) EXPECT_EQ(node({}), i);
  uint16_t id = 0;
  EXPECT_EQ(tree.create({}, &id), Status::kFull);
  EXPECT_EQ(tree.destroy(40), Status::kOk);
  EXPECT_EQ(node({}), 40u);
}

}  // namespace
}  // namespace verna::test
