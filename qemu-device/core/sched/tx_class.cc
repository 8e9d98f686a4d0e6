// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/tx_class.h"

#include <algorithm>

namespace verna {

void TxClass::add(TxSource* source, TxGroup::Part* part, Nanos now) {
  if (part->sources.empty()) {
    part->cost = 0;
    groups_.add(part);
    if (part->group->guarantee.kbps()) {
      part->group->guarantee.begin(now);
      guaranteed_.push_back(part);
    }
  }
  part->sources.add(source);
  source->part_ = part;
  size_++;
}

void TxClass::remove(TxSource* source) {
  TxGroup::Part* part = source->part_;
  part->sources.remove(source);
  source->part_ = nullptr;
  size_--;
  if (!part->sources.empty()) return;
  groups_.remove(part);
  part->credit.drop_savings();
  std::erase(guaranteed_, part);
}

void TxClass::guarantee_changed(TxGroup::Part* part) {
  std::erase(guaranteed_, part);
  if (!part->sources.empty() && part->group->guarantee.kbps()) guaranteed_.push_back(part);
}

TxGroup::Part* TxClass::most_overdue(Nanos now) {
  TxGroup::Part* first = nullptr;
  for (TxGroup::Part* part : guaranteed_)
    if (!first || part->group->guarantee.due() < first->group->guarantee.due()) first = part;
  if (!first || first->group->guarantee.due() > now) return nullptr;
  // All by as much: their parts of what there is stay as they are.
  if (const Nanos delay = now - first->group->guarantee.due(); delay > kMaxDelay)
    for (TxGroup::Part* part : guaranteed_) part->group->guarantee.postpone(delay - kMaxDelay);
  return first;
}

TxSource* TxClass::current(Nanos now) {
  by_guarantee_ = most_overdue(now);
  auto* part = by_guarantee_ ? by_guarantee_ : static_cast<TxGroup::Part*>(groups_.current());
  return static_cast<TxSource*>(part->sources.current());
}

uint32_t TxClass::right_of(const TxSource& source, Nanos now) const {
  int64_t right = source.credit.bytes();
  if (by_guarantee_)
    right = std::min<int64_t>(right, by_guarantee_->group->guarantee.allowance(now));
  else if (!alone())
    right = std::min(right, source.part_->credit.bytes());
  return static_cast<uint32_t>(right);
}

void TxClass::end_turn(TxSource* source, const TxTurn& turn) {
  TxGroup::Part* part = source->part_;
  source->credit.charge(turn.sent);
  const int64_t left = source->credit.bytes();
  const bool cut = turn.budget < left + static_cast<int64_t>(turn.sent);
  if (turn.result == TxSource::Result::kMore && (!cut || turn.sent == 0 || left <= 0))
    part->sources.next();
  if (by_guarantee_)
    part->group->guarantee.charge(turn.cost_or_bytes());
  else if (!alone())
    charge_group(part, turn);
}

void TxClass::charge_group(TxGroup::Part* part, const TxTurn& turn) {
  part->credit.charge(turn.sent);
  if (turn.result != TxSource::Result::kWireFull) part->cost += turn.cost();
  if (part->credit.bytes() > 0 && part->cost < kMaxCost) return;
  part->cost = 0;
  groups_.next();
}

}  // namespace verna
