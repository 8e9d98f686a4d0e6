// SPDX-License-Identifier: GPL-2.0-or-later
// An Ethernet RX queue: a packet into the buffers that the host posted.
#pragma once

#include "eth/rx_merger.h"
#include "eth/tx_queue.h"
#include "pkt/packet_view.h"

namespace verna {

/// Places packets in posted buffers, one after the other, and completes each with one CQE. What a
/// packet's checksums are worth is found out here, too, and its VLAN tag stripped.
///
/// A packet that cannot be delivered for lack of room uses no buffer. One whose buffers are invalid
/// uses them up: they are completed in error, so that the host gets them back and the queue goes
/// on.
class RxQueue {
 public:
  explicit RxQueue(EthContext& context);
  /// Frames that are still held are lost: flush() before, if the host's memory is there.
  ~RxQueue();
  RxQueue(const RxQueue&) = delete;
  RxQueue& operator=(const RxQueue&) = delete;

  TxQueue::Init init(EthQueueSetup setup);

  /// Takes a frame that steering has sent here: delivers it, or counts why not.
  void receive(const PacketView& packet, const Rss::Choice& choice, Nanos now);
  /// Delivers what waits to be merged with more.
  void flush(Nanos now) { merger_.flush(now); }
  void flush_old(Nanos now) { merger_.flush_old(now); }

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
  static constexpr uint32_t kMaxBuffers =
      (RxShared::kMaxMergeBytes + VERNA_ETH_OVERHEAD) / kMinRxBufferBytes + 1;
  struct Buffers {
    std::array<verna_rx_desc, kMaxBuffers> desc;
    uint32_t count = 0;
  };

  HeldFrame* hold(const PacketView& packet, const Rss::Choice& choice);
  void merge(HeldFrame* frame, Nanos now);
  bool has_buffers_for(uint32_t more_bytes);
  void set_timer(Nanos deadline);
  void deliver(const HeldFrame& packet, Nanos now);
  verna_eth_counter place(const HeldFrame& packet, Nanos now);
  verna_eth_counter collect(uint32_t len, Buffers* buffers);
  bool scatter(const HeldFrame& packet, const Buffers& buffers);
  bool write_cqe(const HeldFrame* packet, uint32_t count, verna_cqe_status status, Nanos now);
  void count(const HeldFrame& packet, verna_eth_counter outcome);
  void stop();

  EthContext& context_;
  PageList memory_;
  WorkQueue ring_;
  Cq* cq_ = nullptr;
  uint32_t id_ = 0;
  uint32_t uar_ = 0;
  FunctionId fn_ = 0;
  bool stopped_ = false;
  uint32_t buffer_bytes_ = 0;  // of the last buffer seen
  RxMerger merger_;
  Timer timer_;  // with merge_ns: for the oldest that merger_ holds
};

}  // namespace verna
