// SPDX-License-Identifier: GPL-2.0-or-later
// A traffic class: which of its queues sends next.
#pragma once

#include <map>

#include "sched/tx_source.h"

namespace verna {

/// Bytes of a turn of the heaviest; lighter ones get their part of it.
inline constexpr uint32_t kQuantum = 16384;

/// What one of weight `weight` gets for a round if the heaviest has `heaviest`.
inline uint32_t quantum_of(uint32_t weight, uint32_t heaviest) {
  return std::max<uint32_t>(1, kQuantum * weight / heaviest);
}

/// Deficit round robin by weight over the sources of a class that have something to send. Bytes
/// that were sent are what counts, so that neither the size of frames nor the length of turns
/// matters.
class TxClass {
 public:
  TxClass() = default;
  TxClass(const TxClass&) = delete;
  TxClass& operator=(const TxClass&) = delete;

  /// It has something to send; its turn comes after that of all others.
  void add(TxSource* source);
  /// It has not any more. It must have been added.
  void remove(TxSource* source);
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  /// Whose turn it is; its deficit is positive. There must be one.
  TxSource* current();
  /// The turn of the current one is over; it stays.
  void next();
  /// Calls `f` for each source; it may remove that one.
  template <typename F>
  void for_each(F f) {
    TxSource* source = head_;
    for (size_t i = size_; i > 0; i--) {
      TxSource* after = source->next_;
      f(source);
      source = after;
    }
  }

  /// Who has another weight than 1 says so, also while it has nothing to send.
  void add_weight(uint16_t w) { weights_[w]++; }
  void remove_weight(uint16_t w);

  // Of the class among classes.
  uint16_t weight = 0;  // 0: strict
  int64_t deficit = 0;
  Shaper shaper;

 private:
  uint32_t quantum(const TxSource& source) const {
    return quantum_of(source.weight_, weights_.empty() ? 1 : weights_.rbegin()->first);
  }
  void pass_idle_rounds();

  TxSource* head_ = nullptr;  // of a ring: whose turn it is
  size_t size_ = 0;
  bool began_ = false;                    // head_ got its quantum
  std::map<uint16_t, uint32_t> weights_;  // how many have it; all others have weight 1
};

}  // namespace verna
