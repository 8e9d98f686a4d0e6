// SPDX-License-Identifier: GPL-2.0-or-later
// The transmit scheduler: which queue sends next, and which queues the card polls by itself.
#pragma once

#include <vector>

#include "base/types.h"

namespace verna {

/// A queue that sends: an Ethernet TX queue or a queue pair (its requester and responder).
class TxSource {
 public:
  enum class Result {
    kIdle,      // nothing to send now; wake() when there is
    kMore,      // budget used up, more to send
    kWireFull,  // the wire had no room; try again when it has
  };
  virtual ~TxSource() = default;

  /// Reads the producer index. True: there is something to send now.
  virtual bool poll(Nanos now) = 0;
  /// Sends about `byte_budget` bytes (whole frames) and processes requests that send nothing.
  virtual Result transmit(uint32_t byte_budget, Nanos now) = 0;
  /// The card stops polling: sets need_doorbell, then looks once more. False: work appeared, the
  /// doorbell is not needed after all.
  virtual bool arm_doorbell(Nanos now) = 0;
  /// The card polls from now on: clears need_doorbell.
  virtual void disarm_doorbell() = 0;

 private:
  friend class Scheduler;
  bool runnable_ = false;
  bool polled_ = false;
  uint32_t idle_polls_ = 0;
};

/// Round robin by bytes over the runnable sources, and the list of sources that were active lately
/// and are polled without a doorbell. A source that stays idle is armed and leaves the list.
class Scheduler {
 public:
  /// Something happened that may give `source` work (doorbell, acknowledgement, timer, response).
  void wake(TxSource* source);
  /// `source` goes away.
  void remove(TxSource* source);

  /// Polls, then sends up to about `byte_budget` bytes in all. True: more could be sent at once.
  bool run(Nanos now, uint32_t byte_budget);

  /// Arms every polled source. False: one of them found work; the card must not sleep.
  bool arm_all(Nanos now);
  /// Some source waits for room on the wire.
  bool wire_full() const { return wire_full_; }
  /// With false, wake() by a doorbell does not make a source polled (the owner runs the card from
  /// the doorbell and wants the next one, too).
  void set_polling(bool on) { polling_ = on; }

  /// Turns taken since the card was made, but those that found the wire full.
  uint64_t turns() const { return turns_; }
  size_t num_runnable() const { return runnable_.size(); }
  size_t num_polled() const { return polled_.size(); }

 private:
  static constexpr uint32_t kQuantum = 16384;  // bytes of one turn
  static constexpr uint32_t kIdleCost = 4096;  // charged for a turn that ended for lack of work
  static constexpr uint32_t kIdlePolls = 256;  // then a source is armed
  static constexpr size_t kMaxPolled = 64;     // beyond it sources need their doorbells
  void make_runnable(TxSource* source);
  void make_polled(TxSource* source);
  void poll_sources(Nanos now);
  bool retire(TxSource* source, Nanos now);
  uint32_t take_turn(uint32_t budget, size_t* blocked, Nanos now);

  std::vector<TxSource*> runnable_;
  std::vector<TxSource*> polled_;
  size_t cursor_ = 0;
  uint64_t turns_ = 0;
  bool wire_full_ = false;
  bool polling_ = true;
};

}  // namespace verna
