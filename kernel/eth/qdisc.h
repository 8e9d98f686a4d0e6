/* SPDX-License-Identifier: GPL-2.0 */
/* verna: what the stack's queue disciplines tell the card's scheduler; a part of eth.h. */
#ifndef VERNA_ETH_QDISC_H
#define VERNA_ETH_QDISC_H

#include <linux/netdevice.h>

#include "verna_core_api.h"

struct verna_eth;

/**
 * enum verna_tcs_owner - which qdisc has set traffic classes
 * @VERNA_TCS_NONE: none
 * @VERNA_TCS_MQPRIO: mqprio
 * @VERNA_TCS_ETS: ets
 */
enum verna_tcs_owner {
	VERNA_TCS_NONE,
	VERNA_TCS_MQPRIO,
	VERNA_TCS_ETS,
};

/**
 * struct verna_tc - a traffic class of the stack
 * @offset: its first TX queue
 * @count: its TX queues
 * @max_kbps: limit, 0: none
 * @weight: 0: strict priority
 * @hw: the card's class
 */
struct verna_tc {
	u16 offset;
	u16 count;
	u32 max_kbps;
	u16 weight;
	u8 hw;
};

/**
 * struct verna_tcs - all traffic classes
 * @owner: who has set them
 * @handle: of the ets qdisc
 * @num: entries of @tc
 * @rdma: the card's class of queue pairs
 * @prio: class of each priority of skbs
 * @tc: classes
 */
struct verna_tcs {
	enum verna_tcs_owner owner;
	u32 handle;
	u8 num;
	u8 rdma;
	u8 prio[TC_BITMASK + 1];
	struct verna_tc tc[VERNA_MAX_TX_CLASSES];
};

int verna_sched_start(struct verna_eth *eth);
int verna_sched_start_txq(struct verna_eth *eth, u32 queue);
bool verna_sched_fits(const struct verna_eth *eth, u32 num);
int verna_setup_tc(struct net_device *netdev, enum tc_setup_type type, void *data);
int verna_set_tx_maxrate(struct net_device *netdev, int queue, u32 mbps);

#endif /* VERNA_ETH_QDISC_H */
