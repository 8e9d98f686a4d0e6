// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/completer.h"

#include <algorithm>
#include <iterator>

namespace verna {
namespace {

constexpr uint8_t kRnrForever = 7;

/// IBA's table of RNR timers, in units of 10 us.
constexpr uint32_t kRnrDelay[32] = {65536, 1,    2,    3,     4,     6,     8,     12,
                                    16,    24,   32,   48,    64,    96,    128,   192,
                                    256,   384,  512,  768,   1024,  1536,  2048,  3072,
                                    4096,  6144, 8192, 12288, 16384, 24576, 32768, 49152};

}  // namespace

Nanos rnr_delay(uint8_t code) { return Nanos{kRnrDelay[code & 31]} * 10'000; }

Completer::Completer(QpContext& context, SendWindow& window)
    : ctx_(context),
      window_(window),
      retry_timer_(context.services.env.timers, retry_timer_expired, this),
      rnr_timer_(context.services.env.timers, rnr_timer_expired, this) {}

void Completer::reset() {
  retry_timer_.cancel();
  rnr_timer_.cancel();
  retries_left_ = ctx_.attr.retry_cnt;
  rnr_left_ = ctx_.attr.rnr_retry;
  gap_handled_ = false;
  response_valid_ = false;
  drained_event_ = false;
}

void Completer::receive(const RocePacket& packet, Nanos now) {
  if (packet.op->has(kOpCnp)) {
    window_.congestion->on_cnp(now);
    ctx_.count(VERNA_RDMA_rx_accepted);
    return;
  }
  if (!window_.policy->in_flight(packet.psn)) {
    const bool old = psn_before(packet.psn, window_.policy->oldest());
    ctx_.count(old ? VERNA_RDMA_rx_duplicate : VERNA_RDMA_rx_drop_unsolicited);
    return;
  }
  if (packet.opcode == kAcknowledge)
    on_acknowledge(packet, now);
  else if (packet.opcode == kAtomicAcknowledge)
    on_atomic_response(packet, now);
  else
    on_read_response(packet, now);
  check_drained();
}

void Completer::on_acknowledge(const RocePacket& packet, Nanos now) {
  ctx_.trace().point(Stage::kRdmaAck, ctx_.qpn, uint32_t{packet.syndrome} << 24 | packet.psn);
  switch (packet.syndrome & kAethTypeMask) {
    case kAethTypeAck:
      ctx_.count(VERNA_RDMA_rx_accepted);
      if (!acknowledge_before(psn_add(packet.psn, 1), now)) missing(now);
      return;
    case kAethTypeRnr:
      ctx_.count(VERNA_RDMA_rx_accepted);
      on_rnr(packet, now);
      return;
    case kAethTypeNak:
      ctx_.count(VERNA_RDMA_rx_accepted);
      on_nak(packet, now);
      return;
    default:
      bad_response(now);
  }
}

/// Everything before `psn` reached the peer: completes what needs no more. False: a response is
/// missing that must have been sent before this acknowledgement.
bool Completer::acknowledge_before(uint32_t psn, Nanos now) {
  SenderPolicy& policy = *window_.policy;
  const uint32_t start = policy.oldest();
  const uint32_t limit = psn_distance(start, psn);
  while (policy.oldest() != psn && ctx_.can_send()) {
    const SendRequest& request = window_.requests.front();
    if (request.has_response()) break;
    const bool whole = psn_distance(start, request.end_psn()) <= limit;
    window_.congestion->on_ack(policy.on_acked_before(whole ? request.end_psn() : psn), now);
    if (whole) complete_front(VERNA_CQE_OK, now);
  }
  if (policy.oldest() != start) progress(now);
  return policy.oldest() == psn;
}

/// Something was acknowledged: retries start over, and the requester may go on.
void Completer::progress(Nanos now) {
  retries_left_ = ctx_.attr.retry_cnt;
  rnr_left_ = ctx_.attr.rnr_retry;
  gap_handled_ = false;
  window_.blocked = false;
  start_retry_timer(now);
  if (ctx_.can_send()) ctx_.wake();
}

/// The oldest unacknowledged packet, or the answer to it, was lost. Asks for it once; what follows
/// of the old flight tells nothing new.
void Completer::missing(Nanos now) {
  if (gap_handled_ || !ctx_.can_send() || window_.policy->outstanding() == 0) return;
  gap_handled_ = true;
  if (!take_retry(now)) return;
  window_.policy->on_missing(window_.policy->oldest());
  window_.congestion->on_loss(now);
  window_.blocked = false;
  ctx_.wake();
}

bool Completer::take_retry(Nanos now) {
  if (retries_left_ == 0) {
    fail_front(VERNA_CQE_RETRY_EXC_ERR, now);
    return false;
  }
  retries_left_--;
  return true;
}

void Completer::on_rnr(const RocePacket& packet, Nanos now) {
  ctx_.count(VERNA_RDMA_rx_rnr_naks);
  if (window_.rnr_wait) return;
  if (!acknowledge_before(packet.psn, now)) {
    missing(now);
    return;
  }
  if (!ctx_.can_send()) return;
  if (ctx_.attr.rnr_retry != kRnrForever) {
    if (rnr_left_ == 0) {
      fail_front(VERNA_CQE_RNR_RETRY_EXC_ERR, now);
      return;
    }
    rnr_left_--;
  }
  window_.policy->on_missing(packet.psn);
  window_.rnr_wait = true;
  retry_timer_.cancel();
  rnr_timer_.set(now + rnr_delay(packet.syndrome));
}

void Completer::on_nak(const RocePacket& packet, Nanos now) {
  static constexpr verna_cqe_status kStatus[] = {VERNA_CQE_OK, VERNA_CQE_REM_INV_REQ_ERR,
                                                 VERNA_CQE_REM_ACCESS_ERR, VERNA_CQE_REM_OP_ERR};
  const uint32_t code = packet.syndrome & 0x1f;
  ctx_.count(code == 0 ? VERNA_RDMA_rx_naks_seq : VERNA_RDMA_rx_naks_fatal);
  const bool complete = acknowledge_before(packet.psn, now);
  if (!ctx_.can_send()) return;
  if (code == 0 || !complete) {
    missing(now);
    return;
  }
  fail_front(code < std::size(kStatus) ? kStatus[code] : VERNA_CQE_REM_OP_ERR, now);
}

/// What breaks the protocol ends the oldest request, and the connection.
void Completer::bad_response(Nanos now) {
  ctx_.count(VERNA_RDMA_rx_drop_error);
  fail_front(VERNA_CQE_BAD_RESP_ERR, now);
}

/// True if the packet is the one response that the oldest request waits for. Else it is counted and
/// dealt with. A response also acknowledges all requests before its own.
bool Completer::is_next_response(const RocePacket& packet, bool atomic, Nanos now) {
  const SendRequest* request = window_.requests.find(packet.psn);
  const bool fits = request && (atomic ? request->opcode == VERNA_WR_ATOMIC_CAS ||
                                             request->opcode == VERNA_WR_ATOMIC_FADD
                                       : request->opcode == VERNA_WR_RDMA_READ);
  if (!fits) {
    bad_response(now);
    return false;
  }
  acknowledge_before(request->first_psn, now);
  if (!ctx_.can_send()) {
    ctx_.count(VERNA_RDMA_rx_drop_error);
    return false;
  }
  if (packet.psn == window_.policy->oldest()) return true;
  ctx_.count(VERNA_RDMA_rx_out_of_sequence);
  if (!gap_handled_) window_.congestion->on_timeout(now);
  missing(now);
  // The peer is alive: the rest of the old flight comes before what it was asked for again.
  start_retry_timer(now);
  return false;
}

verna_cqe_status Completer::check_read_response(const SendRequest& request,
                                                const RocePacket& packet) const {
  const OpInfo& op = *packet.op;
  const uint32_t k = psn_distance(request.first_psn, packet.psn);
  const bool last = k + 1 == request.span;
  const uint32_t expected = std::min(ctx_.mtu(), request.length - k * ctx_.mtu());
  if (op.has(kOpAeth) && (packet.syndrome & kAethTypeMask) != kAethTypeAck)
    return VERNA_CQE_BAD_RESP_ERR;
  // A READ that was asked for again from the middle begins anew with FIRST or ONLY.
  if (op.has(kOpLast) != last || packet.payload_len != expected) return VERNA_CQE_BAD_RESP_ERR;
  if (k == 0 && !op.has(kOpFirst)) return VERNA_CQE_BAD_RESP_ERR;
  return VERNA_CQE_OK;
}

void Completer::on_read_response(const RocePacket& packet, Nanos now) {
  if (!is_next_response(packet, false, now)) return;
  const SendRequest& request = window_.requests.front();
  verna_cqe_status status = check_read_response(request, packet);
  const uint64_t offset = uint64_t{psn_distance(request.first_psn, packet.psn)} * ctx_.mtu();
  if (status == VERNA_CQE_OK) status = place(request, offset, packet.payload, packet.payload_len);
  if (status != VERNA_CQE_OK) {
    ctx_.count(VERNA_RDMA_rx_drop_error);
    fail_front(status, now);
    return;
  }
  ctx_.count(VERNA_RDMA_rx_accepted);
  ctx_.trace().point(Stage::kRdmaExecute, ctx_.qpn, packet.payload_len);
  window_.policy->on_acked_before(psn_add(packet.psn, 1));
  window_.congestion->on_ack(1, now);
  if (packet.op->has(kOpLast)) complete_front(VERNA_CQE_OK, now);
  progress(now);
}

void Completer::on_atomic_response(const RocePacket& packet, Nanos now) {
  if (!is_next_response(packet, true, now)) return;
  const SendRequest& request = window_.requests.front();
  verna_cqe_status status = VERNA_CQE_BAD_RESP_ERR;
  if ((packet.syndrome & kAethTypeMask) == kAethTypeAck) {
    const uint64_t original = packet.original;
    status = place(request, 0, reinterpret_cast<const uint8_t*>(&original), sizeof original);
  }
  if (status != VERNA_CQE_OK) {
    ctx_.count(VERNA_RDMA_rx_drop_error);
    fail_front(status, now);
    return;
  }
  ctx_.count(VERNA_RDMA_rx_accepted);
  window_.policy->on_acked_before(psn_add(packet.psn, 1));
  window_.congestion->on_ack(1, now);
  complete_front(VERNA_CQE_OK, now);
  progress(now);
}

/// Writes a response at `offset` of the request's data segments, which are read from the host's
/// queue once per request.
verna_cqe_status Completer::place(const SendRequest& request, uint64_t offset, const uint8_t* data,
                                  uint32_t len) {
  if (!response_valid_ || response_index_ != request.wqe_index) {
    uint8_t raw[VERNA_SQ_WQE_MAX];
    SendWqe wqe;
    const SendRules rules{ctx_.type, ctx_.sq.stride(), ctx_.services.limits.max_send_sge,
                          ctx_.max_inline};
    response_valid_ = false;
    if (!ctx_.sq.reread(request.wqe_index, raw, ctx_.sq.stride())) return VERNA_CQE_LOC_PROT_ERR;
    if (decode_send_wqe(raw, rules, &wqe) != VERNA_CQE_OK || wqe.length != request.length)
      return VERNA_CQE_LOC_QP_OP_ERR;
    response_sge_ = wqe.sge;
    response_index_ = request.wqe_index;
    response_valid_ = true;
    response_position_ = 0;
  }
  if (response_position_ != offset) response_sge_.seek(offset);
  response_position_ = offset + len;
  const Access access = response_sge_.scatter(ctx_.services.memory, ctx_.accessor(), data, len);
  return access == Access::kOk ? VERNA_CQE_OK : VERNA_CQE_LOC_PROT_ERR;
}

}  // namespace verna
