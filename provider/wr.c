// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: ibv_post_send() and ibv_post_recv().
 *
 * A call writes its requests, stores the producer index once and looks once
 * whether the card sleeps. There is no system call, and no access of the
 * device while the card is awake.
 */
#include <errno.h>

#include "verna.h"
#include "wqe.h"

/** struct verna_op - how an enum ibv_wr_opcode is posted */
struct verna_op {
	uint8_t opcode;		/* enum verna_wr_opcode */
	bool imm;		/* carries immediate data */
	bool inv;		/* carries an rkey to invalidate */
	bool inlinable;		/* data flow from here to there */
};

static const struct verna_op verna_ops[] = {
	[IBV_WR_RDMA_WRITE] = { VERNA_WR_RDMA_WRITE, .inlinable = true },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = { VERNA_WR_RDMA_WRITE_WITH_IMM,
					 .imm = true, .inlinable = true },
	[IBV_WR_SEND] = { VERNA_WR_SEND, .inlinable = true },
	[IBV_WR_SEND_WITH_IMM] = { VERNA_WR_SEND_WITH_IMM,
				   .imm = true, .inlinable = true },
	[IBV_WR_RDMA_READ] = { VERNA_WR_RDMA_READ },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = { VERNA_WR_ATOMIC_CAS },
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = { VERNA_WR_ATOMIC_FADD },
	[IBV_WR_SEND_WITH_INV] = { VERNA_WR_SEND_WITH_INV,
				   .inv = true, .inlinable = true },
};

#define VERNA_OPS_UD	(1u << IBV_WR_SEND | 1u << IBV_WR_SEND_WITH_IMM)
#define VERNA_OPS_UC	(VERNA_OPS_UD | 1u << IBV_WR_RDMA_WRITE | \
			 1u << IBV_WR_RDMA_WRITE_WITH_IMM)
#define VERNA_OPS_RC	(VERNA_OPS_UC | 1u << IBV_WR_RDMA_READ | \
			 1u << IBV_WR_ATOMIC_CMP_AND_SWP | \
			 1u << IBV_WR_ATOMIC_FETCH_AND_ADD | \
			 1u << IBV_WR_SEND_WITH_INV)

/** verna_send_ops - bit n: enum ibv_wr_opcode n may be posted; 0: no such QP */
uint32_t verna_send_ops(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
		return VERNA_OPS_RC;
	case IBV_QPT_UC:
		return VERNA_OPS_UC;
	case IBV_QPT_UD:
		return VERNA_OPS_UD;
	default:
		return 0;
	}
}

/* Return: bytes, or -1 if they are more than @max. */
static int64_t verna_copy_inline(uint8_t *dst, uint32_t max,
				 const struct ibv_sge *sg, int num_sge)
{
	uint64_t len = 0;
	int i;

	for (i = 0; i < num_sge; i++) {
		uint64_t at = len;

		len += sg[i].length;
		if (unlikely(len > max))
			return -1;
		memcpy(dst + at, (const void *)(uintptr_t)sg[i].addr,
		       sg[i].length);
	}
	return len;
}

static inline void verna_write_sges(struct verna_sge *dst,
				    const struct ibv_sge *src, int num_sge)
{
	int i;

	for (i = 0; i < num_sge; i++)
		verna_write_sge(dst + i, src[i].addr, src[i].length,
				src[i].lkey);
}

static inline __le32 verna_wr_imm(const struct verna_op *op,
				  const struct ibv_send_wr *wr)
{
	if (op->imm)
		return (__force __le32)wr->imm_data;
	if (op->inv)
		return htole32(wr->invalidate_rkey);
	return 0;
}

static inline void verna_write_remote(struct verna_sq_wqe *wqe,
				      const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
	case IBV_WR_RDMA_READ:
		verna_wqe_remote(wqe, wr->wr.rdma.remote_addr,
				 wr->wr.rdma.rkey, 0, 0);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		verna_wqe_remote(wqe, wr->wr.atomic.remote_addr,
				 wr->wr.atomic.rkey, wr->wr.atomic.swap,
				 wr->wr.atomic.compare_add);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		verna_wqe_remote(wqe, wr->wr.atomic.remote_addr,
				 wr->wr.atomic.rkey,
				 wr->wr.atomic.compare_add, 0);
		break;
	default:
		verna_wqe_remote(wqe, 0, 0, 0, 0);
		break;
	}
}

/* Writes the request at index @head. Return: 0 or a positive errno. */
static inline int verna_build_send(struct verna_qp *qp, uint32_t head,
				   const struct ibv_send_wr *wr)
{
	unsigned int flags = wr->send_flags;
	int num_sge = wr->num_sge;
	const struct verna_op *op;
	struct verna_sq_wqe *wqe;
	int64_t inline_len = 0;

	if (unlikely(wr->opcode >= ARRAY_SIZE(verna_ops) ||
		     !(qp->send_ops & 1u << wr->opcode) ||
		     flags & ~VERNA_SEND_FLAGS ||
		     (uint32_t)num_sge > qp->sq.max_sge))
		return EINVAL;
	if (unlikely(verna_wq_full(&qp->sq, head)))
		return ENOMEM;

	op = &verna_ops[wr->opcode];
	wqe = verna_wq_slot(&qp->sq, head);
	if (flags & IBV_SEND_INLINE) {
		if (unlikely(!op->inlinable))
			return EINVAL;
		inline_len = verna_copy_inline(verna_wqe_data(wqe),
					       qp->max_inline, wr->sg_list,
					       num_sge);
		if (unlikely(inline_len < 0))
			return EINVAL;
		num_sge = 0;
	} else {
		verna_write_sges(verna_wqe_data(wqe), wr->sg_list, num_sge);
	}
	if (qp->ud)
		verna_wqe_ud(wqe, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
			     wr->wr.ud.remote_qkey);
	else
		verna_write_remote(wqe, wr);
	verna_wqe_start(wqe, op->opcode,
			verna_wr_flags(flags) | qp->send_flags, num_sge,
			inline_len, verna_wr_imm(op, wr));
	qp->sq.wr_id[head & qp->sq.mask] = wr->wr_id;
	return 0;
}

/**
 * verna_post_send - posts a list of send requests
 *
 * Requests before the first bad one are posted. A queue pair in error accepts
 * requests: the card completes them as flushed.
 *
 * Return: 0; else *@bad_wr is the first request not posted and the cause is
 * EINVAL: opcode, flags, segments, inline length or state; ENOMEM: queue full.
 */
int verna_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr)
{
	struct verna_qp *qp = to_vqp(ibqp);
	uint32_t head;
	int ret = 0;

	if (unlikely(ibqp->state < IBV_QPS_RTS)) {
		*bad_wr = wr;
		return EINVAL;
	}
	verna_lock_acquire(&qp->sq.lock);
	for (head = qp->sq.head; wr; wr = wr->next, head++) {
		ret = verna_build_send(qp, head, wr);
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
	}
	verna_wq_commit(&qp->sq, head);
	verna_lock_release(&qp->sq.lock);
	return ret;
}

/**
 * verna_post_recv - posts a list of receive requests
 *
 * Return: as verna_post_send().
 */
int verna_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr)
{
	struct verna_wq *rq = &to_vqp(ibqp)->rq;
	struct verna_rq_wqe *wqe;
	uint32_t head;
	int ret = 0;

	if (unlikely(ibqp->state == IBV_QPS_RESET)) {
		*bad_wr = wr;
		return EINVAL;
	}
	verna_lock_acquire(&rq->lock);
	for (head = rq->head; wr; wr = wr->next, head++) {
		if (unlikely((uint32_t)wr->num_sge > rq->max_sge))
			ret = EINVAL;
		else if (unlikely(verna_wq_full(rq, head)))
			ret = ENOMEM;
		if (unlikely(ret)) {
			*bad_wr = wr;
			break;
		}
		wqe = verna_wq_slot(rq, head);
		wqe->num_sge = wr->num_sge;
		verna_write_sges((struct verna_sge *)(wqe + 1), wr->sg_list,
				 wr->num_sge);
		rq->wr_id[head & rq->mask] = wr->wr_id;
	}
	verna_wq_commit(rq, head);
	verna_lock_release(&rq->lock);
	return ret;
}
