// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/tx_class.h"

namespace verna {

void TxClass::add(TxSource* source, TxGroup::Part* part) {
  if (part->sources.empty()) {
    part->cost = 0;
    groups_.add(part);
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
}

TxSource* TxClass::current() {
  auto* part = static_cast<TxGroup::Part*>(groups_.current());
  return static_cast<TxSource*>(part->sources.current());
}

uint32_t TxClass::right_of(const TxSource& source) const {
  const int64_t own = source.credit.bytes();
  return static_cast<uint32_t>(alone() ? own : std::min(own, source.part_->credit.bytes()));
}

void TxClass::end_turn(TxSource* source, const TxTurn& turn) {
  TxGroup::Part* part = source->part_;
  source->credit.charge(turn.sent);
  const int64_t left = source->credit.bytes();
  const bool cut = turn.budget < left + static_cast<int64_t>(turn.sent);
  if (turn.result == TxSource::Result::kMore && (!cut || turn.sent == 0 || left <= 0))
    part->sources.next();
  if (!alone()) charge_group(part, turn);
}

void TxClass::charge_group(TxGroup::Part* part, const TxTurn& turn) {
  part->credit.charge(turn.sent);
  if (turn.result != TxSource::Result::kWireFull) part->cost += turn.cost();
  if (part->credit.bytes() > 0 && part->cost < kMaxCost) return;
  part->cost = 0;
  groups_.next();
}

}  // namespace verna
