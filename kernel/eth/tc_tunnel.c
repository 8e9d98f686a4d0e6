// SPDX-License-Identifier: GPL-2.0
/*
 * verna: rules of tc at tunnel devices. What comes out of such a device came in at the
 * uplink as a packet of a tunnel, so its rules are in the uplink's tables and look
 * inside. The device itself is nobody's hardware: tc tells all drivers that ask for it
 * (indirect blocks), and never takes skip_sw.
 */
#include <linux/netdevice.h>
#include <net/geneve.h>
#include <net/gre.h>
#include <net/pkt_cls.h>
#include <net/vxlan.h>

#include "eth.h"

/* By which the card knows tunnels: cards begin with these. */
#define VERNA_VXLAN_PORT	4789
#define VERNA_GENEVE_PORT	6081

/**
 * struct verna_tc_tunnel - a tunnel device that has a block
 * @node: in a list of struct verna_tc_rules
 * @eth: interface that is the uplink
 * @netdev: the device
 */
struct verna_tc_tunnel {
	struct list_head node;
	struct verna_eth *eth;
	struct net_device *netdev;
};

static LIST_HEAD(verna_tunnel_blocks);

/**
 * verna_tc_tunnel_kind - which tunnel a device puts packets into
 * @netdev: device
 *
 * Return: VERNA_FLOW_TUN_*; _NONE: none that the card knows.
 */
u8 verna_tc_tunnel_kind(const struct net_device *netdev)
{
	if (netif_is_vxlan(netdev))
		return VERNA_FLOW_TUN_VXLAN;
	if (netif_is_geneve(netdev))
		return VERNA_FLOW_TUN_GENEVE;
	if (netif_is_gretap(netdev) || netif_is_ip6gretap(netdev))
		return VERNA_FLOW_TUN_GRE;
	return VERNA_FLOW_TUN_NONE;
}

/* A device that is none of ours gets what is for an address of this host. */
static int verna_tc_match_ends(const struct flow_rule *rule, u16 addr_type,
			       struct verna_flow_rule *out, struct netlink_ext_ack *extack)
{
	struct flow_match_ipv4_addrs v4;
	struct flow_match_ipv6_addrs v6;
	bool whole = false;

	if (addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS &&
	    flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_ENC_IPV4_ADDRS)) {
		flow_rule_match_enc_ipv4_addrs(rule, &v4);
		verna_match_u8(out, VERNA_KEY(tun_ip_version), 4, 0xff);
		verna_flow_match(out, VERNA_KEY(tun_src), &v4.key->src, &v4.mask->src, 4);
		verna_flow_match(out, VERNA_KEY(tun_dst), &v4.key->dst, &v4.mask->dst, 4);
		whole = v4.mask->dst == htonl(INADDR_BROADCAST);
	} else if (addr_type == FLOW_DISSECTOR_KEY_IPV6_ADDRS &&
		   flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_ENC_IPV6_ADDRS)) {
		flow_rule_match_enc_ipv6_addrs(rule, &v6);
		verna_match_u8(out, VERNA_KEY(tun_ip_version), 6, 0xff);
		verna_flow_match(out, VERNA_KEY(tun_src), &v6.key->src, &v6.mask->src, 16);
		verna_flow_match(out, VERNA_KEY(tun_dst), &v6.key->dst, &v6.mask->dst, 16);
		whole = !memchr_inv(&v6.mask->dst, 0xff, sizeof(v6.mask->dst));
	}
	if (whole)
		return 0;
	NL_SET_ERR_MSG_MOD(extack, "a rule of a tunnel device needs a whole enc_dst_ip");
	return -EOPNOTSUPP;
}

static int verna_tc_match_tunnel_port(const struct flow_rule *rule, u8 kind,
				      struct verna_flow_rule *out,
				      struct netlink_ext_ack *extack)
{
	u16 port = kind == VERNA_FLOW_TUN_VXLAN ? VERNA_VXLAN_PORT : VERNA_GENEVE_PORT;
	struct flow_match_ports match;

	if (kind == VERNA_FLOW_TUN_GRE)
		return 0;
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_ENC_PORTS)) {
		flow_rule_match_enc_ports(rule, &match);
		verna_match(out, tun_sport, match.key->src, match.mask->src);
		verna_match(out, tun_dport, match.key->dst, match.mask->dst);
	}
	if (out->mask.tun_dport == htons(0xffff) && out->key.tun_dport == htons(port))
		return 0;
	NL_SET_ERR_MSG_FMT_MOD(extack, "a rule of this tunnel device needs enc_dst_port %u",
			       port);
	return -EOPNOTSUPP;
}

static int verna_tc_match_tunnel_id(const struct flow_rule *rule,
				    struct verna_flow_rule *out,
				    struct netlink_ext_ack *extack)
{
	struct flow_match_enc_keyid match;
	__be64 id, mask;

	if (!flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_ENC_KEYID)) {
		NL_SET_ERR_MSG_MOD(extack, "a rule of a tunnel device needs enc_key_id");
		return -EOPNOTSUPP;
	}
	flow_rule_match_enc_keyid(rule, &match);
	id = cpu_to_be64(be32_to_cpu(match.key->keyid));
	mask = cpu_to_be64(be32_to_cpu(match.mask->keyid));
	verna_match(out, tun_id, id, mask);
	verna_match_u8(out, VERNA_KEY(flags), VERNA_FLOW_K_TUN_ID, VERNA_FLOW_K_TUN_ID);
	return 0;
}

/**
 * verna_tc_match_tunnel - translate what a rule matches of the outer headers
 * @rule: rule of a tunnel device
 * @kind: VERNA_FLOW_TUN_* that it is
 * @out: gets key and mask
 * @extack: gets what is wrong
 *
 * Return: 0, or -EOPNOTSUPP and a message.
 */
int verna_tc_match_tunnel(const struct flow_rule *rule, u8 kind,
			  struct verna_flow_rule *out, struct netlink_ext_ack *extack)
{
	struct flow_match_control control;
	struct flow_match_ip ip;
	u16 addr_type = 0;
	int err;

	verna_match_u8(out, VERNA_KEY(tun_kind), kind, 0xff);
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_ENC_CONTROL)) {
		flow_rule_match_enc_control(rule, &control);
		addr_type = control.key->addr_type;
		if (flow_rule_has_enc_control_flags(control.mask->flags, extack))
			return -EOPNOTSUPP;
	}
	err = verna_tc_match_ends(rule, addr_type, out, extack) ?:
	      verna_tc_match_tunnel_port(rule, kind, out, extack) ?:
	      verna_tc_match_tunnel_id(rule, out, extack);
	if (err || !flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_ENC_IP))
		return err;
	flow_rule_match_enc_ip(rule, &ip);
	verna_match_u8(out, VERNA_KEY(tun_tos), ip.key->tos, ip.mask->tos);
	verna_match_u8(out, VERNA_KEY(tun_ttl), ip.key->ttl, ip.mask->ttl);
	return 0;
}

static int verna_tunnel_cls(enum tc_setup_type type, void *data, void *priv)
{
	struct verna_tc_tunnel *tunnel = priv;
	struct verna_tc_port port = {
		.netdev = tunnel->netdev,
		.vport = VERNA_VPORT_UPLINK,
		.tunnel = verna_tc_tunnel_kind(tunnel->netdev),
	};

	return verna_tc_setup_rule(tunnel->eth, &port, type, data, false);
}

static void verna_tunnel_release(void *priv)
{
	struct verna_tc_tunnel *tunnel = priv;

	mutex_lock(&tunnel->eth->tc.lock);
	list_del(&tunnel->node);
	mutex_unlock(&tunnel->eth->tc.lock);
	kfree(tunnel);
}

static struct verna_tc_tunnel *verna_tunnel_find(struct verna_eth *eth,
						 const struct net_device *netdev)
{
	struct verna_tc_tunnel *tunnel, *found = NULL;

	mutex_lock(&eth->tc.lock);
	list_for_each_entry(tunnel, &eth->tc.tunnels, node)
		if (tunnel->netdev == netdev)
			found = tunnel;
	mutex_unlock(&eth->tc.lock);
	return found;
}

static int verna_tunnel_bind(struct verna_eth *eth, struct net_device *netdev,
			     struct Qdisc *sch, struct flow_block_offload *block,
			     void *data, void (*cleanup)(struct flow_block_cb *block_cb))
{
	struct verna_tc_tunnel *tunnel;
	struct flow_block_cb *block_cb;

	if (verna_tunnel_find(eth, netdev))
		return -EEXIST;
	tunnel = kzalloc(sizeof(*tunnel), GFP_KERNEL);
	if (!tunnel)
		return -ENOMEM;
	tunnel->eth = eth;
	tunnel->netdev = netdev;
	block_cb = flow_indr_block_cb_alloc(verna_tunnel_cls, tunnel, tunnel,
					    verna_tunnel_release, block, netdev, sch,
					    data, eth, cleanup);
	if (IS_ERR(block_cb)) {
		kfree(tunnel);
		return PTR_ERR(block_cb);
	}
	mutex_lock(&eth->tc.lock);
	list_add(&tunnel->node, &eth->tc.tunnels);
	mutex_unlock(&eth->tc.lock);
	flow_block_cb_add(block_cb, block);
	list_add_tail(&block_cb->driver_list, &verna_tunnel_blocks);
	return 0;
}

static int verna_tunnel_unbind(struct verna_eth *eth, struct net_device *netdev,
			       struct flow_block_offload *block)
{
	struct verna_tc_tunnel *tunnel = verna_tunnel_find(eth, netdev);
	struct flow_block_cb *block_cb;

	if (!tunnel)
		return -ENOENT;
	block_cb = flow_block_cb_lookup(block->block, verna_tunnel_cls, tunnel);
	if (!block_cb)
		return -ENOENT;
	flow_indr_block_cb_remove(block_cb, block);
	list_del(&block_cb->driver_list);
	return 0;
}

/* The lock of indirect blocks is held, so devices come one after the other. */
static int verna_tunnel_setup(struct net_device *netdev, struct Qdisc *sch, void *priv,
			      enum tc_setup_type type, void *type_data, void *data,
			      void (*cleanup)(struct flow_block_cb *block_cb))
{
	struct flow_block_offload *block = type_data;

	if (!netdev || type != TC_SETUP_BLOCK || !verna_tc_tunnel_kind(netdev) ||
	    block->binder_type != FLOW_BLOCK_BINDER_TYPE_CLSACT_INGRESS)
		return -EOPNOTSUPP;
	block->unlocked_driver_cb = true;
	block->driver_block_list = &verna_tunnel_blocks;
	return block->command == FLOW_BLOCK_BIND ?
	       verna_tunnel_bind(priv, netdev, sch, block, data, cleanup) :
	       verna_tunnel_unbind(priv, netdev, block);
}

/**
 * verna_tc_tunnels_start - hear of rules of tunnel devices
 * @eth: interface, of a card that is on its way to switchdev mode
 *
 * Return: 0 or an error.
 */
int verna_tc_tunnels_start(struct verna_eth *eth)
{
	int err = flow_indr_dev_register(verna_tunnel_setup, eth);

	eth->tc.tunnels_on = !err;
	return err;
}

/**
 * verna_tc_tunnels_stop - their rules are software's from now on
 * @eth: interface; rtnl is not held
 */
void verna_tc_tunnels_stop(struct verna_eth *eth)
{
	if (!eth->tc.tunnels_on)
		return;
	eth->tc.tunnels_on = false;
	flow_indr_dev_unregister(verna_tunnel_setup, eth, verna_tunnel_release);
}
