// SPDX-License-Identifier: GPL-2.0
/*
 * verna: representors. In switchdev mode each VF has a netdev at the PF, as a cable
 * that ends here: it receives what the VF sends and no rule decides, and what is sent
 * to it the VF receives. The interface of the PF is the representor of the uplink.
 * Representors have no queues; they use those of the PF.
 */
#include <linux/etherdevice.h>
#include <net/dst_metadata.h>
#include <net/pkt_cls.h>

#include "eth.h"

static struct verna_rep __rcu **verna_rep_slot(struct verna_eth *eth, u32 vport)
{
	u32 max = eth->reps ? verna_caps(eth->vdev)->vport.max_vfs : 0;
	u32 first = verna_vf_vport(0);

	return vport >= first && vport - first < max ? &eth->reps[vport - first] : NULL;
}

/** verna_rep_is_uplink - whether the PF's interface is the uplink's @eth: interface */
bool verna_rep_is_uplink(const struct verna_eth *eth)
{
	return READ_ONCE(eth->switchdev);
}

static int verna_rep_open(struct net_device *netdev)
{
	netif_carrier_on(netdev);
	return 0;
}

static int verna_rep_stop(struct net_device *netdev)
{
	netif_carrier_off(netdev);
	return 0;
}

/*
 * Past the queue discipline of the PF's interface, which stands still while the uplink
 * has no carrier. The packet was validated for the representor, whose features that
 * interface has, too.
 */
static int verna_rep_xmit_now(struct sk_buff *skb, struct net_device *pf)
{
	u16 queue = netdev_pick_tx(pf, skb, NULL);
	struct netdev_queue *nq = netdev_get_tx_queue(pf, queue);
	int err = NETDEV_TX_BUSY;

	skb_set_queue_mapping(skb, queue);
	HARD_TX_LOCK(pf, nq, smp_processor_id());
	if (netif_running(pf) && !netif_xmit_frozen_or_stopped(nq))
		err = netdev_start_xmit(skb, pf, nq, false);
	HARD_TX_UNLOCK(pf, nq);
	if (dev_xmit_complete(err))
		return err;
	kfree_skb(skb);
	return NET_XMIT_DROP;
}

/* The PF's interface finds the destination in the skb: verna_tx_vport(). */
static netdev_tx_t verna_rep_xmit(struct sk_buff *skb, struct net_device *netdev)
{
	struct verna_rep *rep = netdev_priv(netdev);
	struct net_device *pf = rep->eth->netdev;
	unsigned int len = skb->len;
	int err;

	skb_dst_drop(skb);
	dst_hold(&rep->dst->dst);
	skb_dst_set(skb, &rep->dst->dst);
	skb->dev = pf;
	err = netif_carrier_ok(pf) ? dev_queue_xmit(skb) : verna_rep_xmit_now(skb, pf);
	/* Evaluates twice what it is given. */
	if (net_xmit_eval(err))
		dev_core_stats_tx_dropped_inc(netdev);
	else
		dev_sw_netstats_tx_add(netdev, 1, len);
	return NETDEV_TX_OK;
}

/**
 * verna_tx_vport - send to a vport, if the skb is of a representor
 * @skb: packet
 * @desc: its first descriptor
 */
void verna_tx_vport(const struct sk_buff *skb, struct verna_tx_desc *desc)
{
	const struct metadata_dst *dst = skb_metadata_dst(skb);

	if (likely(!dst) || dst->type != METADATA_HW_PORT_MUX ||
	    dst->u.port_info.lower_dev != skb->dev)
		return;
	desc->flags |= cpu_to_le16(VERNA_TX_F_VPORT);
	desc->vport = cpu_to_le16(dst->u.port_info.port_id);
}

/* Where software is to go on with the chains of tc. */
static void verna_rep_restore_chain(struct sk_buff *skb, u32 chain)
{
#if IS_ENABLED(CONFIG_NET_TC_SKB_EXT)
	struct tc_skb_ext *ext = chain ? tc_skb_ext_alloc(skb) : NULL;

	if (ext)
		ext->chain = chain;
#endif
}

/**
 * verna_rep_receive - give a packet that no rule decided to the representor of its vport
 * @rxq: queue
 * @cqe: its completion
 * @skb: packet, from its Ethernet header on
 */
void verna_rep_receive(struct verna_rxq *rxq, const struct verna_cqe *cqe,
		       struct sk_buff *skb)
{
	struct verna_eth *eth = rxq->chan->eth;
	struct net_device *netdev = eth->netdev;
	u32 vport = le16_to_cpu(cqe->pkey_index);
	struct verna_rep __rcu **slot;
	struct verna_rep *rep;

	if (vport != VERNA_VPORT_UPLINK) {
		slot = verna_rep_slot(eth, vport);
		rep = slot ? rcu_dereference_bh(*slot) : NULL;
		if (!rep || !netif_running(rep->netdev)) {
			dev_core_stats_rx_dropped_inc(rep ? rep->netdev : netdev);
			kfree_skb(skb);
			return;
		}
		netdev = rep->netdev;
		dev_sw_netstats_rx_add(netdev, skb->len);
	}
	if (cqe->rx_flags & VERNA_CQE_RX_MARK)
		skb->mark = le32_to_cpu(cqe->imm);
	verna_rep_restore_chain(skb, le32_to_cpu(cqe->src_qp));
	skb->protocol = eth_type_trans(skb, netdev);
	napi_gro_receive(&rxq->chan->napi, skb);
}

static bool verna_rep_has_offload_stats(const struct net_device *netdev, int attr_id)
{
	return attr_id == IFLA_OFFLOAD_XSTATS_CPU_HIT;
}

/* All that a representor counts went through software. */
static int verna_rep_get_offload_stats(int attr_id, const struct net_device *netdev,
				       void *stats)
{
	if (attr_id != IFLA_OFFLOAD_XSTATS_CPU_HIT)
		return -EINVAL;
	memset(stats, 0, sizeof(struct rtnl_link_stats64));
	dev_fetch_sw_netstats(stats, netdev->tstats);
	return 0;
}

static int verna_rep_setup_tc(struct net_device *netdev, enum tc_setup_type type,
			      void *data)
{
	if (type != TC_SETUP_BLOCK && type != TC_SETUP_FT)
		return -EOPNOTSUPP;
	return verna_tc_setup_block(netdev, type, data);
}

static const struct net_device_ops verna_rep_netdev_ops = {
	.ndo_open = verna_rep_open,
	.ndo_stop = verna_rep_stop,
	.ndo_start_xmit = verna_rep_xmit,
	.ndo_set_mac_address = eth_mac_addr,
	.ndo_validate_addr = eth_validate_addr,
	.ndo_get_stats64 = dev_get_tstats64,
	.ndo_has_offload_stats = verna_rep_has_offload_stats,
	.ndo_get_offload_stats = verna_rep_get_offload_stats,
	.ndo_setup_tc = verna_rep_setup_tc,
};

/**
 * verna_rep_vport - which vport a netdev represents
 * @eth: interface of the PF; rtnl is held
 * @netdev: any
 *
 * Return: -EOPNOTSUPP if it is not of this card.
 */
int verna_rep_vport(struct verna_eth *eth, const struct net_device *netdev)
{
	const struct verna_rep *rep;

	if (netdev == eth->netdev)
		return VERNA_VPORT_UPLINK;
	if (netdev->netdev_ops != &verna_rep_netdev_ops)
		return -EOPNOTSUPP;
	rep = netdev_priv(netdev);
	return rep->eth == eth ? verna_vf_vport(rep->vf) : -EOPNOTSUPP;
}

static void verna_rep_get_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	struct verna_rep *rep = netdev_priv(netdev);

	strscpy(info->driver, "verna_rep", sizeof(info->driver));
	strscpy(info->bus_info, pci_name(verna_pdev(rep->eth->vdev)),
		sizeof(info->bus_info));
}

#define VERNA_NAME(name, doc) "vport_" #name,

static const char * const verna_rep_names[] = { VERNA_VPORT_COUNTERS(VERNA_NAME) };

static int verna_rep_get_sset_count(struct net_device *netdev, int sset)
{
	return sset == ETH_SS_STATS ? ARRAY_SIZE(verna_rep_names) : -EOPNOTSUPP;
}

static void verna_rep_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verna_rep_names); i++)
		ethtool_puts(&data, verna_rep_names[i]);
}

/* The card's counters of the vport: all that the VF sends (tx) and receives (rx). */
static void verna_rep_get_ethtool_stats(struct net_device *netdev,
					struct ethtool_stats *stats, u64 *data)
{
	struct verna_rep *rep = netdev_priv(netdev);

	verna_query_counters(rep->eth->vdev, VERNA_COUNTERS_VPORT,
			     verna_vf_vport(rep->vf), data,
			     ARRAY_SIZE(verna_rep_names));
}

static const struct ethtool_ops verna_rep_ethtool_ops = {
	.get_drvinfo = verna_rep_get_drvinfo,
	.get_link = ethtool_op_get_link,
	.get_sset_count = verna_rep_get_sset_count,
	.get_strings = verna_rep_get_strings,
	.get_ethtool_stats = verna_rep_get_ethtool_stats,
};

static struct verna_rep *verna_rep_of_port(struct devlink_port *port)
{
	return container_of(port, struct verna_rep, port);
}

static int verna_rep_hw_addr_get(struct devlink_port *port, u8 *addr, int *len,
				 struct netlink_ext_ack *extack)
{
	struct verna_rep *rep = verna_rep_of_port(port);
	struct ifla_vf_info info;
	int err;

	err = verna_get_vf_config(rep->eth->netdev, rep->vf, &info);
	if (err)
		return err;
	ether_addr_copy(addr, info.mac);
	*len = ETH_ALEN;
	return 0;
}

static int verna_rep_hw_addr_set(struct devlink_port *port, const u8 *addr, int len,
				 struct netlink_ext_ack *extack)
{
	struct verna_rep *rep = verna_rep_of_port(port);
	u8 mac[ETH_ALEN];
	int err;

	if (len != ETH_ALEN || !is_valid_ether_addr(addr)) {
		NL_SET_ERR_MSG(extack, "not the address of a station");
		return -EINVAL;
	}
	ether_addr_copy(mac, addr);
	rtnl_lock();
	err = verna_set_vf_mac(rep->eth->netdev, rep->vf, mac);
	rtnl_unlock();
	return err;
}

static const struct devlink_port_ops verna_rep_port_ops = {
	.port_fn_hw_addr_get = verna_rep_hw_addr_get,
	.port_fn_hw_addr_set = verna_rep_hw_addr_set,
};

/* The card, whatever its functions are called: its permanent address. */
static void verna_switch_id(struct verna_eth *eth, struct netdev_phys_item_id *id)
{
	id->id_len = ETH_ALEN;
	memcpy(id->id, eth->netdev->perm_addr, ETH_ALEN);
}

int verna_get_port_parent_id(struct net_device *netdev, struct netdev_phys_item_id *id)
{
	struct verna_eth *eth = netdev_priv(netdev);

	if (!verna_rep_is_uplink(eth))
		return -EOPNOTSUPP;
	verna_switch_id(eth, id);
	return 0;
}

int verna_get_phys_port_name(struct net_device *netdev, char *name, size_t len)
{
	struct verna_eth *eth = netdev_priv(netdev);

	if (!verna_rep_is_uplink(eth))
		return -EOPNOTSUPP;
	return snprintf(name, len, "p0") < len ? 0 : -EINVAL;
}

static void verna_rep_setup(struct verna_rep *rep)
{
	struct net_device *pf = rep->eth->netdev, *netdev = rep->netdev;
	netdev_features_t features = NETIF_F_HW_CSUM | NETIF_F_SG | NETIF_F_HIGHDMA |
				     NETIF_F_SCTP_CRC | NETIF_F_GSO_MASK;

	SET_NETDEV_DEV(netdev, verna_device(rep->eth->vdev));
	netdev->netdev_ops = &verna_rep_netdev_ops;
	netdev->ethtool_ops = &verna_rep_ethtool_ops;
	netdev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
	netdev->priv_flags |= IFF_NO_QUEUE;
	netdev->lltx = true;
	netdev->min_mtu = pf->min_mtu;
	netdev->max_mtu = pf->max_mtu;
	netdev->hw_features = (pf->hw_features & features) | NETIF_F_HW_TC;
	netdev->features = netdev->hw_features;
	netdev->hw_enc_features = pf->hw_enc_features & features;
	netdev->vlan_features = pf->vlan_features & features;
	netif_inherit_tso_max(netdev, pf);
	eth_hw_addr_random(netdev);
	netif_carrier_off(netdev);
}

static int verna_rep_register_port(struct verna_rep *rep, struct devlink *devlink)
{
	u32 vport = verna_vf_vport(rep->vf);
	struct devlink_port_attrs attrs = {};

	verna_switch_id(rep->eth, &attrs.switch_id);
	attrs.flavour = DEVLINK_PORT_FLAVOUR_PCI_VF;
	devlink_port_attrs_set(&rep->port, &attrs);
	devlink_port_attrs_pci_vf_set(&rep->port, 0,
				      PCI_FUNC(verna_pdev(rep->eth->vdev)->devfn),
				      rep->vf, false);
	return devl_port_register_with_ops(devlink, &rep->port, vport,
					   &verna_rep_port_ops);
}

static int verna_rep_create(struct verna_eth *eth, struct devlink *devlink, u32 vf)
{
	struct net_device *netdev;
	struct verna_rep *rep;
	int err;

	netdev = alloc_etherdev(sizeof(*rep));
	if (!netdev)
		return -ENOMEM;
	rep = netdev_priv(netdev);
	rep->netdev = netdev;
	rep->eth = eth;
	rep->vf = vf;
	dev_net_set(netdev, dev_net(eth->netdev));
	verna_rep_setup(rep);
	rep->dst = metadata_dst_alloc(0, METADATA_HW_PORT_MUX, GFP_KERNEL);
	if (!rep->dst) {
		err = -ENOMEM;
		goto free_netdev;
	}
	rep->dst->u.port_info.port_id = verna_vf_vport(vf);
	rep->dst->u.port_info.lower_dev = eth->netdev;
	err = verna_rep_register_port(rep, devlink);
	if (err)
		goto free_dst;
	err = devl_rate_leaf_create(&rep->port, rep, NULL);
	if (err)
		goto unregister_port;
	SET_NETDEV_DEVLINK_PORT(netdev, &rep->port);
	err = register_netdev(netdev);
	if (err)
		goto destroy_rate;
	rcu_assign_pointer(eth->reps[vf], rep);
	return 0;

destroy_rate:
	devl_rate_leaf_destroy(&rep->port);
unregister_port:
	devl_port_unregister(&rep->port);
free_dst:
	metadata_dst_free(rep->dst);
free_netdev:
	free_netdev(netdev);
	return err;
}

/* Packets of it may be in the PF's queues still; they hold the dst. */
static void verna_rep_destroy(struct verna_eth *eth, u32 vf)
{
	struct verna_rep *rep = rcu_dereference_protected(eth->reps[vf], true);

	RCU_INIT_POINTER(eth->reps[vf], NULL);
	unregister_netdev(rep->netdev);
	devl_rate_leaf_destroy(&rep->port);
	verna_rate_leaf_end(eth, vf);
	devl_port_unregister(&rep->port);
	dst_release(&rep->dst->dst);
	free_netdev(rep->netdev);
}

int verna_reps_set(struct net_device *netdev, struct devlink *devlink, u32 num)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 max = verna_caps(eth->vdev)->vport.max_vfs, vf;
	int err = 0;

	if (!eth->reps)
		return 0;
	for (vf = max; vf-- > num;)
		if (rcu_access_pointer(eth->reps[vf]))
			verna_rep_destroy(eth, vf);
	for (vf = 0; vf < min(num, max) && !err; vf++)
		if (!rcu_access_pointer(eth->reps[vf]))
			err = verna_rep_create(eth, devlink, vf);
	return err;
}

int verna_eth_switch_mode(struct net_device *netdev, bool switchdev,
			  struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);
	int err = 0;

	rtnl_lock();
	if (verna_tc_has_rules(&eth->tc, VERNA_VPORT_UPLINK)) {
		NL_SET_ERR_MSG(extack, "the uplink has rules in the card");
		err = -EBUSY;
	} else {
		WRITE_ONCE(eth->switchdev, switchdev);
	}
	rtnl_unlock();
	if (err)
		return err;
	if (switchdev)
		return verna_tc_tunnels_start(eth);
	verna_tc_tunnels_stop(eth);
	return 0;
}

/**
 * verna_reps_init - room for representors, if the card has the mode
 * @eth: interface, not registered yet
 *
 * Return: 0 or an error.
 */
int verna_reps_init(struct verna_eth *eth)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);
	int err;

	err = verna_tc_init(&eth->tc);
	if (err || !caps->eswitch.present)
		return err;
	eth->reps = kcalloc(caps->vport.max_vfs, sizeof(*eth->reps), GFP_KERNEL);
	if (!eth->reps) {
		verna_tc_exit(&eth->tc);
		return -ENOMEM;
	}
	return 0;
}

/** verna_reps_exit - undoes verna_reps_init() @eth: interface, without representors */
void verna_reps_exit(struct verna_eth *eth)
{
	kfree(eth->reps);
	verna_tc_exit(&eth->tc);
}
