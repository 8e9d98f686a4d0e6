// SPDX-License-Identifier: GPL-2.0
/*
 * verna: the admin queue.
 *
 * Commands of many threads are outstanding at once; the card executes and
 * answers them in order, so the completion at position n always belongs to the
 * command at position n, and its cmd_id is n modulo 2^16. Each waiter sleeps on
 * its own stack object, to which the slot points until the answer came or the
 * waiter gave up.
 *
 * Vector 0 tells of completions. Before interrupts work, and as a last look
 * before a command is declared lost, completions are polled.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>

#include "core.h"
#include "trace.h"

#define VERNA_AQ_MEM	max_t(size_t, VERNA_AQ_SIZE * VERNA_CMD_SIZE, PAGE_SIZE)
#define VERNA_ACQ_MEM	max_t(size_t, VERNA_AQ_SIZE * VERNA_CMD_COMP_SIZE, PAGE_SIZE)

static const struct {
	u16 opcode;
	const char *name;
} verna_cmd_names[] = {
	{ VERNA_CMD_NOP, "NOP" },
	{ VERNA_CMD_QUERY_COUNTERS, "QUERY_COUNTERS" },
	{ VERNA_CMD_QUERY_PORT, "QUERY_PORT" },
	{ VERNA_CMD_SET_PAUSE, "SET_PAUSE" },
	{ VERNA_CMD_CREATE_EQ, "CREATE_EQ" },
	{ VERNA_CMD_DESTROY_EQ, "DESTROY_EQ" },
	{ VERNA_CMD_CREATE_CQ, "CREATE_CQ" },
	{ VERNA_CMD_DESTROY_CQ, "DESTROY_CQ" },
	{ VERNA_CMD_MODIFY_CQ, "MODIFY_CQ" },
	{ VERNA_CMD_CREATE_TXQ, "CREATE_TXQ" },
	{ VERNA_CMD_DESTROY_TXQ, "DESTROY_TXQ" },
	{ VERNA_CMD_CREATE_RXQ, "CREATE_RXQ" },
	{ VERNA_CMD_DESTROY_RXQ, "DESTROY_RXQ" },
	{ VERNA_CMD_MODIFY_TXQ, "MODIFY_TXQ" },
	{ VERNA_CMD_SET_TX_CLASSES, "SET_TX_CLASSES" },
	{ VERNA_CMD_SET_RX_MODE, "SET_RX_MODE" },
	{ VERNA_CMD_ADD_MAC, "ADD_MAC" },
	{ VERNA_CMD_DEL_MAC, "DEL_MAC" },
	{ VERNA_CMD_SET_MTU, "SET_MTU" },
	{ VERNA_CMD_SET_RSS, "SET_RSS" },
	{ VERNA_CMD_SET_ETH_FEATURES, "SET_ETH_FEATURES" },
	{ VERNA_CMD_ADD_VLAN, "ADD_VLAN" },
	{ VERNA_CMD_DEL_VLAN, "DEL_VLAN" },
	{ VERNA_CMD_DESTROY_RSS, "DESTROY_RSS" },
	{ VERNA_CMD_CREATE_PD, "CREATE_PD" },
	{ VERNA_CMD_DESTROY_PD, "DESTROY_PD" },
	{ VERNA_CMD_CREATE_MR, "CREATE_MR" },
	{ VERNA_CMD_DESTROY_MR, "DESTROY_MR" },
	{ VERNA_CMD_CREATE_QP, "CREATE_QP" },
	{ VERNA_CMD_MODIFY_QP, "MODIFY_QP" },
	{ VERNA_CMD_QUERY_QP, "QUERY_QP" },
	{ VERNA_CMD_DESTROY_QP, "DESTROY_QP" },
	{ VERNA_CMD_SET_GID, "SET_GID" },
	{ VERNA_CMD_ADD_FLOW, "ADD_FLOW" },
	{ VERNA_CMD_DEL_FLOW, "DEL_FLOW" },
	{ VERNA_CMD_QUERY_FLOW, "QUERY_FLOW" },
	{ VERNA_CMD_SET_FLOW_MISS, "SET_FLOW_MISS" },
	{ VERNA_CMD_GET_AGED_FLOWS, "GET_AGED_FLOWS" },
	{ VERNA_CMD_CREATE_METER, "CREATE_METER" },
	{ VERNA_CMD_MODIFY_METER, "MODIFY_METER" },
	{ VERNA_CMD_DESTROY_METER, "DESTROY_METER" },
	{ VERNA_CMD_QUERY_METER, "QUERY_METER" },
	{ VERNA_CMD_CREATE_FLOW_EDIT, "CREATE_FLOW_EDIT" },
	{ VERNA_CMD_DESTROY_FLOW_EDIT, "DESTROY_FLOW_EDIT" },
	{ VERNA_CMD_SET_VPORT, "SET_VPORT" },
	{ VERNA_CMD_QUERY_VPORT, "QUERY_VPORT" },
	{ VERNA_CMD_SET_ESWITCH, "SET_ESWITCH" },
	{ VERNA_CMD_SET_VPORT_GROUP, "SET_VPORT_GROUP" },
	{ VERNA_CMD_CREATE_RATE_NODE, "CREATE_RATE_NODE" },
	{ VERNA_CMD_MODIFY_RATE_NODE, "MODIFY_RATE_NODE" },
	{ VERNA_CMD_DESTROY_RATE_NODE, "DESTROY_RATE_NODE" },
	{ VERNA_CMD_QUERY_RATE_NODE, "QUERY_RATE_NODE" },
};

/** verna_cmd_name - a command's name for people @opcode: enum verna_cmd_opcode */
const char *verna_cmd_name(u16 opcode)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verna_cmd_names); i++)
		if (verna_cmd_names[i].opcode == opcode)
			return verna_cmd_names[i].name;
	return "?";
}

static int verna_cmd_errno(u16 status)
{
	switch (status) {
	case VERNA_CMD_OK:
		return 0;
	case VERNA_CMD_BAD_OPCODE:
	case VERNA_CMD_NOT_SUPPORTED:
		return -EOPNOTSUPP;
	case VERNA_CMD_BAD_FUNCTION:
		return -EACCES;
	case VERNA_CMD_NO_RESOURCE:
		return -ENOMEM;
	case VERNA_CMD_NOT_FOUND:
		return -ENOENT;
	case VERNA_CMD_BUSY:
		return -EBUSY;
	case VERNA_CMD_EXISTS:
		return -EEXIST;
	case VERNA_CMD_DMA_FAULT:
		return -EFAULT;
	default:
		return -EINVAL;
	}
}

static void verna_cmdq_record(struct verna_dev *vdev, struct verna_cmd_slot *slot,
			      const struct verna_cmd_comp *comp)
{
	struct verna_cmdq *q = &vdev->cmdq;
	struct verna_cmd_record *rec;

	rec = &q->history[q->history_next++ % VERNA_CMD_HISTORY];
	rec->opcode = slot->opcode;
	rec->id = le16_to_cpu(comp->cmd_id);
	rec->status = le16_to_cpu(comp->status);
	rec->detail = le32_to_cpu(comp->detail);
	rec->result = le64_to_cpu(comp->result);
	rec->posted = slot->posted;
	rec->latency_ns = ktime_to_ns(ktime_sub(ktime_get(), slot->posted));
	trace_verna_cmd_done(verna_device(vdev), rec->opcode, rec->id, rec->status,
			     rec->detail, rec->result, rec->latency_ns);
}

/**
 * verna_cmdq_view - look at the admin queue and the last commands
 * @vdev: the card
 *
 * Return: a copy for kfree(), or NULL without memory.
 */
struct verna_cmdq_view *verna_cmdq_view(struct verna_dev *vdev)
{
	struct verna_cmdq *q = &vdev->cmdq;
	struct verna_cmdq_view *view;
	u32 first, i;

	view = kmalloc(sizeof(*view), GFP_KERNEL);
	if (!view)
		return NULL;
	spin_lock_irq(&q->lock);
	view->prod = q->prod;
	view->cons = q->cons;
	view->open = q->open;
	view->events = q->events;
	view->num = min_t(u32, q->history_next, VERNA_CMD_HISTORY);
	first = q->history_next - view->num;
	for (i = 0; i < view->num; i++)
		view->history[i] = q->history[(first + i) % VERNA_CMD_HISTORY];
	spin_unlock_irq(&q->lock);
	return view;
}

/* Takes one completion; false if there is none or it makes no sense. */
static bool verna_cmdq_take(struct verna_dev *vdev, bool *broken)
{
	struct verna_cmdq *q = &vdev->cmdq;
	struct verna_cmd_slot *slot = &q->slots[q->cons % VERNA_AQ_SIZE];
	struct verna_cmd_comp *comp = &q->cq[q->cons % VERNA_AQ_SIZE];
	struct verna_cmd_comp copy;

	if (q->cons == q->prod ||
	    (READ_ONCE(comp->phase) & VERNA_PHASE) !=
	    verna_phase(q->cons, VERNA_AQ_LOG_SIZE))
		return false;
	/* The phase before the rest of the entry. */
	dma_rmb();
	copy = *comp;
	if (le16_to_cpu(copy.cmd_id) != (u16)q->cons) {
		*broken = true;
		return false;
	}
	verna_cmdq_record(vdev, slot, &copy);
	if (slot->wait) {
		slot->wait->comp = copy;
		complete(&slot->wait->done);
		slot->wait = NULL;
	}
	q->cons++;
	return true;
}

/**
 * verna_cmdq_poll - take all completions that the card has written
 * @vdev: the card
 *
 * Context: any, hard interrupt included.
 */
void verna_cmdq_poll(struct verna_dev *vdev)
{
	struct verna_cmdq *q = &vdev->cmdq;
	bool broken = false;
	unsigned long flags;
	u32 before;

	spin_lock_irqsave(&q->lock, flags);
	before = q->cons;
	if (q->open)
		while (verna_cmdq_take(vdev, &broken))
			;
	if (q->cons != before)
		wake_up_all(&q->slot_wait);
	spin_unlock_irqrestore(&q->lock, flags);

	if (broken)
		verna_cmdq_fail(vdev, "admin completion out of order");
}

/* Writes a command into the ring; sleeps while the ring is full. */
static int verna_cmd_post(struct verna_dev *vdev, const void *cmd, size_t len,
			  struct verna_cmd_wait *wait)
{
	struct verna_cmdq *q = &vdev->cmdq;
	const struct verna_cmd_hdr *in = cmd;
	struct verna_cmd_slot *slot;
	struct verna_cmd_hdr *hdr;

	spin_lock_irq(&q->lock);
	wait_event_lock_irq(q->slot_wait,
			    !q->open || q->prod - q->cons < VERNA_AQ_SIZE, q->lock);
	if (!q->open) {
		spin_unlock_irq(&q->lock);
		return -EIO;
	}
	slot = &q->slots[q->prod % VERNA_AQ_SIZE];
	slot->wait = wait;
	slot->opcode = le16_to_cpu(in->opcode);
	slot->posted = ktime_get();

	hdr = (struct verna_cmd_hdr *)q->sq[q->prod % VERNA_AQ_SIZE];
	memcpy(hdr, cmd, len);
	memset((u8 *)hdr + len, 0, VERNA_CMD_SIZE - len);
	hdr->cmd_id = cpu_to_le16(q->prod);
	if (!hdr->function)
		hdr->function = cpu_to_le16(verna_function(vdev));
	hdr->flags = cpu_to_le16(q->events ? VERNA_CMD_F_EVENT : 0);
	trace_verna_cmd_post(verna_device(vdev), slot->opcode,
			     verna_cmd_name(slot->opcode), (u16)q->prod);
	q->prod++;
	/* writel() orders the command in memory before the doorbell. */
	verna_reg_write(vdev, VERNA_REG_AQ_DOORBELL, q->prod);
	spin_unlock_irq(&q->lock);
	return 0;
}

/* The waiter leaves; true if the answer came in the last moment. */
static bool verna_cmd_abandon(struct verna_dev *vdev, struct verna_cmd_wait *wait)
{
	struct verna_cmdq *q = &vdev->cmdq;
	bool found = false;
	u32 i;

	spin_lock_irq(&q->lock);
	for (i = q->cons; i != q->prod; i++) {
		struct verna_cmd_slot *slot = &q->slots[i % VERNA_AQ_SIZE];

		if (slot->wait == wait) {
			slot->wait = NULL;
			found = true;
		}
	}
	spin_unlock_irq(&q->lock);
	return !found;
}

static int verna_cmd_wait_done(struct verna_dev *vdev, struct verna_cmd_wait *wait)
{
	unsigned long deadline = jiffies + VERNA_CMD_TIMEOUT;

	/* Without an interrupt: poll, ever more lazily. */
	while (!READ_ONCE(vdev->cmdq.events)) {
		verna_cmdq_poll(vdev);
		if (try_wait_for_completion(&wait->done))
			return wait->err;
		if (time_after(jiffies, deadline))
			break;
		usleep_range(20, 100);
	}
	while (time_before(jiffies, deadline)) {
		if (wait_for_completion_timeout(&wait->done, HZ))
			return wait->err;
		/* A second is long: was an interrupt lost? */
		verna_cmdq_poll(vdev);
	}
	if (verna_cmd_abandon(vdev, wait))
		return wait->err;
	return -ETIMEDOUT;
}

/** verna_cmdq_fail - give the card up for its admin queue's sake @vdev: card @why: cause */
void verna_cmdq_fail(struct verna_dev *vdev, const char *why)
{
	WRITE_ONCE(vdev->cmdq.failed, true);
	verna_dev_fail(vdev, why);
}

static int verna_cmd_run(struct verna_dev *vdev, void *cmd, size_t len,
			 struct verna_cmd_comp *comp)
{
	struct verna_cmd_hdr *hdr = cmd;
	struct verna_cmd_wait wait = {};
	int err;

	might_sleep();
	if (WARN_ON_ONCE(len < sizeof(*hdr) || len > VERNA_CMD_SIZE))
		return -EINVAL;

	init_completion(&wait.done);
	err = verna_cmd_post(vdev, cmd, len, &wait);
	if (err)
		return err;
	err = verna_cmd_wait_done(vdev, &wait);
	if (err == -ETIMEDOUT) {
		dev_err(verna_device(vdev), "command %s (0x%04x) got no answer\n",
			verna_cmd_name(le16_to_cpu(hdr->opcode)),
			le16_to_cpu(hdr->opcode));
		WRITE_ONCE(vdev->cmdq.timeouts, vdev->cmdq.timeouts + 1);
		verna_cmdq_fail(vdev, "command timeout");
	}
	*comp = wait.comp;
	return err;
}

int verna_cmd_exec_quiet(struct verna_dev *vdev, void *cmd, size_t len,
			 struct verna_cmd_result *res)
{
	struct verna_cmd_comp comp;
	int err;

	memset(res, 0, sizeof(*res));
	err = verna_cmd_run(vdev, cmd, len, &comp);
	if (err)
		return err;
	res->result = le64_to_cpu(comp.result);
	res->detail = le32_to_cpu(comp.detail);
	res->status = le16_to_cpu(comp.status);
	return verna_cmd_errno(res->status);
}
EXPORT_SYMBOL_GPL(verna_cmd_exec_quiet);

int verna_cmd_exec(struct verna_dev *vdev, void *cmd, size_t len, u64 *result)
{
	struct verna_cmd_hdr *hdr = cmd;
	struct verna_cmd_result res;
	int err;

	err = verna_cmd_exec_quiet(vdev, cmd, len, &res);
	if (res.status)
		dev_warn_ratelimited(verna_device(vdev),
				     "command %s (0x%04x): status %u, detail %u\n",
				     verna_cmd_name(le16_to_cpu(hdr->opcode)),
				     le16_to_cpu(hdr->opcode), res.status, res.detail);
	if (!err && result)
		*result = res.result;
	return err;
}
EXPORT_SYMBOL_GPL(verna_cmd_exec);

int verna_cmd_destroy(struct verna_dev *vdev, u16 opcode, u32 id)
{
	struct verna_cmd_object cmd = {
		.hdr.opcode = cpu_to_le16(opcode),
		.id = cpu_to_le32(id),
	};
	int err;

	err = verna_cmd_exec(vdev, &cmd, sizeof(cmd), NULL);
	/* A card that is not up has forgotten the object, and cannot do DMA. */
	if (err == -EIO || err == -ETIMEDOUT)
		return 0;
	return err;
}
EXPORT_SYMBOL_GPL(verna_cmd_destroy);

/* @cmd: all but where the answer goes. */
static int verna_cmd_query_run(struct verna_dev *vdev, struct verna_cmd_query *cmd,
			       void *buf, size_t len)
{
	dma_addr_t dma;
	u64 written;
	void *mem;
	int err;

	memset(buf, 0, len);
	mem = dma_alloc_coherent(verna_device(vdev), len, &dma, GFP_KERNEL);
	if (!mem)
		return -ENOMEM;
	cmd->addr = cpu_to_le64(dma);
	cmd->len = cpu_to_le32(len);
	err = verna_cmd_exec(vdev, cmd, sizeof(*cmd), &written);
	if (!err) {
		written = min_t(u64, written, len);
		memcpy(buf, mem, written);
	}
	dma_free_coherent(verna_device(vdev), len, mem, dma);
	return err ?: (int)written;
}

int verna_cmd_query(struct verna_dev *vdev, u16 opcode, u32 group, u32 id,
		    void *buf, size_t len)
{
	struct verna_cmd_query cmd = {
		.hdr.opcode = cpu_to_le16(opcode),
		.id = cpu_to_le32(id),
		.group = cpu_to_le32(group),
	};

	return verna_cmd_query_run(vdev, &cmd, buf, len);
}
EXPORT_SYMBOL_GPL(verna_cmd_query);

int verna_cmd_query_function(struct verna_dev *vdev, u16 opcode, u16 function, void *buf,
			     size_t len)
{
	struct verna_cmd_query cmd = {
		.hdr.opcode = cpu_to_le16(opcode),
		.hdr.function = cpu_to_le16(function),
	};

	return verna_cmd_query_run(vdev, &cmd, buf, len);
}

int verna_query_counters(struct verna_dev *vdev, u32 group, u32 id, u64 *values,
			 u32 num)
{
	__le64 *raw;
	int err;
	u32 i;

	raw = kcalloc(num, sizeof(*raw), GFP_KERNEL);
	if (!raw)
		return -ENOMEM;
	err = verna_cmd_query(vdev, VERNA_CMD_QUERY_COUNTERS, group, id, raw,
			      num * sizeof(*raw));
	for (i = 0; i < num; i++)
		values[i] = err < 0 ? 0 : le64_to_cpu(raw[i]);
	kfree(raw);
	return err < 0 ? err : 0;
}
EXPORT_SYMBOL_GPL(verna_query_counters);

static int verna_cmdq_enable(struct verna_dev *vdev)
{
	struct verna_cmdq *q = &vdev->cmdq;
	unsigned long deadline = jiffies + VERNA_CMD_TIMEOUT;

	verna_reg_write(vdev, VERNA_REG_AQ_SQ_LO, lower_32_bits(q->sq_dma));
	verna_reg_write(vdev, VERNA_REG_AQ_SQ_HI, upper_32_bits(q->sq_dma));
	verna_reg_write(vdev, VERNA_REG_AQ_CQ_LO, lower_32_bits(q->cq_dma));
	verna_reg_write(vdev, VERNA_REG_AQ_CQ_HI, upper_32_bits(q->cq_dma));
	verna_reg_write(vdev, VERNA_REG_AQ_LOG_SIZE, VERNA_AQ_LOG_SIZE);
	verna_reg_write(vdev, VERNA_REG_CONTROL, VERNA_CONTROL_AQ_ENABLE);

	while (!(verna_reg_read(vdev, VERNA_REG_STATUS) & VERNA_STATUS_AQ_ENABLED)) {
		if (verna_dev_is_gone(vdev) || time_after(jiffies, deadline))
			return -EIO;
		usleep_range(100, 500);
	}
	return verna_dev_is_gone(vdev) ? -EIO : 0;
}

static void verna_cmdq_free(struct verna_dev *vdev)
{
	struct device *dev = verna_device(vdev);
	struct verna_cmdq *q = &vdev->cmdq;

	if (q->cq)
		dma_free_coherent(dev, VERNA_ACQ_MEM, q->cq, q->cq_dma);
	if (q->sq)
		dma_free_coherent(dev, VERNA_AQ_MEM, q->sq, q->sq_dma);
	q->cq = NULL;
	q->sq = NULL;
}

/**
 * verna_cmdq_start - set up and enable the admin queue, in polling mode
 * @vdev: the card, freshly reset
 *
 * Return: 0, -ENOMEM or -EIO.
 */
int verna_cmdq_start(struct verna_dev *vdev)
{
	struct device *dev = verna_device(vdev);
	struct verna_cmdq *q = &vdev->cmdq;
	int err = -ENOMEM;

	q->sq = dma_alloc_coherent(dev, VERNA_AQ_MEM, &q->sq_dma, GFP_KERNEL);
	q->cq = dma_alloc_coherent(dev, VERNA_ACQ_MEM, &q->cq_dma, GFP_KERNEL);
	if (!q->sq || !q->cq)
		goto free;
	q->prod = 0;
	q->cons = 0;
	q->events = false;
	err = verna_cmdq_enable(vdev);
	if (err) {
		dev_err(dev, "the admin queue does not come up\n");
		goto free;
	}
	spin_lock_irq(&q->lock);
	q->open = true;
	spin_unlock_irq(&q->lock);
	return 0;

free:
	verna_cmdq_free(vdev);
	return err;
}

/** verna_cmdq_use_events - rely on vector 0, or poll again @vdev: card @on: which */
void verna_cmdq_use_events(struct verna_dev *vdev, bool on)
{
	WRITE_ONCE(vdev->cmdq.events, on);
}

/**
 * verna_cmdq_close - refuse new commands and give up those under way
 * @vdev: the card
 *
 * Context: any, hard interrupt included.
 */
void verna_cmdq_close(struct verna_dev *vdev)
{
	struct verna_cmdq *q = &vdev->cmdq;
	unsigned long flags;

	spin_lock_irqsave(&q->lock, flags);
	q->open = false;
	for (; q->cons != q->prod; q->cons++) {
		struct verna_cmd_slot *slot = &q->slots[q->cons % VERNA_AQ_SIZE];

		if (!slot->wait)
			continue;
		slot->wait->err = -EIO;
		complete(&slot->wait->done);
		slot->wait = NULL;
	}
	wake_up_all(&q->slot_wait);
	spin_unlock_irqrestore(&q->lock, flags);
}

/**
 * verna_cmdq_stop - disable the admin queue and free its memory
 * @vdev: the card; either reset or answering
 */
void verna_cmdq_stop(struct verna_dev *vdev)
{
	verna_cmdq_close(vdev);
	verna_reg_write(vdev, VERNA_REG_CONTROL, 0);
	/* Flushes the write; the card reads no command after it. */
	verna_reg_read(vdev, VERNA_REG_STATUS);
	verna_cmdq_free(vdev);
}
