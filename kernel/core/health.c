// SPDX-License-Identifier: GPL-2.0
/*
 * verna: watching the card, and handing failures to the devlink health reporters,
 * which decide whether to recover.
 */
#include "core.h"

#define VERNA_HEALTH_PERIOD	(2 * HZ)
/* The card's heart beats once a second; a host may starve it for some time. */
#define VERNA_HEARTBEAT_LOST	(20 * HZ)

static void verna_health_check(struct verna_dev *vdev)
{
	u32 status = verna_reg_read(vdev, VERNA_REG_STATUS);
	u32 beat = verna_reg_read(vdev, VERNA_REG_HEARTBEAT);

	if (verna_dev_is_gone(vdev))
		return;
	if (status & VERNA_STATUS_FATAL) {
		dev_err(verna_device(vdev), "fatal code %u\n",
			verna_reg_read(vdev, VERNA_REG_FATAL_CODE));
		verna_dev_fail(vdev, "fatal status");
		return;
	}
	if (!(status & VERNA_STATUS_AQ_ENABLED)) {
		/* A VF, by a reset of the PF. */
		verna_dev_fail(vdev, "reset by another");
		return;
	}
	if (beat != vdev->heartbeat) {
		vdev->heartbeat = beat;
		vdev->heartbeat_seen = jiffies;
		return;
	}
	if (time_after(jiffies, vdev->heartbeat_seen + VERNA_HEARTBEAT_LOST))
		verna_dev_fail(vdev, "no heartbeat");
}

static void verna_health_work(struct work_struct *work)
{
	struct verna_dev *vdev = container_of(to_delayed_work(work),
					      struct verna_dev, health);

	verna_health_check(vdev);
	if (verna_dev_is_up(vdev))
		schedule_delayed_work(&vdev->health, VERNA_HEALTH_PERIOD);
}

static void verna_recover_work(struct work_struct *work)
{
	struct verna_dev *vdev = container_of(work, struct verna_dev, recover_work);
	const char *reason = READ_ONCE(vdev->fail_reason);
	enum verna_reporter which = xchg(&vdev->cmdq.failed, false) ? VERNA_REPORTER_CMD :
								      VERNA_REPORTER_FW;

	devlink_health_report(vdev->reporters[which], reason ?: "unknown", NULL);
}

static void verna_queue_work(struct work_struct *work)
{
	struct verna_report *report = container_of(work, struct verna_report, work);
	struct verna_dev *vdev = report->vdev;

	/* Queues of a card that is gone, which a read finds out, are not the matter. */
	verna_reg_read(vdev, VERNA_REG_STATUS);
	if (!verna_dev_is_up(vdev))
		return;
	devlink_health_report(vdev->reporters[report->reporter], READ_ONCE(report->reason),
			      report);
}

void verna_health_queue_error(struct verna_dev *vdev, enum verna_queue_kind kind,
			      const char *what, u32 id, bool restart)
{
	struct verna_report *report = &vdev->queue_reports[kind];
	unsigned long flags;

	dev_err_ratelimited(verna_device(vdev), "%s queue %u: %s\n",
			    kind == VERNA_QUEUE_TX ? "TX" : "RX", id, what);
	spin_lock_irqsave(&vdev->state_lock, flags);
	WRITE_ONCE(report->reason, what);
	WRITE_ONCE(report->restart, restart);
	if (vdev->recoverable)
		queue_work(system_unbound_wq, &report->work);
	spin_unlock_irqrestore(&vdev->state_lock, flags);
}

static void verna_report_init(struct verna_dev *vdev, enum verna_queue_kind kind,
			      enum verna_reporter reporter)
{
	struct verna_report *report = &vdev->queue_reports[kind];

	report->vdev = vdev;
	report->reporter = reporter;
	INIT_WORK(&report->work, verna_queue_work);
}

void verna_health_init(struct verna_dev *vdev)
{
	INIT_DELAYED_WORK(&vdev->health, verna_health_work);
	INIT_WORK(&vdev->recover_work, verna_recover_work);
	verna_report_init(vdev, VERNA_QUEUE_TX, VERNA_REPORTER_TX);
	verna_report_init(vdev, VERNA_QUEUE_RX, VERNA_REPORTER_RX);
}

/** verna_health_start - begin to watch a card that is up @vdev: the card */
void verna_health_start(struct verna_dev *vdev)
{
	vdev->heartbeat = verna_reg_read(vdev, VERNA_REG_HEARTBEAT);
	vdev->heartbeat_seen = jiffies;
	schedule_delayed_work(&vdev->health, VERNA_HEALTH_PERIOD);
}

/** verna_health_stop - stop watching; not from the watchdog itself @vdev: the card */
void verna_health_stop(struct verna_dev *vdev)
{
	cancel_delayed_work_sync(&vdev->health);
}

/** verna_health_exit - wait for reports under way; no new ones come @vdev: the card */
void verna_health_exit(struct verna_dev *vdev)
{
	cancel_work_sync(&vdev->recover_work);
	cancel_work_sync(&vdev->queue_reports[VERNA_QUEUE_TX].work);
	cancel_work_sync(&vdev->queue_reports[VERNA_QUEUE_RX].work);
}
