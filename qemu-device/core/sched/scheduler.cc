// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/scheduler.h"

#include <algorithm>
#include <utility>

namespace verna {

void Scheduler::wake(TxSource* source) {
  if (source->state_ == TxSource::State::kIdle) make_runnable(source);
  make_polled(source);
}

void Scheduler::make_runnable(TxSource* source) {
  if (source->state_ == TxSource::State::kRunnable) return;
  source->state_ = TxSource::State::kRunnable;
  tree_.add(source, &part_of(*source), now_);
}

void Scheduler::make_polled(TxSource* source) {
  source->idle_polls_ = 0;
  if (source->polled_ || !polling_ || polled_.size() >= kMaxPolled) return;
  source->polled_ = true;
  polled_.push_back(source);
  source->disarm_doorbell();
}

/// Neither runnable nor parked any more.
void Scheduler::take_off(TxSource* source) {
  if (source->state_ == TxSource::State::kRunnable) {
    tree_.remove(source);
  } else if (source->state_ == TxSource::State::kParked) {
    parked_.erase(source);
  }
  source->state_ = TxSource::State::kIdle;
}

void Scheduler::make_idle(TxSource* source) {
  take_off(source);
  source->credit.drop_savings();
}

void Scheduler::park(TxSource* source, Nanos until) {
  take_off(source);
  source->state_ = TxSource::State::kParked;
  parked_.push(source, until);
}

void Scheduler::release_parked(Nanos now) {
  while (parked_.next() <= now) {
    TxSource* source = parked_.first();
    parked_.erase(source);
    make_runnable(source);
  }
}

void Scheduler::remove(TxSource* source) {
  take_off(source);
  if (source->polled_) std::erase(polled_, source);
  source->polled_ = false;
  part_of(*source).sources.set_weight(source, 1);
}

void Scheduler::configure(TxSource* source, const TxQueueSetup& setup) {
  const bool has_work = source->state_ != TxSource::State::kIdle;
  take_off(source);
  part_of(*source).sources.set_weight(source, 1);
  source->tclass_ = setup.tclass;
  part_of(*source).sources.set_weight(source, setup.weight);
  source->shaper_.configure(setup.rate_kbps, setup.burst_bytes, now_);
  source->burst_bytes_ = setup.burst_bytes;
  if (has_work) make_runnable(source);
}

uint32_t Scheduler::allowance(const TxSource& source, Nanos now) {
  return std::min(source.shaper_.allowance(now), TxTree::allowance(group_of(source), now));
}

TxQueueSetup Scheduler::setup_of(const TxSource& source) const {
  return {class_of(source), source.weight(), source.shaper_.kbps(), source.burst_bytes_};
}

void Scheduler::configure_classes(const TxClassSetup& setup, uint8_t rdma_class) {
  if (rdma_class != rdma_class_) {
    for (TxSource* source : tree_.sources(rdma_class_)) {
      if (source->kind_ != TxSource::Kind::kRdma) continue;
      tree_.remove(source);
      tree_.add(source, &group_of(*source).parts[rdma_class], now_);
    }
    rdma_class_ = rdma_class;
  }
  classes_.configure(setup, now_);
}

/// Arms a source that stayed idle. False: it has work after all.
bool Scheduler::retire(TxSource* source, Nanos now) {
  source->idle_polls_ = 0;
  if (!source->arm_doorbell(now)) {
    make_runnable(source);
    return false;
  }
  source->polled_ = false;
  return true;
}

void Scheduler::poll_sources(Nanos now) {
  size_t kept = 0;
  for (size_t i = 0; i < polled_.size(); i++) {
    TxSource* source = polled_[i];
    if (source->state_ != TxSource::State::kIdle) {
      source->idle_polls_ = 0;
    } else if (source->poll(now)) {
      source->idle_polls_ = 0;
      make_runnable(source);
    } else if (++source->idle_polls_ > kIdlePolls && retire(source, now)) {
      continue;
    }
    polled_[kept++] = source;
  }
  polled_.resize(kept);
}

/// Looks at idle sources that are polled, of classes that go before `tclass`. kWork: one of them is
/// runnable now.
Scheduler::Before Scheduler::poll_those_before(const TxClass& tclass, Nanos now) {
  Before result = Before::kNobody;
  for (TxSource* source : polled_) {
    if (source->state_ != TxSource::State::kIdle) continue;
    if (!classes_.goes_before(class_of(*source), tclass)) continue;
    if (source->poll(now)) {
      make_runnable(source);
      result = Before::kWork;
    } else if (result == Before::kNobody) {
      result = Before::kIdle;
    }
  }
  return result;
}

/// Lets the source whose turn it is send. Returns what it is charged of the run's budget.
uint32_t Scheduler::take_turn(TxClass* tclass, uint32_t byte_budget, Nanos now) {
  TxSource* source = tclass->current(now);
  if (const Nanos ready = source->shaper_.ready_at(); ready > now) {
    park(source, ready);
    return 0;
  }
  TxTurn turn{};
  turn.budget = std::min({byte_budget, tclass->right_of(*source, now),
                          TxClasses::allowance(*tclass, now), allowance(*source, now)});
  turn.result = source->transmit(turn.budget, now);
  turn.sent = std::exchange(source->sent_, 0) + std::exchange(copied_, 0);
  end_turn(tclass, source, turn, now);
  return turn.cost();
}

void Scheduler::end_turn(TxClass* tclass, TxSource* source, const TxTurn& turn, Nanos now) {
  tclass->end_turn(source, turn);
  source->shaper_.charge(turn.sent, now);
  tree_.charge(&group_of(*source), turn.sent, now);
  switch (turn.result) {
    case TxSource::Result::kWireFull:
      wire_full_ = true;
      break;
    case TxSource::Result::kIdle:
      make_idle(source);
      break;
    case TxSource::Result::kLater:
      park(source, source->later_);
      break;
    case TxSource::Result::kMore:
      break;
  }
  classes_.charge(tclass, turn.sent, now);
  if (turn.result != TxSource::Result::kWireFull || turn.sent > 0) turns_++;
}

/// One turn. False: nobody can send. A class that may have to give way any moment sends frame by
/// frame.
bool Scheduler::serve(int64_t* byte_budget, Nanos now) {
  TxClass* tclass = classes_.choose(now);
  if (!tclass) return false;
  const Before before = poll_those_before(*tclass, now);
  if (before == Before::kWork) return true;
  const auto budget = before == Before::kIdle ? 1 : static_cast<uint32_t>(*byte_budget);
  *byte_budget -= take_turn(tclass, budget, now);
  return true;
}

bool Scheduler::run(Nanos now, uint32_t byte_budget) {
  now_ = now;
  release_parked(now);
  tree_.release(now);
  poll_sources(now);
  wire_full_ = false;
  if (now < paused_until_) return false;
  int64_t left = byte_budget;
  while (left > 0 && !wire_full_ && serve(&left, now)) {
  }
  return can_send(now);
}

bool Scheduler::arm_all(Nanos now) {
  size_t kept = 0;
  bool found_work = false;
  for (size_t i = 0; i < polled_.size(); i++) {
    TxSource* source = polled_[i];
    const bool has_work = source->state_ != TxSource::State::kIdle;
    if (!has_work && retire(source, now)) continue;
    found_work |= !has_work;
    polled_[kept++] = source;
  }
  polled_.resize(kept);
  return !found_work;
}

bool Scheduler::can_send(Nanos now) const {
  return now >= paused_until_ && !wire_full_ && classes_.can_send(now);
}

Nanos Scheduler::next_deadline(Nanos now) const {
  const Nanos waiting = std::min(parked_.next(), tree_.next_release());
  if (now < paused_until_) return classes_.empty() && waiting == kNever ? kNever : paused_until_;
  return std::min(waiting, classes_.next_ready(now));
}

}  // namespace verna
