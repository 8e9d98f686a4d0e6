// SPDX-License-Identifier: GPL-2.0
/* verna: what a rule of tc flower matches, in the card's words. */
#include <net/pkt_cls.h>

#include "eth.h"

static void verna_match_be16(struct verna_flow_rule *rule, size_t offset, u16 value,
			     u16 mask)
{
	__be16 be_value = htons(value), be_mask = htons(mask);

	verna_flow_match(rule, offset, &be_value, &be_mask, 2);
}

#define VERNA_USES(key)	{ FLOW_DISSECTOR_KEY_##key, #key }

/* Keys of the flow dissector that the card can look at, and those that it cannot. */
static const struct {
	enum flow_dissector_key_id id;
	const char *name;
} verna_tc_known[] = {
	VERNA_USES(CONTROL), VERNA_USES(BASIC), VERNA_USES(META), VERNA_USES(ETH_ADDRS),
	VERNA_USES(VLAN), VERNA_USES(CVLAN), VERNA_USES(IPV4_ADDRS),
	VERNA_USES(IPV6_ADDRS), VERNA_USES(IP), VERNA_USES(PORTS),
	VERNA_USES(PORTS_RANGE), VERNA_USES(TCP), VERNA_USES(ICMP), VERNA_USES(ARP),
	VERNA_USES(NUM_OF_VLANS),
}, verna_tc_known_inside[] = {
	VERNA_USES(ENC_CONTROL), VERNA_USES(ENC_KEYID), VERNA_USES(ENC_IPV4_ADDRS),
	VERNA_USES(ENC_IPV6_ADDRS), VERNA_USES(ENC_PORTS), VERNA_USES(ENC_IP),
}, verna_tc_unknown[] = {
	VERNA_USES(TIPC), VERNA_USES(FLOW_LABEL), VERNA_USES(GRE_KEYID),
	VERNA_USES(MPLS_ENTROPY), VERNA_USES(ENC_KEYID), VERNA_USES(ENC_IPV4_ADDRS),
	VERNA_USES(ENC_IPV6_ADDRS), VERNA_USES(ENC_CONTROL), VERNA_USES(ENC_PORTS),
	VERNA_USES(MPLS), VERNA_USES(ENC_IP), VERNA_USES(ENC_OPTS), VERNA_USES(CT),
	VERNA_USES(HASH), VERNA_USES(PPPOE),
	VERNA_USES(L2TPV3), VERNA_USES(CFM), VERNA_USES(IPSEC),
};

static int verna_tc_check_keys(const struct flow_rule *rule, u8 tunnel,
			       struct netlink_ext_ack *extack)
{
	u64 used = rule->match.dissector->used_keys;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verna_tc_known); i++)
		used &= ~BIT_ULL(verna_tc_known[i].id);
	for (i = 0; tunnel && i < ARRAY_SIZE(verna_tc_known_inside); i++)
		used &= ~BIT_ULL(verna_tc_known_inside[i].id);
	if (!used)
		return 0;
	for (i = 0; i < ARRAY_SIZE(verna_tc_unknown); i++)
		if (used & BIT_ULL(verna_tc_unknown[i].id))
			break;
	NL_SET_ERR_MSG_FMT_MOD(extack, "the card does not match on key %s",
			       i < ARRAY_SIZE(verna_tc_unknown) ?
			       verna_tc_unknown[i].name : "?");
	return -EOPNOTSUPP;
}

/* Its port needs no match: each port has tables of its own. */
static int verna_tc_match_meta(const struct flow_rule *rule, struct netlink_ext_ack *extack)
{
	struct flow_match_meta match;

	flow_rule_match_meta(rule, &match);
	if (match.mask->l2_miss) {
		NL_SET_ERR_MSG_MOD(extack, "the card does not match on l2_miss");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int verna_tc_match_control(const struct flow_rule *rule, u16 *addr_type,
				  struct verna_flow_rule *out,
				  struct netlink_ext_ack *extack)
{
	struct flow_match_control match;
	u8 flags = 0, mask = 0;

	flow_rule_match_control(rule, &match);
	*addr_type = match.key->addr_type;
	if (!flow_rule_is_supp_control_flags(FLOW_DIS_IS_FRAGMENT | FLOW_DIS_FIRST_FRAG,
					     match.mask->flags, extack))
		return -EOPNOTSUPP;
	if (match.mask->flags & FLOW_DIS_IS_FRAGMENT) {
		mask |= VERNA_FLOW_K_FRAGMENT;
		if (match.key->flags & FLOW_DIS_IS_FRAGMENT)
			flags |= VERNA_FLOW_K_FRAGMENT;
	}
	if (match.mask->flags & FLOW_DIS_FIRST_FRAG) {
		mask |= VERNA_FLOW_K_FIRST;
		if (match.key->flags & FLOW_DIS_FIRST_FRAG)
			flags |= VERNA_FLOW_K_FIRST;
	}
	verna_match_u8(out, VERNA_KEY(flags), flags, mask);
	return 0;
}

static void verna_tc_match_basic(const struct flow_rule *rule, struct verna_flow_rule *out)
{
	struct flow_match_basic match;

	flow_rule_match_basic(rule, &match);
	verna_match(out, ethertype, match.key->n_proto, match.mask->n_proto);
	verna_match(out, ip_proto, match.key->ip_proto, match.mask->ip_proto);
}

static void verna_tc_match_eth(const struct flow_rule *rule, struct verna_flow_rule *out)
{
	struct flow_match_eth_addrs match;

	flow_rule_match_eth_addrs(rule, &match);
	verna_flow_match(out, VERNA_KEY(dmac), match.key->dst, match.mask->dst, ETH_ALEN);
	verna_flow_match(out, VERNA_KEY(smac), match.key->src, match.mask->src, ETH_ALEN);
}

static u16 verna_tc_tci(const struct flow_dissector_key_vlan *vlan)
{
	return vlan->vlan_id | vlan->vlan_dei << 12 | vlan->vlan_priority << 13;
}

static void verna_tc_match_tag(const struct flow_match_vlan *match, u8 flag, size_t tpid,
			       size_t tci, struct verna_flow_rule *out)
{
	verna_match_u8(out, VERNA_KEY(flags), flag, flag);
	verna_flow_match(out, tpid, &match->key->vlan_tpid, &match->mask->vlan_tpid, 2);
	verna_match_be16(out, tci, verna_tc_tci(match->key), verna_tc_tci(match->mask));
}

/* What is right behind the outer tag: another, or else there is none. */
static void verna_tc_match_behind(const struct flow_match_vlan *match,
				  struct verna_flow_rule *out)
{
	__be16 type = match->key->vlan_eth_type;

	if (!match->mask->vlan_eth_type)
		return;
	if (!eth_type_vlan(type)) {
		verna_match_u8(out, VERNA_KEY(flags), 0, VERNA_FLOW_K_VLAN2);
		verna_match(out, ethertype, type, match->mask->vlan_eth_type);
		return;
	}
	verna_match_u8(out, VERNA_KEY(flags), VERNA_FLOW_K_VLAN2, VERNA_FLOW_K_VLAN2);
	verna_match(out, vlan2_tpid, type, match->mask->vlan_eth_type);
}

static void verna_tc_match_vlans(const struct flow_rule *rule, struct verna_flow_rule *out)
{
	struct flow_match_vlan match;

	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_VLAN)) {
		flow_rule_match_vlan(rule, &match);
		verna_tc_match_tag(&match, VERNA_FLOW_K_VLAN, VERNA_KEY(vlan_tpid),
				   VERNA_KEY(vlan_tci), out);
		verna_tc_match_behind(&match, out);
	}
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_CVLAN)) {
		flow_rule_match_cvlan(rule, &match);
		verna_tc_match_tag(&match, VERNA_FLOW_K_VLAN2, VERNA_KEY(vlan2_tpid),
				   VERNA_KEY(vlan2_tci), out);
		verna_match(out, ethertype, match.key->vlan_eth_type,
			    match.mask->vlan_eth_type);
	}
}

/* tc shows rules of another protocol than a VLAN's only packets without tags. */
static void verna_tc_match_untagged(struct verna_flow_rule *out)
{
	verna_match_u8(out, VERNA_KEY(flags), 0, VERNA_FLOW_K_VLAN);
}

/* The card sees two tags; that there are no more shows in the type behind them. */
static int verna_tc_match_num_of_vlans(const struct flow_rule *rule,
				       struct verna_flow_rule *out,
				       struct netlink_ext_ack *extack)
{
	const struct flow_dissector_key_num_of_vlans *key;
	u8 flags;

	key = skb_flow_dissector_target(rule->match.dissector,
					FLOW_DISSECTOR_KEY_NUM_OF_VLANS, rule->match.key);
	if (key->num_of_vlans > 2) {
		NL_SET_ERR_MSG_MOD(extack, "num_of_vlans is above 2");
		return -EOPNOTSUPP;
	}
	if (key->num_of_vlans == 2 &&
	    (out->mask.ethertype != htons(0xffff) || eth_type_vlan(out->key.ethertype))) {
		NL_SET_ERR_MSG_MOD(extack, "num_of_vlans 2 needs cvlan_ethtype");
		return -EOPNOTSUPP;
	}
	flags = key->num_of_vlans ? VERNA_FLOW_K_VLAN : 0;
	verna_match_u8(out, VERNA_KEY(flags), flags, VERNA_FLOW_K_VLAN);
	flags = key->num_of_vlans == 2 ? VERNA_FLOW_K_VLAN2 : 0;
	if (key->num_of_vlans)
		verna_match_u8(out, VERNA_KEY(flags), flags, VERNA_FLOW_K_VLAN2);
	return 0;
}

static void verna_tc_match_addresses(const struct flow_rule *rule, u16 addr_type,
				     struct verna_flow_rule *out)
{
	struct flow_match_ipv4_addrs v4;
	struct flow_match_ipv6_addrs v6;

	if (addr_type == FLOW_DISSECTOR_KEY_IPV4_ADDRS &&
	    flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_IPV4_ADDRS)) {
		flow_rule_match_ipv4_addrs(rule, &v4);
		verna_flow_match(out, VERNA_KEY(src_ip), &v4.key->src, &v4.mask->src, 4);
		verna_flow_match(out, VERNA_KEY(dst_ip), &v4.key->dst, &v4.mask->dst, 4);
	} else if (addr_type == FLOW_DISSECTOR_KEY_IPV6_ADDRS &&
		   flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_IPV6_ADDRS)) {
		flow_rule_match_ipv6_addrs(rule, &v6);
		verna_flow_match(out, VERNA_KEY(src_ip), &v6.key->src, &v6.mask->src, 16);
		verna_flow_match(out, VERNA_KEY(dst_ip), &v6.key->dst, &v6.mask->dst, 16);
	}
}

static void verna_tc_match_ip(const struct flow_rule *rule, struct verna_flow_rule *out)
{
	struct flow_match_ip match;

	flow_rule_match_ip(rule, &match);
	verna_match_u8(out, VERNA_KEY(tos), match.key->tos, match.mask->tos);
	verna_match_u8(out, VERNA_KEY(ttl), match.key->ttl, match.mask->ttl);
}

static void verna_tc_match_ports(const struct flow_rule *rule, struct verna_flow_rule *out)
{
	struct flow_match_ports match;

	flow_rule_match_ports(rule, &match);
	verna_match(out, sport, match.key->src, match.mask->src);
	verna_match(out, dport, match.key->dst, match.mask->dst);
}

/* From 0 on would be all packets, those without ports too. */
static void verna_tc_range(__be16 low, __be16 high, struct verna_flow_range *range)
{
	if (!high)
		return;
	range->low = cpu_to_le16(max_t(u16, ntohs(low), 1));
	range->high = cpu_to_le16(ntohs(high));
}

static void verna_tc_match_ranges(const struct flow_rule *rule,
				  struct verna_flow_rule_ranges *spec)
{
	struct flow_match_ports_range match;

	flow_rule_match_ports_range(rule, &match);
	if (match.mask->tp_min.src)
		verna_tc_range(match.key->tp_min.src, match.key->tp_max.src, &spec->sport);
	if (match.mask->tp_min.dst)
		verna_tc_range(match.key->tp_min.dst, match.key->tp_max.dst, &spec->dport);
}

static int verna_tc_match_arp(const struct flow_rule *rule, struct verna_flow_rule *out,
			      struct netlink_ext_ack *extack)
{
	struct flow_match_arp match;

	flow_rule_match_arp(rule, &match);
	if (!is_zero_ether_addr(match.mask->sha) || !is_zero_ether_addr(match.mask->tha)) {
		NL_SET_ERR_MSG_MOD(extack, "the card does not match on MAC addresses in ARP");
		return -EOPNOTSUPP;
	}
	verna_match_be16(out, VERNA_KEY(arp_op), match.key->op, match.mask->op);
	verna_flow_match(out, VERNA_KEY(src_ip), &match.key->sip, &match.mask->sip, 4);
	verna_flow_match(out, VERNA_KEY(dst_ip), &match.key->tip, &match.mask->tip, 4);
	return 0;
}

static void verna_tc_match_l4(const struct flow_rule *rule,
			      struct verna_flow_rule_ranges *spec)
{
	struct flow_match_icmp icmp;
	struct flow_match_tcp tcp;

	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_PORTS))
		verna_tc_match_ports(rule, &spec->rule);
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_PORTS_RANGE))
		verna_tc_match_ranges(rule, spec);
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_TCP)) {
		flow_rule_match_tcp(rule, &tcp);
		verna_match(&spec->rule, tcp_flags, tcp.key->flags, tcp.mask->flags);
	}
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_ICMP)) {
		flow_rule_match_icmp(rule, &icmp);
		verna_match(&spec->rule, icmp_type, icmp.key->type, icmp.mask->type);
		verna_match(&spec->rule, icmp_code, icmp.key->code, icmp.mask->code);
	}
}

/**
 * verna_tc_match_all - translate what a rule of matchall matches
 * @protocol: of tc; ETH_P_ALL for all
 * @spec: gets key and mask; zero before
 */
void verna_tc_match_all(__be16 protocol, struct verna_flow_rule_ranges *spec)
{
	if (protocol == htons(ETH_P_ALL))
		return;
	if (eth_type_vlan(protocol)) {
		verna_match_u8(&spec->rule, VERNA_KEY(flags), VERNA_FLOW_K_VLAN,
			       VERNA_FLOW_K_VLAN);
		verna_match_be16(&spec->rule, VERNA_KEY(vlan_tpid), ntohs(protocol), 0xffff);
		return;
	}
	verna_match_be16(&spec->rule, VERNA_KEY(ethertype), ntohs(protocol), 0xffff);
	verna_tc_match_untagged(&spec->rule);
}

/**
 * verna_tc_match - translate what a rule of flower matches
 * @rule: the rule, of the port whose tables it is for
 * @tunnel: VERNA_FLOW_TUN_*, what the port is a device of
 * @spec: gets key, mask and ranges; zero before
 * @extack: gets what is wrong
 *
 * Return: 0, or -EOPNOTSUPP and a message that names the key.
 */
int verna_tc_match(const struct flow_rule *rule, u8 tunnel,
		   struct verna_flow_rule_ranges *spec, struct netlink_ext_ack *extack)
{
	u16 addr_type = 0;
	int err;

	err = verna_tc_check_keys(rule, tunnel, extack);
	if (!err && tunnel)
		err = verna_tc_match_tunnel(rule, tunnel, &spec->rule, extack);
	if (!err && flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_META))
		err = verna_tc_match_meta(rule, extack);
	if (!err && flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_CONTROL))
		err = verna_tc_match_control(rule, &addr_type, &spec->rule, extack);
	if (!err && flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_ARP))
		err = verna_tc_match_arp(rule, &spec->rule, extack);
	if (err)
		return err;
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_BASIC))
		verna_tc_match_basic(rule, &spec->rule);
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_ETH_ADDRS))
		verna_tc_match_eth(rule, &spec->rule);
	verna_tc_match_vlans(rule, &spec->rule);
	if (spec->rule.mask.ethertype && !(spec->rule.mask.flags & VERNA_FLOW_K_VLAN))
		verna_tc_match_untagged(&spec->rule);
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_NUM_OF_VLANS))
		err = verna_tc_match_num_of_vlans(rule, &spec->rule, extack);
	if (err)
		return err;
	verna_tc_match_addresses(rule, addr_type, &spec->rule);
	if (flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_IP))
		verna_tc_match_ip(rule, &spec->rule);
	verna_tc_match_l4(rule, spec);
	return 0;
}
