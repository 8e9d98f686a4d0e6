// SPDX-License-Identifier: GPL-2.0
/* verna: which fields of a packet are hashed: ethtool -n and -N rx-flow-hash. */
#include <linux/ethtool.h>

#include "eth.h"

static const struct {
	u32 rxh;
	u8 field;
} verna_rss_bits[] = {
	{ RXH_IP_SRC, VERNA_RSS_SRC_IP },
	{ RXH_IP_DST, VERNA_RSS_DST_IP },
	{ RXH_L4_B_0_1, VERNA_RSS_SRC_PORT },
	{ RXH_L4_B_2_3, VERNA_RSS_DST_PORT },
#ifdef RXH_IP6_FL
	{ RXH_IP6_FL, VERNA_RSS_FLOW_LABEL },
#endif
};

/* The card's type of a flow type, or a negative error. */
static int verna_rss_type(u32 flow_type)
{
	switch (flow_type) {
	case TCP_V4_FLOW:
		return VERNA_RSS_TCPV4;
	case UDP_V4_FLOW:
		return VERNA_RSS_UDPV4;
	case SCTP_V4_FLOW:
		return VERNA_RSS_SCTPV4;
	case TCP_V6_FLOW:
		return VERNA_RSS_TCPV6;
	case UDP_V6_FLOW:
		return VERNA_RSS_UDPV6;
	case SCTP_V6_FLOW:
		return VERNA_RSS_SCTPV6;
	case IPV4_FLOW:
	case AH_ESP_V4_FLOW:
	case AH_V4_FLOW:
	case ESP_V4_FLOW:
		return VERNA_RSS_IPV4;
	case IPV6_FLOW:
	case AH_ESP_V6_FLOW:
	case AH_V6_FLOW:
	case ESP_V6_FLOW:
		return VERNA_RSS_IPV6;
	default:
		return -EOPNOTSUPP;
	}
}

/* The card does not tell AH and ESP from other IP. */
static bool verna_rss_is_settable(u32 flow_type)
{
	int type = verna_rss_type(flow_type);

	if (type == VERNA_RSS_IPV4 || type == VERNA_RSS_IPV6)
		return flow_type == IPV4_FLOW || flow_type == IPV6_FLOW;
	return type >= 0;
}

/** verna_rss_symmetric - do source and destination go together @ctx: context */
bool verna_rss_symmetric(const struct verna_rss_ctx *ctx)
{
	u32 i;

	for (i = 0; i < VERNA_RSS_NUM_TYPES; i++) {
		u8 ips = ctx->fields[i] & VERNA_RSS_IPS;
		u8 ports = ctx->fields[i] & VERNA_RSS_PORTS;

		if ((ips && ips != VERNA_RSS_IPS) || (ports && ports != VERNA_RSS_PORTS) ||
		    ctx->fields[i] & VERNA_RSS_FLOW_LABEL)
			return false;
	}
	return true;
}

/* True and the card's fields if it can hash what @data asks for in packets of @type. */
static bool verna_rss_fields(u64 data, int type, u8 *fields)
{
	u32 i;

	*fields = 0;
	for (i = 0; i < ARRAY_SIZE(verna_rss_bits); i++) {
		if (data & verna_rss_bits[i].rxh)
			*fields |= verna_rss_bits[i].field;
		data &= ~(u64)verna_rss_bits[i].rxh;
	}
	if ((type == VERNA_RSS_IPV4 || type == VERNA_RSS_IPV6) && *fields & VERNA_RSS_PORTS)
		return false;
	if (type < VERNA_RSS_IPV6 && *fields & VERNA_RSS_FLOW_LABEL)
		return false;
	return !data;
}

int verna_get_rxfh_fields(struct net_device *netdev, struct ethtool_rxfh_fields *rxfh)
{
	struct verna_eth *eth = netdev_priv(netdev);
	int type = verna_rss_type(rxfh->flow_type);
	const struct verna_rss_ctx *ctx = NULL;
	u32 i;

	rxfh->data = 0;
	if (!eth->rss.size || type < 0)
		return -EOPNOTSUPP;
	mutex_lock(&eth->rss.lock);
	if (rxfh->rss_context < eth->rss.max)
		ctx = eth->rss.ctx[rxfh->rss_context];
	for (i = 0; ctx && i < ARRAY_SIZE(verna_rss_bits); i++)
		if (ctx->fields[type] & verna_rss_bits[i].field)
			rxfh->data |= verna_rss_bits[i].rxh;
	mutex_unlock(&eth->rss.lock);
	return ctx ? 0 : -ENOENT;
}

int verna_set_rxfh_fields(struct net_device *netdev, const struct ethtool_rxfh_fields *rxfh,
			  struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_rss_ctx *ctx = NULL;
	int err = -EINVAL;
	u8 fields;

	if (!eth->rss.size || !verna_rss_is_settable(rxfh->flow_type)) {
		NL_SET_ERR_MSG(extack, "the card hashes no such flow type by itself");
		return -EOPNOTSUPP;
	}
	if (!verna_rss_fields(rxfh->data, verna_rss_type(rxfh->flow_type), &fields)) {
		NL_SET_ERR_MSG(extack, "packets of this type have no such field to hash");
		return -EINVAL;
	}
	mutex_lock(&eth->rss.lock);
	if (rxfh->rss_context < eth->rss.max && eth->rss.ctx[rxfh->rss_context])
		ctx = verna_rss_clone(eth, rxfh->rss_context);
	if (!ctx)
		goto unlock;
	ctx->fields[verna_rss_type(rxfh->flow_type)] = fields;
	if (ctx->transform && !verna_rss_symmetric(ctx)) {
		NL_SET_ERR_MSG(extack, "a symmetric transformation wants symmetric fields");
		kfree(ctx);
		goto unlock;
	}
	err = verna_rss_replace(eth, rxfh->rss_context, ctx);
unlock:
	mutex_unlock(&eth->rss.lock);
	return err;
}
