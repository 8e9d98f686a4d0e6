// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: queue pairs: creation, state, destruction.
 *
 * The memory of a queue pair is one mapping: both records, the send ring, the
 * receive ring.
 */
#include <errno.h>
#include <stdlib.h>

#include "verna.h"
#include "verna-abi.h"

#define VERNA_SQ_REC_OFFSET	0u
#define VERNA_RQ_REC_OFFSET	((uint32_t)sizeof(struct verna_wq_rec))

/** struct verna_qp_geometry - sizes of a queue pair, as the kernel wants them */
struct verna_qp_geometry {
	uint32_t sq_offset;
	uint32_t rq_offset;
	uint32_t log_sq_size;
	uint32_t log_sq_stride;
	uint32_t log_rq_size;
	uint32_t log_rq_stride;
	size_t length;
};

static uint32_t verna_log2_up(uint32_t n)
{
	return n > 1 ? 32 - __builtin_clz(n - 1) : 0;
}

static uint32_t verna_max(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t verna_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int verna_check_cap(const struct verna_context *ctx,
			   const struct ibv_qp_cap *cap)
{
	if (cap->max_send_wr > 1u << ctx->log_max_wqes ||
	    cap->max_recv_wr > 1u << ctx->log_max_wqes ||
	    cap->max_send_sge > ctx->max_send_sge ||
	    cap->max_recv_sge > ctx->max_recv_sge ||
	    cap->max_inline_data > ctx->max_inline)
		return EINVAL;
	return 0;
}

/*
 * Lays out the memory and raises @cap to what the layout holds: kernel, card
 * and application must agree on the same limits.
 */
static void verna_qp_layout(const struct verna_context *ctx,
			    struct ibv_qp_cap *cap,
			    struct verna_qp_geometry *geo)
{
	uint32_t data = verna_max(cap->max_inline_data,
				  cap->max_send_sge * sizeof(struct verna_sge));
	uint32_t recv = VERNA_RQ_WQE_HDR +
			cap->max_recv_sge * sizeof(struct verna_sge);

	geo->log_sq_size = verna_log2_up(cap->max_send_wr);
	geo->log_rq_size = verna_log2_up(cap->max_recv_wr);
	geo->log_sq_stride = verna_log2_up(verna_max(VERNA_SQ_WQE_HDR + data,
						     VERNA_SQ_WQE_MIN));
	geo->log_rq_stride = verna_log2_up(verna_max(recv, VERNA_RQ_WQE_MIN));
	geo->sq_offset = align(VERNA_RQ_REC_OFFSET +
			       sizeof(struct verna_wq_rec),
			       1u << geo->log_sq_stride);
	geo->rq_offset = align(geo->sq_offset + (1u << (geo->log_sq_size +
							geo->log_sq_stride)),
			       1u << geo->log_rq_stride);
	geo->length = geo->rq_offset +
		      ((size_t)1 << (geo->log_rq_size + geo->log_rq_stride));

	data = (1u << geo->log_sq_stride) - VERNA_SQ_WQE_HDR;
	recv = (1u << geo->log_rq_stride) - VERNA_RQ_WQE_HDR;
	cap->max_inline_data = verna_min(data, ctx->max_inline);
	cap->max_send_sge = verna_min(data / sizeof(struct verna_sge),
				      ctx->max_send_sge);
	cap->max_recv_sge = verna_min(recv / sizeof(struct verna_sge),
				      ctx->max_recv_sge);
	if (cap->max_send_wr)
		cap->max_send_wr = 1u << geo->log_sq_size;
	if (cap->max_recv_wr)
		cap->max_recv_wr = 1u << geo->log_rq_size;
}

static int verna_wq_init(struct verna_wq *wq, struct verna_context *ctx,
			 bool locks, uint32_t limit, uint32_t log_size)
{
	verna_lock_init(&wq->lock, locks);
	wq->limit = limit;
	wq->mask = (1u << log_size) - 1;
	wq->doorbell = (uint8_t *)ctx->uar + VERNA_UAR_DOORBELL;
	wq->wr_id = calloc((size_t)wq->mask + 1, sizeof(*wq->wr_id));
	return wq->wr_id ? 0 : ENOMEM;
}

static int verna_qp_alloc_queues(struct verna_qp *qp, struct verna_context *ctx,
				 const struct ibv_qp_init_attr_ex *attr,
				 const struct verna_qp_geometry *geo)
{
	bool locks = verna_pd_locks(attr->pd);
	int ret;

	ret = verna_wq_init(&qp->sq, ctx, locks, attr->cap.max_send_wr,
			    geo->log_sq_size);
	if (ret)
		return ret;
	ret = verna_wq_init(&qp->rq, ctx, locks, attr->cap.max_recv_wr,
			    geo->log_rq_size);
	if (ret)
		goto err_free_sq;
	ret = verna_buf_alloc(ctx, &qp->buf, geo->length);
	if (ret)
		goto err_free_rq;

	qp->sq.rec = (struct verna_wq_rec *)(qp->buf.addr + VERNA_SQ_REC_OFFSET);
	qp->rq.rec = (struct verna_wq_rec *)(qp->buf.addr + VERNA_RQ_REC_OFFSET);
	qp->sq.ring = qp->buf.addr + geo->sq_offset;
	qp->rq.ring = qp->buf.addr + geo->rq_offset;
	qp->sq.log_stride = geo->log_sq_stride;
	qp->rq.log_stride = geo->log_rq_stride;
	qp->sq.max_sge = attr->cap.max_send_sge;
	qp->rq.max_sge = attr->cap.max_recv_sge;
	verna_wq_reset(&qp->sq);
	verna_wq_reset(&qp->rq);
	return 0;

err_free_rq:
	free(qp->rq.wr_id);
err_free_sq:
	free(qp->sq.wr_id);
	return ret;
}

static void verna_qp_free_queues(struct verna_qp *qp)
{
	verna_buf_free(&qp->buf);
	free(qp->rq.wr_id);
	free(qp->sq.wr_id);
}

static int verna_qp_exec_create(struct verna_context *ctx, struct verna_qp *qp,
				struct ibv_qp_init_attr_ex *attr,
				const struct verna_qp_geometry *geo)
{
	struct verna_create_qp_cmd_resp resp = {};
	struct verna_create_qp_cmd cmd = {};

	cmd.drv_payload = (struct verna_ib_create_qp) {
		.buf_va = (uintptr_t)qp->buf.addr,
		.buf_len = qp->buf.length,
		.sq_rec_offset = VERNA_SQ_REC_OFFSET,
		.rq_rec_offset = VERNA_RQ_REC_OFFSET,
		.sq_offset = geo->sq_offset,
		.rq_offset = geo->rq_offset,
		.log_sq_size = geo->log_sq_size,
		.log_sq_stride = geo->log_sq_stride,
		.log_rq_size = geo->log_rq_size,
		.log_rq_stride = geo->log_rq_stride,
	};
	return ibv_cmd_create_qp_ex(&ctx->vctx.context, &qp->vqp, attr,
				    &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				    sizeof(resp));
}

static bool verna_one_cq(const struct verna_qp *qp)
{
	return qp->vqp.qp.send_cq == qp->vqp.qp.recv_cq;
}

static int verna_qp_join_cqs(struct verna_qp *qp)
{
	struct verna_cq *send_cq = to_vcq(qp->vqp.qp.send_cq);
	struct verna_cq *recv_cq = to_vcq(qp->vqp.qp.recv_cq);
	int ret;

	ret = verna_cq_add_qp(send_cq, qp, &qp->send_link);
	if (ret || verna_one_cq(qp))
		return ret;
	ret = verna_cq_add_qp(recv_cq, qp, &qp->recv_link);
	if (ret)
		verna_cq_remove_qp(send_cq, &qp->send_link);
	return ret;
}

static void verna_qp_clean_cqs(struct verna_qp *qp)
{
	struct ibv_qp *ibqp = &qp->vqp.qp;

	verna_cq_clean(to_vcq(ibqp->send_cq), ibqp->qp_num);
	if (!verna_one_cq(qp))
		verna_cq_clean(to_vcq(ibqp->recv_cq), ibqp->qp_num);
}

static void verna_qp_leave_cqs(struct verna_qp *qp)
{
	verna_cq_remove_qp(to_vcq(qp->vqp.qp.send_cq), &qp->send_link);
	if (!verna_one_cq(qp))
		verna_cq_remove_qp(to_vcq(qp->vqp.qp.recv_cq), &qp->recv_link);
}

static int verna_check_init_attr(const struct verna_context *ctx,
				 const struct ibv_qp_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask,
			     IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_CREATE_FLAGS |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) ||
	    (attr->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS &&
	     attr->create_flags) || attr->srq || !verna_send_ops(attr->qp_type))
		return EOPNOTSUPP;
	if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD) || !attr->send_cq ||
	    !attr->recv_cq)
		return EINVAL;
	return verna_check_cap(ctx, &attr->cap);
}

static int verna_qp_init(struct verna_qp *qp, struct verna_context *ctx,
			 struct ibv_qp_init_attr_ex *attr)
{
	struct verna_qp_geometry geo;
	int ret;

	qp->send_ops = verna_send_ops(attr->qp_type);
	qp->send_flags = attr->sq_sig_all ? VERNA_WR_F_SIGNALED : 0;
	qp->ud = attr->qp_type == IBV_QPT_UD;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) {
		ret = verna_qp_set_builders(qp, attr->send_ops_flags);
		if (ret)
			return ret;
	}
	verna_qp_layout(ctx, &attr->cap, &geo);
	qp->max_inline = attr->cap.max_inline_data;
	ret = verna_qp_alloc_queues(qp, ctx, attr, &geo);
	if (ret)
		return ret;
	ret = verna_qp_exec_create(ctx, qp, attr, &geo);
	if (ret)
		goto err_free_queues;
	if (attr->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)
		qp->vqp.comp_mask |= VERBS_QP_EX;
	qp->sq.db_value = VERNA_DB(VERNA_DB_QP_SQ, qp->vqp.qp.qp_num);
	qp->rq.db_value = VERNA_DB(VERNA_DB_QP_RQ, qp->vqp.qp.qp_num);
	ret = verna_qp_join_cqs(qp);
	if (ret)
		goto err_destroy;
	return 0;

err_destroy:
	ibv_cmd_destroy_qp(&qp->vqp.qp);
err_free_queues:
	verna_qp_free_queues(qp);
	return ret;
}

/**
 * verna_create_qp_ex - Return: the queue pair, or NULL and errno
 *
 * @attr->cap becomes what the queue pair can do, at least what was asked for.
 */
struct ibv_qp *verna_create_qp_ex(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr)
{
	struct verna_context *ctx = to_vctx(ibctx);
	struct ibv_qp_init_attr_ex real = *attr;
	struct verna_qp *qp;
	int ret;

	ret = verna_check_init_attr(ctx, attr);
	if (ret)
		goto err;
	real.comp_mask &= ~IBV_QP_INIT_ATTR_CREATE_FLAGS;
	qp = calloc(1, sizeof(*qp));
	if (!qp) {
		ret = ENOMEM;
		goto err;
	}
	ret = verna_qp_init(qp, ctx, &real);
	if (ret)
		goto err_free_qp;
	attr->cap = real.cap;
	return &qp->vqp.qp;

err_free_qp:
	free(qp);
err:
	errno = ret;
	return NULL;
}

/** verna_create_qp - Return: the queue pair, or NULL and errno */
struct ibv_qp *verna_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.qp_context = attr->qp_context,
		.send_cq = attr->send_cq,
		.recv_cq = attr->recv_cq,
		.srq = attr->srq,
		.cap = attr->cap,
		.qp_type = attr->qp_type,
		.sq_sig_all = attr->sq_sig_all,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = pd,
	};
	struct ibv_qp *qp = verna_create_qp_ex(pd->context, &ex);

	if (qp)
		attr->cap = ex.cap;
	return qp;
}

/**
 * verna_modify_qp - Return: 0 or a positive errno
 *
 * A queue pair that went to RESET writes no completions; those of its former
 * life are removed and its queues begin at index 0 again.
 */
int verna_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		    int attr_mask)
{
	struct verna_qp *qp = to_vqp(ibqp);
	struct ibv_modify_qp cmd = {};
	int ret;

	ret = ibv_cmd_modify_qp(ibqp, attr, attr_mask, &cmd, sizeof(cmd));
	if (ret)
		return ret;
	if (!(attr_mask & IBV_QP_STATE) || attr->qp_state != IBV_QPS_RESET)
		return 0;

	verna_qp_clean_cqs(qp);
	verna_lock_acquire(&qp->sq.lock);
	verna_wq_reset(&qp->sq);
	verna_lock_release(&qp->sq.lock);
	verna_lock_acquire(&qp->rq.lock);
	verna_wq_reset(&qp->rq);
	verna_lock_release(&qp->rq.lock);
	return 0;
}

/** verna_query_qp - Return: 0 or a positive errno */
int verna_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		   int attr_mask, struct ibv_qp_init_attr *init_attr)
{
	struct verna_qp *qp = to_vqp(ibqp);
	struct ibv_query_qp cmd;
	int ret;

	ret = ibv_cmd_query_qp(ibqp, attr, attr_mask, init_attr, &cmd,
			       sizeof(cmd));
	if (ret)
		return ret;
	init_attr->cap = (struct ibv_qp_cap) {
		.max_send_wr = qp->sq.limit,
		.max_recv_wr = qp->rq.limit,
		.max_send_sge = qp->sq.max_sge,
		.max_recv_sge = qp->rq.max_sge,
		.max_inline_data = qp->max_inline,
	};
	attr->cap = init_attr->cap;
	return 0;
}

/** verna_destroy_qp - Return: 0 or a positive errno */
int verna_destroy_qp(struct ibv_qp *ibqp)
{
	struct verna_qp *qp = to_vqp(ibqp);
	int ret;

	ret = ibv_cmd_destroy_qp(ibqp);
	if (ret)
		return ret;
	verna_qp_clean_cqs(qp);
	verna_qp_leave_cqs(qp);
	verna_qp_free_queues(qp);
	free(qp);
	return 0;
}
