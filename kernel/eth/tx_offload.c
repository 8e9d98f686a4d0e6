// SPDX-License-Identifier: GPL-2.0
/*
 * verna: what the card does for an skb on its way out: checksums, segmentation, VLAN
 * tags. Which of it the stack may ask for, and how the card is told.
 */
#include <linux/if_vlan.h>
#include <linux/ip.h>
#include <linux/sctp.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <net/ipv6.h>

#include "eth.h"
#include "verna_compat.h"

#define VERNA_GSO_UDP_TUNNELS	(SKB_GSO_UDP_TUNNEL | SKB_GSO_UDP_TUNNEL_CSUM)
#define VERNA_GSO_GRE		(SKB_GSO_GRE | SKB_GSO_GRE_CSUM)
#define VERNA_GSO_IPXIP		(SKB_GSO_IPXIP4 | SKB_GSO_IPXIP6)
#define VERNA_GSO_TUNNELS	(VERNA_GSO_UDP_TUNNELS | VERNA_GSO_GRE | VERNA_GSO_IPXIP)

#define VERNA_F_TSO	(NETIF_F_TSO | NETIF_F_TSO6 | NETIF_F_TSO_ECN | NETIF_F_TSO_MANGLEID)

static const struct {
	u32 cap;
	netdev_features_t features;
} verna_tx_features[] = {
	{ VERNA_ETH_F_TX_CSUM, NETIF_F_HW_CSUM },
	{ VERNA_ETH_F_TX_CRC32C, NETIF_F_SCTP_CRC },
	{ VERNA_ETH_F_TSO, VERNA_F_TSO | NETIF_F_GSO_ACCECN },
	{ VERNA_ETH_F_USO, NETIF_F_GSO_UDP_L4 },
	{ VERNA_ETH_F_TSO_TUNNEL, NETIF_F_GSO_ENCAP_ALL },
	{ VERNA_ETH_F_TX_VLAN, NETIF_F_HW_VLAN_CTAG_TX | NETIF_F_HW_VLAN_STAG_TX },
};

/**
 * verna_tx_offload_init - offer what the card can do
 * @eth: interface, not yet registered
 *
 * A card that segments inside of tunnels writes all outer headers, so there is
 * nothing for GSO_PARTIAL to do.
 */
void verna_tx_offload_init(struct verna_eth *eth)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);
	struct net_device *netdev = eth->netdev;
	netdev_features_t features = 0;
	netdev_features_t inside;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verna_tx_features); i++)
		if (caps->eth.features & verna_tx_features[i].cap)
			features |= verna_tx_features[i].features;
	inside = features & ~(NETIF_F_HW_VLAN_CTAG_TX | NETIF_F_HW_VLAN_STAG_TX);

	netdev->hw_features |= features;
	netdev->features |= features;
	netdev->vlan_features |= inside;
	netdev->hw_enc_features |= inside | NETIF_F_SG | NETIF_F_HIGHDMA;
	if (caps->eth.max_tso_bytes)
		netif_set_tso_max_size(netdev, caps->eth.max_tso_bytes);
}

/**
 * struct verna_gso_layout - where the headers of a GSO skb begin
 * @l3: innermost IP header
 * @l4: TCP or UDP header behind it
 * @end: of all headers
 */
struct verna_gso_layout {
	u32 l3;
	u32 l4;
	u32 end;
};

/* False if the headers are not where they can be read. */
static bool verna_gso_layout(const struct sk_buff *skb, struct verna_gso_layout *at)
{
	bool tcp = !(skb_shinfo(skb)->gso_type & SKB_GSO_UDP_L4);
	const struct tcphdr *th;

	if (skb->encapsulation) {
		at->l3 = skb_inner_network_offset(skb);
		at->l4 = skb_inner_transport_offset(skb);
	} else {
		at->l3 = skb_network_offset(skb);
		at->l4 = skb_transport_offset(skb);
	}
	at->end = at->l4 + (tcp ? sizeof(struct tcphdr) : sizeof(struct udphdr));
	if (at->end > skb_headlen(skb))
		return false;
	if (tcp) {
		th = (const struct tcphdr *)(skb->data + at->l4);
		at->end = at->l4 + __tcp_hdrlen(th);
	}
	return true;
}

/* An extension header may change the address that the checksum covers. */
static bool verna_gso_ip_fits(const struct sk_buff *skb, const struct verna_gso_layout *at)
{
	const struct iphdr *ip = (const struct iphdr *)(skb->data + at->l3);

	if (ip->version == 4)
		return true;
	return at->l4 - at->l3 == sizeof(struct ipv6hdr) + verna_hopopt_jumbo_len(skb);
}

/*
 * One tunnel; GRE and IP may be in UDP (FOU, GUE). All that is between UDP and the inner
 * headers is the same for all segments, so there must be no checksum in it.
 */
static bool verna_gso_tunnel_fits(const struct sk_buff *skb)
{
	u32 tunnel = skb_shinfo(skb)->gso_type & VERNA_GSO_TUNNELS;

	if (!tunnel || !skb->encapsulation)
		return !tunnel && !skb->encapsulation;
	if (tunnel & VERNA_GSO_GRE && tunnel & VERNA_GSO_IPXIP)
		return false;
	return !(tunnel & VERNA_GSO_UDP_TUNNELS) || !(tunnel & SKB_GSO_GRE_CSUM);
}

static bool verna_gso_fits(const struct verna_eth *eth, struct sk_buff *skb)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);
	__be16 proto = vlan_get_protocol(skb);
	struct verna_gso_layout at;

	if (proto != htons(ETH_P_IP) && proto != htons(ETH_P_IPV6))
		return false;
	if (skb->len > caps->eth.max_tso_bytes ||
	    skb_shinfo(skb)->nr_frags >= caps->eth.max_tx_frags)
		return false;
	return verna_gso_tunnel_fits(skb) && verna_gso_layout(skb, &at) &&
	       at.end <= VERNA_TX_MAX_HDR && verna_gso_ip_fits(skb, &at);
}

/**
 * verna_features_check - ndo_features_check
 * @skb: packet
 * @netdev: interface
 * @features: what the stack would leave to the card
 *
 * Checksums go to any place, and tags may be any number, so only segmentation has
 * limits.
 *
 * Return: what it may leave to the card.
 */
netdev_features_t verna_features_check(struct sk_buff *skb, struct net_device *netdev,
				       netdev_features_t features)
{
	if (skb_is_gso(skb) && !verna_gso_fits(netdev_priv(netdev), skb))
		return features & ~NETIF_F_GSO_MASK;
	return features;
}

static u16 verna_tx_vlan(const struct sk_buff *skb, struct verna_tx_desc *desc)
{
	if (!skb_vlan_tag_present(skb))
		return 0;
	desc->vlan_tci = cpu_to_le16(skb_vlan_tag_get(skb));
	return skb->vlan_proto == htons(ETH_P_8021AD) ? VERNA_TX_F_SVLAN : VERNA_TX_F_VLAN;
}

static u16 verna_tx_csum(struct sk_buff *skb, struct verna_tx_desc *desc)
{
	desc->csum_start = cpu_to_le16(skb_checksum_start_offset(skb));
	desc->csum_offset = cpu_to_le16(skb->csum_offset);
	return skb_csum_is_sctp(skb) ? VERNA_TX_F_CRC32C : VERNA_TX_F_CSUM;
}

/*
 * Where UDP or GRE of a tunnel begins. The stack's own mark is of no use: it is somewhere
 * in the payload if a packet socket's packet goes through IP in UDP, because then all
 * headers were walked along (SKB_GSO_DODGY).
 */
static int verna_gso_outer_l4(const struct sk_buff *skb)
{
	const struct iphdr *ip = ip_hdr(skb);
	__be16 frag_off;
	u8 nexthdr;

	if (ip->version == 4)
		return skb_network_offset(skb) + ip->ihl * 4;
	nexthdr = ipv6_hdr(skb)->nexthdr;
	return ipv6_skip_exthdr(skb, skb_network_offset(skb) + sizeof(struct ipv6hdr),
				&nexthdr, &frag_off);
}

static u16 verna_tx_gso(const struct sk_buff *skb, struct verna_tx_desc *desc,
			struct verna_tx_buf *buf)
{
	u32 type = skb_shinfo(skb)->gso_type;
	struct verna_gso_layout at = {};
	u16 flags;

	/* It did when the stack asked, and would not be here otherwise. */
	verna_gso_layout(skb, &at);
	desc->csum_start = cpu_to_le16(at.l4);
	desc->mss = cpu_to_le16(skb_shinfo(skb)->gso_size);
	desc->hdr_len = cpu_to_le16(at.end);
	desc->l3_offset = cpu_to_le16(at.l3);
	buf->packets = DIV_ROUND_UP(skb->len - at.end, skb_shinfo(skb)->gso_size);
	buf->bytes += (buf->packets - 1) * at.end;

	flags = type & SKB_GSO_UDP_L4 ? VERNA_TX_F_USO : VERNA_TX_F_TSO;
	if (type & VERNA_GSO_ACCECN)
		flags |= VERNA_TX_F_KEEP_CWR;
	if (!skb->encapsulation) {
		if (type & (VERNA_GSO_INNER_FIXEDID | VERNA_GSO_OUTER_FIXEDID))
			flags |= VERNA_TX_F_FIXED_ID;
		return flags;
	}
	desc->outer_l3_offset = cpu_to_le16(skb_network_offset(skb));
	if (type & (VERNA_GSO_UDP_TUNNELS | VERNA_GSO_GRE))
		desc->outer_l4_offset = cpu_to_le16(verna_gso_outer_l4(skb));
	if (type & VERNA_GSO_INNER_FIXEDID)
		flags |= VERNA_TX_F_FIXED_ID;
	if (type & VERNA_GSO_OUTER_FIXEDID)
		flags |= VERNA_TX_F_OUTER_FIXED_ID;
	return flags;
}

static void verna_tx_offload_account(struct verna_queue_stats *stats,
				     const struct sk_buff *skb,
				     const struct verna_tx_buf *buf, u16 flags)
{
	struct verna_tx_xmit_stats *xmit = &stats->xmit;

	u64_stats_update_begin(&stats->xmit_sync);
	if (flags & (VERNA_TX_F_TSO | VERNA_TX_F_USO)) {
		xmit->gso_packets++;
		xmit->gso_bytes += skb->len;
		xmit->gso_wire_packets += buf->packets;
		xmit->gso_wire_bytes += buf->bytes;
		xmit->needs_csum += buf->packets;
	} else if (flags & (VERNA_TX_F_CSUM | VERNA_TX_F_CRC32C)) {
		xmit->needs_csum++;
	} else {
		xmit->csum_none++;
	}
	u64_stats_update_end(&stats->xmit_sync);
}

/**
 * verna_tx_offload - tell the card what to do with a packet
 * @txq: queue
 * @skb: packet
 * @desc: its first descriptor, whose other fields are zero
 * @buf: gets how many packets and bytes will be on the wire
 */
void verna_tx_offload(struct verna_txq *txq, struct sk_buff *skb,
		      struct verna_tx_desc *desc, struct verna_tx_buf *buf)
{
	u16 flags = verna_tx_vlan(skb, desc);

	buf->packets = 1;
	buf->bytes = skb->len;
	if (skb_is_gso(skb))
		flags |= verna_tx_gso(skb, desc, buf);
	else if (skb->ip_summed == CHECKSUM_PARTIAL)
		flags |= verna_tx_csum(skb, desc);
	if (skb_vlan_tag_present(skb))
		buf->bytes += buf->packets * VLAN_HLEN;
	desc->flags |= cpu_to_le16(flags);
	verna_tx_offload_account(txq->stats, skb, buf, flags);
}
