// SPDX-License-Identifier: GPL-2.0
/* The graceful period of a health reporter moved into its ops. */
#include <net/devlink.h>

void *probe(struct devlink *devlink, const struct devlink_health_reporter_ops *ops)
{
	return devlink_health_reporter_create(devlink, ops, NULL);
}
