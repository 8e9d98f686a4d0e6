// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_table.h"

#include <algorithm>

namespace verna {

FlowRule* FlowTable::lookup(const FlowKeys& keys) {
  FlowRule* best = nullptr;
  for (const auto& group : groups_) {
    if (best && group->best_priority() > best->priority) break;
    const FlowWords* key = keys.of(group->inside());
    if (!key) continue;
    probes++;
    FlowRule* rule = group->find(*key);
    if (rule && (!best || rule->before(*best))) best = rule;
  }
  (best ? hits : misses)++;
  return best;
}

MaskGroup* FlowTable::find_group(const FlowWords& mask) const {
  for (const auto& group : groups_)
    if (group->mask() == mask) return group.get();
  return nullptr;
}

FlowRule* FlowTable::find_exact(const FlowMatchSpec& spec, const FlowRule* except) const {
  const MaskGroup* group = find_group(flow_words(spec.mask));
  return group ? group->find_exact(flow_words(spec.key), spec, except) : nullptr;
}

bool FlowTable::has_room(const FlowMatchSpec& spec, const FlowRule* except) const {
  const MaskGroup* group = find_group(flow_words(spec.mask));
  return group ? group->has_room(flow_words(spec.key), except) : groups_.size() < kMaxMasks;
}

void FlowTable::add(FlowRule* rule, const FlowWords& key, const FlowWords& mask) {
  MaskGroup* group = find_group(mask);
  if (!group) {
    groups_.push_back(std::make_unique<MaskGroup>(mask, seed_));
    group = groups_.back().get();
  }
  rule->table = this;
  group->add(rule, key);
  sort_groups();
}

void FlowTable::remove(FlowRule* rule) {
  MaskGroup* group = rule->group;
  group->remove(rule);
  if (group->size() == 0)
    std::erase_if(groups_, [group](const auto& g) { return g.get() == group; });
  sort_groups();
}

/// Nearly always in order already: one rule came or went.
void FlowTable::sort_groups() {
  const auto better = [](const auto& a, const auto& b) {
    return a->best_priority() < b->best_priority();
  };
  if (!std::is_sorted(groups_.begin(), groups_.end(), better))
    std::stable_sort(groups_.begin(), groups_.end(), better);
}

}  // namespace verna
