// SPDX-License-Identifier: GPL-2.0
/* Reading a parameter of a device may fail with a message. */
#include <net/devlink.h>

int probe(const struct devlink_param *param, struct devlink *devlink,
	  struct devlink_param_gset_ctx *ctx, struct netlink_ext_ack *extack)
{
	return param->get(devlink, 0, ctx, extack);
}
