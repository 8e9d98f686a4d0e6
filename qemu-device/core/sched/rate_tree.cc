// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/rate_tree.h"

#include <algorithm>

namespace verna {
namespace {

/// `node` and those above it.
size_t levels_up(const TxNode* node) {
  size_t count = 0;
  for (; node; node = node->parent) count++;
  return count;
}

}  // namespace

const TxNode* RateTree::find(uint32_t id) const {
  if (id > kMaxNodes) return nullptr;
  const auto found = nodes_.find(static_cast<uint16_t>(id));
  return found == nodes_.end() ? nullptr : &found->second;
}

RateTree::Inner* RateTree::node_of(uint32_t id) {
  if (id > kMaxNodes) return nullptr;
  const auto found = nodes_.find(static_cast<uint16_t>(id));
  return found == nodes_.end() ? nullptr : &found->second;
}

RateSetup RateTree::setup_of(const TxNode& node) {
  const auto* parent = static_cast<const Inner*>(node.parent);
  return {node.shaper.kbps(), node.guarantee.kbps(), parent ? parent->id : uint16_t{0},
          node.priority, node.weight()};
}

RateTree::Status RateTree::check_leaf(const RateSetup& setup) const {
  return setup.parent && !find(setup.parent) ? Status::kNoParent : Status::kOk;
}

/// The longest way down from `node` to an inner node, itself counted.
size_t RateTree::levels_below(const TxNode& node) const {
  size_t most = 1;
  for (const auto& [id, other] : nodes_) {
    size_t count = 1;
    for (const TxNode* up = &other; up; up = up->parent, count++)
      if (up == &node) most = std::max(most, count);
  }
  return most;
}

RateTree::Status RateTree::check_place(const TxNode& node, const RateSetup& setup) const {
  const TxNode* parent = find(setup.parent);
  if (!parent) return setup.parent ? Status::kNoParent : Status::kOk;
  for (const TxNode* up = parent; up; up = up->parent)
    if (up == &node) return Status::kCycle;
  const size_t levels = levels_up(parent) + levels_below(node);
  return levels > kMaxLevels ? Status::kTooDeep : Status::kOk;
}

RateTree::Status RateTree::create(const RateSetup& setup, uint16_t* id) {
  const TxNode* parent = find(setup.parent);
  if (setup.parent && !parent) return Status::kNoParent;
  if (levels_up(parent) == kMaxLevels) return Status::kTooDeep;
  if (nodes_.size() == kMaxNodes) return Status::kFull;
  *id = 1;
  for (const auto& [taken, node] : nodes_) {
    if (taken != *id) break;
    ++*id;
  }
  apply(&nodes_.try_emplace(*id, *id).first->second, setup);
  return Status::kOk;
}

RateTree::Status RateTree::modify(uint32_t id, const RateSetup& setup) {
  Inner* node = node_of(id);
  if (!node) return Status::kNotFound;
  const Status status = check_place(*node, setup);
  if (status == Status::kOk) apply(node, setup);
  return status;
}

RateTree::Status RateTree::destroy(uint32_t id) {
  Inner* node = node_of(id);
  if (!node) return Status::kNotFound;
  if (node->num_children) return Status::kBusy;
  apply(node, {});
  nodes_.erase(node->id);
  return Status::kOk;
}

/// What stays as it is is left alone: a guarantee that is set again starts again.
void RateTree::apply(TxNode* node, const RateSetup& setup) {
  const RateSetup now = setup_of(*node);
  if (setup.parent != now.parent) scheduler_.attach(node, node_of(setup.parent));
  if (setup.priority != now.priority) scheduler_.prioritize(node, setup.priority);
  if (setup.weight != now.weight) scheduler_.share(node, setup.weight);
  if (setup.min_kbps != now.min_kbps) scheduler_.guarantee(node, setup.min_kbps);
  if (setup.max_kbps != now.max_kbps) scheduler_.limit(node, setup.max_kbps);
}

void RateTree::reset() {
  for (TxNode* leaf : leaves_) apply(leaf, {});
  for (auto& [id, node] : nodes_) apply(&node, {});
  nodes_.clear();
}

}  // namespace verna
