// SPDX-License-Identifier: GPL-2.0
/*
 * verna: from completion to skb. A short packet is copied, a longer one is an skb
 * built around its first buffer, with the further ones as fragments, or, of packed
 * buffers, one with a copy of its headers and all else in fragments.
 */
#include <linux/etherdevice.h>

#include "eth.h"

/**
 * struct verna_rx_packet - a received packet
 * @skb: NULL if there was no memory
 * @len: bytes
 * @num_bufs: buffers that it fills, from the queue's cons on
 * @hash: if @hashed
 * @hashed: the card has hashed it
 * @hashed_l4: ports are part of @hash
 * @bad: the card could not deliver it
 * @xdp: an XDP program has decided on it
 */
struct verna_rx_packet {
	struct sk_buff *skb;
	u32 len;
	u32 num_bufs;
	u32 hash;
	bool hashed;
	bool hashed_l4;
	bool bad;
	bool xdp;
};

/* Copies what is needed from a CQE; false if it contradicts the queue. */
static bool verna_rx_parse(struct verna_rxq *rxq, const struct verna_cqe *cqe,
			   struct verna_rx_packet *pkt)
{
	pkt->len = le32_to_cpu(cqe->byte_len);
	pkt->num_bufs = le16_to_cpu(cqe->num_bufs);
	pkt->hash = le32_to_cpu(cqe->rss_hash);
	pkt->hashed = cqe->flags & VERNA_CQE_F_HASH;
	pkt->hashed_l4 = cqe->rx_flags & VERNA_CQE_RX_HASH_L4;
	pkt->bad = cqe->status != VERNA_CQE_OK;

	if (cqe->opcode != VERNA_CQE_ETH_RX || le32_to_cpu(cqe->wqe_index) != rxq->cons ||
	    !pkt->num_bufs || pkt->num_bufs > rxq->prod - rxq->cons)
		return false;
	if (pkt->bad)
		return true;
	return pkt->len >= ETH_HLEN && pkt->num_bufs <= rxq->max_bufs &&
	       pkt->num_bufs == DIV_ROUND_UP(pkt->len, rxq->buf_len);
}

/**
 * verna_rx_sync - look at what the card has written
 * @rxq: queue
 * @buf: buffer
 * @len: bytes
 */
void verna_rx_sync(struct verna_rxq *rxq, const struct verna_rx_buf *buf, u32 len)
{
	dma_sync_single_range_for_cpu(verna_device(rxq->chan->eth->vdev),
				      page_pool_get_dma_addr(buf->page),
				      buf->offset + rxq->headroom, len,
				      page_pool_get_dma_dir(rxq->pool));
}

static void verna_rx_put_bufs(struct verna_rxq *rxq, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++) {
		struct verna_rx_buf *buf = verna_rx_buf(rxq, i);

		page_pool_put_full_page(rxq->pool, buf->page, true);
		buf->page = NULL;
	}
}

static struct sk_buff *verna_rx_copy(struct verna_rxq *rxq, u32 len)
{
	struct verna_rx_buf *buf = verna_rx_buf(rxq, 0);
	struct sk_buff *skb;

	skb = napi_alloc_skb(&rxq->chan->napi, len);
	if (skb) {
		verna_rx_sync(rxq, buf, len);
		skb_put_data(skb, verna_rx_data(buf) + rxq->headroom, len);
		verna_stat_inc(&rxq->stats->rx_sync, &rxq->stats->rx.copied);
	}
	verna_rx_put_bufs(rxq, 1);
	return skb;
}

static struct sk_buff *verna_rx_build(struct verna_rxq *rxq,
				      const struct verna_rx_packet *pkt)
{
	struct verna_rx_buf *buf = verna_rx_buf(rxq, 0);
	u32 len = min(pkt->len, rxq->buf_len);
	u32 left = pkt->len - len, i;
	struct sk_buff *skb;

	skb = napi_build_skb(verna_rx_data(buf), rxq->truesize);
	if (unlikely(!skb)) {
		verna_rx_put_bufs(rxq, pkt->num_bufs);
		return NULL;
	}
	skb_mark_for_recycle(skb);
	verna_rx_sync(rxq, buf, len);
	skb_reserve(skb, rxq->headroom);
	skb_put(skb, len);
	buf->page = NULL;

	for (i = 1; i < pkt->num_bufs; i++) {
		buf = verna_rx_buf(rxq, i);
		len = min(left, rxq->buf_len);
		left -= len;
		verna_rx_sync(rxq, buf, len);
		skb_add_rx_frag(skb, i - 1, buf->page, buf->offset + rxq->headroom,
				len, rxq->truesize);
		buf->page = NULL;
	}
	return skb;
}

/* Adds a buffer to the last fragment if it goes on there, else as one of its own. */
static void verna_rx_add(struct sk_buff *skb, struct verna_rx_buf *buf, u32 offset, u32 len,
			 u32 truesize)
{
	struct skb_shared_info *shinfo = skb_shinfo(skb);
	u32 frags = shinfo->nr_frags;

	if (skb_can_coalesce(skb, frags, buf->page, offset)) {
		skb_coalesce_rx_frag(skb, frags - 1, len, truesize);
		/* The fragment has one reference, which is not this one. */
		page_pool_unref_netmem(page_to_netmem(buf->page), 1);
	} else {
		skb_add_rx_frag(skb, frags, buf->page, offset, len, truesize);
	}
	buf->page = NULL;
}

static struct sk_buff *verna_rx_gather(struct verna_rxq *rxq,
				       const struct verna_rx_packet *pkt)
{
	struct verna_rx_buf *buf = verna_rx_buf(rxq, 0);
	u32 len = min(pkt->len, rxq->buf_len);
	u32 left = pkt->len, i, skip;
	struct sk_buff *skb;

	skb = napi_alloc_skb(&rxq->chan->napi, VERNA_RX_HEADERS);
	if (unlikely(!skb)) {
		verna_rx_put_bufs(rxq, pkt->num_bufs);
		return NULL;
	}
	skb_mark_for_recycle(skb);
	verna_rx_sync(rxq, buf, len);
	skip = eth_get_headlen(rxq->chan->eth->netdev, verna_rx_data(buf),
			       min_t(u32, len, VERNA_RX_HEADERS));
	skb_put_data(skb, verna_rx_data(buf), skip);

	for (i = 0; i < pkt->num_bufs; i++) {
		buf = verna_rx_buf(rxq, i);
		len = min(left, rxq->buf_len);
		left -= len;
		if (i)
			verna_rx_sync(rxq, buf, len);
		/* The headers are in the first one. */
		verna_rx_add(skb, buf, buf->offset + skip, len - skip, rxq->truesize);
		skip = 0;
	}
	return skb;
}

/* Turns the buffers at the head of the queue into an skb, and gives them up. */
static void verna_rx_receive(struct verna_rxq *rxq, const struct verna_cqe *cqe,
			     struct verna_rx_packet *pkt)
{
	struct bpf_prog *prog = READ_ONCE(rxq->chan->eth->xdp_prog);

	pkt->xdp = prog && rxq->xdp && !pkt->bad && !verna_rx_for_rep(cqe);
	if (unlikely(pkt->bad))
		verna_rx_put_bufs(rxq, pkt->num_bufs);
	else if (pkt->xdp)
		pkt->skb = verna_xdp_receive(rxq, prog, cqe, pkt->len, pkt->num_bufs);
	else if (pkt->len <= VERNA_RX_COPYBREAK && pkt->num_bufs == 1)
		pkt->skb = verna_rx_copy(rxq, pkt->len);
	else
		pkt->skb = rxq->packed ? verna_rx_gather(rxq, pkt) :
					 verna_rx_build(rxq, pkt);
	rxq->cons += pkt->num_bufs;
}

static void verna_rx_account(struct verna_rxq *rxq, const struct verna_rx_packet *pkt)
{
	struct verna_queue_stats *stats = rxq->stats;

	u64_stats_update_begin(&stats->rx_sync);
	if (pkt->skb || pkt->xdp) {
		stats->rx.packets++;
		stats->rx.bytes += pkt->len;
		stats->rx.multicast += !pkt->xdp &&
				       is_multicast_ether_addr(pkt->skb->data);
	} else if (pkt->bad) {
		stats->rx.errors++;
	} else {
		stats->rx.alloc_fail++;
	}
	u64_stats_update_end(&stats->rx_sync);
}

static void verna_rx_deliver(struct verna_rxq *rxq, const struct verna_cqe *cqe,
			     const struct verna_rx_packet *pkt)
{
	struct net_device *netdev = rxq->chan->eth->netdev;
	struct sk_buff *skb = pkt->skb;

	skb_record_rx_queue(skb, rxq->chan->index);
	if (pkt->hashed && (netdev->features & NETIF_F_RXHASH))
		skb_set_hash(skb, pkt->hash,
			     pkt->hashed_l4 ? PKT_HASH_TYPE_L4 : PKT_HASH_TYPE_L3);
	if (unlikely(!verna_rx_offload(rxq, cqe, skb, pkt->xdp))) {
		kfree_skb(skb);
		return;
	}
	if (verna_rx_from_vport(cqe)) {
		verna_rep_receive(rxq, cqe, skb);
		return;
	}
	skb->protocol = eth_type_trans(skb, netdev);
	napi_gro_receive(&rxq->chan->napi, skb);
}

/**
 * verna_rx_poll - receive
 * @rxq: queue
 * @budget: packets at most
 *
 * Return: packets taken.
 */
int verna_rx_poll(struct verna_rxq *rxq, int budget)
{
	struct verna_eth_cq *cq = &rxq->cq;
	const struct verna_cqe *cqe;
	int done = 0;

	while (done < budget && (cqe = verna_eth_cq_peek(cq))) {
		struct verna_rx_packet pkt = {};

		if (unlikely(!verna_rx_parse(rxq, cqe, &pkt))) {
			verna_channel_broken(rxq->chan, VERNA_QUEUE_RX);
			break;
		}
		cq->cons++;
		done++;
		verna_rx_receive(rxq, cqe, &pkt);
		verna_rx_account(rxq, &pkt);
		if (pkt.skb)
			verna_rx_deliver(rxq, cqe, &pkt);
	}
	/* Room for completions before buffers that need it. */
	verna_cq_set_cons(cq->rec, cq->cons);
	return done;
}
