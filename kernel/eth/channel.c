// SPDX-License-Identifier: GPL-2.0
/* verna: sets of channels: allocate, start, stop, free. */
#include "eth.h"

static struct verna_channel *verna_channel_alloc(struct verna_eth *eth, u32 index,
						 const struct verna_params *params)
{
	struct verna_channel *chan;
	int err;

	chan = kzalloc(sizeof(*chan), GFP_KERNEL);
	if (!chan)
		return ERR_PTR(-ENOMEM);
	chan->eth = eth;
	chan->index = index;
	verna_napi_add(chan);
	err = verna_txq_alloc(chan, params->log_tx);
	if (err)
		goto del_napi;
	err = verna_rxq_alloc(chan, params);
	if (err)
		goto free_txq;
	return chan;

free_txq:
	verna_txq_free(chan);
del_napi:
	netif_napi_del(&chan->napi);
	kfree(chan);
	return ERR_PTR(err);
}

/* All but its own memory, which NAPI's lists may still show to readers. */
static void verna_channel_free(struct verna_channel *chan)
{
	verna_rxq_free(chan);
	verna_txq_free(chan);
	__netif_napi_del(&chan->napi);
}

/**
 * verna_channels_alloc - allocate a set; the card does not hear of it
 * @eth: interface
 * @params: what it is to be like
 *
 * Return: the set or an error pointer.
 */
struct verna_channels *verna_channels_alloc(struct verna_eth *eth,
					    const struct verna_params *params)
{
	struct verna_channels *chans;
	struct verna_channel *chan;
	u32 i;

	chans = kzalloc(struct_size(chans, chan, params->num), GFP_KERNEL);
	if (!chans)
		return ERR_PTR(-ENOMEM);
	chans->num = params->num;
	chans->params = *params;
	for (i = 0; i < params->num; i++) {
		chan = verna_channel_alloc(eth, i, params);
		if (IS_ERR(chan)) {
			verna_channels_free(chans);
			return ERR_CAST(chan);
		}
		chans->chan[i] = chan;
	}
	return chans;
}

/** verna_channels_free - free a set that is stopped @chans: set, maybe incomplete */
void verna_channels_free(struct verna_channels *chans)
{
	u32 i;

	for (i = 0; i < chans->num; i++)
		if (chans->chan[i])
			verna_channel_free(chans->chan[i]);
	synchronize_net();
	for (i = 0; i < chans->num; i++)
		kfree(chans->chan[i]);
	kfree(chans);
}

static int verna_channel_create(struct verna_channel *chan)
{
	struct verna_txq *tx = &chan->tx;
	struct verna_rxq *rx = &chan->rx;
	int err;

	chan->broken = false;
	verna_txq_reset(tx);
	verna_rxq_reset(rx);
	verna_rx_refill(rx, 1);

	err = verna_eth_cq_create(chan, &tx->cq);
	if (err)
		return err;
	err = verna_eth_cq_create(chan, &rx->cq);
	if (err)
		return err;
	err = verna_ethq_create(chan, VERNA_CMD_CREATE_TXQ, tx->cq.core.cqn, &tx->mem,
				ilog2(tx->mask + 1));
	if (err)
		return err;
	tx->live = true;
	err = verna_sched_start_txq(chan->eth, chan->index);
	if (err)
		return err;
	err = verna_ethq_create(chan, VERNA_CMD_CREATE_RXQ, rx->cq.core.cqn, &rx->mem,
				ilog2(rx->mask + 1));
	if (err)
		return err;
	rx->live = true;
	return 0;
}

/* Takes back from the card whatever of a channel exists there. */
static void verna_channel_destroy(struct verna_channel *chan)
{
	verna_queue_stats_keep(chan);
	if (chan->rx.live)
		verna_ethq_destroy(chan, VERNA_CMD_DESTROY_RXQ);
	if (chan->tx.live)
		verna_ethq_destroy(chan, VERNA_CMD_DESTROY_TXQ);
	chan->rx.live = false;
	chan->tx.live = false;
	verna_eth_cq_destroy(chan, &chan->rx.cq);
	verna_eth_cq_destroy(chan, &chan->tx.cq);
}

static void verna_channels_drain(struct verna_channels *chans)
{
	u32 i;

	for (i = 0; i < chans->num; i++) {
		verna_txq_drain(&chans->chan[i]->tx);
		verna_rxq_drain(&chans->chan[i]->rx);
	}
}

static int verna_channels_create(struct verna_eth *eth, struct verna_channels *chans)
{
	int err;
	u32 i;

	err = verna_sched_start(eth) ?: verna_pause_start(eth);
	if (err)
		return err;
	for (i = 0; i < chans->num; i++) {
		err = verna_channel_create(chans->chan[i]);
		if (err)
			return err;
	}
	err = netif_set_real_num_queues(eth->netdev, chans->num, chans->num);
	if (err)
		return err;
	if (!netif_is_rxfh_configured(eth->netdev))
		verna_rss_default_table(eth, chans->num);
	return verna_rss_apply(eth);
}

/**
 * verna_xps_default - give TX queues to the CPUs of their interrupts
 * @eth: interface
 * @num: TX queues
 *
 * Only queues that are new: of the others the administrator may have decided. The
 * stack itself forgets queues that go, netif_set_real_num_tx_queues().
 */
void verna_xps_default(struct verna_eth *eth, u32 num)
{
	u32 i;

	for (i = eth->xps_queues; i < num; i++)
		netif_set_xps_queue(eth->netdev, verna_comp_affinity(eth->vdev, i), i);
	eth->xps_queues = num;
}

/**
 * verna_channels_start - create a set in the card and let it run
 * @eth: interface; rtnl is held
 * @chans: set, fresh or stopped
 *
 * The TX queues of the stack are left for the caller to start.
 * Return: 0 or an error; the set can be freed then, or started again.
 */
int verna_channels_start(struct verna_eth *eth, struct verna_channels *chans)
{
	int err;
	u32 i;

	err = verna_channels_create(eth, chans);
	if (err) {
		for (i = 0; i < chans->num; i++)
			verna_channel_destroy(chans->chan[i]);
		verna_channels_drain(chans);
		return err;
	}
	verna_arfs_start(eth, chans->num);
	verna_xps_default(eth, chans->num);
	for (i = 0; i < chans->num; i++)
		verna_napi_start(chans->chan[i]);
	eth->chans = chans;
	/* XDP may send from now on, see verna_xdp_lock_queue(). */
	smp_store_release(&eth->tx_open, true);
	verna_filter_set(eth, true);
	return 0;
}

/**
 * verna_channels_stop - undo verna_channels_start()
 * @eth: interface; rtnl is held
 * @chans: set that runs
 */
void verna_channels_stop(struct verna_eth *eth, struct verna_channels *chans)
{
	u32 i;

	/* The stack's watchdog is not to take a queue that was idle, and stands still now,
	 * for one that hangs.
	 */
	for (i = 0; i < chans->num; i++)
		txq_trans_cond_update(chans->chan[i]->tx.nq);
	/* Takes the lock of every queue, so that nobody sends after it. */
	WRITE_ONCE(eth->tx_open, false);
	netif_tx_disable(eth->netdev);
	verna_filter_set(eth, false);
	for (i = 0; i < chans->num; i++)
		verna_channel_destroy(chans->chan[i]);
	verna_napi_stop(chans);
	verna_arfs_stop(eth);
	verna_channels_drain(chans);
	eth->chans = NULL;
}
