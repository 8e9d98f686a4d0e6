// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: the ibv_wr_*() builders.
 *
 *	wr_start	takes the lock of the send queue
 *	wr_<op>		opens the next slot and writes its header
 *	wr_set_*	adds address and data to the slot
 *	wr_complete	publishes all slots, or none if anything went wrong
 *	wr_abort	forgets all slots
 *
 * Nothing reaches the card before wr_complete, so the slots are free to be
 * written in any order. After the first error builders do nothing and
 * wr_complete returns it.
 */
#include <errno.h>

#include "verna.h"
#include "wqe.h"

static void verna_wr_start(struct ibv_qp_ex *ibqp)
{
	struct verna_qp *qp = to_vqp_ex(ibqp);

	verna_lock_acquire(&qp->sq.lock);
	qp->cur_head = qp->sq.head;
	qp->cur = NULL;
	qp->cur_err = unlikely(ibqp->qp_base.state < IBV_QPS_RTS) ? EINVAL : 0;
}

static int verna_wr_complete(struct ibv_qp_ex *ibqp)
{
	struct verna_qp *qp = to_vqp_ex(ibqp);
	int ret = qp->cur_err;

	if (likely(!ret))
		verna_wq_commit(&qp->sq, qp->cur_head);
	verna_lock_release(&qp->sq.lock);
	return ret;
}

static void verna_wr_abort(struct ibv_qp_ex *ibqp)
{
	verna_lock_release(&to_vqp_ex(ibqp)->sq.lock);
}

/* Return: the slot of a new request, its first words written; NULL on error. */
static inline struct verna_sq_wqe *verna_wr_open(struct ibv_qp_ex *ibqp,
						 uint8_t opcode, __le32 imm)
{
	struct verna_qp *qp = to_vqp_ex(ibqp);
	unsigned int flags = ibqp->wr_flags & ~IBV_SEND_INLINE;
	uint32_t head = qp->cur_head;

	if (unlikely(qp->cur_err))
		return NULL;
	if (unlikely(flags & ~VERNA_SEND_FLAGS)) {
		qp->cur_err = EINVAL;
		return NULL;
	}
	if (unlikely(verna_wq_full(&qp->sq, head))) {
		qp->cur_err = ENOMEM;
		return NULL;
	}
	qp->cur = verna_wq_slot(&qp->sq, head);
	qp->sq.wr_id[head & qp->sq.mask] = ibqp->wr_id;
	qp->cur_head = head + 1;
	verna_wqe_start(qp->cur, opcode, verna_wr_flags(flags) | qp->send_flags,
			0, 0, imm);
	return qp->cur;
}

static inline void verna_wr_remote(struct ibv_qp_ex *ibqp, uint8_t opcode,
				   __le32 imm, uint32_t rkey,
				   uint64_t remote_addr, uint64_t swap_add,
				   uint64_t compare)
{
	struct verna_sq_wqe *wqe = verna_wr_open(ibqp, opcode, imm);

	if (likely(wqe))
		verna_wqe_remote(wqe, remote_addr, rkey, swap_add, compare);
}

static void verna_wr_rdma_write(struct ibv_qp_ex *ibqp, uint32_t rkey,
				uint64_t remote_addr)
{
	verna_wr_remote(ibqp, VERNA_WR_RDMA_WRITE, 0, rkey, remote_addr, 0, 0);
}

static void verna_wr_rdma_write_imm(struct ibv_qp_ex *ibqp, uint32_t rkey,
				    uint64_t remote_addr, __be32 imm_data)
{
	verna_wr_remote(ibqp, VERNA_WR_RDMA_WRITE_WITH_IMM,
			(__force __le32)imm_data, rkey, remote_addr, 0, 0);
}

static void verna_wr_rdma_read(struct ibv_qp_ex *ibqp, uint32_t rkey,
			       uint64_t remote_addr)
{
	verna_wr_remote(ibqp, VERNA_WR_RDMA_READ, 0, rkey, remote_addr, 0, 0);
}

static void verna_wr_atomic_cmp_swp(struct ibv_qp_ex *ibqp, uint32_t rkey,
				    uint64_t remote_addr, uint64_t compare,
				    uint64_t swap)
{
	verna_wr_remote(ibqp, VERNA_WR_ATOMIC_CAS, 0, rkey, remote_addr, swap,
			compare);
}

static void verna_wr_atomic_fetch_add(struct ibv_qp_ex *ibqp, uint32_t rkey,
				      uint64_t remote_addr, uint64_t add)
{
	verna_wr_remote(ibqp, VERNA_WR_ATOMIC_FADD, 0, rkey, remote_addr, add,
			0);
}

/* SEND has no remote operand; on UD the address comes by wr_set_ud_addr. */
static inline void verna_wr_send_any(struct ibv_qp_ex *ibqp, uint8_t opcode,
				     __le32 imm)
{
	struct verna_sq_wqe *wqe = verna_wr_open(ibqp, opcode, imm);

	if (likely(wqe))
		memset(&wqe->ud, 0, sizeof(wqe->ud));
}

static void verna_wr_send(struct ibv_qp_ex *ibqp)
{
	verna_wr_send_any(ibqp, VERNA_WR_SEND, 0);
}

static void verna_wr_send_imm(struct ibv_qp_ex *ibqp, __be32 imm_data)
{
	verna_wr_send_any(ibqp, VERNA_WR_SEND_WITH_IMM,
			  (__force __le32)imm_data);
}

static void verna_wr_send_inv(struct ibv_qp_ex *ibqp, uint32_t invalidate_rkey)
{
	verna_wr_send_any(ibqp, VERNA_WR_SEND_WITH_INV,
			  htole32(invalidate_rkey));
}

/* Return: the open request, or NULL (and the error is remembered). */
static inline struct verna_sq_wqe *verna_wr_cur(struct verna_qp *qp)
{
	if (unlikely(qp->cur_err))
		return NULL;
	if (unlikely(!qp->cur))
		qp->cur_err = EINVAL;
	return qp->cur;
}

static void verna_wr_set_ud_addr(struct ibv_qp_ex *ibqp, struct ibv_ah *ah,
				 uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct verna_sq_wqe *wqe = verna_wr_cur(to_vqp_ex(ibqp));

	if (likely(wqe))
		verna_wqe_ud(wqe, ah, remote_qpn, remote_qkey);
}

static void verna_wr_set_sge(struct ibv_qp_ex *ibqp, uint32_t lkey,
			     uint64_t addr, uint32_t length)
{
	struct verna_sq_wqe *wqe = verna_wr_cur(to_vqp_ex(ibqp));

	if (unlikely(!wqe))
		return;
	wqe->num_sge = 1;
	verna_write_sge(verna_wqe_data(wqe), addr, length, lkey);
}

static void verna_wr_set_sge_list(struct ibv_qp_ex *ibqp, size_t num_sge,
				  const struct ibv_sge *sg_list)
{
	struct verna_qp *qp = to_vqp_ex(ibqp);
	struct verna_sq_wqe *wqe = verna_wr_cur(qp);
	struct verna_sge *sge;
	size_t i;

	if (unlikely(!wqe))
		return;
	if (unlikely(num_sge > qp->sq.max_sge)) {
		qp->cur_err = EINVAL;
		return;
	}
	sge = verna_wqe_data(wqe);
	for (i = 0; i < num_sge; i++)
		verna_write_sge(sge + i, sg_list[i].addr, sg_list[i].length,
				sg_list[i].lkey);
	wqe->num_sge = num_sge;
}

static inline bool verna_wr_inlinable(const struct verna_sq_wqe *wqe)
{
	return wqe->opcode <= VERNA_WR_RDMA_WRITE_WITH_IMM;
}

static void verna_wr_set_inline_data_list(struct ibv_qp_ex *ibqp,
					  size_t num_buf,
					  const struct ibv_data_buf *buf_list)
{
	struct verna_qp *qp = to_vqp_ex(ibqp);
	struct verna_sq_wqe *wqe = verna_wr_cur(qp);
	size_t len = 0;
	uint8_t *data;
	size_t i;

	if (unlikely(!wqe))
		return;
	if (unlikely(!verna_wr_inlinable(wqe))) {
		qp->cur_err = EINVAL;
		return;
	}
	data = verna_wqe_data(wqe);
	for (i = 0; i < num_buf; i++) {
		/* len <= max_inline, so that the difference cannot wrap. */
		if (unlikely(buf_list[i].length > qp->max_inline - len)) {
			qp->cur_err = EINVAL;
			return;
		}
		memcpy(data + len, buf_list[i].addr, buf_list[i].length);
		len += buf_list[i].length;
	}
	wqe->flags |= VERNA_WR_F_INLINE;
	wqe->inline_len = htole32(len);
}

static void verna_wr_set_inline_data(struct ibv_qp_ex *ibqp, void *addr,
				     size_t length)
{
	struct ibv_data_buf buf = { .addr = addr, .length = length };

	verna_wr_set_inline_data_list(ibqp, 1, &buf);
}

static uint64_t verna_builders_of(const struct verna_qp *qp)
{
	uint64_t ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM;

	if (qp->send_ops & 1u << IBV_WR_RDMA_WRITE)
		ops |= IBV_QP_EX_WITH_RDMA_WRITE |
		       IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM;
	if (qp->send_ops & 1u << IBV_WR_RDMA_READ)
		ops |= IBV_QP_EX_WITH_RDMA_READ |
		       IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
		       IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
		       IBV_QP_EX_WITH_SEND_WITH_INV;
	return ops;
}

/**
 * verna_qp_set_builders - gives a queue pair its ibv_wr_*() functions
 * @qp: queue pair, its send_ops are known
 * @ops: IBV_QP_EX_WITH_* that the application asked for
 *
 * Return: 0, or EOPNOTSUPP if this kind of queue pair has not all of them.
 */
int verna_qp_set_builders(struct verna_qp *qp, uint64_t ops)
{
	struct ibv_qp_ex *ex = &qp->vqp.qp_ex;

	if (ops & ~verna_builders_of(qp))
		return EOPNOTSUPP;

	ex->wr_start = verna_wr_start;
	ex->wr_complete = verna_wr_complete;
	ex->wr_abort = verna_wr_abort;
	ex->wr_set_sge = verna_wr_set_sge;
	ex->wr_set_sge_list = verna_wr_set_sge_list;
	ex->wr_set_inline_data = verna_wr_set_inline_data;
	ex->wr_set_inline_data_list = verna_wr_set_inline_data_list;
	if (qp->ud)
		ex->wr_set_ud_addr = verna_wr_set_ud_addr;

	if (ops & IBV_QP_EX_WITH_SEND)
		ex->wr_send = verna_wr_send;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_IMM)
		ex->wr_send_imm = verna_wr_send_imm;
	if (ops & IBV_QP_EX_WITH_SEND_WITH_INV)
		ex->wr_send_inv = verna_wr_send_inv;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE)
		ex->wr_rdma_write = verna_wr_rdma_write;
	if (ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
		ex->wr_rdma_write_imm = verna_wr_rdma_write_imm;
	if (ops & IBV_QP_EX_WITH_RDMA_READ)
		ex->wr_rdma_read = verna_wr_rdma_read;
	if (ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
		ex->wr_atomic_cmp_swp = verna_wr_atomic_cmp_swp;
	if (ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
		ex->wr_atomic_fetch_add = verna_wr_atomic_fetch_add;
	return 0;
}
