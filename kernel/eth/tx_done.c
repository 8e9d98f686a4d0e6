// SPDX-License-Identifier: GPL-2.0
/* verna: TX completions, and what is left when a queue stops. */
#include <net/netdev_queues.h>

#include "eth.h"

/** verna_tx_unmap - undo the mapping of one descriptor @txq: queue @buf: its buffer */
void verna_tx_unmap(struct verna_txq *txq, struct verna_tx_buf *buf)
{
	struct device *dev = verna_device(txq->chan->eth->vdev);

	if (buf->pool)
		return;
	if (buf->page)
		dma_unmap_page(dev, buf->dma, buf->len, DMA_TO_DEVICE);
	else
		dma_unmap_single(dev, buf->dma, buf->len, DMA_TO_DEVICE);
}

/**
 * struct verna_tx_done - what one poll has completed
 * @end: index after the last descriptor that is done
 * @skbs: packets of the stack
 * @skb_bytes: their bytes, as accounted when they were sent
 * @frames: frames of XDP, of which the stack does not know
 * @packets: packets of both that are on the wire
 * @bytes: their bytes
 * @errors: packets of the stack and frames that the card refused
 */
struct verna_tx_done {
	u32 end;
	u32 skbs;
	u32 skb_bytes;
	u32 frames;
	u32 packets;
	u32 bytes;
	u32 errors;
};

/* What the card refused is not on the wire. */
static void verna_tx_refused(struct verna_txq *txq, u32 index, struct verna_tx_done *done)
{
	struct verna_tx_buf *buf = &txq->bufs[index & txq->mask];

	buf->packets = 0;
	buf->bytes = 0;
	done->errors++;
}

/* Consumes all CQEs; false if one makes no sense. */
static bool verna_tx_take_cqes(struct verna_txq *txq, struct verna_tx_done *done)
{
	struct verna_eth_cq *cq = &txq->cq;
	const struct verna_cqe *cqe;
	u32 end;

	while ((cqe = verna_eth_cq_peek(cq))) {
		end = le32_to_cpu(cqe->wqe_index) + 1;
		if (cqe->opcode != VERNA_CQE_ETH_TX ||
		    end - done->end > READ_ONCE(txq->published) - done->end)
			return false;
		done->end = end;
		if (unlikely(cqe->status != VERNA_CQE_OK))
			verna_tx_refused(txq, end - 1, done);
		cq->cons++;
	}
	verna_cq_set_cons(cq->rec, cq->cons);
	return true;
}

static void verna_tx_frame_done(struct verna_tx_buf *buf, struct verna_tx_done *done)
{
	done->frames++;
	xdp_return_frame(buf->frame);
	buf->frame = NULL;
}

static void verna_tx_reclaim(struct verna_txq *txq, struct verna_tx_done *done, int budget)
{
	struct verna_tx_buf *buf;
	u32 i;

	for (i = txq->cons; i != done->end; i++) {
		buf = &txq->bufs[i & txq->mask];
		verna_tx_unmap(txq, buf);
		done->packets += buf->packets;
		done->bytes += buf->bytes;
		if (buf->frame)
			verna_tx_frame_done(buf, done);
		if (!buf->skb)
			continue;
		done->skbs++;
		done->skb_bytes += buf->skb->len;
		napi_consume_skb(buf->skb, budget);
		buf->skb = NULL;
	}
}

static void verna_tx_account(struct verna_txq *txq, const struct verna_tx_done *done,
			     bool woken)
{
	struct verna_queue_stats *stats = txq->stats;

	u64_stats_update_begin(&stats->done_sync);
	stats->done.packets += done->packets;
	stats->done.bytes += done->bytes;
	stats->done.errors += done->errors;
	stats->done.wakes += woken;
	u64_stats_update_end(&stats->done_sync);
}

/* As __netif_txq_completed_wake(), which does nothing without packets. */
static int verna_tx_wake(struct verna_txq *txq)
{
	/* The room before the state of the queue; pairs with netif_txq_maybe_stop(). */
	smp_mb();
	if (likely(!netif_tx_queue_stopped(txq->nq)) ||
	    READ_ONCE(txq->chan->eth->restarting) ||
	    txq->mask + 1 - (READ_ONCE(txq->prod) - txq->cons) < verna_txq_wake_room(txq))
		return 1;
	netif_tx_wake_queue(txq->nq);
	return 0;
}

/**
 * verna_tx_poll - free what the card has sent
 * @txq: queue
 * @budget: NAPI's, 0 from netpoll
 */
void verna_tx_poll(struct verna_txq *txq, int budget)
{
	struct verna_tx_done done = { .end = txq->cons };
	u32 size = txq->mask + 1;
	int woken;

	if (!verna_tx_take_cqes(txq, &done)) {
		verna_channel_broken(txq->chan, VERNA_QUEUE_TX);
		return;
	}
	if (done.end == txq->cons)
		return;
	verna_tx_reclaim(txq, &done, budget);
	/* The buffers are free before the room is seen. */
	smp_store_release(&txq->cons, done.end);
	woken = __netif_txq_completed_wake(txq->nq, done.skbs, done.skb_bytes,
					   size - (READ_ONCE(txq->prod) - done.end),
					   min(txq->max_descs * 2, size),
					   READ_ONCE(txq->chan->eth->restarting));
	/* XDP may have filled a queue in which there was nothing of the stack. */
	if (done.frames && !done.skbs)
		woken = verna_tx_wake(txq);
	verna_tx_account(txq, &done, !woken);
}

/** verna_txq_drain - free what a stopped queue still holds @txq: queue */
void verna_txq_drain(struct verna_txq *txq)
{
	struct verna_tx_buf *buf;

	for (; txq->cons != txq->prod; txq->cons++) {
		buf = &txq->bufs[txq->cons & txq->mask];
		verna_tx_unmap(txq, buf);
		if (buf->frame)
			xdp_return_frame(buf->frame);
		dev_kfree_skb_any(buf->skb);
		buf->frame = NULL;
		buf->skb = NULL;
	}
}
