// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue/cq.h"

#include <algorithm>

namespace verna {

bool Cq::push(verna_cqe* cqe, bool solicited) {
  if (error_) return false;
  error_ = ring_.push(cqe) != PhaseRing::Push::kOk;
  solicited_ |= solicited;
  if (!dirty_) {
    dirty_ = true;
    flush_list_->add(this);
  }
  return !error_;
}

/// An overrun wakes whoever waits: what was written before is worth reading.
void Cq::flush(EventSink& events) {
  dirty_ = false;
  if (ring_.take_arm(solicited_ || error_))
    events.post_event(eqn_, VERNA_EVENT_COMPLETION, fn_, cqn_, 0);
  solicited_ = false;
  if (error_ && !error_reported_) {
    error_reported_ = true;
    events.post_event(eqn_, VERNA_EVENT_CQ_ERROR, fn_, cqn_, 0);
  }
}

void CqFlushList::add(Cq* cq) { dirty_.push_back(cq); }

void CqFlushList::remove(Cq* cq) { std::erase(dirty_, cq); }

void CqFlushList::flush(EventSink& events) {
  size_t kept = 0;
  for (size_t i = 0; i < dirty_.size(); i++) {
    Cq* cq = dirty_[i];
    if (events.ready(cq->eqn()))
      cq->flush(events);
    else
      dirty_[kept++] = cq;
  }
  dirty_.resize(kept);
}

}  // namespace verna
