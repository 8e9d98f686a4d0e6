// SPDX-License-Identifier: GPL-2.0-or-later
// The tree of rates as the PF builds it: numbered nodes, and the functions that are its leaves.
#pragma once

#include <map>
#include <vector>

#include "sched/scheduler.h"

namespace verna {

/// What a leaf or an inner node is set to; see verna_cmd_rate_node.
struct RateSetup {
  uint32_t max_kbps = 0;
  uint32_t min_kbps = 0;
  uint16_t parent = 0;  // number of a node; 0: none
  uint8_t priority = 0;
  uint16_t weight = 1;
};

/// Owns the inner nodes, and keeps them a tree that is not too deep. What it refuses has changed
/// nothing.
class RateTree {
 public:
  static constexpr uint16_t kMaxNodes = 128;
  static constexpr uint8_t kMaxLevels = 4;  // nodes on the way from a leaf to the top

  enum class Status {
    kOk,
    kNotFound,  // no such node
    kNoParent,  // no such parent
    kCycle,     // the parent is the node itself or below it
    kTooDeep,
    kFull,
    kBusy,  // something has it as its parent
  };

  explicit RateTree(Scheduler& scheduler) : scheduler_(scheduler) {}
  RateTree(const RateTree&) = delete;
  RateTree& operator=(const RateTree&) = delete;

  /// Leaves are numbered from 0 in this order. They outlive the tree, or are as at first when they
  /// go; see reset().
  void add_leaf(TxNode* leaf) { leaves_.push_back(leaf); }
  const std::vector<TxNode*>& leaves() const { return leaves_; }
  /// Whether set_leaf() would take it.
  Status check_leaf(const RateSetup& setup) const;
  /// check_leaf() took it.
  void set_leaf(size_t leaf, const RateSetup& setup) { apply(leaves_[leaf], setup); }

  /// `id` of the new node is the lowest number from 1 that is free.
  Status create(const RateSetup& setup, uint16_t* id);
  Status modify(uint32_t id, const RateSetup& setup);
  Status destroy(uint32_t id);
  /// Null: there is none of this number.
  const TxNode* find(uint32_t id) const;
  /// Calls `f` with number and node of each.
  template <typename F>
  void for_each(F f) const {
    for (const auto& [id, node] : nodes_) f(id, node);
  }
  static RateSetup setup_of(const TxNode& node);

  /// No nodes, and leaves without settings.
  void reset();

 private:
  struct Inner : TxNode {
    explicit Inner(uint16_t number) : TxNode(Kind::kInner), id(number) {}
    uint16_t id;
  };
  Inner* node_of(uint32_t id);
  size_t levels_below(const TxNode& node) const;
  Status check_place(const TxNode& node, const RateSetup& setup) const;
  void apply(TxNode* node, const RateSetup& setup);

  Scheduler& scheduler_;
  std::vector<TxNode*> leaves_;
  std::map<uint16_t, Inner> nodes_;
};

}  // namespace verna
