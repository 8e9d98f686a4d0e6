// SPDX-License-Identifier: GPL-2.0-or-later
// Acknowledgements that a responder owes.
#pragma once

#include <cstdint>

#include "rdma/codec.h"

namespace verna {

/// At most one acknowledge packet is pending. A positive one says "everything so far" and takes its
/// sequence number when it is sent, so that one packet answers a whole batch; a NAK names the
/// packet that it refuses and is not replaced by a positive one.
class AckState {
 public:
  bool pending() const { return pending_; }
  bool is_nak() const { return pending_ && (syndrome_ & kAethTypeMask) != kAethTypeAck; }
  uint8_t syndrome() const { return syndrome_; }

  /// Asks for a positive acknowledgement.
  void acknowledge() {
    if (is_nak()) return;
    pending_ = true;
    syndrome_ = kAethAck;
  }
  /// Refuses the packet `psn`.
  void refuse(uint8_t syndrome, uint32_t psn) {
    pending_ = true;
    syndrome_ = syndrome;
    psn_ = psn;
  }
  /// The packet that was refused arrived again and was executed: a NAK that was not sent is void.
  void executed() {
    if (is_nak()) pending_ = false;
  }
  void clear() { pending_ = false; }

  /// Sequence number of the packet to send; `last_executed` is the last one that was executed.
  uint32_t psn(uint32_t last_executed) const { return is_nak() ? psn_ : last_executed; }

 private:
  bool pending_ = false;
  uint8_t syndrome_ = kAethAck;
  uint32_t psn_ = 0;
};

}  // namespace verna
