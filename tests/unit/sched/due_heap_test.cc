// SPDX-License-Identifier: GPL-2.0-or-later
// The heap of what waits for a time, against a list that is searched.
#include "sched/due_heap.h"

#include <gtest/gtest.h>

#include <random>

namespace verna::test {
namespace {

struct Waiter : DueItem {
  Nanos when = 0;
};

TEST(DueHeap, NobodyWaits) {
  DueHeap<Waiter> heap;
  EXPECT_TRUE(heap.empty());
  EXPECT_EQ(heap.next(), kNever);
}

TEST(DueHeap, RandomUseAgainstASearch) {
  std::mt19937 random(3);
  std::vector<Waiter> all(200);
  DueHeap<Waiter> heap;
  for (int i = 0; i < 20'000; i++) {
    Waiter& one = all[random() % all.size()];
    const Nanos when = random() % 500;
    if (!one.is_waiting()) {
      heap.push(&one, one.when = when);
    } else if (random() % 2) {
      heap.move(&one, one.when = when);
    } else {
      heap.erase(&one);
    }
    Nanos first = kNever;
    size_t waiting = 0;
    for (const Waiter& each : all) {
      if (!each.is_waiting()) continue;
      waiting++;
      first = std::min(first, each.when);
    }
    ASSERT_EQ(heap.size(), waiting);
    ASSERT_EQ(heap.next(), first);
    if (waiting) ASSERT_EQ(heap.first()->when, first);
  }
  for (Nanos last = 0; !heap.empty();) {
    Waiter* first = heap.first();
    EXPECT_EQ(heap.next(), first->when);
    EXPECT_GE(first->when, last);
    last = first->when;
    heap.erase(first);
    EXPECT_FALSE(first->is_waiting());
  }
}

}  // namespace
}  // namespace verna::test
