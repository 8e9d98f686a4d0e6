// SPDX-License-Identifier: GPL-2.0-or-later
// Congestion control of one queue pair: how much may be on the way, and how fast it may go.
#pragma once

#include <memory>

#include "base/types.h"

namespace verna {

/// Told what happens, it answers with a window and a rate. Like the reliability policies it is pure
/// bookkeeping; times come from the caller.
class CongestionController {
 public:
  virtual ~CongestionController() = default;

  virtual void reset() = 0;
  /// Packets that may be unacknowledged.
  virtual uint32_t window() const = 0;
  /// Earliest time of the next packet.
  virtual Nanos next_send() const { return 0; }

  virtual void on_sent(uint32_t /*bytes*/, Nanos /*now*/) {}
  virtual void on_ack(uint32_t /*packets*/, Nanos /*now*/) {}
  virtual void on_loss(Nanos /*now*/) {}
  /// Nothing was heard for too long, or answers were lost.
  virtual void on_timeout(Nanos /*now*/) {}
  virtual void on_cnp(Nanos /*now*/) {}
};

/// The default: a fixed window of `window` packets.
std::unique_ptr<CongestionController> make_congestion_controller(uint32_t window);

}  // namespace verna
