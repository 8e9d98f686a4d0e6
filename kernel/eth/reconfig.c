// SPDX-License-Identifier: GPL-2.0
/*
 * verna: changes of the set of channels while the interface is up, and what the
 * interface does when the card is reset under it.
 */
#include <linux/rtnetlink.h>

#include "eth.h"

/** verna_max_channels - channels that card and vectors allow now @eth: interface */
u32 verna_max_channels(struct verna_eth *eth)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);

	return min3(verna_num_comp_vectors(eth->vdev), (u32)caps->eth.max_txqs,
		    (u32)caps->eth.max_rxqs);
}

/**
 * verna_eth_open_channels - make channels and let traffic run
 * @eth: interface; rtnl is held
 *
 * Return: 0 or an error; the interface has no channels then.
 */
int verna_eth_open_channels(struct verna_eth *eth)
{
	struct verna_channels *chans;
	int err;

	/* A reset may have left fewer vectors. */
	eth->params.num = min(eth->params.num, verna_max_channels(eth));
	eth->params.mtu = eth->netdev->mtu;
	chans = verna_channels_alloc(eth, &eth->params);
	if (IS_ERR(chans))
		return PTR_ERR(chans);
	err = verna_channels_start(eth, chans);
	if (err) {
		verna_channels_free(chans);
		return err;
	}
	netif_tx_start_all_queues(eth->netdev);
	return 0;
}

/** verna_eth_close_channels - undo it, if it was done @eth: interface; rtnl is held */
void verna_eth_close_channels(struct verna_eth *eth)
{
	struct verna_channels *chans = eth->chans;

	if (!chans)
		return;
	verna_channels_stop(eth, chans);
	verna_channels_free(chans);
}

/* From @old, which runs, to @fresh; back to @old if that fails. */
static int verna_eth_switch(struct verna_eth *eth, struct verna_channels *old,
			    struct verna_channels *fresh)
{
	int err;

	WRITE_ONCE(eth->restarting, true);
	verna_channels_stop(eth, old);
	err = verna_channels_start(eth, fresh);
	if (err && old != fresh && verna_channels_start(eth, old))
		verna_dev_fail(eth->vdev, "queues cannot be restarted");
	WRITE_ONCE(eth->restarting, false);
	if (eth->chans && netif_device_present(eth->netdev))
		netif_tx_wake_all_queues(eth->netdev);
	return err;
}

/**
 * verna_eth_reconfigure - change rings, channels or buffers
 * @eth: interface; rtnl is held
 * @params: as they are to be
 *
 * If the interface is up, traffic pauses for as long as the commands take, and
 * nothing changes on an error.
 * Return: 0 or an error.
 */
int verna_eth_reconfigure(struct verna_eth *eth, const struct verna_params *params)
{
	struct verna_channels *old = eth->chans, *fresh;
	int err;

	if (!old) {
		eth->params = *params;
		return 0;
	}
	fresh = verna_channels_alloc(eth, params);
	if (IS_ERR(fresh))
		return PTR_ERR(fresh);
	err = verna_eth_switch(eth, old, fresh);
	if (!err)
		eth->params = *params;
	if (eth->chans != fresh)
		verna_channels_free(fresh);
	if (eth->chans != old)
		verna_channels_free(old);
	return err;
}

int verna_eth_restart(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_channels *chans;
	int err = 0;

	rtnl_lock();
	chans = eth->chans;
	if (chans)
		err = verna_eth_switch(eth, chans, chans);
	if (err)
		verna_channels_free(chans);
	rtnl_unlock();
	return err;
}

void verna_eth_suspend(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);

	rtnl_lock();
	netif_device_detach(netdev);
	verna_eth_close_channels(eth);
	verna_filter_forget(eth);
	netif_carrier_off(netdev);
	rtnl_unlock();
}

int verna_eth_resume(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);
	int err;

	rtnl_lock();
	err = verna_eth_set_hw_mtu(eth, netdev->mtu);
	if (!err)
		err = verna_features_restore(eth);
	if (!err)
		err = verna_rss_replay(eth);
	if (!err)
		err = verna_steer_replay(eth);
	if (!err)
		err = verna_rates_replay(eth);
	if (!err)
		err = verna_vfs_replay(eth);
	if (!err)
		err = verna_tc_replay(eth);
	if (!err && netif_running(netdev))
		err = verna_eth_open_channels(eth);
	if (!err) {
		netif_device_attach(netdev);
		verna_mac_refresh(eth);
		queue_work(eth->wq, &eth->link_work);
	}
	rtnl_unlock();
	return err;
}
