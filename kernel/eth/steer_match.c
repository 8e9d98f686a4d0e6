// SPDX-License-Identifier: GPL-2.0
/* verna: what a rule of ethtool -N matches, in the card's words. */
#include <linux/ethtool.h>

#include "eth.h"

static void verna_match_byte(struct verna_flow_rule *rule, size_t offset, u8 value)
{
	verna_match_u8(rule, offset, value, 0xff);
}

/**
 * verna_match_ip - let a rule look at the kind of packet
 * @rule: rule
 * @version: 4 or 6
 * @proto: upper layer, 0: any
 */
void verna_match_ip(struct verna_flow_rule *rule, u8 version, u8 proto)
{
	verna_match_byte(rule, VERNA_KEY(ip_version), version);
	if (proto)
		verna_match_byte(rule, VERNA_KEY(ip_proto), proto);
}

static u8 verna_match_proto(u32 flow_type)
{
	switch (flow_type) {
	case TCP_V4_FLOW:
	case TCP_V6_FLOW:
		return IPPROTO_TCP;
	case UDP_V4_FLOW:
	case UDP_V6_FLOW:
		return IPPROTO_UDP;
	default:
		return IPPROTO_SCTP;
	}
}

static void verna_match_tcpip4(struct verna_flow_rule *rule,
			       const struct ethtool_rx_flow_spec *fs, u32 flow_type)
{
	const struct ethtool_tcpip4_spec *h = &fs->h_u.tcp_ip4_spec, *m = &fs->m_u.tcp_ip4_spec;

	verna_match_ip(rule, 4, verna_match_proto(flow_type));
	verna_match(rule, src_ip, h->ip4src, m->ip4src);
	verna_match(rule, dst_ip, h->ip4dst, m->ip4dst);
	verna_match(rule, sport, h->psrc, m->psrc);
	verna_match(rule, dport, h->pdst, m->pdst);
	verna_match(rule, tos, h->tos, m->tos);
}

static void verna_match_tcpip6(struct verna_flow_rule *rule,
			       const struct ethtool_rx_flow_spec *fs, u32 flow_type)
{
	const struct ethtool_tcpip6_spec *h = &fs->h_u.tcp_ip6_spec, *m = &fs->m_u.tcp_ip6_spec;

	verna_match_ip(rule, 6, verna_match_proto(flow_type));
	verna_match(rule, src_ip, h->ip6src, m->ip6src);
	verna_match(rule, dst_ip, h->ip6dst, m->ip6dst);
	verna_match(rule, sport, h->psrc, m->psrc);
	verna_match(rule, dport, h->pdst, m->pdst);
	verna_match(rule, tos, h->tclass, m->tclass);
}

/* The first four bytes behind IP are the ports' place, whatever the protocol. */
static int verna_match_usrip4(struct verna_flow_rule *rule,
			      const struct ethtool_rx_flow_spec *fs)
{
	const struct ethtool_usrip4_spec *h = &fs->h_u.usr_ip4_spec, *m = &fs->m_u.usr_ip4_spec;

	if (m->ip_ver)
		return -EINVAL;
	verna_match_ip(rule, 4, 0);
	verna_match(rule, src_ip, h->ip4src, m->ip4src);
	verna_match(rule, dst_ip, h->ip4dst, m->ip4dst);
	verna_match(rule, sport, h->l4_4_bytes, m->l4_4_bytes);
	verna_match(rule, tos, h->tos, m->tos);
	verna_match(rule, ip_proto, h->proto, m->proto);
	return 0;
}

static void verna_match_usrip6(struct verna_flow_rule *rule,
			       const struct ethtool_rx_flow_spec *fs)
{
	const struct ethtool_usrip6_spec *h = &fs->h_u.usr_ip6_spec, *m = &fs->m_u.usr_ip6_spec;

	verna_match_ip(rule, 6, 0);
	verna_match(rule, src_ip, h->ip6src, m->ip6src);
	verna_match(rule, dst_ip, h->ip6dst, m->ip6dst);
	verna_match(rule, sport, h->l4_4_bytes, m->l4_4_bytes);
	verna_match(rule, tos, h->tclass, m->tclass);
	verna_match(rule, ip_proto, h->l4_proto, m->l4_proto);
}

static void verna_match_ether(struct verna_flow_rule *rule,
			      const struct ethtool_rx_flow_spec *fs)
{
	const struct ethhdr *h = &fs->h_u.ether_spec, *m = &fs->m_u.ether_spec;

	verna_match(rule, dmac, h->h_dest, m->h_dest);
	verna_match(rule, smac, h->h_source, m->h_source);
	verna_match(rule, ethertype, h->h_proto, m->h_proto);
}

/* A tag that is looked at must be there: no tag reads as zero. */
static int verna_match_ext(struct verna_flow_rule *rule, const struct ethtool_rx_flow_spec *fs)
{
	u8 tagged = VERNA_FLOW_K_VLAN;

	if (fs->m_ext.data[0] || fs->m_ext.data[1])
		return -EOPNOTSUPP;
	verna_flow_match(rule, VERNA_KEY(vlan_tpid), &fs->h_ext.vlan_etype,
			 &fs->m_ext.vlan_etype, sizeof(fs->h_ext.vlan_etype));
	verna_flow_match(rule, VERNA_KEY(vlan_tci), &fs->h_ext.vlan_tci,
			 &fs->m_ext.vlan_tci, sizeof(fs->h_ext.vlan_tci));
	if (fs->m_ext.vlan_etype || fs->m_ext.vlan_tci)
		verna_flow_match(rule, VERNA_KEY(flags), &tagged, &tagged, 1);
	return 0;
}

static int verna_match_type(struct verna_flow_rule *rule,
			    const struct ethtool_rx_flow_spec *fs, u32 flow_type)
{
	switch (flow_type) {
	case TCP_V4_FLOW:
	case UDP_V4_FLOW:
	case SCTP_V4_FLOW:
		verna_match_tcpip4(rule, fs, flow_type);
		return 0;
	case TCP_V6_FLOW:
	case UDP_V6_FLOW:
	case SCTP_V6_FLOW:
		verna_match_tcpip6(rule, fs, flow_type);
		return 0;
	case IPV4_USER_FLOW:
		return verna_match_usrip4(rule, fs);
	case IPV6_USER_FLOW:
		verna_match_usrip6(rule, fs);
		return 0;
	case ETHER_FLOW:
		verna_match_ether(rule, fs);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

/**
 * verna_match_spec - what packets a rule of ethtool means
 * @fs: the rule
 * @rule: key and mask, zero before
 *
 * Return: 0, -EOPNOTSUPP for a type of flow or a field that the card does not look at,
 * -EINVAL for nonsense.
 */
int verna_match_spec(const struct ethtool_rx_flow_spec *fs, struct verna_flow_rule *rule)
{
	u32 flow_type = fs->flow_type & ~(FLOW_EXT | FLOW_MAC_EXT | FLOW_RSS);
	int err;

	err = verna_match_type(rule, fs, flow_type);
	if (!err && fs->flow_type & FLOW_EXT)
		err = verna_match_ext(rule, fs);
	if (!err && fs->flow_type & FLOW_MAC_EXT)
		verna_flow_match(rule, VERNA_KEY(dmac), fs->h_ext.h_dest, fs->m_ext.h_dest,
				 ETH_ALEN);
	return err;
}
