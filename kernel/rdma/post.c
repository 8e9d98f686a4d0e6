// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: work requests of the kernel. (User space posts its own.)
 */
#include <rdma/ib_verbs.h>

#include "ib.h"

/* How a verbs opcode is told to the card, and who may use it. */
struct vib_wr_op {
	bool valid;
	u8 hw;
	u32 qp_types;	/* bit: enum ib_qp_type */
};

#define VIB_CONNECTED	(BIT(IB_QPT_RC) | BIT(IB_QPT_UC))
#define VIB_DATAGRAM	(BIT(IB_QPT_UD) | BIT(IB_QPT_GSI))
#define VIB_RC		BIT(IB_QPT_RC)

static const struct vib_wr_op vib_wr_ops[] = {
	[IB_WR_RDMA_WRITE] = { true, VERNA_WR_RDMA_WRITE, VIB_CONNECTED },
	[IB_WR_RDMA_WRITE_WITH_IMM] = { true, VERNA_WR_RDMA_WRITE_WITH_IMM,
					VIB_CONNECTED },
	[IB_WR_SEND] = { true, VERNA_WR_SEND, VIB_CONNECTED | VIB_DATAGRAM },
	[IB_WR_SEND_WITH_IMM] = { true, VERNA_WR_SEND_WITH_IMM,
				  VIB_CONNECTED | VIB_DATAGRAM },
	[IB_WR_RDMA_READ] = { true, VERNA_WR_RDMA_READ, VIB_RC },
	[IB_WR_ATOMIC_CMP_AND_SWP] = { true, VERNA_WR_ATOMIC_CAS, VIB_RC },
	[IB_WR_ATOMIC_FETCH_AND_ADD] = { true, VERNA_WR_ATOMIC_FADD, VIB_RC },
	[IB_WR_SEND_WITH_INV] = { true, VERNA_WR_SEND_WITH_INV, VIB_RC },
	[IB_WR_LOCAL_INV] = { true, VERNA_WR_LOCAL_INV, VIB_CONNECTED },
};

/*
 * In ERR nothing is executed, so whether it could be does not matter: the core
 * drains a QP of any type by posting an RDMA WRITE to it.
 */
static const struct vib_wr_op *vib_find_op(const struct vib_qp *qp,
					   enum ib_wr_opcode opcode)
{
	const struct vib_wr_op *op;

	if (opcode >= ARRAY_SIZE(vib_wr_ops))
		return NULL;
	op = &vib_wr_ops[opcode];
	if (!op->valid)
		return NULL;
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		return op;
	return op->qp_types & BIT(qp->ibqp.qp_type) ? op : NULL;
}

static void vib_put_sge(struct verna_sge *to, const struct ib_sge *from)
{
	to->addr = cpu_to_le64(from->addr);
	to->length = cpu_to_le32(from->length);
	to->lkey = cpu_to_le32(from->lkey);
}

static int vib_put_inline(const struct vib_qp *qp, struct verna_sq_wqe *wqe,
			  const struct ib_send_wr *wr)
{
	u8 *to = (u8 *)(wqe + 1);
	u64 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		const struct ib_sge *sge = &wr->sg_list[i];

		if (len + sge->length > qp->max_inline)
			return -EINVAL;
		memcpy(to + len, (void *)(uintptr_t)sge->addr, sge->length);
		len += sge->length;
	}
	wqe->flags |= VERNA_WR_F_INLINE;
	wqe->inline_len = cpu_to_le32(len);
	return 0;
}

static int vib_put_data(const struct vib_qp *qp, struct verna_sq_wqe *wqe,
			const struct ib_send_wr *wr)
{
	struct verna_sge *sge = (struct verna_sge *)(wqe + 1);
	int i;

	if (wr->send_flags & IB_SEND_INLINE)
		return vib_put_inline(qp, wqe, wr);
	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
		return -EINVAL;
	for (i = 0; i < wr->num_sge; i++)
		vib_put_sge(sge + i, &wr->sg_list[i]);
	wqe->num_sge = wr->num_sge;
	return 0;
}

static void vib_put_flags(struct verna_sq_wqe *wqe, int send_flags)
{
	if (send_flags & IB_SEND_SIGNALED)
		wqe->flags |= VERNA_WR_F_SIGNALED;
	if (send_flags & IB_SEND_SOLICITED)
		wqe->flags |= VERNA_WR_F_SOLICITED;
	if (send_flags & IB_SEND_FENCE)
		wqe->flags |= VERNA_WR_F_FENCE;
}

static int vib_put_ud(struct verna_sq_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_ud_wr *ud = ud_wr(wr);

	if (!ud->ah || ud->pkey_index >= VIB_PKEY_TABLE_LEN)
		return -EINVAL;
	wqe->ud.remote_qpn = cpu_to_le32(ud->remote_qpn);
	wqe->ud.remote_qkey = cpu_to_le32(ud->remote_qkey);
	wqe->ud.av = to_vib_ah(ud->ah)->av;
	return 0;
}

static void vib_put_rdma(struct verna_sq_wqe *wqe, const struct ib_send_wr *wr)
{
	wqe->rdma.remote_addr = cpu_to_le64(rdma_wr(wr)->remote_addr);
	wqe->rdma.rkey = cpu_to_le32(rdma_wr(wr)->rkey);
}

static void vib_put_atomic(struct verna_sq_wqe *wqe, const struct ib_send_wr *wr)
{
	const struct ib_atomic_wr *atomic = atomic_wr(wr);

	wqe->atomic.remote_addr = cpu_to_le64(atomic->remote_addr);
	wqe->atomic.rkey = cpu_to_le32(atomic->rkey);
	if (wr->opcode == IB_WR_ATOMIC_CMP_AND_SWP) {
		wqe->atomic.swap_add = cpu_to_le64(atomic->swap);
		wqe->atomic.compare = cpu_to_le64(atomic->compare_add);
	} else {
		wqe->atomic.swap_add = cpu_to_le64(atomic->compare_add);
	}
}

/* The part of the entry that depends on the opcode. */
static int vib_put_op(const struct vib_qp *qp, struct verna_sq_wqe *wqe,
		      const struct ib_send_wr *wr)
{
	switch (wr->opcode) {
	case IB_WR_RDMA_WRITE_WITH_IMM:
		wqe->imm = (__force __le32)wr->ex.imm_data;
		fallthrough;
	case IB_WR_RDMA_WRITE:
	case IB_WR_RDMA_READ:
		vib_put_rdma(wqe, wr);
		return 0;
	case IB_WR_ATOMIC_CMP_AND_SWP:
	case IB_WR_ATOMIC_FETCH_AND_ADD:
		vib_put_atomic(wqe, wr);
		return 0;
	case IB_WR_SEND_WITH_INV:
	case IB_WR_LOCAL_INV:
		wqe->imm = cpu_to_le32(wr->ex.invalidate_rkey);
		return 0;
	case IB_WR_SEND_WITH_IMM:
		wqe->imm = (__force __le32)wr->ex.imm_data;
		fallthrough;
	case IB_WR_SEND:
		if (BIT(qp->ibqp.qp_type) & VIB_DATAGRAM)
			return vib_put_ud(wqe, wr);
		return 0;
	default:
		return -EINVAL;
	}
}

static int vib_put_send(const struct vib_qp *qp, const struct ib_send_wr *wr)
{
	const struct vib_wr_op *op = vib_find_op(qp, wr->opcode);
	struct verna_sq_wqe *wqe;
	int err;

	if (!op)
		return -EINVAL;
	wqe = vib_wqe_at(qp, &qp->sq, qp->sq.head);
	memset(wqe, 0, sizeof(*wqe));
	wqe->opcode = op->hw;
	vib_put_flags(wqe, wr->send_flags);
	err = vib_put_op(qp, wqe, wr);
	if (err)
		return err;
	return vib_put_data(qp, wqe, wr);
}

static int vib_put_recv(const struct vib_qp *qp, const struct ib_recv_wr *wr)
{
	struct verna_rq_wqe *wqe;
	struct verna_sge *sge;
	int i;

	if (wr->num_sge < 0 || wr->num_sge > qp->rq.max_sge)
		return -EINVAL;
	wqe = vib_wqe_at(qp, &qp->rq, qp->rq.head);
	memset(wqe, 0, sizeof(*wqe));
	sge = (struct verna_sge *)(wqe + 1);
	for (i = 0; i < wr->num_sge; i++)
		vib_put_sge(sge + i, &wr->sg_list[i]);
	wqe->num_sge = wr->num_sge;
	return 0;
}

static bool vib_wq_full(struct vib_wq *wq)
{
	/* Pairs with the release in poll.c: the slot's cookie was read. */
	return wq->head - smp_load_acquire(&wq->tail) >= 1u << wq->log_size;
}

/* The entry at the head is complete: remember its cookie, count it. */
static void vib_wq_push(struct vib_wq *wq, u64 wr_id)
{
	wq->wr_ids[wq->head & ((1u << wq->log_size) - 1)] = wr_id;
	/* Pairs with the acquire in poll.c: the cookie is in place. */
	smp_store_release(&wq->head, wq->head + 1);
}

static void vib_wq_ring(struct vib_dev *dev, struct vib_qp *qp,
			struct vib_wq *wq, enum verna_db_type type)
{
	verna_wq_publish(wq->rec, wq->head);
	verna_wq_kick(wq->rec, verna_kernel_uar(dev->core), type,
		      qp->ibqp.qp_num);
}

/**
 * vib_post_send() - ib_device_ops.post_send
 * @ibqp: QP of the kernel
 * @wr: requests
 * @bad_wr: the first one that was not posted, on error
 *
 * A QP in ERR takes requests and flushes them. Any context.
 * Return: 0, -EINVAL (state or request), -ENOMEM (queue full).
 */
int vib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr)
{
	struct vib_dev *dev = to_vib_dev(ibqp->device);
	struct vib_qp *qp = to_vib_qp(ibqp);
	unsigned long flags;
	u32 head;
	int err = 0;

	spin_lock_irqsave(&qp->sq.lock, flags);
	head = qp->sq.head;
	if (READ_ONCE(qp->state) < IB_QPS_RTS)
		err = -EINVAL;
	while (wr && !err) {
		err = vib_wq_full(&qp->sq) ? -ENOMEM : vib_put_send(qp, wr);
		if (err)
			break;
		vib_wq_push(&qp->sq, wr->wr_id);
		wr = wr->next;
	}
	if (qp->sq.head != head)
		vib_wq_ring(dev, qp, &qp->sq, VERNA_DB_QP_SQ);
	spin_unlock_irqrestore(&qp->sq.lock, flags);

	if (err)
		*bad_wr = wr;
	if (vib_is_dead(dev))
		vib_cq_fire(to_vib_cq(ibqp->send_cq));
	return err;
}

/**
 * vib_post_recv() - ib_device_ops.post_recv
 * @ibqp: QP of the kernel
 * @wr: requests
 * @bad_wr: the first one that was not posted, on error
 *
 * Any context. Return: 0, -EINVAL (state or request), -ENOMEM (queue full).
 */
int vib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr)
{
	struct vib_dev *dev = to_vib_dev(ibqp->device);
	struct vib_qp *qp = to_vib_qp(ibqp);
	unsigned long flags;
	u32 head;
	int err = 0;

	spin_lock_irqsave(&qp->rq.lock, flags);
	head = qp->rq.head;
	if (READ_ONCE(qp->state) == IB_QPS_RESET)
		err = -EINVAL;
	while (wr && !err) {
		err = vib_wq_full(&qp->rq) ? -ENOMEM : vib_put_recv(qp, wr);
		if (err)
			break;
		vib_wq_push(&qp->rq, wr->wr_id);
		wr = wr->next;
	}
	if (qp->rq.head != head)
		vib_wq_ring(dev, qp, &qp->rq, VERNA_DB_QP_RQ);
	spin_unlock_irqrestore(&qp->rq.lock, flags);

	if (err)
		*bad_wr = wr;
	if (vib_is_dead(dev))
		vib_cq_fire(to_vib_cq(ibqp->recv_cq));
	return err;
}
