// SPDX-License-Identifier: GPL-2.0
/*
 * verna: rules that put packets into a tunnel. Outer addresses follow from the route and
 * the neighbour on it, which the kernel knows and the card does not: they are looked at
 * when the rule is made, when a neighbour changes, and once a second. As long as the
 * neighbour is not known, or the way does not lead out of the uplink any more, packets
 * of the rule go to software.
 */
#include <linux/if_vlan.h>
#include <net/addrconf.h>
#include <net/inet_ecn.h>
#include <net/ip_tunnels.h>
#include <net/netevent.h>
#include <net/route.h>
#include <net/vxlan.h>

#include "eth.h"

#define VERNA_ENCAP_PERIOD	HZ

/**
 * struct verna_tc_encap - what a rule says of the tunnel
 * @key: addresses and identifier
 * @ip6: the outer addresses are IPv6
 * @kind: VERNA_FLOW_TUN_*
 * @dport: UDP
 * @edit: what the rule does besides, copies and changes
 */
struct verna_tc_encap {
	struct ip_tunnel_key key;
	bool ip6;
	u8 kind;
	__be16 dport;
	struct verna_flow_edit edit;
};

static u8 verna_encap_proto(const struct verna_tc_encap *encap)
{
	return encap->kind == VERNA_FLOW_TUN_GRE ? IPPROTO_GRE : IPPROTO_UDP;
}

static struct dst_entry *verna_encap_route4(const struct verna_tc_encap *encap,
					    struct net *net, struct verna_edit_encap *out)
{
	struct flowi4 fl4 = {
		.daddr = encap->key.u.ipv4.dst,
		.saddr = encap->key.u.ipv4.src,
		.flowi4_proto = verna_encap_proto(encap),
	};
	struct rtable *rt;

	rt = ip_route_output_key(net, &fl4);
	if (IS_ERR(rt))
		return ERR_CAST(rt);
	if (rt->rt_type != RTN_UNICAST) {
		ip_rt_put(rt);
		return ERR_PTR(-ENETUNREACH);
	}
	out->ip_version = 4;
	out->ttl = encap->key.ttl ?: ip4_dst_hoplimit(&rt->dst);
	memcpy(out->src_ip, &fl4.saddr, sizeof(fl4.saddr));
	memcpy(out->dst_ip, &fl4.daddr, sizeof(fl4.daddr));
	return &rt->dst;
}

static struct dst_entry *verna_encap_route6(const struct verna_tc_encap *encap,
					    struct net *net, struct verna_edit_encap *out)
{
	struct flowi6 fl6 = {
		.daddr = encap->key.u.ipv6.dst,
		.saddr = encap->key.u.ipv6.src,
		.flowi6_proto = verna_encap_proto(encap),
	};
	struct dst_entry *dst;

	dst = ipv6_stub->ipv6_dst_lookup_flow(net, NULL, &fl6, NULL);
	if (IS_ERR(dst))
		return dst;
	out->ip_version = 6;
	out->ttl = encap->key.ttl ?: ip6_dst_hoplimit(dst);
	memcpy(out->src_ip, &fl6.saddr, sizeof(fl6.saddr));
	memcpy(out->dst_ip, &fl6.daddr, sizeof(fl6.daddr));
	return dst;
}

/* By the uplink, or by a VLAN on it, whose tag is the outermost. */
static int verna_encap_out(const struct verna_eth *eth, const struct net_device *dev,
			   struct verna_flow_edit *edit)
{
	ether_addr_copy(edit->encap.smac, dev->dev_addr);
	if (dev == eth->netdev)
		return 0;
	if (!is_vlan_dev(dev) || vlan_dev_priv(dev)->real_dev != eth->netdev)
		return -EXDEV;
	edit->num_push = 1;
	edit->push[0].tpid = vlan_dev_vlan_proto(dev);
	edit->push[0].tci = htons(vlan_dev_vlan_id(dev));
	return 0;
}

static int verna_encap_neighbour(struct dst_entry *dst, const struct verna_edit_encap *out,
				 u8 *mac)
{
	struct neighbour *n = dst_neigh_lookup(dst, out->dst_ip);
	int err = 0;

	if (!n)
		return -ENOMEM;
	/* Asks if it is not known, or was not heard of for a while. */
	neigh_event_send(n, NULL);
	if (READ_ONCE(n->nud_state) & NUD_VALID)
		neigh_ha_snapshot(mac, n, n->dev);
	else
		err = -EAGAIN;
	neigh_release(n);
	return err;
}

/*
 * Everything that the card has to know. 0; -EAGAIN: not yet; -EXDEV: by another
 * interface; other errors: there is no way.
 */
static int verna_encap_resolve(struct verna_eth *eth, const struct verna_tc_encap *encap,
			       struct verna_flow_edit *edit)
{
	struct net *net = dev_net(eth->netdev);
	struct dst_entry *dst;
	int err;

	*edit = encap->edit;
	edit->flags |= cpu_to_le32(VERNA_EDIT_ENCAP);
	edit->encap.kind = encap->kind;
	edit->encap.tos = encap->key.tos & ~INET_ECN_MASK;
	edit->encap.dport = encap->dport;
	if (encap->kind != VERNA_FLOW_TUN_GRE ||
	    test_bit(IP_TUNNEL_KEY_BIT, encap->key.tun_flags)) {
		edit->encap.flags |= VERNA_ENCAP_ID;
		edit->encap.id = tunnel_id_to_key32(encap->key.tun_id);
	}
	if (!encap->ip6 && !test_bit(IP_TUNNEL_DONT_FRAGMENT_BIT, encap->key.tun_flags))
		edit->encap.flags |= VERNA_ENCAP_MAY_FRAGMENT;
	if (test_bit(IP_TUNNEL_CSUM_BIT, encap->key.tun_flags))
		edit->encap.flags |= VERNA_ENCAP_UDP_CSUM;
	dst = encap->ip6 ? verna_encap_route6(encap, net, &edit->encap) :
			   verna_encap_route4(encap, net, &edit->encap);
	if (IS_ERR(dst))
		return PTR_ERR(dst);
	err = verna_encap_out(eth, dst->dev, edit) ?:
	      verna_encap_neighbour(dst, &edit->encap, edit->encap.dmac);
	dst_release(dst);
	return err;
}

static int verna_encap_no(struct netlink_ext_ack *extack, const char *what)
{
	NL_SET_ERR_MSG_FMT_MOD(extack, "tunnel_key: %s", what);
	return -EOPNOTSUPP;
}

static int verna_encap_check(const struct verna_tc_encap *encap,
			     const struct ip_tunnel_info *info,
			     struct netlink_ext_ack *extack)
{
	const struct ip_tunnel_key *key = &info->key;

	if (info->options_len)
		return verna_encap_no(extack, "the card writes no options");
	if (key->label)
		return verna_encap_no(extack, "the card writes no flow label");
	if (encap->kind == VERNA_FLOW_TUN_GRE &&
	    (test_bit(IP_TUNNEL_CSUM_BIT, key->tun_flags) ||
	     test_bit(IP_TUNNEL_SEQ_BIT, key->tun_flags)))
		return verna_encap_no(extack, "GRE with checksum or sequence; see nocsum");
	if (encap->kind != VERNA_FLOW_TUN_GRE && !encap->dport)
		return verna_encap_no(extack, "no dst_port");
	return 0;
}

static __be16 verna_encap_dport(const struct ip_tunnel_key *key, u8 kind,
				const struct net_device *tunnel)
{
	const struct vxlan_dev *vxlan = netdev_priv(tunnel);

	if (kind == VERNA_FLOW_TUN_GRE)
		return 0;
	return key->tp_dst || kind != VERNA_FLOW_TUN_VXLAN ? key->tp_dst :
							    vxlan->cfg.dst_port;
}

/* Gives a rule the edit that it needs now, NULL: none. */
static int verna_encap_update(struct verna_eth *eth, struct verna_tc_rule *rule,
			      const struct verna_flow_edit *edit)
{
	struct verna_tc_object *old = rule->edit, *new = NULL;
	int err;

	if (edit)
		new = verna_tc_edit(eth, edit);
	if (IS_ERR(new))
		return PTR_ERR(new);
	err = verna_tc_rule_count(eth, rule);
	if (err)
		goto put_new;
	rule->edit = new;
	err = verna_tc_rule_start(eth, rule);
	if (err)
		goto keep_old;
	rule->asked_packets = 0;
	rule->asked_bytes = 0;
	verna_tc_object_put(eth, old);
	return 0;

keep_old:
	rule->edit = old;
put_new:
	verna_tc_object_put(eth, new);
	return err;
}

/* Errors are tried again by the next look; the card may be on its way through a reset. */
static void verna_encap_look(struct verna_eth *eth, struct verna_tc_rule *rule)
{
	struct verna_flow_edit edit;
	int err;

	err = verna_encap_resolve(eth, rule->encap, &edit);
	if (err && rule->edit)
		verna_encap_update(eth, rule, NULL);
	else if (!err && (!rule->edit || memcmp(rule->edit->data, &edit, sizeof(edit))))
		verna_encap_update(eth, rule, &edit);
}

static void verna_encap_work(struct work_struct *work)
{
	struct verna_tc_rules *tc = container_of(to_delayed_work(work),
						 struct verna_tc_rules, encap_work);
	struct verna_eth *eth = container_of(tc, struct verna_eth, tc);
	struct verna_tc_rule *rule;

	mutex_lock(&tc->lock);
	list_for_each_entry(rule, &tc->list, list)
		if (rule->encap && rule->id)
			verna_encap_look(eth, rule);
	if (tc->num_encaps)
		queue_delayed_work(system_long_wq, &tc->encap_work, VERNA_ENCAP_PERIOD);
	mutex_unlock(&tc->lock);
}

/* In any context. */
static int verna_encap_netevent(struct notifier_block *nb, unsigned long event, void *data)
{
	struct verna_tc_rules *tc = container_of(nb, struct verna_tc_rules, netevent);

	if (event == NETEVENT_NEIGH_UPDATE && READ_ONCE(tc->num_encaps))
		mod_delayed_work(system_long_wq, &tc->encap_work, 0);
	return NOTIFY_DONE;
}

/**
 * verna_tc_encap_set - let a rule put its packets into a tunnel
 * @eth: interface; its lock of rules is held
 * @rule: rule, not started yet; gets the edit, if there is a way already
 * @info: what tunnel_key says
 * @tunnel: device that the rule redirects to
 * @edit: what the rule does besides
 * @extack: gets what is wrong
 *
 * Return: 0, or -EOPNOTSUPP and a message, or another error.
 */
int verna_tc_encap_set(struct verna_eth *eth, struct verna_tc_rule *rule,
		       const struct ip_tunnel_info *info, const struct net_device *tunnel,
		       const struct verna_flow_edit *edit, struct netlink_ext_ack *extack)
{
	struct verna_tc_encap *encap;
	struct verna_flow_edit now;
	int err;

	encap = kzalloc(sizeof(*encap), GFP_KERNEL);
	if (!encap)
		return -ENOMEM;
	encap->key = info->key;
	encap->ip6 = ip_tunnel_info_af(info) == AF_INET6;
	encap->kind = verna_tc_tunnel_kind(tunnel);
	encap->dport = verna_encap_dport(&info->key, encap->kind, tunnel);
	encap->edit = *edit;
	err = verna_encap_check(encap, info, extack);
	if (err)
		goto free_encap;
	err = verna_encap_resolve(eth, encap, &now);
	if (err && err != -EAGAIN) {
		NL_SET_ERR_MSG_FMT_MOD(extack, "tunnel_key: no way out of the uplink: %pe",
				       ERR_PTR(err));
		err = -EOPNOTSUPP;
		goto free_encap;
	}
	if (!err)
		rule->edit = verna_tc_edit(eth, &now);
	if (IS_ERR(rule->edit)) {
		err = PTR_ERR(rule->edit);
		rule->edit = NULL;
		NL_SET_ERR_MSG_MOD(extack, "the card refuses what changes packets");
		goto free_encap;
	}
	rule->encap = encap;
	WRITE_ONCE(eth->tc.num_encaps, eth->tc.num_encaps + 1);
	queue_delayed_work(system_long_wq, &eth->tc.encap_work, VERNA_ENCAP_PERIOD);
	return 0;

free_encap:
	kfree(encap);
	return err;
}

/** verna_tc_encap_put - a rule goes @eth: interface; its lock is held @rule: any rule */
void verna_tc_encap_put(struct verna_eth *eth, struct verna_tc_rule *rule)
{
	if (!rule->encap)
		return;
	WRITE_ONCE(eth->tc.num_encaps, eth->tc.num_encaps - 1);
	kfree(rule->encap);
}

/**
 * verna_tc_encaps_init - begin to hear of neighbours
 * @tc: rules, of which there are none yet
 *
 * Return: 0 or an error.
 */
int verna_tc_encaps_init(struct verna_tc_rules *tc)
{
	INIT_DELAYED_WORK(&tc->encap_work, verna_encap_work);
	tc->netevent.notifier_call = verna_encap_netevent;
	return register_netevent_notifier(&tc->netevent);
}

/** verna_tc_encaps_exit - undoes verna_tc_encaps_init() @tc: rules, of which none are left */
void verna_tc_encaps_exit(struct verna_tc_rules *tc)
{
	unregister_netevent_notifier(&tc->netevent);
	cancel_delayed_work_sync(&tc->encap_work);
}
