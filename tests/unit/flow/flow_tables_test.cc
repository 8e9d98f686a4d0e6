// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace verna::test {
namespace {

using Status = FlowTables::Status;

constexpr FlowTableId kRx;

verna_flow_key tcp_port(uint16_t dport) {
  verna_flow_key key{};
  key.ip_proto = 6;
  key.dport = dport;
  return key;
}

FlowKeys plain(const verna_flow_key& key) {
  FlowKeys keys;
  keys.plain = flow_words(key);
  return keys;
}

struct FlowTablesTest : testing::Test {
  uint32_t add(uint32_t priority, const verna_flow_key& key, const verna_flow_key& mask,
               uint16_t queue = 0, uint32_t replaces = 0) {
    FlowRuleSpec spec = rule(priority, key, mask);
    spec.actions.queue = queue;
    spec.replaces = replaces;
    return add(spec);
  }
  uint32_t add(const FlowRuleSpec& spec, Nanos now = 0) {
    uint32_t id = 0;
    last = tables.add(kRx, spec, now, &id);
    return id;
  }
  static FlowRuleSpec rule(uint32_t priority, const verna_flow_key& key,
                           const verna_flow_key& mask) {
    FlowRuleSpec spec;
    spec.priority = priority;
    spec.key = key;
    spec.mask = mask;
    spec.actions.flags = VERNA_FLOW_A_QUEUE;
    return spec;
  }
  const FlowRule* match(const verna_flow_key& key, uint32_t bytes = 100, Nanos now = 1) {
    return tables.match(tables.find_table(kRx), plain(key), bytes, now).rule;
  }
  uint32_t matched(const verna_flow_key& key) {
    const FlowRule* rule = match(key);
    return rule ? rule->id : 0;
  }

  Trace trace;
  FlowTables tables{1000, 0x1234, trace};
  Status last = Status::kOk;
  verna_flow_key port_mask = tcp_port(0xffff);
  verna_flow_key any{};
};

TEST_F(FlowTablesTest, NoRulesNoTable) {
  EXPECT_EQ(tables.find_table(kRx), nullptr);
  EXPECT_EQ(match(tcp_port(80)), nullptr);
  EXPECT_EQ(tables.remove(0), Status::kNotFound);
  EXPECT_EQ(tables.remove(1), Status::kNotFound);
}

TEST_F(FlowTablesTest, LowerNumbersWinWhateverTheMask) {
  const uint32_t all = add(50, any, any);
  const uint32_t web = add(10, tcp_port(80), port_mask);
  EXPECT_EQ(matched(tcp_port(80)), web);
  EXPECT_EQ(matched(tcp_port(81)), all);
  const uint32_t first = add(5, any, any);
  EXPECT_EQ(matched(tcp_port(80)), first);
  EXPECT_EQ(tables.remove(first), Status::kOk);
  EXPECT_EQ(matched(tcp_port(80)), web);
}

TEST_F(FlowTablesTest, OfEqualPriorityTheOlderWins) {
  verna_flow_key proto{};
  proto.ip_proto = 0xff;
  verna_flow_key tcp{};
  tcp.ip_proto = 6;
  const uint32_t older = add(10, tcp, proto);
  const uint32_t younger = add(10, tcp_port(80), port_mask);
  EXPECT_EQ(matched(tcp_port(80)), older);
  tables.remove(older);
  EXPECT_EQ(matched(tcp_port(80)), younger);
  add(10, tcp, proto);
  EXPECT_EQ(matched(tcp_port(80)), younger);
}

TEST_F(FlowTablesTest, SameKeyDifferentPriority) {
  const uint32_t low = add(20, tcp_port(80), port_mask, 1);
  const uint32_t high = add(10, tcp_port(80), port_mask, 2);
  const uint32_t last_one = add(30, tcp_port(80), port_mask, 3);
  EXPECT_EQ(matched(tcp_port(80)), high);
  tables.remove(high);
  EXPECT_EQ(matched(tcp_port(80)), low);
  tables.remove(low);
  EXPECT_EQ(matched(tcp_port(80)), last_one);
  add(30, tcp_port(80), port_mask);
  EXPECT_EQ(last, Status::kExists);
}

TEST_F(FlowTablesTest, ReplacesInOneStep) {
  const uint32_t old = add(10, tcp_port(80), port_mask, 1);
  const uint32_t fresh = add(10, tcp_port(80), port_mask, 2, old);
  EXPECT_EQ(last, Status::kOk);
  EXPECT_NE(fresh, old);
  EXPECT_EQ(tables.find(old), nullptr);
  EXPECT_EQ(match(tcp_port(80))->actions.queue, 2);
  EXPECT_EQ(tables.num_rules(), 1u);
  const uint32_t moved = add(4, tcp_port(443), port_mask, 3, fresh);
  EXPECT_EQ(matched(tcp_port(80)), 0u);
  EXPECT_EQ(matched(tcp_port(443)), moved);
  add(1, any, any, 0, 12345);
  EXPECT_EQ(last, Status::kNotFound);
  EXPECT_EQ(tables.num_rules(), 1u);
}

TEST_F(FlowTablesTest, CountsPacketsBytesAndTheLastUse) {
  const uint32_t id = add(1, tcp_port(80), port_mask);
  match(tcp_port(80), 60, 1000);
  match(tcp_port(80), 1500, 2000);
  match(tcp_port(81), 9000, 3000);
  const FlowRule* rule = tables.find(id);
  EXPECT_EQ(rule->packets, 2u);
  EXPECT_EQ(rule->bytes, 1560u);
  EXPECT_EQ(rule->last_used, 2000u);
  EXPECT_EQ(tables.find_table(kRx)->hits, 2u);
  EXPECT_EQ(tables.find_table(kRx)->misses, 1u);
}

TEST_F(FlowTablesTest, MissesAreDroppedIfTheTableSaysSo) {
  const auto missed = [this] {
    return tables.match(tables.find_table(kRx), plain(any), 1, 1).miss.kind;
  };
  EXPECT_EQ(tables.set_miss(kRx, {FlowMiss::Kind::kDrop, 0}), Status::kOk);
  EXPECT_EQ(missed(), FlowMiss::Kind::kDrop);
  const uint32_t id = add(1, any, any);
  EXPECT_EQ(missed(), FlowMiss::Kind::kPass);
  tables.remove(id);
  EXPECT_NE(tables.find_table(kRx), nullptr) << "the table still drops";
  tables.set_miss(kRx, {});
  EXPECT_EQ(tables.find_table(kRx), nullptr);
}

TEST_F(FlowTablesTest, SixtyFourMasks) {
  const auto mask = [](uint32_t n) {
    verna_flow_key m{};
    m.src_ip[n / 8] = static_cast<uint8_t>(1u << n % 8);
    return m;
  };
  std::vector<uint32_t> ids;
  for (uint32_t n = 0; n < FlowTable::kMaxMasks; n++) {
    ids.push_back(add(n, any, mask(n)));
    ASSERT_EQ(last, Status::kOk) << n;
  }
  add(99, any, mask(64));
  EXPECT_EQ(last, Status::kNoResource);
  EXPECT_EQ(tables.num_rules(), 64u) << "nothing is half installed";
  add(99, any, mask(5));
  EXPECT_EQ(last, Status::kOk) << "a mask that is there";
  tables.remove(ids[17]);
  EXPECT_EQ(tables.find_table(kRx)->num_masks(), 63u);
  add(99, any, mask(64));
  EXPECT_EQ(last, Status::kOk);
}

TEST_F(FlowTablesTest, AsManyRulesAsPromised) {
  for (uint16_t port = 0; port < 1000; port++) ASSERT_NE(add(1, tcp_port(port), port_mask), 0u);
  add(1, tcp_port(1000), port_mask);
  EXPECT_EQ(last, Status::kNoResource);
  const uint32_t id = matched(tcp_port(7));
  EXPECT_NE(add(1, tcp_port(1000), port_mask, 0, id), 0u) << "one goes for it";
  EXPECT_EQ(matched(tcp_port(7)), 0u);
  EXPECT_NE(matched(tcp_port(1000)), 0u);
}

TEST_F(FlowTablesTest, NumbersOfRulesThatWentNameNothing) {
  std::set<uint32_t> seen;
  for (int i = 0; i < 1000; i++) {
    const uint32_t id = add(1, tcp_port(80), port_mask);
    ASSERT_NE(id, 0u);
    EXPECT_TRUE(seen.insert(id).second) << "a number came back at once";
    tables.remove(id);
    EXPECT_EQ(tables.find(id), nullptr);
  }
  const uint32_t id = add(1, tcp_port(80), port_mask);
  tables.reset();
  EXPECT_EQ(tables.find(id), nullptr);
  EXPECT_EQ(match(tcp_port(80)), nullptr);
}

TEST_F(FlowTablesTest, ALookUpEndsWhenNothingBetterIsLeft) {
  add(1, tcp_port(80), port_mask);
  for (uint32_t n = 0; n < 32; n++) {
    verna_flow_key mask{};
    mask.dst_ip[n / 8] = static_cast<uint8_t>(1u << n % 8);
    add(100 + n, any, mask);
  }
  FlowTable* table = tables.find_table(kRx);
  match(tcp_port(80));
  EXPECT_EQ(table->probes, 1u);
  verna_flow_key nothing = tcp_port(81);
  std::fill(std::begin(nothing.dst_ip), std::end(nothing.dst_ip), uint8_t{0xff});
  EXPECT_EQ(match(nothing), nullptr);
  EXPECT_EQ(table->probes, 1u + 33u) << "a miss looks everywhere";
}

TEST_F(FlowTablesTest, HitsAndMissesAreTraced) {
  const uint32_t id = add(7, tcp_port(80), port_mask);
  trace.enable(true);
  match(tcp_port(80));
  match(tcp_port(81));
  ASSERT_EQ(trace.written(), 2u);
  EXPECT_EQ(trace.at(0).stage, Stage::kFlow);
  EXPECT_EQ(trace.at(0).a, id);
  EXPECT_EQ(trace.at(0).b, uint64_t{7} << 32 | 1);
  EXPECT_EQ(trace.at(1).a, 0u);
}

/// One mask, many keys, added and removed so that hash chains form and shift.
TEST_F(FlowTablesTest, ALargeGroupLosesNothing) {
  FlowTables large(1u << 17, 5, trace);
  std::mt19937 random(3);
  verna_flow_key mask{};
  std::fill(std::begin(mask.src_ip), std::begin(mask.src_ip) + 4, uint8_t{0xff});
  std::vector<std::pair<uint32_t, uint32_t>> rules;  // address, id
  const auto key = [](uint32_t address) {
    verna_flow_key k{};
    std::memcpy(k.src_ip, &address, 4);
    return k;
  };
  const auto find = [&](uint32_t address) {
    const FlowMatch m = large.match(large.find_table(kRx), plain(key(address)), 1, 1);
    return m.rule ? m.rule->id : 0;
  };
  for (uint32_t i = 0; i < 30'000; i++) {
    const uint32_t address = i * 2654435761u;
    uint32_t id = 0;
    ASSERT_EQ(large.add(kRx, rule(1, key(address), mask), 0, &id), Status::kOk);
    rules.emplace_back(address, id);
  }
  std::shuffle(rules.begin(), rules.end(), random);
  while (rules.size() > 100) {
    for (int n = 0; n < 50; n++) {
      ASSERT_EQ(large.remove(rules.back().second), Status::kOk);
      ASSERT_EQ(find(rules.back().first), 0u);
      rules.pop_back();
    }
    for (size_t i = 0; i < rules.size(); i += 97) ASSERT_EQ(find(rules[i].first), rules[i].second);
  }
}

}  // namespace
}  // namespace verna::test
