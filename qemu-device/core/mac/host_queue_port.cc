// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/host_queue_port.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace verna {

HostQueuePort::HostQueuePort(bool up, uint32_t ring_kib)
    : size_(ring_kib << 10),
      to_card_(size_),
      to_host_(size_),
      host_rx_(to_card_.producer()),
      rx_(to_card_.consumer()),
      tx_(to_host_.producer()),
      host_tx_(to_host_.consumer()),
      event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)),
      up_(up) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void HostQueuePort::wake() {
  const uint64_t one = 1;
  (void)!write(event_.get(), &one, sizeof one);
}

uint8_t* HostQueuePort::tx_reserve(uint32_t len) {
  if (len > kMaxFrame) return nullptr;
  uint8_t* room = tx_.reserve(len);
  if (!room) tx_flush();
  return room;
}

RxFrame HostQueuePort::rx_peek() {
  const RxFrame frame = rx_.peek();
  if (!frame.data) (void)rx_.publish();
  return frame;
}

void HostQueuePort::rx_release() {
  rx_.release();
  if (rx_.should_publish()) (void)rx_.publish();
}

bool HostQueuePort::prepare_sleep(bool want_tx_room) {
  tx_flush();
  (void)rx_.publish();
  if (!rx_.prepare_sleep()) return false;
  if (!want_tx_room || tx_.prepare_wait()) return true;
  rx_.cancel_sleep();
  return false;
}

void HostQueuePort::cancel_sleep() {
  rx_.cancel_sleep();
  tx_.cancel_wait();
  uint64_t count;
  (void)!read(event_.get(), &count, sizeof count);
}

size_t HostQueuePort::poll_fds(struct pollfd* fds, size_t max) const {
  if (max == 0) return 0;
  fds[0] = {event_.get(), POLLIN, 0};
  return 1;
}

bool HostQueuePort::room() const {
  const RingControl* control = to_card_.control();
  const uint64_t head = control->head.load(std::memory_order_acquire);
  const uint64_t used = control->tail.load(std::memory_order_acquire) - head;
  return used <= size_ && size_ - used >= ring_wake_room(size_);
}

bool HostQueuePort::pending() const {
  const RingControl* control = to_host_.control();
  return control->tail.load(std::memory_order_acquire) !=
         control->head.load(std::memory_order_acquire);
}

// Room is looked for once more after the flag is set: the card may have made some meanwhile.
bool HostQueuePort::host_rx_ready() {
  if (room()) return true;
  stalled_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return room();
}

bool HostQueuePort::host_rx(const iovec* pieces, size_t count, size_t skip) {
  size_t len = 0;
  for (size_t i = 0; i < count; i++) len += pieces[i].iov_len;
  if (len <= skip) return true;
  const auto bytes = static_cast<uint32_t>(std::min<size_t>(len - skip, kMaxFrame));
  uint8_t* room = host_rx_.reserve(bytes);
  if (!room) {
    stalled_.store(true, std::memory_order_relaxed);
    return false;
  }
  for (size_t i = 0, copied = 0; copied < bytes; i++) {
    const size_t ahead = std::min(skip, pieces[i].iov_len);
    const size_t n = std::min(pieces[i].iov_len - ahead, bytes - copied);
    if (n) std::memcpy(room + copied, static_cast<const uint8_t*>(pieces[i].iov_base) + ahead, n);
    skip -= ahead;
    copied += n;
  }
  host_rx_.commit(bytes);
  if (host_rx_.publish()) wake();
  return true;
}

bool HostQueuePort::host_rx_resumes() {
  if (!stalled_.load(std::memory_order_relaxed) || !room()) return false;
  stalled_.store(false, std::memory_order_relaxed);
  return true;
}

size_t HostQueuePort::host_tx_next(const uint8_t** frame) {
  if (blocked_.load(std::memory_order_relaxed)) return 0;
  const RxFrame next = host_tx_.peek();
  if (!next.data && host_tx_.publish()) wake();
  *frame = next.data;
  return next.len;
}

void HostQueuePort::host_tx_done(bool more) {
  blocked_.store(!more, std::memory_order_relaxed);
  host_tx_.release();
  if (host_tx_.should_publish() && host_tx_.publish()) wake();
}

// The fence is between the card's indices and the flags, which the network thread sets before it
// looks at the indices for the last time.
bool HostQueuePort::host_wanted() const {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return (!blocked_.load(std::memory_order_relaxed) && pending()) ||
         (stalled_.load(std::memory_order_relaxed) && room());
}

void HostQueuePort::host_set_link(bool up) {
  up_.store(up, std::memory_order_release);
  wake();
}

}  // namespace verna
