/* SPDX-License-Identifier: GPL-2.0 */
/* verna: where received packets go: RSS contexts, rules of ethtool -N, RFS. */
#ifndef VERNA_STEER_H
#define VERNA_STEER_H

#include <linux/ethtool.h>
#include <linux/hashtable.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>

#include "verna_core_api.h"

#define VERNA_MAX_RSS_CONTEXTS	64
#define VERNA_STEER_LOCATIONS	8192
#define VERNA_STEER_PRIORITY	(U16_MAX + 1)	/* of the first; tc's are lower numbers */
#define VERNA_ARFS_FLOWS	1024

struct verna_eth;

/**
 * struct verna_rss_ctx - an RSS context
 * @key: Toeplitz key
 * @fields: by enum verna_rss_type: VERNA_RSS_SRC_IP etc.
 * @transform: enum verna_rss_transform
 * @table: verna_rss.size RX queue numbers
 */
struct verna_rss_ctx {
	u8 key[VERNA_RSS_KEY_SIZE];
	u8 fields[VERNA_RSS_NUM_TYPES];
	u8 transform;
	u32 table[];
};

/**
 * struct verna_rss - how packets spread over RX queues
 * @lock: serialises changes; commands are executed under it
 * @size: entries of a table, 0 if the card has no RSS
 * @max: contexts that there can be
 * @ctx: the contexts by number; the default one is 0
 */
struct verna_rss {
	struct mutex lock; /* of all contexts */
	u32 size;
	u32 max;
	struct verna_rss_ctx *ctx[VERNA_MAX_RSS_CONTEXTS];
};

/**
 * struct verna_steer - rules of ethtool -N
 * @lock: serialises changes; commands are executed under it, and rss.lock is taken
 * @rules: by location
 * @num: rules
 */
struct verna_steer {
	struct mutex lock; /* of everything here */
	struct xarray rules;
	u32 num;
};

#ifdef CONFIG_RFS_ACCEL
/**
 * struct verna_arfs - flows that the stack wants on certain queues
 * @lock: of everything here
 * @on: queues run and have their CPUs
 * @flows: struct verna_arfs_flow by flow
 * @ids: numbers in use
 * @work: brings the card up to date
 * @expire_work: removes flows that are over
 */
struct verna_arfs {
	spinlock_t lock; /* of everything here */
	bool on;
	DECLARE_HASHTABLE(flows, 9);
	DECLARE_BITMAP(ids, VERNA_ARFS_FLOWS);
	struct work_struct work;
	struct delayed_work expire_work;
};
#endif

/* rss.c */
int verna_rss_init(struct verna_eth *eth);
void verna_rss_free(struct verna_eth *eth);
void verna_rss_default_table(struct verna_eth *eth, u32 num);
void verna_rss_spread(struct verna_eth *eth, struct verna_rss_ctx *ctx, u32 num);
int verna_rss_modify(struct verna_eth *eth, u32 id, const struct ethtool_rxfh_param *rxfh,
		     struct netlink_ext_ack *extack);
int verna_rss_apply(struct verna_eth *eth);
int verna_rss_replay(struct verna_eth *eth);
struct verna_rss_ctx *verna_rss_clone(struct verna_eth *eth, u32 id);
int verna_rss_replace(struct verna_eth *eth, u32 id, struct verna_rss_ctx *ctx);
int verna_rss_change(struct verna_eth *eth, struct verna_rss_ctx *ctx,
		     const struct ethtool_rxfh_param *rxfh,
		     struct netlink_ext_ack *extack);
u8 verna_rss_xfrm(const struct verna_rss_ctx *ctx);
int verna_rss_max_queue(struct verna_eth *eth, u32 id);
u32 verna_get_rxfh_indir_size(struct net_device *netdev);
u32 verna_get_rxfh_key_size(struct net_device *netdev);
int verna_get_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh);
int verna_set_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh,
		   struct netlink_ext_ack *extack);

/* rss_context.c */
int verna_create_rxfh_context(struct net_device *netdev,
			      struct ethtool_rxfh_context *shown,
			      const struct ethtool_rxfh_param *rxfh,
			      struct netlink_ext_ack *extack);
int verna_modify_rxfh_context(struct net_device *netdev,
			      struct ethtool_rxfh_context *shown,
			      const struct ethtool_rxfh_param *rxfh,
			      struct netlink_ext_ack *extack);
int verna_remove_rxfh_context(struct net_device *netdev,
			      struct ethtool_rxfh_context *shown, u32 rss_context,
			      struct netlink_ext_ack *extack);

/* rss_fields.c */
bool verna_rss_symmetric(const struct verna_rss_ctx *ctx);
int verna_get_rxfh_fields(struct net_device *netdev, struct ethtool_rxfh_fields *rxfh);
int verna_set_rxfh_fields(struct net_device *netdev,
			  const struct ethtool_rxfh_fields *rxfh,
			  struct netlink_ext_ack *extack);

/* flow.c */
struct verna_dev;
struct verna_cmd_result;
int verna_cmd_exec_from(struct verna_dev *vdev, void *cmd, size_t len, __le64 *addr,
			const void *data, size_t size, struct verna_cmd_result *res);
int verna_flow_add(struct verna_eth *eth, u32 priority, u32 replaces,
		   const struct verna_flow_rule *rule, u32 *id);
void verna_flow_del(struct verna_eth *eth, u32 id);
void verna_flow_match(struct verna_flow_rule *rule, size_t offset, const void *value,
		      const void *mask, size_t len);

#define VERNA_KEY(field)	offsetof(struct verna_flow_key, field)

/* One field, and its place in the card's key. */
#define verna_match(rule, field, value, mask)	\
	verna_flow_match(rule, VERNA_KEY(field), &(value), &(mask), sizeof(value))

static inline void verna_match_u8(struct verna_flow_rule *rule, size_t offset, u8 value,
				  u8 mask)
{
	verna_flow_match(rule, offset, &value, &mask, 1);
}

/* steer_match.c */
void verna_match_ip(struct verna_flow_rule *rule, u8 version, u8 proto);
int verna_match_spec(const struct ethtool_rx_flow_spec *fs, struct verna_flow_rule *rule);

/* arfs.c */
#ifdef CONFIG_RFS_ACCEL
void verna_arfs_init(struct verna_eth *eth);
void verna_arfs_start(struct verna_eth *eth, u32 num);
void verna_arfs_stop(struct verna_eth *eth);
void verna_arfs_flush(struct verna_eth *eth);
int verna_rx_flow_steer(struct net_device *netdev, const struct sk_buff *skb,
			u16 rxq_index, u32 flow_id);
#else
static inline void verna_arfs_init(struct verna_eth *eth) {}
static inline void verna_arfs_start(struct verna_eth *eth, u32 num) {}
static inline void verna_arfs_stop(struct verna_eth *eth) {}
static inline void verna_arfs_flush(struct verna_eth *eth) {}
#endif

/* steer.c */
void verna_steer_init(struct verna_eth *eth);
void verna_steer_exit(struct verna_eth *eth);
bool verna_steer_supported(struct verna_eth *eth);
void verna_steer_features(struct verna_eth *eth, netdev_features_t features);
int verna_steer_replay(struct verna_eth *eth);
int verna_steer_max_queue(struct verna_eth *eth);
u32 verna_get_rx_ring_count(struct net_device *netdev);
int verna_get_rxnfc(struct net_device *netdev, struct ethtool_rxnfc *nfc, u32 *rules);
int verna_set_rxnfc(struct net_device *netdev, struct ethtool_rxnfc *nfc);

#endif /* VERNA_STEER_H */
