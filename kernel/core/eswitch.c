// SPDX-License-Identifier: GPL-2.0
/*
 * verna: mode of the embedded switch (devlink dev eswitch). Representors of VFs exist
 * exactly while the mode is switchdev and the VFs are enabled. The instance lock of
 * devlink serialises changes of both; then comes the life cycle, then rtnl.
 */
#include "core.h"

/* Frames of VFs that no rule decides go to this RX queue. */
#define VERNA_SLOW_PATH_QUEUE	0

static int verna_eswitch_command(struct verna_dev *vdev, bool switchdev)
{
	struct verna_cmd_set_eswitch cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_ESWITCH),
		.mode = switchdev ? VERNA_ESWITCH_SWITCHDEV : VERNA_ESWITCH_LEGACY,
		.queue = cpu_to_le16(switchdev ? VERNA_SLOW_PATH_QUEUE : 0),
	};

	return verna_cmd_exec(vdev, &cmd, sizeof(cmd), NULL);
}

/**
 * verna_eswitch_start - tell a card that was reset its mode
 * @vdev: the card, up, its interface not yet
 *
 * Return: 0 or an error of the command.
 */
int verna_eswitch_start(struct verna_dev *vdev)
{
	return vdev->switchdev ? verna_eswitch_command(vdev, true) : 0;
}

/**
 * verna_eswitch_sync - as many representors as there should be
 * @vdev: the card
 * @num: VFs that are enabled
 *
 * Return: 0 or an error; then there are fewer.
 */
int verna_eswitch_sync(struct verna_dev *vdev, u32 num)
{
	int err = 0;

	devl_lock(vdev->devlink);
	if (vdev->netdev)
		err = verna_reps_set(vdev->netdev, vdev->devlink, vdev->switchdev ? num : 0);
	devl_unlock(vdev->devlink);
	return err;
}

int verna_eswitch_mode_get(struct devlink *devlink, u16 *mode)
{
	struct verna_dev *vdev = devlink_priv(devlink);

	if (!vdev->caps.eswitch.present)
		return -EOPNOTSUPP;
	*mode = vdev->switchdev ? DEVLINK_ESWITCH_MODE_SWITCHDEV :
				  DEVLINK_ESWITCH_MODE_LEGACY;
	return 0;
}

static int verna_eswitch_change(struct verna_dev *vdev, bool switchdev,
				struct netlink_ext_ack *extack)
{
	int err;

	if (!verna_dev_is_up(vdev) || !vdev->netdev)
		return -EIO;
	err = verna_eth_switch_mode(vdev->netdev, switchdev, extack);
	if (err)
		return err;
	err = verna_eswitch_command(vdev, switchdev);
	if (err) {
		NL_SET_ERR_MSG(extack, "the card refuses the mode");
		verna_eth_switch_mode(vdev->netdev, !switchdev, NULL);
		return err;
	}
	vdev->switchdev = switchdev;
	return 0;
}

int verna_eswitch_mode_set(struct devlink *devlink, u16 mode,
			   struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_priv(devlink);
	bool switchdev = mode == DEVLINK_ESWITCH_MODE_SWITCHDEV;
	int err = 0;

	if (!vdev->caps.eswitch.present || mode > DEVLINK_ESWITCH_MODE_SWITCHDEV) {
		NL_SET_ERR_MSG(extack, "the card has no such mode");
		return -EOPNOTSUPP;
	}
	mutex_lock(&vdev->lifecycle);
	if (switchdev == vdev->switchdev)
		goto unlock;
	if (!switchdev && vdev->netdev)
		verna_reps_set(vdev->netdev, devlink, 0);
	err = verna_eswitch_change(vdev, switchdev, extack);
	if (vdev->switchdev && vdev->netdev) {
		/* Also those that went when it could not be left. */
		int made = verna_reps_set(vdev->netdev, devlink, pci_num_vf(vdev->pdev));

		if (made)
			NL_SET_ERR_MSG(extack, "not every VF has a representor");
		err = err ?: made;
	}
unlock:
	mutex_unlock(&vdev->lifecycle);
	return err;
}
