// SPDX-License-Identifier: GPL-2.0
/*
 * verna: what the card's transmit scheduler is told: rates of queues (tx_maxrate), traffic
 * classes (mqprio, ets) and the pace of segments. All of it belongs to the interface and is
 * told again whenever queues are made.
 *
 * A traffic class of the stack is a class of the card. mqprio's class n is the card's class n,
 * as the higher goes first; band 0 of ets goes first and is the card's last class. Queue pairs
 * share the class of traffic with priority 0.
 */
#include <linux/math64.h>
#include <linux/rtnetlink.h>
#include <net/pkt_cls.h>
#include <net/pkt_sched.h>

#include "eth.h"

#define VERNA_MAX_WEIGHT	1024

static const struct verna_tcs verna_no_tcs;

static bool verna_has(struct verna_eth *eth, u32 feature)
{
	return verna_caps(eth->vdev)->eth.features & feature;
}

/* The card's class of a TX queue. */
static u8 verna_txq_class(const struct verna_tcs *tcs, u32 queue)
{
	u32 i;

	for (i = 0; i < tcs->num; i++)
		if (queue - tcs->tc[i].offset < tcs->tc[i].count)
			return tcs->tc[i].hw;
	return 0;
}

static int verna_txq_modify(struct verna_eth *eth, u32 queue, u32 mbps)
{
	struct verna_cmd_modify_txq cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_MODIFY_TXQ),
		.id = cpu_to_le32(queue),
		.rate_kbps = cpu_to_le32(mbps * 1000),
		.pace_kbps = cpu_to_le32(READ_ONCE(eth->pace_mbps) * 1000),
		.weight = cpu_to_le16(1),
		.tclass = verna_txq_class(&eth->tcs, queue),
	};

	return verna_cmd_exec(eth->vdev, &cmd, sizeof(cmd), NULL);
}

static u32 verna_txq_mbps(struct verna_eth *eth, u32 queue)
{
	return netdev_get_tx_queue(eth->netdev, queue)->tx_maxrate;
}

/**
 * verna_sched_start_txq - serve a TX queue as its number is set up
 * @eth: interface
 * @queue: queue that was just created in the card, with default values
 *
 * Return: 0 or an error of the command.
 */
int verna_sched_start_txq(struct verna_eth *eth, u32 queue)
{
	u32 mbps = verna_txq_mbps(eth, queue);

	if (!mbps && !READ_ONCE(eth->pace_mbps) && !verna_txq_class(&eth->tcs, queue))
		return 0;
	return verna_txq_modify(eth, queue, mbps);
}

static int verna_send_tcs(struct verna_eth *eth, const struct verna_tcs *tcs)
{
	struct verna_cmd_set_tx_classes cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_TX_CLASSES),
		.rdma_class = tcs->rdma,
	};
	u32 i;

	for (i = 0; i < tcs->num; i++) {
		cmd.max_kbps[tcs->tc[i].hw] = cpu_to_le32(tcs->tc[i].max_kbps);
		cmd.weight[tcs->tc[i].hw] = cpu_to_le16(tcs->tc[i].weight);
	}
	return verna_cmd_exec(eth->vdev, &cmd, sizeof(cmd), NULL);
}

/**
 * verna_sched_start - tell a card that may have been reset of the traffic classes
 * @eth: interface
 *
 * Return: 0 or an error of the command.
 */
int verna_sched_start(struct verna_eth *eth)
{
	return verna_has(eth, VERNA_ETH_F_TX_CLASSES) ? verna_send_tcs(eth, &eth->tcs) : 0;
}

/**
 * verna_sched_fits - whether a number of channels has all queues that classes name
 * @eth: interface
 * @num: channels
 */
bool verna_sched_fits(const struct verna_eth *eth, u32 num)
{
	u32 i;

	for (i = 0; i < eth->tcs.num; i++)
		if (eth->tcs.tc[i].offset + eth->tcs.tc[i].count > num)
			return false;
	return true;
}

/* Makes the card serve its queues as @eth->tcs says. */
static int verna_apply_tcs(struct verna_eth *eth)
{
	struct verna_channels *chans = eth->chans;
	u32 i;
	int err;

	if (!chans)
		return 0;
	err = verna_sched_start(eth);
	for (i = 0; !err && i < chans->num; i++)
		err = verna_txq_modify(eth, i, verna_txq_mbps(eth, i));
	return err;
}

/* What the stack believes: which queues a class has. */
static void verna_tell_stack(struct verna_eth *eth)
{
	const struct verna_tcs *tcs = &eth->tcs;
	struct net_device *netdev = eth->netdev;
	u32 i;

	netdev_reset_tc(netdev);
	if (tcs->num)
		netdev_set_num_tc(netdev, tcs->num);
	for (i = 0; i < tcs->num; i++)
		netdev_set_tc_queue(netdev, i, tcs->tc[i].count, tcs->tc[i].offset);
	for (i = 0; tcs->num && i <= TC_BITMASK; i++)
		netdev_set_prio_tc_map(netdev, i, tcs->prio[i]);
	/* netdev_reset_tc() has forgotten all. */
	eth->xps_queues = 0;
	if (eth->chans)
		verna_xps_default(eth, eth->chans->num);
}

static int verna_set_tcs(struct verna_eth *eth, const struct verna_tcs *tcs)
{
	struct verna_tcs old = eth->tcs;
	int err;

	eth->tcs = *tcs;
	err = verna_apply_tcs(eth);
	if (err) {
		eth->tcs = old;
		verna_apply_tcs(eth);
		return err;
	}
	verna_tell_stack(eth);
	return 0;
}

/* Shares out of 1024 of the largest; 0 stays 0. */
static void verna_scale_weights(struct verna_tcs *tcs, const u64 *share, bool all)
{
	u64 most = 1;
	u32 i;

	for (i = 0; i < tcs->num; i++)
		most = max(most, share[i]);
	for (i = 0; i < tcs->num; i++)
		if (share[i] || all)
			tcs->tc[i].weight = max_t(u64, 1, div64_u64(share[i] * VERNA_MAX_WEIGHT,
								    most));
}

static int verna_mqprio_rates(struct verna_eth *eth, struct verna_tcs *tcs,
			      const struct tc_mqprio_qopt_offload *mqprio)
{
	struct netlink_ext_ack *extack = mqprio->extack;
	u64 sum = 0, kbps;
	u32 i;

	for (i = 0; i < tcs->num; i++) {
		/* Bytes per second in the stack. */
		kbps = div_u64(mqprio->max_rate[i], 125);
		if (kbps > U32_MAX || (mqprio->max_rate[i] && !kbps)) {
			NL_SET_ERR_MSG(extack, "max_rate is out of range");
			return -EINVAL;
		}
		if (mqprio->max_rate[i] && mqprio->min_rate[i] > mqprio->max_rate[i]) {
			NL_SET_ERR_MSG(extack, "min_rate is larger than max_rate");
			return -EINVAL;
		}
		tcs->tc[i].max_kbps = kbps;
		sum += min(mqprio->min_rate[i], (u64)U32_MAX * 125);
	}
	if (READ_ONCE(eth->speed) && sum > (u64)READ_ONCE(eth->speed) * 125000) {
		NL_SET_ERR_MSG(extack, "min_rates add up to more than the link has");
		return -EINVAL;
	}
	/* Guaranteed shares are weights; without any, the higher class goes first. */
	if (sum)
		verna_scale_weights(tcs, mqprio->min_rate, true);
	return 0;
}

static int verna_mqprio_check(struct verna_eth *eth,
			      const struct tc_mqprio_qopt_offload *mqprio)
{
	struct netlink_ext_ack *extack = mqprio->extack;

	if (!verna_has(eth, VERNA_ETH_F_TX_CLASSES))
		return -EOPNOTSUPP;
	if (eth->tcs.owner == VERNA_TCS_ETS)
		return -EBUSY;
	if (mqprio->qopt.num_tc > verna_caps(eth->vdev)->eth.max_tx_classes) {
		NL_SET_ERR_MSG(extack, "the card has fewer traffic classes");
		return -EOPNOTSUPP;
	}
	if (mqprio->preemptible_tcs) {
		NL_SET_ERR_MSG(extack, "preemption is not supported");
		return -EOPNOTSUPP;
	}
	if (mqprio->flags & TC_MQPRIO_F_SHAPER &&
	    mqprio->shaper != TC_MQPRIO_SHAPER_BW_RATE &&
	    mqprio->shaper != TC_MQPRIO_SHAPER_DCB) {
		NL_SET_ERR_MSG(extack, "this shaper is not supported");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int verna_setup_mqprio(struct verna_eth *eth, struct tc_mqprio_qopt_offload *mqprio)
{
	struct tc_mqprio_qopt *qopt = &mqprio->qopt;
	struct verna_tcs tcs = { .owner = VERNA_TCS_MQPRIO, .num = qopt->num_tc };
	u32 i;
	int err;

	/* The root qdisc goes. */
	if (!qopt->num_tc)
		return eth->tcs.owner == VERNA_TCS_MQPRIO ?
		       verna_set_tcs(eth, &verna_no_tcs) : 0;
	err = verna_mqprio_check(eth, mqprio);
	if (err)
		return err;
	for (i = 0; i < tcs.num; i++) {
		tcs.tc[i].offset = qopt->offset[i];
		tcs.tc[i].count = qopt->count[i];
		tcs.tc[i].hw = i;
	}
	err = verna_mqprio_rates(eth, &tcs, mqprio);
	if (err)
		return err;
	for (i = 0; i <= TC_BITMASK; i++)
		tcs.prio[i] = qopt->prio_tc_map[i];
	tcs.rdma = tcs.tc[tcs.prio[0]].hw;
	err = verna_set_tcs(eth, &tcs);
	if (!err)
		qopt->hw = TC_MQPRIO_HW_OFFLOAD_TCS;
	return err;
}

/* Every band gets its part of the queues, the first ones what is left over. */
static int verna_ets_replace(struct verna_eth *eth, u32 handle,
			     const struct tc_ets_qopt_offload_replace_params *params)
{
	u32 queues = eth->params.num, bands = params->bands, next = 0, i;
	struct verna_tcs tcs = { .owner = VERNA_TCS_ETS, .num = bands, .handle = handle };
	u64 quanta[VERNA_MAX_TX_CLASSES];

	if (!verna_has(eth, VERNA_ETH_F_TX_CLASSES) || eth->tcs.owner == VERNA_TCS_MQPRIO ||
	    bands > verna_caps(eth->vdev)->eth.max_tx_classes || bands > queues)
		return -EOPNOTSUPP;
	for (i = 0; i < bands; i++) {
		tcs.tc[i].offset = next;
		tcs.tc[i].count = queues / bands + (i < queues % bands);
		tcs.tc[i].hw = VERNA_MAX_TX_CLASSES - 1 - i;
		next += tcs.tc[i].count;
		quanta[i] = params->quanta[i];
	}
	verna_scale_weights(&tcs, quanta, false);
	for (i = 0; i <= TC_PRIO_MAX; i++)
		tcs.prio[i] = params->priomap[i];
	tcs.rdma = tcs.tc[tcs.prio[0]].hw;
	return verna_set_tcs(eth, &tcs);
}

/*
 * The core does not look at the result of REPLACE; it asks for STATS to find out whether the
 * qdisc is offloaded. Every packet also passes the qdisc, which has counted it.
 */
static int verna_setup_ets(struct verna_eth *eth, const struct tc_ets_qopt_offload *ets)
{
	bool ours = eth->tcs.owner == VERNA_TCS_ETS && eth->tcs.handle == ets->handle;
	int err;

	if (ets->parent != TC_H_ROOT)
		return -EOPNOTSUPP;
	switch (ets->command) {
	case TC_ETS_REPLACE:
		err = verna_ets_replace(eth, ets->handle, &ets->replace_params);
		if (err && ours)
			verna_set_tcs(eth, &verna_no_tcs);
		return err;
	case TC_ETS_DESTROY:
		return ours ? verna_set_tcs(eth, &verna_no_tcs) : 0;
	case TC_ETS_STATS:
		return ours ? 0 : -EOPNOTSUPP;
	default:
		return -EOPNOTSUPP;
	}
}

static int verna_query_caps(struct tc_query_caps_base *base)
{
	struct tc_mqprio_caps *caps = base->caps;

	if (base->type != TC_SETUP_QDISC_MQPRIO)
		return -EOPNOTSUPP;
	caps->validate_queue_counts = true;
	return 0;
}

/** verna_setup_tc - ndo_setup_tc @netdev: interface @type: of @data @data: request */
int verna_setup_tc(struct net_device *netdev, enum tc_setup_type type, void *data)
{
	struct verna_eth *eth = netdev_priv(netdev);

	switch (type) {
	case TC_QUERY_CAPS:
		return verna_query_caps(data);
	case TC_SETUP_QDISC_MQPRIO:
		return verna_setup_mqprio(eth, data);
	case TC_SETUP_QDISC_ETS:
		return verna_setup_ets(eth, data);
	case TC_SETUP_BLOCK:
	case TC_SETUP_FT:
		return verna_tc_setup_block(netdev, type, data);
	default:
		return -EOPNOTSUPP;
	}
}

/** verna_set_tx_maxrate - ndo_set_tx_maxrate @netdev: interface @queue: queue @mbps: 0: none */
int verna_set_tx_maxrate(struct net_device *netdev, int queue, u32 mbps)
{
	struct verna_eth *eth = netdev_priv(netdev);

	if (!verna_has(eth, VERNA_ETH_F_TX_RATE))
		return -EOPNOTSUPP;
	if (mbps > U32_MAX / 1000)
		return -EINVAL;
	/* The core remembers it for queues that do not exist now. */
	if (!eth->chans || queue >= eth->chans->num)
		return 0;
	return verna_txq_modify(eth, queue, mbps);
}

int verna_eth_set_pace(struct net_device *netdev, u32 mbps)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 i;
	int err = 0;

	if (!verna_has(eth, VERNA_ETH_F_TX_RATE))
		return -EOPNOTSUPP;
	rtnl_lock();
	WRITE_ONCE(eth->pace_mbps, mbps);
	for (i = 0; !err && eth->chans && i < eth->chans->num; i++)
		err = verna_txq_modify(eth, i, verna_txq_mbps(eth, i));
	rtnl_unlock();
	return err;
}

u32 verna_eth_get_pace(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);

	return READ_ONCE(eth->pace_mbps);
}
