// SPDX-License-Identifier: GPL-2.0-or-later
// A port whose wire is the host's network layer.
#pragma once

#include <atomic>

#include "mac/link_handshake.h"
#include "mac/port.h"
#include "mac/shm_ring.h"

namespace verna {

/// Two bounded rings between the card's owner and the host's network thread. The functions of Port
/// belong to the owner, those named host_* to the network thread, at the same time; host_rx_room()
/// and host_tx_pending() may be called by either.
///
/// The network side wakes a sleeping card through an eventfd. The card does not wake the network
/// side: who ran the card asks host_tx_pending() and host_rx_room() afterwards.
class HostQueuePort final : public Port {
 public:
  /// Rings of `ring_kib` each, a power of two from 64. Throws std::bad_alloc or std::system_error.
  explicit HostQueuePort(uint32_t ring_kib = 4096);

  bool link_up() const override { return up_.load(std::memory_order_acquire); }
  bool has_fcs() const override { return false; }
  uint8_t* tx_reserve(uint32_t len) override;
  void tx_commit(uint32_t len) override { tx_.commit(len); }
  void tx_flush() override { (void)tx_.publish(); }
  RxFrame rx_peek() override;
  void rx_release() override;
  Nanos poll(Nanos) override { return kNever; }
  bool prepare_sleep(bool want_tx_room) override;
  void cancel_sleep() override;
  size_t poll_fds(struct pollfd* fds, size_t max) const override;

  /// A frame for the card, without FCS. False: no room; host_rx_room() says when. A frame longer
  /// than the card can take is cut, so that the card counts it as oversized.
  bool host_rx(const uint8_t* frame, size_t len);
  /// There is room for a longest frame, and for some more, so that it pays to start again.
  bool host_rx_room() const;
  /// Oldest frame that the card sent, 0: none. Valid until host_tx_pop().
  size_t host_tx_peek(const uint8_t** frame);
  void host_tx_pop();
  bool host_tx_pending() const;
  void host_set_link(bool up);

 private:
  void wake();

  uint32_t size_;
  LocalRing to_card_;
  LocalRing to_host_;
  RingProducer host_rx_;
  RingConsumer rx_;
  RingProducer tx_;
  RingConsumer host_tx_;
  Fd event_;
  std::atomic<bool> up_{true};
};

}  // namespace verna
