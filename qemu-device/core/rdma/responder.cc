// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/responder.h"

namespace verna {
namespace {

uint8_t needed_right(const OpInfo& op) {
  if (op.has(kOpWrite)) return VERNA_ACCESS_REMOTE_WRITE;
  if (op.has(kOpRead)) return VERNA_ACCESS_REMOTE_READ;
  if (op.has(kOpAtomic)) return VERNA_ACCESS_REMOTE_ATOMIC;
  return 0;
}

}  // namespace

void Responder::start(uint32_t psn) {
  reset();
  policy_->reset(psn);
}

void Responder::reset() {
  recv_.reset();
  responses_.reset();
  message_ = Message::kNone;
  msn_ = 0;
  heard_ = false;
}

TxSource::Result Responder::transmit(int64_t* budget, Nanos now) {
  return responses_.transmit(budget, psn_add(policy_->expected(), kPsnMask), msn_, now);
}

void Responder::receive(const RocePacket& packet, Nanos now) {
  if (!heard_) {
    heard_ = true;
    if (ctx_.state == VERNA_QPS_RTR) ctx_.report(VERNA_EVENT_QP_COMM_EST);
  }
  if (check_psn(packet) && check_sequence(packet, now) && check_length(packet, now) &&
      check_resources(packet, now) && check_access(packet, now) && execute(packet, now))
    acknowledge(packet, now);
}

bool Responder::check_psn(const RocePacket& packet) {
  return reliable() ? check_psn_reliable(packet) : check_psn_unreliable(packet);
}

bool Responder::check_psn_reliable(const RocePacket& packet) {
  switch (policy_->classify(packet.psn)) {
    case ReceiverPolicy::Verdict::kDeliver:
      return true;
    case ReceiverPolicy::Verdict::kDuplicate:
      ctx_.count(VERNA_RDMA_rx_duplicate);
      duplicate(packet);
      return false;
    case ReceiverPolicy::Verdict::kReport:
      responses_.ack().refuse(kNakSequence, policy_->expected());
      ctx_.wake();
      break;
    case ReceiverPolicy::Verdict::kDrop:
      break;
  }
  ctx_.count(VERNA_RDMA_rx_out_of_sequence);
  return false;
}

/// After a gap the message in progress is lost, and so is everything up to the next beginning.
bool Responder::check_psn_unreliable(const RocePacket& packet) {
  if (packet.psn != policy_->expected() || packet.op->has(kOpFirst)) {
    if (message_ == Message::kSend) recv_.rewind();
    message_ = Message::kNone;
    policy_->reset(packet.psn);
  }
  if (packet.op->has(kOpFirst) || message_ != Message::kNone) return true;
  return drop_unreliable(packet, VERNA_RDMA_rx_drop_sequence);
}

/// A request that was executed before. Its answer may have been lost: answer again, execute
/// nothing.
void Responder::duplicate(const RocePacket& packet) {
  const OpInfo& op = *packet.op;
  if (op.has(kOpRead)) {
    if (!responses_.repeat_read(packet)) return;
  } else if (op.has(kOpAtomic)) {
    if (!responses_.repeat_atomic(packet)) return;
  } else {
    responses_.ack().acknowledge();
  }
  ctx_.wake();
}

bool Responder::check_sequence(const RocePacket& packet, Nanos now) {
  const OpInfo& op = *packet.op;
  const Message kind = op.has(kOpSend)    ? Message::kSend
                       : op.has(kOpWrite) ? Message::kWrite
                                          : Message::kNone;
  const bool fits = op.has(kOpFirst) ? message_ == Message::kNone : message_ == kind;
  if (!fits) return refuse(packet, kNakInvalid, VERNA_RDMA_rx_drop_sequence, now);
  const uint8_t right = needed_right(op);
  if ((ctx_.attr.access & right) != right)
    return refuse(packet, kNakInvalid, VERNA_RDMA_rx_drop_protection, now);
  return true;
}

bool Responder::check_length(const RocePacket& packet, Nanos now) {
  const OpInfo& op = *packet.op;
  const uint32_t mtu = ctx_.mtu();
  bool good = packet.pad == (-packet.payload_len & 3);
  if (good && op.has(kOpPayload)) {
    const bool first = op.has(kOpFirst);
    if (!op.has(kOpLast))
      good = packet.payload_len == mtu;
    else
      good = packet.payload_len <= mtu && (first || packet.payload_len > 0);
  }
  if (op.has(kOpReth) && packet.dma_len > kMaxMessage) good = false;
  if (good && op.has(kOpWrite)) {
    const uint32_t left = op.has(kOpReth) ? packet.dma_len : write_left_;
    good = op.has(kOpLast) ? packet.payload_len == left : packet.payload_len < left;
  }
  return good || refuse(packet, kNakInvalid, VERNA_RDMA_rx_drop_length, now);
}

bool Responder::check_resources(const RocePacket& packet, Nanos now) {
  const OpInfo& op = *packet.op;
  if (op.has(kOpRead | kOpAtomic))
    return responses_.has_room() || refuse(packet, kNakInvalid, VERNA_RDMA_rx_drop_sequence, now);
  if (op.has(kOpSend) ? op.has(kOpFirst) : op.has(kOpImm)) {
    if (!take_recv(packet, now)) return false;
  }
  return !op.has(kOpSend) || check_recv_room(packet, now);
}

/// A receive request for a SEND that begins, or for the immediate data of a WRITE.
bool Responder::take_recv(const RocePacket& packet, Nanos now) {
  switch (recv_.take()) {
    case RecvRequest::Take::kTaken:
      return true;
    case RecvRequest::Take::kMalformed:
      return refuse_local(packet, kNakOperation, VERNA_CQE_LOC_QP_OP_ERR, now);
    case RecvRequest::Take::kFatal:
      ctx_.count(VERNA_RDMA_rx_drop_error);
      return false;
    case RecvRequest::Take::kEmpty:
      break;
  }
  if (!reliable()) return drop_unreliable(packet, VERNA_RDMA_rx_drop_no_wqe);
  policy_->on_refused();
  responses_.ack().refuse(kAethTypeRnr | (ctx_.attr.min_rnr_timer & 0x1f), packet.psn);
  ctx_.count(VERNA_RDMA_rx_rnr);
  ctx_.wake();
  return false;
}

bool Responder::check_recv_room(const RocePacket& packet, Nanos now) {
  if (packet.op->has(kOpFirst)) {
    received_ = 0;
    if (!recv_.check()) {
      if (reliable()) return refuse_local(packet, kNakOperation, VERNA_CQE_LOC_PROT_ERR, now);
      recv_.fail(VERNA_CQE_LOC_PROT_ERR, now);
      ctx_.enter_error();
      return drop_unreliable(packet, VERNA_RDMA_rx_drop_protection);
    }
  }
  if (packet.payload_len <= recv_.room() && received_ + packet.payload_len <= kMaxMessage)
    return true;
  if (reliable()) return refuse_local(packet, kNakInvalid, VERNA_CQE_LOC_LEN_ERR, now);
  return drop_unreliable(packet, VERNA_RDMA_rx_drop_length);
}

bool Responder::check_access(const RocePacket& packet, Nanos now) {
  const OpInfo& op = *packet.op;
  const MemoryTable& memory = ctx_.services.memory;
  const Accessor who = ctx_.accessor();
  bool good = true;
  if (op.has(kOpReth)) {
    good = memory.check(who, packet.rkey, packet.va, packet.dma_len, needed_right(op));
  } else if (op.has(kOpAtomicEth)) {
    if (packet.va % 8 != 0) return refuse(packet, kNakInvalid, VERNA_RDMA_rx_drop_protection, now);
    good = memory.check(who, packet.rkey, packet.va, 8, VERNA_ACCESS_REMOTE_ATOMIC);
  } else if (op.has(kOpIeth)) {
    good = memory.can_invalidate(who, packet.inv_rkey, true);
  }
  return good || refuse(packet, kNakAccess, VERNA_RDMA_rx_drop_protection, now);
}

bool Responder::execute(const RocePacket& packet, Nanos now) {
  const OpInfo& op = *packet.op;
  bool done = true;
  if (op.has(kOpSend))
    done = execute_send(packet, now);
  else if (op.has(kOpWrite))
    done = execute_write(packet, now);
  else if (op.has(kOpRead))
    execute_read(packet);
  else
    done = execute_atomic(packet, now);
  if (!done) return false;
  ctx_.count(VERNA_RDMA_rx_accepted);
  ctx_.trace().point(Stage::kRdmaExecute, ctx_.qpn, packet.payload_len);
  return true;
}

bool Responder::execute_send(const RocePacket& packet, Nanos now) {
  const OpInfo& op = *packet.op;
  if (recv_.place(packet.payload, packet.payload_len) != Access::kOk)
    return refuse_local(packet, kNakOperation, VERNA_CQE_LOC_PROT_ERR, now);
  received_ += packet.payload_len;
  message_ = op.has(kOpLast) ? Message::kNone : Message::kSend;
  if (op.has(kOpIeth)) ctx_.services.memory.invalidate(packet.inv_rkey);
  if (op.has(kOpLast)) msn_ = psn_add(msn_, 1);
  advance(1);
  if (op.has(kOpLast)) complete_recv(packet, now);
  return true;
}

bool Responder::execute_write(const RocePacket& packet, Nanos now) {
  const OpInfo& op = *packet.op;
  if (op.has(kOpReth)) {
    write_rkey_ = packet.rkey;
    write_va_ = packet.va;
    write_left_ = write_length_ = packet.dma_len;
  }
  const Access access =
      ctx_.services.memory.write(ctx_.accessor(), write_rkey_, write_va_, packet.payload,
                                 packet.payload_len, VERNA_ACCESS_REMOTE_WRITE);
  if (access != Access::kOk) return refuse_access(packet, access, now);
  write_va_ += packet.payload_len;
  write_left_ -= packet.payload_len;
  message_ = op.has(kOpLast) ? Message::kNone : Message::kWrite;
  if (op.has(kOpLast)) msn_ = psn_add(msn_, 1);
  advance(1);
  if (op.has(kOpImm)) complete_recv(packet, now);
  return true;
}

void Responder::execute_read(const RocePacket& packet) {
  const uint32_t mtu = ctx_.mtu();
  const uint32_t span =
      packet.dma_len == 0 ? 1 : static_cast<uint32_t>((uint64_t{packet.dma_len} + mtu - 1) / mtu);
  msn_ = psn_add(msn_, 1);
  responses_.add_read(packet.psn, span, msn_, packet.rkey, packet.va, packet.dma_len);
  advance(span);
}

bool Responder::execute_atomic(const RocePacket& packet, Nanos now) {
  const AtomicOp op = packet.opcode == kCompareSwap ? AtomicOp::kCompareSwap : AtomicOp::kFetchAdd;
  uint64_t original = 0;
  const Access access = ctx_.services.memory.atomic64(ctx_.accessor(), packet.rkey, packet.va, op,
                                                      packet.swap_add, packet.compare, &original);
  if (access != Access::kOk) return refuse_access(packet, access, now);
  msn_ = psn_add(msn_, 1);
  responses_.add_atomic(packet.psn, msn_, original);
  advance(1);
  return true;
}

void Responder::advance(uint32_t span) {
  policy_->on_executed(span);
  responses_.ack().executed();
}

void Responder::complete_recv(const RocePacket& packet, Nanos now) {
  const OpInfo& op = *packet.op;
  const bool write = op.has(kOpWrite);
  verna_cqe cqe = make_cqe(0, write ? VERNA_CQE_RECV_RDMA_WITH_IMM : VERNA_CQE_RECV, VERNA_CQE_OK);
  cqe.byte_len = write ? write_length_ : received_;
  if (op.has(kOpImm)) {
    cqe.flags |= VERNA_CQE_F_IMM;
    cqe.imm = packet.imm;
  }
  if (op.has(kOpIeth)) {
    cqe.flags |= VERNA_CQE_F_INV;
    cqe.imm = packet.inv_rkey;
  }
  if (packet.solicited) cqe.flags |= VERNA_CQE_F_SOLICITED;
  recv_.complete(&cqe, packet.solicited, now);
}

void Responder::acknowledge(const RocePacket& packet, Nanos /*now*/) {
  if (!reliable()) return;
  if (packet.op->has(kOpRead | kOpAtomic)) {
    ctx_.wake();
  } else if (packet.ack_req) {
    responses_.ack().acknowledge();
    ctx_.wake();
  }
}

/// The peer's fault. RC: NAK, and the connection is in error; UC: the message is dropped. Always
/// false.
bool Responder::refuse(const RocePacket& packet, uint8_t syndrome,
                       verna_rdma_counter unreliable_drop, Nanos now) {
  if (!reliable()) return drop_unreliable(packet, unreliable_drop);
  const bool access = syndrome == kNakAccess;
  ctx_.count(VERNA_RDMA_rx_drop_error);
  ctx_.count(access ? VERNA_RDMA_remote_access_errors : VERNA_RDMA_remote_invalid_requests);
  responses_.ack().refuse(syndrome, packet.psn);
  if (message_ == Message::kSend && recv_.held()) recv_.fail(VERNA_CQE_REM_INV_REQ_ERR, now);
  ctx_.report(access ? VERNA_EVENT_QP_ACCESS_ERR : VERNA_EVENT_QP_REQ_ERR);
  ctx_.enter_error();
  return false;
}

/// The fault of our own receive request, which completes with `status`; the peer gets a NAK.
bool Responder::refuse_local(const RocePacket& packet, uint8_t syndrome, verna_cqe_status status,
                             Nanos now) {
  ctx_.count(VERNA_RDMA_rx_drop_error);
  if (syndrome == kNakInvalid) ctx_.count(VERNA_RDMA_remote_invalid_requests);
  if (reliable()) responses_.ack().refuse(syndrome, packet.psn);
  recv_.fail(status, now);
  ctx_.enter_error();
  return false;
}

/// The region of a request vanished after it was checked, or its memory is none.
bool Responder::refuse_access(const RocePacket& packet, Access access, Nanos now) {
  const uint8_t syndrome = access == Access::kDenied ? kNakAccess : kNakOperation;
  if (syndrome == kNakAccess || !reliable())
    return refuse(packet, syndrome, VERNA_RDMA_rx_drop_protection, now);
  ctx_.count(VERNA_RDMA_rx_drop_error);
  responses_.ack().refuse(syndrome, packet.psn);
  ctx_.enter_error();
  return false;
}

bool Responder::drop_unreliable(const RocePacket& packet, verna_rdma_counter counter) {
  if (message_ == Message::kSend) recv_.rewind();
  message_ = Message::kNone;
  policy_->reset(psn_add(packet.psn, 1));
  ctx_.services.drop(counter, packet.view->len);
  return false;
}

}  // namespace verna
