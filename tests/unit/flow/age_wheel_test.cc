// SPDX-License-Identifier: GPL-2.0-or-later
// The wheel against a sorted list, and what it costs.
#include "flow/age_wheel.h"

#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <vector>

namespace verna::test {
namespace {

struct Item : AgeLink {
  uint64_t tick = 0;
  unsigned turns = 0;
  bool in = false;
};

/// All that are due at `tick`, each after it was put back as often as it came early.
std::vector<Item*> due(AgeWheel* wheel, uint64_t tick) {
  std::vector<Item*> out;
  while (auto* item = static_cast<Item*>(wheel->take(tick))) {
    item->turns++;
    if (item->tick > tick) {
      wheel->add(item, item->tick);
    } else {
      item->in = false;
      out.push_back(item);
    }
  }
  return out;
}

TEST(AgeLine, WhoComesFirstIsFirst) {
  AgeLine line, other;
  AgeLink a, b, c, d;
  EXPECT_EQ(line.front(), nullptr);
  for (AgeLink* link : {&a, &b}) line.push_back(link);
  for (AgeLink* link : {&c, &d}) other.push_back(link);
  line.take_all(&other);
  EXPECT_TRUE(other.empty());
  line.take_all(&other);
  AgeLine::remove(&b);
  EXPECT_EQ(line.front(), &a);
  EXPECT_EQ(line.after(&a), &c);
  EXPECT_EQ(line.after(&c), &d);
  EXPECT_EQ(line.after(&d), nullptr);
  AgeLine::remove(&d);
  EXPECT_EQ(line.after(&c), nullptr);
}

TEST(AgeWheel, ComesUpAtItsTick) {
  for (const uint64_t start : {uint64_t{0}, uint64_t{63}, uint64_t{4095}, uint64_t{1} << 47}) {
    for (const uint64_t wait : {1u, 2u, 63u, 64u, 65u, 4095u, 4096u, 300'000u, ~0u}) {
      AgeWheel wheel;
      wheel.advance(start);
      Item item;
      item.tick = start + wait;
      wheel.add(&item, item.tick);
      while (wheel.next() < item.tick) EXPECT_TRUE(due(&wheel, wheel.next()).empty());
      EXPECT_EQ(wheel.next(), item.tick);
      EXPECT_TRUE(due(&wheel, item.tick - 1).empty());
      EXPECT_EQ(due(&wheel, item.tick), std::vector{&item});
      EXPECT_LE(item.turns, 6u) << start << " + " << wait;
      EXPECT_EQ(wheel.next(), AgeWheel::kNoTick);
    }
  }
}

TEST(AgeWheel, WhatIsPastComesUpAtOnce) {
  AgeWheel wheel;
  EXPECT_EQ(wheel.take(1000), nullptr);
  Item item;
  wheel.add(&item, 7);
  EXPECT_EQ(wheel.next(), 1000u);
  EXPECT_EQ(wheel.take(1000), &item);
}

TEST(AgeWheel, ASlotIsTakenInTurnsAndLeftByOthers) {
  AgeWheel wheel;
  std::deque<Item> items(5);
  for (Item& item : items) wheel.add(&item, item.tick = 200);
  Item* first = static_cast<Item*>(wheel.take(200));
  EXPECT_EQ(first, &items[0]);
  EXPECT_EQ(wheel.next(), 192u) << "the others of the slot have come up, too";
  wheel.remove(&items[3]);
  wheel.add(first, first->tick);
  wheel.remove(&items[1]);
  EXPECT_EQ(due(&wheel, 200), (std::vector{&items[2], &items[4], &items[0]}));
}

TEST(AgeWheel, ForgetsAll) {
  AgeWheel wheel;
  {
    std::deque<Item> items(100);
    for (uint64_t n = 0; n < items.size(); n++) wheel.add(&items[n], n + 1);
    EXPECT_NE(wheel.take(50), nullptr);
    wheel.clear();
  }
  EXPECT_EQ(wheel.next(), AgeWheel::kNoTick);
  EXPECT_EQ(wheel.take(1'000'000), nullptr);
}

/// Items come, go and are due in the wheel as in a list that is sorted by time.
TEST(AgeWheel, AsASortedList) {
  for (uint64_t seed = 1; seed <= 20; seed++) {
    std::mt19937_64 random(seed);
    AgeWheel wheel;
    std::deque<Item> items(300);
    std::multimap<uint64_t, Item*> sorted;
    uint64_t now = random() >> (seed % 2 ? 60 : 20);
    const auto forget = [&](Item* item) {
      const auto [first, last] = sorted.equal_range(item->tick);
      for (auto at = first; at != last; ++at)
        if (at->second == item) return static_cast<void>(sorted.erase(at));
    };
    for (int step = 0; step < 5000; step++) {
      Item* item = &items[random() % items.size()];
      if (item->in) {
        wheel.remove(item);
        forget(item);
        item->in = false;
      } else {
        item->tick = now + 1 + random() % (uint64_t{1} << (random() % 22));
        item->in = true;
        wheel.advance(now);
        wheel.add(item, item->tick);
        sorted.emplace(item->tick, item);
      }
      ASSERT_LE(wheel.next(), sorted.empty() ? AgeWheel::kNoTick : sorted.begin()->first);
      if (random() % 4) continue;
      now += random() % 3000;
      std::multimap<uint64_t, Item*> expected(sorted.begin(), sorted.upper_bound(now));
      sorted.erase(sorted.begin(), sorted.upper_bound(now));
      for (Item* out : due(&wheel, now)) {
        ASSERT_LE(out->tick, now);
        ASSERT_EQ(expected.count(out->tick) > 0, true) << "seed " << seed << ", step " << step;
        const auto [first, last] = expected.equal_range(out->tick);
        for (auto at = first; at != last; ++at)
          if (at->second == out) {
            expected.erase(at);
            break;
          }
      }
      ASSERT_TRUE(expected.empty()) << "seed " << seed << ", step " << step;
    }
  }
}

}  // namespace
}  // namespace verna::test
