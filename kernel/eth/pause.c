// SPDX-License-Identifier: GPL-2.0
/*
 * verna: link pause (IEEE 802.3 annex 31B). There is no autonegotiation: both ends are set by
 * hand. It stops everything on the port, queue pairs too.
 */
#include "eth.h"

static bool verna_can_pause(struct verna_eth *eth)
{
	return verna_caps(eth->vdev)->eth.features & VERNA_ETH_F_PAUSE;
}

static int verna_send_pause(struct verna_eth *eth, bool rx, bool tx)
{
	struct verna_cmd_set_pause cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_PAUSE),
		.rx = rx,
		.tx = tx,
	};

	return verna_cmd_exec(eth->vdev, &cmd, sizeof(cmd), NULL);
}

/**
 * verna_pause_start - tell a card that may have been reset what was set
 * @eth: interface
 *
 * Return: 0 or an error of the command.
 */
int verna_pause_start(struct verna_eth *eth)
{
	if (!eth->rx_pause && !eth->tx_pause)
		return 0;
	return verna_send_pause(eth, eth->rx_pause, eth->tx_pause);
}

void verna_get_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	struct verna_eth *eth = netdev_priv(netdev);

	pause->autoneg = AUTONEG_DISABLE;
	pause->rx_pause = eth->rx_pause;
	pause->tx_pause = eth->tx_pause;
}

int verna_set_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause)
{
	struct verna_eth *eth = netdev_priv(netdev);
	int err;

	if (!verna_can_pause(eth))
		return -EOPNOTSUPP;
	if (pause->autoneg)
		return -EINVAL;
	err = verna_send_pause(eth, pause->rx_pause, pause->tx_pause);
	if (err)
		return err;
	eth->rx_pause = pause->rx_pause;
	eth->tx_pause = pause->tx_pause;
	return 0;
}

void verna_get_pause_stats(struct net_device *netdev, struct ethtool_pause_stats *stats)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u64 port[VERNA_PORT_NUM_COUNTERS];

	if (!verna_can_pause(eth) ||
	    verna_query_counters(eth->vdev, VERNA_COUNTERS_PORT, 0, port, ARRAY_SIZE(port)))
		return;
	stats->tx_pause_frames = port[VERNA_PORT_tx_pause];
	stats->rx_pause_frames = port[VERNA_PORT_rx_pause];
}
