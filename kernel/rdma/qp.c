// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: queue pairs: creation and destruction. See qp_state.c for changes of
 * state, post.c for the kernel's requests.
 */
#include <linux/log2.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "ib.h"

/* Records of a kernel QP at the start of its memory, then the rings. */
#define VIB_SQ_REC	0
#define VIB_RQ_REC	((u32)sizeof(struct verna_wq_rec))
#define VIB_RINGS	(2 * (u32)sizeof(struct verna_wq_rec))

static int vib_qp_type_to_hw(struct vib_dev *dev, enum ib_qp_type type,
			     bool user, u8 *hw)
{
	u32 features = dev->caps->rdma.features;
	u32 needed;

	switch (type) {
	case IB_QPT_RC:
		*hw = VERNA_QP_RC;
		needed = VERNA_RDMA_F_RC;
		break;
	case IB_QPT_UC:
		*hw = VERNA_QP_UC;
		needed = VERNA_RDMA_F_UC;
		break;
	case IB_QPT_UD:
		*hw = VERNA_QP_UD;
		needed = VERNA_RDMA_F_UD;
		break;
	case IB_QPT_GSI:
		if (user)
			return -EPERM;
		*hw = VERNA_QP_GSI;
		needed = VERNA_RDMA_F_UD;
		break;
	default:
		return -EOPNOTSUPP;
	}
	return features & needed ? 0 : -EOPNOTSUPP;
}

static int vib_qp_check_attr(struct vib_dev *dev,
			     const struct ib_qp_init_attr *attr)
{
	const struct verna_caps *caps = dev->caps;
	const struct ib_qp_cap *cap = &attr->cap;

	if (attr->srq || attr->xrcd || attr->rwq_ind_tbl || attr->create_flags)
		return -EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq)
		return -EINVAL;
	if (attr->qp_type == IB_QPT_GSI && attr->port_num != VIB_PORT)
		return -EINVAL;
	if (cap->max_send_wr > 1u << caps->rdma.log_max_wqes ||
	    cap->max_recv_wr > 1u << caps->rdma.log_max_wqes ||
	    cap->max_send_sge > caps->rdma.max_send_sge ||
	    cap->max_recv_sge > caps->rdma.max_recv_sge ||
	    cap->max_inline_data > caps->rdma.max_inline)
		return -EINVAL;
	return 0;
}

static u32 vib_sq_entry_len(const struct ib_qp_cap *cap)
{
	u32 data = max_t(u32, cap->max_send_sge * sizeof(struct verna_sge),
			 cap->max_inline_data);

	return max(VERNA_SQ_WQE_HDR + data, VERNA_SQ_WQE_MIN);
}

static u32 vib_rq_entry_len(const struct ib_qp_cap *cap)
{
	u32 data = cap->max_recv_sge * sizeof(struct verna_sge);

	return max(VERNA_RQ_WQE_HDR + data, VERNA_RQ_WQE_MIN);
}

static u64 vib_ring_len(const struct vib_wq *wq)
{
	return 1ull << (wq->log_size + wq->log_stride);
}

/* A user queue must hold what was asked for, inside of the process's memory. */
static bool vib_user_wq_ok(const struct vib_wq *wq, u64 buf_len, u32 wrs,
			   u32 entry_len, u32 max_entry_len, u8 log_max)
{
	if (wq->log_size > log_max || wrs > 1u << wq->log_size)
		return false;
	if (wq->log_stride > ilog2(max_entry_len) ||
	    entry_len > 1u << wq->log_stride)
		return false;
	return vib_fits(buf_len, wq->rec_offset, sizeof(struct verna_wq_rec),
			sizeof(struct verna_wq_rec)) &&
	       vib_fits(buf_len, wq->ring, vib_ring_len(wq),
			1u << wq->log_stride);
}

static int vib_qp_pin_user(struct vib_dev *dev, struct vib_qp *qp,
			   const struct ib_qp_cap *cap, struct ib_udata *udata,
			   struct vib_pbl *pbl)
{
	u8 log_max = dev->caps->rdma.log_max_wqes;
	struct verna_ib_create_qp req;
	int err;

	err = vib_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.reserved)
		return -EINVAL;

	qp->sq.log_size = req.log_sq_size;
	qp->sq.log_stride = req.log_sq_stride;
	qp->sq.rec_offset = req.sq_rec_offset;
	qp->sq.ring = req.sq_offset;
	qp->rq.log_size = req.log_rq_size;
	qp->rq.log_stride = req.log_rq_stride;
	qp->rq.rec_offset = req.rq_rec_offset;
	qp->rq.ring = req.rq_offset;
	if (!vib_user_wq_ok(&qp->sq, req.buf_len, cap->max_send_wr,
			    vib_sq_entry_len(cap), VERNA_SQ_WQE_MAX, log_max) ||
	    !vib_user_wq_ok(&qp->rq, req.buf_len, cap->max_recv_wr,
			    vib_rq_entry_len(cap), VERNA_RQ_WQE_MAX, log_max))
		return -EINVAL;

	qp->umem = vib_pin_queue(dev, req.buf_va, req.buf_len, pbl);
	if (IS_ERR(qp->umem)) {
		err = PTR_ERR(qp->umem);
		qp->umem = NULL;
		return err;
	}
	return 0;
}

static int vib_kernel_wq_init(struct vib_wq *wq, u32 wrs, u32 entry_len)
{
	/* At least two: the card's smallest ring is not ours to explore. */
	wq->log_size = max(order_base_2(wrs), 1);
	wq->log_stride = order_base_2(entry_len);
	wq->wr_ids = kvcalloc(1u << wq->log_size, sizeof(*wq->wr_ids),
			      GFP_KERNEL);
	return wq->wr_ids ? 0 : -ENOMEM;
}

static int vib_qp_alloc_kernel(struct vib_dev *dev, struct vib_qp *qp,
			       const struct ib_qp_cap *cap)
{
	u64 end;
	int err;

	err = vib_kernel_wq_init(&qp->sq, cap->max_send_wr,
				 vib_sq_entry_len(cap));
	if (err)
		return err;
	err = vib_kernel_wq_init(&qp->rq, cap->max_recv_wr,
				 vib_rq_entry_len(cap));
	if (err)
		return err;

	qp->sq.rec_offset = VIB_SQ_REC;
	qp->rq.rec_offset = VIB_RQ_REC;
	qp->sq.ring = ALIGN(VIB_RINGS, 1u << qp->sq.log_stride);
	end = qp->sq.ring + vib_ring_len(&qp->sq);
	qp->rq.ring = ALIGN(end, 1u << qp->rq.log_stride);
	end = qp->rq.ring + vib_ring_len(&qp->rq);

	err = verna_mem_alloc(dev->core, &qp->mem, end);
	if (err)
		return err;
	qp->sq.rec = verna_mem_at(&qp->mem, qp->sq.rec_offset);
	qp->rq.rec = verna_mem_at(&qp->mem, qp->rq.rec_offset);
	return 0;
}

static void vib_qp_free_memory(struct vib_dev *dev, struct vib_qp *qp)
{
	ib_umem_release(qp->umem);
	verna_mem_free(dev->core, &qp->mem);
	kvfree(qp->sq.wr_ids);
	kvfree(qp->rq.wr_ids);
}

static int vib_qp_create_hw(struct vib_dev *dev, struct vib_qp *qp, u8 hw_type,
			    u32 uar, const struct verna_pbl *mem)
{
	struct verna_cmd_create_qp cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_CREATE_QP),
		.pdn = cpu_to_le32(to_vib_pd(qp->ibqp.pd)->pdn),
		.send_cqn = cpu_to_le32(to_vib_cq(qp->ibqp.send_cq)->hw.cqn),
		.recv_cqn = cpu_to_le32(to_vib_cq(qp->ibqp.recv_cq)->hw.cqn),
		.uar = cpu_to_le32(uar),
		.type = hw_type,
		.log_sq_size = qp->sq.log_size,
		.log_sq_stride = qp->sq.log_stride,
		.log_rq_size = qp->rq.log_size,
		.log_rq_stride = qp->rq.log_stride,
		.max_inline = cpu_to_le16(qp->max_inline),
		.mem = *mem,
		.sq_rec_offset = cpu_to_le32(qp->sq.rec_offset),
		.rq_rec_offset = cpu_to_le32(qp->rq.rec_offset),
		.sq_offset = cpu_to_le32(qp->sq.ring),
		.rq_offset = cpu_to_le32(qp->rq.ring),
	};
	u64 qpn;
	int err;

	if (qp->sig_type == IB_SIGNAL_ALL_WR)
		cmd.flags = VERNA_QP_F_SIGNAL_ALL;
	err = verna_cmd_exec(dev->core, &cmd, sizeof(cmd), &qpn);
	if (err)
		return err;
	qp->ibqp.qp_num = qpn;

	/*
	 * The number may still be in the table: the card has it back as soon as
	 * DESTROY_QP is done, vib_destroy_qp() takes it out a moment later.
	 */
	err = xa_err(xa_store_irq(&dev->qps, qpn, qp, GFP_KERNEL));
	if (err)
		verna_cmd_destroy(dev->core, VERNA_CMD_DESTROY_QP, qpn);
	return err;
}

/* The QP leaves the table; afterwards no event handler knows it. */
static void vib_qp_unpublish(struct vib_dev *dev, struct vib_qp *qp)
{
	xa_cmpxchg_irq(&dev->qps, qp->ibqp.qp_num, qp, NULL, 0);
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->unused);
	wait_for_completion(&qp->unused);
}

static void vib_qp_attach_cqs(struct vib_qp *qp)
{
	struct vib_cq *scq = to_vib_cq(qp->ibqp.send_cq);
	struct vib_cq *rcq = to_vib_cq(qp->ibqp.recv_cq);

	spin_lock_irq(&scq->lock);
	list_add_tail(&qp->sq_node, &scq->sqs);
	spin_unlock_irq(&scq->lock);
	spin_lock_irq(&rcq->lock);
	list_add_tail(&qp->rq_node, &rcq->rqs);
	spin_unlock_irq(&rcq->lock);
}

static void vib_qp_forget_cqes(struct vib_qp *qp)
{
	struct vib_cq *scq = to_vib_cq(qp->ibqp.send_cq);
	struct vib_cq *rcq = to_vib_cq(qp->ibqp.recv_cq);

	vib_cq_forget_qp(scq, qp->ibqp.qp_num);
	if (rcq != scq)
		vib_cq_forget_qp(rcq, qp->ibqp.qp_num);
}

static void vib_qp_detach_cqs(struct vib_qp *qp)
{
	struct vib_cq *scq = to_vib_cq(qp->ibqp.send_cq);
	struct vib_cq *rcq = to_vib_cq(qp->ibqp.recv_cq);

	spin_lock_irq(&scq->lock);
	list_del(&qp->sq_node);
	spin_unlock_irq(&scq->lock);
	spin_lock_irq(&rcq->lock);
	list_del(&qp->rq_node);
	spin_unlock_irq(&rcq->lock);
	vib_qp_forget_cqes(qp);
}

static void vib_wq_reset(struct vib_wq *wq)
{
	unsigned long flags;

	spin_lock_irqsave(&wq->lock, flags);
	wq->head = 0;
	wq->tail = 0;
	WRITE_ONCE(wq->rec->prod_index, cpu_to_le32(0));
	spin_unlock_irqrestore(&wq->lock, flags);
}

/**
 * vib_qp_reset_queues() - the QP went to RESET: forget all requests
 * @qp: QP of the kernel
 *
 * The card starts again at index 0 and writes no entry of the past.
 */
void vib_qp_reset_queues(struct vib_qp *qp)
{
	vib_qp_forget_cqes(qp);
	vib_wq_reset(&qp->sq);
	vib_wq_reset(&qp->rq);
}

static void vib_qp_init(struct vib_qp *qp, const struct ib_qp_init_attr *attr)
{
	refcount_set(&qp->refs, 1);
	init_completion(&qp->unused);
	mutex_init(&qp->modify_lock);
	qp->state = IB_QPS_RESET;
	spin_lock_init(&qp->sq.lock);
	spin_lock_init(&qp->rq.lock);
	qp->sq.max_sge = attr->cap.max_send_sge;
	qp->rq.max_sge = attr->cap.max_recv_sge;
	qp->max_inline = attr->cap.max_inline_data;
	qp->sig_type = attr->sq_sig_type;
}

static int vib_create_user_qp(struct vib_dev *dev, struct vib_qp *qp, u8 hw_type,
			      const struct ib_qp_cap *cap, struct ib_udata *udata)
{
	struct vib_ucontext *uc =
		rdma_udata_to_drv_context(udata, struct vib_ucontext, ibuc);
	struct verna_ib_create_qp_resp resp = {};
	struct vib_pbl pbl;
	int err;

	err = vib_qp_pin_user(dev, qp, cap, udata, &pbl);
	if (err)
		return err;
	err = vib_qp_create_hw(dev, qp, hw_type, uc->uar_index, &pbl.hw);
	vib_pbl_free(&pbl);
	if (err)
		return err;

	resp.qpn = qp->ibqp.qp_num;
	err = vib_udata_out(udata, &resp, sizeof(resp));
	if (err) {
		verna_cmd_destroy(dev->core, VERNA_CMD_DESTROY_QP, resp.qpn);
		vib_qp_unpublish(dev, qp);
	}
	return err;
}

static int vib_create_kernel_qp(struct vib_dev *dev, struct vib_qp *qp,
				u8 hw_type, const struct ib_qp_cap *cap)
{
	u32 uar = verna_kernel_uar(dev->core)->index;
	int err;

	err = vib_qp_alloc_kernel(dev, qp, cap);
	if (err)
		return err;
	err = vib_qp_create_hw(dev, qp, hw_type, uar, &qp->mem.pbl);
	if (err)
		return err;
	vib_qp_attach_cqs(qp);
	return 0;
}

/**
 * vib_create_qp() - ib_device_ops.create_qp
 * @ibqp: to be filled
 * @attr: what is wanted; sizes are updated to what was made
 * @udata: NULL for the kernel, else struct verna_ib_create_qp
 *
 * Return: 0, -EOPNOTSUPP (kind of QP), -EINVAL (sizes, layout), -EPERM, -ENOMEM,
 * or another error.
 */
int vib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		  struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibqp->device);
	struct vib_qp *qp = to_vib_qp(ibqp);
	u8 hw_type;
	int err;

	err = vib_qp_type_to_hw(dev, attr->qp_type, udata, &hw_type);
	if (err)
		return err;
	err = vib_qp_check_attr(dev, attr);
	if (err)
		return err;

	vib_qp_init(qp, attr);
	if (udata)
		err = vib_create_user_qp(dev, qp, hw_type, &attr->cap, udata);
	else
		err = vib_create_kernel_qp(dev, qp, hw_type, &attr->cap);
	if (err) {
		vib_qp_free_memory(dev, qp);
		return err;
	}

	attr->cap.max_send_wr = 1u << qp->sq.log_size;
	attr->cap.max_recv_wr = 1u << qp->rq.log_size;
	return 0;
}

/**
 * vib_destroy_qp() - ib_device_ops.destroy_qp
 * @ibqp: QP
 * @udata: not used
 *
 * Return: 0, also if the card is gone, or an error of the command, when the QP
 * still exists.
 */
int vib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibqp->device);
	struct vib_qp *qp = to_vib_qp(ibqp);
	int err;

	err = verna_cmd_destroy(dev->core, VERNA_CMD_DESTROY_QP, ibqp->qp_num);
	if (err)
		return err;

	vib_qp_unpublish(dev, qp);
	if (!qp->umem)
		vib_qp_detach_cqs(qp);
	vib_qp_free_memory(dev, qp);
	return 0;
}
