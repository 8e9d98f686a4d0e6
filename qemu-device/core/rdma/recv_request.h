// SPDX-License-Identifier: GPL-2.0-or-later
// The receive request that incoming messages are placed in.
#pragma once

#include "rdma/qp_context.h"

namespace verna {

/// Takes receive requests from the queue one at a time, places data in their segments and completes
/// them.
class RecvRequest {
 public:
  enum class Take {
    kTaken,
    kEmpty,      // nothing is posted
    kMalformed,  // the entry breaks a rule; it is held, to be completed in error
    kFatal,      // the queue cannot be read; the QP is in error
  };
  explicit RecvRequest(QpContext& context) : ctx_(context) {}

  bool held() const { return held_; }
  /// Makes sure that a request is held.
  Take take();
  /// Room that is left in it.
  uint64_t room() const { return sge_.left(); }
  /// Every segment may be written.
  bool check() const {
    return sge_.check(ctx_.services.memory, ctx_.accessor(), VERNA_ACCESS_LOCAL_WRITE);
  }
  /// Places data behind what was placed before; `len` is at most room().
  Access place(const uint8_t* data, uint32_t len) {
    return sge_.scatter(ctx_.services.memory, ctx_.accessor(), data, len);
  }
  /// The message that was being placed is dropped; the request waits for the next one.
  void rewind() { sge_.seek(0); }

  /// Completes the held request; the caller has set opcode, status, lengths and flags.
  void complete(verna_cqe* cqe, bool solicited, Nanos now);
  void fail(verna_cqe_status status, Nanos now);
  /// Completes the held request, else the next one, as flushed. There must be one.
  void flush_one(Nanos now);
  void reset() { held_ = false; }

 private:
  QpContext& ctx_;
  SgeList sge_;
  uint32_t index_ = 0;
  bool held_ = false;
};

}  // namespace verna
