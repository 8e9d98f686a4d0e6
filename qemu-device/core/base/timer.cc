// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/timer.h"

#include <algorithm>

namespace verna {

Timer::~Timer() {
  if (index_ != kNoIndex) queue_->forget(this);
}

void Timer::set(Nanos deadline) {
  deadline_ = deadline;
  if (deadline != kNever) queue_->schedule(this);
}

/// Only a deadline that moved forward must be sorted in at once.
void TimerQueue::schedule(Timer* timer) {
  timer->order_ = order_++;
  const Entry entry{std::max(timer->deadline_, floor_), timer->order_, timer};
  if (timer->index_ == Timer::kNoIndex) {
    heap_.push_back(entry);
    sift_up(heap_.size() - 1, entry);
  } else if (entry.before(heap_[timer->index_])) {
    sift_up(timer->index_, entry);
  }
}

void TimerQueue::forget(Timer* timer) {
  const size_t hole = timer->index_;
  timer->index_ = Timer::kNoIndex;
  const Entry last = heap_.back();
  heap_.pop_back();
  if (last.timer == timer) return;
  if (hole > 0 && last.before(heap_[(hole - 1) / 2]))
    sift_up(hole, last);
  else
    sift_down(hole, last);
}

void TimerQueue::place(size_t index, const Entry& entry) {
  heap_[index] = entry;
  entry.timer->index_ = index;
}

void TimerQueue::sift_up(size_t index, Entry entry) {
  while (index > 0) {
    const size_t parent = (index - 1) / 2;
    if (!entry.before(heap_[parent])) break;
    place(index, heap_[parent]);
    index = parent;
  }
  place(index, entry);
}

void TimerQueue::sift_down(size_t index, Entry entry) {
  for (;;) {
    size_t child = 2 * index + 1;
    if (child >= heap_.size()) break;
    if (child + 1 < heap_.size() && heap_[child + 1].before(heap_[child])) child++;
    if (!heap_[child].before(entry)) break;
    place(index, heap_[child]);
    index = child;
  }
  place(index, entry);
}

void TimerQueue::run(Nanos now) {
  // A callback may set timers to the past; what is set from here on is for the next run.
  const uint64_t first_new = order_;
  floor_ = now;
  size_t left = heap_.size();
  while (left-- > 0 && !heap_.empty() && heap_.front().when <= now) {
    Timer* timer = heap_.front().timer;
    const bool is_new = timer->order_ >= first_new;
    if (timer->deadline_ != kNever && timer->order_ != heap_.front().order) {
      const Nanos when = is_new ? std::max(timer->deadline_, now) : timer->deadline_;
      sift_down(0, Entry{when, timer->order_, timer});
      left++;  // terminates: the entry is exact now
      continue;
    }
    if (is_new) break;
    const bool due = timer->deadline_ != kNever;
    forget(timer);
    timer->deadline_ = kNever;
    if (due) timer->callback_(timer->owner_, now);
  }
  floor_ = 0;
}

}  // namespace verna
