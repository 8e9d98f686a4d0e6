// SPDX-License-Identifier: GPL-2.0
/*
 * verna: /sys/kernel/debug/verna/<pci address>/: registers, capabilities, event
 * queues and the history of commands.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "core.h"

static struct dentry *verna_debugfs_root;

static const struct {
	const char *name;
	u32 offset;
} verna_regs[] = {
	{ "MAGIC", VERNA_REG_MAGIC },
	{ "ABI", VERNA_REG_ABI },
	{ "VERSION", VERNA_REG_VERSION },
	{ "CAPS_OFFSET", VERNA_REG_CAPS_OFFSET },
	{ "STATUS", VERNA_REG_STATUS },
	{ "CONTROL", VERNA_REG_CONTROL },
	{ "FATAL_CODE", VERNA_REG_FATAL_CODE },
	{ "HEARTBEAT", VERNA_REG_HEARTBEAT },
	{ "AQ_SQ_LO", VERNA_REG_AQ_SQ_LO },
	{ "AQ_SQ_HI", VERNA_REG_AQ_SQ_HI },
	{ "AQ_CQ_LO", VERNA_REG_AQ_CQ_LO },
	{ "AQ_CQ_HI", VERNA_REG_AQ_CQ_HI },
	{ "AQ_LOG_SIZE", VERNA_REG_AQ_LOG_SIZE },
	{ "NUM_UARS", VERNA_REG_NUM_UARS },
	{ "NUM_VECTORS", VERNA_REG_NUM_VECTORS },
	{ "MAC_LO", VERNA_REG_MAC_LO },
	{ "MAC_HI", VERNA_REG_MAC_HI },
	{ "BAD_ACCESS", VERNA_REG_BAD_ACCESS },
};

static int registers_show(struct seq_file *s, void *unused)
{
	struct verna_dev *vdev = s->private;
	u32 i;

	seq_printf(s, "state %s\n", verna_state_name(vdev));
	for (i = 0; i < ARRAY_SIZE(verna_regs); i++)
		seq_printf(s, "%04x %-12s %08x\n", verna_regs[i].offset,
			   verna_regs[i].name,
			   verna_reg_read(vdev, verna_regs[i].offset));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(registers);

static int caps_show(struct seq_file *s, void *unused)
{
	struct verna_dev *vdev = s->private;
	const struct verna_caps *caps = &vdev->caps;

	seq_printf(s, "dev: eqs %u cqs %u log_cq %u log_eq %u functions %u pbl %u page_shifts %llx\n",
		   caps->dev.max_eqs, caps->dev.max_cqs, caps->dev.log_max_cq_entries,
		   caps->dev.log_max_eq_entries, caps->dev.num_functions,
		   caps->dev.max_pbl_entries, caps->dev.page_shifts);
	seq_printf(s, "eth: features %x txqs %u rxqs %u log_entries %u filters %u mtu %u..%u frags %u rss %u\n",
		   caps->eth.features, caps->eth.max_txqs, caps->eth.max_rxqs,
		   caps->eth.log_max_entries, caps->eth.max_mac_filters,
		   caps->eth.min_mtu, caps->eth.max_mtu, caps->eth.max_tx_frags,
		   caps->eth.rss_table_size);
	if (!caps->rdma.present)
		return 0;
	seq_printf(s, "rdma: features %x qps %u mrs %u pds %u gids %u log_wqes %u send_sge %u recv_sge %u inline %u rd_atomic %u mtu %u msg %llu mr_size %llu guid %016llx\n",
		   caps->rdma.features, caps->rdma.max_qps, caps->rdma.max_mrs,
		   caps->rdma.max_pds, caps->rdma.max_gids, caps->rdma.log_max_wqes,
		   caps->rdma.max_send_sge, caps->rdma.max_recv_sge,
		   caps->rdma.max_inline, caps->rdma.max_rd_atomic,
		   caps->rdma.max_mtu, caps->rdma.max_msg, caps->rdma.max_mr_size,
		   be64_to_cpu(caps->rdma.node_guid));
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(caps);

static void eq_show_one(struct seq_file *s, struct verna_eq *eq, u32 irqs)
{
	u32 cons = READ_ONCE(eq->cons), i;

	seq_printf(s, "eq %u: size %lu cons %u sn %u arm %08x events %llu interrupts %u\n",
		   eq->id, BIT(eq->log_size), cons, eq->sn,
		   le32_to_cpu(READ_ONCE(eq->rec->arm)), eq->events, irqs);
	/* The last entries that were consumed and the next one to come. */
	for (i = cons - min(cons, 8U); i != cons + 1; i++) {
		const struct verna_eqe *eqe = verna_eq_entry(eq, i);

		seq_printf(s, "  %c%u type %u function %u id %u data %llu phase %u\n",
			   i == cons ? '>' : ' ', i, le16_to_cpu(eqe->type),
			   le16_to_cpu(eqe->function), le32_to_cpu(eqe->id),
			   le64_to_cpu(eqe->data), eqe->phase);
	}
}

static int eqs_show(struct seq_file *s, void *unused)
{
	struct verna_dev *vdev = s->private;
	u32 i;

	mutex_lock(&vdev->lifecycle);
	for (i = 0; vdev->eqs && i < vdev->num_irqs; i++)
		eq_show_one(s, &vdev->eqs[i], verna_irq_count(vdev, i));
	mutex_unlock(&vdev->lifecycle);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(eqs);

static int commands_show(struct seq_file *s, void *unused)
{
	struct verna_dev *vdev = s->private;
	struct verna_cmdq_view *view;
	u32 i;

	view = verna_cmdq_view(vdev);
	if (!view)
		return -ENOMEM;
	seq_printf(s, "posted %u done %u %s %s\n", view->prod, view->cons,
		   view->open ? "open" : "closed", view->events ? "events" : "polling");
	for (i = 0; i < view->num; i++) {
		const struct verna_cmd_record *rec = &view->history[i];

		seq_printf(s, "%12lld us  id %5u  %-15s status %u detail %u result %llu  %llu us\n",
			   ktime_to_us(rec->posted), rec->id,
			   verna_cmd_name(rec->opcode), rec->status, rec->detail,
			   rec->result, div_u64(rec->latency_ns, 1000));
	}
	kfree(view);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(commands);

void verna_debugfs_init(void)
{
	verna_debugfs_root = debugfs_create_dir(VERNA_DRV_NAME, NULL);
}

void verna_debugfs_exit(void)
{
	debugfs_remove_recursive(verna_debugfs_root);
}

/** verna_debugfs_add - add a card's directory @vdev: the card, identified */
void verna_debugfs_add(struct verna_dev *vdev)
{
	vdev->debugfs = debugfs_create_dir(pci_name(vdev->pdev), verna_debugfs_root);
	debugfs_create_file("registers", 0400, vdev->debugfs, vdev, &registers_fops);
	debugfs_create_file("caps", 0400, vdev->debugfs, vdev, &caps_fops);
	debugfs_create_file("eqs", 0400, vdev->debugfs, vdev, &eqs_fops);
	debugfs_create_file("commands", 0400, vdev->debugfs, vdev, &commands_fops);
}

/** verna_debugfs_del - remove it, waiting for readers @vdev: the card */
void verna_debugfs_del(struct verna_dev *vdev)
{
	debugfs_remove_recursive(vdev->debugfs);
}
