// SPDX-License-Identifier: GPL-2.0
/*
 * verna: what the administrator says of VFs (ip link set PF vf N ...). A reset of the
 * PF takes it from the card, so it is kept here, as the command that says all of it.
 */
#include <linux/etherdevice.h>

#include "eth.h"

/* Numbers of functions and vports of VFs; see hw/verna_vport.h. */
static u16 verna_vf_function(int vf)
{
	return vf + 1;
}

u32 verna_vf_vport(int vf)
{
	return verna_vf_function(vf) + 1;
}

static bool verna_vf_exists(struct verna_eth *eth, int vf)
{
	return eth->vports && vf >= 0 && vf < pci_num_vf(verna_pdev(eth->vdev));
}

/* What @change says is also in @all from now on. */
static void verna_vf_keep(struct verna_cmd_set_vport *all,
			  const struct verna_cmd_set_vport *change)
{
	u32 fields = le32_to_cpu(change->fields);

	all->hdr = change->hdr;
	all->fields |= change->fields;
	if (fields & VERNA_VPORT_SET_MAC)
		ether_addr_copy(all->mac, change->mac);
	if (fields & VERNA_VPORT_SET_VLAN) {
		all->vlan = change->vlan;
		all->qos = change->qos;
	}
	if (fields & VERNA_VPORT_SET_SPOOF_CHECK)
		all->spoof_check = change->spoof_check;
	if (fields & VERNA_VPORT_SET_TRUST)
		all->trust = change->trust;
	if (fields & VERNA_VPORT_SET_LINK)
		all->link = change->link;
	if (fields & VERNA_VPORT_SET_RATE)
		all->max_kbps = change->max_kbps;
	if (fields & VERNA_VPORT_SET_MIN_RATE)
		all->min_kbps = change->min_kbps;
	if (fields & VERNA_VPORT_SET_RATE_PARENT)
		all->rate_parent = change->rate_parent;
	if (fields & VERNA_VPORT_SET_RATE_PRIORITY)
		all->rate_priority = change->rate_priority;
	if (fields & VERNA_VPORT_SET_RATE_WEIGHT)
		all->rate_weight = change->rate_weight;
}

static int verna_vf_command(struct verna_eth *eth, int vf,
			    struct verna_cmd_set_vport *change)
{
	struct verna_cmd_result res;

	change->hdr.opcode = cpu_to_le16(VERNA_CMD_SET_VPORT);
	change->hdr.function = cpu_to_le16(verna_vf_function(vf));
	return verna_cmd_exec_quiet(eth->vdev, change, sizeof(*change), &res);
}

/**
 * verna_vf_change - say something of a VF
 * @netdev: interface of the PF; rtnl is held
 * @vf: VF
 * @change: fields, and what they name, are set
 *
 * Return: 0, -EINVAL if there is no such VF, or an error of the command.
 */
int verna_vf_change(struct net_device *netdev, int vf, struct verna_cmd_set_vport *change)
{
	struct verna_eth *eth = netdev_priv(netdev);
	int err;

	if (!verna_vf_exists(eth, vf))
		return -EINVAL;
	err = verna_vf_command(eth, vf, change);
	if (!err)
		verna_vf_keep(&eth->vports[vf], change);
	return err;
}

/**
 * verna_vf_leave_tree - a VF is at the top of the tree of rates again, as in the beginning
 * @eth: interface of the PF; rtnl is held
 * @vf: VF, whether it is there or not; nor does the card have to be
 */
void verna_vf_leave_tree(struct verna_eth *eth, int vf)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_RATE_PARENT |
				      VERNA_VPORT_SET_RATE_PRIORITY |
				      VERNA_VPORT_SET_RATE_WEIGHT),
	};

	verna_vf_command(eth, vf, &change);
	verna_vf_keep(&eth->vports[vf], &change);
}

int verna_set_vf_mac(struct net_device *netdev, int vf, u8 *mac)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_MAC),
	};

	ether_addr_copy(change.mac, mac);
	return verna_vf_change(netdev, vf, &change);
}

int verna_set_vf_vlan(struct net_device *netdev, int vf, u16 vlan, u8 qos, __be16 proto)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_VLAN),
		.vlan = cpu_to_le16(vlan),
		.qos = qos,
	};

	if (proto != htons(ETH_P_8021Q))
		return -EPROTONOSUPPORT;
	/* It would have no effect: rules push and pop tags. */
	if (verna_rep_is_uplink(netdev_priv(netdev)))
		return -EOPNOTSUPP;
	return verna_vf_change(netdev, vf, &change);
}

/* In Mbit/s. */
int verna_set_vf_rate(struct net_device *netdev, int vf, int min, int max)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_RATE | VERNA_VPORT_SET_MIN_RATE),
		.max_kbps = cpu_to_le32(max * 1000U),
		.min_kbps = cpu_to_le32(min * 1000U),
	};

	if (min < 0 || max < 0 || min > U32_MAX / 1000 || max > U32_MAX / 1000)
		return -ERANGE;
	return verna_vf_change(netdev, vf, &change);
}

/** verna_vf_set_parent - put a VF below a rate node @eth: interface @vf: VF @id: node or 0 */
int verna_vf_set_parent(struct verna_eth *eth, int vf, u32 id)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_RATE_PARENT),
		.rate_parent = cpu_to_le16(id),
	};

	return verna_vf_change(eth->netdev, vf, &change);
}

int verna_set_vf_spoofchk(struct net_device *netdev, int vf, bool on)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_SPOOF_CHECK),
		.spoof_check = on,
	};

	return verna_vf_change(netdev, vf, &change);
}

int verna_set_vf_trust(struct net_device *netdev, int vf, bool on)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_TRUST),
		.trust = on,
	};

	return verna_vf_change(netdev, vf, &change);
}

static_assert(IFLA_VF_LINK_STATE_AUTO == (int)VERNA_VPORT_LINK_AUTO);
static_assert(IFLA_VF_LINK_STATE_ENABLE == (int)VERNA_VPORT_LINK_UP);
static_assert(IFLA_VF_LINK_STATE_DISABLE == (int)VERNA_VPORT_LINK_DOWN);

int verna_set_vf_link_state(struct net_device *netdev, int vf, int state)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_LINK),
		.link = state,
	};

	if (state < IFLA_VF_LINK_STATE_AUTO || state > IFLA_VF_LINK_STATE_DISABLE)
		return -EINVAL;
	return verna_vf_change(netdev, vf, &change);
}

int verna_get_vf_config(struct net_device *netdev, int vf, struct ifla_vf_info *info)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_vport_state state;
	int err;

	if (!verna_vf_exists(eth, vf))
		return -EINVAL;
	err = verna_cmd_query_function(eth->vdev, VERNA_CMD_QUERY_VPORT,
				       verna_vf_function(vf), &state, sizeof(state));
	if (err < 0)
		return err;
	info->vf = vf;
	ether_addr_copy(info->mac, state.mac);
	info->vlan = le16_to_cpu(state.vlan);
	info->qos = state.qos;
	info->vlan_proto = htons(ETH_P_8021Q);
	info->spoofchk = state.spoof_check;
	info->trusted = state.trust;
	info->linkstate = state.link;
	info->min_tx_rate = le32_to_cpu(state.min_kbps) / 1000;
	info->max_tx_rate = le32_to_cpu(state.max_kbps) / 1000;
	return 0;
}

int verna_get_vf_stats(struct net_device *netdev, int vf, struct ifla_vf_stats *stats)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u64 vport[VERNA_VPORT_NUM_COUNTERS];
	u32 i;
	int err;

	if (!verna_vf_exists(eth, vf))
		return -EINVAL;
	err = verna_query_counters(eth->vdev, VERNA_COUNTERS_VPORT, verna_vf_vport(vf),
				   vport, ARRAY_SIZE(vport));
	if (err)
		return err;
	stats->rx_packets = vport[VERNA_VPORT_rx_frames];
	stats->rx_bytes = vport[VERNA_VPORT_rx_bytes];
	stats->multicast = vport[VERNA_VPORT_rx_multicast];
	stats->broadcast = vport[VERNA_VPORT_rx_broadcast];
	stats->rx_dropped = vport[VERNA_VPORT_rx_drop_full] +
			    vport[VERNA_VPORT_rx_drop_oversize] +
			    vport[VERNA_VPORT_rx_drop_disabled];
	stats->tx_packets = vport[VERNA_VPORT_tx_frames];
	stats->tx_bytes = vport[VERNA_VPORT_tx_bytes];
	for (i = VERNA_VPORT_tx_drop_down; i <= VERNA_VPORT_tx_drop_nobody; i++)
		stats->tx_dropped += vport[i];
	for (i = VERNA_VPORT_tx_drop_rule; i <= VERNA_VPORT_tx_drop_edit; i++)
		stats->tx_dropped += vport[i];
	return 0;
}

/**
 * verna_vfs_replay - tell a card that was reset what it knew of its VFs
 * @eth: interface; rtnl is held
 *
 * Return: 0 or an error of a command.
 */
int verna_vfs_replay(struct verna_eth *eth)
{
	u32 i, num = verna_caps(eth->vdev)->vport.max_vfs;
	int err = 0;

	for (i = 0; eth->vports && i < num && !err; i++) {
		if (!eth->vports[i].fields)
			continue;
		eth->vports[i].rate_parent = cpu_to_le16(verna_rate_leaf_parent(eth, i));
		err = verna_cmd_exec(eth->vdev, &eth->vports[i], sizeof(eth->vports[i]),
				     NULL);
	}
	return err;
}

/**
 * verna_vfs_init - room for what is said of VFs, if the card has any
 * @eth: interface, not registered yet
 *
 * Return: 0 or -ENOMEM.
 */
int verna_vfs_init(struct verna_eth *eth)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);

	INIT_LIST_HEAD(&eth->rates.nodes);
	if (!caps->vport.present)
		return 0;
	eth->vports = kcalloc(caps->vport.max_vfs, sizeof(*eth->vports), GFP_KERNEL);
	eth->rates.parents = kcalloc(caps->vport.max_vfs, sizeof(*eth->rates.parents),
				     GFP_KERNEL);
	if (eth->vports && eth->rates.parents)
		return 0;
	verna_vfs_exit(eth);
	return -ENOMEM;
}

/** verna_vfs_exit - undoes verna_vfs_init() @eth: interface */
void verna_vfs_exit(struct verna_eth *eth)
{
	kfree(eth->rates.parents);
	kfree(eth->vports);
	eth->vports = NULL;
}
