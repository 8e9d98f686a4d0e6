/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: completion queue entries: is there one, and what does it say in the
 * words of verbs.
 */
#ifndef VERNA_CQE_H
#define VERNA_CQE_H

#include "verna.h"

static inline struct verna_cqe *verna_cqe_at(const struct verna_cq *cq,
					     uint32_t index)
{
	return &cq->ring[index & cq->mask];
}

/* Has the card written the entry with this index? It writes 1 in its first pass. */
static inline bool verna_cqe_valid(const struct verna_cq *cq, uint32_t index)
{
	const struct verna_cqe *cqe = verna_cqe_at(cq, index);
	uint8_t phase = *(const volatile uint8_t *)&cqe->phase;

	return ((phase ^ (index >> cq->log_size)) & VERNA_PHASE) != 0;
}

/*
 * Does the card still write entries? The driver never says so again once it said
 * no. Only who finds no entry needs to ask.
 */
static inline bool verna_cq_alive(const struct verna_cq *cq)
{
	return *(const volatile uint32_t *)&cq->status->alive;
}

/*
 * A look without the lock, for those who poll in a loop. cons must be the same
 * before and after, else another poller was at work and the lock has to tell. On
 * a dead device it has to tell as well.
 */
static inline bool verna_cq_is_empty(const struct verna_cq *cq)
{
	const volatile uint32_t *cons = &cq->cons;
	uint32_t index = *cons;

	if (verna_cqe_valid(cq, index))
		return false;
	atomic_thread_fence(memory_order_acquire);
	return *cons == index && likely(verna_cq_alive(cq));
}

/** verna_wc_status - VERNA_CQE_* to IBV_WC_* */
static inline enum ibv_wc_status
verna_wc_status(const struct verna_cqe *cqe)
{
	static const uint8_t status[] = {
		[VERNA_CQE_OK] = IBV_WC_SUCCESS,
		[VERNA_CQE_LOC_LEN_ERR] = IBV_WC_LOC_LEN_ERR,
		[VERNA_CQE_LOC_QP_OP_ERR] = IBV_WC_LOC_QP_OP_ERR,
		[VERNA_CQE_LOC_PROT_ERR] = IBV_WC_LOC_PROT_ERR,
		[VERNA_CQE_WR_FLUSH_ERR] = IBV_WC_WR_FLUSH_ERR,
		[VERNA_CQE_BAD_RESP_ERR] = IBV_WC_BAD_RESP_ERR,
		[VERNA_CQE_LOC_ACCESS_ERR] = IBV_WC_LOC_ACCESS_ERR,
		[VERNA_CQE_REM_INV_REQ_ERR] = IBV_WC_REM_INV_REQ_ERR,
		[VERNA_CQE_REM_ACCESS_ERR] = IBV_WC_REM_ACCESS_ERR,
		[VERNA_CQE_REM_OP_ERR] = IBV_WC_REM_OP_ERR,
		[VERNA_CQE_RETRY_EXC_ERR] = IBV_WC_RETRY_EXC_ERR,
		[VERNA_CQE_RNR_RETRY_EXC_ERR] = IBV_WC_RNR_RETRY_EXC_ERR,
		[VERNA_CQE_REM_ABORT_ERR] = IBV_WC_REM_ABORT_ERR,
		[VERNA_CQE_FATAL_ERR] = IBV_WC_FATAL_ERR,
		[VERNA_CQE_GENERAL_ERR] = IBV_WC_GENERAL_ERR,
	};

	if (likely(cqe->status == VERNA_CQE_OK))
		return IBV_WC_SUCCESS;
	return cqe->status < ARRAY_SIZE(status) ? status[cqe->status] :
						  IBV_WC_GENERAL_ERR;
}

/** verna_wc_opcode - enum verna_cqe_opcode to enum ibv_wc_opcode */
static inline enum ibv_wc_opcode
verna_wc_opcode(const struct verna_cqe *cqe)
{
	static const uint8_t opcode[] = {
		[VERNA_CQE_SEND] = IBV_WC_SEND,
		[VERNA_CQE_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[VERNA_CQE_RDMA_READ] = IBV_WC_RDMA_READ,
		[VERNA_CQE_ATOMIC_CAS] = IBV_WC_COMP_SWAP,
		[VERNA_CQE_ATOMIC_FADD] = IBV_WC_FETCH_ADD,
		[VERNA_CQE_LOCAL_INV] = IBV_WC_LOCAL_INV,
		[VERNA_CQE_RECV] = IBV_WC_RECV,
		[VERNA_CQE_RECV_RDMA_WITH_IMM] = IBV_WC_RECV_RDMA_WITH_IMM,
	};

	return cqe->opcode < ARRAY_SIZE(opcode) ? opcode[cqe->opcode] :
						  IBV_WC_SEND;
}

/** verna_wc_flags - VERNA_CQE_F_* to IBV_WC_* flags */
static inline unsigned int verna_wc_flags(const struct verna_cqe *cqe)
{
	unsigned int flags = 0;

	if (likely(!cqe->flags))
		return 0;
	if (cqe->flags & VERNA_CQE_F_GRH)
		flags |= IBV_WC_GRH;
	if (cqe->flags & VERNA_CQE_F_IMM)
		flags |= IBV_WC_WITH_IMM;
	if (cqe->flags & VERNA_CQE_F_INV)
		flags |= IBV_WC_WITH_INV;
	return flags;
}

#endif /* VERNA_CQE_H */
