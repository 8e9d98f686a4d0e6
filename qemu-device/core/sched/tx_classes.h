// SPDX-License-Identifier: GPL-2.0-or-later
// Traffic classes: which class sends next.
#pragma once

#include <array>

#include "hw/verna_cmd.h"
#include "sched/tx_class.h"

namespace verna {

/// What SET_TX_CLASSES says. As after a reset: all strict, without limits.
struct TxClassSetup {
  std::array<uint32_t, VERNA_MAX_TX_CLASSES> max_kbps{};
  std::array<uint16_t, VERNA_MAX_TX_CLASSES> weight{};
};

/// Strict classes go first, the higher the sooner; the others share what these leave, deficit round
/// robin by weight. A class that its rate holds back, or that is empty, is no competitor.
class TxClasses {
 public:
  using All = std::array<TxClass, VERNA_MAX_TX_CLASSES>;
  TxClass& operator[](size_t i) { return classes_[i]; }
  const All& all() const { return classes_; }
  void configure(const TxClassSetup& setup, Nanos now);

  /// Null: nobody may send now. The choice stands until what charge() was told ends the turn.
  TxClass* choose(Nanos now);
  /// Somebody may send now.
  bool can_send(Nanos now) const;
  /// When the first class that its rate holds back may go on; kNever: there is none.
  Nanos next_ready(Nanos now) const;
  /// Nobody could send if it were for classes alone.
  bool empty() const;
  size_t num_runnable() const;

  /// `sent` bytes were sent by a queue of `tclass`.
  void charge(TxClass* tclass, uint64_t sent, Nanos now);
  /// Bytes that `tclass` may send in this turn.
  static uint32_t allowance(const TxClass& tclass, Nanos now);
  /// Strict classes that go before `tclass`.
  bool goes_before(size_t other, const TxClass& tclass) const;
  size_t index(const TxClass& tclass) const {
    return static_cast<size_t>(&tclass - classes_.data());
  }

 private:
  static bool ready(const TxClass& c, Nanos now) {
    return !c.empty() && c.shaper.ready_at() <= now;
  }
  static bool competes(const TxClass& c, Nanos now) { return c.weight != 0 && ready(c, now); }
  TxClass* choose_weighted(Nanos now);
  uint32_t quantum(const TxClass& c) const { return quantum_of(c.weight, heaviest_); }

  All classes_;
  uint16_t heaviest_ = 1;
  size_t cursor_ = 0;   // of the weighted ones
  bool began_ = false;  // the one at the cursor got its quantum
};

}  // namespace verna
