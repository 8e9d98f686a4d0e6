// SPDX-License-Identifier: GPL-2.0-or-later
// All match-action tables of a card, and the rules in them by number.
#pragma once

#include <deque>
#include <map>

#include "base/trace.h"
#include "flow/flow_table.h"

namespace verna {

/// What a packet found in a table.
struct FlowMatch {
  const FlowRule* rule = nullptr;  // null: a miss
  bool drop = false;               // a miss, in a table that drops these
};

class FlowTables {
 public:
  enum class Status { kOk, kExists, kNoResource, kNotFound };

  /// At most `max_rules` (up to 2^20) rules in all tables. `seed`: see MaskGroup.
  FlowTables(uint32_t max_rules, uint64_t seed, Trace& trace)
      : max_rules_(max_rules), seed_(seed), trace_(trace) {}

  /// Adds a rule and removes the one that it replaces (0: none). On success `*id` is its number,
  /// else nothing has changed. Bits of `key` outside of `mask` are zero.
  Status add(const FlowTableId& table, uint32_t priority, const verna_flow_key& key,
             const verna_flow_key& mask, const FlowActions& actions, uint32_t replaces,
             uint32_t* id);
  Status remove(uint32_t id);
  Status set_miss(const FlowTableId& table, uint8_t miss);

  /// Null: there is no such rule.
  FlowRule* find(uint32_t id);
  /// Null: the table has nothing that a packet could find.
  FlowTable* find_table(const FlowTableId& id) const;

  /// Looks a packet of `bytes` up, and counts. `table` may be null.
  FlowMatch match(FlowTable* table, const FlowWords& key, uint32_t bytes, Nanos now);

  /// No rules, no tables; numbers of rules do not begin anew.
  void reset();

  size_t num_rules() const { return num_rules_; }
  const std::map<FlowTableId, std::unique_ptr<FlowTable>>& tables() const { return tables_; }
  /// Calls `visit` with each rule, in no order.
  template <typename Visit>
  void for_each_rule(Visit visit) const {
    for (const FlowRule& rule : rules_)
      if (rule.id) visit(rule);
  }

 private:
  // A rule's number is its place, which is reused, and a generation, so that a number that the
  // host keeps for too long names nothing.
  static constexpr uint32_t kPlaceBits = 21;
  static constexpr size_t kMaxTables = 1024;

  FlowTable* make_table(const FlowTableId& id);
  void drop_if_default(FlowTable* table);
  FlowRule* take_place();
  void free_place(FlowRule* rule);

  uint32_t max_rules_;
  uint64_t seed_;
  Trace& trace_;
  std::map<FlowTableId, std::unique_ptr<FlowTable>> tables_;
  std::deque<FlowRule> rules_;  // by place
  std::vector<uint32_t> free_;  // places
  size_t num_rules_ = 0;
  uint32_t generation_ = 0;
  uint64_t order_ = 0;
};

}  // namespace verna
