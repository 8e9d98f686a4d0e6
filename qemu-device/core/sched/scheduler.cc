// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/scheduler.h"

#include <algorithm>

namespace verna {

void Scheduler::wake(TxSource* source) {
  make_runnable(source);
  make_polled(source);
}

void Scheduler::make_runnable(TxSource* source) {
  if (source->runnable_) return;
  source->runnable_ = true;
  runnable_.push_back(source);
}

void Scheduler::make_polled(TxSource* source) {
  source->idle_polls_ = 0;
  if (source->polled_ || !polling_ || polled_.size() >= kMaxPolled) return;
  source->polled_ = true;
  polled_.push_back(source);
  source->disarm_doorbell();
}

void Scheduler::remove(TxSource* source) {
  if (source->runnable_) {
    const auto it = std::find(runnable_.begin(), runnable_.end(), source);
    if (static_cast<size_t>(it - runnable_.begin()) < cursor_) cursor_--;
    runnable_.erase(it);
  }
  if (source->polled_) std::erase(polled_, source);
  source->runnable_ = source->polled_ = false;
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
    if (source->runnable_) {
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

/// Lets the source at the cursor send. Returns what it is charged; counts in `*blocked` the sources
/// in a row that found the wire full.
uint32_t Scheduler::take_turn(uint32_t budget, size_t* blocked, Nanos now) {
  if (cursor_ >= runnable_.size()) cursor_ = 0;
  TxSource* source = runnable_[cursor_];
  const TxSource::Result result = source->transmit(budget, now);
  if (result == TxSource::Result::kWireFull) {
    wire_full_ = true;
    cursor_++;
    ++*blocked;
    return 0;
  }
  turns_++;
  *blocked = 0;
  if (result == TxSource::Result::kMore) {
    cursor_++;
    return budget;
  }
  source->runnable_ = false;
  runnable_[cursor_] = runnable_.back();
  runnable_.pop_back();
  return std::min(budget, kIdleCost);
}

bool Scheduler::run(Nanos now, uint32_t byte_budget) {
  poll_sources(now);
  wire_full_ = false;
  size_t blocked = 0;
  while (byte_budget > 0 && blocked < runnable_.size())
    byte_budget -= take_turn(std::min(byte_budget, kQuantum), &blocked, now);
  return blocked < runnable_.size();
}

bool Scheduler::arm_all(Nanos now) {
  size_t kept = 0;
  for (size_t i = 0; i < polled_.size(); i++) {
    if (!retire(polled_[i], now)) polled_[kept++] = polled_[i];
  }
  polled_.resize(kept);
  return kept == 0;
}

}  // namespace verna
