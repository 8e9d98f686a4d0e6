// SPDX-License-Identifier: GPL-2.0-or-later
// Which rules have outlived their limits, and of which software has not heard yet.
#pragma once

#include "flow/flow_rule.h"

namespace verna {

/// When a rule's limits end it.
struct FlowEnd {
  Nanos when = kNever;
  bool life = false;  // by life_ms, else by idle_ms
};
/// The limit that ends first; of a rule that has any. Packets after that may have been too late to
/// postpone it.
FlowEnd flow_end(const FlowRule& rule);

/// A rule is looked at when it could have aged at the earliest, and then again when the packets of
/// meanwhile say so. So packets cost nothing here; only the first that a rule is for after it aged
/// does. Time is the card's, in ticks: nothing ages early, and less than a tick late unless a
/// caller does not look.
///
/// Memory is fixed: rules stand in line themselves.
class FlowAgeing {
 public:
  static constexpr uint8_t kTickMs = 1;
  static constexpr Nanos kTick = Nanos{kTickMs} * 1'000'000;

  /// A rule was added, or used after it aged.
  void watch(FlowRule* rule, Nanos now);
  /// A rule goes.
  void forget(FlowRule* rule);
  /// A rule that has aged by now and must go to age() or back to watch(). Looks at no more rules
  /// than `*budget`, which it reduces. Null: there is none, or the budget is used up.
  FlowRule* take(Nanos now, size_t* budget);
  /// Software is to hear of a rule that take() gave.
  void age(FlowRule* rule, FlowAge how);
  /// Nothing ages before this.
  Nanos next() const;

  /// Rules that software has not heard of, from the oldest on.
  const FlowRule* first_aged() const { return of(aged_.front()); }
  const FlowRule* next_aged(const FlowRule* rule) const { return of(aged_.after(rule)); }
  /// Takes the oldest of them out of the line.
  FlowRule* pop_aged();
  /// There are some, and software does not know.
  bool wants_notice() const { return !noticed_ && !aged_.empty(); }
  void set_noticed(bool noticed) { noticed_ = noticed; }

  /// Forgets all rules, which may be gone already.
  void clear();

 private:
  static FlowRule* of(AgeLink* link) { return static_cast<FlowRule*>(link); }

  AgeWheel watched_;
  AgeLine aged_;
  bool noticed_ = false;
};

}  // namespace verna
