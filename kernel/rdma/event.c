// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: asynchronous events of the card. Changes of the link come by way of
 * the netdev (port.c), errors of CQs to the CQ itself (cq.c).
 */
#include <rdma/ib_verbs.h>

#include "ib.h"

static struct vib_qp *vib_qp_get(struct vib_dev *dev, u32 qpn)
{
	unsigned long flags;
	struct vib_qp *qp;

	xa_lock_irqsave(&dev->qps, flags);
	qp = xa_load(&dev->qps, qpn);
	if (qp)
		refcount_inc(&qp->refs);
	xa_unlock_irqrestore(&dev->qps, flags);
	return qp;
}

static void vib_qp_put(struct vib_qp *qp)
{
	if (refcount_dec_and_test(&qp->refs))
		complete(&qp->unused);
}

static void vib_qp_event(struct vib_dev *dev, u32 qpn, enum ib_event_type type)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.event = type,
	};
	struct vib_qp *qp;

	/* A QP that is just being destroyed needs no event any more. */
	qp = vib_qp_get(dev, qpn);
	if (!qp)
		return;
	event.element.qp = &qp->ibqp;
	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&event, qp->ibqp.qp_context);
	vib_qp_put(qp);
}

/**
 * vib_handle_event() - verna_event_handler.handle
 * @handler: ours
 * @event: what happened
 *
 * Hard interrupt context.
 */
void vib_handle_event(struct verna_event_handler *handler,
		      const struct verna_event *event)
{
	struct vib_dev *dev = container_of(handler, struct vib_dev, events);

	switch (event->type) {
	case VERNA_EVENT_QP_FATAL:
		vib_qp_event(dev, event->id, IB_EVENT_QP_FATAL);
		break;
	case VERNA_EVENT_QP_REQ_ERR:
		vib_qp_event(dev, event->id, IB_EVENT_QP_REQ_ERR);
		break;
	case VERNA_EVENT_QP_ACCESS_ERR:
		vib_qp_event(dev, event->id, IB_EVENT_QP_ACCESS_ERR);
		break;
	case VERNA_EVENT_QP_COMM_EST:
		vib_qp_event(dev, event->id, IB_EVENT_COMM_EST);
		break;
	case VERNA_EVENT_QP_SQ_DRAINED:
		vib_qp_event(dev, event->id, IB_EVENT_SQ_DRAINED);
		break;
	case VERNA_EVENT_QP_LAST_WQE:
		vib_qp_event(dev, event->id, IB_EVENT_QP_LAST_WQE_REACHED);
		break;
	case VERNA_EVENT_FATAL:
		vib_mark_dead(dev);
		break;
	default:
		break;
	}
}
