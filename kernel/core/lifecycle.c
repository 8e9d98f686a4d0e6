// SPDX-License-Identifier: GPL-2.0
/*
 * verna: bringing a card up and down.
 *
 *	        verna_up()              verna_dev_fail()
 *	DOWN ----------------> UP -------------------------> FAILED
 *	  ^                     |                               |
 *	  +---------------------+---- verna_down() <------------+
 *
 * There is one way down for function level reset, recovery, suspend and surprise
 * removal: first the card is silenced (bus mastering is off, a card that is still
 * there is reset, commands are refused), then the clients are told to go, then
 * what the driver owns is freed. Nothing on that way needs an answer from the
 * card. Only unloading the driver is orderly: the card stays up until its clients
 * have destroyed what they created.
 */
#include <linux/delay.h>

#include "core.h"
#include "trace.h"

#define VERNA_RESET_TIMEOUT	(10 * HZ)

/** verna_dev_init - set up what needs no card @vdev: zeroed @pdev: its device */
void verna_dev_init(struct verna_dev *vdev, struct pci_dev *pdev)
{
	vdev->pdev = pdev;
	vdev->devlink = priv_to_devlink(vdev);
	mutex_init(&vdev->lifecycle);
	spin_lock_init(&vdev->state_lock);
	spin_lock_init(&vdev->cmdq.lock);
	init_waitqueue_head(&vdev->cmdq.slot_wait);
	xa_init(&vdev->cqs);
	INIT_LIST_HEAD(&vdev->handlers);
	mutex_init(&vdev->handlers_lock);
	verna_health_init(vdev);
}

bool verna_dev_is_up(struct verna_dev *vdev)
{
	return READ_ONCE(vdev->state) == VERNA_STATE_UP;
}
EXPORT_SYMBOL_GPL(verna_dev_is_up);

bool verna_dev_is_gone(struct verna_dev *vdev)
{
	return READ_ONCE(vdev->gone);
}
EXPORT_SYMBOL_GPL(verna_dev_is_gone);

/** verna_state_name - for people @vdev: the card */
const char *verna_state_name(struct verna_dev *vdev)
{
	if (verna_dev_is_gone(vdev))
		return "gone";
	switch (READ_ONCE(vdev->state)) {
	case VERNA_STATE_UP:
		return "up";
	case VERNA_STATE_FAILED:
		return "failed";
	default:
		return "down";
	}
}

static enum verna_state verna_state_set(struct verna_dev *vdev,
					enum verna_state state)
{
	enum verna_state old;
	unsigned long flags;

	spin_lock_irqsave(&vdev->state_lock, flags);
	old = vdev->state;
	WRITE_ONCE(vdev->state, state);
	spin_unlock_irqrestore(&vdev->state_lock, flags);
	return old;
}

void verna_dev_fail(struct verna_dev *vdev, const char *why)
{
	struct verna_event event = { .type = VERNA_EVENT_FATAL };
	unsigned long flags;
	bool first;

	spin_lock_irqsave(&vdev->state_lock, flags);
	first = vdev->state == VERNA_STATE_UP;
	if (first) {
		/* Whoever sees the state may free memory. */
		pci_clear_master(vdev->pdev);
		WRITE_ONCE(vdev->state, VERNA_STATE_FAILED);
		WRITE_ONCE(vdev->fail_reason, why);
		if (vdev->recoverable)
			queue_work(system_unbound_wq, &vdev->recover_work);
	}
	spin_unlock_irqrestore(&vdev->state_lock, flags);
	if (!first)
		return;

	dev_err(verna_device(vdev), "giving the card up: %s\n", why);
	trace_verna_state(verna_device(vdev), why);
	verna_cmdq_close(vdev);
	verna_event_dispatch(vdev, &event);
}
EXPORT_SYMBOL_GPL(verna_dev_fail);

/**
 * verna_allow_recovery - whether failures are reported and recovered
 * @vdev: the card
 * @allow: true once the reporters exist; false waits for a recovery to end
 */
void verna_allow_recovery(struct verna_dev *vdev, bool allow)
{
	spin_lock_irq(&vdev->state_lock);
	vdev->recoverable = allow;
	if (allow && vdev->state == VERNA_STATE_FAILED)
		queue_work(system_unbound_wq, &vdev->recover_work);
	spin_unlock_irq(&vdev->state_lock);
	if (!allow)
		verna_health_exit(vdev);
}

/**
 * verna_block_recovery - failures are not acted upon until recovery is allowed again
 * @vdev: the card
 *
 * Unlike verna_allow_recovery() it does not wait: a recovery under way waits for locks
 * that the caller has, and finds nothing to do when it gets them.
 */
void verna_block_recovery(struct verna_dev *vdev)
{
	spin_lock_irq(&vdev->state_lock);
	vdev->recoverable = false;
	spin_unlock_irq(&vdev->state_lock);
}

/**
 * verna_hw_reset - reset the card and wait until it is ready
 * @vdev: the card
 *
 * Return: 0, -EIO if the card is gone, -ETIMEDOUT.
 */
int verna_hw_reset(struct verna_dev *vdev)
{
	unsigned long deadline = jiffies + VERNA_RESET_TIMEOUT;
	u32 control, status;

	verna_reg_write(vdev, VERNA_REG_CONTROL, VERNA_CONTROL_RESET);
	for (;;) {
		control = verna_reg_read(vdev, VERNA_REG_CONTROL);
		status = verna_reg_read(vdev, VERNA_REG_STATUS);
		if (verna_dev_is_gone(vdev))
			return -EIO;
		if (!(control & VERNA_CONTROL_RESET) && (status & VERNA_STATUS_READY))
			return 0;
		if (time_after(jiffies, deadline))
			return -ETIMEDOUT;
		usleep_range(200, 1000);
	}
}

/*
 * After this the card touches no memory and forgets every object. Only then may
 * anybody see that commands fail, because that lets clients free memory.
 */
static void verna_silence(struct verna_dev *vdev)
{
	pci_clear_master(vdev->pdev);
	if (!verna_dev_is_gone(vdev) && verna_hw_reset(vdev))
		dev_warn(verna_device(vdev), "the card does not answer a reset\n");
	verna_state_set(vdev, VERNA_STATE_FAILED);
	verna_cmdq_close(vdev);
}

static void verna_hw_stop(struct verna_dev *vdev)
{
	/* Interrupts go first, so commands are polled for from here. */
	verna_cmdq_use_events(vdev, false);
	verna_eqs_destroy(vdev);
	verna_irqs_free(vdev);
	verna_cmdq_stop(vdev);
	verna_state_set(vdev, VERNA_STATE_DOWN);
}

/* Commands are answered by interrupt from now on, if interrupts work at all. */
static int verna_hw_check_events(struct verna_dev *vdev)
{
	struct verna_cmd_hdr nop = { .opcode = cpu_to_le16(VERNA_CMD_NOP) };
	u32 before = verna_irq_count(vdev, 0);
	int err;

	verna_cmdq_use_events(vdev, true);
	err = verna_cmd_exec(vdev, &nop, sizeof(nop), NULL);
	if (!err && verna_irq_count(vdev, 0) == before) {
		dev_warn(verna_device(vdev), "no interrupts; polling for commands\n");
		verna_cmdq_use_events(vdev, false);
	}
	return err;
}

static int verna_hw_start(struct verna_dev *vdev)
{
	int err;

	pci_set_master(vdev->pdev);
	err = verna_cmdq_start(vdev);
	if (err)
		return err;
	verna_state_set(vdev, VERNA_STATE_UP);
	err = verna_irqs_alloc(vdev);
	if (err)
		goto stop;
	err = verna_eqs_create(vdev);
	if (err)
		goto stop;
	err = verna_hw_check_events(vdev);
	if (err)
		goto stop;
	return 0;

stop:
	verna_hw_stop(vdev);
	return err;
}

static int verna_netdev_up(struct verna_dev *vdev)
{
	struct net_device *netdev;

	if (vdev->netdev)
		return verna_eth_resume(vdev->netdev);
	netdev = verna_eth_create(vdev);
	if (IS_ERR(netdev))
		return PTR_ERR(netdev);
	vdev->netdev = netdev;
	return 0;
}

/**
 * verna_up - from a card that was reset to one that works, with its clients
 * @vdev: the card
 *
 * Return: 0 or an error; the card is DOWN then.
 */
int verna_up(struct verna_dev *vdev)
{
	int err;

	err = verna_hw_start(vdev);
	if (err)
		return err;
	err = verna_eswitch_start(vdev);
	if (!err)
		err = verna_netdev_up(vdev);
	if (err)
		goto stop;
	err = verna_adev_add(vdev);
	/* Ethernet is of use without RDMA. */
	if (err)
		dev_warn(verna_device(vdev), "no RDMA: auxiliary device: %d\n", err);
	verna_health_start(vdev);
	trace_verna_state(verna_device(vdev), "up");
	return 0;

stop:
	verna_silence(vdev);
	verna_hw_stop(vdev);
	return err;
}

/**
 * verna_down - silence the card and take everything down but the netdev itself
 * @vdev: the card in any state, also already DOWN
 */
void verna_down(struct verna_dev *vdev)
{
	verna_health_stop(vdev);
	verna_silence(vdev);
	verna_adev_del(vdev);
	if (vdev->netdev)
		verna_eth_suspend(vdev->netdev);
	verna_hw_stop(vdev);
	trace_verna_state(verna_device(vdev), "down");
}

/**
 * verna_teardown - orderly end of a card, up or not
 * @vdev: the card
 */
void verna_teardown(struct verna_dev *vdev)
{
	verna_health_stop(vdev);
	verna_adev_del(vdev);
	if (vdev->netdev)
		verna_eth_destroy(vdev->netdev);
	vdev->netdev = NULL;
	vdev->switchdev = false;
	verna_silence(vdev);
	verna_hw_stop(vdev);
}

/**
 * verna_recover - bring a failed card back
 * @vdev: the card
 *
 * Return: 0, also if there is nothing to do, or why it failed.
 */
int verna_recover(struct verna_dev *vdev)
{
	int err = 0;

	mutex_lock(&vdev->lifecycle);
	/* A reset under way will bring a fresh card anyway. */
	if (vdev->in_reset || verna_dev_is_up(vdev))
		goto unlock;
	verna_down(vdev);
	err = verna_dev_is_gone(vdev) ? -ENODEV : verna_hw_reset(vdev);
	if (!err)
		err = verna_up(vdev);
	if (!err)
		vdev->recoveries++;
	dev_info(verna_device(vdev), "recovery %s\n", err ? "failed" : "done");
unlock:
	mutex_unlock(&vdev->lifecycle);
	return err;
}
