// SPDX-License-Identifier: GPL-2.0
/*
 * verna: devlink health reporters. "fw" is the card as a whole and "command" its admin
 * queue, both recovered by a reset; "tx" and "rx" are the Ethernet queues, recovered by
 * making them anew.
 */
#include "core.h"
#include "verna_compat.h"

static int verna_fw_recover(struct devlink_health_reporter *reporter, void *ctx,
			    struct netlink_ext_ack *extack)
{
	return verna_recover(devlink_health_reporter_priv(reporter));
}

static int verna_fw_test(struct devlink_health_reporter *reporter,
			 struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);

	if (!verna_dev_is_up(vdev)) {
		NL_SET_ERR_MSG(extack, "the card is not up");
		return -ENODEV;
	}
	/* As a real failure: reported, and recovered if that is enabled. */
	verna_dev_fail(vdev, "health test");
	return 0;
}

/* Names and descriptions in turn, each ended by a zero byte. */
#define VERNA_COUNTER_NAME(name, doc) #name "\0" doc "\0"
static const char verna_dev_names[] = VERNA_DEV_COUNTERS(VERNA_COUNTER_NAME);

static void verna_fw_counters(struct verna_dev *vdev, struct devlink_fmsg *fmsg)
{
	u64 values[VERNA_DEV_NUM_COUNTERS];
	const char *name = verna_dev_names;
	u32 i;

	if (verna_query_counters(vdev, VERNA_COUNTERS_DEV, 0, values, ARRAY_SIZE(values)))
		return;
	devlink_fmsg_pair_nest_start(fmsg, "counters");
	devlink_fmsg_obj_nest_start(fmsg);
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		devlink_fmsg_u64_pair_put(fmsg, name, values[i]);
		name += strlen(name) + 1;
		name += strlen(name) + 1;
	}
	devlink_fmsg_obj_nest_end(fmsg);
	devlink_fmsg_pair_nest_end(fmsg);
}

static int verna_fw_diagnose(struct devlink_health_reporter *reporter,
			     struct devlink_fmsg *fmsg, struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);
	const char *reason = READ_ONCE(vdev->fail_reason);

	devlink_fmsg_string_pair_put(fmsg, "state", verna_state_name(vdev));
	devlink_fmsg_u32_pair_put(fmsg, "status", verna_reg_read(vdev, VERNA_REG_STATUS));
	devlink_fmsg_u32_pair_put(fmsg, "fatal code",
				  verna_reg_read(vdev, VERNA_REG_FATAL_CODE));
	devlink_fmsg_u32_pair_put(fmsg, "heartbeat",
				  verna_reg_read(vdev, VERNA_REG_HEARTBEAT));
	devlink_fmsg_u32_pair_put(fmsg, "recoveries", vdev->recoveries);
	devlink_fmsg_string_pair_put(fmsg, "last failure", reason ?: "none");
	if (verna_dev_is_up(vdev))
		verna_fw_counters(vdev, fmsg);
	return 0;
}

static int verna_fw_dump(struct devlink_health_reporter *reporter,
			 struct devlink_fmsg *fmsg, void *ctx,
			 struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);
	char name[8];
	u32 offset;

	devlink_fmsg_pair_nest_start(fmsg, "registers");
	devlink_fmsg_obj_nest_start(fmsg);
	for (offset = 0; offset <= VERNA_REG_HEARTBEAT; offset += 4) {
		snprintf(name, sizeof(name), "0x%04x", offset);
		devlink_fmsg_u32_pair_put(fmsg, name, verna_reg_read(vdev, offset));
	}
	devlink_fmsg_obj_nest_end(fmsg);
	devlink_fmsg_pair_nest_end(fmsg);
	return 0;
}

static const struct devlink_health_reporter_ops verna_fw_ops = {
	.name = "fw",
	.recover = verna_fw_recover,
	.diagnose = verna_fw_diagnose,
	.dump = verna_fw_dump,
	.test = verna_fw_test,
};

static int verna_cmd_recover(struct devlink_health_reporter *reporter, void *ctx,
			     struct netlink_ext_ack *extack)
{
	return verna_recover(devlink_health_reporter_priv(reporter));
}

static int verna_cmd_diagnose(struct devlink_health_reporter *reporter,
			      struct devlink_fmsg *fmsg, struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);
	struct verna_cmdq *q = &vdev->cmdq;
	u32 prod, cons, executed;
	bool open, events;
	u64 age_ns = 0;

	spin_lock_irq(&q->lock);
	prod = q->prod;
	cons = q->cons;
	open = q->open;
	events = q->events;
	executed = q->history_next;
	if (prod != cons)
		age_ns = ktime_to_ns(ktime_sub(ktime_get(),
					       q->slots[cons % VERNA_AQ_SIZE].posted));
	spin_unlock_irq(&q->lock);

	devlink_fmsg_bool_pair_put(fmsg, "open", open);
	devlink_fmsg_bool_pair_put(fmsg, "interrupts", events);
	devlink_fmsg_u32_pair_put(fmsg, "posted", prod);
	devlink_fmsg_u32_pair_put(fmsg, "completed", cons);
	devlink_fmsg_u32_pair_put(fmsg, "executed", executed);
	devlink_fmsg_u64_pair_put(fmsg, "oldest waits ns", age_ns);
	devlink_fmsg_u32_pair_put(fmsg, "timeouts", READ_ONCE(q->timeouts));
	return 0;
}

static void verna_cmd_dump_record(struct devlink_fmsg *fmsg,
				  const struct verna_cmd_record *rec)
{
	devlink_fmsg_obj_nest_start(fmsg);
	devlink_fmsg_string_pair_put(fmsg, "command", verna_cmd_name(rec->opcode));
	devlink_fmsg_u32_pair_put(fmsg, "opcode", rec->opcode);
	devlink_fmsg_u32_pair_put(fmsg, "id", rec->id);
	devlink_fmsg_u32_pair_put(fmsg, "status", rec->status);
	devlink_fmsg_u32_pair_put(fmsg, "detail", rec->detail);
	devlink_fmsg_u64_pair_put(fmsg, "latency ns", rec->latency_ns);
	devlink_fmsg_obj_nest_end(fmsg);
}

/* The last commands that were answered, the oldest first. */
static int verna_cmd_dump(struct devlink_health_reporter *reporter,
			  struct devlink_fmsg *fmsg, void *ctx,
			  struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);
	struct verna_cmdq_view *view;
	u32 i;

	view = verna_cmdq_view(vdev);
	if (!view)
		return -ENOMEM;
	devlink_fmsg_arr_pair_nest_start(fmsg, "commands");
	for (i = 0; i < view->num; i++)
		verna_cmd_dump_record(fmsg, &view->history[i]);
	devlink_fmsg_arr_pair_nest_end(fmsg);
	kfree(view);
	return 0;
}

static int verna_cmd_test(struct devlink_health_reporter *reporter,
			  struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);

	if (!verna_dev_is_up(vdev)) {
		NL_SET_ERR_MSG(extack, "the card is not up");
		return -ENODEV;
	}
	verna_cmdq_fail(vdev, "command health test");
	return 0;
}

static const struct devlink_health_reporter_ops verna_cmd_ops = {
	.name = "command",
	.recover = verna_cmd_recover,
	.diagnose = verna_cmd_diagnose,
	.dump = verna_cmd_dump,
	.test = verna_cmd_test,
};

/* Makes the Ethernet queues anew, which mends both directions. */
static int verna_queue_recover(struct devlink_health_reporter *reporter, void *ctx,
			       struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);
	const struct verna_report *report = ctx;
	int err = 0;

	if (report && !report->restart)
		return 0;
	mutex_lock(&vdev->lifecycle);
	if (verna_dev_is_up(vdev) && vdev->netdev)
		err = verna_eth_restart(vdev->netdev);
	mutex_unlock(&vdev->lifecycle);
	/* If new queues do not help, a new card might. */
	if (err)
		verna_dev_fail(vdev, "Ethernet queues cannot be restarted");
	return err;
}

static int verna_queue_diagnose(struct verna_dev *vdev, struct devlink_fmsg *fmsg,
				enum verna_queue_kind kind)
{
	mutex_lock(&vdev->lifecycle);
	if (vdev->netdev)
		verna_eth_diagnose(vdev->netdev, kind, fmsg);
	mutex_unlock(&vdev->lifecycle);
	return 0;
}

static int verna_queue_dump(struct verna_dev *vdev, struct devlink_fmsg *fmsg,
			    enum verna_queue_kind kind)
{
	mutex_lock(&vdev->lifecycle);
	if (vdev->netdev)
		verna_eth_dump(vdev->netdev, kind, fmsg);
	mutex_unlock(&vdev->lifecycle);
	return 0;
}

static int verna_queue_test(struct verna_dev *vdev, enum verna_queue_kind kind,
			    struct netlink_ext_ack *extack)
{
	if (!verna_dev_is_up(vdev)) {
		NL_SET_ERR_MSG(extack, "the card is not up");
		return -ENODEV;
	}
	/* As a real failure: reported, and recovered if that is enabled. */
	verna_health_queue_error(vdev, kind, "health test", 0, true);
	return 0;
}

static int verna_tx_diagnose(struct devlink_health_reporter *reporter,
			     struct devlink_fmsg *fmsg, struct netlink_ext_ack *extack)
{
	return verna_queue_diagnose(devlink_health_reporter_priv(reporter), fmsg,
				    VERNA_QUEUE_TX);
}

static int verna_tx_dump(struct devlink_health_reporter *reporter,
			 struct devlink_fmsg *fmsg, void *ctx,
			 struct netlink_ext_ack *extack)
{
	return verna_queue_dump(devlink_health_reporter_priv(reporter), fmsg,
				VERNA_QUEUE_TX);
}

static int verna_tx_test(struct devlink_health_reporter *reporter,
			 struct netlink_ext_ack *extack)
{
	return verna_queue_test(devlink_health_reporter_priv(reporter), VERNA_QUEUE_TX,
				extack);
}

static const struct devlink_health_reporter_ops verna_tx_ops = {
	.name = "tx",
	.recover = verna_queue_recover,
	.diagnose = verna_tx_diagnose,
	.dump = verna_tx_dump,
	.test = verna_tx_test,
};

static int verna_rx_diagnose(struct devlink_health_reporter *reporter,
			     struct devlink_fmsg *fmsg, struct netlink_ext_ack *extack)
{
	return verna_queue_diagnose(devlink_health_reporter_priv(reporter), fmsg,
				    VERNA_QUEUE_RX);
}

static int verna_rx_dump(struct devlink_health_reporter *reporter,
			 struct devlink_fmsg *fmsg, void *ctx,
			 struct netlink_ext_ack *extack)
{
	return verna_queue_dump(devlink_health_reporter_priv(reporter), fmsg,
				VERNA_QUEUE_RX);
}

static int verna_rx_test(struct devlink_health_reporter *reporter,
			 struct netlink_ext_ack *extack)
{
	return verna_queue_test(devlink_health_reporter_priv(reporter), VERNA_QUEUE_RX,
				extack);
}

static const struct devlink_health_reporter_ops verna_rx_ops = {
	.name = "rx",
	.recover = verna_queue_recover,
	.diagnose = verna_rx_diagnose,
	.dump = verna_rx_dump,
	.test = verna_rx_test,
};

static const struct devlink_health_reporter_ops *
const verna_reporter_ops[VERNA_NUM_REPORTERS] = {
	[VERNA_REPORTER_FW] = &verna_fw_ops,
	[VERNA_REPORTER_CMD] = &verna_cmd_ops,
	[VERNA_REPORTER_TX] = &verna_tx_ops,
	[VERNA_REPORTER_RX] = &verna_rx_ops,
};

/**
 * verna_reporters_create - create the health reporters
 * @vdev: the card, before its devlink instance is registered
 *
 * Return: 0 or an error of devlink.
 */
int verna_reporters_create(struct verna_dev *vdev)
{
	struct devlink_health_reporter *reporter;
	u32 i;

	for (i = 0; i < VERNA_NUM_REPORTERS; i++) {
		reporter = verna_health_reporter_create(vdev->devlink,
							verna_reporter_ops[i], vdev);
		if (IS_ERR(reporter)) {
			verna_reporters_destroy(vdev);
			return PTR_ERR(reporter);
		}
		vdev->reporters[i] = reporter;
	}
	return 0;
}

/** verna_reporters_destroy - undoes verna_reporters_create() @vdev: the card */
void verna_reporters_destroy(struct verna_dev *vdev)
{
	u32 i;

	for (i = 0; i < VERNA_NUM_REPORTERS; i++)
		if (vdev->reporters[i])
			devlink_health_reporter_destroy(vdev->reporters[i]);
	memset(vdev->reporters, 0, sizeof(vdev->reporters));
}
