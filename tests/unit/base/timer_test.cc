// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/timer.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

namespace verna::test {
namespace {

struct Fired {
  std::vector<int> order;
  std::vector<Nanos> when;
};

struct Probe {
  Probe(TimerQueue& queue, Fired& fired, int id)
      : fired(fired), id(id), timer(queue, &Probe::call, this) {}
  static void call(void* owner, Nanos now) {
    auto* self = static_cast<Probe*>(owner);
    self->fired.order.push_back(self->id);
    self->fired.when.push_back(now);
    if (self->then) self->then(*self, now);
  }
  Fired& fired;
  int id;
  void (*then)(Probe&, Nanos) = nullptr;
  Timer timer;
};

TEST(Timer, FiresAtItsDeadlineAndNotBefore) {
  TimerQueue queue;
  Fired fired;
  Probe probe(queue, fired, 1);
  EXPECT_EQ(queue.next(), kNever);
  probe.timer.set(100);
  EXPECT_TRUE(probe.timer.pending());
  EXPECT_EQ(probe.timer.deadline(), 100u);
  EXPECT_EQ(queue.next(), 100u);
  queue.run(99);
  EXPECT_TRUE(fired.order.empty());
  queue.run(100);
  EXPECT_EQ(fired.order, std::vector<int>{1});
  EXPECT_FALSE(probe.timer.pending());
  queue.run(1000);
  EXPECT_EQ(fired.order.size(), 1u) << "a timer fires once per set()";
  EXPECT_EQ(queue.next(), kNever);
}

TEST(Timer, FiresInOrderOfDeadlineThenOfSetting) {
  TimerQueue queue;
  Fired fired;
  Probe a(queue, fired, 1), b(queue, fired, 2), c(queue, fired, 3), d(queue, fired, 4);
  c.timer.set(30);
  a.timer.set(20);
  b.timer.set(20);
  d.timer.set(10);
  queue.run(50);
  EXPECT_EQ(fired.order, (std::vector<int>{4, 1, 2, 3}));
}

TEST(Timer, PushedBackFiresOnlyAtTheNewDeadline) {
  TimerQueue queue;
  Fired fired;
  Probe probe(queue, fired, 1);
  for (Nanos t = 100; t <= 1000; t += 100) probe.timer.set(t);
  queue.run(999);
  EXPECT_TRUE(fired.order.empty());
  EXPECT_LE(queue.next(), 1000u);
  queue.run(1000);
  EXPECT_EQ(fired.order.size(), 1u);
}

TEST(Timer, PulledForwardFiresEarlyAndOnce) {
  TimerQueue queue;
  Fired fired;
  Probe probe(queue, fired, 1);
  probe.timer.set(1000);
  probe.timer.set(10);
  EXPECT_EQ(queue.next(), 10u);
  queue.run(10);
  EXPECT_EQ(fired.order.size(), 1u);
  queue.run(2000);
  EXPECT_EQ(fired.order.size(), 1u);
}

TEST(Timer, CancelledDoesNotFireButMayBeSetAgain) {
  TimerQueue queue;
  Fired fired;
  Probe probe(queue, fired, 1);
  probe.timer.set(10);
  probe.timer.cancel();
  EXPECT_FALSE(probe.timer.pending());
  queue.run(20);
  EXPECT_TRUE(fired.order.empty());
  probe.timer.set(30);
  queue.run(30);
  EXPECT_EQ(fired.order.size(), 1u);
}

TEST(Timer, DestroyedWhilePendingIsForgotten) {
  TimerQueue queue;
  Fired fired;
  auto probe = std::make_unique<Probe>(queue, fired, 1);
  Probe other(queue, fired, 2);
  probe->timer.set(10);
  other.timer.set(10);
  probe.reset();
  queue.run(20);
  EXPECT_EQ(fired.order, std::vector<int>{2});
}

TEST(Timer, CallbackMaySetItselfWithoutEndingTheRun) {
  TimerQueue queue;
  Fired fired;
  Probe probe(queue, fired, 1);
  // A timer that always asks for the past must not keep run() for ever.
  probe.then = [](Probe& self, Nanos) { self.timer.set(0); };
  probe.timer.set(10);
  queue.run(10);
  EXPECT_GE(fired.order.size(), 1u);
  EXPECT_LE(fired.order.size(), 2u);
  EXPECT_LE(queue.next(), 10u);
}

std::unique_ptr<Probe>* g_victim;

TEST(Timer, CallbackMayDestroyAnotherDueTimer) {
  TimerQueue queue;
  Fired fired;
  Probe killer(queue, fired, 1);
  auto victim = std::make_unique<Probe>(queue, fired, 2);
  g_victim = &victim;
  killer.then = [](Probe&, Nanos) { g_victim->reset(); };
  killer.timer.set(10);
  victim->timer.set(10);
  queue.run(10);
  EXPECT_EQ(fired.order, std::vector<int>{1});
}

/// A thousand timers set, moved and cancelled at random behave as a sorted list would.
TEST(Timer, AgreesWithAModel) {
  std::mt19937 random(7);
  TimerQueue queue;
  Fired fired;
  std::vector<std::unique_ptr<Probe>> probes;
  std::vector<Nanos> model(64, kNever);
  for (int i = 0; i < 64; i++) probes.push_back(std::make_unique<Probe>(queue, fired, i));
  Nanos now = 0;
  for (int step = 0; step < 20000; step++) {
    const unsigned i = random() % 64;
    switch (random() % 4) {
      case 0:
      case 1:
        model[i] = now + 1 + random() % 500;
        probes[i]->timer.set(model[i]);
        break;
      case 2:
        model[i] = kNever;
        probes[i]->timer.cancel();
        break;
      default: {
        now += random() % 50;
        fired.order.clear();
        queue.run(now);
        Nanos last = 0;
        for (int id : fired.order) {
          EXPECT_LE(model[static_cast<size_t>(id)], now);
          EXPECT_GE(model[static_cast<size_t>(id)], last);
          last = model[static_cast<size_t>(id)];
          model[static_cast<size_t>(id)] = kNever;
        }
        for (Nanos deadline : model) {
          EXPECT_GT(deadline, now) << "a due timer did not fire";
          EXPECT_GE(deadline, queue.next()) << "next() is later than a deadline";
        }
      }
    }
  }
}

}  // namespace
}  // namespace verna::test
