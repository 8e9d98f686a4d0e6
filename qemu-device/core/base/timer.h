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
  uint64_t order_ = 0;       // of the last set()
  size_t index_ = kNoIndex;  // of this timer's heap entry
  static constexpr size_t kNoIndex = ~size_t{0};
};

/// All timers of a card: a binary heap with at most one entry per timer. An entry's key may be
/// earlier than its timer's deadline (moved later or cancelled); that is put right when it comes
/// up.
class TimerQueue {
 public:
  TimerQueue() = default;
  TimerQueue(const TimerQueue&) = delete;
  TimerQueue& operator=(const TimerQueue&) = delete;

  /// Calls back every timer whose deadline has come, in order of deadline. A timer that its
  /// callback sets to a time that has come waits for the next run.
  void run(Nanos now);
  /// Timers that are or were set; not yet found to be cancelled.
  size_t size() const { return heap_.size(); }
  /// No timer is due before this; it may be earlier than the first real deadline.
  Nanos next() const { return heap_.empty() ? kNever : heap_.front().when; }

 private:
  friend class Timer;
  struct Entry {
    Nanos when;
    uint64_t order;  // same deadline: first set, first called, so that runs are reproducible
    Timer* timer;
    bool before(const Entry& other) const {
      return when != other.when ? when < other.when : order < other.order;
    }
  };
  void schedule(Timer* timer);
  void forget(Timer* timer);
  void place(size_t index, const Entry& entry);
  void sift_up(size_t index, Entry entry);
  void sift_down(size_t index, Entry entry);

  std::vector<Entry> heap_;
  uint64_t order_ = 0;
  Nanos floor_ = 0;  // while running: the time, so that new timers sort behind those that are due
};

}  // namespace verna
