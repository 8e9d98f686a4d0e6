// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: extended polling: start_poll, next_poll, end_poll and the readers.
 *
 * The readers look at the entry in place, so cons_index passes an entry only at
 * the next step; at each step, not only at the end, so that a long walk does not
 * starve the card of room. The lock is held from a start_poll that succeeds to
 * end_poll.
 */
#include <errno.h>

#include "cqe.h"
#include "verna.h"

static inline int verna_step(struct verna_cq *cq)
{
	const struct verna_cqe *cqe;
	struct verna_wq *wq;
	uint32_t index;

	cqe = verna_cq_next(cq, &wq);
	if (!cqe)
		return ENOENT;
	index = le32toh(cqe->wqe_index);
	cq->vcq.cq_ex.wr_id = verna_wq_wr_id(wq, index);
	verna_wq_retire(wq, index);
	cq->cur = cqe;
	cq->vcq.cq_ex.status = verna_wc_status(cqe);
	return 0;
}

static int verna_start_poll(struct ibv_cq_ex *ibcq,
			    struct ibv_poll_cq_attr *attr)
{
	struct verna_cq *cq = to_vcq_ex(ibcq);
	int ret;

	if (unlikely(attr->comp_mask))
		return EINVAL;
	if (verna_cq_is_empty(cq))
		return ENOENT;
	verna_lock_acquire(&cq->lock);
	ret = verna_step(cq);
	if (ret)
		verna_lock_release(&cq->lock);
	return ret;
}

static int verna_next_poll(struct ibv_cq_ex *ibcq)
{
	struct verna_cq *cq = to_vcq_ex(ibcq);

	verna_cq_publish(cq);
	return verna_step(cq);
}

static void verna_end_poll(struct ibv_cq_ex *ibcq)
{
	struct verna_cq *cq = to_vcq_ex(ibcq);

	verna_cq_publish(cq);
	verna_lock_release(&cq->lock);
}

static enum ibv_wc_opcode verna_read_opcode(struct ibv_cq_ex *ibcq)
{
	return verna_wc_opcode(to_vcq_ex(ibcq)->cur);
}

static uint32_t verna_read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return to_vcq_ex(ibcq)->cur->syndrome;
}

static unsigned int verna_read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return verna_wc_flags(to_vcq_ex(ibcq)->cur);
}

static uint32_t verna_read_byte_len(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_vcq_ex(ibcq)->cur->byte_len);
}

/* Also read for the invalidated rkey, which is in host order then. */
static __be32 verna_read_imm_data(struct ibv_cq_ex *ibcq)
{
	const struct verna_cqe *cqe = to_vcq_ex(ibcq)->cur;

	if (unlikely(cqe->flags & VERNA_CQE_F_INV))
		return (__force __be32)le32toh(cqe->imm);
	return (__force __be32)cqe->imm;
}

static uint32_t verna_read_qp_num(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_vcq_ex(ibcq)->cur->id);
}

static uint32_t verna_read_src_qp(struct ibv_cq_ex *ibcq)
{
	return le32toh(to_vcq_ex(ibcq)->cur->src_qp);
}

static uint32_t verna_read_slid(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint8_t verna_read_sl(struct ibv_cq_ex *ibcq)
{
	return to_vcq_ex(ibcq)->cur->sl;
}

static uint8_t verna_read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return 0;
}

static uint64_t verna_read_completion_ts(struct ibv_cq_ex *ibcq)
{
	return le64toh(to_vcq_ex(ibcq)->cur->timestamp);
}

/** verna_cq_set_readers - @wc_flags: IBV_WC_EX_WITH_* asked for at creation */
void verna_cq_set_readers(struct verna_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ex = &cq->vcq.cq_ex;

	ex->start_poll = verna_start_poll;
	ex->next_poll = verna_next_poll;
	ex->end_poll = verna_end_poll;
	ex->read_opcode = verna_read_opcode;
	ex->read_vendor_err = verna_read_vendor_err;
	ex->read_wc_flags = verna_read_wc_flags;
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		ex->read_byte_len = verna_read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		ex->read_imm_data = verna_read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		ex->read_qp_num = verna_read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		ex->read_src_qp = verna_read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		ex->read_slid = verna_read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		ex->read_sl = verna_read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		ex->read_dlid_path_bits = verna_read_dlid_path_bits;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ex->read_completion_ts = verna_read_completion_ts;
}
