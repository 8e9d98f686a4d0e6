// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: driver details of `rdma resource show ... -dd`.
 */
#include <rdma/ib_umem.h>
#include <rdma/restrack.h>

#include "ib.h"

/* One nested table of name and value pairs. */
static struct nlattr *vib_res_begin(struct sk_buff *msg)
{
	return nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
}

static int vib_res_end(struct sk_buff *msg, struct nlattr *table, bool ok)
{
	if (!ok) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}

static bool vib_put_u32(struct sk_buff *msg, const char *name, u32 value)
{
	return !rdma_nl_put_driver_u32(msg, name, value);
}

/* Indices of the rings of the kernel; those of user space are its own. */
static bool vib_put_wq_state(struct sk_buff *msg, struct vib_qp *qp)
{
	return vib_put_u32(msg, "sq_head", READ_ONCE(qp->sq.head)) &&
	       vib_put_u32(msg, "sq_tail", READ_ONCE(qp->sq.tail)) &&
	       vib_put_u32(msg, "rq_head", READ_ONCE(qp->rq.head)) &&
	       vib_put_u32(msg, "rq_tail", READ_ONCE(qp->rq.tail));
}

/** vib_fill_res_qp_entry() - ib_device_ops.fill_res_qp_entry */
int vib_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp)
{
	struct vib_qp *qp = to_vib_qp(ibqp);
	struct nlattr *table;
	bool ok;

	table = vib_res_begin(msg);
	if (!table)
		return -EMSGSIZE;
	ok = vib_put_u32(msg, "sq_entries", 1u << qp->sq.log_size) &&
	     vib_put_u32(msg, "sq_entry_size", 1u << qp->sq.log_stride) &&
	     vib_put_u32(msg, "rq_entries", 1u << qp->rq.log_size) &&
	     vib_put_u32(msg, "rq_entry_size", 1u << qp->rq.log_stride) &&
	     vib_put_u32(msg, "max_inline", qp->max_inline) &&
	     vib_put_u32(msg, "send_cqn",
			 to_vib_cq(ibqp->send_cq)->hw.cqn) &&
	     vib_put_u32(msg, "recv_cqn", to_vib_cq(ibqp->recv_cq)->hw.cqn) &&
	     (qp->umem || vib_put_wq_state(msg, qp));
	return vib_res_end(msg, table, ok);
}

/** vib_fill_res_cq_entry() - ib_device_ops.fill_res_cq_entry */
int vib_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq)
{
	struct vib_dev *dev = to_vib_dev(ibcq->device);
	struct vib_cq *cq = to_vib_cq(ibcq);
	struct nlattr *table;
	bool ok;

	table = vib_res_begin(msg);
	if (!table)
		return -EMSGSIZE;
	ok = vib_put_u32(msg, "cqn", cq->hw.cqn) &&
	     vib_put_u32(msg, "eqn", verna_comp_eqn(dev->core, cq->hw.vector)) &&
	     vib_put_u32(msg, "irq", verna_comp_irq(dev->core, cq->hw.vector)) &&
	     (cq->umem || vib_put_u32(msg, "cons_index", READ_ONCE(cq->cons)));
	return vib_res_end(msg, table, ok);
}

/** vib_fill_res_mr_entry() - ib_device_ops.fill_res_mr_entry */
int vib_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct vib_mr *mr = to_vib_mr(ibmr);
	u32 page_size = mr->pbl.level ? 1u << mr->pbl.page_shift : 0;
	struct nlattr *table;
	bool ok;

	table = vib_res_begin(msg);
	if (!table)
		return -EMSGSIZE;
	ok = vib_put_u32(msg, "pbl_level", mr->pbl.level) &&
	     vib_put_u32(msg, "pages", le32_to_cpu(mr->pbl.num_pages)) &&
	     vib_put_u32(msg, "page_size", page_size);
	return vib_res_end(msg, table, ok);
}
