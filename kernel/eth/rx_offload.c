// SPDX-License-Identifier: GPL-2.0
/* verna: what a completion tells of a packet besides its bytes, for the skb. */
#include <linux/if_vlan.h>

#include "eth.h"

/*
 * UNNECESSARY is the cheapest for the stack, where the card knew what it saw. The
 * sum is right for every packet, of whatever protocol, and also tells the stack
 * which checksum it is that is wrong: a bad packet is delivered like any other.
 */
static void verna_rx_csum(struct verna_rxq *rxq, const struct verna_cqe *cqe,
			  struct sk_buff *skb, bool changed)
{
	struct verna_rx_stats *stats = &rxq->stats->rx;

	if (!(rxq->chan->eth->netdev->features & NETIF_F_RXCSUM) ||
	    !(cqe->rx_flags & VERNA_CQE_RX_CSUM)) {
		stats->csum_none++;
		return;
	}
	stats->csum_bad += !!(cqe->rx_flags & VERNA_CQE_RX_CSUM_BAD);
	if (cqe->csum_ok) {
		skb->ip_summed = CHECKSUM_UNNECESSARY;
		skb->csum_level = min_t(u8, cqe->csum_ok - 1, SKB_MAX_CSUM_LEVEL);
		stats->csum_unnecessary++;
		return;
	}
	if (changed) {
		stats->csum_none++;
		return;
	}
	/* The order of the bytes in memory is that of __sum16. */
	skb->csum = csum_unfold((__force __sum16)cqe->csum);
	skb->ip_summed = CHECKSUM_COMPLETE;
	stats->csum_complete++;
}

/**
 * verna_rx_offload - what the card found out about a packet
 * @rxq: queue
 * @cqe: its completion, which is not given back yet
 * @skb: the packet, from its Ethernet header on
 * @changed: an XDP program may have written to it
 *
 * Return: false if the completion contradicts the packet.
 */
bool verna_rx_offload(struct verna_rxq *rxq, const struct verna_cqe *cqe,
		      struct sk_buff *skb, bool changed)
{
	u16 proto = cqe->rx_flags & VERNA_CQE_RX_SVLAN ? ETH_P_8021AD : ETH_P_8021Q;
	bool good = true;

	u64_stats_update_begin(&rxq->stats->rx_sync);
	if (le16_to_cpu(cqe->gro_segs) > 1)
		good = verna_rx_gro(&rxq->stats->rx, cqe, skb);
	else
		verna_rx_csum(rxq, cqe, skb, changed);
	rxq->stats->rx.errors += !good;
	u64_stats_update_end(&rxq->stats->rx_sync);
	if (cqe->flags & VERNA_CQE_F_VLAN)
		__vlan_hwaccel_put_tag(skb, htons(proto), le16_to_cpu(cqe->vlan_tci));
	return good;
}
