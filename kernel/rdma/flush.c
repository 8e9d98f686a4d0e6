// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: what becomes of outstanding work when the card is dead.
 *
 * A card that failed, was reset or was pulled out answers nothing. Users of the
 * kernel's verbs must still get a completion for every request they posted, or
 * they would wait for ever on their way out. So from then on polling a CQ, after
 * the last entry of the card, flushes the requests of its QPs in software, and
 * events that the card owes are delivered by us. Processes do the same for their
 * queues, which only they know, when the status page says so.
 */
#include <rdma/ib_verbs.h>

#include "ib.h"

/**
 * vib_is_dead() - does the card execute nothing any more
 * @dev: device
 */
bool vib_is_dead(struct vib_dev *dev)
{
	return READ_ONCE(dev->dead);
}

/**
 * vib_mark_dead() - the card is found dead: tell everyone
 * @dev: device
 *
 * Any context; only the first call has an effect.
 */
void vib_mark_dead(struct vib_dev *dev)
{
	struct ib_event event = {
		.device = &dev->ibdev,
		.element.port_num = VIB_PORT,
		.event = IB_EVENT_DEVICE_FATAL,
	};
	unsigned long flags;
	struct vib_cq *cq;

	if (xchg(&dev->dead, true))
		return;

	/* Before the events: whoever is woken by one has to see it. */
	WRITE_ONCE(dev->status->alive, 0);
	ibdev_info(&dev->ibdev, "the card is down, outstanding requests are flushed\n");
	spin_lock_irqsave(&dev->cq_lock, flags);
	list_for_each_entry(cq, &dev->cqs, node)
		vib_cq_fire(cq);
	spin_unlock_irqrestore(&dev->cq_lock, flags);

	/* Not before the device is registered, not once it is being removed. */
	if (ib_device_try_get(&dev->ibdev)) {
		ib_dispatch_event(&event);
		ib_device_put(&dev->ibdev);
	}
}

/* How far requests are posted; the cookies of all of them are in place. */
static u32 vib_wq_head(const struct vib_wq *wq)
{
	/* Pairs with the release in post.c. */
	return smp_load_acquire(&wq->head);
}

static int vib_flush_wq(struct vib_qp *qp, struct vib_wq *wq, int num,
			struct ib_wc *wc)
{
	u32 head = vib_wq_head(wq);
	u32 tail = wq->tail;
	int n = 0;

	while (n < num && tail != head) {
		wc[n++] = (struct ib_wc){
			.wr_id = wq->wr_ids[tail & ((1u << wq->log_size) - 1)],
			.qp = &qp->ibqp,
			.status = IB_WC_WR_FLUSH_ERR,
			.port_num = VIB_PORT,
		};
		tail++;
	}
	/* Only now may the poster reuse the slots. */
	smp_store_release(&wq->tail, tail);
	return n;
}

/**
 * vib_flush_cq() - complete in software what the card left
 * @cq: CQ of the kernel, locked; the card's entries are consumed
 * @num: room in @wc
 * @wc: completions
 *
 * Return: completions stored.
 */
int vib_flush_cq(struct vib_cq *cq, int num, struct ib_wc *wc)
{
	struct vib_qp *qp;
	int n = 0;

	list_for_each_entry(qp, &cq->sqs, sq_node)
		n += vib_flush_wq(qp, &qp->sq, num - n, wc + n);
	list_for_each_entry(qp, &cq->rqs, rq_node)
		n += vib_flush_wq(qp, &qp->rq, num - n, wc + n);
	return n;
}

/**
 * vib_flush_pending() - would vib_flush_cq() have something to do
 * @cq: CQ of the kernel, locked
 */
bool vib_flush_pending(struct vib_cq *cq)
{
	struct vib_qp *qp;

	list_for_each_entry(qp, &cq->sqs, sq_node)
		if (vib_wq_head(&qp->sq) != qp->sq.tail)
			return true;
	list_for_each_entry(qp, &cq->rqs, rq_node)
		if (vib_wq_head(&qp->rq) != qp->rq.tail)
			return true;
	return false;
}
