// SPDX-License-Identifier: GPL-2.0
/*
 * verna: statistics for rtnl and netlink. Packets and bytes are counted by the
 * driver; what the card dropped is read from it now and then, because readers may
 * not sleep.
 */
#include <net/netdev_queues.h>

#include "eth.h"

#define VERNA_TOTALS_PERIOD	(2 * HZ)

/* The card counts from zero again after a reset. */
static void verna_totals_add(u64 *total, u64 *last, const u64 *now, u32 num)
{
	u32 i;

	for (i = 0; i < num; i++) {
		total[i] += now[i] >= last[i] ? now[i] - last[i] : now[i];
		last[i] = now[i];
	}
}

/**
 * verna_totals_update - read the counters of the card that rtnl needs
 * @eth: interface
 *
 * Context: may sleep; calls may not overlap.
 */
void verna_totals_update(struct verna_eth *eth)
{
	struct verna_hw_totals *t = &eth->totals;
	u64 eth_now[VERNA_ETH_NUM_COUNTERS];
	u64 port_now[VERNA_PORT_NUM_COUNTERS];

	if (verna_query_counters(eth->vdev, VERNA_COUNTERS_ETH, 0, eth_now,
				 ARRAY_SIZE(eth_now)) ||
	    verna_query_counters(eth->vdev, VERNA_COUNTERS_PORT, 0, port_now,
				 ARRAY_SIZE(port_now)))
		return;
	spin_lock_bh(&t->lock);
	verna_totals_add(t->eth, t->last_eth, eth_now, ARRAY_SIZE(eth_now));
	verna_totals_add(t->port, t->last_port, port_now, ARRAY_SIZE(port_now));
	spin_unlock_bh(&t->lock);
}

void verna_totals_work(struct work_struct *work)
{
	struct verna_eth *eth = container_of(to_delayed_work(work), struct verna_eth,
					     totals_work);

	if (verna_dev_is_up(eth->vdev))
		verna_totals_update(eth);
	queue_delayed_work(eth->wq, &eth->totals_work, VERNA_TOTALS_PERIOD);
}

/**
 * verna_queue_stats_read - a consistent copy of each group of counters
 * @stats: counters
 * @copy: where to
 */
void verna_queue_stats_read(struct verna_queue_stats *stats,
			    struct verna_queue_stats *copy)
{
	unsigned int start;

	do {
		start = u64_stats_fetch_begin(&stats->xmit_sync);
		copy->xmit = stats->xmit;
	} while (u64_stats_fetch_retry(&stats->xmit_sync, start));
	do {
		start = u64_stats_fetch_begin(&stats->done_sync);
		copy->done = stats->done;
	} while (u64_stats_fetch_retry(&stats->done_sync, start));
	do {
		start = u64_stats_fetch_begin(&stats->rx_sync);
		copy->rx = stats->rx;
	} while (u64_stats_fetch_retry(&stats->rx_sync, start));
}

static void verna_stats_add_card(struct verna_eth *eth, struct rtnl_link_stats64 *stats)
{
	const u64 *e = eth->totals.eth;
	const u64 *p = eth->totals.port;

	spin_lock_bh(&eth->totals.lock);
	stats->rx_missed_errors = e[VERNA_ETH_rx_drop_no_buffer] +
				  e[VERNA_ETH_rx_drop_no_cqe] +
				  e[VERNA_ETH_rx_drop_no_queue];
	stats->rx_crc_errors = p[VERNA_PORT_rx_drop_fcs];
	stats->rx_length_errors = p[VERNA_PORT_rx_drop_runt] +
				  p[VERNA_PORT_rx_drop_oversize];
	stats->rx_errors += stats->rx_crc_errors + stats->rx_length_errors;
	stats->tx_carrier_errors = e[VERNA_ETH_tx_drop_link_down];
	stats->tx_errors += stats->tx_carrier_errors;
	spin_unlock_bh(&eth->totals.lock);
}

/** verna_get_stats64 - ndo_get_stats64 @netdev: interface @stats: result */
void verna_get_stats64(struct net_device *netdev, struct rtnl_link_stats64 *stats)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_queue_stats copy;
	u32 i;

	for (i = 0; i < eth->max_channels; i++) {
		verna_queue_stats_read(&eth->stats[i], &copy);
		stats->tx_packets += copy.done.packets;
		stats->tx_bytes += copy.done.bytes;
		stats->tx_errors += copy.done.errors;
		stats->tx_dropped += copy.xmit.dropped;
		stats->rx_packets += copy.rx.packets;
		stats->rx_bytes += copy.rx.bytes;
		stats->multicast += copy.rx.multicast;
		stats->rx_errors += copy.rx.errors;
		stats->rx_dropped += copy.rx.alloc_fail;
	}
	verna_stats_add_card(eth, stats);
}

static void verna_queue_stats_fill_rx(struct netdev_queue_stats_rx *out,
				      const struct verna_rx_stats *rx)
{
	out->packets = rx->packets;
	out->bytes = rx->bytes;
	out->alloc_fail = rx->alloc_fail;
	out->csum_unnecessary = rx->csum_unnecessary;
	out->csum_none = rx->csum_none;
	out->csum_bad = rx->csum_bad;
	out->hw_gro_packets = rx->gro_packets;
	out->hw_gro_bytes = rx->gro_bytes;
	out->hw_gro_wire_packets = rx->gro_wire_packets;
	out->hw_gro_wire_bytes = rx->gro_wire_bytes;
}

static void verna_queue_stats_fill_tx(struct netdev_queue_stats_tx *out,
				      const struct verna_tx_xmit_stats *xmit,
				      const struct verna_tx_done_stats *done)
{
	out->packets = done->packets;
	out->bytes = done->bytes;
	out->hw_drops = done->errors;
	out->hw_drop_errors = done->errors;
	out->csum_none = xmit->csum_none;
	out->needs_csum = xmit->needs_csum;
	out->hw_gso_packets = xmit->gso_packets;
	out->hw_gso_bytes = xmit->gso_bytes;
	out->hw_gso_wire_packets = xmit->gso_wire_packets;
	out->hw_gso_wire_bytes = xmit->gso_wire_bytes;
	out->stop = xmit->stops;
	out->wake = done->wakes;
}

/* What the card dropped in an RX queue that exists. */
static u64 verna_rxq_hw_drops(struct verna_channel *chan)
{
	u64 values[VERNA_RXQ_NUM_COUNTERS];

	if (!chan->rx.live ||
	    verna_query_counters(chan->eth->vdev, VERNA_COUNTERS_RXQ, chan->index, values,
				 ARRAY_SIZE(values)))
		return 0;
	return values[VERNA_RXQ_drops];
}

/** verna_queue_stats_keep - before the card forgets a queue @chan: channel; rtnl is held */
void verna_queue_stats_keep(struct verna_channel *chan)
{
	chan->eth->stats[chan->index].rx_hw_drops += verna_rxq_hw_drops(chan);
}

static void verna_queue_stats_rx(struct net_device *netdev, int idx,
				 struct netdev_queue_stats_rx *stats)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_queue_stats copy;

	verna_queue_stats_read(&eth->stats[idx], &copy);
	verna_queue_stats_fill_rx(stats, &copy.rx);
	stats->hw_drops = eth->stats[idx].rx_hw_drops;
	if (eth->chans && idx < eth->chans->num)
		stats->hw_drops += verna_rxq_hw_drops(eth->chans->chan[idx]);
}

static void verna_queue_stats_tx(struct net_device *netdev, int idx,
				 struct netdev_queue_stats_tx *stats)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_queue_stats copy;

	verna_queue_stats_read(&eth->stats[idx], &copy);
	verna_queue_stats_fill_tx(stats, &copy.xmit, &copy.done);
}

/* Adds up groups of nothing but u64. */
static void verna_stats_add(void *sum, const void *part, size_t size)
{
	const u64 *from = part;
	u64 *to = sum;
	u32 i;

	for (i = 0; i < size / sizeof(u64); i++)
		to[i] += from[i];
}

/* Queues beyond those in use still have counters. */
static void verna_base_stats(struct net_device *netdev, struct netdev_queue_stats_rx *rx,
			     struct netdev_queue_stats_tx *tx)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_queue_stats copy, sum = {};
	u32 i;

	for (i = 0; i < eth->max_channels; i++) {
		verna_queue_stats_read(&eth->stats[i], &copy);
		if (i >= netdev->real_num_rx_queues) {
			verna_stats_add(&sum.rx, &copy.rx, sizeof(sum.rx));
			sum.rx_hw_drops += eth->stats[i].rx_hw_drops;
		}
		if (i < netdev->real_num_tx_queues)
			continue;
		verna_stats_add(&sum.xmit, &copy.xmit, sizeof(sum.xmit));
		verna_stats_add(&sum.done, &copy.done, sizeof(sum.done));
	}
	verna_queue_stats_fill_rx(rx, &sum.rx);
	rx->hw_drops = sum.rx_hw_drops;
	verna_queue_stats_fill_tx(tx, &sum.xmit, &sum.done);
}

const struct netdev_stat_ops verna_stat_ops = {
	.get_queue_stats_rx = verna_queue_stats_rx,
	.get_queue_stats_tx = verna_queue_stats_tx,
	.get_base_stats = verna_base_stats,
};
