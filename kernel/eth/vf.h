/* SPDX-License-Identifier: GPL-2.0 */
/* verna: what a PF's interface says of VFs; a part of eth.h. Callers hold rtnl. */
#ifndef VERNA_ETH_VF_H
#define VERNA_ETH_VF_H

#include <linux/list.h>

struct verna_cmd_set_vport;
struct verna_eth;
struct verna_rate_node;

/**
 * struct verna_rates - the tree by which VFs share the wire
 * @nodes: all inner nodes
 * @parents: of each VF, NULL: it is at the top
 */
struct verna_rates {
	struct list_head nodes;
	struct verna_rate_node **parents;
};

u32 verna_vf_vport(int vf);
int verna_vfs_init(struct verna_eth *eth);
void verna_vfs_exit(struct verna_eth *eth);
int verna_vf_change(struct net_device *netdev, int vf, struct verna_cmd_set_vport *change);
int verna_vf_set_parent(struct verna_eth *eth, int vf, u32 id);
void verna_vf_leave_tree(struct verna_eth *eth, int vf);
int verna_vfs_replay(struct verna_eth *eth);
int verna_set_vf_mac(struct net_device *netdev, int vf, u8 *mac);
int verna_set_vf_vlan(struct net_device *netdev, int vf, u16 vlan, u8 qos, __be16 proto);
int verna_set_vf_rate(struct net_device *netdev, int vf, int min, int max);
int verna_set_vf_spoofchk(struct net_device *netdev, int vf, bool on);
int verna_set_vf_trust(struct net_device *netdev, int vf, bool on);
int verna_set_vf_link_state(struct net_device *netdev, int vf, int state);
int verna_get_vf_config(struct net_device *netdev, int vf, struct ifla_vf_info *info);
int verna_get_vf_stats(struct net_device *netdev, int vf, struct ifla_vf_stats *stats);

/* rate.c */
int verna_rates_replay(struct verna_eth *eth);
u32 verna_rate_leaf_parent(const struct verna_eth *eth, u32 vf);
void verna_rate_leaf_end(struct verna_eth *eth, u32 vf);

#endif /* VERNA_ETH_VF_H */
