// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/mask_group.h"

namespace verna {
namespace {

/// Both halves of a 64 by 64 bit product: every bit of the inputs moves about half of the result.
uint64_t mix(uint64_t a, uint64_t b) {
  __extension__ using Wide = unsigned __int128;
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;

}  // namespace

MaskGroup::MaskGroup(const FlowWords& mask, uint64_t seed)
    : mask_(mask), inside_(looks_inside(mask)), seed_(seed), slots_(kFirstSlots) {
  for (size_t i = 0; i < kFlowWords; i++)
    if (mask[i]) indices_.push_back(static_cast<uint8_t>(i));
}

uint32_t MaskGroup::hash_of(const FlowWords& key) const {
  uint64_t hash = seed_;
  for (const uint8_t i : indices_) hash = mix(hash ^ (key[i] & mask_[i]), kOdd + seed_ * 2);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

bool MaskGroup::matches(uint32_t entry, const FlowWords& key) const {
  const uint64_t* stored = stored_key(entry);
  for (const uint8_t i : indices_)
    if (*stored++ != (key[i] & mask_[i])) return false;
  return true;
}

size_t MaskGroup::probe(uint32_t hash, const FlowWords& key) const {
  size_t at = hash & (slots_.size() - 1);
  while (slots_[at].entry && !(slots_[at].hash == hash && matches(slots_[at].entry - 1, key)))
    at = (at + 1) & (slots_.size() - 1);
  return at;
}

/// Of the rules of this key, whatever their ranges.
FlowRule* MaskGroup::first(const FlowWords& key) const {
  const Slot& slot = slots_[probe(hash_of(key), key)];
  return slot.entry ? heads_[slot.entry - 1] : nullptr;
}

FlowRule* MaskGroup::find(const FlowWords& key) const {
  FlowRule* rule = first(key);
  while (rule && rule->has_ranges() && !rule->in_ranges(key)) rule = rule->next;
  return rule;
}

FlowRule* MaskGroup::find_exact(const FlowWords& key, const FlowMatchSpec& spec,
                                const FlowRule* except) const {
  FlowRule* rule = first(key);
  while (rule && (rule == except || !rule->is_like(spec))) rule = rule->next;
  return rule;
}

bool MaskGroup::has_room(const FlowWords& key, const FlowRule* except) const {
  size_t count = 0;
  for (const FlowRule* rule = first(key); rule; rule = rule->next) count += rule != except;
  return count < kMaxAlike;
}

uint32_t MaskGroup::take_entry(const FlowWords& key) {
  if (free_.empty()) {
    const auto next = static_cast<uint32_t>(heads_.size());
    if (next >> kChunkBits == keys_.size())
      keys_.push_back(std::make_unique<uint64_t[]>(indices_.size() << kChunkBits));
    heads_.push_back(nullptr);
    free_.push_back(next);
  }
  const uint32_t entry = free_.back();
  free_.pop_back();
  uint64_t* stored = const_cast<uint64_t*>(stored_key(entry));
  for (const uint8_t i : indices_) *stored++ = key[i] & mask_[i];
  return entry;
}

/// The key of `slot` is not there.
void MaskGroup::insert_slot(Slot slot) {
  size_t at = slot.hash & (slots_.size() - 1);
  while (slots_[at].entry) at = (at + 1) & (slots_.size() - 1);
  slots_[at] = slot;
}

void MaskGroup::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  for (const Slot& slot : old)
    if (slot.entry) insert_slot(slot);
}

void MaskGroup::add(FlowRule* rule, const FlowWords& key) {
  const uint32_t hash = hash_of(key);
  const Slot& found = slots_[probe(hash, key)];
  uint32_t entry = found.entry;
  if (!entry) {
    if ((used_ + 1) * 4 > slots_.size() * 3) grow();
    entry = take_entry(key) + 1;
    insert_slot({hash, entry});
    used_++;
  }
  rule->group = this;
  rule->entry = entry - 1;
  FlowRule** link = &heads_[rule->entry];
  while (*link && (*link)->before(*rule)) link = &(*link)->next;
  rule->next = *link;
  *link = rule;
  priorities_[rule->priority]++;
  rules_++;
}

/// Moves slots behind `at` back, as far as they may, so that no search ends too early.
void MaskGroup::erase_slot(size_t at) {
  const size_t mask = slots_.size() - 1;
  size_t next = (at + 1) & mask;
  for (; slots_[next].entry; next = (next + 1) & mask) {
    const size_t home = slots_[next].hash & mask;
    if (((next - home) & mask) < ((next - at) & mask)) continue;
    slots_[at] = slots_[next];
    at = next;
  }
  slots_[at] = {};
}

void MaskGroup::remove(FlowRule* rule) {
  FlowRule** link = &heads_[rule->entry];
  while (*link != rule) link = &(*link)->next;
  *link = rule->next;
  if (!heads_[rule->entry]) {
    const FlowWords key = key_of(*rule);
    erase_slot(probe(hash_of(key), key));
    free_.push_back(rule->entry);
    used_--;
  }
  const auto count = priorities_.find(rule->priority);
  if (--count->second == 0) priorities_.erase(count);
  rules_--;
}

FlowWords MaskGroup::key_of(const FlowRule& rule) const {
  FlowWords key{};
  const uint64_t* stored = stored_key(rule.entry);
  for (const uint8_t i : indices_) key[i] = *stored++;
  return key;
}

}  // namespace verna
