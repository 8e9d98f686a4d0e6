// SPDX-License-Identifier: GPL-2.0
/*
 * verna: XDP on transmission. Frames share the TX queues of the stack, under its
 * lock: a channel's own queue for what its programs send back, the queue of the CPU
 * for what others redirect. So there are as many XDP queues as channels, whatever
 * their number, and nobody waits behind an idle queue. BQL does not count XDP frames.
 */
#include <linux/bpf.h>
#include <net/netdev_queues.h>
#include <net/xdp.h>

#include "eth.h"

/**
 * struct verna_xdp_map - how a part of a frame becomes a bus address
 * @dev: the card
 * @pool: it is of a pool of ours, which has mapped it
 */
struct verna_xdp_map {
	struct device *dev;
	bool pool;
};

static int verna_xdp_map(const struct verna_xdp_map *map, void *data, u32 len,
			 dma_addr_t *dma)
{
	struct page *page = virt_to_head_page(data);

	if (!map->pool) {
		*dma = dma_map_single(map->dev, data, len, DMA_TO_DEVICE);
		return dma_mapping_error(map->dev, *dma) ? -ENOMEM : 0;
	}
	*dma = page_pool_get_dma_addr(page) + (data - page_address(page));
	dma_sync_single_for_device(map->dev, *dma, len, DMA_BIDIRECTIONAL);
	return 0;
}

static void verna_xdp_unmap(struct verna_txq *txq, u32 end)
{
	u32 i;

	for (i = txq->prod; i != end; i++)
		verna_tx_unmap(txq, &txq->bufs[i & txq->mask]);
}

/* Writes the descriptors of a frame. The caller has the queue's lock. */
static int verna_xdp_put(struct verna_txq *txq, struct xdp_frame *frame, bool pool)
{
	struct verna_xdp_map map = { verna_device(txq->chan->eth->vdev), pool };
	struct skb_shared_info *sinfo = xdp_get_shared_info_from_frame(frame);
	u32 nr_frags = xdp_frame_has_frags(frame) ? sinfo->nr_frags : 0;
	u32 index = txq->prod, len = frame->len, i;
	struct verna_tx_buf *last;
	void *data = frame->data;
	dma_addr_t dma;

	if (unlikely(frame->len < ETH_HLEN || nr_frags >= txq->max_descs))
		return -EINVAL;
	if (unlikely(verna_txq_room(txq) <= nr_frags))
		return -ENOSPC;
	for (i = 0; i <= nr_frags; i++) {
		if (i) {
			data = skb_frag_address(&sinfo->frags[i - 1]);
			len = skb_frag_size(&sinfo->frags[i - 1]);
		}
		if (unlikely(verna_xdp_map(&map, data, len, &dma))) {
			verna_xdp_unmap(txq, index);
			return -ENOMEM;
		}
		verna_tx_put(txq, index, dma, len, false);
		txq->bufs[index++ & txq->mask].pool = pool;
	}
	verna_tx_desc(txq, index - 1)->flags = cpu_to_le16(VERNA_TX_F_EOP);
	last = &txq->bufs[(index - 1) & txq->mask];
	last->frame = frame;
	last->packets = 1;
	last->bytes = xdp_get_frame_len(frame);
	WRITE_ONCE(txq->xdp_used, true);
	txq->prod = index;
	return 0;
}

/* After frames were put: the stack must not find less room than it was promised. */
static void verna_xdp_sent(struct verna_txq *txq)
{
	txq_trans_cond_update(txq->nq);
	if (!netif_txq_maybe_stop(txq->nq, verna_txq_room(txq), txq->max_descs,
				  verna_txq_wake_room(txq)))
		verna_stat_inc(&txq->stats->xmit_sync, &txq->stats->xmit.stops);
}

/**
 * verna_xdp_tx - send a received packet back
 * @rxq: queue that received it
 * @xdp: the packet; given up if it is sent
 *
 * Return: false if it could not be sent.
 */
bool verna_xdp_tx(struct verna_rxq *rxq, struct xdp_buff *xdp)
{
	struct verna_txq *txq = &rxq->chan->tx;
	struct xdp_frame *frame;
	int err = -ENETDOWN;

	frame = xdp_convert_buff_to_frame(xdp);
	if (unlikely(!frame))
		return false;
	__netif_tx_lock(txq->nq, smp_processor_id());
	/* Pairs with verna_channels_start(). */
	if (likely(smp_load_acquire(&txq->chan->eth->tx_open)))
		err = verna_xdp_put(txq, frame, true);
	if (likely(!err)) {
		verna_xdp_sent(txq);
		txq->xdp_flush = true;
	}
	__netif_tx_unlock(txq->nq);
	return !err;
}

/** verna_xdp_tx_flush - tell the card of frames that were put @txq: queue */
void verna_xdp_tx_flush(struct verna_txq *txq)
{
	__netif_tx_lock(txq->nq, smp_processor_id());
	txq->xdp_flush = false;
	/* Pairs with verna_channels_start(). */
	if (smp_load_acquire(&txq->chan->eth->tx_open))
		verna_tx_flush(txq);
	__netif_tx_unlock(txq->nq);
}

/* A queue whose stack lock is held, or NULL while it is not there. */
static struct verna_txq *verna_xdp_queue(struct verna_eth *eth, u32 index)
{
	/* Pairs with verna_channels_start(); a stop takes the lock after clearing it. */
	if (smp_load_acquire(&eth->tx_open) && index < eth->chans->num)
		return &eth->chans->chan[index]->tx;
	return NULL;
}

static int verna_xdp_send(struct verna_txq *txq, int num, struct xdp_frame **frames,
			  u32 flags)
{
	int sent = 0;

	while (sent < num && !verna_xdp_put(txq, frames[sent], false))
		sent++;
	if (sent)
		verna_xdp_sent(txq);
	if (sent < num)
		verna_stat_inc(&txq->stats->xmit_sync, &txq->stats->xmit.xdp_full);
	if (flags & XDP_XMIT_FLUSH)
		verna_tx_flush(txq);
	return sent;
}

/**
 * verna_xdp_xmit - ndo_xdp_xmit
 * @netdev: interface
 * @num: frames
 * @frames: the frames; those that are sent are given up
 * @flags: XDP_XMIT_FLUSH
 *
 * Return: frames sent, or an error.
 */
int verna_xdp_xmit(struct net_device *netdev, int num, struct xdp_frame **frames, u32 flags)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 index = smp_processor_id() % READ_ONCE(eth->params.num);
	struct netdev_queue *nq = netdev_get_tx_queue(netdev, index);
	struct verna_txq *txq;
	int sent = -ENETDOWN;

	if (unlikely(flags & ~XDP_XMIT_FLAGS_MASK))
		return -EINVAL;
	__netif_tx_lock(nq, smp_processor_id());
	txq = verna_xdp_queue(eth, index);
	if (likely(txq))
		sent = verna_xdp_send(txq, num, frames, flags);
	__netif_tx_unlock(nq);
	return sent;
}
