/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Where the kernels that verna is built for differ. The driver is written for the
 * newest interface; what an older kernel calls otherwise is translated here. What
 * can't be seen with #ifdef is probed, see probe.mk.
 */
#ifndef VERNA_COMPAT_H
#define VERNA_COMPAT_H

#include <linux/timer.h>
#include <net/devlink.h>

#include "verna_have.h"

#ifndef timer_container_of
#define timer_container_of from_timer
#endif

static inline struct devlink_health_reporter *
verna_health_reporter_create(struct devlink *devlink,
			     const struct devlink_health_reporter_ops *ops, void *priv)
{
#ifdef VERNA_HAVE_DEVLINK_REPORTER_NO_PERIOD
	return devlink_health_reporter_create(devlink, ops, priv);
#else
	return devlink_health_reporter_create(devlink, ops, 0, priv);
#endif
}

#endif /* VERNA_COMPAT_H */
