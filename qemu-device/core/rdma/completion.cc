// SPDX-License-Identifier: GPL-2.0-or-later
// The completer's other half: completions of the send queue, flushing, and timers.
#include "rdma/completer.h"

namespace verna {
namespace {

bool is_signaled(const QpContext& ctx, uint8_t wr_flags) {
  return (wr_flags & VERNA_WR_F_SIGNALED) || (ctx.flags & VERNA_QP_F_SIGNAL_ALL);
}

}  // namespace

void Completer::count_done(uint8_t wr_opcode) {
  switch (wr_opcode) {
    case VERNA_WR_RDMA_WRITE:
    case VERNA_WR_RDMA_WRITE_WITH_IMM:
      ctx_.count(VERNA_RDMA_write_msgs);
      break;
    case VERNA_WR_RDMA_READ:
      ctx_.count(VERNA_RDMA_read_msgs);
      break;
    case VERNA_WR_ATOMIC_CAS:
    case VERNA_WR_ATOMIC_FADD:
      ctx_.count(VERNA_RDMA_atomic_msgs);
      break;
    case VERNA_WR_LOCAL_INV:
      break;
    default:
      ctx_.count(VERNA_RDMA_send_msgs);
  }
}

void Completer::complete_front(verna_cqe_status status, Nanos now) {
  const SendRequest request = window_.requests.front();
  window_.requests.pop();
  if (request.has_response()) window_.responses_due--;
  if (status == VERNA_CQE_OK) {
    count_done(request.opcode);
    if (!is_signaled(ctx_, request.flags)) return;
  }
  verna_cqe cqe = make_cqe(request.wqe_index, send_cqe_opcode(request.opcode), status);
  cqe.byte_len = request.length;
  ctx_.complete(ctx_.send_cq, &cqe, false, now);
}

void Completer::finish_front(Nanos now) {
  complete_front(VERNA_CQE_OK, now);
  check_drained();
}

void Completer::fail_front(verna_cqe_status status, Nanos now) {
  if (window_.requests.empty() || !ctx_.can_send()) return;
  ctx_.count(VERNA_RDMA_local_errors);
  complete_front(status, now);
  if (ctx_.type == VERNA_QP_RC)
    ctx_.enter_error();
  else
    ctx_.enter_send_error();
}

void Completer::complete_local(uint32_t index, const SendWqe& wqe, Nanos now) {
  count_done(wqe.opcode);
  if (!is_signaled(ctx_, wqe.flags)) return;
  verna_cqe cqe = make_cqe(index, send_cqe_opcode(wqe.opcode), VERNA_CQE_OK);
  cqe.byte_len = static_cast<uint32_t>(wqe.length);
  ctx_.complete(ctx_.send_cq, &cqe, false, now);
}

void Completer::fail_local(uint32_t index, uint8_t cqe_opcode, verna_cqe_status status, Nanos now) {
  ctx_.count(VERNA_RDMA_local_errors);
  verna_cqe cqe = make_cqe(index, cqe_opcode, status);
  ctx_.complete(ctx_.send_cq, &cqe, false, now);
  if (ctx_.type == VERNA_QP_RC)
    ctx_.enter_error();
  else
    ctx_.enter_send_error();
}

void Completer::flush_one(Nanos now) {
  if (!window_.requests.empty()) {
    complete_front(VERNA_CQE_WR_FLUSH_ERR, now);
    return;
  }
  const uint8_t* raw = ctx_.sq.entry();
  const uint8_t opcode = send_cqe_opcode(raw ? raw[0] : uint8_t{VERNA_WR_SEND});
  verna_cqe cqe = make_cqe(ctx_.sq.next_index(), opcode, VERNA_CQE_WR_FLUSH_ERR);
  ctx_.sq.consume();
  ctx_.complete(ctx_.send_cq, &cqe, false, now);
}

void Completer::check_drained() {
  if (!drained_event_ || ctx_.state != VERNA_QPS_SQD || !window_.requests.empty()) return;
  drained_event_ = false;
  ctx_.report(VERNA_EVENT_QP_SQ_DRAINED);
}

void Completer::start_retry_timer(Nanos now) {
  if (window_.policy->outstanding() == 0 || ctx_.attr.timeout == 0 || !ctx_.can_send()) {
    retry_timer_.cancel();
    return;
  }
  retry_timer_.set(now + (Nanos{4096} << (ctx_.attr.timeout & 31)));
}

void Completer::on_sent(Nanos now) { start_retry_timer(now); }

void Completer::retry_timer_expired(void* self, Nanos now) {
  static_cast<Completer*>(self)->on_timeout(now);
}

/// Only the peer's silence counts: packets that wait for room on our own wire, or for their turn,
/// are not late.
void Completer::on_timeout(Nanos now) {
  if (!ctx_.can_send() || window_.requests.empty() || window_.rnr_wait) return;
  const bool waiting = window_.policy->again() && !window_.blocked;
  if (window_.wire_full || waiting) {
    start_retry_timer(now);
    return;
  }
  ctx_.count(VERNA_RDMA_tx_timeouts);
  gap_handled_ = false;
  if (!take_retry(now)) return;
  window_.policy->on_timeout();
  window_.congestion->on_timeout(now);
  window_.blocked = false;
  start_retry_timer(now);
  ctx_.wake();
}

void Completer::rnr_timer_expired(void* self, Nanos now) {
  Completer& completer = *static_cast<Completer*>(self);
  completer.window_.rnr_wait = false;
  completer.window_.blocked = false;
  completer.start_retry_timer(now);
  if (completer.ctx_.can_send()) completer.ctx_.wake();
}

}  // namespace verna
