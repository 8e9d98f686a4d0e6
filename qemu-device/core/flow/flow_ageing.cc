// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_ageing.h"

#include <algorithm>

namespace verna {
namespace {

constexpr Nanos kMilli = 1'000'000;

/// Of the first tick that is not before `when`.
uint64_t tick_of(Nanos when) { return when / FlowAgeing::kTick + (when % FlowAgeing::kTick != 0); }

}  // namespace

FlowEnd flow_end(const FlowRule& rule) {
  const FlowActions& limits = rule.actions;
  FlowEnd end;
  if (limits.life_ms) end = {rule.added + limits.life_ms * kMilli, true};
  const Nanos idle_end = std::max(rule.last_used, rule.added) + limits.idle_ms * kMilli;
  if (limits.idle_ms && idle_end < end.when) end = {idle_end, false};
  return end;
}

void FlowAgeing::watch(FlowRule* rule, Nanos now) {
  if (!rule->actions.ages()) return;
  if (rule->age == FlowAge::kAged) AgeLine::remove(rule);
  rule->age = FlowAge::kWatched;
  watched_.advance(now / kTick);
  watched_.add(rule, tick_of(flow_end(*rule).when));
}

void FlowAgeing::forget(FlowRule* rule) {
  if (rule->age == FlowAge::kWatched) watched_.remove(rule);
  if (rule->age == FlowAge::kAged) AgeLine::remove(rule);
  rule->age = FlowAge::kNone;
}

FlowRule* FlowAgeing::take(Nanos now, size_t* budget) {
  for (; *budget > 0; --*budget) {
    FlowRule* rule = of(watched_.take(now / kTick));
    if (!rule) return nullptr;
    const uint64_t end = tick_of(flow_end(*rule).when);
    if (end <= now / kTick) {
      --*budget;
      return rule;
    }
    watched_.add(rule, end);
  }
  return nullptr;
}

void FlowAgeing::age(FlowRule* rule, FlowAge how) {
  rule->age = how;
  aged_.push_back(rule);
}

FlowRule* FlowAgeing::pop_aged() {
  FlowRule* rule = of(aged_.front());
  AgeLine::remove(rule);
  if (rule->age == FlowAge::kAged) rule->age = FlowAge::kTold;
  return rule;
}

Nanos FlowAgeing::next() const {
  const uint64_t tick = watched_.next();
  return tick == AgeWheel::kNoTick ? kNever : tick * kTick;
}

void FlowAgeing::clear() {
  watched_.clear();
  aged_.clear();
  noticed_ = false;
}

}  // namespace verna
