// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/wqe.h"

#include <algorithm>
#include <cstring>

namespace verna {
namespace {

constexpr uint8_t kAllFlags =
    VERNA_WR_F_SIGNALED | VERNA_WR_F_SOLICITED | VERNA_WR_F_FENCE | VERNA_WR_F_INLINE;

constexpr uint8_t bit(verna_qp_type type) { return static_cast<uint8_t>(1u << type); }
constexpr uint8_t kRc = bit(VERNA_QP_RC);
constexpr uint8_t kUc = bit(VERNA_QP_UC);
constexpr uint8_t kUd = bit(VERNA_QP_UD) | bit(VERNA_QP_GSI);

enum Body : uint8_t { kNone, kRdma, kAtomic };

struct WrInfo {
  uint8_t types;  // queue pairs that may post it
  Body body;
  bool inline_ok;
  uint8_t cqe_opcode;
};

/// Indexed by verna_wr_opcode. SEND of UD and GSI carries an address vector instead of a body.
constexpr WrInfo kWrInfo[] = {
    {kRc | kUc | kUd, kNone, true, VERNA_CQE_SEND},  // SEND
    {kRc | kUc | kUd, kNone, true, VERNA_CQE_SEND},  // SEND_WITH_IMM
    {kRc, kNone, true, VERNA_CQE_SEND},              // SEND_WITH_INV
    {kRc | kUc, kRdma, true, VERNA_CQE_RDMA_WRITE},  // RDMA_WRITE
    {kRc | kUc, kRdma, true, VERNA_CQE_RDMA_WRITE},  // RDMA_WRITE_WITH_IMM
    {kRc, kRdma, false, VERNA_CQE_RDMA_READ},        // RDMA_READ
    {kRc, kAtomic, false, VERNA_CQE_ATOMIC_CAS},     // ATOMIC_CAS
    {kRc, kAtomic, false, VERNA_CQE_ATOMIC_FADD},    // ATOMIC_FADD
    {kRc | kUc, kNone, false, VERNA_CQE_LOCAL_INV},  // LOCAL_INV
};

bool reserved_clear(const verna_sq_wqe& wqe, Body body, bool datagram) {
  if (wqe.reserved0 || wqe.reserved1) return false;
  if (datagram) return all_zero(wqe.ud.reserved);
  if (body == kRdma) return all_zero(wqe.rdma.reserved);
  if (body == kAtomic) return wqe.atomic.reserved0 == 0 && all_zero(wqe.atomic.reserved);
  return true;
}

void take_body(const verna_sq_wqe& wqe, Body body, bool datagram, SendWqe* out) {
  if (datagram) {
    out->remote_qpn = wqe.ud.remote_qpn & 0xffffff;
    out->remote_qkey = wqe.ud.remote_qkey;
    out->av = wqe.ud.av;
  } else if (body == kRdma) {
    out->remote_addr = wqe.rdma.remote_addr;
    out->rkey = wqe.rdma.rkey;
  } else if (body == kAtomic) {
    out->remote_addr = wqe.atomic.remote_addr;
    out->rkey = wqe.atomic.rkey;
    out->swap_add = wqe.atomic.swap_add;
    out->compare = wqe.atomic.compare;
  }
}

/// Data segments or inline data, which begin at offset 64.
verna_cqe_status take_data(const verna_sq_wqe& wqe, const uint8_t* raw, const SendRules& rules,
                           SendWqe* out) {
  const uint32_t room = rules.stride - VERNA_SQ_WQE_HDR;
  out->sge.clear();
  if (out->is_inline()) {
    if (!kWrInfo[wqe.opcode].inline_ok || wqe.num_sge != 0) return VERNA_CQE_LOC_QP_OP_ERR;
    if (wqe.inline_len > rules.max_inline || wqe.inline_len > room) return VERNA_CQE_LOC_LEN_ERR;
    std::memcpy(out->inline_data.data(), raw + VERNA_SQ_WQE_HDR, wqe.inline_len);
    out->length = wqe.inline_len;
    return VERNA_CQE_OK;
  }
  if (wqe.inline_len != 0) return VERNA_CQE_LOC_QP_OP_ERR;
  if (wqe.num_sge > std::min(rules.max_sge, kMaxSge)) return VERNA_CQE_LOC_QP_OP_ERR;
  if (wqe.num_sge * sizeof(verna_sge) > room) return VERNA_CQE_LOC_QP_OP_ERR;
  out->sge.assign(raw + VERNA_SQ_WQE_HDR, wqe.num_sge);
  out->length = out->sge.total();
  return out->length > kMaxMessage ? VERNA_CQE_LOC_LEN_ERR : VERNA_CQE_OK;
}

}  // namespace

uint8_t send_cqe_opcode(uint8_t wr_opcode) {
  return wr_opcode < std::size(kWrInfo) ? kWrInfo[wr_opcode].cqe_opcode : uint8_t{VERNA_CQE_SEND};
}

verna_cqe_status decode_send_wqe(const uint8_t* raw, const SendRules& rules, SendWqe* out) {
  verna_sq_wqe wqe;
  std::memcpy(&wqe, raw, sizeof wqe);
  out->opcode = wqe.opcode;
  out->flags = wqe.flags;
  out->imm = wqe.imm;
  out->length = 0;
  out->sge.clear();
  if (wqe.opcode >= std::size(kWrInfo) || (wqe.flags & ~kAllFlags)) return VERNA_CQE_LOC_QP_OP_ERR;
  const WrInfo& info = kWrInfo[wqe.opcode];
  const bool datagram = (kUd & bit(rules.type)) != 0;
  if (!(info.types & bit(rules.type))) return VERNA_CQE_LOC_QP_OP_ERR;
  if (!reserved_clear(wqe, info.body, datagram)) return VERNA_CQE_LOC_QP_OP_ERR;
  take_body(wqe, info.body, datagram, out);
  const verna_cqe_status status = take_data(wqe, raw, rules, out);
  if (status != VERNA_CQE_OK) return status;
  if (wqe.opcode == VERNA_WR_LOCAL_INV && out->length != 0) return VERNA_CQE_LOC_QP_OP_ERR;
  if (out->is_atomic() && (wqe.num_sge != 1 || out->length != 8)) return VERNA_CQE_LOC_LEN_ERR;
  return VERNA_CQE_OK;
}

bool decode_recv_wqe(const uint8_t* raw, uint32_t stride, uint32_t max_sge, SgeList* out) {
  verna_rq_wqe wqe;
  std::memcpy(&wqe, raw, sizeof wqe);
  out->clear();
  for (uint8_t reserved : wqe.reserved) {
    if (reserved != 0) return false;
  }
  if (wqe.num_sge > std::min(max_sge, kMaxSge)) return false;
  if (VERNA_RQ_WQE_HDR + wqe.num_sge * sizeof(verna_sge) > stride) return false;
  out->assign(raw + VERNA_RQ_WQE_HDR, wqe.num_sge);
  return true;
}

}  // namespace verna
