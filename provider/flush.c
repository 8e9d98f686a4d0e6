// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: what becomes of outstanding work when the card is dead.
 *
 * A card that failed, was reset or was pulled out completes nothing more, and
 * who waits for its completions would wait for ever. The driver says so in the
 * status page; from then on polling, after the last entry of the card, makes the
 * entries that the card owes: every request that is outstanding, or that is
 * posted later, is flushed. Some may have been executed: nobody knows any more.
 */
#include "cqe.h"
#include "verna.h"

/* A request of this queue that was posted and is not known to be complete? */
static bool verna_wq_outstanding(const struct verna_wq *wq)
{
	/* The poster's head is its own; this is what it published. */
	return verna_rec_load(&wq->rec->prod_index) !=
	       atomic_load_explicit(&wq->tail, memory_order_relaxed);
}

/* One of the queues of @qp that complete into @cq, or NULL. */
static struct verna_wq *verna_qp_outstanding(const struct verna_cq *cq,
					     struct verna_qp *qp)
{
	if (qp->vqp.qp.send_cq == &cq->vcq.cq && verna_wq_outstanding(&qp->sq))
		return &qp->sq;
	if (qp->vqp.qp.recv_cq == &cq->vcq.cq && verna_wq_outstanding(&qp->rq))
		return &qp->rq;
	return NULL;
}

/* Looks at the queue pair of the last entry first, so that a queue is one walk. */
static struct verna_wq *verna_cq_outstanding(struct verna_cq *cq)
{
	const struct verna_qp_map *map = &cq->map;
	struct verna_qp_link *link;
	struct verna_wq *wq;
	uint32_t i;

	wq = cq->last ? verna_qp_outstanding(cq, cq->last) : NULL;
	for (i = 0; !wq && map->bucket && i <= map->mask; i++) {
		for (link = map->bucket[i]; link && !wq; link = link->next) {
			wq = verna_qp_outstanding(cq, link->qp);
			cq->last = link->qp;
		}
	}
	return wq;
}

/**
 * verna_cq_flush - the next completion of a CQ to which the card writes no more
 * @cq: locked; the device is dead, and the card's entries are consumed
 * @wq: result: the work queue whose request is flushed
 *
 * An entry that the card writes late is not looked at: its request may have been
 * flushed by then.
 *
 * Return: an entry, valid until the next call, or NULL if nothing is outstanding.
 */
const struct verna_cqe *verna_cq_flush(struct verna_cq *cq,
				       struct verna_wq **wq)
{
	cq->flushing = true;
	*wq = verna_cq_outstanding(cq);
	if (!*wq)
		return NULL;
	/* Pairs with the poster, who published the request after its wr_id. */
	atomic_thread_fence(memory_order_acquire);
	cq->flushed = (struct verna_cqe) {
		.id = htole32(cq->last->vqp.qp.qp_num),
		.wqe_index = htole32(atomic_load_explicit(
			&(*wq)->tail, memory_order_relaxed)),
		.opcode = *wq == &cq->last->rq ? VERNA_CQE_RECV :
						 VERNA_CQE_SEND,
		.status = VERNA_CQE_WR_FLUSH_ERR,
	};
	return &cq->flushed;
}
