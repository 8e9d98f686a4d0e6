// SPDX-License-Identifier: GPL-2.0-or-later
// Things in line, and things by the time at which they are to be looked at.
#pragma once

#include <array>

#include "base/types.h"

namespace verna {

/// What stands in an AgeLine or an AgeWheel, in one at a time.
struct AgeLink {
  AgeLink* ahead = nullptr;
  AgeLink* behind = nullptr;
  uint16_t slot = 0;  // of AgeWheel
};

/// First come, first served; anybody may leave. All is O(1), and nothing is allocated.
class AgeLine {
 public:
  AgeLine() { clear(); }
  AgeLine(const AgeLine&) = delete;
  AgeLine& operator=(const AgeLine&) = delete;

  bool empty() const { return end_.behind == &end_; }
  /// Null: the line is empty.
  AgeLink* front() const { return empty() ? nullptr : end_.behind; }
  /// Null: `link` is the last.
  AgeLink* after(const AgeLink* link) const {
    return link->behind == &end_ ? nullptr : link->behind;
  }
  void push_back(AgeLink* link);
  static void remove(AgeLink* link);
  /// All of `from`, in their order, stand behind those that are here.
  void take_all(AgeLine* from);
  /// Forgets everybody, who may be gone already.
  void clear() { end_.ahead = end_.behind = &end_; }

 private:
  AgeLink end_;  // behind the last and ahead of the first
};

/// A hierarchical timer wheel. A slot of level n is 64^n ticks wide; a link is in that level in
/// which its tick first differs from the current one, so slots of a level are behind all of the
/// levels below it. A link comes up at the beginning of its slot, which is early unless that is of
/// level 0: who takes it puts it back then, to come up again in a lower level.
///
/// Adding and removing are O(1). Each add() costs one take() for each level at most.
class AgeWheel {
 public:
  static constexpr uint64_t kNoTick = ~uint64_t{0};
  static constexpr int kLevels = 8;  // ticks below 2^48

  /// To come up at `tick`, or at once if that is past.
  void add(AgeLink* link, uint64_t tick);
  void remove(AgeLink* link);
  /// The next link whose slot has begun at `tick`, which does not go back; null: there is none.
  AgeLink* take(uint64_t tick);
  /// Nothing comes up before this; kNoTick: nothing ever does.
  uint64_t next() const;
  /// It is `tick` now: saves turns of what is added next. Does nothing if something has come up.
  void advance(uint64_t tick);
  /// Forgets all links, which may be gone already.
  void clear();

 private:
  static constexpr int kSlotBits = 6;
  static constexpr size_t kSlots = size_t{1} << kSlotBits;  // of a level: bits of a word

  void close(size_t slot);
  size_t first_slot() const;

  uint64_t current_ = 0;
  AgeLine due_;                                  // what has come up
  uint8_t levels_ = 0;                           // bit n: level n has links
  std::array<uint64_t, kLevels> used_{};         // by level, bit n: slot n has links
  std::array<AgeLine, kLevels * kSlots> lines_;  // by slot
};

}  // namespace verna
