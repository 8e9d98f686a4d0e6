// SPDX-License-Identifier: GPL-2.0-or-later
// The transmit scheduler: which queue sends next, and which queues the card polls by itself.
#pragma once

#include <vector>

#include "sched/tx_source.h"
#include "sched/tx_tree.h"

namespace verna {

/// Largest weight of a queue, a group or a class.
inline constexpr uint16_t kMaxTxWeight = 1024;

/// How one queue is served; see verna_cmd_modify_txq.
struct TxQueueSetup {
  uint8_t tclass = 0;
  uint16_t weight = 1;
  uint32_t rate_kbps = 0;
  uint32_t burst_bytes = 0;
};

/// Lets sources send in turn: classes by priority and weight, in a class the nodes of the tree from
/// the top down, at last the queues of a group by weight, each within its rate. A source that must
/// wait for its rate is parked until it may go on, a node that must is held with all that is below
/// it, and next_deadline() tells when the first goes on. A source that finds the wire full keeps
/// its turn until there is room, so that frames of no size are put at a disadvantage. The scheduler
/// also keeps the list of sources that were active lately and are polled without a doorbell; one
/// that stays idle is armed and leaves the list.
class Scheduler {
 public:
  /// Something happened that may give `source` work (doorbell, acknowledgement, timer, response).
  void wake(TxSource* source);
  /// `source` goes away.
  void remove(TxSource* source);

  /// Time of what configures; run() sets it, too.
  void set_now(Nanos now) { now_ = now; }
  Nanos now() const { return now_; }
  /// A source that was never configured has the default values. Only for Ethernet queues.
  void configure(TxSource* source, const TxQueueSetup& setup);
  /// What all sources below `node` send together does not exceed `kbps`, 0: no limit.
  void limit(TxNode* node, uint32_t kbps) { tree_.limit(node, kbps, now_); }
  /// `node` sends `kbps` before siblings of its priority without a guarantee share what is left,
  /// this one among them, class by class; 0: none. If guarantees come to more than there is, each
  /// has its part. It gets 0 again before it goes.
  void guarantee(TxNode* node, uint32_t kbps) { tree_.guarantee(node, kbps, now_); }
  /// The weight of `node` among siblings of its priority, at first 1, in every class. It gets 1
  /// again before it goes.
  void share(TxNode* node, uint16_t weight) { tree_.share(node, weight); }
  /// Siblings of higher priority go first, at first 0.
  void prioritize(TxNode* node, uint8_t priority) { tree_.prioritize(node, priority, now_); }
  /// `parent`, an inner node that is not below `node`, is above it, or, null, nobody, as at first.
  void attach(TxNode* node, TxNode* parent) { tree_.attach(node, parent, now_); }
  /// `rdma_class` is that of all queue pairs.
  void configure_classes(const TxClassSetup& setup, uint8_t rdma_class);
  /// Classes as after power-on. Sources are gone by then, or go on with their own settings.
  void reset_classes() { configure_classes({}, 0); }
  /// Nobody sends before `until` (IEEE 802.3 PAUSE); a time that has passed ends the pause.
  void pause(Nanos until) { paused_until_ = until; }

  /// Called from transmit(): what the source sends now is copied, and costs it so much more.
  void charge_copies(uint32_t bytes) { copied_ += bytes; }

  /// Polls, then sends up to about `byte_budget` bytes in all. True: more could be sent at once.
  bool run(Nanos now, uint32_t byte_budget);

  /// Arms every polled source that has nothing to send. False: one of them found work; the card
  /// must not sleep.
  bool arm_all(Nanos now);
  /// False: nothing can be sent before next_deadline(), room on the wire, or a wake().
  bool can_send(Nanos now) const;
  /// When something can be sent again that must wait now; kNever: nothing waits for a time.
  Nanos next_deadline(Nanos now) const;
  /// Some source waits for room on the wire.
  bool wire_full() const { return wire_full_; }
  /// With false, wake() by a doorbell does not make a source polled (the owner runs the card from
  /// the doorbell and wants the next one, too).
  void set_polling(bool on) { polling_ = on; }

  /// Turns taken since the card was made, but those that found the wire full.
  uint64_t turns() const { return turns_; }
  size_t num_runnable() const { return classes_.num_runnable(); }
  /// Sources that wait for their rate or that of a node.
  size_t num_parked() const { return parked_.size() + tree_.num_held(); }
  size_t num_polled() const { return polled_.size(); }
  /// Settings of a source as they are, for people.
  TxQueueSetup setup_of(const TxSource& source) const;
  uint8_t rdma_class() const { return rdma_class_; }
  const TxClasses::All& classes() const { return classes_.all(); }

 private:
  static constexpr uint32_t kIdlePolls = 256;  // then a source is armed
  static constexpr size_t kMaxPolled = 64;     // beyond it sources need their doorbells
  uint8_t class_of(const TxSource& source) const {
    return source.kind_ == TxSource::Kind::kRdma ? rdma_class_ : source.tclass_;
  }
  TxGroup& group_of(const TxSource& source) { return source.group_ ? *source.group_ : ungrouped_; }
  TxPart& part_of(const TxSource& source) { return group_of(source).parts[class_of(source)]; }
  void make_runnable(TxSource* source);
  void make_polled(TxSource* source);
  void make_idle(TxSource* source);
  void park(TxSource* source, Nanos until);
  void release_parked(Nanos now);
  void take_off(TxSource* source);
  uint32_t allowance(const TxSource& source, Nanos now);
  void poll_sources(Nanos now);
  enum class Before { kNobody, kIdle, kWork };
  Before poll_those_before(const TxClass& tclass, Nanos now);
  bool retire(TxSource* source, Nanos now);
  uint32_t take_turn(TxClass* tclass, uint32_t byte_budget, Nanos now);
  bool serve(int64_t* byte_budget, Nanos now);
  void end_turn(TxClass* tclass, TxSource* source, const TxTurn& turn, Nanos now);

  TxClasses classes_;
  TxTree tree_{classes_};
  TxGroup ungrouped_;  // of those that joined none
  uint8_t rdma_class_ = 0;
  DueHeap<TxSource> parked_;
  std::vector<TxSource*> polled_;
  Nanos now_ = 0;
  Nanos paused_until_ = 0;
  uint64_t turns_ = 0;
  uint64_t copied_ = 0;  // by the turn that is going on
  bool wire_full_ = false;
  bool polling_ = true;
};

}  // namespace verna
