/* SPDX-License-Identifier: GPL-2.0 */
/* verna: what the ethtool*.c files offer each other; a part of eth.h. */
#ifndef VERNA_ETHTOOL_H
#define VERNA_ETHTOOL_H

/* ethtool*.c */
extern const struct ethtool_ops verna_ethtool_ops;
void verna_get_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			 struct kernel_ethtool_ringparam *kernel_ring,
			 struct netlink_ext_ack *extack);
int verna_set_ringparam(struct net_device *netdev, struct ethtool_ringparam *ring,
			struct kernel_ethtool_ringparam *kernel_ring,
			struct netlink_ext_ack *extack);
void verna_get_channels(struct net_device *netdev, struct ethtool_channels *ch);
int verna_set_channels(struct net_device *netdev, struct ethtool_channels *ch);
int verna_get_sset_count(struct net_device *netdev, int sset);
void verna_get_strings(struct net_device *netdev, u32 sset, u8 *data);
void verna_get_ethtool_stats(struct net_device *netdev, struct ethtool_stats *stats,
			     u64 *data);
void verna_get_eth_mac_stats(struct net_device *netdev,
			     struct ethtool_eth_mac_stats *stats);
void verna_get_eth_ctrl_stats(struct net_device *netdev,
			      struct ethtool_eth_ctrl_stats *stats);
void verna_get_rmon_stats(struct net_device *netdev, struct ethtool_rmon_stats *stats,
			  const struct ethtool_rmon_hist_range **ranges);
void verna_get_link_ext_stats(struct net_device *netdev,
			      struct ethtool_link_ext_stats *stats);
void verna_self_test(struct net_device *netdev, struct ethtool_test *test, u64 *data);
int verna_self_test_count(void);
void verna_self_test_strings(u8 *data);

#endif /* VERNA_ETHTOOL_H */
