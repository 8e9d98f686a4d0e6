// SPDX-License-Identifier: GPL-2.0
/* verna: debugfs file "rings": indices and descriptors of every channel. */
#include <linux/debugfs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>

#include "eth.h"

#define VERNA_SHOWN	8U	/* descriptors around the consumer index */

static void verna_show_cq(struct seq_file *s, const struct verna_eth_cq *cq)
{
	seq_printf(s, "    cq %u: size %lu cons %u arm %08x sn %u\n", cq->core.cqn,
		   BIT(cq->log_size), READ_ONCE(cq->cons),
		   le32_to_cpu(READ_ONCE(cq->rec->arm)), READ_ONCE(cq->sn));
}

static void verna_show_txq(struct seq_file *s, struct verna_txq *txq)
{
	u32 cons = READ_ONCE(txq->cons), prod = READ_ONCE(txq->prod), i;

	seq_printf(s, "  txq: size %u prod %u published %u cons %u need_doorbell %u%s\n",
		   txq->mask + 1, prod, READ_ONCE(txq->published), cons,
		   le32_to_cpu(READ_ONCE(txq->rec->need_doorbell)),
		   netif_tx_queue_stopped(txq->nq) ? " stopped" : "");
	verna_show_cq(s, &txq->cq);
	for (i = 0; i < min(prod - cons, VERNA_SHOWN); i++) {
		const struct verna_tx_desc *desc = verna_tx_desc(txq, cons + i);

		seq_printf(s, "    tx %u: addr %llx len %u%s\n", cons + i,
			   le64_to_cpu(desc->addr), le32_to_cpu(desc->len),
			   le16_to_cpu(desc->flags) & VERNA_TX_F_EOP ? " eop" : "");
	}
}

static void verna_show_rxq(struct seq_file *s, struct verna_rxq *rxq)
{
	u32 cons = READ_ONCE(rxq->cons), prod = READ_ONCE(rxq->prod), i;

	seq_printf(s, "  rxq: size %u prod %u cons %u buffer %u truesize %u\n",
		   rxq->mask + 1, prod, cons, rxq->buf_len, rxq->truesize);
	verna_show_cq(s, &rxq->cq);
	for (i = 0; i < min(prod - cons, VERNA_SHOWN); i++) {
		const struct verna_rx_desc *desc = verna_rx_desc(rxq, cons + i);

		seq_printf(s, "    rx %u: addr %llx len %u\n", cons + i,
			   le64_to_cpu(desc->addr), le32_to_cpu(desc->len));
	}
}

static int rings_show(struct seq_file *s, void *unused)
{
	struct verna_eth *eth = s->private;
	u32 i;

	rtnl_lock();
	for (i = 0; eth->chans && i < eth->chans->num; i++) {
		struct verna_channel *chan = eth->chans->chan[i];

		seq_printf(s, "channel %u: irq %d%s\n", i,
			   verna_comp_irq(eth->vdev, i), chan->broken ? " broken" : "");
		verna_show_txq(s, &chan->tx);
		verna_show_rxq(s, &chan->rx);
	}
	rtnl_unlock();
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(rings);

void verna_eth_debugfs_add(struct verna_eth *eth)
{
	eth->debugfs = debugfs_create_file("rings", 0400, verna_debugfs_dir(eth->vdev),
					   eth, &rings_fops);
}

/* Waits for readers, so not under rtnl, which they take. */
void verna_eth_debugfs_del(struct verna_eth *eth)
{
	debugfs_remove(eth->debugfs);
}
