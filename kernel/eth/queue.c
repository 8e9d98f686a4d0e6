// SPDX-License-Identifier: GPL-2.0
/* verna: CQs of Ethernet queues, and the commands that make queues. */
#include "eth.h"

static size_t verna_eth_cq_ring_offset(void)
{
	return sizeof(struct verna_cq_rec);
}

/** verna_ethq_ring_offset - where the ring of a TX or RX queue starts in its memory */
size_t verna_ethq_ring_offset(void)
{
	return sizeof(struct verna_wq_rec);
}

/**
 * verna_eth_cq_alloc - allocate a CQ's memory
 * @chan: channel
 * @cq: CQ
 * @log_size: log2 of entries
 *
 * Return: 0 or -ENOMEM.
 */
int verna_eth_cq_alloc(struct verna_channel *chan, struct verna_eth_cq *cq, u8 log_size)
{
	size_t ring = (size_t)VERNA_CQE_SIZE << log_size;
	int err;

	cq->chan = chan;
	cq->log_size = log_size;
	err = verna_mem_alloc(chan->eth->vdev, &cq->mem,
			      verna_eth_cq_ring_offset() + ring);
	if (!err)
		cq->rec = verna_mem_at(&cq->mem, 0);
	return err;
}

void verna_eth_cq_free(struct verna_channel *chan, struct verna_eth_cq *cq)
{
	verna_mem_free(chan->eth->vdev, &cq->mem);
}

/** verna_eth_cq_entry - an entry of a CQ @cq: CQ @index: free-running index */
struct verna_cqe *verna_eth_cq_entry(struct verna_eth_cq *cq, u32 index)
{
	u32 slot = index & (BIT(cq->log_size) - 1);

	return verna_mem_at(&cq->mem, verna_eth_cq_ring_offset() + slot * VERNA_CQE_SIZE);
}

/** verna_eth_cq_peek - the next completion, or NULL if there is none @cq: CQ */
const struct verna_cqe *verna_eth_cq_peek(struct verna_eth_cq *cq)
{
	return verna_cqe_peek(verna_eth_cq_entry(cq, cq->cons), cq->cons, cq->log_size);
}

/* The memory may have served before, so the phase bits are cleared. */
static void verna_eth_cq_reset(struct verna_eth_cq *cq)
{
	u32 i;

	for (i = 0; i < BIT(cq->log_size); i++)
		verna_eth_cq_entry(cq, i)->phase = 0;
	memset(cq->rec, 0, sizeof(*cq->rec));
	cq->cons = 0;
	cq->sn = 0;
}

/**
 * verna_eth_cq_create - create the CQ in the card, unarmed
 * @chan: channel
 * @cq: CQ with memory
 *
 * Return: 0 or an error of the command.
 */
int verna_eth_cq_create(struct verna_channel *chan, struct verna_eth_cq *cq)
{
	struct verna_dev *vdev = chan->eth->vdev;
	struct verna_cmd_create_cq cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_CREATE_CQ),
		.eqn = cpu_to_le32(verna_comp_eqn(vdev, chan->index)),
		.mem = cq->mem.pbl,
		.ring_offset = cpu_to_le32(verna_eth_cq_ring_offset()),
		.log_size = cq->log_size,
	};
	u64 cqn;
	int err;

	verna_eth_cq_reset(cq);
	err = verna_cmd_exec(vdev, &cmd, sizeof(cmd), &cqn);
	if (err)
		return err;
	cq->core.cqn = cqn;
	cq->core.vector = chan->index;
	cq->core.comp = verna_eth_cq_comp;
	err = verna_cq_add(vdev, &cq->core);
	if (err) {
		verna_cmd_destroy(vdev, VERNA_CMD_DESTROY_CQ, cqn);
		return err;
	}
	cq->live = true;
	return verna_coalesce_start(cq);
}

/* A queue that the card does not give back may still write to memory. */
static void verna_eth_destroy_object(struct verna_dev *vdev, u16 opcode, u32 id)
{
	if (verna_cmd_destroy(vdev, opcode, id))
		verna_dev_fail(vdev, "a queue cannot be destroyed");
}

/** verna_eth_cq_destroy - undoes verna_eth_cq_create() @chan: channel @cq: CQ */
void verna_eth_cq_destroy(struct verna_channel *chan, struct verna_eth_cq *cq)
{
	struct verna_dev *vdev = chan->eth->vdev;

	if (!cq->live)
		return;
	cq->live = false;
	verna_coalesce_stop(cq);
	verna_eth_destroy_object(vdev, VERNA_CMD_DESTROY_CQ, cq->core.cqn);
	verna_cq_del(vdev, &cq->core);
}

/**
 * verna_ethq_create - create the TX or RX queue of a channel in the card
 * @chan: channel
 * @opcode: VERNA_CMD_CREATE_TXQ or VERNA_CMD_CREATE_RXQ
 * @cqn: its CQ
 * @mem: record and ring
 * @log_size: log2 of descriptors
 *
 * Return: 0 or an error of the command.
 */
int verna_ethq_create(struct verna_channel *chan, u16 opcode, u32 cqn,
		      const struct verna_mem *mem, u8 log_size)
{
	struct verna_dev *vdev = chan->eth->vdev;
	struct verna_cmd_create_ethq cmd = {
		.hdr.opcode = cpu_to_le16(opcode),
		.id = cpu_to_le32(chan->index),
		.cqn = cpu_to_le32(cqn),
		.mem = mem->pbl,
		.ring_offset = cpu_to_le32(verna_ethq_ring_offset()),
		.log_size = log_size,
		.uar = cpu_to_le32(verna_kernel_uar(vdev)->index),
	};

	return verna_cmd_exec(vdev, &cmd, sizeof(cmd), NULL);
}

/** verna_ethq_destroy - destroy a channel's queue @chan: channel @opcode: which */
void verna_ethq_destroy(struct verna_channel *chan, u16 opcode)
{
	verna_eth_destroy_object(chan->eth->vdev, opcode, chan->index);
}
