// SPDX-License-Identifier: GPL-2.0-or-later
// Requests of a reliable send queue between their first packet and their completion.
#pragma once

#include <memory>
#include <vector>

#include "base/timer.h"
#include "rdma/congestion/controller.h"
#include "rdma/qp_context.h"
#include "rdma/reliability/policy.h"

namespace verna {

/// A request of which a packet was sent. What it says in full is read again from the host's queue
/// when it must be sent again, so that a long queue costs the card little.
struct SendRequest {
  uint32_t wqe_index;
  uint32_t first_psn;
  uint32_t span;  // sequence numbers
  uint32_t length;
  uint8_t opcode;  // verna_wr_opcode
  uint8_t flags;

  bool has_response() const {
    return opcode >= VERNA_WR_RDMA_READ && opcode <= VERNA_WR_ATOMIC_FADD;
  }
  bool contains(uint32_t psn) const { return psn_distance(first_psn, psn) < span; }
  uint32_t end_psn() const { return psn_add(first_psn, span); }
};

/// A queue of requests that grows by doubling and then allocates no more.
class SendRequestQueue {
 public:
  bool empty() const { return count_ == 0; }
  uint32_t size() const { return count_; }
  SendRequest& at(uint32_t i) { return ring_[(head_ + i) & mask()]; }
  SendRequest& front() { return at(0); }
  SendRequest& back() { return at(count_ - 1); }
  void push(const SendRequest& request);
  void pop() {
    head_++;
    count_--;
  }
  void clear() { head_ = count_ = 0; }
  /// The request that has `psn`, or null. They follow each other without gaps.
  SendRequest* find(uint32_t psn);

 private:
  uint32_t mask() const { return static_cast<uint32_t>(ring_.size() - 1); }

  std::vector<SendRequest> ring_;
  uint32_t head_ = 0;
  uint32_t count_ = 0;
};

/// What requester (adds, sends) and completer (acknowledges, removes) know together.
struct SendWindow {
  SendWindow(const RdmaServices& services)
      : policy(make_sender_policy()),
        congestion(make_congestion_controller(services.limits.send_window)) {}

  SendRequestQueue requests;
  std::unique_ptr<SenderPolicy> policy;
  std::unique_ptr<CongestionController> congestion;
  uint32_t responses_due = 0;  // READs and atomics in `requests`
  bool rnr_wait = false;       // the peer asked for a pause
  bool blocked = false;        // the requester can do nothing until an answer or a timer comes
  bool wire_full = false;      // the last packet found no room

  void reset(uint32_t psn);
};

}  // namespace verna
