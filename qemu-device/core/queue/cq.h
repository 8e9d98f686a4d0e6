// SPDX-License-Identifier: GPL-2.0-or-later
// Completion queues as objects of the card: number, events, error state.
#pragma once

#include "base/timer.h"
#include "hw/verna_queue.h"
#include "queue/completion_queue.h"

namespace verna {

/// Where blocks report events; implemented by ctrl/event_queue. Events that find their EQ full wait
/// in the card, up to a limit; one beyond is lost, which is fatal (VERNA_FATAL_EQ_OVERRUN).
class EventSink {
 public:
  virtual ~EventSink() = default;
  /// Writes an EQE. `eqn` is the queue that the object was created with.
  virtual void post_event(uint32_t eqn, verna_event_type type, FunctionId fn, uint32_t id,
                          uint64_t data) = 0;
  /// False: the EQ is so full that completion events, which can be made up for later, must wait.
  virtual bool ready([[maybe_unused]] uint32_t eqn) { return true; }
};

class Cq;
/// CQs with completions since the last flush; the Nic flushes it at the end of a run, so that one
/// look at the arm word and at most one event serve a whole batch. A CQ whose EQ is not ready stays
/// for the next flush: a process that arms its CQ in a loop cannot make the card lose events.
///
/// A CQ whose events are moderated comes back to the list when its delay is over.
class CqFlushList {
 public:
  /// The timers must be run before the flush of the same run.
  explicit CqFlushList(TimerQueue& timers) : timers_(timers) {}
  void add(Cq* cq);
  void remove(Cq* cq);  // the CQ is about to be destroyed
  void flush(EventSink& events, Nanos now);
  bool empty() const { return dirty_.empty(); }
  TimerQueue& timers() { return timers_; }

 private:
  TimerQueue& timers_;
  std::vector<Cq*> dirty_;
};

/// When an event of a CQ is due; see verna_cmd_modify_cq.
struct CqModeration {
  uint32_t delay_ns = 0;
  uint16_t entries = 0;
};

/// A completion queue. It knows how many objects use it, so that it cannot be destroyed under them.
class Cq {
 public:
  Cq(uint32_t cqn, FunctionId fn, uint32_t eqn, CqFlushList* flush_list)
      : cqn_(cqn),
        eqn_(eqn),
        fn_(fn),
        flush_list_(flush_list),
        timer_(flush_list->timers(), on_timer, this) {}

  bool init(HostBus* bus, PageList memory, const PhaseRing::Layout& layout) {
    return ring_.init(bus, fn_, std::move(memory), layout);
  }

  /// Writes a completion. False: the CQ is in error (overrun or its memory is gone), now or before;
  /// the first time CQ_ERROR is reported at the next flush. The caller moves its QP to error.
  bool push(verna_cqe* cqe, bool solicited);
  bool has_room() { return !error_ && ring_.has_room(); }
  bool in_error() const { return error_; }

  /// From now on. An event that waits already goes at the next flush.
  void moderate(const CqModeration& moderation);
  const CqModeration& moderation() const { return moderation_; }

  uint32_t cqn() const { return cqn_; }
  uint32_t eqn() const { return eqn_; }
  FunctionId function() const { return fn_; }
  const PhaseRing& ring() const { return ring_; }
  uint32_t users = 0;

 private:
  friend class CqFlushList;
  static void on_timer(void* cq, Nanos now);
  void make_dirty();
  void flush(EventSink& events, Nanos now);
  bool event_due(const PhaseRing::Arm& arm, Nanos now);
  void begin_wait(const PhaseRing::Arm& arm, Nanos now);
  void end_wait();

  PhaseRing ring_;
  uint32_t cqn_;
  uint32_t eqn_;
  FunctionId fn_;
  CqFlushList* flush_list_;
  CqModeration moderation_;
  Timer timer_;
  bool waiting_ = false;  // an event waits
  Nanos due_ = 0;         // when it goes
  uint32_t wait_sn_ = 0;  // of the arm word that it will answer
  uint32_t written_ = 0;  // entries that it reports
  uint32_t batch_ = 0;    // entries since the last flush
  bool dirty_ = false;
  bool solicited_ = false;
  bool error_ = false;
  bool error_reported_ = false;
};

}  // namespace verna
