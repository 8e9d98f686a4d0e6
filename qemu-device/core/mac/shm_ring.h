// SPDX-License-Identifier: GPL-2.0-or-later
// A ring of frames in memory that two parties share: one produces, one consumes.
#pragma once

#include <atomic>
#include <cstddef>

#include "mac/port.h"

namespace verna {

/// What producer and consumer tell each other. Each word has cache lines of its own (two, because
/// processors fetch lines in pairs), so that neither party's writes disturb the other's.
///
/// The words may be shared with a hostile process. Nothing read from here is used unchecked.
struct RingControl {
  alignas(128) std::atomic<uint64_t> tail;  // producer: bytes ever published
  alignas(128) std::atomic<uint64_t> head;  // consumer: bytes ever given back
  // Consumer sets it before it sleeps; the producer that clears it wakes the consumer.
  alignas(128) std::atomic<uint32_t> consumer_sleeping;
  // Producer sets it when it found no room and sleeps; the consumer that clears it wakes it.
  alignas(128) std::atomic<uint32_t> producer_waiting;
  // Producer: 0 while its side is administratively down.
  alignas(128) std::atomic<uint32_t> producer_up;
};
static_assert(sizeof(RingControl) <= 4096);
static_assert(std::atomic<uint64_t>::is_always_lock_free);
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// Records lie in the ring at multiples of 8 bytes: a header of 8 bytes (length of the frame, low
/// word; 0, high word) and the frame in one piece. Where a frame does not fit before the end of the
/// ring there is a header with kRingWrap, and the record is at the start.
inline constexpr uint32_t kRingHeader = 8;
inline constexpr uint64_t kRingWrap = 0xffffffff;
inline constexpr uint32_t ring_record(uint32_t len) { return kRingHeader + ((len + 7) & ~7u); }
inline constexpr uint32_t kMaxRecord = ring_record(kMaxFrame);

inline constexpr uint32_t kMinRingBytes = 64u << 10;
inline constexpr uint32_t kMaxRingBytes = 64u << 20;
inline constexpr bool ring_size_valid(uint64_t bytes) {
  return bytes >= kMinRingBytes && bytes <= kMaxRingBytes && (bytes & (bytes - 1)) == 0;
}
/// A producer that waits is woken when so much is free: often enough to keep it busy, seldom enough
/// that a wake-up, which costs far more than a frame, is worth its price.
inline constexpr uint32_t ring_wake_room(uint32_t size) {
  return size / 4 > 2 * kMaxRecord ? size / 4 : 2 * kMaxRecord;
}

/// The producing end. Not thread-safe. `size` is a valid ring size.
class RingProducer {
 public:
  RingProducer(RingControl* control, uint8_t* data, uint32_t size);

  /// Room for a frame of up to `len` bytes, or null: the ring is full or broken.
  uint8_t* reserve(uint32_t len);
  /// Ends the frame in the reserved room. The consumer sees it after publish().
  void commit(uint32_t len);
  uint32_t unpublished() const { return static_cast<uint32_t>(tail_ - published_); }
  /// Shows all commits to the consumer. True: it sleeps and has to be woken.
  [[nodiscard]] bool publish();

  /// Asks to be woken when there is room. False: there is, do not sleep.
  bool prepare_wait();
  void cancel_wait() { control_->producer_waiting.store(0, std::memory_order_relaxed); }
  void set_up(bool up) { control_->producer_up.store(up, std::memory_order_release); }

  /// The consumer's index made no sense; nothing works any more.
  bool broken() const { return broken_; }

 private:
  bool has_room(uint32_t bytes);

  RingControl* control_;
  uint8_t* data_;
  uint32_t size_;
  uint64_t tail_ = 0;
  uint64_t published_ = 0;
  uint64_t head_ = 0;     // as last read and checked
  uint32_t skipped_ = 0;  // bytes before the end of the ring that the reserved record leaves out
  bool broken_ = false;
};

/// The consuming end. Not thread-safe.
class RingConsumer {
 public:
  RingConsumer(RingControl* control, const uint8_t* data, uint32_t size);

  /// The oldest frame not yet released, or null data: none, or the ring is broken.
  RxFrame peek();
  void release();
  /// Gives the released room back. True: the producer waits for it and has to be woken.
  [[nodiscard]] bool publish();
  /// True if it is time to publish(): much was released.
  bool should_publish() const { return head_ - published_ >= size_ / 16; }

  /// Asks to be woken when a frame arrives. False: there is one, do not sleep. After publish().
  bool prepare_sleep();
  void cancel_sleep() { control_->consumer_sleeping.store(0, std::memory_order_relaxed); }
  bool peer_up() const { return control_->producer_up.load(std::memory_order_acquire) != 0; }

  /// The producer's index or a record made no sense; nothing works any more.
  bool broken() const { return broken_; }

 private:
  bool refresh();
  RxFrame fail() {
    broken_ = true;
    return {};
  }

  RingControl* control_;
  const uint8_t* data_;
  uint32_t size_;
  uint64_t head_ = 0;
  uint64_t published_ = 0;
  uint64_t tail_ = 0;     // as last read and checked
  uint32_t current_ = 0;  // bytes of the record that peek() showed
  bool broken_ = false;
};

/// Private memory for one ring, for ports whose both ends are in this process.
class LocalRing {
 public:
  /// Throws std::bad_alloc.
  explicit LocalRing(uint32_t size);
  ~LocalRing();
  LocalRing(const LocalRing&) = delete;
  LocalRing& operator=(const LocalRing&) = delete;

  RingProducer producer() { return {control(), data(), size_}; }
  RingConsumer consumer() { return {control(), data(), size_}; }
  RingControl* control() const { return static_cast<RingControl*>(memory_); }

 private:
  static constexpr size_t kControlBytes = 4096;
  uint8_t* data() const { return static_cast<uint8_t*>(memory_) + kControlBytes; }

  uint32_t size_;
  void* memory_;
};

}  // namespace verna
