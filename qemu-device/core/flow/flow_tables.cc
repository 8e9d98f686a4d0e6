// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_tables.h"

namespace verna {

FlowTable* FlowTables::find_table(const FlowTableId& id) const {
  const auto found = tables_.find(id);
  return found == tables_.end() ? nullptr : found->second.get();
}

/// The table, new if need be; null if there are too many.
FlowTable* FlowTables::make_table(const FlowTableId& id) {
  if (FlowTable* table = find_table(id)) return table;
  if (tables_.size() >= kMaxTables) return nullptr;
  return (tables_[id] = std::make_unique<FlowTable>(id, seed_)).get();
}

void FlowTables::drop_if_default(FlowTable* table) {
  if (table->is_default()) tables_.erase(FlowTableId(table->id()));
}

FlowRule* FlowTables::find(uint32_t id) {
  const uint32_t place = id & ((1u << kPlaceBits) - 1);
  if (id == 0 || place >= rules_.size()) return nullptr;
  FlowRule& rule = rules_[place];
  return rule.id == id ? &rule : nullptr;
}

FlowRule* FlowTables::take_place() {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(rules_.size()));
    rules_.emplace_back();
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  // The generation is never 0, and so no number is.
  constexpr uint32_t kGenerations = (1u << (32 - kPlaceBits)) - 1;
  generation_ = generation_ % kGenerations + 1;
  FlowRule* rule = &rules_[place];
  rule->id = generation_ << kPlaceBits | place;
  num_rules_++;
  return rule;
}

void FlowTables::free_place(FlowRule* rule) {
  free_.push_back(rule->id & ((1u << kPlaceBits) - 1));
  *rule = FlowRule();
  num_rules_--;
}

FlowTables::Status FlowTables::add(const FlowTableId& table_id, uint32_t priority,
                                   const verna_flow_key& key, const verna_flow_key& mask,
                                   const FlowActions& actions, uint32_t replaces, uint32_t* id) {
  const FlowRule* old = replaces ? find(replaces) : nullptr;
  if (replaces && !old) return Status::kNotFound;
  if (num_rules_ - (old ? 1 : 0) >= max_rules_) return Status::kNoResource;
  FlowTable* table = make_table(table_id);
  if (!table) return Status::kNoResource;
  const FlowWords key_words = flow_words(key);
  const FlowWords mask_words = flow_words(mask);
  const bool exists = table->find_exact(key_words, mask_words, priority, old);
  if (exists || !table->has_room(mask_words)) {
    drop_if_default(table);
    return exists ? Status::kExists : Status::kNoResource;
  }
  FlowRule* rule = take_place();
  rule->priority = priority;
  rule->order = ++order_;
  rule->actions = actions;
  table->add(rule, key_words, mask_words);
  if (old) remove(replaces);
  *id = rule->id;
  return Status::kOk;
}

FlowTables::Status FlowTables::remove(uint32_t id) {
  FlowRule* rule = find(id);
  if (!rule) return Status::kNotFound;
  FlowTable* table = rule->table;
  table->remove(rule);
  free_place(rule);
  drop_if_default(table);
  return Status::kOk;
}

FlowTables::Status FlowTables::set_miss(const FlowTableId& id, uint8_t miss) {
  FlowTable* table = make_table(id);
  if (!table) return Status::kNoResource;
  table->miss = miss;
  drop_if_default(table);
  return Status::kOk;
}

FlowMatch FlowTables::match(FlowTable* table, const FlowWords& key, uint32_t bytes, Nanos now) {
  if (!table) return {};
  const uint64_t before = table->probes;
  FlowRule* rule = table->lookup(key);
  trace_.point(Stage::kFlow, rule ? rule->id : 0,
               uint64_t{rule ? rule->priority : 0} << 32 | (table->probes - before));
  if (!rule) return {nullptr, table->miss == VERNA_FLOW_MISS_DROP};
  rule->packets++;
  rule->bytes += bytes;
  rule->last_used = now;
  return {rule, false};
}

void FlowTables::reset() {
  tables_.clear();
  rules_.clear();
  free_.clear();
  num_rules_ = 0;
}

}  // namespace verna
