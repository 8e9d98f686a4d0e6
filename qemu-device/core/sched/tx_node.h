// SPDX-License-Identifier: GPL-2.0-or-later
// A node of the tree by which functions share what the card sends.
#pragma once

#include <array>
#include <memory>

#include "hw/verna_cmd.h"
#include "sched/due_heap.h"
#include "sched/guarantee.h"
#include "sched/shaper.h"
#include "sched/tx_ring.h"

namespace verna {

struct TxNode;
class TxSiblings;

/// What of a node is in one class: it takes turns with its siblings there. As a DueItem it waits
/// for what is guaranteed to its node.
struct TxPart : TxMember, DueItem {
  /// Of the node above in the same class; null: there is none.
  TxPart* parent() const;
  /// It has something to send, whether or not it may.
  bool has_work() const;

  TxNode* node = nullptr;
  uint8_t tclass = 0;
  uint32_t cost = 0;                     // of turns of what is below, in its own
  TxRing sources;                        // of a leaf: those that have something to send
  std::unique_ptr<TxSiblings> children;  // of an inner node: those that have, and may send
};

/// Has a rate limit, a guarantee and a weight, and what is below has them together: sources of a
/// leaf, nodes of an inner one. Rates are those of all classes in all, turns are taken in each
/// class by itself. As a DueItem it waits for its limit.
///
/// What it is set to is the business of TxTree.
struct TxNode : DueItem {
  enum class Kind { kLeaf, kInner };
  static constexpr uint8_t kPriorities = 8;

  explicit TxNode(Kind kind);
  ~TxNode();
  TxNode(const TxNode&) = delete;
  TxNode& operator=(const TxNode&) = delete;

  uint16_t weight() const { return parts[0].weight(); }
  /// Its limit holds it back, with all that is below.
  bool is_held() const { return is_waiting(); }

  Shaper shaper;              // at most
  Guarantee guarantee;        // at least; charged with what is sent by it alone
  TxNode* parent = nullptr;   // an inner one; null: it is at the top
  uint8_t priority = 0;       // higher ones go first, below kPriorities
  uint32_t num_children = 0;  // that have it as their parent
  uint64_t sent = 0;          // bytes, as the limit counts
  uint8_t busy = 0;           // bit n: its part in class n has work
  std::array<TxPart, VERNA_MAX_TX_CLASSES> parts;
};

inline TxPart* TxPart::parent() const {
  return node->parent ? &node->parent->parts[tclass] : nullptr;
}
inline bool TxPart::has_work() const { return node->busy >> tclass & 1; }

}  // namespace verna
