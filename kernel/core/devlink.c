// SPDX-License-Identifier: GPL-2.0
/*
 * verna: devlink: what the card is, and two health reporters. "fw" is the card as
 * a whole, recovered by a reset; "tx" are the Ethernet queues, recovered by
 * making them anew.
 */
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

const struct devlink_ops verna_devlink_ops = {
	.info_get = verna_info_get,
};

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

static int verna_tx_recover(struct devlink_health_reporter *reporter, void *ctx,
			    struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);
	int err = 0;

	mutex_lock(&vdev->lifecycle);
	if (verna_dev_is_up(vdev) && vdev->netdev)
		err = verna_eth_restart(vdev->netdev);
	mutex_unlock(&vdev->lifecycle);
	/* If new queues do not help, a new card might. */
	if (err)
		verna_dev_fail(vdev, "TX queues cannot be restarted");
	return err;
}

static int verna_tx_diagnose(struct devlink_health_reporter *reporter,
			     struct devlink_fmsg *fmsg, struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);

	mutex_lock(&vdev->lifecycle);
	if (vdev->netdev)
		verna_eth_diagnose(vdev->netdev, fmsg);
	mutex_unlock(&vdev->lifecycle);
	return 0;
}

static int verna_tx_test(struct devlink_health_reporter *reporter,
			 struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_health_reporter_priv(reporter);

	if (!verna_dev_is_up(vdev)) {
		NL_SET_ERR_MSG(extack, "the card is not up");
		return -ENODEV;
	}
	verna_health_tx_timeout(vdev, 0);
	return 0;
}

static const struct devlink_health_reporter_ops verna_tx_ops = {
	.name = "tx",
	.recover = verna_tx_recover,
	.diagnose = verna_tx_diagnose,
	.test = verna_tx_test,
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

	reporter = verna_health_reporter_create(vdev->devlink, &verna_fw_ops, vdev);
	if (IS_ERR(reporter))
		return PTR_ERR(reporter);
	vdev->fw_reporter = reporter;
	reporter = verna_health_reporter_create(vdev->devlink, &verna_tx_ops, vdev);
	if (IS_ERR(reporter)) {
		devlink_health_reporter_destroy(vdev->fw_reporter);
		return PTR_ERR(reporter);
	}
	vdev->tx_reporter = reporter;
	return 0;
}

/** verna_reporters_destroy - undoes verna_reporters_create() @vdev: the card */
void verna_reporters_destroy(struct verna_dev *vdev)
{
	devlink_health_reporter_destroy(vdev->tx_reporter);
	devlink_health_reporter_destroy(vdev->fw_reporter);
}
