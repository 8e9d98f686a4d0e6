// SPDX-License-Identifier: GPL-2.0
/*
 * verna: from skb to descriptors. Reads from top to bottom: make it fit, map,
 * describe, account, and tell the card at the end of a burst.
 */
#include <net/netdev_queues.h>

#include "eth.h"
#include "verna_compat.h"

/** verna_tx_desc - a TX descriptor @txq: queue @index: free-running index */
struct verna_tx_desc *verna_tx_desc(struct verna_txq *txq, u32 index)
{
	return verna_mem_at(&txq->mem, verna_ethq_ring_offset() +
			    (index & txq->mask) * sizeof(struct verna_tx_desc));
}

/** verna_tx_flush - tell the card of all that was written since the last time @txq: queue */
void verna_tx_flush(struct verna_txq *txq)
{
	struct verna_dev *vdev = txq->chan->eth->vdev;

	if (txq->published == txq->prod)
		return;
	WRITE_ONCE(txq->published, txq->prod);
	verna_wq_publish(txq->rec, txq->prod);
	verna_wq_kick(txq->rec, verna_kernel_uar(vdev), VERNA_DB_TXQ, txq->chan->index);
}

/* An skb that the card can take as it is, or a reason to drop it. */
static int verna_tx_fit(struct verna_txq *txq, struct sk_buff *skb)
{
	if (unlikely(skb->len < ETH_HLEN))
		return -EINVAL;
	if (unlikely(verna_hopopt_jumbo_remove(skb)))
		return -ENOMEM;
	if (likely(skb_shinfo(skb)->nr_frags < txq->max_descs))
		return 0;
	verna_stat_inc(&txq->stats->xmit_sync, &txq->stats->xmit.linearized);
	return skb_linearize(skb);
}

/**
 * verna_tx_put - write a descriptor, without flags
 * @txq: queue
 * @index: free-running index
 * @dma: bus address
 * @len: bytes
 * @page: mapped as a page
 */
void verna_tx_put(struct verna_txq *txq, u32 index, dma_addr_t dma, u32 len, bool page)
{
	struct verna_tx_desc *desc = verna_tx_desc(txq, index);
	struct verna_tx_buf *buf = &txq->bufs[index & txq->mask];

	*buf = (struct verna_tx_buf) { .dma = dma, .len = len, .page = page };
	*desc = (struct verna_tx_desc) {
		.addr = cpu_to_le64(dma),
		.len = cpu_to_le32(len),
	};
}

/* Maps an skb and writes its descriptors from prod on; unmaps all on an error. */
static int verna_tx_map(struct verna_txq *txq, struct sk_buff *skb)
{
	struct device *dev = verna_device(txq->chan->eth->vdev);
	u32 nr_frags = skb_shinfo(skb)->nr_frags;
	u32 index = txq->prod, i;
	struct verna_tx_buf *last;
	dma_addr_t dma;

	dma = dma_map_single(dev, skb->data, skb_headlen(skb), DMA_TO_DEVICE);
	if (dma_mapping_error(dev, dma))
		return -ENOMEM;
	verna_tx_put(txq, index++, dma, skb_headlen(skb), false);

	for (i = 0; i < nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		dma = skb_frag_dma_map(dev, frag, 0, skb_frag_size(frag), DMA_TO_DEVICE);
		if (dma_mapping_error(dev, dma))
			goto unmap;
		verna_tx_put(txq, index++, dma, skb_frag_size(frag), true);
	}
	verna_tx_desc(txq, index - 1)->flags = cpu_to_le16(VERNA_TX_F_EOP);
	last = &txq->bufs[(index - 1) & txq->mask];
	last->skb = skb;
	verna_tx_offload(txq, skb, verna_tx_desc(txq, txq->prod), last);
	verna_tx_vport(skb, verna_tx_desc(txq, txq->prod));
	txq->prod = index;
	return 0;

unmap:
	while (index-- != txq->prod)
		verna_tx_unmap(txq, &txq->bufs[index & txq->mask]);
	return -ENOMEM;
}

static netdev_tx_t verna_tx_drop(struct verna_txq *txq, struct sk_buff *skb)
{
	verna_stat_inc(&txq->stats->xmit_sync, &txq->stats->xmit.dropped);
	dev_kfree_skb_any(skb);
	/* The burst may have ended with this packet. */
	if (!netdev_xmit_more())
		verna_tx_flush(txq);
	return NETDEV_TX_OK;
}

/** verna_xmit - ndo_start_xmit @skb: packet @netdev: interface */
netdev_tx_t verna_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_txq *txq = &eth->chans->chan[skb_get_queue_mapping(skb)]->tx;

	if (unlikely(verna_txq_room(txq) < txq->max_descs)) {
		/* Cannot be: the queue was stopped in time. */
		netif_tx_stop_queue(txq->nq);
		verna_tx_flush(txq);
		return NETDEV_TX_BUSY;
	}
	if (unlikely(verna_tx_fit(txq, skb) || verna_tx_map(txq, skb)))
		return verna_tx_drop(txq, skb);

	skb_tx_timestamp(skb);
	if (!netif_txq_maybe_stop(txq->nq, verna_txq_room(txq), txq->max_descs,
				  verna_txq_wake_room(txq)))
		verna_stat_inc(&txq->stats->xmit_sync, &txq->stats->xmit.stops);
	if (__netdev_tx_sent_queue(txq->nq, skb->len, netdev_xmit_more()))
		verna_tx_flush(txq);
	return NETDEV_TX_OK;
}

/**
 * verna_txq_alloc - allocate the TX queue of a channel
 * @chan: channel
 * @log_size: log2 of descriptors
 *
 * Return: 0 or -ENOMEM.
 */
int verna_txq_alloc(struct verna_channel *chan, u8 log_size)
{
	const struct verna_caps *caps = verna_caps(chan->eth->vdev);
	struct verna_txq *txq = &chan->tx;
	size_t ring = sizeof(struct verna_tx_desc) << log_size;
	int err;

	txq->chan = chan;
	txq->mask = BIT(log_size) - 1;
	txq->max_descs = min_t(u32, caps->eth.max_tx_frags, MAX_SKB_FRAGS + 1);
	txq->stats = &chan->eth->stats[chan->index];
	txq->nq = netdev_get_tx_queue(chan->eth->netdev, chan->index);
	txq->bufs = kvcalloc(txq->mask + 1, sizeof(*txq->bufs), GFP_KERNEL);
	if (!txq->bufs)
		return -ENOMEM;
	err = verna_mem_alloc(chan->eth->vdev, &txq->mem, verna_ethq_ring_offset() + ring);
	if (err)
		goto free_bufs;
	txq->rec = verna_mem_at(&txq->mem, 0);
	err = verna_eth_cq_alloc(chan, &txq->cq, log_size);
	if (err)
		goto free_mem;
	return 0;

free_mem:
	verna_mem_free(chan->eth->vdev, &txq->mem);
free_bufs:
	kvfree(txq->bufs);
	txq->bufs = NULL;
	return err;
}

/** verna_txq_free - undoes verna_txq_alloc() @chan: channel */
void verna_txq_free(struct verna_channel *chan)
{
	struct verna_txq *txq = &chan->tx;

	verna_eth_cq_free(chan, &txq->cq);
	verna_mem_free(chan->eth->vdev, &txq->mem);
	kvfree(txq->bufs);
}

/** verna_txq_reset - make an empty queue of one that may have served @txq: queue */
void verna_txq_reset(struct verna_txq *txq)
{
	memset(txq->rec, 0, sizeof(*txq->rec));
	txq->prod = 0;
	txq->published = 0;
	txq->cons = 0;
	netdev_tx_reset_queue(txq->nq);
}
