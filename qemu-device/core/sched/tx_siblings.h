// SPDX-License-Identifier: GPL-2.0-or-later
// Nodes with one parent, in one class: whose turn it is.
#pragma once

#include <bit>

#include "sched/tx_node.h"
#include "sched/tx_turn.h"

namespace verna {

/// Those of the highest priority that have something to send and may: among them first one with a
/// guarantee that is due, of several that which has waited longest for its own; else they take
/// turns, deficit round robin by weight. So what is below one, much or little, gives it nothing.
///
/// What is sent by a guarantee does not count where the rest is shared. One that is alone in its
/// priority shares with nobody, and what it sends is not held against it later.
class TxSiblings {
 public:
  TxSiblings() = default;
  TxSiblings(const TxSiblings&) = delete;
  TxSiblings& operator=(const TxSiblings&) = delete;

  bool empty() const { return busy_ == 0; }
  /// It has something to send and may; its turn comes after all others of its priority.
  void add(TxPart* part, Nanos now);
  /// Not any more. It must have been added; what it has saved is gone.
  void remove(TxPart* part);

  /// Whose turn it is. There must be one. See TxRing::current() for `round`.
  TxPart* current(uint32_t round, Nanos now);
  /// Bytes that the current one may send, at least 1.
  int64_t right_of(const TxPart& part, Nanos now) const;
  /// The current one, or what is below it, had a turn.
  void end_turn(TxPart* part, const TxTurn& turn);

  /// The guarantee of one that was added came, went or changed.
  void guarantee_changed(TxPart* part);
  /// Also of one that was not added; see TxRing::set_weight().
  void set_weight(TxPart* part, uint16_t weight) { level_of(*part).ring.set_weight(part, weight); }
  /// Calls `f` for each, of high priority first.
  template <typename F>
  void for_each(F f) const {
    for (size_t i = levels_.size(); i-- > 0;)
      levels_[i].ring.for_each([&](TxMember* member) { f(static_cast<TxPart*>(member)); });
  }

 private:
  /// Cost of turns of what is below one after which its own is over, too, however little was sent.
  static constexpr uint32_t kMaxCost = 16 * TxTurn::kIdleCost;
  /// So far guarantees may be behind if there is not enough for all.
  static constexpr Nanos kMaxDelay = 100'000'000;

  /// Those of one priority.
  struct Level {
    TxRing ring;
    /// Those with a guarantee. It may be due later than the heap says, as it is charged in other
    /// classes, too, but not earlier.
    DueHeap<TxPart> guaranteed;
  };
  Level& level_of(const TxPart& part) { return levels_[part.node->priority]; }
  bool alone(const TxPart& part) const { return levels_[part.node->priority].ring.size() == 1; }
  static TxPart* most_overdue(Level* level, Nanos now);

  std::array<Level, TxNode::kPriorities> levels_;
  uint8_t busy_ = 0;                // bit n: level n has somebody
  TxPart* by_guarantee_ = nullptr;  // whose turn it is, if not that of a ring
};

// Each turn is worth the room that these take: nothing is called where there is nothing to do.

inline TxPart* TxSiblings::current(uint32_t round, Nanos now) {
  Level& level = levels_[static_cast<size_t>(std::bit_width(busy_)) - 1];
  by_guarantee_ = level.guaranteed.empty() ? nullptr : most_overdue(&level, now);
  return by_guarantee_ ? by_guarantee_ : static_cast<TxPart*>(level.ring.current(round));
}

inline int64_t TxSiblings::right_of(const TxPart& part, Nanos now) const {
  if (&part == by_guarantee_) return part.node->guarantee.allowance(now);
  return alone(part) ? std::numeric_limits<int64_t>::max() : part.credit.bytes();
}

inline void TxSiblings::end_turn(TxPart* part, const TxTurn& turn) {
  if (part == by_guarantee_) return part->node->guarantee.charge(turn.cost_or_bytes());
  if (alone(*part)) return;
  part->credit.charge(turn.sent);
  if (turn.result != TxSource::Result::kWireFull) part->cost += turn.cost();
  if (part->credit.bytes() > 0 && part->cost < kMaxCost) return;
  part->cost = 0;
  level_of(*part).ring.next();
}

}  // namespace verna
