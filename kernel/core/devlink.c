// SPDX-License-Identifier: GPL-2.0
/* verna: devlink: what the card is, and reload: everything above PCI made anew. */
#include <linux/swab.h>

#include "core.h"
#include "verna_compat.h"

static int verna_info_versions(struct verna_dev *vdev, struct devlink_info_req *req)
{
	char buf[32];
	int err;

	snprintf(buf, sizeof(buf), "%04x", vdev->pdev->device);
	err = devlink_info_version_fixed_put(req, DEVLINK_INFO_VERSION_GENERIC_ASIC_ID,
					     buf);
	if (err)
		return err;
	snprintf(buf, sizeof(buf), "%u", vdev->pdev->revision);
	err = devlink_info_version_fixed_put(req, DEVLINK_INFO_VERSION_GENERIC_ASIC_REV,
					     buf);
	if (err)
		return err;
	snprintf(buf, sizeof(buf), "%u.%u.%u", vdev->version >> 24,
		 vdev->version >> 16 & 0xff, vdev->version & 0xffff);
	err = devlink_info_version_running_put(req, DEVLINK_INFO_VERSION_GENERIC_FW,
					       buf);
	if (err)
		return err;
	snprintf(buf, sizeof(buf), "%u.%u", vdev->abi >> 16, vdev->abi & 0xffff);
	return devlink_info_version_running_put(req,
						DEVLINK_INFO_VERSION_GENERIC_FW_MGMT_API,
						buf);
}

static int verna_info_get(struct devlink *devlink, struct devlink_info_req *req,
			  struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_priv(devlink);
	char serial[24];
	int err;

	/* The permanent MAC address, which is all that tells cards apart. */
	snprintf(serial, sizeof(serial), "%08x%04x",
		 swab32(verna_reg_read(vdev, VERNA_REG_MAC_LO)),
		 swab16(verna_reg_read(vdev, VERNA_REG_MAC_HI)));
	err = devlink_info_serial_number_put(req, serial);
	return err ?: verna_info_versions(vdev, req);
}

static int verna_rate_node_new(struct devlink_rate *rate, void **priv,
			       struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_priv(rate->devlink);

	return vdev->netdev ? verna_eth_rate_node_new(vdev->netdev, priv, extack) : -EIO;
}

/* Everything goes but the PCI function itself; a failure on the way is no matter. */
static int verna_reload_down(struct devlink *devlink, bool netns_change,
			     enum devlink_reload_action action,
			     enum devlink_reload_limit limit,
			     struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_priv(devlink);

	if (pci_num_vf(vdev->pdev)) {
		NL_SET_ERR_MSG(extack, "VFs are enabled; disable them first");
		return -EBUSY;
	}
	verna_block_recovery(vdev);
	devl_rate_nodes_destroy(devlink);
	mutex_lock(&vdev->lifecycle);
	verna_teardown(vdev);
	mutex_unlock(&vdev->lifecycle);
	return 0;
}

static int verna_reload_up(struct devlink *devlink, enum devlink_reload_action action,
			   enum devlink_reload_limit limit, u32 *actions_performed,
			   struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_priv(devlink);
	int err;

	err = verna_start(vdev);
	if (err) {
		NL_SET_ERR_MSG(extack, "the card does not come up");
		return err;
	}
	verna_allow_recovery(vdev, true);
	*actions_performed = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT);
	return 0;
}

const struct devlink_ops verna_devlink_ops = {
	.info_get = verna_info_get,
	.reload_actions = BIT(DEVLINK_RELOAD_ACTION_DRIVER_REINIT),
	.reload_down = verna_reload_down,
	.reload_up = verna_reload_up,
	.eswitch_mode_get = verna_eswitch_mode_get,
	.eswitch_mode_set = verna_eswitch_mode_set,
	.rate_leaf_tx_share_set = verna_rate_leaf_tx_share_set,
	.rate_leaf_tx_max_set = verna_rate_leaf_tx_max_set,
	.rate_leaf_tx_priority_set = verna_rate_leaf_tx_priority_set,
	.rate_leaf_tx_weight_set = verna_rate_leaf_tx_weight_set,
	.rate_leaf_parent_set = verna_rate_leaf_parent_set,
	.rate_node_tx_share_set = verna_rate_node_tx_share_set,
	.rate_node_tx_max_set = verna_rate_node_tx_max_set,
	.rate_node_tx_priority_set = verna_rate_node_tx_priority_set,
	.rate_node_tx_weight_set = verna_rate_node_tx_weight_set,
	.rate_node_new = verna_rate_node_new,
	.rate_node_del = verna_rate_node_del,
	.rate_node_parent_set = verna_rate_node_parent_set,
};
