// SPDX-License-Identifier: GPL-2.0
/*
 * verna: who hears of what the card reports. Completions and errors of a CQ go to
 * its owner by number; everything else goes to all subscribers.
 *
 * Both tables are read in hard interrupt context under RCU. A CQ callback runs
 * only in the handlers of event queues, so waiting for these is enough to know
 * that it ended; this is much cheaper than a grace period.
 */
#include <linux/rculist.h>

#include "core.h"
#include "trace.h"

static void verna_cq_event(struct verna_dev *vdev, u16 type, u32 cqn)
{
	struct verna_core_cq *cq;

	rcu_read_lock();
	cq = xa_load(&vdev->cqs, cqn);
	/* A CQ that is on its way out may still have an event in the queue. */
	if (!cq)
		goto unlock;
	if (type == VERNA_EVENT_COMPLETION)
		cq->comp(cq);
	else if (cq->event)
		cq->event(cq, type);
unlock:
	rcu_read_unlock();
}

/**
 * verna_event_dispatch - tell all subscribers
 * @vdev: the card
 * @event: what happened
 *
 * Context: any.
 */
void verna_event_dispatch(struct verna_dev *vdev, const struct verna_event *event)
{
	struct verna_event_handler *handler;

	rcu_read_lock();
	list_for_each_entry_rcu(handler, &vdev->handlers, node)
		handler->handle(handler, event);
	rcu_read_unlock();
}

/**
 * verna_eqe_handle - handle one event queue entry
 * @vdev: the card
 * @eqe: copy of the entry
 *
 * Context: interrupts off.
 */
void verna_eqe_handle(struct verna_dev *vdev, const struct verna_eqe *eqe)
{
	struct verna_event event = {
		.type = le16_to_cpu(eqe->type),
		.id = le32_to_cpu(eqe->id),
		.data = le64_to_cpu(eqe->data),
	};

	trace_verna_event(verna_device(vdev), event.type, event.id, event.data);
	switch (event.type) {
	case VERNA_EVENT_COMPLETION:
	case VERNA_EVENT_CQ_ERROR:
		verna_cq_event(vdev, event.type, event.id);
		return;
	case VERNA_EVENT_COMMAND:
		verna_cmdq_poll(vdev);
		return;
	case VERNA_EVENT_FATAL:
		/* Subscribers hear of it from there. */
		verna_dev_fail(vdev, "fatal event");
		return;
	default:
		verna_event_dispatch(vdev, &event);
	}
}

void verna_event_register(struct verna_dev *vdev,
			  struct verna_event_handler *handler)
{
	mutex_lock(&vdev->handlers_lock);
	list_add_tail_rcu(&handler->node, &vdev->handlers);
	mutex_unlock(&vdev->handlers_lock);
}
EXPORT_SYMBOL_GPL(verna_event_register);

void verna_event_unregister(struct verna_dev *vdev,
			    struct verna_event_handler *handler)
{
	mutex_lock(&vdev->handlers_lock);
	list_del_rcu(&handler->node);
	mutex_unlock(&vdev->handlers_lock);
	synchronize_rcu();
}
EXPORT_SYMBOL_GPL(verna_event_unregister);

/*
 * The card may give a number to a new CQ as soon as the old one is destroyed, so
 * the new owner may be here before the old one has left.
 */
int verna_cq_add(struct verna_dev *vdev, struct verna_core_cq *cq)
{
	return xa_err(xa_store(&vdev->cqs, cq->cqn, cq, GFP_KERNEL));
}
EXPORT_SYMBOL_GPL(verna_cq_add);

void verna_cq_del(struct verna_dev *vdev, struct verna_core_cq *cq)
{
	xa_cmpxchg(&vdev->cqs, cq->cqn, cq, NULL, GFP_KERNEL);
	/* While there are no vectors no handler runs. */
	if (vdev->num_irqs)
		synchronize_irq(verna_comp_irq(vdev, cq->vector));
}
EXPORT_SYMBOL_GPL(verna_cq_del);
