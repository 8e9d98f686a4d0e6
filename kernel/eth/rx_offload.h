/* SPDX-License-Identifier: GPL-2.0 */
/* verna: receive offloads and the netdev's features; a part of eth.h. */
#ifndef VERNA_RX_OFFLOAD_H
#define VERNA_RX_OFFLOAD_H

/* rx_offload.c */
bool verna_rx_offload(struct verna_rxq *rxq, const struct verna_cqe *cqe,
		      struct sk_buff *skb, bool changed);

/* rx_gro.c */
u32 verna_gro_rules(void);
bool verna_rx_gro(struct verna_rx_stats *stats, const struct verna_cqe *cqe,
		  struct sk_buff *skb);

/* features.c */
void verna_features_setup(struct verna_eth *eth);
int verna_features_restore(struct verna_eth *eth);
int verna_features_merge(struct verna_eth *eth, bool merge);
netdev_features_t verna_fix_features(struct net_device *netdev,
				     netdev_features_t features);
int verna_set_features(struct net_device *netdev, netdev_features_t features);
int verna_vlan_rx_add_vid(struct net_device *netdev, __be16 proto, u16 vid);
int verna_vlan_rx_kill_vid(struct net_device *netdev, __be16 proto, u16 vid);

#endif /* VERNA_RX_OFFLOAD_H */
