// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: polling and arming of the kernel's completion queues. (User space
 * polls and arms its own.)
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <rdma/ib_verbs.h>

#include "ib.h"

/* An entry whose QP was destroyed; no QP has this number (they have 24 bits). */
#define VIB_CQE_FORGOTTEN	0xffffffffu

static const enum ib_wc_status vib_wc_status[] = {
	[VERNA_CQE_OK] = IB_WC_SUCCESS,
	[VERNA_CQE_LOC_LEN_ERR] = IB_WC_LOC_LEN_ERR,
	[VERNA_CQE_LOC_QP_OP_ERR] = IB_WC_LOC_QP_OP_ERR,
	[VERNA_CQE_LOC_PROT_ERR] = IB_WC_LOC_PROT_ERR,
	[VERNA_CQE_WR_FLUSH_ERR] = IB_WC_WR_FLUSH_ERR,
	[VERNA_CQE_BAD_RESP_ERR] = IB_WC_BAD_RESP_ERR,
	[VERNA_CQE_LOC_ACCESS_ERR] = IB_WC_LOC_ACCESS_ERR,
	[VERNA_CQE_REM_INV_REQ_ERR] = IB_WC_REM_INV_REQ_ERR,
	[VERNA_CQE_REM_ACCESS_ERR] = IB_WC_REM_ACCESS_ERR,
	[VERNA_CQE_REM_OP_ERR] = IB_WC_REM_OP_ERR,
	[VERNA_CQE_RETRY_EXC_ERR] = IB_WC_RETRY_EXC_ERR,
	[VERNA_CQE_RNR_RETRY_EXC_ERR] = IB_WC_RNR_RETRY_EXC_ERR,
	[VERNA_CQE_REM_ABORT_ERR] = IB_WC_REM_ABORT_ERR,
	[VERNA_CQE_FATAL_ERR] = IB_WC_FATAL_ERR,
	[VERNA_CQE_GENERAL_ERR] = IB_WC_GENERAL_ERR,
};

static const enum ib_wc_opcode vib_wc_send_opcode[] = {
	[VERNA_CQE_SEND] = IB_WC_SEND,
	[VERNA_CQE_RDMA_WRITE] = IB_WC_RDMA_WRITE,
	[VERNA_CQE_RDMA_READ] = IB_WC_RDMA_READ,
	[VERNA_CQE_ATOMIC_CAS] = IB_WC_COMP_SWAP,
	[VERNA_CQE_ATOMIC_FADD] = IB_WC_FETCH_ADD,
	[VERNA_CQE_LOCAL_INV] = IB_WC_LOCAL_INV,
	[VERNA_CQE_REG_MR] = IB_WC_REG_MR,
};

static struct verna_cqe *vib_cqe_at(const struct vib_cq *cq, u32 index)
{
	size_t slot = index & ((1u << cq->log_size) - 1);

	return verna_mem_at(&cq->mem, cq->ring + slot * VERNA_CQE_SIZE);
}

static const struct verna_cqe *vib_cqe_next(const struct vib_cq *cq, u32 index)
{
	return verna_cqe_peek(vib_cqe_at(cq, index), index, cq->log_size);
}

/*
 * Retires the request that @cqe names and, on a send queue, all before it.
 * False if there is no such request: the entry makes no sense.
 */
static bool vib_retire(struct vib_wq *wq, const struct verna_cqe *cqe,
		       struct ib_wc *wc)
{
	u32 index = le32_to_cpu(cqe->wqe_index);

	/* The head covers every request whose cookie is in place. */
	if (index - wq->tail >= smp_load_acquire(&wq->head) - wq->tail)
		return false;

	wc->wr_id = wq->wr_ids[index & ((1u << wq->log_size) - 1)];
	/* Only now may the poster reuse the slot. */
	smp_store_release(&wq->tail, index + 1);
	return true;
}

static void vib_wc_send(const struct verna_cqe *cqe, struct ib_wc *wc)
{
	if (cqe->opcode < ARRAY_SIZE(vib_wc_send_opcode))
		wc->opcode = vib_wc_send_opcode[cqe->opcode];
}

static void vib_wc_ud(const struct verna_cqe *cqe, struct ib_wc *wc)
{
	u16 tci = le16_to_cpu(cqe->vlan_tci);

	wc->src_qp = le32_to_cpu(cqe->src_qp);
	wc->pkey_index = le16_to_cpu(cqe->pkey_index);
	wc->sl = cqe->sl;
	ether_addr_copy(wc->smac, cqe->smac);
	wc->wc_flags |= IB_WC_WITH_SMAC | IB_WC_WITH_NETWORK_HDR_TYPE;
	wc->network_hdr_type = cqe->flags & VERNA_CQE_F_IPV4 ?
			       RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	if (cqe->flags & VERNA_CQE_F_GRH)
		wc->wc_flags |= IB_WC_GRH;
	if (cqe->flags & VERNA_CQE_F_VLAN) {
		wc->wc_flags |= IB_WC_WITH_VLAN;
		wc->vlan_id = tci & VLAN_VID_MASK;
	}
}

static void vib_wc_recv(const struct vib_qp *qp, const struct verna_cqe *cqe,
			struct ib_wc *wc)
{
	wc->opcode = cqe->opcode == VERNA_CQE_RECV_RDMA_WITH_IMM ?
		     IB_WC_RECV_RDMA_WITH_IMM : IB_WC_RECV;
	if (cqe->flags & VERNA_CQE_F_IMM) {
		wc->wc_flags |= IB_WC_WITH_IMM;
		/* As on the wire, whatever the field's declared order. */
		wc->ex.imm_data = (__force __be32)cqe->imm;
	} else if (cqe->flags & VERNA_CQE_F_INV) {
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
		wc->ex.invalidate_rkey = le32_to_cpu(cqe->imm);
	}
	if (qp->ibqp.qp_type == IB_QPT_UD || qp->ibqp.qp_type == IB_QPT_GSI)
		vib_wc_ud(cqe, wc);
}

/*
 * One entry to one work completion. False if it leads to none: the QP is being
 * destroyed, or the entry makes no sense. The QP cannot go away meanwhile:
 * vib_destroy_qp() takes the CQ's lock after the QP left the table.
 */
static bool vib_cqe_to_wc(struct vib_cq *cq, const struct verna_cqe *cqe,
			  struct ib_wc *wc)
{
	struct vib_dev *dev = to_vib_dev(cq->ibcq.device);
	bool recv = VERNA_CQE_IS_RECV(cqe->opcode);
	struct vib_qp *qp;

	qp = xa_load(&dev->qps, le32_to_cpu(cqe->id));
	if (!qp)
		return false;

	*wc = (struct ib_wc){
		.qp = &qp->ibqp,
		.port_num = VIB_PORT,
		.byte_len = le32_to_cpu(cqe->byte_len),
		.vendor_err = cqe->syndrome,
		.status = cqe->status < ARRAY_SIZE(vib_wc_status) ?
			  vib_wc_status[cqe->status] : IB_WC_GENERAL_ERR,
	};
	if (qp->umem || !vib_retire(recv ? &qp->rq : &qp->sq, cqe, wc)) {
		ibdev_warn_ratelimited(&dev->ibdev,
				       "QP %u: completion of request %u, which is not outstanding\n",
				       qp->ibqp.qp_num,
				       le32_to_cpu(cqe->wqe_index));
		return false;
	}

	if (recv)
		vib_wc_recv(qp, cqe, wc);
	else
		vib_wc_send(cqe, wc);
	return true;
}

/**
 * vib_poll_cq() - ib_device_ops.poll_cq
 * @ibcq: CQ of the kernel
 * @num: room in @wc
 * @wc: completions
 *
 * Any context. Return: completions stored.
 */
int vib_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc)
{
	struct vib_dev *dev = to_vib_dev(ibcq->device);
	struct vib_cq *cq = to_vib_cq(ibcq);
	const struct verna_cqe *cqe;
	unsigned long flags;
	u32 cons;
	int n = 0;

	spin_lock_irqsave(&cq->lock, flags);
	cons = cq->cons;
	while (n < num) {
		cqe = vib_cqe_next(cq, cons);
		if (!cqe)
			break;
		if (vib_cqe_to_wc(cq, cqe, wc + n))
			n++;
		cons++;
	}
	if (cons != cq->cons) {
		cq->cons = cons;
		verna_cq_set_cons(cq->rec, cons);
	}
	if (n < num && vib_is_dead(dev))
		n += vib_flush_cq(cq, num - n, wc + n);
	spin_unlock_irqrestore(&cq->lock, flags);
	return n;
}

/**
 * vib_req_notify_cq() - ib_device_ops.req_notify_cq
 * @ibcq: CQ of the kernel
 * @flags: which completions to be told of; IB_CQ_REPORT_MISSED_EVENTS
 *
 * A request for any completion that has not been answered yet is not weakened
 * by a later one for solicited completions (IBA 11.4.2.2).
 *
 * Any context. Return: 1 if there are completions already and the caller wants
 * to know, else 0.
 */
int vib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags)
{
	struct vib_dev *dev = to_vib_dev(ibcq->device);
	struct vib_cq *cq = to_vib_cq(ibcq);
	unsigned long irq_flags;
	u32 type = VERNA_ARM_NEXT;
	int missed = 0;

	spin_lock_irqsave(&cq->lock, irq_flags);
	if ((flags & IB_CQ_SOLICITED_MASK) == IB_CQ_SOLICITED &&
	    cq->armed != VERNA_ARM_NEXT)
		type = VERNA_ARM_SOLICITED;
	cq->armed = type;
	verna_cq_arm(cq->rec, &cq->arm_sn, type);
	if (flags & IB_CQ_REPORT_MISSED_EVENTS)
		missed = vib_cqe_next(cq, cq->cons) ||
			 (vib_is_dead(dev) && vib_flush_pending(cq));
	spin_unlock_irqrestore(&cq->lock, irq_flags);
	return missed;
}

/**
 * vib_cq_forget_qp() - drop the completions of a QP that is destroyed or reset
 * @cq: its CQ, of the kernel
 * @qpn: its number; the card writes no further entries of it
 *
 * Entries stay where they are, as the card counts them, and are skipped later.
 */
void vib_cq_forget_qp(struct vib_cq *cq, u32 qpn)
{
	unsigned long flags;
	u32 i;

	spin_lock_irqsave(&cq->lock, flags);
	for (i = cq->cons; vib_cqe_next(cq, i); i++) {
		struct verna_cqe *cqe = vib_cqe_at(cq, i);

		if (le32_to_cpu(cqe->id) == qpn)
			cqe->id = cpu_to_le32(VIB_CQE_FORGOTTEN);
	}
	spin_unlock_irqrestore(&cq->lock, flags);
}
