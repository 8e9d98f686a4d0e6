// SPDX-License-Identifier: GPL-2.0-or-later
// What the transmit scheduler serves.
#pragma once

#include <algorithm>
#include <vector>

#include "base/types.h"
#include "hw/verna_eth.h"
#include "sched/shaper.h"
#include "sched/tx_group.h"

namespace verna {

/// A queue that sends: an Ethernet TX queue or a queue pair (its requester and responder).
class TxSource : private TxMember, public DueItem {
 public:
  enum class Result {
    kIdle,      // nothing to send now; wake() when there is
    kMore,      // budget used up, more to send
    kWireFull,  // the wire had no room; try again when it has
    kLater,     // more to send, but not before the time of later()
  };
  enum class Kind { kEthernet, kRdma };
  explicit TxSource(Kind kind = Kind::kEthernet) : kind_(kind) {}
  virtual ~TxSource() = default;
  /// Before it is configured and sends. The group outlives it.
  void join(TxGroup& group) { group_ = &group; }

  /// Reads the producer index. True: there is something to send now.
  virtual bool poll(Nanos now) = 0;
  /// Sends about `byte_budget` bytes (whole frames, at least one if there is one) and processes
  /// requests that send nothing. Tells charge() of every frame.
  virtual Result transmit(uint32_t byte_budget, Nanos now) = 0;
  /// The card stops polling: sets need_doorbell, then looks once more. False: work appeared, the
  /// doorbell is not needed after all.
  virtual bool arm_doorbell(Nanos now) = 0;
  /// The card polls from now on: clears need_doorbell.
  virtual void disarm_doorbell() = 0;

  /// A frame of `len` bytes without FCS was sent; the wire has it padded.
  void charge(uint32_t len) { sent_ += std::max(len, VERNA_ETH_MIN_FRAME); }

 protected:
  /// What transmit() returns when the next frame may not leave before `when`.
  Result later(Nanos when) {
    later_ = when;
    return Result::kLater;
  }

 private:
  friend class Scheduler;
  friend class TxClass;
  friend class TxTree;
  friend void append_sources(const TxPart& part, std::vector<TxSource*>* out);
  /// Parked: waits for a point in time of its own, as a DueItem.
  enum class State { kIdle, kRunnable, kParked };

  Kind kind_;
  State state_ = State::kIdle;
  bool polled_ = false;
  uint32_t idle_polls_ = 0;
  uint64_t sent_ = 0;  // bytes since the scheduler asked last
  Nanos later_ = 0;

  uint8_t tclass_ = 0;  // of an Ethernet queue; queue pairs share one
  Shaper shaper_;
  TxGroup* group_ = nullptr;  // null: the one of all that joined none
  TxPart* part_ = nullptr;    // null: it is not runnable
  uint32_t burst_bytes_ = 0;  // as it was configured
};

}  // namespace verna
