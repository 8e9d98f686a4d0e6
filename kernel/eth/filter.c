// SPDX-License-Identifier: GPL-2.0
/*
 * verna: which frames the card lets in. The stack tells of changes in atomic
 * context, so a work compares what it wants with what the card has, and sends the
 * difference. What does not fit into the card's table is had by promiscuous mode.
 */
#include <linux/etherdevice.h>

#include "eth.h"

/**
 * struct verna_wanted - what the stack wants
 * @mode: VERNA_RX_MODE_*
 * @num: addresses
 * @max: of them that fit
 * @macs: the addresses
 */
struct verna_wanted {
	u32 mode;
	u32 num;
	u32 max;
	u8 (*macs)[ETH_ALEN];
};

static void verna_want_list(struct verna_wanted *wanted,
			    const struct netdev_hw_addr_list *list, u32 overflow)
{
	struct netdev_hw_addr *ha;

	netdev_hw_addr_list_for_each(ha, list) {
		if (wanted->num == wanted->max) {
			wanted->mode |= overflow;
			return;
		}
		ether_addr_copy(wanted->macs[wanted->num++], ha->addr);
	}
}

static void verna_want(struct verna_eth *eth, struct verna_wanted *wanted)
{
	struct net_device *netdev = eth->netdev;

	netif_addr_lock_bh(netdev);
	wanted->mode = VERNA_RX_MODE_ENABLE;
	if (netdev->flags & IFF_PROMISC)
		wanted->mode |= VERNA_RX_MODE_PROMISC;
	if (netdev->flags & IFF_ALLMULTI)
		wanted->mode |= VERNA_RX_MODE_ALLMULTI;
	ether_addr_copy(wanted->macs[wanted->num++], netdev->dev_addr);
	verna_want_list(wanted, &netdev->uc, VERNA_RX_MODE_PROMISC);
	verna_want_list(wanted, &netdev->mc, VERNA_RX_MODE_ALLMULTI);
	netif_addr_unlock_bh(netdev);
}

static bool verna_mac_listed(const u8 (*macs)[ETH_ALEN], u32 num, const u8 *mac)
{
	u32 i;

	for (i = 0; i < num; i++)
		if (ether_addr_equal(macs[i], mac))
			return true;
	return false;
}

static int verna_filter_cmd(struct verna_eth *eth, u16 opcode, const u8 *mac)
{
	struct verna_cmd_mac cmd = { .hdr.opcode = cpu_to_le16(opcode) };
	struct verna_cmd_result res;
	int err;

	ether_addr_copy(cmd.mac, mac);
	err = verna_cmd_exec_quiet(eth->vdev, &cmd, sizeof(cmd), &res);
	/* The end that was asked for is there. */
	if (err == -EEXIST || err == -ENOENT)
		return 0;
	return err;
}

/**
 * verna_filter_may - whether the card lets this function have an address
 * @eth: interface
 * @mac: unicast address
 *
 * Return: 0, or -EPERM: it is a VF that nobody trusts.
 */
int verna_filter_may(struct verna_eth *eth, const u8 *mac)
{
	int err = 0;

	mutex_lock(&eth->filter.lock);
	if (verna_function(eth->vdev) && verna_dev_is_up(eth->vdev) &&
	    !verna_mac_listed(eth->filter.macs, eth->filter.num, mac)) {
		err = verna_filter_cmd(eth, VERNA_CMD_ADD_MAC, mac);
		if (!err)
			verna_filter_cmd(eth, VERNA_CMD_DEL_MAC, mac);
	}
	mutex_unlock(&eth->filter.lock);
	return err == -EACCES ? -EPERM : 0;
}

static void verna_filter_set_mode(struct verna_eth *eth, u32 mode)
{
	struct verna_cmd_rx_mode cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_RX_MODE),
		.mode = cpu_to_le32(mode),
	};

	if (mode == eth->filter.mode)
		return;
	if (!verna_cmd_exec(eth->vdev, &cmd, sizeof(cmd), NULL))
		eth->filter.mode = mode;
}

static void verna_filter_remove_unwanted(struct verna_eth *eth,
					 const struct verna_wanted *wanted)
{
	struct verna_filter *filter = &eth->filter;
	u32 i = 0;

	while (i < filter->num) {
		const u8 *mac = filter->macs[i];

		if (verna_mac_listed(wanted->macs, wanted->num, mac) ||
		    verna_filter_cmd(eth, VERNA_CMD_DEL_MAC, mac)) {
			i++;
			continue;
		}
		memmove(filter->macs[i], filter->macs[--filter->num], ETH_ALEN);
	}
}

static void verna_filter_add_missing(struct verna_eth *eth, struct verna_wanted *wanted)
{
	struct verna_filter *filter = &eth->filter;
	u32 i;

	for (i = 0; i < wanted->num; i++) {
		const u8 *mac = wanted->macs[i];

		if (verna_mac_listed(filter->macs, filter->num, mac))
			continue;
		if (filter->num == wanted->max ||
		    verna_filter_cmd(eth, VERNA_CMD_ADD_MAC, mac)) {
			wanted->mode |= is_multicast_ether_addr(mac) ?
					VERNA_RX_MODE_ALLMULTI : VERNA_RX_MODE_PROMISC;
			continue;
		}
		ether_addr_copy(filter->macs[filter->num++], mac);
	}
}

/* Makes the card let in what the stack wants. Caller holds the filter's lock. */
static void verna_filter_sync(struct verna_eth *eth)
{
	struct verna_wanted wanted = {
		.max = verna_caps(eth->vdev)->eth.max_mac_filters,
	};

	if (!eth->filter.enabled || !verna_dev_is_up(eth->vdev))
		return;
	wanted.macs = kcalloc(wanted.max, ETH_ALEN, GFP_KERNEL);
	if (!wanted.macs) {
		/* Too much is better than nothing. */
		verna_filter_set_mode(eth, VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC);
		return;
	}
	verna_want(eth, &wanted);
	verna_filter_remove_unwanted(eth, &wanted);
	verna_filter_add_missing(eth, &wanted);
	verna_filter_set_mode(eth, wanted.mode);
	kfree(wanted.macs);
}

void verna_filter_work(struct work_struct *work)
{
	struct verna_eth *eth = container_of(work, struct verna_eth, filter_work);

	mutex_lock(&eth->filter.lock);
	verna_filter_sync(eth);
	mutex_unlock(&eth->filter.lock);
}

/**
 * verna_filter_set - turn reception on or off
 * @eth: interface
 * @enabled: which
 */
void verna_filter_set(struct verna_eth *eth, bool enabled)
{
	mutex_lock(&eth->filter.lock);
	eth->filter.enabled = enabled;
	if (enabled)
		verna_filter_sync(eth);
	else if (verna_dev_is_up(eth->vdev))
		verna_filter_set_mode(eth, 0);
	mutex_unlock(&eth->filter.lock);
}

/** verna_filter_forget - the card was reset and has no filters @eth: interface */
void verna_filter_forget(struct verna_eth *eth)
{
	mutex_lock(&eth->filter.lock);
	eth->filter.enabled = false;
	eth->filter.num = 0;
	eth->filter.mode = 0;
	mutex_unlock(&eth->filter.lock);
}

int verna_filter_init(struct verna_eth *eth)
{
	u32 max = verna_caps(eth->vdev)->eth.max_mac_filters;

	if (!max)
		return -EINVAL;
	mutex_init(&eth->filter.lock);
	eth->filter.macs = kcalloc(max, ETH_ALEN, GFP_KERNEL);
	return eth->filter.macs ? 0 : -ENOMEM;
}

void verna_filter_free(struct verna_eth *eth)
{
	kfree(eth->filter.macs);
	mutex_destroy(&eth->filter.lock);
}
