// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/tx_classes.h"

namespace verna {

void TxClasses::configure(const TxClassSetup& setup, Nanos now) {
  heaviest_ = 1;
  began_ = false;
  for (size_t i = 0; i < classes_.size(); i++) {
    TxClass& c = classes_[i];
    if (c.shaper.kbps() != setup.max_kbps[i]) c.shaper.configure(setup.max_kbps[i], 0, now);
    c.weight = setup.weight[i];
    c.credit = {};
    heaviest_ = std::max(heaviest_, c.weight);
  }
}

TxClass* TxClasses::choose(Nanos now) {
  for (size_t i = classes_.size(); i-- > 0;) {
    TxClass& c = classes_[i];
    if (c.weight == 0 && ready(c, now)) return &c;
  }
  return choose_weighted(now);
}

TxClass* TxClasses::choose_weighted(Nanos now) {
  size_t idle = 0;  // in a row that do not compete
  for (size_t tried = 0; idle < classes_.size(); tried++, cursor_++, began_ = false) {
    if (cursor_ >= classes_.size()) cursor_ = 0;
    TxClass& c = classes_[cursor_];
    if (!competes(c, now)) {
      idle++;
      continue;
    }
    idle = 0;
    if (!began_) c.credit.begin_turn(quantum(c));
    began_ = true;
    if (c.credit.bytes() > 0) return &c;
    if (tried < classes_.size()) continue;
    pass_idle_rounds([&](auto f) {
      for (TxClass& each : classes_)
        if (competes(each, now)) f(each.credit, quantum(each));
    });
  }
  return nullptr;
}

bool TxClasses::can_send(Nanos now) const {
  return std::any_of(classes_.begin(), classes_.end(),
                     [now](const TxClass& c) { return ready(c, now); });
}

Nanos TxClasses::next_ready(Nanos now) const {
  Nanos next = kNever;
  for (const TxClass& c : classes_)
    if (!c.empty() && c.shaper.ready_at() > now) next = std::min(next, c.shaper.ready_at());
  return next;
}

bool TxClasses::empty() const {
  return std::all_of(classes_.begin(), classes_.end(), [](const TxClass& c) { return c.empty(); });
}

size_t TxClasses::num_runnable() const {
  size_t count = 0;
  for (const TxClass& c : classes_) count += c.size();
  return count;
}

void TxClasses::charge(TxClass* tclass, uint64_t sent, Nanos now) {
  tclass->shaper.charge(sent, now);
  if (tclass->weight == 0) return;
  tclass->credit.charge(sent);
  if (tclass->empty()) tclass->credit.drop_savings();
}

uint32_t TxClasses::allowance(const TxClass& tclass, Nanos now) {
  const uint32_t rate = tclass.shaper.allowance(now);
  if (tclass.weight == 0) return rate;
  return static_cast<uint32_t>(
      std::min<int64_t>(rate, std::max<int64_t>(1, tclass.credit.bytes())));
}

bool TxClasses::goes_before(size_t other, const TxClass& tclass) const {
  return classes_[other].weight == 0 && (tclass.weight != 0 || other > index(tclass));
}

}  // namespace verna
