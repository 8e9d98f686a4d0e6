// SPDX-License-Identifier: GPL-2.0
/*
 * verna: event queues.
 *
 * Consume entries by phase, write cons_index, arm, and look once more, as
 * hw/verna_queue.h says: an entry that the card wrote before it could see the arm
 * word raises no interrupt, but is found by the second look.
 *
 * An EQ that overflows is fatal for the card, so cons_index is also written in
 * between while many entries are consumed.
 */
#include <linux/log2.h>

#include "core.h"

#define VERNA_EQ_BUDGET		512	/* entries per call of the handler */
#define VERNA_EQ_CONS_BATCH	64

static u32 verna_eq_ring_offset(void)
{
	return sizeof(struct verna_cq_rec);
}

/** verna_eq_entry - the slot of an entry @eq: queue @index: free-running index */
struct verna_eqe *verna_eq_entry(struct verna_eq *eq, u32 index)
{
	u32 slot = index & (BIT(eq->log_size) - 1);

	return verna_mem_at(&eq->mem, verna_eq_ring_offset() + slot * VERNA_EQE_SIZE);
}

static bool verna_eq_pending(struct verna_eq *eq)
{
	struct verna_eqe *eqe = verna_eq_entry(eq, eq->cons);

	return (READ_ONCE(eqe->phase) & VERNA_PHASE) ==
	       verna_phase(eq->cons, eq->log_size);
}

/* Consumes up to @budget entries; returns how many. */
static u32 verna_eq_drain(struct verna_eq *eq, u32 budget)
{
	struct verna_eqe eqe;
	u32 done = 0;

	while (done < budget && verna_eq_pending(eq)) {
		/* The phase before the rest of the entry. */
		dma_rmb();
		eqe = *verna_eq_entry(eq, eq->cons);
		eq->cons++;
		if (!(++done % VERNA_EQ_CONS_BATCH))
			verna_cq_set_cons(eq->rec, eq->cons);
		verna_eqe_handle(eq->vdev, &eqe);
	}
	verna_cq_set_cons(eq->rec, eq->cons);
	eq->events += done;
	return done;
}

/**
 * verna_eq_process - handle what the card has reported, and arm
 * @eq: event queue
 *
 * Context: any. Callbacks run with interrupts off.
 * Return: true if the queue is empty and armed, false if the caller must call
 * again.
 */
bool verna_eq_process(struct verna_eq *eq)
{
	u32 budget = VERNA_EQ_BUDGET;
	unsigned long flags;
	bool idle = false;

	spin_lock_irqsave(&eq->lock, flags);
	while (budget && !idle) {
		budget -= verna_eq_drain(eq, budget);
		if (!budget)
			break;
		verna_cq_arm(eq->rec, &eq->sn, VERNA_ARM_NEXT);
		idle = !verna_eq_pending(eq);
	}
	spin_unlock_irqrestore(&eq->lock, flags);
	return idle;
}

static int verna_eq_create(struct verna_dev *vdev, u32 id)
{
	struct verna_cmd_create_eq cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_CREATE_EQ),
	};
	struct verna_eq *eq = &vdev->eqs[id];
	int err;

	eq->vdev = vdev;
	eq->id = id;
	eq->log_size = min_t(u16, VERNA_EQ_LOG_SIZE, vdev->caps.dev.log_max_eq_entries);
	spin_lock_init(&eq->lock);
	err = verna_mem_alloc(vdev, &eq->mem, verna_eq_ring_offset() +
			      ((size_t)VERNA_EQE_SIZE << eq->log_size));
	if (err)
		return err;
	eq->rec = verna_mem_at(&eq->mem, 0);

	cmd.id = cpu_to_le32(id);
	cmd.mem = eq->mem.pbl;
	cmd.ring_offset = cpu_to_le32(verna_eq_ring_offset());
	cmd.log_size = eq->log_size;
	cmd.vector = cpu_to_le16(id);
	err = verna_cmd_exec(vdev, &cmd, sizeof(cmd), NULL);
	if (err)
		goto free_mem;

	/* The handler sees a complete EQ. */
	smp_store_release(&vdev->irqs[id].eq, eq);
	/* Arms it for the first time; an interrupt may be faster. */
	if (!verna_eq_process(eq))
		irq_wake_thread(vdev->irqs[id].irq, &vdev->irqs[id]);
	return 0;

free_mem:
	verna_mem_free(vdev, &eq->mem);
	return err;
}

static void verna_eq_destroy(struct verna_dev *vdev, u32 id)
{
	struct verna_eq *eq = &vdev->eqs[id];

	if (verna_cmd_destroy(vdev, VERNA_CMD_DESTROY_EQ, id))
		verna_dev_fail(vdev, "event queue cannot be destroyed");
	WRITE_ONCE(vdev->irqs[id].eq, NULL);
	synchronize_irq(vdev->irqs[id].irq);
	verna_mem_free(vdev, &eq->mem);
}

/**
 * verna_eqs_create - create an event queue for every vector and arm it
 * @vdev: the card, with vectors
 *
 * Return: 0, -ENOMEM or an error of the command.
 */
int verna_eqs_create(struct verna_dev *vdev)
{
	u32 i;
	int err;

	vdev->eqs = kcalloc(vdev->num_irqs, sizeof(*vdev->eqs), GFP_KERNEL);
	if (!vdev->eqs)
		return -ENOMEM;
	for (i = 0; i < vdev->num_irqs; i++) {
		err = verna_eq_create(vdev, i);
		if (err)
			goto destroy;
	}
	return 0;

destroy:
	while (i--)
		verna_eq_destroy(vdev, i);
	kfree(vdev->eqs);
	vdev->eqs = NULL;
	return err;
}

/** verna_eqs_destroy - undoes verna_eqs_create(), if it was done @vdev: the card */
void verna_eqs_destroy(struct verna_dev *vdev)
{
	u32 i = vdev->num_irqs;

	if (!vdev->eqs)
		return;
	while (i--)
		verna_eq_destroy(vdev, i);
	kfree(vdev->eqs);
	vdev->eqs = NULL;
}
