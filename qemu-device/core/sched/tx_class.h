// SPDX-License-Identifier: GPL-2.0-or-later
// A traffic class: which of its sources sends next.
#pragma once

#include <vector>

#include "sched/tx_siblings.h"

namespace verna {

/// From the top of the tree down, whose turn it is among siblings, then among the sources of a
/// leaf: deficit round robin by weight over those that have something to send. So the number of
/// sources gives a leaf nothing. The turn of one below that is cut short, because that of one above
/// ends, goes on in the next one of that.
class TxClass {
 public:
  TxClass() = default;
  TxClass(const TxClass&) = delete;
  TxClass& operator=(const TxClass&) = delete;

  /// Nobody has something to send and may.
  bool empty() const { return top_.empty(); }
  /// Those that have and may.
  std::vector<TxSource*> sources() const;
  size_t size() const { return sources().size(); }
  /// Whom a part in this class takes turns with.
  TxSiblings& siblings_of(const TxPart& part) {
    const TxPart* parent = part.parent();
    return parent ? *parent->children : top_;
  }

  /// Whose turn it is. There must be one.
  TxSource* current(Nanos now);
  /// Bytes that the current one may send, at least 1.
  uint32_t right_of(const TxSource& source, Nanos now);
  /// The current one had its turn. It stays; a turn that was cut short goes on, unless the source
  /// sends nothing with it.
  void end_turn(TxSource* source, const TxTurn& turn);

  // Of the class among classes.
  uint16_t weight = 0;  // 0: strict
  TxCredit credit;
  Shaper shaper;

 private:
  TxSiblings top_;
};

/// Appends all sources below `part` that have something to send and do not wait with a node below
/// it.
void append_sources(const TxPart& part, std::vector<TxSource*>* out);

}  // namespace verna
