// SPDX-License-Identifier: GPL-2.0-or-later
// A port whose wire is the host's network layer.
#pragma once

#include <sys/uio.h>

#include <atomic>

#include "mac/link_handshake.h"
#include "mac/port.h"
#include "mac/shm_ring.h"

namespace verna {

/// Two bounded rings between the card's owner and the host's network thread. The functions of Port
/// belong to the owner, those named host_* to the network thread, at the same time; host_wanted()
/// may be called by any thread.
///
/// The network side wakes a sleeping card through an eventfd. The card does not wake the network
/// side: who ran the card asks host_wanted() afterwards. Either side may be full: the port
/// remembers that the network waits for room in the card (stalled), and that it takes nothing now
/// (blocked).
class HostQueuePort final : public Port {
 public:
  /// `up`: there is a network. Rings of `ring_kib` each, a power of two from 64. Throws
  /// std::bad_alloc or std::system_error.
  explicit HostQueuePort(bool up = true, uint32_t ring_kib = 4096);

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

  /// May a frame come? False: host_rx_resumes() will say when.
  bool host_rx_ready();
  /// A frame for the card, without FCS, in pieces, of which the first `skip` bytes are not part of
  /// it. False: no room, as above. A frame longer than the card can take is cut, so that the card
  /// counts it as oversized; an empty one is nothing.
  bool host_rx(const iovec* pieces, size_t count, size_t skip);
  /// True, once: the network waited for room, and there is some.
  bool host_rx_resumes();
  /// Oldest frame that the card sent, 0: none, or the network is blocked. Valid until
  /// host_tx_done().
  size_t host_tx_next(const uint8_t** frame);
  /// The network took it, and takes `more` or is blocked until host_tx_resumes().
  void host_tx_done(bool more);
  void host_tx_resumes() { blocked_.store(false, std::memory_order_relaxed); }
  /// There is something to do for the network thread: host_rx_resumes() or host_tx_next().
  bool host_wanted() const;
  void host_set_link(bool up);

 private:
  bool room() const;
  bool pending() const;
  void wake();

  uint32_t size_;
  LocalRing to_card_;
  LocalRing to_host_;
  RingProducer host_rx_;
  RingConsumer rx_;
  RingProducer tx_;
  RingConsumer host_tx_;
  Fd event_;
  std::atomic<bool> up_;
  std::atomic<bool> stalled_{false};
  std::atomic<bool> blocked_{false};
};

}  // namespace verna
