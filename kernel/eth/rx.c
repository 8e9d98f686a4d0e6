// SPDX-License-Identifier: GPL-2.0
/*
 * verna: RX buffers, from the queue's page pool. A buffer is a page, or half of one
 * while that holds a packet of the MTU: headroom, room for the card, and room for
 * the shared info of the skb that is built around it. Longer packets take several.
 *
 * While the card merges packets, buffers are packed: they have room for nothing
 * else and lie end to end in large pages, so that the payload of a merged packet is
 * a few large fragments. The skb has its headers apart.
 */
#include <net/ip.h>

#include "eth.h"

/** verna_rx_desc - an RX descriptor @rxq: queue @index: free-running index */
struct verna_rx_desc *verna_rx_desc(struct verna_rxq *rxq, u32 index)
{
	return verna_mem_at(&rxq->mem, verna_ethq_ring_offset() +
			    (index & rxq->mask) * sizeof(struct verna_rx_desc));
}

/* A merged packet lies in three pages; more is hard to get when memory is scattered. */
#define VERNA_RX_PACKED_ORDER	PAGE_ALLOC_COSTLY_ORDER

static bool verna_rx_packed(const struct verna_params *params)
{
	return params->merge && !params->xdp;
}

static u32 verna_rx_headroom(const struct verna_params *params)
{
	if (verna_rx_packed(params))
		return 0;
	return params->xdp ? XDP_PACKET_HEADROOM : VERNA_RX_HEADROOM;
}

static u32 verna_rx_room(u32 truesize, u32 headroom)
{
	return truesize - headroom - SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
}

/* Bytes of memory per buffer. */
static u32 verna_rx_truesize(const struct verna_params *params)
{
	u32 half = PAGE_SIZE / 2;

	if (params->xdp || params->merge)
		return PAGE_SIZE;
	return params->mtu + VERNA_ETH_OVERHEAD <=
	       verna_rx_room(half, verna_rx_headroom(params)) ? half : PAGE_SIZE;
}

/**
 * verna_rx_buf_len - what the card may write into a buffer
 * @params: of the set of channels
 *
 * Return: bytes.
 */
u32 verna_rx_buf_len(const struct verna_params *params)
{
	u32 truesize = verna_rx_truesize(params);

	return verna_rx_packed(params) ? truesize :
					 verna_rx_room(truesize, verna_rx_headroom(params));
}

/* Buffers of one packet: fragments of its skb, and one that the skb is built around. */
static u32 verna_rx_max_bufs(const struct verna_params *params)
{
	return verna_rx_packed(params) ? MAX_SKB_FRAGS : MAX_SKB_FRAGS + 1;
}

/**
 * verna_rx_max_merged - the longest packet that an skb can hold
 * @params: of the set of channels
 *
 * Return: its bytes from the IP header on.
 */
u32 verna_rx_max_merged(const struct verna_params *params)
{
	u32 frame = verna_rx_buf_len(params) * verna_rx_max_bufs(params);

	return min_t(u32, frame - ETH_HLEN - 2 * VLAN_HLEN, IP_MAX_MTU);
}

/**
 * verna_rx_same_buffers - whether queues with certain buffers need no others
 * @a: what they are made for
 * @b: what they are to be for
 */
bool verna_rx_same_buffers(const struct verna_params *a, const struct verna_params *b)
{
	return verna_rx_truesize(a) == verna_rx_truesize(b) &&
	       verna_rx_headroom(a) == verna_rx_headroom(b);
}

static bool verna_rx_buf_alloc(struct verna_rxq *rxq, u32 index)
{
	struct verna_rx_buf *buf = &rxq->bufs[index & rxq->mask];
	struct verna_rx_desc *desc = verna_rx_desc(rxq, index);
	dma_addr_t dma;

	buf->offset = 0;
	buf->page = rxq->truesize < PAGE_SIZE || rxq->packed ?
		    page_pool_dev_alloc_frag(rxq->pool, &buf->offset, rxq->truesize) :
		    page_pool_dev_alloc_pages(rxq->pool);
	if (unlikely(!buf->page))
		return false;
	dma = page_pool_get_dma_addr(buf->page) + buf->offset + rxq->headroom;
	desc->addr = cpu_to_le64(dma);
	desc->len = cpu_to_le32(rxq->buf_len);
	desc->reserved = 0;
	return true;
}

/**
 * verna_rx_refill - post buffers where there is room
 * @rxq: queue
 * @batch: do nothing if there is room for fewer
 *
 * Return: false if memory ran out while the card has few buffers left, so that
 * no packet may come any more to give another chance.
 */
bool verna_rx_refill(struct verna_rxq *rxq, u32 batch)
{
	u32 room = rxq->mask + 1 - (rxq->prod - rxq->cons);
	u32 before = rxq->prod;
	bool ok = true;

	if (room < batch)
		return true;
	for (; room && ok; room--) {
		ok = verna_rx_buf_alloc(rxq, rxq->prod);
		rxq->prod += ok;
	}
	if (rxq->prod != before) {
		struct verna_dev *vdev = rxq->chan->eth->vdev;

		verna_wq_publish(rxq->rec, rxq->prod);
		verna_wq_kick(rxq->rec, verna_kernel_uar(vdev), VERNA_DB_RXQ,
			      rxq->chan->index);
	}
	if (ok)
		return true;
	verna_stat_inc(&rxq->stats->rx_sync, &rxq->stats->rx.alloc_fail);
	return rxq->prod - rxq->cons >= (rxq->mask + 1) / 4;
}

static struct page_pool *verna_rx_pool_create(struct verna_channel *chan,
					      const struct verna_params *queue)
{
	u32 order = verna_rx_packed(queue) ? VERNA_RX_PACKED_ORDER : 0;
	struct page_pool_params params = {
		.flags = PP_FLAG_DMA_MAP | PP_FLAG_DMA_SYNC_DEV,
		.order = order,
		.pool_size = max(BIT(queue->log_rx) >> order, 1ul),
		.nid = NUMA_NO_NODE,
		.dev = verna_device(chan->eth->vdev),
		.napi = &chan->napi,
		.netdev = chan->eth->netdev,
		.queue_idx = chan->index,
		.dma_dir = queue->xdp ? DMA_BIDIRECTIONAL : DMA_FROM_DEVICE,
		.max_len = PAGE_SIZE << order,
	};

	return page_pool_create(&params);
}

static int verna_rxq_alloc_mem(struct verna_channel *chan, u8 log_size)
{
	const struct verna_caps *caps = verna_caps(chan->eth->vdev);
	size_t ring = sizeof(struct verna_rx_desc) << log_size;
	struct verna_rxq *rxq = &chan->rx;
	int err;

	rxq->bufs = kvcalloc(rxq->mask + 1, sizeof(*rxq->bufs), GFP_KERNEL);
	if (!rxq->bufs)
		return -ENOMEM;
	err = verna_mem_alloc(chan->eth->vdev, &rxq->mem, verna_ethq_ring_offset() + ring);
	if (err)
		goto free_bufs;
	rxq->rec = verna_mem_at(&rxq->mem, 0);
	/* Twice the size, so that what runs out first are buffers, and drops say so. */
	err = verna_eth_cq_alloc(chan, &rxq->cq,
				 min_t(u16, log_size + 1, caps->dev.log_max_cq_entries));
	if (err)
		goto free_mem;
	return 0;

free_mem:
	verna_mem_free(chan->eth->vdev, &rxq->mem);
free_bufs:
	kvfree(rxq->bufs);
	rxq->bufs = NULL;
	return err;
}

/**
 * verna_rxq_alloc - allocate the RX queue of a channel, without buffers
 * @chan: channel, with its NAPI
 * @params: size of the ring, and what its buffers are for
 *
 * Return: 0 or -ENOMEM.
 */
int verna_rxq_alloc(struct verna_channel *chan, const struct verna_params *params)
{
	struct verna_rxq *rxq = &chan->rx;
	int err;

	rxq->chan = chan;
	rxq->mask = BIT(params->log_rx) - 1;
	rxq->xdp = params->xdp;
	rxq->packed = verna_rx_packed(params);
	rxq->headroom = verna_rx_headroom(params);
	rxq->truesize = verna_rx_truesize(params);
	rxq->buf_len = verna_rx_buf_len(params);
	rxq->max_bufs = verna_rx_max_bufs(params);
	rxq->stats = &chan->eth->stats[chan->index];
	rxq->pool = verna_rx_pool_create(chan, params);
	if (IS_ERR(rxq->pool))
		return PTR_ERR(rxq->pool);
	if (rxq->xdp) {
		err = verna_xdp_rxq_init(rxq);
		if (err)
			goto destroy_pool;
	}
	err = verna_rxq_alloc_mem(chan, params->log_rx);
	if (err)
		goto exit_xdp;
	return 0;

exit_xdp:
	verna_xdp_rxq_exit(rxq);
destroy_pool:
	page_pool_destroy(rxq->pool);
	return err;
}

/** verna_rxq_free - undoes verna_rxq_alloc() @chan: channel */
void verna_rxq_free(struct verna_channel *chan)
{
	struct verna_rxq *rxq = &chan->rx;

	verna_eth_cq_free(chan, &rxq->cq);
	verna_mem_free(chan->eth->vdev, &rxq->mem);
	kvfree(rxq->bufs);
	verna_xdp_rxq_exit(rxq);
	page_pool_destroy(rxq->pool);
}

/** verna_rxq_reset - make an empty queue of one that may have served @rxq: queue */
void verna_rxq_reset(struct verna_rxq *rxq)
{
	memset(rxq->rec, 0, sizeof(*rxq->rec));
	rxq->prod = 0;
	rxq->cons = 0;
}

/** verna_rxq_drain - take back what a stopped queue still holds @rxq: queue */
void verna_rxq_drain(struct verna_rxq *rxq)
{
	struct verna_rx_buf *buf;

	for (; rxq->cons != rxq->prod; rxq->cons++) {
		buf = &rxq->bufs[rxq->cons & rxq->mask];
		page_pool_put_full_page(rxq->pool, buf->page, false);
		buf->page = NULL;
	}
}
