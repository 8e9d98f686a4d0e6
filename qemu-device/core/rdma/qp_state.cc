// SPDX-License-Identifier: GPL-2.0-or-later
// The queue pair's state machine: MODIFY_QP and QUERY_QP.
#include <algorithm>

#include "rdma/qp.h"

namespace verna {
namespace {

constexpr uint8_t to(verna_qp_state state) { return static_cast<uint8_t>(1u << state); }
constexpr uint8_t kAlways = to(VERNA_QPS_RESET) | to(VERNA_QPS_ERR);

/// States that may follow each state (IBA, figure "QP/EE Context State Diagram").
constexpr uint8_t kNextStates[] = {
    kAlways | to(VERNA_QPS_INIT),                      // RESET
    kAlways | to(VERNA_QPS_INIT) | to(VERNA_QPS_RTR),  // INIT
    kAlways | to(VERNA_QPS_RTS),                       // RTR
    kAlways | to(VERNA_QPS_RTS) | to(VERNA_QPS_SQD),   // RTS
    kAlways | to(VERNA_QPS_RTS) | to(VERNA_QPS_SQD),   // SQD
    kAlways | to(VERNA_QPS_RTS),                       // SQE
    kAlways,                                           // ERR
};

constexpr uint8_t kQpAccess =
    VERNA_ACCESS_REMOTE_WRITE | VERNA_ACCESS_REMOTE_READ | VERNA_ACCESS_REMOTE_ATOMIC;

bool is_path_mtu(uint16_t mtu) {
  return mtu == 256 || mtu == 512 || mtu == 1024 || mtu == 2048 || mtu == 4096;
}

CommandResult check_av(const RdmaServices& services, const verna_av& av) {
  using Command = verna_cmd_modify_qp;
  if (!services.gids.valid(av.sgid_index)) return VERNA_BAD_FIELD(Command, attr.av.sgid_index);
  if (gid_is_ipv4(av.dgid) != services.gids.at(av.sgid_index).ipv4)
    return VERNA_BAD_FIELD(Command, attr.av.dgid);
  if (av.sl > 7) return VERNA_BAD_FIELD(Command, attr.av.sl);
  if (av.udp_sport != 0 && av.udp_sport < 0xc000)
    return VERNA_BAD_FIELD(Command, attr.av.udp_sport);
  if (av.flow_label > 0xfffff) return VERNA_BAD_FIELD(Command, attr.av.flow_label);
  return CommandResult::ok();
}

/// Values that have a range, in the order of the structure.
CommandResult check_ranges(const RdmaServices& services, const verna_qp_attr& a, uint32_t mask) {
  using Command = verna_cmd_modify_qp;
  const uint32_t most_reads = std::min<uint32_t>(services.limits.max_rd_atomic, Responses::kMax);
  if ((mask & VERNA_QPA_ACCESS) && (a.access & ~kQpAccess))
    return VERNA_BAD_FIELD(Command, attr.access);
  if ((mask & VERNA_QPA_PATH_MTU) && !is_path_mtu(a.path_mtu))
    return VERNA_BAD_FIELD(Command, attr.path_mtu);
  if ((mask & VERNA_QPA_TIMEOUT) && a.timeout > 31) return VERNA_BAD_FIELD(Command, attr.timeout);
  if ((mask & VERNA_QPA_RETRY_CNT) && a.retry_cnt > 7)
    return VERNA_BAD_FIELD(Command, attr.retry_cnt);
  if ((mask & VERNA_QPA_RNR_RETRY) && a.rnr_retry > 7)
    return VERNA_BAD_FIELD(Command, attr.rnr_retry);
  if ((mask & VERNA_QPA_MIN_RNR_TIMER) && a.min_rnr_timer > 31)
    return VERNA_BAD_FIELD(Command, attr.min_rnr_timer);
  if ((mask & VERNA_QPA_MAX_RD_ATOMIC) && a.max_rd_atomic > most_reads)
    return VERNA_BAD_FIELD(Command, attr.max_rd_atomic);
  if ((mask & VERNA_QPA_MAX_DEST_RD_ATOMIC) && a.max_dest_rd_atomic > most_reads)
    return VERNA_BAD_FIELD(Command, attr.max_dest_rd_atomic);
  if ((mask & VERNA_QPA_RQ_PSN) && a.rq_psn > kPsnMask)
    return VERNA_BAD_FIELD(Command, attr.rq_psn);
  if ((mask & VERNA_QPA_SQ_PSN) && a.sq_psn > kPsnMask)
    return VERNA_BAD_FIELD(Command, attr.sq_psn);
  if ((mask & VERNA_QPA_DEST_QPN) && a.dest_qpn > 0xffffff)
    return VERNA_BAD_FIELD(Command, attr.dest_qpn);
  if ((mask & VERNA_QPA_PKEY_INDEX) && a.pkey_index != 0)
    return VERNA_BAD_FIELD(Command, attr.pkey_index);
  return mask & VERNA_QPA_AV ? check_av(services, a.av) : CommandResult::ok();
}

/// What packets on the way depend on is fixed once they may flow; later values are ignored.
uint32_t changeable(verna_qp_state state) {
  uint32_t mask = VERNA_QPA_ALL;
  if (state > VERNA_QPS_INIT) mask &= ~(VERNA_QPA_PATH_MTU | VERNA_QPA_DEST_QPN | VERNA_QPA_RQ_PSN);
  if (state > VERNA_QPS_RTR) mask &= ~VERNA_QPA_SQ_PSN;
  return mask;
}

CommandResult check_transition(const QpContext& ctx, const verna_cmd_modify_qp& command) {
  using Command = verna_cmd_modify_qp;
  if (!(command.mask & VERNA_QPA_STATE))
    return ctx.state == VERNA_QPS_ERR ? CommandResult::fail(VERNA_CMD_BAD_STATE)
                                      : CommandResult::ok();
  const uint8_t next = command.attr.state;
  if (next > VERNA_QPS_ERR || next == VERNA_QPS_SQE) return VERNA_BAD_FIELD(Command, attr.state);
  const bool always = (kAlways >> next) & 1;
  if (!always && command.cur_state != ctx.state) return CommandResult::fail(VERNA_CMD_BAD_STATE);
  if (!(kNextStates[ctx.state] >> next & 1)) return CommandResult::fail(VERNA_CMD_BAD_STATE);
  if (next != VERNA_QPS_RTR || ctx.is_datagram()) return CommandResult::ok();
  // Nothing can be received without these.
  if (!(command.mask & VERNA_QPA_PATH_MTU) && ctx.attr.path_mtu == 0)
    return VERNA_BAD_FIELD(Command, attr.path_mtu);
  if (!(command.mask & VERNA_QPA_AV) && !ctx.av_set) return VERNA_BAD_FIELD(Command, attr.av);
  return CommandResult::ok();
}

}  // namespace

CommandResult Qp::modify(const verna_cmd_modify_qp& command, Nanos /*now*/) {
  using Command = verna_cmd_modify_qp;
  if (command.mask & ~VERNA_QPA_ALL) return VERNA_BAD_FIELD(Command, mask);
  for (uint8_t reserved : command.reserved) {
    if (reserved != 0) return VERNA_BAD_FIELD(Command, reserved);
  }
  CommandResult result = check_transition(ctx_, command);
  if (result.status != VERNA_CMD_OK) return result;
  const bool to_state = command.mask & VERNA_QPA_STATE;
  const bool leaves = to_state && (kAlways >> command.attr.state & 1);
  if (!leaves) {
    const uint32_t mask = command.mask & changeable(ctx_.state);
    result = check_ranges(ctx_.services, command.attr, mask);
    if (result.status != VERNA_CMD_OK) return result;
    apply(command.attr, mask);
  }
  if (to_state) enter(static_cast<verna_qp_state>(command.attr.state), command.mask);
  return CommandResult::ok();
}

void Qp::apply(const verna_qp_attr& a, uint32_t mask) {
  verna_qp_attr& own = ctx_.attr;
  if (mask & VERNA_QPA_ACCESS) own.access = a.access;
  if (mask & VERNA_QPA_PATH_MTU) own.path_mtu = a.path_mtu;
  if (mask & VERNA_QPA_TIMEOUT) own.timeout = a.timeout;
  if (mask & VERNA_QPA_RETRY_CNT) own.retry_cnt = a.retry_cnt;
  if (mask & VERNA_QPA_RNR_RETRY) own.rnr_retry = a.rnr_retry;
  if (mask & VERNA_QPA_MIN_RNR_TIMER) own.min_rnr_timer = a.min_rnr_timer;
  if (mask & VERNA_QPA_MAX_RD_ATOMIC) own.max_rd_atomic = a.max_rd_atomic;
  if (mask & VERNA_QPA_MAX_DEST_RD_ATOMIC) own.max_dest_rd_atomic = a.max_dest_rd_atomic;
  if (mask & VERNA_QPA_QKEY) own.qkey = a.qkey;
  if (mask & VERNA_QPA_RQ_PSN) own.rq_psn = a.rq_psn;
  if (mask & VERNA_QPA_SQ_PSN) own.sq_psn = a.sq_psn;
  if (mask & VERNA_QPA_DEST_QPN) own.dest_qpn = a.dest_qpn;
  if (!(mask & VERNA_QPA_AV) || ctx_.is_datagram()) return;
  own.av = a.av;
  ctx_.av_set = true;
  ctx_.path.set(ctx_.services, own.av, default_udp_sport(ctx_.qpn, own.dest_qpn));
}

void Qp::enter(verna_qp_state state, uint32_t mask) {
  const verna_qp_state from = ctx_.state;
  if (state == VERNA_QPS_RESET) return to_reset();
  if (state == VERNA_QPS_ERR) return ctx_.enter_error();
  ctx_.state = state;
  ctx_.attr.state = static_cast<uint8_t>(state);
  // A receive queue that is read when packets arrive needs no doorbell.
  if (state == VERNA_QPS_INIT && !ctx_.rq.set_need_doorbell(false)) ctx_.enter_fatal();
  if (state == VERNA_QPS_RTR) to_rtr();
  if (state == VERNA_QPS_RTS) to_rts(from);
  if (state == VERNA_QPS_SQD) {
    if (mask & VERNA_QPA_SQD_EVENT) completer_.want_drained_event();
    completer_.check_drained();
  }
}

void Qp::to_rtr() {
  responder_.start(ctx_.attr.rq_psn);
  datagram_receiver_.reset();
}

void Qp::to_rts(verna_qp_state from) {
  if (from == VERNA_QPS_RTR) {
    window_.reset(ctx_.attr.sq_psn);
    requester_.reset();
    completer_.reset();
    datagram_sender_.start(ctx_.attr.sq_psn);
  }
  window_.blocked = false;
  refresh_sq();
  ctx_.wake();
}

/// Forgets everything but identity and queues. The host begins both queues at 0 again, and its
/// first post rings.
void Qp::to_reset() {
  ctx_.services.env.scheduler.remove(this);
  ctx_.state = VERNA_QPS_RESET;
  ctx_.attr = verna_qp_attr{};
  ctx_.av_set = false;
  ctx_.path.clear();
  ctx_.leave_error();
  window_.reset(0);
  requester_.reset();
  completer_.reset();
  responder_.reset();
  datagram_receiver_.reset();
  datagram_sender_.start(0);
  ctx_.sq.reset();
  ctx_.rq.reset();
  if (!ctx_.sq.set_need_doorbell(true) || !ctx_.rq.set_need_doorbell(true)) ctx_.enter_fatal();
}

verna_qp_attr Qp::query() const {
  verna_qp_attr attr = ctx_.attr;
  attr.state = static_cast<uint8_t>(ctx_.state);
  if (ctx_.state >= VERNA_QPS_RTR && !ctx_.is_datagram()) attr.rq_psn = responder_.expected_psn();
  if (ctx_.state >= VERNA_QPS_RTS)
    attr.sq_psn = ctx_.is_datagram() ? datagram_sender_.psn() : window_.policy->fresh();
  attr.sq_draining = ctx_.state == VERNA_QPS_SQD && !window_.requests.empty();
  return attr;
}

QpSummary Qp::summary() const {
  const bool datagram = ctx_.is_datagram();
  QpSummary s{};
  s.oldest_psn = datagram ? datagram_sender_.psn() : window_.policy->oldest();
  s.next_psn = datagram ? datagram_sender_.psn() : window_.policy->next();
  s.expected_psn = datagram ? 0 : responder_.expected_psn();
  s.in_flight = window_.requests.size();
  s.responses_due = window_.responses_due;
  s.rnr_wait = window_.rnr_wait;
  s.blocked = window_.blocked;
  return s;
}

}  // namespace verna
