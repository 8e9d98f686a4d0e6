// SPDX-License-Identifier: GPL-2.0
/* verna: receive side scaling: Toeplitz key, hash types, indirection table. */
#include <linux/dma-mapping.h>
#include <linux/ethtool.h>

#include "eth.h"

/** verna_rss_default_table - spread evenly over queues @eth: interface @num: queues */
void verna_rss_default_table(struct verna_eth *eth, u32 num)
{
	u32 i;

	for (i = 0; i < eth->rss.size; i++)
		eth->rss.table[i] = ethtool_rxfh_indir_default(i, num);
}

/**
 * verna_rss_apply - give key and table to the card
 * @eth: interface; rtnl is held
 *
 * Return: 0, also if the card has no RSS, or an error.
 */
int verna_rss_apply(struct verna_eth *eth)
{
	struct device *dev = verna_device(eth->vdev);
	struct verna_cmd_set_rss cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_RSS),
		.table_len = cpu_to_le32(eth->rss.size),
		.hash_types = cpu_to_le32(eth->rss.types),
	};
	size_t bytes = eth->rss.size * sizeof(__le16);
	dma_addr_t dma;
	__le16 *table;
	int err;
	u32 i;

	if (!eth->rss.size)
		return 0;
	table = dma_alloc_coherent(dev, bytes, &dma, GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < eth->rss.size; i++)
		table[i] = cpu_to_le16(eth->rss.table[i]);
	memcpy(cmd.key, eth->rss.key, sizeof(cmd.key));
	cmd.table_addr = cpu_to_le64(dma);
	err = verna_cmd_exec(eth->vdev, &cmd, sizeof(cmd), NULL);
	dma_free_coherent(dev, bytes, table, dma);
	return err;
}

u32 verna_get_rxfh_indir_size(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);

	return eth->rss.size;
}

u32 verna_get_rxfh_key_size(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);

	return eth->rss.size ? VERNA_RSS_KEY_SIZE : 0;
}

int verna_get_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 i;

	if (!eth->rss.size)
		return -EOPNOTSUPP;
	rxfh->hfunc = ETH_RSS_HASH_TOP;
	if (rxfh->key)
		memcpy(rxfh->key, eth->rss.key, VERNA_RSS_KEY_SIZE);
	for (i = 0; rxfh->indir && i < eth->rss.size; i++)
		rxfh->indir[i] = eth->rss.table[i];
	return 0;
}

int verna_set_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh,
		   struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 i;

	if (!eth->rss.size || (rxfh->hfunc != ETH_RSS_HASH_NO_CHANGE &&
			       rxfh->hfunc != ETH_RSS_HASH_TOP))
		return -EOPNOTSUPP;
	if (rxfh->key)
		memcpy(eth->rss.key, rxfh->key, VERNA_RSS_KEY_SIZE);
	for (i = 0; rxfh->indir && i < eth->rss.size; i++)
		eth->rss.table[i] = rxfh->indir[i];
	return eth->chans ? verna_rss_apply(eth) : 0;
}

static u32 verna_rss_flow_type(u32 flow_type)
{
	switch (flow_type) {
	case TCP_V4_FLOW:
		return VERNA_RSS_TCPV4;
	case UDP_V4_FLOW:
		return VERNA_RSS_UDPV4;
	case TCP_V6_FLOW:
		return VERNA_RSS_TCPV6;
	case UDP_V6_FLOW:
		return VERNA_RSS_UDPV6;
	default:
		return 0;
	}
}

static u32 verna_rss_is_v6(u32 flow_type)
{
	return flow_type == TCP_V6_FLOW || flow_type == UDP_V6_FLOW ||
	       flow_type == IPV6_FLOW || flow_type == SCTP_V6_FLOW ||
	       flow_type == AH_ESP_V6_FLOW;
}

/* Which fields of a packet are hashed, as ethtool -n rx-flow-hash asks. */
static u64 verna_rss_fields(struct verna_eth *eth, u32 flow_type)
{
	u32 ip = verna_rss_is_v6(flow_type) ? VERNA_RSS_IPV6 : VERNA_RSS_IPV4;

	if (eth->rss.types & verna_rss_flow_type(flow_type))
		return RXH_IP_SRC | RXH_IP_DST | RXH_L4_B_0_1 | RXH_L4_B_2_3;
	return eth->rss.types & ip ? RXH_IP_SRC | RXH_IP_DST : 0;
}

int verna_get_rxnfc(struct net_device *netdev, struct ethtool_rxnfc *nfc, u32 *rules)
{
	struct verna_eth *eth = netdev_priv(netdev);

	switch (nfc->cmd) {
	case ETHTOOL_GRXRINGS:
		nfc->data = eth->params.num;
		return 0;
	case ETHTOOL_GRXFH:
		nfc->data = verna_rss_fields(eth, nfc->flow_type);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int verna_rss_init(struct verna_eth *eth)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);

	if (!(caps->eth.features & VERNA_ETH_F_RSS) || !caps->eth.rss_table_size)
		return 0;
	eth->rss.table = kcalloc(caps->eth.rss_table_size, sizeof(u32), GFP_KERNEL);
	if (!eth->rss.table)
		return -ENOMEM;
	eth->rss.size = caps->eth.rss_table_size;
	eth->rss.types = VERNA_RSS_ALL;
	netdev_rss_key_fill(eth->rss.key, sizeof(eth->rss.key));
	verna_rss_default_table(eth, eth->params.num);
	return 0;
}

void verna_rss_free(struct verna_eth *eth)
{
	kfree(eth->rss.table);
}
