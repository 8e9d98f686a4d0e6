// SPDX-License-Identifier: GPL-2.0-or-later
// The card's time, made from the host's.
#pragma once

#include "base/types.h"

namespace verna {

/// Runs as the host's clock does, but stands still while the machine is stopped: a retransmission
/// timer must not expire because somebody looked at the guest with a debugger. Both in ns.
class CardClock {
 public:
  Nanos now(Nanos host_now) const { return (running_ ? host_now : stopped_at_) - behind_; }
  bool running() const { return running_; }

  /// To stop or to run again; what it does already changes nothing.
  void set_running(bool running, Nanos host_now) {
    if (running == running_) return;
    running_ = running;
    if (running)
      behind_ += host_now - stopped_at_;
    else
      stopped_at_ = host_now;
  }

 private:
  bool running_ = true;
  Nanos stopped_at_ = 0;  // host time
  Nanos behind_ = 0;      // how long it stood still in all
};

}  // namespace verna
