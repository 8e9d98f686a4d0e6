// SPDX-License-Identifier: GPL-2.0-or-later
// Work requests as the card understands them.
#pragma once

#include "rdma/rdma_engine.h"
#include "rdma/sge.h"

namespace verna {

inline constexpr uint32_t kMaxInline = VERNA_SQ_WQE_MAX - VERNA_SQ_WQE_HDR;
inline constexpr uint64_t kMaxMessage = uint64_t{1} << 31;

/// A send request, decoded from the card's copy of its queue entry.
struct SendWqe {
  uint8_t opcode;  // verna_wr_opcode
  uint8_t flags;   // VERNA_WR_F_*
  uint32_t imm;
  uint64_t remote_addr;
  uint32_t rkey;
  uint64_t swap_add;
  uint64_t compare;
  uint32_t remote_qpn;
  uint32_t remote_qkey;
  verna_av av;
  uint64_t length;  // bytes of the message
  SgeList sge;
  std::array<uint8_t, kMaxInline> inline_data;

  bool is_inline() const { return flags & VERNA_WR_F_INLINE; }
  bool is_read() const { return opcode == VERNA_WR_RDMA_READ; }
  bool is_atomic() const { return opcode == VERNA_WR_ATOMIC_CAS || opcode == VERNA_WR_ATOMIC_FADD; }
  /// The peer answers with data, and max_rd_atomic counts it.
  bool has_response() const { return is_read() || is_atomic(); }
};

/// Limits that a send request must keep.
struct SendRules {
  verna_qp_type type;
  uint32_t stride;
  uint32_t max_sge;
  uint32_t max_inline;
};

/// Decodes and checks the entry `raw`. Anything but VERNA_CQE_OK: what the request completes with;
/// `opcode` is set even then.
verna_cqe_status decode_send_wqe(const uint8_t* raw, const SendRules& rules, SendWqe* out);

/// The completion opcode of a send request.
uint8_t send_cqe_opcode(uint8_t wr_opcode);

/// A receive request. False: the entry breaks a rule.
[[nodiscard]] bool decode_recv_wqe(const uint8_t* raw, uint32_t stride, uint32_t max_sge,
                                   SgeList* out);

}  // namespace verna
