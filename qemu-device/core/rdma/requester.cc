// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/requester.h"

#include <algorithm>
#include <cstring>

#include "rdma/completer.h"

namespace verna {
namespace {

/// Packets after which a long message asks for an acknowledgement in between.
constexpr uint32_t kAckEvery = 64;

uint32_t packets_of(uint64_t length, uint32_t mtu) {
  return length == 0 ? 1 : static_cast<uint32_t>((length + mtu - 1) / mtu);
}

uint8_t send_opcode(uint8_t wr, bool first, bool last) {
  if (!last) return first ? kSendFirst : kSendMiddle;
  if (wr == VERNA_WR_SEND_WITH_IMM) return first ? kSendOnlyImm : kSendLastImm;
  if (wr == VERNA_WR_SEND_WITH_INV) return first ? kSendOnlyInv : kSendLastInv;
  return first ? kSendOnly : kSendLast;
}

uint8_t write_opcode(uint8_t wr, bool first, bool last) {
  if (!last) return first ? kWriteFirst : kWriteMiddle;
  if (wr == VERNA_WR_RDMA_WRITE_WITH_IMM) return first ? kWriteOnlyImm : kWriteLastImm;
  return first ? kWriteOnly : kWriteLast;
}

uint8_t bth_opcode(uint8_t wr, bool first, bool last) {
  switch (wr) {
    case VERNA_WR_RDMA_WRITE:
    case VERNA_WR_RDMA_WRITE_WITH_IMM:
      return write_opcode(wr, first, last);
    case VERNA_WR_RDMA_READ:
      return kReadRequest;
    case VERNA_WR_ATOMIC_CAS:
      return kCompareSwap;
    case VERNA_WR_ATOMIC_FADD:
      return kFetchAdd;
    default:
      return send_opcode(wr, first, last);
  }
}

}  // namespace

SendRules Requester::rules() const {
  return {ctx_.type, ctx_.sq.stride(), ctx_.services.limits.max_send_sge, ctx_.max_inline};
}

void Requester::reset() {
  wqe_valid_ = false;
  unasked_ = 0;
}

bool Requester::has_work() const {
  if (!ctx_.can_send() || window_.rnr_wait || window_.blocked) return false;
  SendRequestQueue& requests = window_.requests;
  if (!requests.empty() && requests.back().end_psn() != window_.policy->next()) return true;
  return ctx_.state == VERNA_QPS_RTS && ctx_.sq.available() > 0;
}

TxSource::Result Requester::transmit(int64_t* budget, Nanos now) {
  window_.wire_full = false;
  while (*budget > 0) {
    if (!ctx_.can_send() || window_.rnr_wait || window_.blocked) return TxSource::Result::kIdle;
    switch (send_one(budget, now)) {
      case Step::kSent:
        break;
      case Step::kBlocked:
        window_.blocked = true;
        return TxSource::Result::kIdle;
      case Step::kWireFull:
        window_.wire_full = true;
        return TxSource::Result::kWireFull;
      case Step::kEnded:
        return TxSource::Result::kIdle;
    }
  }
  return has_work() ? TxSource::Result::kMore : TxSource::Result::kIdle;
}

Requester::Step Requester::send_one(int64_t* budget, Nanos now) {
  ctx_.trace().next_packet();
  const uint32_t psn = window_.policy->next();
  // What is sent again counts against the window like what is new.
  const bool open = psn_distance(window_.policy->oldest(), psn) < window_.congestion->window();
  if (const SendRequest* request = window_.requests.find(psn))
    return open ? send_packet(*request, psn, budget, now) : Step::kBlocked;
  if (ctx_.state != VERNA_QPS_RTS || ctx_.sq.available() == 0) return Step::kEnded;
  return open ? start_next(budget, now) : Step::kBlocked;
}

/// Takes the next request of the queue and sends its first packet.
Requester::Step Requester::start_next(int64_t* budget, Nanos now) {
  const uint8_t* raw = ctx_.sq.entry();
  if (!raw) {
    ctx_.enter_fatal();
    return Step::kEnded;
  }
  const uint32_t index = ctx_.sq.next_index();
  wqe_valid_ = false;
  const verna_cqe_status status = decode_send_wqe(raw, rules(), &wqe_);
  if (status != VERNA_CQE_OK) return fail_new(index, status, now);
  if (wqe_.opcode == VERNA_WR_LOCAL_INV) return invalidate_local(index, now);
  const Step checked = check_new(index, now);
  if (checked != Step::kSent) return checked;

  SendRequest request{};
  request.wqe_index = index;
  request.first_psn = window_.policy->fresh();
  request.span = wqe_.is_atomic() ? 1 : packets_of(wqe_.length, ctx_.mtu());
  request.length = static_cast<uint32_t>(wqe_.length);
  request.opcode = wqe_.opcode;
  request.flags = wqe_.flags;
  // A very long READ goes alone, so that the sequence numbers on the way stay distinguishable.
  if (window_.policy->outstanding() > 0 && window_.policy->outstanding() + request.span > kPsnHalf)
    return Step::kBlocked;
  window_.requests.push(request);
  if (request.has_response()) window_.responses_due++;
  ctx_.sq.consume();
  ctx_.trace().point(Stage::kTxFetch, ctx_.qpn, index);
  wqe_index_ = index;
  wqe_valid_ = true;
  sge_position_ = 0;
  return send_packet(window_.requests.back(), request.first_psn, budget, now);
}

/// kSent: wqe_ may go.
Requester::Step Requester::check_new(uint32_t index, Nanos now) {
  if ((wqe_.flags & VERNA_WR_F_FENCE) && window_.responses_due > 0) return Step::kBlocked;
  if (wqe_.has_response()) {
    const uint32_t most = ctx_.attr.max_rd_atomic;
    if (most == 0) return fail_new(index, VERNA_CQE_LOC_QP_OP_ERR, now);
    if (window_.responses_due >= most) return Step::kBlocked;
  }
  const uint8_t need = wqe_.has_response() ? VERNA_ACCESS_LOCAL_WRITE : 0;
  if (!wqe_.sge.check(ctx_.services.memory, ctx_.accessor(), need))
    return fail_new(index, VERNA_CQE_LOC_PROT_ERR, now);
  return Step::kSent;
}

/// Waits for all earlier requests: a packet that must go again may still need the region.
Requester::Step Requester::invalidate_local(uint32_t index, Nanos now) {
  if (!window_.requests.empty()) return Step::kBlocked;
  if (!ctx_.services.memory.can_invalidate(ctx_.accessor(), wqe_.imm, false))
    return fail_new(index, VERNA_CQE_LOC_PROT_ERR, now);
  ctx_.services.memory.invalidate(wqe_.imm);
  ctx_.sq.consume();
  completer_.complete_local(index, wqe_, now);
  return Step::kSent;
}

/// `wqe_`, the next of the queue, has an error of its own.
Requester::Step Requester::fail_new(uint32_t index, verna_cqe_status status, Nanos now) {
  if (!window_.requests.empty()) return Step::kBlocked;
  ctx_.sq.consume();
  completer_.fail_local(index, send_cqe_opcode(wqe_.opcode), status, now);
  return Step::kEnded;
}

/// A request of which packets went already cannot go on.
Requester::Step Requester::fail_started(const SendRequest& request, verna_cqe_status status,
                                        Nanos now) {
  if (&request != &window_.requests.front()) return Step::kBlocked;
  completer_.fail_front(status, now);
  return Step::kEnded;
}

/// Makes wqe_ the request, from the host's queue if it is not. False: it is not what it was.
bool Requester::load(const SendRequest& request) {
  if (wqe_valid_ && wqe_index_ == request.wqe_index) return true;
  uint8_t raw[VERNA_SQ_WQE_MAX];
  wqe_valid_ = false;
  if (!ctx_.sq.reread(request.wqe_index, raw, ctx_.sq.stride())) return false;
  if (decode_send_wqe(raw, rules(), &wqe_) != VERNA_CQE_OK) return false;
  if (wqe_.opcode != request.opcode || wqe_.length != request.length) return false;
  wqe_index_ = request.wqe_index;
  wqe_valid_ = true;
  sge_position_ = 0;
  return true;
}

Requester::Part Requester::plan(const SendRequest& request, uint32_t psn) {
  const uint32_t k = psn_distance(request.first_psn, psn);
  Part part{};
  part.done = request.opcode == VERNA_WR_RDMA_READ || !request.has_response() ? k * ctx_.mtu() : 0;
  part.last = request.has_response() || k + 1 == request.span;
  part.span = request.has_response() ? request.span - k : 1;
  if (!request.has_response()) part.payload = std::min(ctx_.mtu(), request.length - part.done);
  const uint8_t service = ctx_.type == VERNA_QP_UC ? kServiceUc : kServiceRc;
  part.bth.opcode = service | bth_opcode(request.opcode, k == 0, part.last);
  const OpInfo& op = op_info(part.bth.opcode);
  part.bth.solicited =
      part.last && op.has(kOpSend | kOpImm) && (request.flags & VERNA_WR_F_SOLICITED);
  part.bth.dest_qpn = ctx_.attr.dest_qpn;
  part.bth.psn = psn;
  if (service == kServiceRc) {
    // Without an answer the window would never open again, so its last packet asks, too.
    const uint32_t ahead = psn_distance(window_.policy->oldest(), psn);
    const bool closing = ahead + part.span >= window_.congestion->window();
    part.bth.ack_req = part.last || closing || ++unasked_ >= kAckEvery;
    if (part.bth.ack_req) unasked_ = 0;
  }
  return part;
}

/// Headers after the BTH, and the payload from the host's memory.
Access Requester::fill(const Part& part, uint8_t* frame) {
  const OpInfo& op = op_info(part.bth.opcode);
  uint8_t* p = begin_roce_frame(ctx_.path.frame(), part.bth, part.payload, frame);
  if (op.has(kOpReth))
    p = put_reth(p, wqe_.remote_addr + part.done, wqe_.rkey,
                 static_cast<uint32_t>(wqe_.length) - part.done);
  if (op.has(kOpAtomicEth))
    p = put_atomic(p, wqe_.remote_addr, wqe_.rkey, wqe_.swap_add, wqe_.compare);
  if (op.has(kOpImm)) {
    store_le(p, wqe_.imm);
    p += 4;
  }
  if (op.has(kOpIeth)) {
    store_be32(p, wqe_.imm);
    p += 4;
  }
  if (part.payload > 0 && wqe_.is_inline()) {
    std::memcpy(p, wqe_.inline_data.data() + part.done, part.payload);
  } else if (part.payload > 0) {
    if (sge_position_ != part.done) wqe_.sge.seek(part.done);
    const Access access = wqe_.sge.gather(ctx_.services.memory, ctx_.accessor(), p, part.payload);
    sge_position_ = part.done + part.payload;
    if (access != Access::kOk) {
      wqe_valid_ = false;
      return access;
    }
  }
  finish_roce_frame(ctx_.path.frame(), part.bth.opcode, part.payload, frame);
  return Access::kOk;
}

Requester::Step Requester::send_packet(const SendRequest& request, uint32_t psn, int64_t* budget,
                                       Nanos now) {
  if (!load(request)) return fail_started(request, VERNA_CQE_LOC_QP_OP_ERR, now);
  const Part part = plan(request, psn);
  uint32_t len = 0;
  // Without a path (its GID went away) the packet counts as lost on the way.
  if (ctx_.path.refresh(ctx_.services)) {
    len = roce_frame_len(ctx_.path.frame(), part.bth.opcode, part.payload);
    uint8_t* frame = ctx_.path.mac().reserve(len);
    if (!frame) return Step::kWireFull;
    if (fill(part, frame) != Access::kOk) return fail_started(request, VERNA_CQE_LOC_PROT_ERR, now);
    ctx_.commit(part.bth, len);
  }
  *budget -= len + 64;  // the request costs something, too
  sent(request, part, len, now);
  return Step::kSent;
}

void Requester::sent(const SendRequest& request, const Part& part, uint32_t frame_len, Nanos now) {
  if (window_.policy->again()) {
    ctx_.count(VERNA_RDMA_tx_retransmits);
    ctx_.trace().point(Stage::kRetransmit, ctx_.qpn, part.bth.psn);
  }
  window_.policy->on_sent(part.span);
  window_.congestion->on_sent(frame_len, now);
  if (ctx_.type == VERNA_QP_RC) {
    completer_.on_sent(now);
    return;
  }
  window_.policy->on_acked_before(window_.policy->fresh());
  if (part.bth.psn == psn_add(request.first_psn, request.span - 1)) completer_.finish_front(now);
}

}  // namespace verna
