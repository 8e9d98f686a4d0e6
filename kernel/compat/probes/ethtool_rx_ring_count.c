// SPDX-License-Identifier: GPL-2.0
/* The number of RX rings is asked for by itself, not by get_rxnfc(). */
#include <linux/ethtool.h>

u32 count(struct net_device *netdev);

const struct ethtool_ops probe = {
	.get_rx_ring_count = count,
};
