// SPDX-License-Identifier: GPL-2.0
/* verna: what the health reporters "tx" and "rx" show of the queues. */
#include <linux/rtnetlink.h>
#include <net/devlink.h>

#include "eth.h"

static void verna_diagnose_cq(const struct verna_eth_cq *cq, struct devlink_fmsg *fmsg)
{
	devlink_fmsg_u32_pair_put(fmsg, "cqn", cq->core.cqn);
	devlink_fmsg_u32_pair_put(fmsg, "cq_cons", READ_ONCE(cq->cons));
	devlink_fmsg_u32_pair_put(fmsg, "cq_arm", le32_to_cpu(READ_ONCE(cq->rec->arm)));
}

static void verna_diagnose_tx(struct verna_txq *txq, struct devlink_fmsg *fmsg)
{
	devlink_fmsg_u32_pair_put(fmsg, "prod", READ_ONCE(txq->prod));
	devlink_fmsg_u32_pair_put(fmsg, "published", READ_ONCE(txq->published));
	devlink_fmsg_u32_pair_put(fmsg, "cons", READ_ONCE(txq->cons));
	devlink_fmsg_u32_pair_put(fmsg, "need_doorbell",
				  le32_to_cpu(READ_ONCE(txq->rec->need_doorbell)));
	verna_diagnose_cq(&txq->cq, fmsg);
	devlink_fmsg_bool_pair_put(fmsg, "stopped", netif_tx_queue_stopped(txq->nq));
}

static void verna_diagnose_rx(struct verna_rxq *rxq, struct devlink_fmsg *fmsg)
{
	devlink_fmsg_u32_pair_put(fmsg, "prod", READ_ONCE(rxq->prod));
	devlink_fmsg_u32_pair_put(fmsg, "cons", READ_ONCE(rxq->cons));
	devlink_fmsg_u32_pair_put(fmsg, "buffer", rxq->buf_len);
	devlink_fmsg_u32_pair_put(fmsg, "starved", READ_ONCE(rxq->starved));
	devlink_fmsg_u64_pair_put(fmsg, "alloc_fail", READ_ONCE(rxq->stats->rx.alloc_fail));
	devlink_fmsg_bool_pair_put(fmsg, "xdp", rxq->xdp);
	verna_diagnose_cq(&rxq->cq, fmsg);
}

/* Calls a function for the queue of each channel, each in an object of its own. */
static void verna_for_queues(struct net_device *netdev, enum verna_queue_kind kind,
			     struct devlink_fmsg *fmsg,
			     void (*tx)(struct verna_txq *txq, struct devlink_fmsg *fmsg),
			     void (*rx)(struct verna_rxq *rxq, struct devlink_fmsg *fmsg))
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_channel *chan;
	u32 i;

	devlink_fmsg_arr_pair_nest_start(fmsg, kind == VERNA_QUEUE_TX ? "txqs" : "rxqs");
	rtnl_lock();
	for (i = 0; eth->chans && i < eth->chans->num; i++) {
		chan = eth->chans->chan[i];
		devlink_fmsg_obj_nest_start(fmsg);
		devlink_fmsg_u32_pair_put(fmsg, "queue", i);
		devlink_fmsg_bool_pair_put(fmsg, "broken", READ_ONCE(chan->broken));
		if (kind == VERNA_QUEUE_TX)
			tx(&chan->tx, fmsg);
		else
			rx(&chan->rx, fmsg);
		devlink_fmsg_obj_nest_end(fmsg);
	}
	rtnl_unlock();
	devlink_fmsg_arr_pair_nest_end(fmsg);
}

void verna_eth_diagnose(struct net_device *netdev, enum verna_queue_kind kind,
			struct devlink_fmsg *fmsg)
{
	verna_for_queues(netdev, kind, fmsg, verna_diagnose_tx, verna_diagnose_rx);
}

static void verna_dump_cq(struct verna_eth_cq *cq, struct devlink_fmsg *fmsg)
{
	struct verna_cqe cqe = *verna_eth_cq_entry(cq, READ_ONCE(cq->cons));

	devlink_fmsg_binary_pair_put(fmsg, "cqe", &cqe, sizeof(cqe));
}

static void verna_dump_tx(struct verna_txq *txq, struct devlink_fmsg *fmsg)
{
	u32 cons = READ_ONCE(txq->cons);

	devlink_fmsg_u32_pair_put(fmsg, "index", cons);
	devlink_fmsg_binary_pair_put(fmsg, "descriptor", verna_tx_desc(txq, cons),
				     sizeof(struct verna_tx_desc));
	verna_dump_cq(&txq->cq, fmsg);
}

static void verna_dump_rx(struct verna_rxq *rxq, struct devlink_fmsg *fmsg)
{
	u32 cons = READ_ONCE(rxq->cons);

	devlink_fmsg_u32_pair_put(fmsg, "index", cons);
	devlink_fmsg_binary_pair_put(fmsg, "descriptor", verna_rx_desc(rxq, cons),
				     sizeof(struct verna_rx_desc));
	verna_dump_cq(&rxq->cq, fmsg);
}

void verna_eth_dump(struct net_device *netdev, enum verna_queue_kind kind,
		    struct devlink_fmsg *fmsg)
{
	verna_for_queues(netdev, kind, fmsg, verna_dump_tx, verna_dump_rx);
}
