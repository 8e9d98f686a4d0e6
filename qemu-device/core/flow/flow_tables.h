// SPDX-License-Identifier: GPL-2.0-or-later
// All match-action tables of a card, and the rules in them by number.
#pragma once

#include <deque>
#include <functional>
#include <map>

#include "base/trace.h"
#include "flow/flow_ageing.h"
#include "flow/flow_table.h"

namespace verna {

/// What a packet found in a table: a rule, or else what the table does.
struct FlowMatch {
  const FlowRule* rule = nullptr;
  FlowMiss miss;
};

/// A rule to be added.
struct FlowRuleSpec : FlowMatchSpec {
  FlowActions actions;
  uint32_t replaces = 0;  // rule that goes in the same moment, 0: none
};

class FlowTables {
 public:
  static constexpr size_t kMaxTables = 1024;
  enum class Status { kOk, kExists, kNoResource, kNotFound, kInvalid };

  /// At most `max_rules` (up to 2^20) rules in all tables, those that aged and software has not
  /// heard of among them. `seed`: see MaskGroup. `id_base`: 0 or
  /// VERNA_FLOW_ID_SWITCH, which all numbers of rules have.
  FlowTables(uint32_t max_rules, uint64_t seed, Trace& trace, uint32_t id_base = 0)
      : max_rules_(max_rules), seed_(seed), trace_(trace), id_base_(id_base) {}

  /// What is wrong with a rule for this table, whatever else is there, or null.
  static const char* check(const FlowTableId& table, const FlowRuleSpec& spec);
  /// On success `*id` is the rule's number, else nothing has changed. kInvalid: see check().
  Status add(const FlowTableId& table, const FlowRuleSpec& spec, Nanos now, uint32_t* id);
  Status remove(uint32_t id);
  Status set_miss(const FlowTableId& table, const FlowMiss& miss);

  /// Null: there is no such rule.
  FlowRule* find(uint32_t id);
  /// Null: the table has nothing that a packet could find.
  FlowTable* find_table(const FlowTableId& id) const;

  /// Looks a packet of `bytes` up, and counts. `table` may be null.
  FlowMatch match(FlowTable* table, const FlowKeys& keys, uint32_t bytes, Nanos now);

  /// Removes rules that have aged, each after `gone` has seen it, or notes those that are only
  /// reported; looks at no more than `budget` rules.
  void age(Nanos now, size_t budget, const std::function<void(const FlowRule&)>& gone);
  /// Nothing can age before this.
  Nanos next_ageing() const { return ageing_.next(); }
  /// Calls `visit` with the oldest `max` rules that aged and software has not heard of. Returns how
  /// many there were.
  template <typename Visit>
  size_t for_each_aged(size_t max, Visit visit) const {
    size_t count = 0;
    for (const FlowRule* rule = ageing_.first_aged(); rule && count < max; count++) {
      visit(*rule);
      rule = ageing_.next_aged(rule);
    }
    return count;
  }
  /// Software has heard of the oldest `count` of them; with `all` it knows that it has heard of
  /// all.
  void told_aged(size_t count, bool all);
  /// Some aged, and software was not told that it should ask.
  bool wants_notice() const { return ageing_.wants_notice(); }
  /// Now it was.
  void set_noticed() { ageing_.set_noticed(true); }

  /// No rules, no tables; numbers of rules do not begin anew.
  void reset();

  size_t num_rules() const { return num_rules_; }
  const std::map<FlowTableId, std::unique_ptr<FlowTable>>& tables() const { return tables_; }
  /// Calls `visit` with each rule, in no order.
  template <typename Visit>
  void for_each_rule(Visit visit) const {
    for (const FlowRule& rule : rules_)
      if (rule.table) visit(rule);
  }

 private:
  // A rule's number is its place, which is reused, and a generation, so that a number that the
  // host keeps for too long names nothing.
  static constexpr uint32_t kPlaceBits = 21;
  static constexpr uint32_t kGenerationBits = 10;

  void take_out(FlowRule* rule);
  FlowTable* make_table(const FlowTableId& id);
  void drop_if_default(FlowTable* table);
  FlowRule* take_place();
  void free_place(FlowRule* rule);

  uint32_t max_rules_;
  uint64_t seed_;
  Trace& trace_;
  uint32_t id_base_;
  std::map<FlowTableId, std::unique_ptr<FlowTable>> tables_;
  std::deque<FlowRule> rules_;  // by place
  std::vector<uint32_t> free_;  // places
  FlowAgeing ageing_;
  size_t num_rules_ = 0;  // and those that went, but not from their places
  uint32_t generation_ = 0;
  uint64_t order_ = 0;
};

}  // namespace verna
