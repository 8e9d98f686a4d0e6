// SPDX-License-Identifier: GPL-2.0
/* verna: TX completions, and what is left when a queue stops. */
#include <net/netdev_queues.h>

#include "eth.h"

/** verna_tx_unmap - undo the mapping of one descriptor @txq: queue @buf: its buffer */
void verna_tx_unmap(struct verna_txq *txq, struct verna_tx_buf *buf)
{
	struct device *dev = verna_device(txq->chan->eth->vdev);

	if (buf->page)
		dma_unmap_page(dev, buf->dma, buf->len, DMA_TO_DEVICE);
	else
		dma_unmap_single(dev, buf->dma, buf->len, DMA_TO_DEVICE);
}

/**
 * struct verna_tx_done - what one poll has completed
 * @end: index after the last descriptor that is done
 * @packets: packets
 * @bytes: their bytes, as accounted when they were sent
 * @errors: of the packets: refused by the card
 */
struct verna_tx_done {
	u32 end;
	u32 packets;
	u32 bytes;
	u32 errors;
};

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
		done->errors += cqe->status != VERNA_CQE_OK;
		cq->cons++;
	}
	verna_cq_set_cons(cq->rec, cq->cons);
	return true;
}

static void verna_tx_reclaim(struct verna_txq *txq, struct verna_tx_done *done, int budget)
{
	struct verna_tx_buf *buf;
	u32 i;

	for (i = txq->cons; i != done->end; i++) {
		buf = &txq->bufs[i & txq->mask];
		verna_tx_unmap(txq, buf);
		if (!buf->skb)
			continue;
		done->packets++;
		done->bytes += buf->skb->len;
		napi_consume_skb(buf->skb, budget);
		buf->skb = NULL;
	}
}

static void verna_tx_account(struct verna_txq *txq, const struct verna_tx_done *done,
			     bool woken)
{
	struct verna_queue_stats *stats = txq->stats;

	u64_stats_update_begin(&stats->done_sync);
	stats->done.packets += done->packets - min(done->errors, done->packets);
	stats->done.bytes += done->bytes;
	stats->done.errors += done->errors;
	stats->done.wakes += woken;
	u64_stats_update_end(&stats->done_sync);
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
		verna_channel_broken(txq->chan, "TX completion");
		return;
	}
	if (done.end == txq->cons)
		return;
	verna_tx_reclaim(txq, &done, budget);
	/* The buffers are free before the room is seen. */
	smp_store_release(&txq->cons, done.end);
	woken = __netif_txq_completed_wake(txq->nq, done.packets, done.bytes,
					   size - (READ_ONCE(txq->prod) - done.end),
					   min(txq->max_descs * 2, size),
					   READ_ONCE(txq->chan->eth->restarting));
	verna_tx_account(txq, &done, !woken);
}

/** verna_txq_drain - free what a stopped queue still holds @txq: queue */
void verna_txq_drain(struct verna_txq *txq)
{
	struct verna_tx_buf *buf;

	for (; txq->cons != txq->prod; txq->cons++) {
		buf = &txq->bufs[txq->cons & txq->mask];
		verna_tx_unmap(txq, buf);
		dev_kfree_skb_any(buf->skb);
		buf->skb = NULL;
	}
}
