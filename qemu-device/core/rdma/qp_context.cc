// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/qp_context.h"

namespace verna {

void QpContext::commit(const BthFields& bth, uint32_t len) {
  trace().point(Stage::kTxSend, qpn,
                static_cast<uint64_t>(uint32_t{bth.opcode} << 24 | bth.psn) << 32 | len);
  if (!path.mac().commit(len)) return;
  source->charge(len);
  count(VERNA_RDMA_tx_packets);
  count(VERNA_RDMA_tx_bytes, len);
}

void QpContext::complete(Cq* cq, verna_cqe* cqe, bool solicited, Nanos now) {
  cqe->id = qpn;
  cqe->timestamp = now;
  const bool was_in_error = cq->in_error();
  trace().point(Stage::kComplete, cq->cqn(),
                static_cast<uint64_t>(cqe->status) << 32 | cqe->wqe_index);
  if (cq->push(cqe, solicited || cqe->status != VERNA_CQE_OK)) {
    count(VERNA_RDMA_cqes);
    return;
  }
  if (!was_in_error) count(VERNA_RDMA_cq_overruns);
  enter_fatal();
}

void QpContext::report(verna_event_type event) {
  services.env.events.post_event(recv_cq->eqn(), event, fn, qpn, 0);
}

void QpContext::enter_error() {
  if (state == VERNA_QPS_ERR) return;
  state = VERNA_QPS_ERR;
  attr.state = VERNA_QPS_ERR;
  wake();
}

void QpContext::enter_send_error() {
  if (!can_send()) return;
  state = VERNA_QPS_SQE;
  attr.state = VERNA_QPS_SQE;
  wake();
}

void QpContext::enter_fatal() {
  enter_error();
  if (fatal_reported_) return;
  fatal_reported_ = true;
  report(VERNA_EVENT_QP_FATAL);
}

verna_cqe make_cqe(uint32_t wqe_index, uint8_t opcode, verna_cqe_status status) {
  verna_cqe cqe{};
  cqe.wqe_index = wqe_index;
  cqe.opcode = opcode;
  cqe.status = static_cast<uint8_t>(status);
  return cqe;
}

}  // namespace verna
