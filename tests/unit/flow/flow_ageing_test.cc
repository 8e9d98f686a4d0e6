// SPDX-License-Identifier: GPL-2.0-or-later
// Rules that age: to the tick, against a model that looks at every rule, and in large numbers.
#include "flow/flow_ageing.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "flow/flow_tables.h"

namespace verna::test {
namespace {

using Status = FlowTables::Status;

constexpr Nanos kMilli = 1'000'000;
constexpr FlowTableId kTable;

/// A rule for packets of one number.
FlowRuleSpec rule_for(uint32_t number, uint32_t idle_ms, uint32_t life_ms = 0) {
  FlowRuleSpec spec;
  spec.key.flow_label = number;
  spec.mask.flow_label = ~0u;
  spec.actions.idle_ms = idle_ms;
  spec.actions.life_ms = life_ms;
  return spec;
}

FlowRuleSpec reported(FlowRuleSpec spec) {
  spec.actions.flags |= VERNA_FLOW_A_AGE_REPORT;
  return spec;
}

struct FlowAgeingTest : testing::Test {
  uint32_t add(const FlowRuleSpec& spec, Nanos now) {
    uint32_t id = 0;
    last = tables.add(kTable, spec, now, &id);
    return id;
  }
  bool hit(uint32_t number, Nanos now) {
    verna_flow_key key{};
    key.flow_label = number;
    FlowKeys keys;
    keys.plain = flow_words(key);
    return tables.match(tables.find_table(kTable), keys, 100, now).rule != nullptr;
  }
  /// Numbers of rules that are removed.
  std::vector<uint32_t> age(Nanos now, size_t budget = 1000) {
    std::vector<uint32_t> gone;
    tables.age(now, budget, [&](const FlowRule& rule) { gone.push_back(rule.id); });
    return gone;
  }
  /// Software asks.
  std::vector<uint32_t> ask(size_t room = 1000) {
    std::vector<uint32_t> told;
    const size_t count =
        tables.for_each_aged(room, [&](const FlowRule& rule) { told.push_back(rule.id); });
    EXPECT_EQ(count, told.size());
    tables.told_aged(count, count < room);
    return told;
  }

  Trace trace;
  FlowTables tables{1000, 7, trace};
  Status last = Status::kOk;
};

using Ids = std::vector<uint32_t>;

TEST_F(FlowAgeingTest, RulesWithoutLimitsStay) {
  add(rule_for(1, 0), 5);
  EXPECT_EQ(tables.next_ageing(), kNever);
  EXPECT_EQ(age(kNever / 2), Ids());
  EXPECT_FALSE(tables.wants_notice());
}

TEST_F(FlowAgeingTest, ToTheTickAndNeverEarly) {
  for (const Nanos start : {Nanos{0}, Nanos{1}, 999'999 * Nanos{1}, 12'345'678'901 * Nanos{1}}) {
    for (const uint32_t idle : {1u, 7u, 64u, 1000u, 65'535'000u, ~0u}) {
      const uint32_t id = add(rule_for(1, idle), start);
      const Nanos end = start + idle * kMilli;
      const Nanos tick = (end + kMilli - 1) / kMilli * kMilli;
      while (tables.next_ageing() < tick) {
        ASSERT_EQ(age(tables.next_ageing()), Ids());
      }
      EXPECT_EQ(tables.next_ageing(), tick);
      EXPECT_EQ(age(tick - 1), Ids());
      EXPECT_EQ(age(tick), Ids{id});
      EXPECT_EQ(tables.find(id), nullptr);
      EXPECT_EQ(ask(), Ids{id});
      tables.reset();
    }
  }
}

TEST_F(FlowAgeingTest, APacketJustBeforePostpones) {
  const uint32_t id = add(rule_for(1, 100), 0);
  EXPECT_TRUE(hit(1, 100 * kMilli - 1));
  EXPECT_EQ(age(100 * kMilli), Ids());
  EXPECT_EQ(age(200 * kMilli - 1), Ids());
  EXPECT_TRUE(hit(1, 200 * kMilli - 1));
  EXPECT_EQ(age(300 * kMilli - 1), Ids());
  EXPECT_EQ(age(300 * kMilli), Ids{id});
  EXPECT_FALSE(hit(1, 300 * kMilli));
}

TEST_F(FlowAgeingTest, ALifeEndsWhateverComes) {
  const uint32_t id = add(rule_for(1, 100, 250), 0);
  for (Nanos now = 0; now < 250 * kMilli; now += 10 * kMilli) {
    EXPECT_EQ(age(now), Ids());
    EXPECT_TRUE(hit(1, now));
  }
  EXPECT_TRUE(flow_end(*tables.find(id)).life);
  EXPECT_EQ(age(250 * kMilli), Ids{id});
  EXPECT_EQ(ask(), Ids{id});
  const uint32_t idle = add(rule_for(1, 100, 250), 0);
  EXPECT_FALSE(flow_end(*tables.find(idle)).life) << "what ends first counts";
  EXPECT_EQ(flow_end(*tables.find(idle)).when, 100 * kMilli);
}

TEST_F(FlowAgeingTest, WhatIsReportedStays) {
  const uint32_t id = add(reported(rule_for(1, 100)), 0);
  EXPECT_EQ(age(100 * kMilli), Ids());
  EXPECT_TRUE(tables.wants_notice());
  EXPECT_EQ(tables.next_ageing(), kNever) << "only a packet makes it count anew";
  EXPECT_NE(tables.find(id), nullptr);
  EXPECT_EQ(ask(), Ids{id});
  EXPECT_EQ(ask(), Ids()) << "told once";
  EXPECT_TRUE(hit(1, 500 * kMilli));
  EXPECT_EQ(tables.next_ageing() / (100 * kMilli), 5u);
  EXPECT_EQ(age(600 * kMilli - 1), Ids());
  EXPECT_FALSE(tables.wants_notice());
  age(600 * kMilli);
  EXPECT_TRUE(tables.wants_notice()) << "aged again";
  EXPECT_EQ(ask(), Ids{id});
}

TEST_F(FlowAgeingTest, AReportThatAPacketMadeVoidIsNotMade) {
  const uint32_t a = add(reported(rule_for(1, 100)), 0), b = add(reported(rule_for(2, 100)), 0);
  age(100 * kMilli);
  EXPECT_TRUE(hit(1, 101 * kMilli));
  EXPECT_EQ(ask(), Ids{b});
  age(201 * kMilli);
  EXPECT_EQ(ask(), Ids{a});
}

TEST_F(FlowAgeingTest, OneNoticeUntilSoftwareKnowsAll) {
  for (uint32_t n = 0; n < 5; n++) add(rule_for(n, 10 + n), 0);
  age(11 * kMilli);
  EXPECT_TRUE(tables.wants_notice());
  tables.set_noticed();
  EXPECT_FALSE(tables.wants_notice());
  age(12 * kMilli);
  EXPECT_FALSE(tables.wants_notice()) << "it has not asked yet";
  EXPECT_EQ(ask(2).size(), 2u);
  EXPECT_FALSE(tables.wants_notice()) << "it cannot know that this was all";
  EXPECT_EQ(ask(2).size(), 1u);
  EXPECT_FALSE(tables.wants_notice());
  age(13 * kMilli);
  EXPECT_TRUE(tables.wants_notice());
  EXPECT_EQ(ask(0).size(), 0u) << "no room is no answer";
  EXPECT_TRUE(tables.wants_notice());
}

TEST_F(FlowAgeingTest, ARuleThatIsGoneKeepsItsPlaceUntilSoftwareKnows) {
  for (uint32_t n = 0; n < 1000; n++) ASSERT_NE(add(rule_for(n, 10), 0), 0u);
  EXPECT_EQ(age(10 * kMilli).size(), 1000u);
  EXPECT_EQ(tables.find_table(kTable), nullptr) << "its last rule went";
  add(rule_for(0, 10), 10 * kMilli);
  EXPECT_EQ(last, Status::kNoResource);
  EXPECT_EQ(ask(1).size(), 1u);
  EXPECT_NE(add(rule_for(0, 10), 10 * kMilli), 0u) << "the same key";
  EXPECT_EQ(ask().size(), 999u);
  EXPECT_EQ(tables.num_rules(), 1u);
}

TEST_F(FlowAgeingTest, NumbersOfRulesThatWentNameNothing) {
  const uint32_t id = add(rule_for(1, 10), 0);
  age(10 * kMilli);
  EXPECT_EQ(tables.find(id), nullptr);
  EXPECT_EQ(tables.remove(id), Status::kNotFound);
  FlowRuleSpec spec = rule_for(2, 0);
  spec.replaces = id;
  add(spec, 20 * kMilli);
  EXPECT_EQ(last, Status::kNotFound);
  tables.for_each_rule([](const FlowRule&) { FAIL(); });
  EXPECT_EQ(ask(), Ids{id});
}

TEST_F(FlowAgeingTest, RemovedAndReplacedRulesAreNotToldOf) {
  const uint32_t watched = add(rule_for(1, 10), 0), aged = add(reported(rule_for(2, 10)), 0),
                 told = add(reported(rule_for(3, 10)), 0);
  EXPECT_EQ(tables.remove(watched), Status::kOk);
  age(10 * kMilli);
  EXPECT_EQ(ask(1), Ids{aged});
  EXPECT_TRUE(hit(2, 11 * kMilli));
  age(21 * kMilli);
  EXPECT_EQ(tables.remove(aged), Status::kOk);
  FlowRuleSpec spec = rule_for(3, 50);
  spec.replaces = told;
  const uint32_t fresh = add(spec, 30 * kMilli);
  EXPECT_EQ(last, Status::kOk);
  EXPECT_EQ(ask(), Ids());
  EXPECT_EQ(age(80 * kMilli - 1), Ids()) << "its time began when it was added";
  EXPECT_EQ(age(80 * kMilli), Ids{fresh});
}

TEST_F(FlowAgeingTest, AResetForgetsAll) {
  for (uint32_t n = 0; n < 10; n++) add(n % 2 ? rule_for(n, 10) : reported(rule_for(n, 10)), 0);
  add(rule_for(10, 100), 0);
  age(10 * kMilli);
  tables.set_noticed();
  tables.reset();
  EXPECT_FALSE(tables.wants_notice());
  EXPECT_EQ(tables.next_ageing(), kNever);
  EXPECT_EQ(ask(), Ids());
  const uint32_t id = add(rule_for(1, 10), 20 * kMilli);
  EXPECT_EQ(age(30 * kMilli), Ids{id});
  EXPECT_TRUE(tables.wants_notice());
}

TEST_F(FlowAgeingTest, WhatARuleSharedIsFreeAtOnce) {
  FlowRuleSpec spec = rule_for(1, 10);
  const auto meter = std::make_shared<Meter>(MeterConfig(), 0);
  const auto edit = std::make_shared<const FlowEdit>();
  spec.actions.meter = meter;
  spec.actions.edit = edit;
  add(spec, 0);
  spec = {};
  age(10 * kMilli);
  EXPECT_EQ(meter.use_count(), 1);
  EXPECT_EQ(edit.use_count(), 1);
}

TEST_F(FlowAgeingTest, LimitsThatContradict) {
  add(reported(rule_for(1, 0)), 0);
  EXPECT_EQ(last, Status::kInvalid);
  add(reported(rule_for(1, 10, 10)), 0);
  EXPECT_EQ(last, Status::kInvalid);
  add(reported(rule_for(1, 10)), 0);
  EXPECT_EQ(last, Status::kOk);
}

/// Asks every rule after every step.
class NaiveAgeing {
 public:
  struct Rule {
    uint32_t idle, life;
    bool report;
    Nanos added, used;
    bool aged = false;
  };
  std::map<uint32_t, Rule> rules;  // by id
  std::vector<uint32_t> line;      // that software has not heard of

  static Nanos up(Nanos t) { return (t + kMilli - 1) / kMilli; }
  /// Removes or marks those that are due; returns the removed.
  std::vector<uint32_t> age(Nanos now) {
    std::vector<uint32_t> gone;
    for (auto& [id, rule] : rules) {
      const bool idle = rule.idle && up(rule.used) + rule.idle <= now / kMilli;
      const bool old = rule.life && up(rule.added) + rule.life <= now / kMilli;
      if (rule.aged || !(idle || old)) continue;
      rule.aged = rule.report;
      line.push_back(id);
      if (!rule.report) gone.push_back(id);
    }
    for (const uint32_t id : gone) rules.erase(id);
    return gone;
  }
  void use(uint32_t id, Nanos now) {
    Rule& rule = rules.at(id);
    rule.used = now;
    if (rule.aged) std::erase(line, id);
    rule.aged = false;
  }
  void remove(uint32_t id) {
    rules.erase(id);
    std::erase(line, id);
  }
};

Ids sorted(Ids ids) {
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST_F(FlowAgeingTest, AsAModelThatLooksAtEveryRule) {
  for (uint32_t seed = 1; seed <= 15; seed++) {
    std::mt19937 random(seed);
    const auto below = [&](uint32_t n) { return random() % n; };
    tables.reset();
    NaiveAgeing model;
    std::map<uint32_t, uint32_t> ids;  // by number
    Nanos now = seed * 1'234'567'891;
    for (int step = 0; step < 4000; step++) {
      const uint32_t number = below(200);
      const auto there = ids.find(number);
      const bool has = there != ids.end();
      switch (below(8)) {
        case 0:
        case 1: {
          if (has) break;
          FlowRuleSpec spec = rule_for(number, below(8) ? 1 + below(1u << below(14)) : 0,
                                       below(4) ? 0 : 1 + below(5000));
          const bool report = below(2) && spec.actions.idle_ms && !spec.actions.life_ms;
          if (report) spec = reported(spec);
          const uint32_t id = add(spec, now);
          ASSERT_NE(id, 0u) << "seed " << seed << ", step " << step;
          ids[number] = id;
          model.rules[id] = {spec.actions.idle_ms, spec.actions.life_ms, report, now, now};
          break;
        }
        case 2:
          if (!has || below(3)) break;
          ASSERT_EQ(tables.remove(there->second), Status::kOk);
          model.remove(there->second);
          ids.erase(there);
          break;
        case 3:
          now += below(1u << below(30));
          break;
        case 4: {
          if (below(4)) break;
          const size_t room = below(20);
          Ids told(model.line.begin(),
                   model.line.begin() + static_cast<long>(std::min(room, model.line.size())));
          ASSERT_EQ(ask(room).size(), told.size()) << "seed " << seed << ", step " << step;
          // Those of one moment are in no certain order: let software ask for all.
          model.line.erase(model.line.begin(), model.line.begin() + static_cast<long>(told.size()));
          tables.told_aged(tables.for_each_aged(1000, [](const FlowRule&) {}), true);
          model.line.clear();
          break;
        }
        default:
          ASSERT_EQ(hit(number, now), has);
          if (has) model.use(there->second, now);
      }
      ASSERT_EQ(sorted(age(now)), model.age(now)) << "seed " << seed << ", step " << step;
      std::erase_if(ids, [&](const auto& entry) { return !model.rules.contains(entry.second); });
      Ids line;
      tables.for_each_aged(1000, [&](const FlowRule& rule) { line.push_back(rule.id); });
      ASSERT_EQ(sorted(line), sorted(model.line)) << "seed " << seed << ", step " << step;
      ASSERT_EQ(tables.wants_notice(), !line.empty());
    }
  }
}

/// However many rules there are and whatever is due, a call looks at its budget of rules, and all
/// calls together at each rule a few times for each time that packets postponed it.
TEST(FlowAgeingCost, AMillionRules) {
  constexpr uint32_t kRules = 1'000'000;
  constexpr size_t kBudget = 128;
  Trace trace;
  FlowTables tables(1u << 20, 7, trace);
  uint32_t id = 0;
  for (uint32_t n = 0; n < kRules; n++)
    ASSERT_EQ(tables.add(kTable, rule_for(n, 30'000), n * Nanos{1000}, &id), Status::kOk);
  size_t gone = 0, calls = 0, most = 0;
  while (tables.next_ageing() != kNever) {
    const Nanos now = tables.next_ageing();
    const size_t before = gone;
    tables.age(now, kBudget, [&](const FlowRule&) { gone++; });
    most = std::max(most, gone - before);
    calls++;
  }
  EXPECT_EQ(gone, kRules);
  EXPECT_LE(most, kBudget);
  // 30 s away are 3 levels of the wheel; a call that finds less than its budget ends a tick.
  EXPECT_LE(calls, 4 * kRules / kBudget + 35'000);
  EXPECT_EQ(tables.for_each_aged(kRules, [](const FlowRule&) {}), kRules) << "nothing is lost";
}

/// A rule that packets keep alive is looked at by time, not by packets.
TEST_F(FlowAgeingTest, PacketsCostNoLooks) {
  const uint32_t id = add(rule_for(1, 1000), 0);
  size_t looks = 0;
  for (Nanos now = 0; now < 10'000 * kMilli; now += kMilli / 10) {
    ASSERT_TRUE(hit(1, now));
    while (tables.next_ageing() <= now) {
      ASSERT_EQ(age(now, 1), Ids());
      looks++;
    }
  }
  EXPECT_NE(tables.find(id), nullptr);
  EXPECT_LE(looks, 10u * 4);
}

/// All in one tick: the rest goes on in the next call, at the same time.
TEST(FlowAgeingCost, ManyInOneTick) {
  constexpr uint32_t kRules = 100'000;
  constexpr size_t kBudget = 128;
  Trace trace;
  FlowTables tables(1u << 20, 7, trace);
  uint32_t id = 0;
  for (uint32_t n = 0; n < kRules; n++)
    ASSERT_EQ(tables.add(kTable, rule_for(n, 1), 0, &id), Status::kOk);
  size_t gone = 0;
  for (uint32_t call = 1; gone < kRules; call++) {
    ASSERT_EQ(tables.next_ageing(), kMilli) << "it does not sleep before all are looked at";
    tables.age(kMilli, kBudget, [&](const FlowRule&) { gone++; });
    ASSERT_EQ(gone, std::min<size_t>(kRules, call * kBudget));
  }
}

}  // namespace
}  // namespace verna::test
