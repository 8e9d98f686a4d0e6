// SPDX-License-Identifier: GPL-2.0-or-later
// An Ethernet RX queue: a packet into the buffers that the host posted.
#pragma once

#include "eth/tx_queue.h"
#include "pkt/packet_view.h"

namespace verna {

/// Places packets in posted buffers, one after the other, and completes each with one CQE.
///
/// A packet that cannot be delivered for lack of room uses no buffer. One whose buffers are invalid
/// uses them up: they are completed in error, so that the host gets them back and the queue goes
/// on.
class RxQueue {
 public:
  explicit RxQueue(EthContext& context) : context_(context) {}
  ~RxQueue() {
    if (cq_) cq_->users--;
  }
  RxQueue(const RxQueue&) = delete;
  RxQueue& operator=(const RxQueue&) = delete;

  TxQueue::Init init(EthQueueSetup setup);

  /// Delivers or drops; returns the one counter that tells, already counted.
  verna_eth_counter deliver(const PacketView& packet, const Rss::Choice& choice, Nanos now);

  /// Less than an eighth of the ring is posted; reads the index before it says so.
  bool nearly_empty();

  uint32_t id() const { return id_; }
  uint32_t uar() const { return uar_; }
  uint32_t cqn() const { return cq_->cqn(); }
  bool stopped() const { return stopped_; }
  const WorkQueue& ring() const { return ring_; }
  std::array<uint64_t, VERNA_RXQ_NUM_COUNTERS> counters{};

 private:
  // Smallest buffers, largest packet.
  static constexpr uint32_t kMaxBuffers = kMaxFrame / kMinRxBufferBytes + 1;
  struct Buffers {
    std::array<verna_rx_desc, kMaxBuffers> desc;
    uint32_t count = 0;
  };

  verna_eth_counter place(const PacketView& packet, const Rss::Choice& choice, Nanos now);
  verna_eth_counter collect(uint32_t len, Buffers* buffers);
  bool scatter(const PacketView& packet, const Buffers& buffers);
  bool write_cqe(const PacketView* packet, const Rss::Choice& choice, uint32_t count,
                 verna_cqe_status status, Nanos now);
  void stop();

  EthContext& context_;
  PageList memory_;
  WorkQueue ring_;
  Cq* cq_ = nullptr;
  uint32_t id_ = 0;
  uint32_t uar_ = 0;
  FunctionId fn_ = 0;
  bool stopped_ = false;
};

}  // namespace verna
