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
#include <net/flow_offload.h>
#include <net/ipv6.h>

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

/* TSO that leaves CWR in all segments, as AccECN wants it. */
#ifdef NETIF_F_GSO_ACCECN
#define VERNA_GSO_ACCECN SKB_GSO_TCP_ACCECN
#else
#define NETIF_F_GSO_ACCECN 0
#define VERNA_GSO_ACCECN 0
#endif

/* Which IPv4 IDs are the same in all segments; older kernels leave the outer ones alone. */
#ifdef VERNA_HAVE_GSO_FIXEDID_INNER
#define VERNA_GSO_INNER_FIXEDID SKB_GSO_TCP_FIXEDID_INNER
#define VERNA_GSO_OUTER_FIXEDID SKB_GSO_TCP_FIXEDID
#else
#define VERNA_GSO_INNER_FIXEDID SKB_GSO_TCP_FIXEDID
#define VERNA_GSO_OUTER_FIXEDID 0
#endif

/*
 * Older kernels carry the length of IPv6 packets beyond 64 KiB (BIG TCP) in an
 * extension header, which no segment needs.
 */
#ifdef VERNA_HAVE_HOPOPT_JUMBO
static inline u32 verna_hopopt_jumbo_len(const struct sk_buff *skb)
{
	return ipv6_has_hopopt_jumbo(skb) ? sizeof(struct hop_jumbo_hdr) : 0;
}

#define verna_hopopt_jumbo_remove ipv6_hopopt_jumbo_remove
#else
static inline u32 verna_hopopt_jumbo_len(const struct sk_buff *skb)
{
	return 0;
}

static inline int verna_hopopt_jumbo_remove(struct sk_buff *skb)
{
	return 0;
}
#endif

/* Older kernels show it by who hears of errors: with skip_sw, or who asked for it by verbose. */
static inline bool verna_cls_skip_sw(const struct flow_cls_common_offload *common)
{
#ifdef VERNA_HAVE_FLOW_CLS_SKIP_SW
	return common->skip_sw;
#else
	return common->extack;
#endif
}

#endif /* VERNA_COMPAT_H */
