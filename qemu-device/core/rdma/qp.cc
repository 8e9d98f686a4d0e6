// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/qp.h"

namespace verna {
namespace {

/// What one flushed request costs of a turn's byte budget.
constexpr int64_t kFlushCost = 256;

}  // namespace

Qp::Qp(RdmaServices& services)
    : TxSource(Kind::kRdma),
      ctx_(services),
      window_(services),
      completer_(ctx_, window_),
      requester_(ctx_, window_, completer_),
      responder_(ctx_),
      datagram_sender_(ctx_, completer_),
      datagram_receiver_(ctx_) {
  ctx_.source = this;
}

Qp::~Qp() { ctx_.services.env.scheduler.remove(this); }

bool Qp::has_work() const {
  if (flushing()) return sq_to_flush() || rq_to_flush() || responder_.owes_nak();
  if (ctx_.is_datagram()) return datagram_sender_.has_work();
  return responder_.has_output() || requester_.has_work();
}

/// False: the host's index is not readable or not believable.
bool Qp::refresh_sq() {
  if (ctx_.sq.refresh()) return true;
  ctx_.enter_fatal();
  return false;
}

bool Qp::poll(Nanos /*now*/) {
  if (flushing())
    refresh_for_flush();
  else if (ctx_.can_send())
    refresh_sq();
  return has_work();
}

void Qp::ring(Nanos now) {
  if (ctx_.state == VERNA_QPS_RESET) return;
  if (poll(now)) ctx_.wake();
}

TxSource::Result Qp::transmit(uint32_t byte_budget, Nanos now) {
  int64_t budget = byte_budget;
  const Result sent =
      ctx_.is_datagram() ? transmit_datagrams(&budget, now) : transmit_connected(&budget, now);
  if (!flushing()) return sent;
  // A full wire may hold up a NAK, but not the host's completions.
  const Result flushed = flush(&budget, now);
  return flushed == Result::kIdle ? sent : flushed;
}

TxSource::Result Qp::transmit_datagrams(int64_t* budget, Nanos now) {
  if (ctx_.sq.available() == 0 && !ctx_.sq.need_doorbell() && ctx_.can_send()) refresh_sq();
  return datagram_sender_.transmit(budget, now);
}

/// Answers and requests share the turn when both have something, so that neither starves.
TxSource::Result Qp::transmit_connected(int64_t* budget, Nanos now) {
  if (ctx_.state == VERNA_QPS_ERR && !responder_.owes_nak()) {
    responder_.drop_output();
    return Result::kIdle;
  }
  if (ctx_.sq.available() == 0 && !ctx_.sq.need_doorbell() && ctx_.can_send()) refresh_sq();
  int64_t share = requester_.has_work() ? (*budget + 1) / 2 : *budget;
  *budget -= share;
  const Result answers = responder_.transmit(&share, now);
  *budget += share;
  if (answers == Result::kWireFull) window_.wire_full = true;
  if (answers == Result::kWireFull || ctx_.state == VERNA_QPS_ERR) return answers;
  const Result requests = requester_.transmit(budget, now);
  if (requests == Result::kWireFull) return requests;
  return has_work() ? Result::kMore : Result::kIdle;
}

bool Qp::sq_to_flush() const {
  return !ctx_.send_cq->in_error() && (!window_.requests.empty() || ctx_.sq.available() > 0);
}

bool Qp::rq_to_flush() const {
  return ctx_.state == VERNA_QPS_ERR && !ctx_.recv_cq->in_error() &&
         (recv_held() || ctx_.rq.available() > 0);
}

/// Posting to a receive queue needs no doorbell until now: from here on it does, so that what is
/// posted later is flushed, too.
void Qp::refresh_for_flush() {
  bool ok = ctx_.sq.refresh();
  if (ctx_.state == VERNA_QPS_ERR) {
    if (!ctx_.rq.need_doorbell()) ok &= ctx_.rq.set_need_doorbell(true);
    ok &= ctx_.rq.refresh();
  }
  if (!ok) ctx_.enter_fatal();
}

/// In ERR both queues, in SQE the send queue: what is outstanding and what is posted, in order.
TxSource::Result Qp::flush(int64_t* budget, Nanos now) {
  refresh_for_flush();
  while (sq_to_flush() || rq_to_flush()) {
    if (*budget <= 0) return Result::kMore;
    *budget -= kFlushCost;
    if (sq_to_flush()) completer_.flush_one(now);
    if (!rq_to_flush()) continue;
    if (ctx_.is_datagram())
      datagram_receiver_.flush_one(now);
    else
      responder_.flush_one(now);
  }
  return Result::kIdle;
}

bool Qp::arm_doorbell(Nanos now) {
  if (ctx_.state == VERNA_QPS_RESET) return true;
  if (!ctx_.sq.set_need_doorbell(true)) ctx_.enter_fatal();
  if (!poll(now)) return true;
  disarm_doorbell();
  return false;
}

void Qp::disarm_doorbell() {
  if (!ctx_.sq.set_need_doorbell(false)) ctx_.enter_fatal();
}

}  // namespace verna
