// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/shm_ring.h"

#include <sys/mman.h>

#include <new>

namespace verna {

// Sleeping and waking follow Dekker's pattern on both sides: the party that goes to sleep writes
// its flag, then reads the other's index; the party that is awake writes its index, then reads the
// flag. With a full barrier between write and read at least one of them sees the other.
static void full_barrier() { std::atomic_thread_fence(std::memory_order_seq_cst); }

RingProducer::RingProducer(RingControl* control, uint8_t* data, uint32_t size)
    : control_(control), data_(data), size_(size) {}

bool RingProducer::has_room(uint32_t bytes) {
  if (broken_) return false;
  if (size_ - (tail_ - head_) >= bytes) return true;
  const uint64_t head = control_->head.load(std::memory_order_acquire);
  if (head - head_ > published_ - head_ || head % kRingHeader != 0) {
    broken_ = true;
    return false;
  }
  head_ = head;
  return size_ - (tail_ - head_) >= bytes;
}

uint8_t* RingProducer::reserve(uint32_t len) {
  const uint32_t position = static_cast<uint32_t>(tail_) & (size_ - 1);
  const uint32_t record = ring_record(len);
  const uint32_t to_end = size_ - position;
  skipped_ = record > to_end ? to_end : 0;
  if (!has_room(skipped_ + record)) return nullptr;
  return data_ + (skipped_ ? 0 : position) + kRingHeader;
}

void RingProducer::commit(uint32_t len) {
  if (skipped_) {
    store_le<uint64_t>(data_ + (tail_ & (size_ - 1)), kRingWrap);
    tail_ += skipped_;
    skipped_ = 0;
  }
  store_le<uint64_t>(data_ + (tail_ & (size_ - 1)), len);
  tail_ += ring_record(len);
}

bool RingProducer::publish() {
  if (tail_ == published_) return false;
  published_ = tail_;
  control_->tail.store(tail_, std::memory_order_release);
  full_barrier();
  if (!control_->consumer_sleeping.load(std::memory_order_relaxed)) return false;
  return control_->consumer_sleeping.exchange(0, std::memory_order_relaxed) != 0;
}

bool RingProducer::prepare_wait() {
  control_->producer_waiting.store(1, std::memory_order_relaxed);
  full_barrier();
  if (!has_room(ring_wake_room(size_)) && !broken_) return true;
  cancel_wait();
  return false;
}

RingConsumer::RingConsumer(RingControl* control, const uint8_t* data, uint32_t size)
    : control_(control), data_(data), size_(size) {}

// Reads the producer's index. True: there are records.
bool RingConsumer::refresh() {
  const uint64_t tail = control_->tail.load(std::memory_order_acquire);
  const bool backwards = tail - head_ < tail_ - head_;
  if (backwards || tail - published_ > size_ || tail % kRingHeader != 0) {
    broken_ = true;
    return false;
  }
  tail_ = tail;
  return tail_ != head_;
}

RxFrame RingConsumer::peek() {
  while (!broken_) {  // turns at most twice: after a wrap record the position is 0
    if (head_ == tail_ && !refresh()) return {};
    const uint32_t position = static_cast<uint32_t>(head_) & (size_ - 1);
    const uint32_t to_end = size_ - position;
    const uint64_t available = tail_ - head_;
    // Read once: the producer may change it while we look.
    const uint64_t header =
        __atomic_load_n(reinterpret_cast<const uint64_t*>(data_ + position), __ATOMIC_RELAXED);
    if (header == kRingWrap) {
      if (position == 0 || to_end > available) return fail();
      head_ += to_end;
      continue;
    }
    if (header == 0 || header > kMaxFrame) return fail();
    const uint32_t record = ring_record(static_cast<uint32_t>(header));
    if (record > to_end || record > available) return fail();
    current_ = record;
    return {data_ + position + kRingHeader, static_cast<uint32_t>(header)};
  }
  return {};
}

void RingConsumer::release() {
  head_ += current_;
  current_ = 0;
  const uint8_t* next = data_ + (head_ & (size_ - 1));
  __builtin_prefetch(next);
  __builtin_prefetch(next + 64);
}

bool RingConsumer::publish() {
  if (head_ == published_) return false;
  published_ = head_;
  control_->head.store(head_, std::memory_order_release);
  full_barrier();
  if (!control_->producer_waiting.load(std::memory_order_relaxed)) return false;
  const uint64_t used = control_->tail.load(std::memory_order_acquire) - head_;
  if (used <= size_ && size_ - used < ring_wake_room(size_)) return false;
  return control_->producer_waiting.exchange(0, std::memory_order_relaxed) != 0;
}

bool RingConsumer::prepare_sleep() {
  control_->consumer_sleeping.store(1, std::memory_order_relaxed);
  full_barrier();
  if (head_ == tail_ && !refresh() && !broken_) return true;
  cancel_sleep();
  return false;
}

LocalRing::LocalRing(uint32_t size) : size_(size) {
  memory_ = mmap(nullptr, kControlBytes + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                 -1, 0);
  if (memory_ == MAP_FAILED) throw std::bad_alloc();
  new (memory_) RingControl{};
}

LocalRing::~LocalRing() { munmap(memory_, kControlBytes + size_); }

}  // namespace verna
