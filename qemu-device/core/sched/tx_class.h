// SPDX-License-Identifier: GPL-2.0-or-later
// A traffic class: which of its sources sends next.
#pragma once

#include <vector>

#include "sched/tx_group.h"
#include "sched/tx_source.h"

namespace verna {

/// What the turn of a source came to.
struct TxTurn {
  static constexpr uint32_t kIdleCost = 4096;  // of one that ended for lack of work

  uint32_t budget;  // bytes that it was given
  uint64_t sent;
  TxSource::Result result;

  /// Bytes that it sent; those that stand for the work if it sent none, as it must have an end.
  uint64_t cost_or_bytes() const {
    return sent || result == TxSource::Result::kWireFull ? sent : kIdleCost;
  }
  /// Bytes that stand for the work that it was.
  uint32_t cost() const {
    if (result != TxSource::Result::kMore || sent == 0) return kIdleCost;
    return std::max(budget, static_cast<uint32_t>(sent));
  }
};

/// First the groups of a class take turns, then the sources of a group, both deficit round robin by
/// weight over those that have something to send. So the number of sources gives a group nothing.
/// The turn of a source that is cut short, because that of its group ends, goes on in the group's
/// next one. A group that is alone shares with nobody: then turns are those of its sources only,
/// and what it sends is not held against it later.
///
/// A group with a guarantee that is due goes before the others, of several that which has waited
/// longest for its own; what is sent by a guarantee does not count where the rest is shared.
class TxClass {
 public:
  TxClass() = default;
  TxClass(const TxClass&) = delete;
  TxClass& operator=(const TxClass&) = delete;

  /// `source`, of the group that `part` is of, has something to send; its turn comes after that of
  /// all others of the group, that of a group after all other groups.
  void add(TxSource* source, TxGroup::Part* part, Nanos now);
  /// It has not any more. It must have been added.
  void remove(TxSource* source);
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  /// Whose turn it is. There must be one.
  TxSource* current(Nanos now);
  /// Bytes that the current one may send, at least 1.
  uint32_t right_of(const TxSource& source, Nanos now) const;
  /// The current one had its turn. It stays; a turn that was cut short goes on, unless the source
  /// sends nothing with it.
  void end_turn(TxSource* source, const TxTurn& turn);
  /// Calls `f` for each source; it may remove that one.
  template <typename F>
  void for_each(F f) {
    groups_.for_each([&](TxMember* part) {
      static_cast<TxGroup::Part*>(part)->sources.for_each(
          [&](TxMember* source) { f(static_cast<TxSource*>(source)); });
    });
  }
  /// The guarantee of the group that `part` is of came, went or changed.
  void guarantee_changed(TxGroup::Part* part);
  /// The weight of a group among groups.
  void share(TxGroup::Part* part, uint16_t w) { groups_.set_weight(part, w); }

  // Of the class among classes.
  uint16_t weight = 0;  // 0: strict
  TxCredit credit;
  Shaper shaper;

 private:
  /// Cost of turns of sources after which that of their group is over, too, however little they
  /// sent.
  static constexpr uint32_t kMaxCost = 16 * TxTurn::kIdleCost;

  /// So far guarantees may be behind if there is not enough for all.
  static constexpr Nanos kMaxDelay = 100'000'000;

  bool alone() const { return groups_.size() == 1; }
  TxGroup::Part* most_overdue(Nanos now);
  void charge_group(TxGroup::Part* part, const TxTurn& turn);

  TxRing groups_;                           // those with runnable sources
  size_t size_ = 0;                         // of all of them
  std::vector<TxGroup::Part*> guaranteed_;  // of these, those with a guarantee
  TxGroup::Part* by_guarantee_ = nullptr;   // whose turn it is, if not that of the ring
};

}  // namespace verna
