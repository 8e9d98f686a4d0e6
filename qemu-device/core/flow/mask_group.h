// SPDX-License-Identifier: GPL-2.0-or-later
// The rules of one table that have one mask: a hash table by masked key.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "flow/flow_key.h"
#include "flow/flow_rule.h"

namespace verna {

/// Open addressing with linear probing and deletion by shifting back, so that it never fills with
/// tombstones. Keys are kept as those words only in which the mask has bits.
///
/// Memory: per different key the words, 4 bytes of an entry and 8 to 24 bytes of slots; freed with
/// the group.
class MaskGroup {
 public:
  /// `seed` keeps a host from choosing keys that collide.
  MaskGroup(const FlowWords& mask, uint64_t seed);

  /// Rules of one key, which differ in priority or ranges. A look-up may try them all.
  static constexpr size_t kMaxAlike = 64;

  const FlowWords& mask() const { return mask_; }
  /// Rules for what is inside of tunnels.
  bool inside() const { return inside_; }
  size_t size() const { return rules_; }
  /// Lowest priority number of all rules. The group is not empty.
  uint32_t best_priority() const { return priorities_.begin()->first; }

  /// Best rule for packets of this key, or null.
  FlowRule* find(const FlowWords& key) const;
  /// The rule of exactly this key, priority and ranges other than `except`, or null.
  FlowRule* find_exact(const FlowWords& key, const FlowMatchSpec& spec,
                       const FlowRule* except) const;
  /// Room for a rule of this key, without `except`?
  bool has_room(const FlowWords& key, const FlowRule* except) const;

  void add(FlowRule* rule, const FlowWords& key);
  void remove(FlowRule* rule);

  /// The (masked) key of a rule of this group.
  FlowWords key_of(const FlowRule& rule) const;

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t entry = 0;  // 0: free; else index of the entry plus one
  };
  static constexpr uint32_t kChunkBits = 10;  // entries whose keys are allocated together
  static constexpr size_t kFirstSlots = 8;

  uint32_t hash_of(const FlowWords& key) const;
  const uint64_t* stored_key(uint32_t entry) const {
    return keys_[entry >> kChunkBits].get() + (entry & ((1u << kChunkBits) - 1)) * indices_.size();
  }
  FlowRule* first(const FlowWords& key) const;
  bool matches(uint32_t entry, const FlowWords& key) const;
  /// Slot of the key, or the free one where it belongs.
  size_t probe(uint32_t hash, const FlowWords& key) const;
  uint32_t take_entry(const FlowWords& key);
  void insert_slot(Slot slot);
  void erase_slot(size_t at);
  void grow();

  FlowWords mask_;
  bool inside_;
  std::vector<uint8_t> indices_;  // of the words that count
  uint64_t seed_;
  std::vector<Slot> slots_;
  std::vector<FlowRule*> heads_;                   // by entry; null: the entry is free
  std::vector<std::unique_ptr<uint64_t[]>> keys_;  // by entry, in chunks
  std::vector<uint32_t> free_;                     // entries
  std::map<uint32_t, uint32_t> priorities_;        // rules by priority
  size_t used_ = 0;                                // entries
  size_t rules_ = 0;
};

}  // namespace verna
