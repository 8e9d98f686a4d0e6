// SPDX-License-Identifier: GPL-2.0-or-later
// An Ethernet TX queue: descriptors in host memory to frames on the wire.
#pragma once

#include <array>

#include "base/counters.h"
#include "base/trace.h"
#include "eth/eth_wire.h"
#include "eth/rx_shared.h"
#include "eth/segmenter.h"
#include "eth/tx_packet.h"
#include "hw/verna_cmd.h"
#include "hw/verna_eth.h"
#include "queue/cq.h"
#include "queue/work_queue.h"
#include "sched/scheduler.h"

namespace verna {

/// What Ethernet queues need of the card around them. All of it outlives them.
struct EthContext {
  HostBus& bus;
  EventSink& events;
  EthWire& wire;
  Counters& counters;
  Trace& trace;
  RxShared& rx;
  uint32_t mtu;                // current
  bool watch_buffers = false;  // PAUSE is sent for want of them
  bool rx_short = false;       // a queue was found nearly empty
};

/// What CREATE_TXQ and CREATE_RXQ say, checked and loaded.
struct EthQueueSetup {
  uint32_t id;
  FunctionId fn;
  uint32_t uar;
  PageList memory;
  WorkQueue::Layout layout;
  Cq* cq;
};

/// Sends packets in the order of posting and completes them in batches. A packet that breaks a rule
/// is completed in error and the queue goes on; a queue whose ring itself is broken stops.
///
/// The unit of work is a frame: a packet that is cut into segments may rest between any two of them
/// (wire full, budget used up) and goes on in a later turn.
class TxQueue : public TxSource {
 public:
  explicit TxQueue(EthContext& context) : context_(context) {}
  ~TxQueue() override {
    if (cq_) cq_->users--;
  }
  TxQueue(const TxQueue&) = delete;
  TxQueue& operator=(const TxQueue&) = delete;

  enum class Init { kOk, kBadLayout, kDmaFault };
  Init init(EthQueueSetup setup);

  bool poll(Nanos now) override;
  Result transmit(uint32_t byte_budget, Nanos now) override;
  bool arm_doorbell(Nanos now) override;
  void disarm_doorbell() override;

  uint32_t id() const { return id_; }
  uint32_t uar() const { return uar_; }
  uint32_t cqn() const { return cq_->cqn(); }
  bool stopped() const { return stopped_; }
  const WorkQueue& ring() const { return ring_; }
  std::array<uint64_t, VERNA_TXQ_NUM_COUNTERS> counters{};

  /// The segments of one packet leave no faster than this, 0: at once.
  void set_pace(uint32_t kbps, Nanos now) {
    pace_kbps_ = kbps;
    pace_.configure(kbps, 1, now);
  }
  uint32_t pace_kbps() const { return pace_kbps_; }

 private:
  enum class Step { kSent, kIncomplete, kWireFull, kStopped, kPaced };

  Step send_one(uint32_t* bytes, Nanos now);
  Step collect();
  bool start_packet(Nanos now);
  uint8_t* reserve(uint32_t length);
  bool commit(uint32_t length);
  bool may_go() const;
  bool write_packet(uint8_t* packet, uint32_t length);
  uint32_t next_length() const;
  uint32_t max_frame() const { return context_.mtu + VERNA_ETH_OVERHEAD; }
  void refuse(verna_cqe_status status, verna_eth_counter reason, Nanos now);
  void count_frame(uint32_t length, bool sent);
  void pace(uint32_t length, Nanos now);
  void finish();
  void complete(Nanos now);
  void write_cqe(uint32_t index, verna_cqe_status status, Nanos now);
  void stop();

  static constexpr uint32_t kBatch = 64;  // packets that one CQE completes

  EthContext& context_;
  PageList memory_;
  WorkQueue ring_;
  Cq* cq_ = nullptr;
  uint32_t id_ = 0;
  uint32_t uar_ = 0;
  FunctionId fn_ = 0;
  bool stopped_ = false;
  uint32_t pace_kbps_ = 0;
  Shaper pace_;              // of segments
  uint32_t unreported_ = 0;  // packets done that no CQE tells yet
  uint32_t last_done_ = 0;   // index of the last descriptor of them
  uint32_t incomplete_ = 0;  // descriptors at the head that have no EOP yet

  // The packet at the head of the ring. Its descriptors are consumed when it is done.
  bool in_progress_ = false;    // it was checked, and frames of it are left
  bool first_segment_ = false;  // none of its segments was sent
  TxPacket packet_;
  TxReader reader_;
  Segmenter segmenter_;
};

}  // namespace verna
