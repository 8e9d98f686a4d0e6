// SPDX-License-Identifier: GPL-2.0
/*
 * verna: packets that the card merged. The card has made one right TCP packet of
 * several; here it becomes what the stack's own GRO would have made, so that GSO can
 * cut it into exactly those packets again when it is forwarded.
 */
#include <linux/if_vlan.h>
#include <net/ip.h>
#include <net/ip6_checksum.h>
#include <net/tcp.h>

#include "verna_compat.h"
#include "eth.h"

/* What this kernel's GSO can restore. */
#define VERNA_GRO_CWR		(VERNA_GSO_ACCECN ? VERNA_ETH_ON_MERGE_CWR : 0)
#define VERNA_GSO_CWR		(VERNA_GSO_ACCECN ? VERNA_GSO_ACCECN : SKB_GSO_TCP_ECN)
#ifdef VERNA_HAVE_GSO_FIXEDID_INNER
#define VERNA_GRO_IDS		VERNA_ETH_ON_MERGE_IDS
#define VERNA_GSO_INNER_ID	SKB_GSO_TCP_FIXEDID_INNER
#else
#define VERNA_GRO_IDS		0
#define VERNA_GSO_INNER_ID	SKB_GSO_TCP_FIXEDID
#endif

/**
 * struct verna_gro_hdrs - where the headers of a merged packet are
 * @outer: offset of the outer IP header, 0: no tunnel
 * @ip: offset of the (inner) IP header
 * @tcp: offset of the TCP header
 * @payload: offset of what follows
 * @v6: the IP header at @ip is IPv6
 * @outer_v6: the one at @outer is
 */
struct verna_gro_hdrs {
	u32 outer;
	u32 ip;
	u32 tcp;
	u32 payload;
	bool v6;
	bool outer_v6;
};

/** verna_gro_rules - VERNA_ETH_ON_MERGE and what goes with it */
u32 verna_gro_rules(void)
{
	return VERNA_ETH_ON_MERGE | VERNA_GRO_CWR | VERNA_GRO_IDS;
}

static u32 verna_gro_skip_vlan(struct sk_buff *skb)
{
	u32 off = ETH_HLEN - sizeof(__be16);

	while (pskb_may_pull(skb, off + VLAN_HLEN + sizeof(__be16)) &&
	       eth_type_vlan(*(__be16 *)(skb->data + off)))
		off += VLAN_HLEN;
	return off + sizeof(__be16);
}

/* Steps over the IP header at @off; the offset behind it, 0: none that is merged. */
static u32 verna_gro_skip_ip(struct sk_buff *skb, u32 off, u8 *proto, bool *v6)
{
	const struct ipv6_opt_hdr *ext;
	const struct ipv6hdr *ip6;
	const struct iphdr *ip4;

	if (!pskb_may_pull(skb, off + sizeof(*ip4)))
		return 0;
	ip4 = (void *)(skb->data + off);
	*v6 = ip4->version == 6;
	if (!*v6) {
		*proto = ip4->protocol;
		return ip4->version == 4 && ip4->ihl == 5 ? off + sizeof(*ip4) : 0;
	}
	if (!pskb_may_pull(skb, off + sizeof(*ip6)))
		return 0;
	ip6 = (void *)(skb->data + off);
	*proto = ip6->nexthdr;
	off += sizeof(*ip6);
	while (*proto == NEXTHDR_HOP || *proto == NEXTHDR_ROUTING || *proto == NEXTHDR_DEST) {
		if (!pskb_may_pull(skb, off + sizeof(*ext)))
			return 0;
		ext = (void *)(skb->data + off);
		*proto = ext->nexthdr;
		off += ipv6_optlen(ext);
	}
	return off;
}

/* All headers are in the linear part afterwards. */
static bool verna_gro_parse(struct sk_buff *skb, struct verna_gro_hdrs *h)
{
	u8 proto;
	u32 off;

	h->outer = 0;
	h->ip = verna_gro_skip_vlan(skb);
	off = verna_gro_skip_ip(skb, h->ip, &proto, &h->v6);
	if (off && (proto == IPPROTO_IPIP || proto == IPPROTO_IPV6)) {
		h->outer = h->ip;
		h->outer_v6 = h->v6;
		h->ip = off;
		off = verna_gro_skip_ip(skb, h->ip, &proto, &h->v6);
	}
	if (!off || proto != IPPROTO_TCP || !pskb_may_pull(skb, off + sizeof(struct tcphdr)))
		return false;
	h->tcp = off;
	h->payload = off + ((struct tcphdr *)(skb->data + off))->doff * 4;
	return h->payload < skb->len && pskb_may_pull(skb, h->payload);
}

static void verna_gro_tunnel(struct sk_buff *skb, const struct verna_gro_hdrs *h)
{
	skb_shinfo(skb)->gso_type |= h->outer_v6 ? SKB_GSO_IPXIP6 : SKB_GSO_IPXIP4;
	skb->encapsulation = 1;
	skb_set_inner_protocol(skb, htons(h->v6 ? ETH_P_IPV6 : ETH_P_IP));
	skb_set_inner_network_header(skb, h->ip);
	skb_set_inner_transport_header(skb, h->tcp);
}

static unsigned int verna_gro_ids(const struct verna_cqe *cqe, const struct verna_gro_hdrs *h)
{
	unsigned int type = 0;

	if (cqe->rx_flags & VERNA_CQE_RX_FIXED_ID)
		type |= SKB_GSO_TCP_FIXEDID;
	if (h->outer && cqe->rx_flags & VERNA_CQE_RX_INNER_FIXED_ID)
		type |= VERNA_GSO_INNER_ID;
	return type;
}

/* The checksum field gets the sum of the pseudo header, as before a TSO. */
static void verna_gro_csum(struct sk_buff *skb, const struct verna_gro_hdrs *h)
{
	struct tcphdr *th = (void *)(skb->data + h->tcp);
	const void *ip = skb->data + h->ip;
	u32 len = skb->len - h->tcp;

	if (h->v6) {
		const struct ipv6hdr *ip6 = ip;

		th->check = ~tcp_v6_check(len, &ip6->saddr, &ip6->daddr, 0);
	} else {
		const struct iphdr *ip4 = ip;

		th->check = ~tcp_v4_check(len, ip4->saddr, ip4->daddr, 0);
	}
	skb->ip_summed = CHECKSUM_PARTIAL;
	skb->csum_start = (u8 *)th - skb->head;
	skb->csum_offset = offsetof(struct tcphdr, check);
	if (th->cwr)
		skb_shinfo(skb)->gso_type |= VERNA_GSO_CWR;
}

/**
 * verna_rx_gro - make a GSO packet of a merged one
 * @stats: to count in; the caller has begun an update
 * @cqe: its completion
 * @skb: the packet, from its Ethernet header on
 *
 * Return: false if it is not what the completion says.
 */
bool verna_rx_gro(struct verna_rx_stats *stats, const struct verna_cqe *cqe,
		  struct sk_buff *skb)
{
	u32 segs = le16_to_cpu(cqe->gro_segs), more;
	struct skb_shared_info *shinfo;
	struct verna_gro_hdrs h;

	if (!cqe->gro_size || !verna_gro_parse(skb, &h))
		return false;
	shinfo = skb_shinfo(skb);
	shinfo->gso_size = le16_to_cpu(cqe->gro_size);
	shinfo->gso_segs = segs;
	shinfo->gso_type = (h.v6 ? SKB_GSO_TCPV6 : SKB_GSO_TCPV4) | verna_gro_ids(cqe, &h);
	skb_set_network_header(skb, h.outer ? h.outer : h.ip);
	skb_set_transport_header(skb, h.outer ? h.ip : h.tcp);
	if (h.outer)
		verna_gro_tunnel(skb, &h);
	verna_gro_csum(skb, &h);

	more = (segs - 1) * h.payload;
	stats->packets += segs - 1;
	stats->bytes += more;
	stats->csum_unnecessary++;
	stats->gro_packets++;
	stats->gro_bytes += skb->len;
	stats->gro_wire_packets += segs;
	stats->gro_wire_bytes += skb->len + more;
	return true;
}
