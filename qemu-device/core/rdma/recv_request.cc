// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/recv_request.h"

namespace verna {

RecvRequest::Take RecvRequest::take() {
  if (held_) return Take::kTaken;
  if (ctx_.rq.available() == 0) {
    if (!ctx_.rq.refresh()) {
      ctx_.enter_fatal();
      return Take::kFatal;
    }
    if (ctx_.rq.available() == 0) return Take::kEmpty;
  }
  const uint8_t* raw = ctx_.rq.entry();
  if (!raw) {
    ctx_.enter_fatal();
    return Take::kFatal;
  }
  index_ = ctx_.rq.next_index();
  held_ = true;
  const bool good =
      decode_recv_wqe(raw, ctx_.rq.stride(), ctx_.services.limits.max_recv_sge, &sge_);
  ctx_.rq.consume();
  return good ? Take::kTaken : Take::kMalformed;
}

void RecvRequest::complete(verna_cqe* cqe, bool solicited, Nanos now) {
  held_ = false;
  cqe->wqe_index = index_;
  if (cqe->status == VERNA_CQE_OK) ctx_.count(VERNA_RDMA_recv_msgs);
  ctx_.complete(ctx_.recv_cq, cqe, solicited, now);
}

void RecvRequest::fail(verna_cqe_status status, Nanos now) {
  verna_cqe cqe = make_cqe(index_, VERNA_CQE_RECV, status);
  complete(&cqe, true, now);
}

/// What the entry says does not matter any more.
void RecvRequest::flush_one(Nanos now) {
  if (!held_) {
    index_ = ctx_.rq.next_index();
    ctx_.rq.consume();
  }
  fail(VERNA_CQE_WR_FLUSH_ERR, now);
}

}  // namespace verna
