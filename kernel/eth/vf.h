/* SPDX-License-Identifier: GPL-2.0 */
/* verna: what a PF's interface says of VFs; a part of eth.h. Callers hold rtnl. */
#ifndef VERNA_ETH_VF_H
#define VERNA_ETH_VF_H

u32 verna_vf_vport(int vf);
int verna_vfs_init(struct verna_eth *eth);
int verna_vfs_replay(struct verna_eth *eth);
int verna_set_vf_mac(struct net_device *netdev, int vf, u8 *mac);
int verna_set_vf_vlan(struct net_device *netdev, int vf, u16 vlan, u8 qos, __be16 proto);
int verna_set_vf_rate(struct net_device *netdev, int vf, int min, int max);
int verna_vf_set_rate(struct verna_eth *eth, int vf, u32 field, u64 bytes);
int verna_set_vf_spoofchk(struct net_device *netdev, int vf, bool on);
int verna_set_vf_trust(struct net_device *netdev, int vf, bool on);
int verna_set_vf_link_state(struct net_device *netdev, int vf, int state);
int verna_get_vf_config(struct net_device *netdev, int vf, struct ifla_vf_info *info);
int verna_get_vf_stats(struct net_device *netdev, int vf, struct ifla_vf_stats *stats);

#endif /* VERNA_ETH_VF_H */
