// SPDX-License-Identifier: GPL-2.0-or-later
// One match-action table.
#pragma once

#include <memory>
#include <vector>

#include "flow/mask_group.h"

namespace verna {

/// Tuple-space search: one hash look-up for each distinct mask, that with the best priority first;
/// a look-up ends when what is left cannot be better than what was found.
class FlowTable {
 public:
  static constexpr size_t kMaxMasks = VERNA_FLOW_MAX_MASKS;

  FlowTable(const FlowTableId& id, uint64_t seed) : id_(id), seed_(seed) {}

  const FlowTableId& id() const { return id_; }
  /// The rule that acts on packets of `key`, or null.
  FlowRule* lookup(const FlowWords& key);

  /// A rule of this key, mask and priority other than `except`, or null.
  FlowRule* find_exact(const FlowWords& key, const FlowWords& mask, uint32_t priority,
                       const FlowRule* except) const;
  /// Room for a rule of this mask?
  bool has_room(const FlowWords& mask) const;
  /// There is room. `rule` has its priority and order.
  void add(FlowRule* rule, const FlowWords& key, const FlowWords& mask);
  void remove(FlowRule* rule);

  /// Nothing distinguishes this table from one that does not exist.
  bool is_default() const { return groups_.empty() && miss == VERNA_FLOW_MISS_PASS; }
  size_t num_masks() const { return groups_.size(); }
  const std::vector<std::unique_ptr<MaskGroup>>& groups() const { return groups_; }

  uint8_t miss = VERNA_FLOW_MISS_PASS;
  uint64_t hits = 0;
  uint64_t misses = 0;
  uint64_t probes = 0;  // hash look-ups of all hits and misses

 private:
  MaskGroup* find_group(const FlowWords& mask) const;
  void sort_groups();

  FlowTableId id_;
  uint64_t seed_;
  std::vector<std::unique_ptr<MaskGroup>> groups_;  // by best priority
};

}  // namespace verna
