// SPDX-License-Identifier: GPL-2.0-or-later
// Where Ethernet's frames go: the wire, or back.
#pragma once

#include "mac/mac.h"

namespace verna {

/// The function's wire, or in loopback mode its own loopback. RDMA has nothing to do with it. As
/// for Mac, a reserved frame is committed before anything else happens.
class EthWire {
 public:
  EthWire(Mac& wire, Mac& loopback) : wire_(&wire), loopback_(loopback), current_(&wire) {}

  uint8_t* reserve(uint32_t len) { return current_->reserve(len); }
  bool commit(uint32_t len) { return current_->commit(len); }

  /// Frames can be sent to a vport of the switch that the wire leads to, past loopback.
  bool can_aim(uint16_t vport) const { return wire_->port().tx_can_aim(vport); }
  uint8_t* reserve_aimed(uint32_t len) { return wire_->reserve_aimed(len); }
  void commit_to(uint32_t len, uint16_t vport) { wire_->commit_to(len, vport); }

  /// The wire is another one from now on.
  void connect(Mac& wire) {
    if (!loopback()) current_ = &wire;
    wire_ = &wire;
  }
  void set_loopback(bool on) { current_ = on ? &loopback_ : wire_; }
  bool loopback() const { return current_ == &loopback_; }

 private:
  Mac* wire_;
  Mac& loopback_;
  Mac* current_;
};

}  // namespace verna
