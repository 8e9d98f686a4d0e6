// SPDX-License-Identifier: GPL-2.0-or-later
// Protection domains, memory regions and queue pairs.
#include <algorithm>

#include "support/fail.h"
#include "support/mini_driver.h"

namespace verna::test {
namespace {

uint32_t align_up(uint32_t v, uint32_t to) { return (v + to - 1) / to * to; }

}  // namespace

uint32_t MiniDriver::create_pd() {
  verna_cmd_object command{};
  const Reply reply = execute(VERNA_CMD_CREATE_PD, command);
  if (!reply.ok()) fail("CREATE_PD: status " + std::to_string(reply.status));
  return static_cast<uint32_t>(reply.result);
}

Region* MiniDriver::create_mr(uint32_t pdn, uint64_t len, uint8_t access, const BufferShape& shape,
                              uint64_t iova) {
  regions_.push_back({HostBuffer(bus_, len, shape, "memory region"), 0, iova, pdn});
  Region* region = &regions_.back();
  if (iova == 0) region->iova = 0x7f00'0000'0000 + 0x1'0000'0000 * regions_.size() + shape.offset;
  verna_cmd_create_mr command{};
  command.pdn = pdn;
  command.access = access;
  command.iova = region->iova;
  command.length = len;
  if (len > 0) command.mem = region->mem.pbl();
  const Reply reply = execute(VERNA_CMD_CREATE_MR, command);
  if (!reply.ok()) {
    fail("CREATE_MR: status " + std::to_string(reply.status) + " detail " +
         std::to_string(reply.detail));
  }
  region->key = static_cast<uint32_t>(reply.result);
  if (access & VERNA_ACCESS_ZERO_BASED) region->iova = 0;
  return region;
}

Reply MiniDriver::set_gid(uint16_t index, const uint8_t (&gid)[16], const uint8_t (&mac)[6],
                          uint16_t vlan) {
  verna_cmd_set_gid command{};
  command.index = index;
  command.valid = 1;
  command.vlan = vlan;
  std::memcpy(command.mac, mac, 6);
  std::memcpy(command.gid, gid, 16);
  return execute(VERNA_CMD_SET_GID, command);
}

Reply MiniDriver::create_qp_raw(const QpOptions& options, uint32_t send_cqn, uint32_t recv_cqn,
                                QueuePair* qp) {
  const uint32_t sq_ring = align_up(256, 1u << options.log_sq_stride);
  const uint32_t sq_bytes = 1u << (options.log_sq_size + options.log_sq_stride);
  const uint32_t rq_ring = align_up(sq_ring + sq_bytes, 1u << options.log_rq_stride);
  const uint32_t rq_bytes = 1u << (options.log_rq_size + options.log_rq_stride);
  qp->mem = HostBuffer(bus_, rq_ring + rq_bytes, options.shape, "queue pair");
  qp->type = options.type;
  init_wq(&qp->sq, &qp->mem, 0, sq_ring, options.log_sq_size, options.log_sq_stride);
  init_wq(&qp->rq, &qp->mem, 128, rq_ring, options.log_rq_size, options.log_rq_stride);
  verna_cmd_create_qp command{};
  command.pdn = options.pdn;
  command.send_cqn = send_cqn;
  command.recv_cqn = recv_cqn;
  command.uar = options.uar;
  command.type = options.type;
  command.flags = options.flags;
  command.log_sq_size = options.log_sq_size;
  command.log_sq_stride = options.log_sq_stride;
  command.log_rq_size = options.log_rq_size;
  command.log_rq_stride = options.log_rq_stride;
  command.max_inline = options.max_inline;
  command.mem = qp->mem.pbl();
  command.sq_rec_offset = qp->sq.rec;
  command.rq_rec_offset = qp->rq.rec;
  command.sq_offset = sq_ring;
  command.rq_offset = rq_ring;
  const Reply reply = execute(VERNA_CMD_CREATE_QP, command);
  qp->qpn = static_cast<uint32_t>(reply.result);
  qp->sq.type = VERNA_DB_QP_SQ;
  qp->rq.type = VERNA_DB_QP_RQ;
  qp->sq.id = qp->rq.id = qp->qpn;
  qp->sq.uar = qp->rq.uar = options.uar;
  return reply;
}

QueuePair* MiniDriver::create_qp(const QpOptions& options, RingHandle* send_cq,
                                 RingHandle* recv_cq) {
  qps_.emplace_back();
  QueuePair* qp = &qps_.back();
  qp->send_cq = send_cq;
  qp->recv_cq = recv_cq;
  const Reply reply = create_qp_raw(options, send_cq->id, recv_cq->id, qp);
  if (!reply.ok()) {
    fail("CREATE_QP: status " + std::to_string(reply.status) + " detail " +
         std::to_string(reply.detail));
  }
  return qp;
}

Reply MiniDriver::modify_qp(uint32_t qpn, uint8_t cur_state, uint32_t mask,
                            const verna_qp_attr& attr) {
  verna_cmd_modify_qp command{};
  command.qpn = qpn;
  command.mask = mask;
  command.cur_state = cur_state;
  command.attr = attr;
  return execute(VERNA_CMD_MODIFY_QP, command);
}

uint32_t MiniDriver::post_send(QueuePair* qp, const SendWr& wr, bool ring) {
  std::vector<uint8_t> entry(size_t{1} << qp->sq.log_stride, 0);
  verna_sq_wqe wqe{};
  wqe.opcode = wr.opcode;
  wqe.flags = wr.flags;
  wqe.num_sge = static_cast<uint8_t>(wr.sges.size());
  wqe.imm = wr.imm;
  if (wr.flags & VERNA_WR_F_INLINE) wqe.inline_len = static_cast<uint32_t>(wr.inline_data.size());
  if (wr.opcode == VERNA_WR_ATOMIC_CAS || wr.opcode == VERNA_WR_ATOMIC_FADD) {
    wqe.atomic.remote_addr = wr.remote_addr;
    wqe.atomic.rkey = wr.rkey;
    wqe.atomic.swap_add = wr.swap_add;
    wqe.atomic.compare = wr.compare;
  } else if (qp->type == VERNA_QP_UD || qp->type == VERNA_QP_GSI) {
    wqe.ud.remote_qpn = wr.remote_qpn;
    wqe.ud.remote_qkey = wr.remote_qkey;
    wqe.ud.av = wr.av;
  } else {
    wqe.rdma.remote_addr = wr.remote_addr;
    wqe.rdma.rkey = wr.rkey;
  }
  std::memcpy(entry.data(), &wqe, sizeof wqe);
  const size_t room = entry.size() - VERNA_SQ_WQE_HDR;
  if (wr.flags & VERNA_WR_F_INLINE) {
    std::copy_n(wr.inline_data.begin(), std::min(room, wr.inline_data.size()),
                entry.begin() + VERNA_SQ_WQE_HDR);
  } else if (!wr.sges.empty()) {
    std::memcpy(entry.data() + VERNA_SQ_WQE_HDR, wr.sges.data(),
                std::min(room, wr.sges.size() * sizeof(verna_sge)));
  }
  bus_.fill(qp->sq.entry(qp->sq.prod), entry);
  const uint32_t index = qp->sq.prod++;
  if (ring) publish(&qp->sq);
  return index;
}

uint32_t MiniDriver::post_recv(QueuePair* qp, const std::vector<verna_sge>& sges, bool ring) {
  std::vector<uint8_t> entry(size_t{1} << qp->rq.log_stride, 0);
  entry[0] = static_cast<uint8_t>(sges.size());
  const size_t room = entry.size() - VERNA_RQ_WQE_HDR;
  if (!sges.empty()) {
    std::memcpy(entry.data() + VERNA_RQ_WQE_HDR, sges.data(),
                std::min(room, sges.size() * sizeof(verna_sge)));
  }
  bus_.fill(qp->rq.entry(qp->rq.prod), entry);
  const uint32_t index = qp->rq.prod++;
  if (ring) publish(&qp->rq);
  return index;
}

}  // namespace verna::test
