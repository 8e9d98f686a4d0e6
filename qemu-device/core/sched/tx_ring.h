// SPDX-License-Identifier: GPL-2.0-or-later
// A ring of those that have something to send: whose turn it is.
#pragma once

#include <map>

#include "sched/tx_credit.h"

namespace verna {

/// One that takes turns with others.
class TxMember {
 public:
  uint16_t weight() const { return weight_; }
  TxCredit credit;

 private:
  friend class TxRing;
  uint16_t weight_ = 1;
  TxMember* next_ = nullptr;
  TxMember* prev_ = nullptr;
};

/// Deficit round robin by weight.
class TxRing {
 public:
  TxRing() = default;
  TxRing(const TxRing&) = delete;
  TxRing& operator=(const TxRing&) = delete;

  /// It has something to send; its turn comes after that of all others.
  void add(TxMember* member);
  /// It has not any more. It must have been added.
  void remove(TxMember* member);
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  /// Whose turn it is; its credit is positive. There must be one. The heaviest gets `round` bytes
  /// for a turn that begins now.
  TxMember* current(uint32_t round = kQuantum);
  /// The turn of the current one is over; it stays.
  void next();
  /// Calls `f` for each member; it may remove that one.
  template <typename F>
  void for_each(F f) const {
    TxMember* member = head_;
    for (size_t i = size_; i > 0; i--) {
      TxMember* after = member->next_;
      f(member);
      member = after;
    }
  }

  /// Also of one that has nothing to send. The heaviest counts as long as it has its weight; who
  /// goes for ever gets weight 1 before.
  void set_weight(TxMember* member, uint16_t weight);

 private:
  uint32_t quantum(const TxMember& member, uint32_t round) const {
    if (weights_.empty()) return round;
    return quantum_of(member.weight_, weights_.rbegin()->first, round);
  }

  TxMember* head_ = nullptr;  // whose turn it is
  size_t size_ = 0;
  bool began_ = false;                    // head_ got its quantum
  std::map<uint16_t, uint32_t> weights_;  // how many have it; all others have weight 1
};

}  // namespace verna
