// SPDX-License-Identifier: GPL-2.0-or-later
// Commands of queue pairs.
#include <algorithm>
#include <cstring>

#include "rdma/engine_impl.h"

namespace verna {
namespace {

using Create = verna_cmd_create_qp;

constexpr uint8_t kSqStrideMin = 7;
constexpr uint8_t kSqStrideMax = 10;
constexpr uint8_t kRqStrideMin = 5;
constexpr uint8_t kRqStrideMax = 9;
constexpr uint32_t kRecordAlign = 128;

CommandResult check_sizes(const RdmaLimits& limits, const Create& c) {
  if (c.type < VERNA_QP_RC || c.type > VERNA_QP_GSI) return VERNA_BAD_FIELD(Create, type);
  if (c.flags & ~VERNA_QP_F_SIGNAL_ALL) return VERNA_BAD_FIELD(Create, flags);
  if (c.log_sq_size > limits.log_max_wqes) return VERNA_BAD_FIELD(Create, log_sq_size);
  if (c.log_sq_stride < kSqStrideMin || c.log_sq_stride > kSqStrideMax)
    return VERNA_BAD_FIELD(Create, log_sq_stride);
  if (c.log_rq_size > limits.log_max_wqes) return VERNA_BAD_FIELD(Create, log_rq_size);
  if (c.log_rq_stride < kRqStrideMin || c.log_rq_stride > kRqStrideMax)
    return VERNA_BAD_FIELD(Create, log_rq_stride);
  if (c.max_inline > limits.max_inline || VERNA_SQ_WQE_HDR + c.max_inline > 1u << c.log_sq_stride)
    return VERNA_BAD_FIELD(Create, max_inline);
  return CommandResult::ok();
}

CommandResult check_places(const Create& c) {
  if (c.sq_rec_offset % kRecordAlign) return VERNA_BAD_FIELD(Create, sq_rec_offset);
  if (c.rq_rec_offset % kRecordAlign) return VERNA_BAD_FIELD(Create, rq_rec_offset);
  if (c.sq_offset % (1u << c.log_sq_stride)) return VERNA_BAD_FIELD(Create, sq_offset);
  if (c.rq_offset % (1u << c.log_rq_stride)) return VERNA_BAD_FIELD(Create, rq_offset);
  return CommandResult::ok();
}

/// Bytes that the queues' memory must have at least.
uint64_t needed_length(const Create& c) {
  return std::max({uint64_t{c.sq_rec_offset} + sizeof(verna_wq_rec),
                   uint64_t{c.rq_rec_offset} + sizeof(verna_wq_rec),
                   c.sq_offset + (uint64_t{1} << (c.log_sq_size + c.log_sq_stride)),
                   c.rq_offset + (uint64_t{1} << (c.log_rq_size + c.log_rq_stride))});
}

/// Loads the memory of the queues and makes them.
CommandResult make_queues(RdmaServices& services, const Create& c, QpContext* ctx) {
  const PblStatus status = PageList::load(services.env.bus, ctx->fn, c.mem, needed_length(c),
                                          services.env.pbl_quota, &ctx->memory);
  if (status != PblStatus::kOk) return pbl_failure(status, offsetof(Create, mem));
  const WorkQueue::Layout sq{c.sq_rec_offset, c.sq_offset, c.log_sq_size, c.log_sq_stride};
  if (!ctx->sq.init(&services.env.bus, ctx->fn, &ctx->memory, sq))
    return VERNA_BAD_FIELD(Create, sq_offset);
  const WorkQueue::Layout rq{c.rq_rec_offset, c.rq_offset, c.log_rq_size, c.log_rq_stride};
  if (!ctx->rq.init(&services.env.bus, ctx->fn, &ctx->memory, rq))
    return VERNA_BAD_FIELD(Create, rq_offset);
  if (!ctx->sq.set_need_doorbell(true) || !ctx->rq.set_need_doorbell(true))
    return CommandResult::fail(VERNA_CMD_DMA_FAULT);
  return CommandResult::ok();
}

}  // namespace

CommandResult RdmaEngine::Impl::create_qp(const Create& c) {
  ProtectionDomain* pd = find_pd(c.pdn);
  if (!pd) return VERNA_BAD_FIELD(Create, pdn);
  Cq* send_cq = services.env.find_cq(c.send_cqn);
  if (!send_cq || send_cq->function() != c.hdr.function) return VERNA_BAD_FIELD(Create, send_cqn);
  Cq* recv_cq = services.env.find_cq(c.recv_cqn);
  if (!recv_cq || recv_cq->function() != c.hdr.function) return VERNA_BAD_FIELD(Create, recv_cqn);
  if (c.uar >= services.limits.num_uars) return VERNA_BAD_FIELD(Create, uar);
  CommandResult result = check_sizes(services.limits, c);
  if (result.status == VERNA_CMD_OK) result = check_places(c);
  if (result.status != VERNA_CMD_OK) return result;
  const bool gsi = c.type == VERNA_QP_GSI;
  if (gsi && find_qp(kGsiQpn)) return CommandResult::fail(VERNA_CMD_EXISTS);
  if (qps.size() >= services.limits.max_qps) return CommandResult::fail(VERNA_CMD_NO_RESOURCE);

  auto qp = std::make_unique<Qp>(services);
  qp->join(services.env.tx_group);
  QpContext& ctx = qp->context();
  ctx.fn = c.hdr.function;
  ctx.type = static_cast<verna_qp_type>(c.type);
  ctx.flags = c.flags;
  ctx.uar = c.uar;
  ctx.max_inline = c.max_inline;
  ctx.pd = pd;
  ctx.send_cq = send_cq;
  ctx.recv_cq = recv_cq;
  result = make_queues(services, c, &ctx);
  if (result.status != VERNA_CMD_OK) return result;
  ctx.qpn = gsi ? kGsiQpn : qpns.allocate();
  pd->users++;
  send_cq->users++;
  recv_cq->users++;
  const uint32_t qpn = ctx.qpn;
  qps.emplace(qpn, std::move(qp));
  return CommandResult::ok(qpn);
}

CommandResult RdmaEngine::Impl::modify_qp(const verna_cmd_modify_qp& c, Nanos now) {
  Qp* qp = find_qp(c.qpn);
  if (!qp || qp->context().fn != c.hdr.function) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  return qp->modify(c, now);
}

CommandResult RdmaEngine::Impl::query_qp(const verna_cmd_query& c) {
  if (c.group != 0) return VERNA_BAD_FIELD(verna_cmd_query, group);
  if (c.reserved != 0) return VERNA_BAD_FIELD(verna_cmd_query, reserved);
  Qp* qp = find_qp(c.id);
  if (!qp || qp->context().fn != c.hdr.function) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  const verna_qp_attr attr = qp->query();
  const uint32_t len = std::min<uint32_t>(c.len, sizeof attr);
  if (len > 0 && !services.env.bus.write(c.hdr.function, c.addr, &attr, len))
    return CommandResult::fail(VERNA_CMD_DMA_FAULT);
  return CommandResult::ok(len);
}

CommandResult RdmaEngine::Impl::destroy_qp_command(const verna_cmd_object& c) {
  if (c.reserved != 0) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  const Qp* qp = find_qp(c.id);
  if (!qp || qp->context().fn != c.hdr.function) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  destroy_qp(c.id);
  return CommandResult::ok();
}

}  // namespace verna
