// SPDX-License-Identifier: GPL-2.0-or-later
// The wire: what a card is plugged into.
#pragma once

#include <poll.h>

#include <cstddef>

#include "base/types.h"

namespace verna {

/// Longest frame with FCS that any port must carry.
inline constexpr uint32_t kMaxFrame = 9600 + 22 + 4;

/// A received frame, FCS included if Port::has_fcs(). The bytes may lie in memory that the peer can
/// still change: copy what decisions depend on. `data` is null when nothing was received.
struct RxFrame {
  const uint8_t* data = nullptr;
  uint32_t len = 0;
};

/// One end of a wire. Frames are sent in order; a full wire pushes back instead of dropping.
///
/// All calls come from the thread that owns the card, except where an implementation says so.
class Port {
 public:
  virtual ~Port() = default;

  virtual bool link_up() const = 0;

  /// True if frames carry a FCS, which the MAC then appends and checks.
  virtual bool has_fcs() const = 0;

  /// Room for a frame of up to `len` bytes (at most kMaxFrame), or null: the wire is full or down.
  /// The buffer is contiguous and stays valid until tx_commit() or the next tx_reserve().
  virtual uint8_t* tx_reserve(uint32_t len) = 0;
  /// Sends the first `len` bytes of the reserved buffer. The peer may see it at once or at
  /// tx_flush().
  virtual void tx_commit(uint32_t len) = 0;
  /// The port is an end of a switch, which sends frames to `vport` as they are on request.
  virtual bool tx_can_aim(uint16_t vport) const {
    (void)vport;
    return false;
  }
  /// tx_commit() to a vport for which tx_can_aim() holds.
  virtual void tx_commit_to(uint32_t len, uint16_t vport) {
    (void)vport;
    tx_commit(len);
  }
  /// Ends a batch: everything committed becomes visible and a sleeping peer is woken.
  virtual void tx_flush() = 0;

  /// The oldest frame not yet released. Valid until rx_release().
  virtual RxFrame rx_peek() = 0;
  /// Gives the frame of the last rx_peek() back.
  virtual void rx_release() = 0;

  /// Upkeep (connecting, noticing a dead peer). Returns when it wants to be called again.
  virtual Nanos poll(Nanos now) = 0;

  /// Before the owner sleeps: asks to be woken through poll_fds() when a frame arrives, or, if
  /// `want_tx_room`, when a full wire has room again. False: there is work already, do not sleep.
  virtual bool prepare_sleep(bool want_tx_room) = 0;
  /// After the sleep: the port need not wake the owner any more.
  virtual void cancel_sleep() = 0;

  /// Descriptors that end the owner's sleep. Writes at most `max`, returns how many.
  virtual size_t poll_fds(struct pollfd* fds, size_t max) const = 0;

  /// Tells the other end whether this side is administratively up; a port that cannot ignores it.
  virtual void set_local_up(bool up) { (void)up; }

  /// Malformed input seen from the peer since the port was made.
  virtual uint64_t bad_records() const { return 0; }
};

}  // namespace verna
