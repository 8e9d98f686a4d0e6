// SPDX-License-Identifier: GPL-2.0-or-later
// Timers of the card, driven by the time that Nic::run() is given.
#pragma once

#include <vector>

#include "base/types.h"

namespace verna {

class TimerQueue;

/// One timer, a member of the object that it belongs to. Its destructor cancels it. Moving the
/// deadline later is O(1): the queue finds out when the old deadline comes, so a retransmission
/// timer may be pushed back with every acknowledgement.
class Timer {
 public:
  using Callback = void (*)(void* owner, Nanos now);
  Timer(TimerQueue& queue, Callback callback, void* owner)
      : queue_(&queue), callback_(callback), owner_(owner) {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer();

  void set(Nanos deadline);
  void cancel() { deadline_ = kNever; }
  bool pending() const { return deadline_ != kNever; }
  Nanos deadline() const { return deadline_; }

 private:
  friend class TimerQueue;
  TimerQueue* queue_;
  Callback callback_;
  void* owner_;
  Nanos deadline_ = kNever;
  Nanos queued_ = kNever;  // key of this timer's live heap entry, kNever if it has none
};

/// All timers of a card: a binary heap with lazy removal, bounded by the number of timers.
class TimerQueue {
 public:
  /// Calls back every timer whose deadline has come, in order of deadline.
  void run(Nanos now);
  /// No timer is due before this; it may be earlier than the first real deadline.
  Nanos next() const { return heap_.empty() ? kNever : heap_.front().when; }

 private:
  friend class Timer;
  struct Entry {
    Nanos when;
    uint64_t order;  // same deadline: first set, first called, so that runs are reproducible
    Timer* timer;    // null: the timer is gone
  };
  void push(Timer* timer, Nanos when);
  void forget(Timer* timer);

  std::vector<Entry> heap_;
  uint64_t order_ = 0;
};

}  // namespace verna
