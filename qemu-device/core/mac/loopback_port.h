// SPDX-License-Identifier: GPL-2.0-or-later
// A wire that leads back to its own end.
#pragma once

#include "mac/port.h"
#include "mac/shm_ring.h"

namespace verna {

/// Every frame sent is received, in order. Bounded; a full wire pushes back.
class LoopbackPort final : public Port {
 public:
  /// `ring_bytes`: a valid ring size. Throws std::bad_alloc.
  explicit LoopbackPort(uint32_t ring_bytes = 1u << 20, bool fcs = true)
      : memory_(ring_bytes), tx_(memory_.producer()), rx_(memory_.consumer()), fcs_(fcs) {}

  bool link_up() const override { return up_; }
  bool has_fcs() const override { return fcs_; }
  uint8_t* tx_reserve(uint32_t len) override;
  void tx_commit(uint32_t len) override { tx_.commit(len); }
  void tx_flush() override { (void)tx_.publish(); }
  RxFrame rx_peek() override;
  void rx_release() override { rx_.release(); }
  Nanos poll(Nanos) override { return kNever; }
  bool prepare_sleep(bool want_tx_room) override;
  void cancel_sleep() override {}
  size_t poll_fds(struct pollfd*, size_t) const override { return 0; }

  /// Plugs the wire in or out.
  void set_link(bool up) { up_ = up; }

 private:
  LocalRing memory_;
  RingProducer tx_;
  RingConsumer rx_;
  bool fcs_;
  bool up_ = true;
};

}  // namespace verna
