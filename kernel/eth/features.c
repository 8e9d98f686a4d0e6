// SPDX-License-Identifier: GPL-2.0
/*
 * verna: features of the netdev, and what the card must be told of them. One
 * command sets all receive features, so that a change is had as a whole or not at
 * all; after a reset it is given again.
 */
#include "eth.h"

static const struct {
	netdev_features_t feature;
	u32 on;
} verna_rx_features[] = {
	{ NETIF_F_HW_VLAN_CTAG_RX, VERNA_ETH_ON_STRIP },
	{ NETIF_F_HW_VLAN_STAG_RX, VERNA_ETH_ON_STRIP_S },
	{ NETIF_F_HW_VLAN_CTAG_FILTER, VERNA_ETH_ON_FILTER },
	{ NETIF_F_HW_VLAN_STAG_FILTER, VERNA_ETH_ON_FILTER_S },
	{ NETIF_F_LOOPBACK, VERNA_ETH_ON_LOOPBACK },
};

#define VERNA_NETIF_F_VLAN	(NETIF_F_HW_VLAN_CTAG_RX | NETIF_F_HW_VLAN_STAG_RX | \
				 NETIF_F_HW_VLAN_CTAG_FILTER | NETIF_F_HW_VLAN_STAG_FILTER)

static int verna_features_apply(struct verna_eth *eth, netdev_features_t features)
{
	struct verna_cmd_eth_features cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_ETH_FEATURES),
	};
	u32 on = 0, i;

	if (!(verna_caps(eth->vdev)->eth.features & (VERNA_ETH_F_RX_VLAN | VERNA_ETH_F_RX_MERGE |
						     VERNA_ETH_F_LOOPBACK)))
		return 0;
	for (i = 0; i < ARRAY_SIZE(verna_rx_features); i++)
		if (features & verna_rx_features[i].feature)
			on |= verna_rx_features[i].on;
	if (features & NETIF_F_GRO_HW)
		on |= verna_gro_rules();
	cmd.features = cpu_to_le32(on);
	/* A packet may wait for others as long as its interrupt may wait for others. */
	if (!eth->coalesce_all.rx.adaptive)
		cmd.merge_ns = cpu_to_le32(eth->coalesce_all.rx.usecs * NSEC_PER_USEC);
	cmd.merge_bytes = cpu_to_le32(verna_rx_max_merged(&eth->params));
	return verna_cmd_exec(eth->vdev, &cmd, sizeof(cmd), NULL);
}

/**
 * verna_features_setup - what the netdev can do, and does by default
 * @eth: interface, not registered yet
 */
void verna_features_setup(struct verna_eth *eth)
{
	u32 caps = verna_caps(eth->vdev)->eth.features;
	struct net_device *netdev = eth->netdev;

	netdev->hw_features = NETIF_F_SG;
	netdev->vlan_features = NETIF_F_SG | NETIF_F_HIGHDMA;
	if (eth->rss.size)
		netdev->hw_features |= NETIF_F_RXHASH;
	if (caps & VERNA_ETH_F_RX_CSUM)
		netdev->hw_features |= NETIF_F_RXCSUM;
	if (caps & VERNA_ETH_F_RX_VLAN)
		netdev->hw_features |= VERNA_NETIF_F_VLAN;
	if (caps & VERNA_ETH_F_RX_MERGE)
		netdev->hw_features |= NETIF_F_GRO_HW;
	if (verna_steer_supported(eth))
		netdev->hw_features |= NETIF_F_NTUPLE;
	netdev->features = netdev->hw_features | NETIF_F_HIGHDMA;
	eth->params.merge = !!(netdev->features & NETIF_F_GRO_HW);
	/* Off at first: what is offloaded is scheduled twice, in the qdisc and in the card. */
	if (caps & VERNA_ETH_F_TX_CLASSES || verna_steer_supported(eth))
		netdev->hw_features |= NETIF_F_HW_TC;
	if (caps & VERNA_ETH_F_LOOPBACK)
		netdev->hw_features |= NETIF_F_LOOPBACK;
}

/**
 * verna_features_merge - merging on or off for now; also after a change of rx-usecs
 * @eth: interface; rtnl is held
 * @merge: as the features say, else off
 *
 * Return: 0 or an error of the command.
 */
int verna_features_merge(struct verna_eth *eth, bool merge)
{
	netdev_features_t features = eth->netdev->features;

	if (!(features & NETIF_F_GRO_HW) || !verna_dev_is_up(eth->vdev))
		return 0;
	return verna_features_apply(eth, merge ? features : features & ~NETIF_F_GRO_HW);
}

/**
 * verna_fix_features - ndo_fix_features
 * @netdev: interface
 * @features: as they are wanted
 *
 * What merging needs besides is netdev's own to know.
 * Return: as they can be.
 */
netdev_features_t verna_fix_features(struct net_device *netdev,
				     netdev_features_t features)
{
	struct verna_eth *eth = netdev_priv(netdev);

	/* Programs see packets as they were sent. */
	return eth->xdp_prog ? features & ~NETIF_F_GRO_HW : features;
}

/* Buffers of the size that suits merged packets, or of that which the MTU wants. */
static int verna_set_merge_buffers(struct verna_eth *eth, bool merge)
{
	struct verna_params params = eth->params;

	params.merge = merge;
	if (verna_rx_same_buffers(&eth->params, &params)) {
		eth->params.merge = merge;
		return 0;
	}
	return verna_eth_reconfigure(eth, &params);
}

/**
 * verna_set_features - ndo_set_features
 * @netdev: interface
 * @features: as they are to be
 *
 * Return: 0 or an error; nothing has changed then.
 */
int verna_set_features(struct net_device *netdev, netdev_features_t features)
{
	struct verna_eth *eth = netdev_priv(netdev);
	bool merge = features & NETIF_F_GRO_HW;
	int err;

	if (!(features & NETIF_F_HW_TC) && netdev->features & NETIF_F_HW_TC &&
	    verna_tc_has_rules(&eth->tc, VERNA_VPORT_UPLINK)) {
		netdev_err(netdev, "hw-tc-offload stays on while tc has rules in the card\n");
		return -EBUSY;
	}
	/* Large buffers are there before large packets come, and until they are gone. */
	if (merge) {
		err = verna_set_merge_buffers(eth, true);
		if (err)
			return err;
	}
	/* A card that is down is told when it comes up. */
	err = verna_dev_is_up(eth->vdev) ? verna_features_apply(eth, features) : 0;
	if (err)
		merge = netdev->features & NETIF_F_GRO_HW;
	if (!merge && verna_set_merge_buffers(eth, false))
		netdev_warn(netdev, "no memory for smaller buffers, the large ones stay\n");
	if (err)
		return err;
	verna_steer_features(eth, features);
	WRITE_ONCE(eth->loopback, !!(features & NETIF_F_LOOPBACK));
	queue_work(eth->wq, &eth->link_work);
	return 0;
}

static int verna_vlan_cmd(struct verna_eth *eth, u16 opcode, bool stag, u16 vid)
{
	struct verna_cmd_vlan cmd = {
		.hdr.opcode = cpu_to_le16(opcode),
		.vid = cpu_to_le16(vid),
		.tpid = cpu_to_le16(stag ? ETH_P_8021AD : ETH_P_8021Q),
	};
	struct verna_cmd_result res;
	int err;

	err = verna_cmd_exec_quiet(eth->vdev, &cmd, sizeof(cmd), &res);
	/* The end that was asked for is there. */
	return err == -EEXIST || err == -ENOENT ? 0 : err;
}

/**
 * verna_vlan_rx_add_vid - ndo_vlan_rx_add_vid
 * @netdev: interface
 * @proto: of the tag
 * @vid: VLAN
 *
 * Return: 0 or an error of the command.
 */
int verna_vlan_rx_add_vid(struct net_device *netdev, __be16 proto, u16 vid)
{
	struct verna_eth *eth = netdev_priv(netdev);
	bool stag = proto == htons(ETH_P_8021AD);
	int err = 0;

	if (verna_dev_is_up(eth->vdev))
		err = verna_vlan_cmd(eth, VERNA_CMD_ADD_VLAN, stag, vid);
	if (!err)
		__set_bit(vid, eth->vlans[stag]);
	return err;
}

/**
 * verna_vlan_rx_kill_vid - ndo_vlan_rx_kill_vid
 * @netdev: interface
 * @proto: of the tag
 * @vid: VLAN
 *
 * Return: 0 or an error of the command.
 */
int verna_vlan_rx_kill_vid(struct net_device *netdev, __be16 proto, u16 vid)
{
	struct verna_eth *eth = netdev_priv(netdev);
	bool stag = proto == htons(ETH_P_8021AD);

	__clear_bit(vid, eth->vlans[stag]);
	if (!verna_dev_is_up(eth->vdev))
		return 0;
	return verna_vlan_cmd(eth, VERNA_CMD_DEL_VLAN, stag, vid);
}

/**
 * verna_features_restore - tell a card that knows nothing yet
 * @eth: interface; rtnl is held, or it is not registered yet
 *
 * Return: 0 or an error of a command.
 */
int verna_features_restore(struct verna_eth *eth)
{
	u32 stag, vid;
	int err;

	err = verna_features_apply(eth, eth->netdev->features);
	for (stag = 0; stag < ARRAY_SIZE(eth->vlans); stag++) {
		for_each_set_bit(vid, eth->vlans[stag], VLAN_N_VID) {
			if (err)
				return err;
			err = verna_vlan_cmd(eth, VERNA_CMD_ADD_VLAN, stag, vid);
		}
	}
	WRITE_ONCE(eth->loopback, !!(eth->netdev->features & NETIF_F_LOOPBACK));
	return err;
}
