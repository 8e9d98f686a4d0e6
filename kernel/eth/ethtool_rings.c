// SPDX-License-Identifier: GPL-2.0
/* verna: ethtool: sizes of rings and number of channels. */
#include <linux/ethtool.h>

#include "eth.h"

static u8 verna_max_log_ring(struct verna_eth *eth)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);

	return min(caps->eth.log_max_entries, caps->dev.log_max_cq_entries);
}

void verna_get_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *kernel_ring,
			 struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);

	ring->rx_max_pending = BIT(verna_max_log_ring(eth));
	ring->tx_max_pending = BIT(verna_max_log_ring(eth));
	ring->rx_pending = BIT(eth->params.log_rx);
	ring->tx_pending = BIT(eth->params.log_tx);
}

/* Rings are powers of two; what is asked for is rounded up. */
static u8 verna_log_ring(struct verna_eth *eth, u32 entries)
{
	return min_t(u8, order_base_2(entries), verna_max_log_ring(eth));
}

int verna_set_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			struct kernel_ethtool_ringparam *kernel_ring,
			struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_params params = eth->params;

	if (min(ring->rx_pending, ring->tx_pending) < BIT(VERNA_MIN_LOG_RING)) {
		NL_SET_ERR_MSG_FMT(extack, "a ring has at least %lu entries",
				   BIT(VERNA_MIN_LOG_RING));
		return -EINVAL;
	}
	params.log_rx = verna_log_ring(eth, ring->rx_pending);
	params.log_tx = verna_log_ring(eth, ring->tx_pending);
	if (params.log_rx == eth->params.log_rx && params.log_tx == eth->params.log_tx)
		return 0;
	return verna_eth_reconfigure(eth, &params);
}

void verna_get_channels(struct net_device *netdev, struct ethtool_channels *ch)
{
	struct verna_eth *eth = netdev_priv(netdev);

	ch->max_combined = min(eth->max_channels, verna_max_channels(eth));
	ch->combined_count = eth->params.num;
}

int verna_set_channels(struct net_device *netdev, struct ethtool_channels *ch)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_params params = eth->params;

	/* Channels are pairs: the core has checked the limits. */
	if (!ch->combined_count || ch->rx_count || ch->tx_count || ch->other_count)
		return -EINVAL;
	if (!verna_sched_fits(eth, ch->combined_count))
		return -EBUSY;
	params.num = ch->combined_count;
	if (params.num == eth->params.num)
		return 0;
	/* The core does not count what a rule adds to the queues of its context. */
	if (verna_steer_max_queue(eth) >= (int)params.num)
		return -EINVAL;
	return verna_eth_reconfigure(eth, &params);
}
