// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/tx_siblings.h"

namespace verna {

void TxSiblings::add(TxPart* part, Nanos now) {
  Level& level = level_of(*part);
  part->cost = 0;
  level.ring.add(part);
  busy_ = static_cast<uint8_t>(busy_ | 1u << part->node->priority);
  Guarantee& guarantee = part->node->guarantee;
  if (!guarantee.kbps()) return;
  guarantee.begin(now);
  level.guaranteed.push(part, guarantee.due());
}

void TxSiblings::remove(TxPart* part) {
  Level& level = level_of(*part);
  level.ring.remove(part);
  part->credit.drop_savings();
  if (level.ring.empty()) busy_ = static_cast<uint8_t>(busy_ & ~(1u << part->node->priority));
  if (part->is_waiting()) level.guaranteed.erase(part);
}

void TxSiblings::guarantee_changed(TxPart* part) {
  Level& level = level_of(*part);
  if (part->is_waiting()) level.guaranteed.erase(part);
  const Guarantee& guarantee = part->node->guarantee;
  if (guarantee.kbps()) level.guaranteed.push(part, guarantee.due());
}

TxPart* TxSiblings::most_overdue(Level* level, Nanos now) {
  DueHeap<TxPart>& heap = level->guaranteed;
  while (heap.next() <= now) {
    TxPart* first = heap.first();
    const Nanos due = first->node->guarantee.due();
    if (due != heap.next()) {
      heap.move(first, due);
      continue;
    }
    // All by as much: their parts of what there is stay as they are.
    if (now - due > kMaxDelay)
      heap.for_each(
          [&](TxPart* part) { part->node->guarantee.postpone(now - due - kMaxDelay / 2, now); });
    return first;
  }
  return nullptr;
}

}  // namespace verna
