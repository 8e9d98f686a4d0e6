// SPDX-License-Identifier: GPL-2.0
/*
 * verna: interrupt moderation. A CQ holds its event back for a time, or until so many
 * entries were written (VERNA_CMD_MODIFY_CQ). Settings belong to queue numbers and so
 * outlive the queues. With adaptive moderation <linux/dim.h> chooses both values from
 * the load of each queue.
 */
#include "eth.h"
#include "verna_have.h"

#define VERNA_MAX_COALESCE_USECS	10000U
#define VERNA_MAX_COALESCE_FRAMES	U16_MAX

static bool verna_cq_is_rx(const struct verna_eth_cq *cq)
{
	return cq == &cq->chan->rx.cq;
}

static struct verna_moder *verna_cq_moder(struct verna_eth_cq *cq)
{
	struct verna_coalesce *coal = &cq->chan->eth->coalesce[cq->chan->index];

	return verna_cq_is_rx(cq) ? &coal->rx : &coal->tx;
}

static bool verna_can_moderate(struct verna_eth *eth)
{
	return verna_caps(eth->vdev)->eth.features & VERNA_ETH_F_MODERATION;
}

static int verna_cq_modify(struct verna_eth_cq *cq, u32 usecs, u32 frames)
{
	struct verna_cmd_modify_cq cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_MODIFY_CQ),
		.cqn = cpu_to_le32(cq->core.cqn),
		.delay_ns = cpu_to_le32(usecs * NSEC_PER_USEC),
		.entries = cpu_to_le16(frames),
	};

	return verna_cmd_exec(cq->chan->eth->vdev, &cmd, sizeof(cmd), NULL);
}

static struct dim_cq_moder verna_dim_profile(const struct verna_eth_cq *cq)
{
	const struct dim *dim = &cq->dim;

	return verna_cq_is_rx(cq) ? net_dim_get_rx_moderation(dim->mode, dim->profile_ix) :
				    net_dim_get_tx_moderation(dim->mode, dim->profile_ix);
}

static void verna_dim_work(struct work_struct *work)
{
	struct verna_eth_cq *cq = container_of(work, struct verna_eth_cq, dim.work);
	struct dim_cq_moder moder = verna_dim_profile(cq);

	/* A NAPI that was still running when it was switched off may have queued this. */
	if (READ_ONCE(cq->adaptive))
		verna_cq_modify(cq, moder.usec, moder.pkts);
	cq->dim.state = DIM_START_MEASURE;
}

/**
 * verna_dim_update - tell adaptive moderation what a poll has done
 * @cq: CQ that was polled until nothing was left
 * @packets: counter of its queue
 * @bytes: counter of its queue
 */
void verna_dim_update(struct verna_eth_cq *cq, u64 packets, u64 bytes)
{
	struct dim_sample sample = {};

	if (!READ_ONCE(cq->adaptive))
		return;
	dim_update_sample(READ_ONCE(cq->events), packets, bytes, &sample);
#ifdef VERNA_HAVE_NET_DIM_POINTER
	net_dim(&cq->dim, &sample);
#else
	net_dim(&cq->dim, sample);
#endif
}

static void verna_dim_reset(struct verna_eth_cq *cq)
{
	memset(&cq->dim, 0, sizeof(cq->dim));
	INIT_WORK(&cq->dim.work, verna_dim_work);
	cq->dim.mode = DIM_CQ_PERIOD_MODE_START_FROM_EQE;
	cq->dim.profile_ix = NET_DIM_DEF_PROFILE_EQE;
}

/* As it is set, or as adaptive moderation begins. */
static int verna_cq_set(struct verna_eth_cq *cq, const struct verna_moder *moder)
{
	struct dim_cq_moder profile = verna_dim_profile(cq);

	return moder->adaptive ? verna_cq_modify(cq, profile.usec, profile.pkts) :
				 verna_cq_modify(cq, moder->usecs, moder->frames);
}

/**
 * verna_coalesce_start - moderate a CQ as its queue number is set up
 * @cq: CQ that was just created in the card
 *
 * Return: 0 or an error of the command.
 */
int verna_coalesce_start(struct verna_eth_cq *cq)
{
	const struct verna_moder *moder = verna_cq_moder(cq);
	int err = 0;

	verna_dim_reset(cq);
	if (!verna_can_moderate(cq->chan->eth))
		return 0;
	if (moder->adaptive || moder->usecs)
		err = verna_cq_set(cq, moder);
	WRITE_ONCE(cq->adaptive, moder->adaptive);
	return err;
}

/** verna_coalesce_stop - let nothing change a CQ any more @cq: CQ about to be destroyed */
void verna_coalesce_stop(struct verna_eth_cq *cq)
{
	WRITE_ONCE(cq->adaptive, false);
	/* Disabled, as a NAPI that still runs may want to queue it. */
	disable_work_sync(&cq->dim.work);
}

/* After a change of its settings. */
static int verna_coalesce_change(struct verna_eth_cq *cq)
{
	const struct verna_moder *moder = verna_cq_moder(cq);
	int err;

	if (cq->adaptive == moder->adaptive && moder->adaptive)
		return 0;
	WRITE_ONCE(cq->adaptive, false);
	cancel_work_sync(&cq->dim.work);
	err = verna_cq_set(cq, moder);
	cq->dim.state = DIM_START_MEASURE;
	WRITE_ONCE(cq->adaptive, moder->adaptive);
	return err;
}

/* Brings queues first..last in line with their settings, as far as they exist. */
static int verna_coalesce_apply(struct verna_eth *eth, u32 first, u32 last)
{
	struct verna_channels *chans = eth->chans;
	u32 i;
	int err;

	for (i = first; chans && i < min(last + 1, chans->num); i++) {
		err = verna_coalesce_change(&chans->chan[i]->rx.cq) ?:
		      verna_coalesce_change(&chans->chan[i]->tx.cq);
		if (err)
			return err;
	}
	return 0;
}

static int verna_moder_check(struct verna_moder *moder, u32 usecs, u32 frames,
			     bool adaptive, struct netlink_ext_ack *extack)
{
	if (usecs > VERNA_MAX_COALESCE_USECS) {
		NL_SET_ERR_MSG_FMT(extack, "usecs must be at most %u",
				   VERNA_MAX_COALESCE_USECS);
		return -EINVAL;
	}
	if (frames > VERNA_MAX_COALESCE_FRAMES) {
		NL_SET_ERR_MSG_FMT(extack, "frames must be at most %u",
				   VERNA_MAX_COALESCE_FRAMES);
		return -EINVAL;
	}
	/* Else nothing would ever tell of the last frames. */
	if (frames > 1 && !usecs) {
		NL_SET_ERR_MSG(extack, "frames count only together with usecs");
		return -EINVAL;
	}
	moder->usecs = usecs;
	moder->frames = frames;
	moder->adaptive = adaptive;
	return 0;
}

static int verna_coalesce_check(struct verna_eth *eth, const struct ethtool_coalesce *ec,
				struct verna_coalesce *coal, struct netlink_ext_ack *extack)
{
	if (!verna_can_moderate(eth))
		return -EOPNOTSUPP;
	return verna_moder_check(&coal->rx, ec->rx_coalesce_usecs,
				 ec->rx_max_coalesced_frames,
				 ec->use_adaptive_rx_coalesce, extack) ?:
	       verna_moder_check(&coal->tx, ec->tx_coalesce_usecs,
				 ec->tx_max_coalesced_frames,
				 ec->use_adaptive_tx_coalesce, extack);
}

static void verna_coalesce_show(const struct verna_coalesce *coal,
				struct ethtool_coalesce *ec)
{
	ec->rx_coalesce_usecs = coal->rx.usecs;
	ec->rx_max_coalesced_frames = coal->rx.frames;
	ec->use_adaptive_rx_coalesce = coal->rx.adaptive;
	ec->tx_coalesce_usecs = coal->tx.usecs;
	ec->tx_max_coalesced_frames = coal->tx.frames;
	ec->use_adaptive_tx_coalesce = coal->tx.adaptive;
}

int verna_get_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
		       struct kernel_ethtool_coalesce *kernel_coal,
		       struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);

	if (!verna_can_moderate(eth))
		return -EOPNOTSUPP;
	verna_coalesce_show(&eth->coalesce_all, ec);
	return 0;
}

/* Sets all queues, also those that exist with more channels only. */
int verna_set_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
		       struct kernel_ethtool_coalesce *kernel_coal,
		       struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_coalesce coal;
	u32 i;
	int err;

	err = verna_coalesce_check(eth, ec, &coal, extack);
	if (err)
		return err;
	eth->coalesce_all = coal;
	for (i = 0; i < eth->max_channels; i++)
		eth->coalesce[i] = coal;
	err = verna_coalesce_apply(eth, 0, eth->max_channels - 1);
	return err ? err : verna_features_merge(eth, true);
}

int verna_get_per_queue_coalesce(struct net_device *netdev, u32 queue,
				 struct ethtool_coalesce *ec)
{
	struct verna_eth *eth = netdev_priv(netdev);

	if (!verna_can_moderate(eth))
		return -EOPNOTSUPP;
	if (queue >= eth->params.num)
		return -EINVAL;
	verna_coalesce_show(&eth->coalesce[queue], ec);
	return 0;
}

int verna_set_per_queue_coalesce(struct net_device *netdev, u32 queue,
				 struct ethtool_coalesce *ec)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_coalesce coal;
	int err;

	if (queue >= eth->params.num)
		return -EINVAL;
	err = verna_coalesce_check(eth, ec, &coal, NULL);
	if (err)
		return err;
	eth->coalesce[queue] = coal;
	return verna_coalesce_apply(eth, queue, queue);
}

/**
 * verna_coalesce_init - set defaults
 * @eth: interface with @eth->max_channels
 *
 * Return: 0 or -ENOMEM.
 */
int verna_coalesce_init(struct verna_eth *eth)
{
	u32 i;

	eth->coalesce = kcalloc(eth->max_channels, sizeof(*eth->coalesce), GFP_KERNEL);
	if (!eth->coalesce)
		return -ENOMEM;
	if (!verna_can_moderate(eth))
		return 0;
	eth->coalesce_all.rx.adaptive = VERNA_DEF_ADAPTIVE_RX;
	eth->coalesce_all.tx.adaptive = VERNA_DEF_ADAPTIVE_TX;
	for (i = 0; i < eth->max_channels; i++)
		eth->coalesce[i] = eth->coalesce_all;
	return 0;
}

/** verna_coalesce_free - undoes verna_coalesce_init() @eth: interface */
void verna_coalesce_free(struct verna_eth *eth)
{
	kfree(eth->coalesce);
}
