// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/tx_class.h"

#include <limits>

namespace verna {

void TxClass::add(TxSource* source) {
  if (!head_) {
    source->next_ = source->prev_ = source;
    head_ = source;
    began_ = false;
  } else {
    source->next_ = head_;
    source->prev_ = head_->prev_;
    head_->prev_->next_ = source;
    head_->prev_ = source;
  }
  size_++;
}

void TxClass::remove(TxSource* source) {
  source->prev_->next_ = source->next_;
  source->next_->prev_ = source->prev_;
  if (source == head_) {
    head_ = size_ > 1 ? source->next_ : nullptr;
    began_ = false;
  }
  source->next_ = source->prev_ = nullptr;
  size_--;
}

void TxClass::remove_weight(uint16_t w) {
  const auto it = weights_.find(w);
  if (it != weights_.end() && --it->second == 0) weights_.erase(it);
}

void TxClass::next() {
  head_ = head_->next_;
  began_ = false;
}

TxSource* TxClass::current() {
  for (size_t tried = 0;; tried++) {
    if (!began_) {
      // Bounds what one saves that has turns but sends less than it may.
      const int64_t quantum_now = quantum(*head_);
      head_->deficit_ = std::min(head_->deficit_ + quantum_now, 4 * quantum_now);
      began_ = true;
    }
    if (head_->deficit_ > 0) return head_;
    next();
    if (tried >= size_) pass_idle_rounds();
  }
}

/// Everybody has sent more than its share: as many rounds at once as nobody could use.
void TxClass::pass_idle_rounds() {
  int64_t rounds = std::numeric_limits<int64_t>::max();
  for_each([&](const TxSource* s) {
    rounds = std::min(rounds, std::max<int64_t>(0, -s->deficit_) / quantum(*s));
  });
  for_each([&](TxSource* s) { s->deficit_ += rounds * quantum(*s); });
}

}  // namespace verna
