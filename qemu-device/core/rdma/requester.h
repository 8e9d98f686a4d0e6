// SPDX-License-Identifier: GPL-2.0-or-later
// The requester: turns send requests of connected queue pairs into packets.
#pragma once

#include "rdma/send_window.h"

namespace verna {

class Completer;

/// Sends the requests of an RC or UC queue pair, each packet straight from the host's memory into
/// the frame. Which packet goes next the reliability policy says; a packet that goes again is made
/// anew from the host's queue and memory. (UC acknowledges its own packets as soon as they went.)
///
/// A request with an error of its own waits until all before it are complete; then it completes in
/// error, and the queue with it.
class Requester {
 public:
  Requester(QpContext& context, SendWindow& window, Completer& completer)
      : ctx_(context), window_(window), completer_(completer) {}

  /// Something could be sent now.
  bool has_work() const;
  /// Sends up to about `*budget` bytes, which it lowers.
  TxSource::Result transmit(int64_t* budget, Nanos now);
  void reset();

 private:
  enum class Step { kSent, kBlocked, kWireFull, kEnded };
  /// One packet of a request.
  struct Part {
    uint32_t done;     // bytes of the message before it
    uint32_t payload;  // bytes in it
    uint32_t span;     // sequence numbers that it takes
    bool last;
    BthFields bth;
  };

  Step send_one(int64_t* budget, Nanos now);
  Step start_next(int64_t* budget, Nanos now);
  Step check_new(uint32_t index, Nanos now);
  Step invalidate_local(uint32_t index, Nanos now);
  Step fail_new(uint32_t index, verna_cqe_status status, Nanos now);
  Step fail_started(const SendRequest& request, verna_cqe_status status, Nanos now);
  Step send_packet(const SendRequest& request, uint32_t psn, int64_t* budget, Nanos now);
  Part plan(const SendRequest& request, uint32_t psn);
  Access fill(const Part& part, uint8_t* frame);
  void sent(const SendRequest& request, const Part& part, uint32_t frame_len, Nanos now);
  bool load(const SendRequest& request);
  SendRules rules() const;

  QpContext& ctx_;
  SendWindow& window_;
  Completer& completer_;
  SendWqe wqe_;             // the request that is being sent
  uint32_t wqe_index_ = 0;  // its index
  bool wqe_valid_ = false;
  uint64_t sge_position_ = 0;  // byte of the message at which wqe_.sge stands
  uint32_t unasked_ = 0;       // packets since we last asked for an acknowledgement
};

}  // namespace verna
