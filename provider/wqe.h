/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: fills the header of a send request, for ibv_post_send() and ibv_wr_*().
 *
 * Slots are used again and the card refuses a request whose reserved fields are
 * not zero. So each helper writes every word that any request of its kind of
 * queue pair ever sets; what none of them sets is still zero from the start.
 */
#ifndef VERNA_WQE_H
#define VERNA_WQE_H

#include "verna.h"

/** VERNA_SEND_FLAGS - the flags of enum ibv_send_flags that a request may have */
#define VERNA_SEND_FLAGS	(IBV_SEND_FENCE | IBV_SEND_SIGNALED | \
				 IBV_SEND_SOLICITED | IBV_SEND_INLINE)

/** verna_wr_flags - VERNA_WR_F_* of VERNA_SEND_FLAGS */
static inline uint8_t verna_wr_flags(unsigned int send_flags)
{
	_Static_assert(IBV_SEND_FENCE == 1 && IBV_SEND_SIGNALED == 2 &&
		       IBV_SEND_SOLICITED == 4 && IBV_SEND_INLINE == 8 &&
		       VERNA_WR_F_SIGNALED == 1 && VERNA_WR_F_SOLICITED == 2 &&
		       VERNA_WR_F_FENCE == 4 && VERNA_WR_F_INLINE == 8,
		       "a shift and a swap no longer do");
	return (send_flags & IBV_SEND_INLINE) |
	       (send_flags & (IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)) >> 1 |
	       (send_flags & IBV_SEND_FENCE) << 2;
}

/** verna_wqe_start - the first 16 bytes; @imm is as in struct verna_sq_wqe */
static inline void verna_wqe_start(struct verna_sq_wqe *wqe, uint8_t opcode,
				   uint8_t flags, uint8_t num_sge,
				   uint32_t inline_len, __le32 imm)
{
	__le64 first = htole64(opcode | flags << 8 | num_sge << 16 |
			       (uint64_t)inline_len << 32);

	_Static_assert(offsetof(struct verna_sq_wqe, flags) == 1 &&
		       offsetof(struct verna_sq_wqe, num_sge) == 2 &&
		       offsetof(struct verna_sq_wqe, inline_len) == 4,
		       "the first word is composed here");
	memcpy(wqe, &first, sizeof(first));
	wqe->imm = imm;
}

/** verna_wqe_remote - RC and UC; zeros where the opcode has no such operand */
static inline void verna_wqe_remote(struct verna_sq_wqe *wqe,
				    uint64_t remote_addr, uint32_t rkey,
				    uint64_t swap_add, uint64_t compare)
{
	wqe->atomic.remote_addr = htole64(remote_addr);
	wqe->atomic.rkey = htole32(rkey);
	wqe->atomic.swap_add = htole64(swap_add);
	wqe->atomic.compare = htole64(compare);
}

/** verna_wqe_ud - UD */
static inline void verna_wqe_ud(struct verna_sq_wqe *wqe, struct ibv_ah *ah,
				uint32_t remote_qpn, uint32_t remote_qkey)
{
	wqe->ud.remote_qpn = htole32(remote_qpn);
	wqe->ud.remote_qkey = htole32(remote_qkey);
	wqe->ud.av = to_vah(ah)->av;
}

/** verna_wqe_data - where data segments or inline data begin */
static inline void *verna_wqe_data(struct verna_sq_wqe *wqe)
{
	return wqe + 1;
}

#endif /* VERNA_WQE_H */
