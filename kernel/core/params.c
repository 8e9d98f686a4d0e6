// SPDX-License-Identifier: GPL-2.0
/* verna: devlink parameters. They are the interface's and end with it. */
#include "core.h"
#include "verna_compat.h"

/* Largest value of which the card's kbit/s fit into 32 bits. */
#define VERNA_MAX_PACE_MBPS	(U32_MAX / 1000)

enum verna_param_id {
	VERNA_PARAM_TSO_PACING = DEVLINK_PARAM_GENERIC_ID_MAX + 1,
};

#ifdef VERNA_HAVE_DEVLINK_PARAM_GET_EXTACK
static int verna_pacing_get(struct devlink *devlink, u32 id,
			    struct devlink_param_gset_ctx *ctx,
			    struct netlink_ext_ack *extack)
#else
static int verna_pacing_get(struct devlink *devlink, u32 id,
			    struct devlink_param_gset_ctx *ctx)
#endif
{
	struct verna_dev *vdev = devlink_priv(devlink);

	mutex_lock(&vdev->lifecycle);
	ctx->val.vu32 = vdev->netdev ? verna_eth_get_pace(vdev->netdev) : 0;
	mutex_unlock(&vdev->lifecycle);
	return 0;
}

static int verna_pacing_set(struct devlink *devlink, u32 id,
			    struct devlink_param_gset_ctx *ctx,
			    struct netlink_ext_ack *extack)
{
	struct verna_dev *vdev = devlink_priv(devlink);
	int err = -ENODEV;

	if (ctx->val.vu32 > VERNA_MAX_PACE_MBPS) {
		NL_SET_ERR_MSG_FMT(extack, "at most %u Mbit/s", VERNA_MAX_PACE_MBPS);
		return -EINVAL;
	}
	mutex_lock(&vdev->lifecycle);
	if (vdev->netdev)
		err = verna_eth_set_pace(vdev->netdev, ctx->val.vu32);
	mutex_unlock(&vdev->lifecycle);
	return err;
}

static const struct devlink_param verna_params[] = {
	DEVLINK_PARAM_DRIVER(VERNA_PARAM_TSO_PACING, "tso_pacing_mbps",
			     DEVLINK_PARAM_TYPE_U32, BIT(DEVLINK_PARAM_CMODE_RUNTIME),
			     verna_pacing_get, verna_pacing_set, NULL),
};

/**
 * verna_params_register - add the parameters
 * @vdev: the card, before its devlink instance is registered
 *
 * Return: 0 or an error of devlink.
 */
int verna_params_register(struct verna_dev *vdev)
{
	return devlink_params_register(vdev->devlink, verna_params,
				       ARRAY_SIZE(verna_params));
}

/** verna_params_unregister - undoes verna_params_register() @vdev: the card */
void verna_params_unregister(struct verna_dev *vdev)
{
	devlink_params_unregister(vdev->devlink, verna_params, ARRAY_SIZE(verna_params));
}
