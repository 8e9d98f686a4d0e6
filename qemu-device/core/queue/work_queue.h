// SPDX-License-Identifier: GPL-2.0-or-later
// Reader of work queues: the host's side of every TX, RX, send and receive queue.
#pragma once

#include <array>
#include <memory>

#include "queue/queue_memory.h"

namespace verna {

/// Reads one ring of work-queue entries and its record as verna_queue.h describes. Entries are
/// fetched in batches and copied once into the card; what a caller sees cannot change under it.
class WorkQueue {
 public:
  struct Layout {
    uint32_t rec_offset;
    uint32_t ring_offset;
    uint8_t log_size;
    uint8_t log_stride;
  };

  /// `memory` is shared by the queues of one object and outlives this, at the same address. False:
  /// the layout does not fit the memory or is misaligned (record to 128 bytes, ring to its stride).
  /// Touches no host memory: the owner of a sending queue calls set_need_doorbell(true) next.
  bool init(HostBus* bus, FunctionId fn, const PageList* memory, const Layout& layout);

  /// Reads the producer index. False: DMA failed, or the host claims more entries than the ring
  /// holds or took entries back; the queue is then unusable.
  [[nodiscard]] bool refresh();

  /// Entries posted (as of the last refresh) that were not consumed.
  uint32_t available() const { return prod_ - cons_; }
  /// Free-running index of the next entry.
  uint32_t next_index() const { return cons_; }
  uint32_t size() const { return 1u << layout_.log_size; }
  uint32_t stride() const { return 1u << layout_.log_stride; }

  /// The card's copy of entry next_index() + `ahead` (< available()), `stride()` bytes, valid until
  /// the next call of entry() or consume(). Null: DMA failed.
  const uint8_t* entry(uint32_t ahead = 0);

  /// Copy of an entry that was consumed already (a retransmission reads its request again). The
  /// host must not reuse it before completion; if it does, only its own queue suffers.
  [[nodiscard]] bool reread(uint32_t index, void* dst, uint32_t len);

  void consume(uint32_t n = 1) { cons_ += n; }

  /// Tells the host whether it must ring the doorbell. Setting it is followed by a full barrier,
  /// after which the caller must refresh() once more.
  [[nodiscard]] bool set_need_doorbell(bool need);
  bool need_doorbell() const { return need_doorbell_; }

  /// Back to empty: both indices zero (QP to RESET). The host resets its record likewise.
  void reset();

 private:
  static constexpr uint32_t kBatchBytes = 4096;
  const uint8_t* fetch(uint32_t index);

  HostBus* bus_ = nullptr;
  const PageList* memory_ = nullptr;
  FunctionId fn_ = 0;
  Layout layout_{};
  uint64_t rec_addr_ = 0;  // bus address of the record
  uint32_t prod_ = 0;
  uint32_t cons_ = 0;
  bool need_doorbell_ = false;
  uint32_t batch_first_ = 0;  // entries [batch_first_, batch_first_ + batch_count_) are in batch_
  uint32_t batch_count_ = 0;
  std::unique_ptr<std::array<uint8_t, kBatchBytes>> batch_;
};

}  // namespace verna
