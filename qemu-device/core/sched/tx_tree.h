// SPDX-License-Identifier: GPL-2.0-or-later
// Who of the tree has something to send and may, and who waits for a limit.
#pragma once

#include <vector>

#include "sched/tx_classes.h"

namespace verna {

/// Keeps the siblings of all nodes, in all classes: a node is among them as long as there is
/// something to send below it and its limit does not hold it back. One that is held waits alone for
/// all that is below it; nothing of that is touched until it may go on. A node without work does
/// not wait, and finds out when it has some.
class TxTree {
 public:
  explicit TxTree(TxClasses& classes) : classes_(classes) {}
  TxTree(const TxTree&) = delete;
  TxTree& operator=(const TxTree&) = delete;

  /// `source` of the leaf that `part` is of has something to send; its turn comes after that of all
  /// others of the leaf.
  void add(TxSource* source, TxPart* part, Nanos now);
  /// It has not any more. It must have been added.
  void remove(TxSource* source);
  /// `bytes` were sent by `leaf`.
  void charge(TxNode* leaf, uint64_t bytes, Nanos now) {
    for (TxNode* node = leaf; node; node = node->parent) {
      node->sent += bytes;
      if (node->shaper.limited()) charge_limit(node, bytes, now);
    }
  }
  /// Bytes that `leaf` may send by the limits of itself and all above.
  static uint32_t allowance(const TxNode& leaf, Nanos now) {
    uint32_t least = ~uint32_t{0};
    for (const TxNode* node = &leaf; node; node = node->parent)
      if (node->shaper.limited()) least = std::min(least, node->shaper.allowance(now));
    return least;
  }

  /// Those whose limit lets them go on at `now` do.
  void release(Nanos now);
  /// When the first one may; kNever: nobody is held.
  Nanos next_release() const { return held_.next(); }
  /// Sources that wait with a node.
  size_t num_held() const;
  /// All that were added in a class, those that wait with a node among them.
  std::vector<TxSource*> sources(size_t tclass) const;

  void limit(TxNode* node, uint32_t kbps, Nanos now);
  void guarantee(TxNode* node, uint32_t kbps, Nanos now);
  void share(TxNode* node, uint16_t weight);
  void prioritize(TxNode* node, uint8_t priority, Nanos now);
  /// `parent` is an inner node that is not below `node`; null: none.
  void attach(TxNode* node, TxNode* parent, Nanos now);

 private:
  void begin(TxPart* part, Nanos now);
  void enter(TxPart* part, Nanos now);
  TxPart* leave(TxPart* part);
  void end(TxPart* part);
  void charge_limit(TxNode* node, uint64_t bytes, Nanos now);
  void hold(TxNode* node);
  void let_go(TxNode* node, Nanos now);
  template <typename Change>
  void relocate(TxNode* node, Nanos now, Change change);

  TxClasses& classes_;
  DueHeap<TxNode> held_;  // those that have work
};

}  // namespace verna
