// SPDX-License-Identifier: GPL-2.0
/*
 * verna: XDP on reception, and attaching a program. While there is one, buffers are
 * whole pages with XDP_PACKET_HEADROOM in front, mapped in both directions, so that
 * a packet that goes out again is neither copied nor mapped. A packet of several
 * buffers is shown as one with fragments.
 */
#include <linux/bpf.h>
#include <linux/bpf_trace.h>
#include <linux/etherdevice.h>
#include <linux/filter.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "eth.h"
#include "verna_compat.h"

/**
 * struct verna_xdp_buff - what a program sees, and what it may ask about it
 * @xdp: must be first
 * @cqe: of the packet, for metadata
 */
struct verna_xdp_buff {
	struct xdp_buff xdp;
	const struct verna_cqe *cqe;
};

/* Buffers at the head of the queue become an xdp_buff, which owns them from here on. */
static void verna_xdp_gather(struct verna_rxq *rxq, struct xdp_buff *xdp, u32 len,
			     u32 num_bufs)
{
	struct skb_shared_info *sinfo;
	struct verna_rx_buf *buf;
	u32 part, i;

	buf = verna_rx_buf(rxq, 0);
	part = min(len, rxq->buf_len);
	verna_rx_sync(rxq, buf, part);
	xdp_init_buff(xdp, rxq->truesize, &rxq->xdp_info);
	xdp_prepare_buff(xdp, verna_rx_data(buf), rxq->headroom, part, true);
	net_prefetch(xdp->data);
	buf->page = NULL;
	if (num_bufs == 1)
		return;

	sinfo = xdp_get_shared_info_from_buff(xdp);
	sinfo->nr_frags = num_bufs - 1;
	sinfo->xdp_frags_size = len - part;
#ifdef VERNA_HAVE_XDP_FRAGS_TRUESIZE
	sinfo->xdp_frags_truesize = (num_bufs - 1) * rxq->truesize;
#endif
	xdp_buff_set_frags_flag(xdp);
	for (i = 1; i < num_bufs; i++) {
		len -= part;
		buf = verna_rx_buf(rxq, i);
		part = min(len, rxq->buf_len);
		verna_rx_sync(rxq, buf, part);
		skb_frag_fill_page_desc(&sinfo->frags[i - 1], buf->page,
					buf->offset + rxq->headroom, part);
		if (page_is_pfmemalloc(buf->page))
			xdp_buff_set_frag_pfmemalloc(xdp);
		buf->page = NULL;
	}
}

/* What a short packet leaves behind is worth more than a copy costs. */
static struct sk_buff *verna_xdp_copy(struct verna_rxq *rxq, struct xdp_buff *xdp, u32 len)
{
	struct sk_buff *skb;

	skb = napi_alloc_skb(&rxq->chan->napi, len);
	if (skb) {
		skb_put_data(skb, xdp->data, len);
		verna_stat_inc(&rxq->stats->rx_sync, &rxq->stats->rx.copied);
	}
	xdp_return_buff(xdp);
	return skb;
}

/* The skb of a packet that passed, in the state in which the program left it. */
static struct sk_buff *verna_xdp_build(struct verna_rxq *rxq, struct xdp_buff *xdp)
{
	u32 len = xdp->data_end - xdp->data, meta = xdp->data - xdp->data_meta;
	struct skb_shared_info *sinfo = xdp_get_shared_info_from_buff(xdp);
	bool frags = xdp_buff_has_frags(xdp);
	u32 nr_frags = frags ? sinfo->nr_frags : 0;
	u32 frags_size = frags ? sinfo->xdp_frags_size : 0;
	struct sk_buff *skb;

	if (!frags && !meta && len <= VERNA_RX_COPYBREAK)
		return verna_xdp_copy(rxq, xdp, len);
	skb = napi_build_skb(xdp->data_hard_start, xdp->frame_sz);
	if (unlikely(!skb)) {
		xdp_return_buff(xdp);
		return NULL;
	}
	skb_mark_for_recycle(skb);
	skb_reserve(skb, xdp->data - xdp->data_hard_start);
	__skb_put(skb, len);
	if (meta)
		skb_metadata_set(skb, meta);
	if (!frags)
		return skb;
	/* The shared info is where it was; building cleared the number alone. */
	skb_shinfo(skb)->nr_frags = nr_frags;
	skb->len += frags_size;
	skb->data_len += frags_size;
	skb->truesize += nr_frags * rxq->truesize;
	skb->pfmemalloc |= !!(xdp->flags & XDP_FLAGS_FRAGS_PF_MEMALLOC);
	return skb;
}

static bool verna_xdp_redirect(struct verna_rxq *rxq, struct bpf_prog *prog,
			       struct xdp_buff *xdp)
{
	if (xdp_do_redirect(rxq->chan->eth->netdev, xdp, prog))
		return false;
	rxq->xdp_flush = true;
	return true;
}

static void verna_xdp_count(struct verna_rxq *rxq, u64 *counter)
{
	verna_stat_inc(&rxq->stats->rx_sync, counter);
}

/* Does what the program says; an skb if the packet goes on to the stack. */
static struct sk_buff *verna_xdp_act(struct verna_rxq *rxq, struct bpf_prog *prog,
				     struct xdp_buff *xdp, u32 act)
{
	struct net_device *netdev = rxq->chan->eth->netdev;
	struct verna_rx_stats *stats = &rxq->stats->rx;
	struct sk_buff *skb;

	switch (act) {
	case XDP_PASS:
		skb = verna_xdp_build(rxq, xdp);
		if (unlikely(!skb))
			verna_xdp_count(rxq, &stats->alloc_fail);
		return skb;
	case XDP_TX:
		if (!verna_xdp_tx(rxq, xdp))
			break;
		verna_xdp_count(rxq, &stats->xdp_tx);
		return NULL;
	case XDP_REDIRECT:
		if (!verna_xdp_redirect(rxq, prog, xdp))
			break;
		verna_xdp_count(rxq, &stats->xdp_redirect);
		return NULL;
	case XDP_DROP:
		verna_xdp_count(rxq, &stats->xdp_drop);
		xdp_return_buff(xdp);
		return NULL;
	default:
		bpf_warn_invalid_xdp_action(netdev, prog, act);
		fallthrough;
	case XDP_ABORTED:
		break;
	}
	trace_xdp_exception(netdev, prog, act);
	verna_xdp_count(rxq, &stats->xdp_error);
	xdp_return_buff(xdp);
	return NULL;
}

/**
 * verna_xdp_receive - let a program decide on a packet
 * @rxq: queue, at whose head the packet is
 * @prog: program
 * @cqe: of the packet
 * @len: bytes
 * @num_bufs: buffers that it fills; they are given up
 *
 * Return: an skb, or NULL if the packet went another way or there is no memory.
 */
struct sk_buff *verna_xdp_receive(struct verna_rxq *rxq, struct bpf_prog *prog,
				  const struct verna_cqe *cqe, u32 len, u32 num_bufs)
{
	struct verna_xdp_buff buff = { .cqe = cqe };
	struct xdp_buff *xdp = &buff.xdp;

	verna_xdp_gather(rxq, xdp, len, num_bufs);
	if (is_multicast_ether_addr(xdp->data))
		verna_xdp_count(rxq, &rxq->stats->rx.multicast);
	/* Longer than the MTU, which is not for a program of single buffers. */
	if (unlikely(num_bufs > 1 && !prog->aux->xdp_has_frags)) {
		verna_xdp_count(rxq, &rxq->stats->rx.xdp_error);
		xdp_return_buff(xdp);
		return NULL;
	}
	return verna_xdp_act(rxq, prog, xdp, bpf_prog_run_xdp(prog, xdp));
}

/** verna_xdp_poll_end - send off what programs have left for the end @chan: channel */
void verna_xdp_poll_end(struct verna_channel *chan)
{
	if (chan->rx.xdp_flush) {
		chan->rx.xdp_flush = false;
		xdp_do_flush();
	}
	if (chan->tx.xdp_flush)
		verna_xdp_tx_flush(&chan->tx);
}

/* Which ports the card hashed, as the packet says. */
static enum xdp_rss_hash_type verna_xdp_hash_type(const struct xdp_buff *xdp, bool l4)
{
	const struct ethhdr *eth = xdp->data;
	const struct ipv6hdr *ip6 = (const void *)(eth + 1);
	const struct iphdr *ip = (const void *)(eth + 1);
	u8 proto = 0;
	u32 type = l4 ? XDP_RSS_L4 : 0;

	if ((void *)(ip6 + 1) <= xdp->data_end && eth->h_proto == htons(ETH_P_IPV6)) {
		type |= XDP_RSS_L3_IPV6;
		proto = ip6->nexthdr;
	} else if ((void *)(ip + 1) <= xdp->data_end && eth->h_proto == htons(ETH_P_IP)) {
		type |= XDP_RSS_L3_IPV4;
		proto = ip->protocol;
	}
	if (l4 && proto == IPPROTO_TCP)
		type |= XDP_RSS_L4_TCP;
	else if (l4 && proto == IPPROTO_UDP)
		type |= XDP_RSS_L4_UDP;
	return type;
}

static int verna_xdp_rx_hash(const struct xdp_md *ctx, u32 *hash,
			     enum xdp_rss_hash_type *type)
{
	const struct verna_xdp_buff *buff = (const void *)ctx;

	if (!(buff->cqe->flags & VERNA_CQE_F_HASH))
		return -ENODATA;
	*hash = le32_to_cpu(buff->cqe->rss_hash);
	*type = verna_xdp_hash_type(&buff->xdp,
				    buff->cqe->rx_flags & VERNA_CQE_RX_HASH_L4);
	return 0;
}

static int verna_xdp_rx_vlan_tag(const struct xdp_md *ctx, __be16 *proto, u16 *tci)
{
	const struct verna_xdp_buff *buff = (const void *)ctx;

	if (!(buff->cqe->flags & VERNA_CQE_F_VLAN))
		return -ENODATA;
	*proto = buff->cqe->rx_flags & VERNA_CQE_RX_SVLAN ? htons(ETH_P_8021AD) :
							    htons(ETH_P_8021Q);
	*tci = le16_to_cpu(buff->cqe->vlan_tci);
	return 0;
}

const struct xdp_metadata_ops verna_xdp_metadata_ops = {
	.xmo_rx_hash = verna_xdp_rx_hash,
	.xmo_rx_vlan_tag = verna_xdp_rx_vlan_tag,
};

/**
 * verna_xdp_rxq_init - tell XDP of a queue
 * @rxq: queue with its pool
 *
 * Return: 0 or an error.
 */
int verna_xdp_rxq_init(struct verna_rxq *rxq)
{
	struct verna_channel *chan = rxq->chan;
	int err;

	err = __xdp_rxq_info_reg(&rxq->xdp_info, chan->eth->netdev, chan->index, 0,
				 rxq->truesize);
	if (err)
		return err;
	err = xdp_rxq_info_reg_mem_model(&rxq->xdp_info, MEM_TYPE_PAGE_POOL, rxq->pool);
	if (err)
		xdp_rxq_info_unreg(&rxq->xdp_info);
	return err;
}

/** verna_xdp_rxq_exit - undoes verna_xdp_rxq_init(), if it was done @rxq: queue */
void verna_xdp_rxq_exit(struct verna_rxq *rxq)
{
	if (xdp_rxq_info_is_reg(&rxq->xdp_info))
		xdp_rxq_info_unreg(&rxq->xdp_info);
}

/**
 * verna_xdp_check_mtu - whether a program can have packets of an MTU
 * @prog: program or NULL
 * @mtu: the MTU
 *
 * Return: true if it takes several buffers or needs one only.
 */
bool verna_xdp_check_mtu(const struct bpf_prog *prog, u32 mtu)
{
	const struct verna_params params = { .xdp = true, .mtu = mtu };

	return !prog || prog->aux->xdp_has_frags ||
	       mtu + VERNA_ETH_OVERHEAD <= verna_rx_buf_len(&params);
}

static int verna_xdp_setup(struct net_device *netdev, struct bpf_prog *prog,
			   struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct bpf_prog *old = eth->xdp_prog;
	struct verna_params params = eth->params;
	int err;

	if (!verna_xdp_check_mtu(prog, netdev->mtu)) {
		NL_SET_ERR_MSG_FMT(extack,
				   "MTU %u takes several buffers, the program only one",
				   netdev->mtu);
		return -EOPNOTSUPP;
	}
	params.xdp = prog;
	/* Without a program any buffers will do, so that going back cannot fail. */
	if (!prog)
		WRITE_ONCE(eth->xdp_prog, NULL);
	if (!prog != !old) {
		/* What was merged goes with the old queues. */
		err = prog ? verna_features_merge(eth, false) : 0;
		if (!err)
			err = verna_eth_reconfigure(eth, &params);
		if (err && prog) {
			verna_features_merge(eth, true);
			NL_SET_ERR_MSG(extack, "no memory for buffers with headroom");
			return err;
		}
	}
	if (prog)
		WRITE_ONCE(eth->xdp_prog, prog);
	if (old)
		bpf_prog_put(old);
	netdev_update_features(netdev);
	return 0;
}

/** verna_bpf - ndo_bpf @netdev: interface @bpf: command */
int verna_bpf(struct net_device *netdev, struct netdev_bpf *bpf)
{
	switch (bpf->command) {
	case XDP_SETUP_PROG:
		return verna_xdp_setup(netdev, bpf->prog, bpf->extack);
	default:
		return -EINVAL;
	}
}
