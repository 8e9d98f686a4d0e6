// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/tx_ring.h"

namespace verna {

void TxRing::add(TxMember* member) {
  if (!head_) {
    member->next_ = member->prev_ = member;
    head_ = member;
    began_ = false;
  } else {
    member->next_ = head_;
    member->prev_ = head_->prev_;
    head_->prev_->next_ = member;
    head_->prev_ = member;
  }
  size_++;
}

void TxRing::remove(TxMember* member) {
  member->prev_->next_ = member->next_;
  member->next_->prev_ = member->prev_;
  if (member == head_) {
    head_ = size_ > 1 ? member->next_ : nullptr;
    began_ = false;
  }
  member->next_ = member->prev_ = nullptr;
  size_--;
}

void TxRing::next() {
  head_ = head_->next_;
  began_ = false;
}

TxMember* TxRing::current(uint32_t round) {
  for (size_t tried = 0;; next()) {
    if (!began_) head_->credit.begin_turn(quantum(*head_, round));
    began_ = true;
    if (head_->credit.bytes() > 0) return head_;
    if (++tried <= size_) continue;
    pass_idle_rounds([&](auto f) {
      for_each([&](TxMember* member) { f(member->credit, quantum(*member, round)); });
    });
    tried = 0;
  }
}

void TxRing::set_weight(TxMember* member, uint16_t weight) {
  if (const auto old = weights_.find(member->weight_); old != weights_.end() && --old->second == 0)
    weights_.erase(old);
  member->weight_ = weight;
  if (weight != 1) weights_[weight]++;
}

}  // namespace verna
