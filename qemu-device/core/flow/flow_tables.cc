// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_tables.h"

#include <algorithm>

namespace verna {
namespace {

constexpr uint8_t kKeyFlags = VERNA_FLOW_K_FRAGMENT | VERNA_FLOW_K_FIRST | VERNA_FLOW_K_VLAN |
                              VERNA_FLOW_K_VLAN2 | VERNA_FLOW_K_TUN_ID;

/// Fields of the outer headers have bits.
bool masks_tunnel(const verna_flow_key& mask) {
  verna_flow_key outer{};
  copy_tunnel(mask, &outer);
  return flow_words(outer) != FlowWords{};
}

const char* check_match(const FlowMatchSpec& spec) {
  const verna_flow_key& mask = spec.mask;
  const FlowWords key_words = flow_words(spec.key);
  const FlowWords mask_words = flow_words(mask);
  for (size_t i = 0; i < kFlowWords; i++)
    if (key_words[i] & ~mask_words[i]) return "the key has bits where the mask has none";
  const bool reserved = std::any_of(std::begin(mask.reserved1), std::end(mask.reserved1),
                                    [](uint8_t byte) { return byte != 0; });
  if (reserved || mask.reserved0 || mask.meta || mask.flags & ~kKeyFlags)
    return "a field that does not exist";
  if (masks_tunnel(mask) && (mask.tun_kind != 0xff || !spec.key.tun_kind))
    return "outer headers without a kind of tunnel";
  for (const PortRange& range : {spec.sport, spec.dport})
    if (range.low > range.high || (range.low == 0 && range.high != 0xffff))
      return "a range of ports that begins at 0 or ends before it begins";
  return nullptr;
}

const char* check_actions(const FlowTableId& table, const FlowMatchSpec& match,
                          const FlowActions& a) {
  const bool to_queue = a.flags & (VERNA_FLOW_A_QUEUE | VERNA_FLOW_A_RSS);
  const bool drop = a.flags & VERNA_FLOW_A_DROP;
  if ((a.target != FlowTarget::kNext) + to_queue + drop > 1 || a.target == FlowTarget::kDrop)
    return "two destinations";
  if (a.chain && a.target != FlowTarget::kChain) return "a chain that is not gone to";
  if (a.port && a.target != FlowTarget::kPort) return "a port that is not sent to";
  if (a.target == FlowTarget::kChain && a.chain <= table.chain)
    return "chains can only be entered upwards";
  if (a.flags & VERNA_FLOW_A_AGE_REPORT && (!a.idle_ms || a.life_ms))
    return "a report of something else than idleness";
  if (!a.edit) return nullptr;
  if (a.edit->decap && !match.key.tun_kind) return "decapsulation of what need not be a tunnel";
  for (size_t i = 0; i < a.edit->num_copies && i < FlowEdit::kMaxCopies; i++)
    if (match.mask.port == 0xffff && a.edit->copies[i].port == match.key.port)
      return "a copy to the port that the packet came from";
  return check_edit(*a.edit);
}

}  // namespace

const char* FlowTables::check(const FlowTableId& table, const FlowRuleSpec& spec) {
  const char* error = check_match(spec);
  return error ? error : check_actions(table, spec, spec.actions);
}

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
  return rule.id == id && rule.table ? &rule : nullptr;
}

FlowRule* FlowTables::take_place() {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(rules_.size()));
    rules_.emplace_back();
  }
  const uint32_t place = free_.back();
  free_.pop_back();
  // The generation is never 0, and so no number is.
  constexpr uint32_t kGenerations = (1u << kGenerationBits) - 1;
  static_assert((kGenerations << kPlaceBits) < VERNA_FLOW_ID_SWITCH);
  generation_ = generation_ % kGenerations + 1;
  FlowRule* rule = &rules_[place];
  rule->id = id_base_ | generation_ << kPlaceBits | place;
  num_rules_++;
  return rule;
}

void FlowTables::free_place(FlowRule* rule) {
  free_.push_back(rule->id & ((1u << kPlaceBits) - 1));
  *rule = FlowRule();
  num_rules_--;
}

FlowTables::Status FlowTables::add(const FlowTableId& table_id, const FlowRuleSpec& spec, Nanos now,
                                   uint32_t* id) {
  if (check(table_id, spec)) return Status::kInvalid;
  const FlowRule* old = spec.replaces ? find(spec.replaces) : nullptr;
  if (spec.replaces && !old) return Status::kNotFound;
  if (num_rules_ - (old ? 1 : 0) >= max_rules_) return Status::kNoResource;
  FlowTable* table = make_table(table_id);
  if (!table) return Status::kNoResource;
  const bool exists = table->find_exact(spec, old);
  if (exists || !table->has_room(spec, old)) {
    drop_if_default(table);
    return exists ? Status::kExists : Status::kNoResource;
  }
  FlowRule* rule = take_place();
  rule->priority = spec.priority;
  rule->order = ++order_;
  rule->actions = spec.actions;
  rule->sport = spec.sport;
  rule->dport = spec.dport;
  rule->added = now;
  table->add(rule, flow_words(spec.key), flow_words(spec.mask));
  if (old) remove(spec.replaces);
  ageing_.watch(rule, now);
  *id = rule->id;
  return Status::kOk;
}

FlowTables::Status FlowTables::remove(uint32_t id) {
  FlowRule* rule = find(id);
  if (!rule) return Status::kNotFound;
  ageing_.forget(rule);
  take_out(rule);
  free_place(rule);
  return Status::kOk;
}

/// Of its table.
void FlowTables::take_out(FlowRule* rule) {
  FlowTable* table = rule->table;
  table->remove(rule);
  rule->table = nullptr;
  rule->group = nullptr;
  drop_if_default(table);
}

FlowTables::Status FlowTables::set_miss(const FlowTableId& id, const FlowMiss& miss) {
  const bool chain = miss.kind == FlowMiss::Kind::kChain;
  if (chain ? miss.chain <= id.chain : miss.chain != 0) return Status::kInvalid;
  FlowTable* table = make_table(id);
  if (!table) return Status::kNoResource;
  table->miss = miss;
  drop_if_default(table);
  return Status::kOk;
}

FlowMatch FlowTables::match(FlowTable* table, const FlowKeys& keys, uint32_t bytes, Nanos now) {
  if (!table) return {};
  const uint64_t before = table->probes;
  FlowRule* rule = table->lookup(keys);
  const FlowTableId& id = table->id();
  trace_.point(Stage::kFlow, uint64_t{id.chain} << 32 | (rule ? rule->id : 0),
               uint64_t{rule ? rule->priority : 0} << 32 | uint64_t{id.direction} << 24 |
                   uint64_t{id.group} << 8 | (table->probes - before));
  if (!rule) return {nullptr, table->miss};
  rule->packets++;
  rule->bytes += bytes;
  rule->last_used = now;
  if (rule->age >= FlowAge::kAged) [[unlikely]]
    ageing_.watch(rule, now);
  return {rule, {}};
}

/// A rule that goes frees what it shares with others at once, but its place, with the counters,
/// when software has heard of it. So however slow that is, nothing is lost and nothing grows.
void FlowTables::age(Nanos now, size_t budget, const std::function<void(const FlowRule&)>& gone) {
  while (FlowRule* rule = ageing_.take(now, &budget)) {
    if (rule->actions.flags & VERNA_FLOW_A_AGE_REPORT) {
      ageing_.age(rule, FlowAge::kAged);
      continue;
    }
    gone(*rule);
    take_out(rule);
    rule->actions.meter.reset();
    rule->actions.edit.reset();
    ageing_.age(rule, FlowAge::kGone);
  }
}

void FlowTables::told_aged(size_t count, bool all) {
  for (; count > 0; count--) {
    FlowRule* rule = ageing_.pop_aged();
    if (rule->age == FlowAge::kGone) free_place(rule);
  }
  if (all) ageing_.set_noticed(false);
}

void FlowTables::reset() {
  ageing_.clear();
  tables_.clear();
  rules_.clear();
  free_.clear();
  num_rules_ = 0;
}

}  // namespace verna
