// SPDX-License-Identifier: GPL-2.0-or-later
// Where Ethernet's frames go: the wire, or back.
#pragma once

#include "mac/mac.h"

namespace verna {

/// The wire of the card, or in loopback mode the card's own loopback. RDMA has nothing to do with
/// it. As for Mac, a reserved frame is committed before anything else happens.
class EthWire {
 public:
  EthWire(Mac& wire, Mac& loopback) : wire_(wire), loopback_(loopback), current_(&wire) {}

  uint8_t* reserve(uint32_t len) { return current_->reserve(len); }
  bool commit(uint32_t len) { return current_->commit(len); }

  void set_loopback(bool on) { current_ = on ? &loopback_ : &wire_; }
  bool loopback() const { return current_ == &loopback_; }

 private:
  Mac& wire_;
  Mac& loopback_;
  Mac* current_;
};

}  // namespace verna
