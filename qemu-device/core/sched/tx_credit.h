// SPDX-License-Identifier: GPL-2.0-or-later
// Deficit round robin: what one may send that takes turns with others.
#pragma once

#include <algorithm>
#include <limits>

#include "base/types.h"

namespace verna {

/// Bytes of a turn of the heaviest; lighter ones get their part of it.
inline constexpr uint32_t kQuantum = 16384;

/// What one of weight `weight` gets for a round if the heaviest has `heaviest` and gets `round`.
inline uint32_t quantum_of(uint32_t weight, uint32_t heaviest, uint32_t round = kQuantum) {
  return std::max<uint32_t>(1, round * weight / heaviest);
}

/// Bytes that were sent are what counts, so that neither the size of frames nor the length of turns
/// matters.
class TxCredit {
 public:
  /// That it may send in this turn; negative: it has sent too many.
  int64_t bytes() const { return bytes_; }
  /// Its turn comes. Bounds what one saves that has turns but sends less than it may.
  void begin_turn(uint32_t quantum) {
    bytes_ = std::min<int64_t>(bytes_ + quantum, int64_t{4} * quantum);
  }
  void charge(uint64_t sent) { bytes_ -= static_cast<int64_t>(sent); }
  /// Who has nothing to send saves nothing, but what it sent too much is not forgotten.
  void drop_savings() { bytes_ = std::min<int64_t>(bytes_, 0); }

  /// Rounds that go by before it may send.
  int64_t idle_rounds(uint32_t quantum) const { return std::max<int64_t>(0, -bytes_) / quantum; }
  void pass_rounds(int64_t rounds, uint32_t quantum) { bytes_ += rounds * quantum; }

 private:
  int64_t bytes_ = 0;
};

/// Everybody has sent more than its share: as many rounds at once as nobody could use.
/// `for_each(f)` calls f(credit, quantum) for each that takes turns.
template <typename ForEach>
void pass_idle_rounds(ForEach for_each) {
  int64_t rounds = std::numeric_limits<int64_t>::max();
  for_each([&](const TxCredit& credit, uint32_t quantum) {
    rounds = std::min(rounds, credit.idle_rounds(quantum));
  });
  for_each([&](TxCredit& credit, uint32_t quantum) { credit.pass_rounds(rounds, quantum); });
}

}  // namespace verna
