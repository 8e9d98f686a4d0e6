// SPDX-License-Identifier: GPL-2.0
/* verna: the network interface. */
#include <linux/etherdevice.h>
#include <linux/ethtool.h>
#include <linux/module.h>
#include <linux/unaligned.h>
#include <net/netdev_queues.h>

#include "eth.h"

#define VERNA_TX_TIMEOUT	(5 * HZ)

static int verna_open(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);
	int err;

	err = verna_eth_open_channels(eth);
	if (err)
		return err;
	queue_work(eth->wq, &eth->link_work);
	return 0;
}

static int verna_close(struct net_device *netdev)
{
	verna_eth_close_channels(netdev_priv(netdev));
	return 0;
}

static void verna_set_rx_mode(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);

	queue_work(eth->wq, &eth->filter_work);
}

static int verna_set_mac_address(struct net_device *netdev, void *addr)
{
	int err;

	err = eth_prepare_mac_addr_change(netdev, addr);
	if (!err)
		err = verna_filter_may(netdev_priv(netdev), ((struct sockaddr *)addr)->sa_data);
	if (err)
		return err;
	eth_commit_mac_addr_change(netdev, addr);
	verna_set_rx_mode(netdev);
	return 0;
}

/**
 * verna_eth_set_hw_mtu - tell the card the MTU
 * @eth: interface
 * @mtu: without Ethernet header
 *
 * Return: 0 or an error of the command.
 */
int verna_eth_set_hw_mtu(struct verna_eth *eth, u32 mtu)
{
	struct verna_cmd_mtu cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_MTU),
		.mtu = cpu_to_le32(mtu),
	};

	return verna_cmd_exec(eth->vdev, &cmd, sizeof(cmd), NULL);
}

/*
 * Buffers of any size take packets of any size, so the card's limit and the size
 * of buffers need not change together; the queues are only made anew if buffers
 * of another size suit the MTU better.
 */
static int verna_change_mtu(struct net_device *netdev, int mtu)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_params params = eth->params;
	int err;

	if (!verna_xdp_check_mtu(eth->xdp_prog, mtu)) {
		netdev_warn(netdev, "the XDP program takes one buffer only\n");
		return -EINVAL;
	}
	err = verna_eth_set_hw_mtu(eth, mtu);
	if (err)
		return err;
	params.mtu = mtu;
	if (!verna_rx_same_buffers(&eth->params, &params))
		err = verna_eth_reconfigure(eth, &params);
	if (err && eth->chans)
		netdev_warn(netdev, "no memory for better buffers\n");
	else if (err)
		return err;
	WRITE_ONCE(netdev->mtu, mtu);
	return 0;
}

static void verna_tx_timeout(struct net_device *netdev, unsigned int txq)
{
	struct verna_eth *eth = netdev_priv(netdev);

	if (!READ_ONCE(eth->restarting))
		verna_health_queue_error(eth->vdev, VERNA_QUEUE_TX, "TX timeout", txq, true);
}

static const struct net_device_ops verna_netdev_ops = {
	.ndo_open = verna_open,
	.ndo_stop = verna_close,
	.ndo_start_xmit = verna_xmit,
	.ndo_features_check = verna_features_check,
	.ndo_set_rx_mode = verna_set_rx_mode,
	.ndo_set_mac_address = verna_set_mac_address,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_change_mtu = verna_change_mtu,
	.ndo_fix_features = verna_fix_features,
	.ndo_set_features = verna_set_features,
	.ndo_vlan_rx_add_vid = verna_vlan_rx_add_vid,
	.ndo_vlan_rx_kill_vid = verna_vlan_rx_kill_vid,
#ifdef CONFIG_RFS_ACCEL
	.ndo_rx_flow_steer = verna_rx_flow_steer,
#endif
	.ndo_tx_timeout = verna_tx_timeout,
	.ndo_setup_tc = verna_setup_tc,
	.ndo_set_tx_maxrate = verna_set_tx_maxrate,
	.ndo_get_stats64 = verna_get_stats64,
	.ndo_bpf = verna_bpf,
	.ndo_xdp_xmit = verna_xdp_xmit,
	.ndo_set_vf_mac = verna_set_vf_mac,
	.ndo_set_vf_vlan = verna_set_vf_vlan,
	.ndo_set_vf_rate = verna_set_vf_rate,
	.ndo_set_vf_spoofchk = verna_set_vf_spoofchk,
	.ndo_set_vf_trust = verna_set_vf_trust,
	.ndo_set_vf_link_state = verna_set_vf_link_state,
	.ndo_get_vf_config = verna_get_vf_config,
	.ndo_get_vf_stats = verna_get_vf_stats,
	.ndo_get_port_parent_id = verna_get_port_parent_id,
	.ndo_get_phys_port_name = verna_get_phys_port_name,
};

static void verna_mac_of_card(struct verna_eth *eth, u8 *mac)
{
	u32 lo = verna_reg_read(eth->vdev, VERNA_REG_MAC_LO);
	u32 hi = verna_reg_read(eth->vdev, VERNA_REG_MAC_HI);

	put_unaligned_le32(lo, mac);
	put_unaligned_le16(hi, mac + 4);
}

/**
 * verna_mac_refresh - a VF that comes up again may have been given another address
 * @eth: interface, attached; rtnl is held
 */
void verna_mac_refresh(struct verna_eth *eth)
{
	struct net_device *netdev = eth->netdev;
	struct sockaddr addr = { .sa_family = netdev->type };

	verna_mac_of_card(eth, addr.sa_data);
	if (!is_valid_ether_addr(addr.sa_data) ||
	    ether_addr_equal(netdev->perm_addr, addr.sa_data))
		return;
	ether_addr_copy(netdev->perm_addr, addr.sa_data);
	if (dev_set_mac_address(netdev, &addr, NULL))
		netdev_warn(netdev, "the new address %pM is refused\n", addr.sa_data);
}

static void verna_read_mac(struct verna_eth *eth)
{
	u8 mac[ETH_ALEN];

	verna_mac_of_card(eth, mac);
	if (is_valid_ether_addr(mac)) {
		eth_hw_addr_set(eth->netdev, mac);
		ether_addr_copy(eth->netdev->perm_addr, mac);
		return;
	}
	eth_hw_addr_random(eth->netdev);
	netdev_warn(eth->netdev, "card has no MAC address, using a random one\n");
}

static void verna_netdev_setup(struct verna_eth *eth)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);
	struct net_device *netdev = eth->netdev;

	SET_NETDEV_DEV(netdev, verna_device(eth->vdev));
	netdev->netdev_ops = &verna_netdev_ops;
	netdev->ethtool_ops = &verna_ethtool_ops;
	netdev->stat_ops = &verna_stat_ops;
	netdev->xdp_metadata_ops = &verna_xdp_metadata_ops;
	netdev->xdp_features = NETDEV_XDP_ACT_BASIC | NETDEV_XDP_ACT_REDIRECT |
			       NETDEV_XDP_ACT_NDO_XMIT | NETDEV_XDP_ACT_RX_SG |
			       NETDEV_XDP_ACT_NDO_XMIT_SG;
	netdev->watchdog_timeo = VERNA_TX_TIMEOUT;
	netdev->priv_flags |= IFF_UNICAST_FLT | IFF_LIVE_ADDR_CHANGE;
	netdev->min_mtu = max_t(u32, caps->eth.min_mtu, ETH_MIN_MTU);
	netdev->max_mtu = caps->eth.max_mtu;
	verna_features_setup(eth);
	verna_tx_offload_init(eth);
	if (caps->eswitch.present) {
		netdev->hw_features |= NETIF_F_HW_TC;
		/* Packets of representors say by it where they go. */
		netif_keep_dst(netdev);
	}
	netif_carrier_off(netdev);
	netif_tx_stop_all_queues(netdev); /* representors look, until they are started */
}

static void verna_params_default(struct verna_eth *eth)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);
	u8 max = min(caps->eth.log_max_entries, caps->dev.log_max_cq_entries);

	eth->params.num = min(eth->max_channels, num_online_cpus());
	eth->params.log_tx = min_t(u8, VERNA_DEF_LOG_TX, max);
	eth->params.log_rx = min_t(u8, VERNA_DEF_LOG_RX, max);
	eth->params.mtu = ETH_DATA_LEN;
}

static int verna_eth_init(struct verna_eth *eth)
{
	u32 i;
	int err;

	INIT_WORK(&eth->link_work, verna_link_work);
	INIT_WORK(&eth->filter_work, verna_filter_work);
	INIT_DELAYED_WORK(&eth->totals_work, verna_totals_work);
	spin_lock_init(&eth->totals.lock);
	verna_steer_init(eth);
	verna_arfs_init(eth);
	verna_params_default(eth);

	eth->stats = kcalloc(eth->max_channels, sizeof(*eth->stats), GFP_KERNEL);
	if (!eth->stats)
		return -ENOMEM;
	for (i = 0; i < eth->max_channels; i++) {
		u64_stats_init(&eth->stats[i].xmit_sync);
		u64_stats_init(&eth->stats[i].done_sync);
		u64_stats_init(&eth->stats[i].rx_sync);
	}
	err = verna_coalesce_init(eth);
	if (err)
		goto free_stats;
	err = verna_filter_init(eth);
	if (err)
		goto free_coalesce;
	err = verna_rss_init(eth);
	if (err)
		goto free_filter;
	err = verna_vfs_init(eth);
	if (err)
		goto free_rss;
	err = verna_reps_init(eth);
	if (err)
		goto free_vports;
	err = -ENOMEM;
	eth->wq = alloc_ordered_workqueue("verna-%s", 0, pci_name(verna_pdev(eth->vdev)));
	if (!eth->wq)
		goto exit_reps;
	return 0;

exit_reps:
	verna_reps_exit(eth);
free_vports:
	verna_vfs_exit(eth);
free_rss:
	verna_rss_free(eth);
free_filter:
	verna_filter_free(eth);
free_coalesce:
	verna_coalesce_free(eth);
free_stats:
	kfree(eth->stats);
	return err;
}

static void verna_eth_exit(struct verna_eth *eth)
{
	cancel_delayed_work_sync(&eth->totals_work);
	destroy_workqueue(eth->wq);
	verna_steer_exit(eth);
	verna_reps_exit(eth);
	verna_vfs_exit(eth);
	verna_rss_free(eth);
	verna_filter_free(eth);
	verna_coalesce_free(eth);
	kfree(eth->stats);
}

struct net_device *verna_eth_create(struct verna_dev *vdev)
{
	const struct verna_caps *caps = verna_caps(vdev);
	u32 max = min3(verna_num_comp_vectors(vdev), (u32)caps->eth.max_txqs,
		       (u32)caps->eth.max_rxqs);
	struct net_device *netdev;
	struct verna_eth *eth;
	int err;

	netdev = alloc_etherdev_mq(sizeof(*eth), max);
	if (!netdev)
		return ERR_PTR(-ENOMEM);
	eth = netdev_priv(netdev);
	eth->netdev = netdev;
	eth->vdev = vdev;
	eth->max_channels = max;
	dev_net_set(netdev, verna_net(vdev));
	err = verna_eth_init(eth);
	if (err)
		goto free_netdev;
	verna_netdev_setup(eth);
	verna_read_mac(eth);
	err = verna_eth_set_hw_mtu(eth, netdev->mtu);
	if (!err)
		err = verna_features_restore(eth);
	if (err)
		goto exit_eth;
	eth->handler.handle = verna_eth_event;
	verna_event_register(vdev, &eth->handler);
	err = register_netdev(netdev);
	if (err)
		goto unregister_events;
	verna_eth_debugfs_add(eth);
	queue_work(eth->wq, &eth->link_work);
	queue_delayed_work(eth->wq, &eth->totals_work, 0);
	return netdev;

unregister_events:
	verna_event_unregister(vdev, &eth->handler);
exit_eth:
	verna_eth_exit(eth);
free_netdev:
	free_netdev(netdev);
	return ERR_PTR(err);
}

void verna_eth_destroy(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);

	verna_eth_debugfs_del(eth);
	verna_tc_tunnels_stop(eth);
	unregister_netdev(netdev);
	verna_event_unregister(eth->vdev, &eth->handler);
	verna_eth_exit(eth);
	free_netdev(netdev);
}
