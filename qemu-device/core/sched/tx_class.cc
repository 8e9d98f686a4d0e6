// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/tx_class.h"

#include <algorithm>

namespace verna {
namespace {

/// Where a limit is low turns are short, so that nobody waits for long in it: what it carries in a
/// millisecond, but some frames.
uint32_t round_below(const TxNode& node, uint32_t round) {
  constexpr uint32_t kLeast = 2048;
  if (!node.shaper.limited()) return round;
  return std::min(round, std::max(kLeast, node.shaper.kbps() / 8));
}

}  // namespace

void append_sources(const TxPart& part, std::vector<TxSource*>* out) {
  std::vector<const TxPart*> parts = {&part};
  for (size_t i = 0; i < parts.size(); i++) {
    parts[i]->sources.for_each(
        [out](TxMember* source) { out->push_back(static_cast<TxSource*>(source)); });
    if (parts[i]->children)
      parts[i]->children->for_each([&](const TxPart* child) { parts.push_back(child); });
  }
}

std::vector<TxSource*> TxClass::sources() const {
  std::vector<TxSource*> out;
  top_.for_each([&out](const TxPart* part) { append_sources(*part, &out); });
  return out;
}

TxSource* TxClass::current(Nanos now) {
  TxPart* part = top_.current(kQuantum, now);
  uint32_t round = round_below(*part->node, kQuantum);
  while (part->children) {
    part = part->children->current(round, now);
    round = round_below(*part->node, round);
  }
  return static_cast<TxSource*>(part->sources.current(round));
}

uint32_t TxClass::right_of(const TxSource& source, Nanos now) {
  int64_t right = source.credit.bytes();
  for (const TxPart* part = source.part_; part; part = part->parent())
    right = std::min(right, siblings_of(*part).right_of(*part, now));
  return static_cast<uint32_t>(right);
}

void TxClass::end_turn(TxSource* source, const TxTurn& turn) {
  source->credit.charge(turn.sent);
  const int64_t left = source->credit.bytes();
  const bool cut = turn.budget < left + static_cast<int64_t>(turn.sent);
  if (turn.result == TxSource::Result::kMore && (!cut || turn.sent == 0 || left <= 0))
    source->part_->sources.next();
  for (TxPart* part = source->part_; part; part = part->parent())
    siblings_of(*part).end_turn(part, turn);
}

}  // namespace verna
