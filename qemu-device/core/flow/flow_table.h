// SPDX-License-Identifier: GPL-2.0-or-later
// One match-action table.
#pragma once

#include <memory>
#include <vector>

#include "flow/mask_group.h"

namespace verna {

/// What becomes of packets that no rule of a table is for.
struct FlowMiss {
  enum class Kind : uint8_t {
    kPass = VERNA_FLOW_MISS_PASS,  // on to the next stage
    kDrop = VERNA_FLOW_MISS_DROP,
    kTrap = VERNA_FLOW_MISS_TRAP,    // to software
    kChain = VERNA_FLOW_MISS_CHAIN,  // to a table of a higher chain
  };
  Kind kind = Kind::kPass;
  uint32_t chain = 0;
  bool operator==(const FlowMiss&) const = default;
};

/// Tuple-space search: one hash look-up for each distinct mask, that with the best priority first;
/// a look-up ends when what is left cannot be better than what was found.
class FlowTable {
 public:
  static constexpr size_t kMaxMasks = VERNA_FLOW_MAX_MASKS;

  FlowTable(const FlowTableId& id, uint64_t seed) : id_(id), seed_(seed) {}

  const FlowTableId& id() const { return id_; }
  /// The rule that acts on packets of `keys`, or null.
  FlowRule* lookup(const FlowKeys& keys);

  /// A rule of this key, mask, priority and ranges other than `except`, or null.
  FlowRule* find_exact(const FlowMatchSpec& spec, const FlowRule* except) const;
  /// Room for such a rule if `except` goes? (Its mask does not.)
  bool has_room(const FlowMatchSpec& spec, const FlowRule* except) const;
  /// There is room. `rule` has its priority and order.
  void add(FlowRule* rule, const FlowWords& key, const FlowWords& mask);
  void remove(FlowRule* rule);

  /// Nothing distinguishes this table from one that does not exist.
  bool is_default() const { return groups_.empty() && miss == FlowMiss(); }
  size_t num_masks() const { return groups_.size(); }
  const std::vector<std::unique_ptr<MaskGroup>>& groups() const { return groups_; }

  FlowMiss miss;
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
