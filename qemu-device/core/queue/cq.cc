// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue/cq.h"

#include <algorithm>

namespace verna {

bool Cq::push(verna_cqe* cqe, bool solicited) {
  if (error_) return false;
  error_ = ring_.push(cqe) != PhaseRing::Push::kOk;
  batch_++;
  solicited_ |= solicited;
  make_dirty();
  return !error_;
}

void Cq::make_dirty() {
  if (dirty_) return;
  dirty_ = true;
  flush_list_->add(this);
}

void Cq::moderate(const CqModeration& moderation) {
  moderation_ = moderation;
  if (!waiting_) return;
  due_ = 0;
  make_dirty();
}

void Cq::on_timer(void* cq, Nanos) { static_cast<Cq*>(cq)->make_dirty(); }

/// An overrun wakes whoever waits: what was written before is worth reading.
void Cq::flush(EventSink& events, Nanos now) {
  dirty_ = false;
  const PhaseRing::Arm arm = ring_.look_for_arm();
  if (event_due(arm, now)) {
    end_wait();
    ring_.serve(arm);
    events.post_event(eqn_, VERNA_EVENT_COMPLETION, fn_, cqn_, 0);
  }
  solicited_ = false;
  batch_ = 0;
  if (error_ && !error_reported_) {
    error_reported_ = true;
    events.post_event(eqn_, VERNA_EVENT_CQ_ERROR, fn_, cqn_, 0);
  }
}

/// False: the event waits (begin_wait), or there is none: entries that came before the arming are
/// found by the look that the host takes after it. Nobody is owed an event but by the arm word that
/// is there now, so a wait lasts only as long as that word does.
bool Cq::event_due(const PhaseRing::Arm& arm, Nanos now) {
  const bool owed =
      arm.type == VERNA_ARM_NEXT || (arm.type == VERNA_ARM_SOLICITED && (solicited_ || error_));
  if (waiting_ && (!owed || wait_sn_ != arm.sn)) end_wait();
  if (!owed || (!waiting_ && batch_ == 0)) return false;
  if (moderation_.delay_ns == 0 || arm.type == VERNA_ARM_SOLICITED || error_) return true;
  if (!waiting_) begin_wait(arm, now);
  written_ += batch_;
  return now >= due_ || (moderation_.entries != 0 && written_ >= moderation_.entries);
}

void Cq::begin_wait(const PhaseRing::Arm& arm, Nanos now) {
  waiting_ = true;
  wait_sn_ = arm.sn;
  written_ = 0;
  due_ = now + moderation_.delay_ns;
  timer_.set(due_);
}

void Cq::end_wait() {
  waiting_ = false;
  timer_.cancel();
}

void CqFlushList::add(Cq* cq) { dirty_.push_back(cq); }

void CqFlushList::remove(Cq* cq) { std::erase(dirty_, cq); }

void CqFlushList::flush(EventSink& events, Nanos now) {
  size_t kept = 0;
  for (size_t i = 0; i < dirty_.size(); i++) {
    Cq* cq = dirty_[i];
    if (events.ready(cq->eqn()))
      cq->flush(events, now);
    else
      dirty_[kept++] = cq;
  }
  dirty_.resize(kept);
}

}  // namespace verna
