// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: completion queues: creation, destruction, interrupts.
 */
#include <linux/log2.h>
#include <rdma/ib_umem.h>
#include <rdma/uverbs_ioctl.h>

#include "ib.h"

static struct vib_cq *hw_to_vib_cq(struct verna_core_cq *hw)
{
	return container_of(hw, struct vib_cq, hw);
}

/* The CQ was armed and has entries. Hard interrupt context. */
static void vib_cq_comp(struct verna_core_cq *hw)
{
	struct vib_cq *cq = hw_to_vib_cq(hw);
	unsigned long flags;

	spin_lock_irqsave(&cq->lock, flags);
	cq->armed = VERNA_ARM_NONE;
	spin_unlock_irqrestore(&cq->lock, flags);

	if (cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

/* The CQ overran, or its memory is gone. Hard interrupt context. */
static void vib_cq_event(struct verna_core_cq *hw, enum verna_event_type type)
{
	struct ib_cq *ibcq = &hw_to_vib_cq(hw)->ibcq;
	struct ib_event event = {
		.device = ibcq->device,
		.element.cq = ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (ibcq->event_handler)
		ibcq->event_handler(&event, ibcq->cq_context);
}

/**
 * vib_cq_fire() - deliver the completion event that the card cannot deliver
 * @cq: CQ
 *
 * Any context. For the kernel it does nothing unless the CQ is armed and
 * requests are left to be flushed: a CQ that is about to be freed has neither
 * QPs nor requests. Of a CQ of user space neither is known; an event too many
 * does no harm there.
 */
void vib_cq_fire(struct vib_cq *cq)
{
	unsigned long flags;
	bool fire;

	spin_lock_irqsave(&cq->lock, flags);
	fire = cq->umem ||
	       (cq->armed != VERNA_ARM_NONE && vib_flush_pending(cq));
	if (fire)
		cq->armed = VERNA_ARM_NONE;
	spin_unlock_irqrestore(&cq->lock, flags);

	if (fire && cq->ibcq.comp_handler)
		cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
}

static int vib_cq_pin_user(struct vib_dev *dev, struct vib_cq *cq, u32 cqe,
			   struct ib_udata *udata, struct verna_cmd_create_cq *cmd,
			   struct vib_pbl *pbl)
{
	struct verna_ib_create_cq req;
	int err;

	err = vib_udata_in(udata, &req, sizeof(req));
	if (err)
		return err;
	if (req.reserved || req.log_size > dev->caps->dev.log_max_cq_entries ||
	    cqe > 1u << req.log_size)
		return -EINVAL;
	if (!vib_fits(req.buf_len, req.rec_offset, sizeof(struct verna_cq_rec),
		      sizeof(struct verna_cq_rec)) ||
	    !vib_fits(req.buf_len, req.ring_offset,
		      (u64)VERNA_CQE_SIZE << req.log_size, VERNA_CQE_SIZE))
		return -EINVAL;

	cq->umem = vib_pin_queue(dev, req.buf_va, req.buf_len, pbl);
	if (IS_ERR(cq->umem))
		return PTR_ERR(cq->umem);

	cq->log_size = req.log_size;
	cmd->mem = pbl->hw;
	cmd->rec_offset = cpu_to_le32(req.rec_offset);
	cmd->ring_offset = cpu_to_le32(req.ring_offset);
	return 0;
}

static int vib_cq_alloc_kernel(struct vib_dev *dev, struct vib_cq *cq, u32 cqe,
			       struct verna_cmd_create_cq *cmd)
{
	size_t ring_len;
	int err;

	/* At least two: the card's smallest ring is not ours to explore. */
	cq->log_size = max(order_base_2(cqe), 1);
	ring_len = (size_t)VERNA_CQE_SIZE << cq->log_size;
	cq->ring = sizeof(struct verna_cq_rec);

	err = verna_mem_alloc(dev->core, &cq->mem, cq->ring + ring_len);
	if (err)
		return err;

	cq->rec = verna_mem_at(&cq->mem, 0);
	cmd->mem = cq->mem.pbl;
	cmd->rec_offset = cpu_to_le32(0);
	cmd->ring_offset = cpu_to_le32(cq->ring);
	return 0;
}

static void vib_cq_free_memory(struct vib_dev *dev, struct vib_cq *cq)
{
	ib_umem_release(cq->umem);
	verna_mem_free(dev->core, &cq->mem);
}

static int vib_cq_create_hw(struct vib_dev *dev, struct vib_cq *cq, u32 vector,
			    struct verna_cmd_create_cq *cmd)
{
	u64 cqn;
	int err;

	cmd->hdr.opcode = cpu_to_le16(VERNA_CMD_CREATE_CQ);
	cmd->eqn = cpu_to_le32(verna_comp_eqn(dev->core, vector));
	cmd->log_size = cq->log_size;
	err = verna_cmd_exec(dev->core, cmd, sizeof(*cmd), &cqn);
	if (err)
		return err;

	cq->hw.cqn = cqn;
	cq->hw.vector = vector;
	cq->hw.comp = vib_cq_comp;
	cq->hw.event = vib_cq_event;
	err = verna_cq_add(dev->core, &cq->hw);
	if (err)
		verna_cmd_destroy(dev->core, VERNA_CMD_DESTROY_CQ, cq->hw.cqn);
	return err;
}

static int vib_cq_destroy_hw(struct vib_dev *dev, struct vib_cq *cq)
{
	int err;

	err = verna_cmd_destroy(dev->core, VERNA_CMD_DESTROY_CQ, cq->hw.cqn);
	if (!err)
		verna_cq_del(dev->core, &cq->hw);
	return err;
}

static void vib_cq_init(struct vib_cq *cq)
{
	spin_lock_init(&cq->lock);
	INIT_LIST_HEAD(&cq->sqs);
	INIT_LIST_HEAD(&cq->rqs);
	INIT_LIST_HEAD(&cq->node);
}

/**
 * vib_create_cq() - ib_device_ops.create_cq
 * @ibcq: to be filled
 * @attr: entries and completion vector
 * @attrs: NULL for the kernel, else with struct verna_ib_create_cq
 *
 * Return: 0, -EINVAL (size or layout), -EOPNOTSUPP (flags), -ENOMEM, or another
 * error.
 */
int vib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs)
{
	struct ib_udata *udata = attrs ? &attrs->driver_udata : NULL;
	struct vib_dev *dev = to_vib_dev(ibcq->device);
	struct verna_cmd_create_cq cmd = {};
	struct verna_ib_create_cq_resp resp = {};
	struct vib_cq *cq = to_vib_cq(ibcq);
	struct vib_pbl pbl = {};
	int err;

	/* Every entry has a time stamp; overruns are always an error. */
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return -EOPNOTSUPP;
	if (!attr->cqe || attr->cqe > 1u << dev->caps->dev.log_max_cq_entries ||
	    attr->comp_vector >= ibcq->device->num_comp_vectors)
		return -EINVAL;

	vib_cq_init(cq);
	if (udata)
		err = vib_cq_pin_user(dev, cq, attr->cqe, udata, &cmd, &pbl);
	else
		err = vib_cq_alloc_kernel(dev, cq, attr->cqe, &cmd);
	if (err)
		return err;

	err = vib_cq_create_hw(dev, cq, attr->comp_vector, &cmd);
	vib_pbl_free(&pbl);
	if (err)
		goto err_memory;
	ibcq->cqe = 1 << cq->log_size;

	if (udata) {
		resp.cqn = cq->hw.cqn;
		err = vib_udata_out(udata, &resp, sizeof(resp));
		if (err)
			goto err_hw;
	}

	spin_lock_irq(&dev->cq_lock);
	list_add_tail(&cq->node, &dev->cqs);
	spin_unlock_irq(&dev->cq_lock);
	return 0;

err_hw:
	vib_cq_destroy_hw(dev, cq);
err_memory:
	vib_cq_free_memory(dev, cq);
	return err;
}

/**
 * vib_destroy_cq() - ib_device_ops.destroy_cq
 * @ibcq: CQ that no QP uses
 * @udata: not used
 *
 * Return: 0, also if the card is gone, or an error of the command, when the CQ
 * still exists.
 */
int vib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibcq->device);
	struct vib_cq *cq = to_vib_cq(ibcq);
	int err;

	err = vib_cq_destroy_hw(dev, cq);
	if (err)
		return err;

	spin_lock_irq(&dev->cq_lock);
	list_del_init(&cq->node);
	spin_unlock_irq(&dev->cq_lock);
	vib_cq_free_memory(dev, cq);
	return 0;
}

/**
 * vib_modify_cq() - ib_device_ops.modify_cq: moderates completion events
 * @ibcq: CQ
 * @cq_count: an event waits for so many completions; 0: for any number
 * @cq_period: ... or for so many microseconds; 0: not at all
 *
 * Return: 0 or an error of the command.
 */
int vib_modify_cq(struct ib_cq *ibcq, u16 cq_count, u16 cq_period)
{
	struct verna_cmd_modify_cq cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_MODIFY_CQ),
		.cqn = cpu_to_le32(to_vib_cq(ibcq)->hw.cqn),
		.delay_ns = cpu_to_le32(cq_period * NSEC_PER_USEC),
		.entries = cpu_to_le16(cq_count),
	};

	return verna_cmd_exec(to_vib_dev(ibcq->device)->core, &cmd, sizeof(cmd), NULL);
}
