// SPDX-License-Identifier: GPL-2.0-or-later
// Moderated events of a CQ: when they are due, and that none is ever lost.
#include <gtest/gtest.h>

#include <random>

#include "queue/cq.h"
#include "support/clock.h"
#include "support/host_buffer.h"

namespace verna::test {
namespace {

constexpr uint32_t kEntries = 16;

struct Events : EventSink {
  void post_event(uint32_t, verna_event_type type, FunctionId, uint32_t, uint64_t) override {
    completions += type == VERNA_EVENT_COMPLETION;
    errors += type == VERNA_EVENT_CQ_ERROR;
  }
  bool ready(uint32_t) override { return is_ready; }
  unsigned completions = 0;
  unsigned errors = 0;
  bool is_ready = true;
};

/// A CQ, the card's end of a run, and the host's end of the ring.
struct ModeratedCq {
  ModeratedCq() : mem(bus, 128 + 64 * kEntries), cq(1, 0, 5, &dirty) {
    PageList pages;
    EXPECT_EQ(PageList::load(bus, 0, mem.pbl(), mem.length(), quota, &pages), PblStatus::kOk);
    EXPECT_TRUE(cq.init(&bus, std::move(pages), {0, 128, 4, 64}));
  }
  void push(bool solicited = false) {
    verna_cqe cqe{};
    cq.push(&cqe, solicited);
  }
  /// The end of a run at `time`.
  void run(Nanos time) {
    now = time;
    timers.run(now);
    dirty.flush(events, now);
  }
  void push_at(Nanos time, bool solicited = false) {
    timers.run(time);
    push(solicited);
    run(time);
  }
  bool entry_there() {
    const uint8_t phase = mem.load<uint8_t>(128 + 64 * (cons % kEntries) + 63) & VERNA_PHASE;
    return phase == (~(cons / kEntries) & VERNA_PHASE);
  }
  void set_cons() { mem.store<uint32_t>(0, cons); }
  void arm(uint32_t type = VERNA_ARM_NEXT) { mem.store<uint32_t>(4, VERNA_ARM(++sn, type)); }
  void consume_all() {
    while (entry_there()) cons++;
    set_cons();
  }

  FakeHostBus bus;
  HostBuffer mem;
  PblQuota quota{10};
  TimerQueue timers;
  CqFlushList dirty{timers};
  Cq cq;
  Events events;
  Nanos now = 0;
  uint32_t cons = 0;
  uint32_t sn = 0;
};

struct Moderation : testing::Test, ModeratedCq {
  Moderation() { cq.moderate({50'000, 0}); }
};

TEST_F(Moderation, AnEventWaitsForTheDelayOfItsFirstEntry) {
  arm();
  push_at(1000);
  push_at(30'000);
  push_at(50'999);
  EXPECT_EQ(events.completions, 0u);
  EXPECT_EQ(timers.next(), 51'000u) << "the card sleeps until then and no longer";
  run(51'000);
  EXPECT_EQ(events.completions, 1u);
  run(200'000);
  push_at(300'000);
  run(900'000);
  EXPECT_EQ(events.completions, 1u) << "one event per arming";
}

TEST_F(Moderation, EnoughEntriesDoNotWait) {
  cq.moderate({50'000, 3});
  arm();
  push_at(0);
  push();
  run(10);
  EXPECT_EQ(events.completions, 0u);
  push_at(20);
  EXPECT_EQ(events.completions, 1u);
  arm();
  for (int i = 0; i < 3; i++) push();
  run(30);
  EXPECT_EQ(events.completions, 2u) << "all in one batch";
}

TEST_F(Moderation, EntriesWithoutATimeDoNotWait) {
  cq.moderate({0, 1000});
  arm();
  push_at(0);
  EXPECT_EQ(events.completions, 1u) << "else the last entries would never be told";
}

TEST_F(Moderation, ASolicitedEntryWaitsOnlyIfAnyWouldDo) {
  arm(VERNA_ARM_SOLICITED);
  push_at(0);
  run(100'000);
  EXPECT_EQ(events.completions, 0u);
  push_at(100'010, true);
  EXPECT_EQ(events.completions, 1u);
  arm(VERNA_ARM_NEXT);
  push_at(100'020, true);
  EXPECT_EQ(events.completions, 1u);
  run(150'020);
  EXPECT_EQ(events.completions, 2u);
}

TEST_F(Moderation, ANewArmingBeginsANewWait) {
  arm();
  push_at(0);
  consume_all();
  arm();
  push_at(40'000);
  run(50'000);
  EXPECT_EQ(events.completions, 0u) << "the first entry was consumed before the arming";
  run(89'999);
  EXPECT_EQ(events.completions, 0u);
  run(90'000);
  EXPECT_EQ(events.completions, 1u);
}

TEST_F(Moderation, WhatTheHostFoundItselfNeedsNoEvent) {
  arm();
  push_at(0);
  consume_all();
  arm();
  run(50'000);
  run(500'000);
  EXPECT_EQ(events.completions, 0u);
  EXPECT_EQ(timers.next(), kNever);
}

TEST_F(Moderation, TakingTheArmBackTakesTheEventBack) {
  arm();
  push_at(0);
  arm(VERNA_ARM_NONE);
  run(50'000);
  EXPECT_EQ(events.completions, 0u);
}

TEST_F(Moderation, AChangeLetsTheWaitingEventGo) {
  arm();
  push_at(0);
  cq.moderate({1'000'000'000, 0});
  run(10);
  EXPECT_EQ(events.completions, 1u)
      << "the old delay does not count, the new one is for new events";
  arm();
  push_at(20);
  cq.moderate({});
  run(30);
  EXPECT_EQ(events.completions, 2u);
  arm();
  push_at(40);
  EXPECT_EQ(events.completions, 3u) << "no moderation, no delay";
}

TEST_F(Moderation, AnOverrunDoesNotWait) {
  arm();
  for (uint32_t i = 0; i < kEntries + 1; i++) push();
  run(0);
  EXPECT_EQ(events.completions, 1u);
  EXPECT_EQ(events.errors, 1u);
}

TEST_F(Moderation, AFullEventQueueHoldsTheEventNotTheDelay) {
  arm();
  push_at(0);
  events.is_ready = false;
  run(60'000);
  EXPECT_EQ(events.completions, 0u);
  EXPECT_FALSE(dirty.empty());
  events.is_ready = true;
  run(160'000);
  EXPECT_EQ(events.completions, 1u);
  EXPECT_TRUE(dirty.empty());
}

TEST_F(Moderation, ADestroyedCqLeavesNoTimer) {
  {
    ModeratedCq other;
    auto gone = std::make_unique<Cq>(9, 0, 5, &dirty);
    PageList pages;
    ASSERT_EQ(PageList::load(bus, 0, mem.pbl(), mem.length(), quota, &pages), PblStatus::kOk);
    ASSERT_TRUE(gone->init(&bus, std::move(pages), {0, 128, 4, 64}));
    gone->moderate({1000, 0});
    arm();
    verna_cqe cqe{};
    gone->push(&cqe, false);
    run(0);
    EXPECT_EQ(timers.next(), 1000u);
    dirty.remove(gone.get());
  }
  run(5000);
  EXPECT_EQ(events.completions, 0u);
  EXPECT_EQ(timers.size(), 0u);
}

/// The host as the contract describes it, one access to shared memory per step. Its steps fall
/// between any two accesses of the card.
struct RacingHost {
  enum class At { kConsume, kSetCons, kArm, kLook, kSleep };

  explicit RacingHost(ModeratedCq& the_queue) : queue(the_queue) {}
  void step() {
    switch (at) {
      case At::kConsume:
        if (queue.entry_there())
          queue.cons++;
        else
          at = At::kSetCons;
        return;
      case At::kSetCons:
        queue.set_cons();
        at = At::kArm;
        return;
      case At::kArm:
        events_seen = queue.events.completions;  // one that comes from here on ends the sleep
        queue.arm();
        at = At::kLook;
        return;
      case At::kLook:
        at = queue.entry_there() ? At::kConsume : At::kSleep;
        return;
      case At::kSleep:
        if (queue.events.completions != events_seen) at = At::kConsume;
        return;
    }
  }
  ModeratedCq& queue;
  At at = At::kConsume;
  unsigned events_seen = 0;
};

/// Runs one interleaving; false: entries were left and the host sleeps for ever.
bool survives(uint64_t seed, bool serve_late) {
  ModeratedCq queue;
  RacingHost host(queue);
  std::mt19937_64 random(seed);
  bool racing = true;
  const auto interleave = [&] {
    if (!racing) return;
    for (uint64_t n = random() % 4; n > 0; n--) host.step();
  };
  queue.bus.set_read_hook([&](const FakeHostBus::Access&) { interleave(); });
  queue.bus.set_write_hook([&](const FakeHostBus::Access&) { interleave(); });
  queue.bus.set_barrier_hook(interleave);
  queue.cq.moderate({static_cast<uint32_t>(random() % 300), static_cast<uint16_t>(random() % 4)});

  uint32_t pushed = 0;
  Nanos now = 0;
  for (int round = 0; round < 40; round++) {
    now += random() % 200;
    queue.timers.run(now);
    for (uint64_t n = random() % 3; n > 0 && pushed - queue.mem.load<uint32_t>(0) < kEntries;
         n--, pushed++) {
      queue.push();
      interleave();
    }
    if (random() % 8 == 0)
      queue.cq.moderate(
          {static_cast<uint32_t>(random() % 300), static_cast<uint16_t>(random() % 4)});
    if (!serve_late || random() % 2) queue.dirty.flush(queue.events, now);
    interleave();
  }
  // The card sleeps until its deadline, the host until its event.
  racing = false;
  for (int i = 0; i < 200; i++) {
    for (int n = 0; n < 40; n++) host.step();
    if (queue.timers.next() != kNever) now = std::max(now, queue.timers.next());
    queue.run(now);
  }
  return queue.cons == pushed && !queue.cq.in_error();
}

TEST(ModerationRace, NoInterleavingLosesAWakeUp) {
  for (uint64_t seed = 1; seed <= 500; seed++) {
    ASSERT_TRUE(survives(seed, false)) << "seed " << seed;
    ASSERT_TRUE(survives(seed, true)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace verna::test
