// SPDX-License-Identifier: GPL-2.0
/*
 * verna: ethtool -S: every counter group of the card by the names of
 * hw/verna_counters.h, and the driver's own. Names are <group>_<counter>, for
 * queues <group><number>_<counter>; "txq" and "rxq" are the card's counters, "tx"
 * and "rx" the driver's.
 */
#include <linux/ethtool.h>

#include "eth.h"

/* Names and descriptions in turn, each ended by a zero byte. */
#define VERNA_NAME(name, doc) #name "\0" doc "\0"

static const char verna_port_names[] = VERNA_PORT_COUNTERS(VERNA_NAME);
static const char verna_eth_names[] = VERNA_ETH_COUNTERS(VERNA_NAME);
static const char verna_dev_names[] = VERNA_DEV_COUNTERS(VERNA_NAME);
static const char verna_rdma_names[] = VERNA_RDMA_COUNTERS(VERNA_NAME);
static const char verna_txq_names[] = VERNA_TXQ_COUNTERS(VERNA_NAME);
static const char verna_rxq_names[] = VERNA_RXQ_COUNTERS(VERNA_NAME);
static const char verna_xmit_names[] =
	"stops\0\0linearized\0\0dropped\0\0csum_none\0\0needs_csum\0\0xdp_full\0\0"
	"gso_packets\0\0gso_bytes\0\0gso_wire_packets\0\0gso_wire_bytes\0";
static const char verna_done_names[] = "packets\0\0bytes\0\0errors\0\0wakes\0";
static const char verna_rx_names[] =
	"packets\0\0bytes\0\0multicast\0\0copied\0\0errors\0\0alloc_fail\0\0"
	"xdp_drop\0\0xdp_tx\0\0xdp_redirect\0\0xdp_error\0\0"
	"csum_unnecessary\0\0csum_complete\0\0csum_none\0\0csum_bad\0\0"
	"gro_packets\0\0gro_bytes\0\0gro_wire_packets\0\0gro_wire_bytes\0\0"
	"napi_moved\0";

/**
 * struct verna_stat_group - counters that are named and read together
 * @prefix: of the names
 * @names: the names and descriptions
 * @num: how many
 * @group: enum verna_counter_group, or VERNA_STATS_SW
 * @per_queue: one set for each queue
 * @offset: VERNA_STATS_SW: of the first counter in struct verna_queue_stats
 */
struct verna_stat_group {
	const char *prefix;
	const char *names;
	u32 num;
	u32 group;
	bool per_queue;
	size_t offset;
};

#define VERNA_STATS_SW	U32_MAX

static const struct verna_stat_group verna_stat_groups[] = {
	{ "port", verna_port_names, VERNA_PORT_NUM_COUNTERS, VERNA_COUNTERS_PORT },
	{ "eth", verna_eth_names, VERNA_ETH_NUM_COUNTERS, VERNA_COUNTERS_ETH },
	{ "dev", verna_dev_names, VERNA_DEV_NUM_COUNTERS, VERNA_COUNTERS_DEV },
	{ "rdma", verna_rdma_names, VERNA_RDMA_NUM_COUNTERS, VERNA_COUNTERS_RDMA },
	{ "txq", verna_txq_names, VERNA_TXQ_NUM_COUNTERS, VERNA_COUNTERS_TXQ, true },
	{ "rxq", verna_rxq_names, VERNA_RXQ_NUM_COUNTERS, VERNA_COUNTERS_RXQ, true },
	{ "tx", verna_xmit_names, sizeof(struct verna_tx_xmit_stats) / sizeof(u64),
	  VERNA_STATS_SW, true, offsetof(struct verna_queue_stats, xmit) },
	{ "tx", verna_done_names, sizeof(struct verna_tx_done_stats) / sizeof(u64),
	  VERNA_STATS_SW, true, offsetof(struct verna_queue_stats, done) },
	{ "rx", verna_rx_names, sizeof(struct verna_rx_stats) / sizeof(u64),
	  VERNA_STATS_SW, true, offsetof(struct verna_queue_stats, rx) },
};

static bool verna_stat_group_there(struct verna_eth *eth, const struct verna_stat_group *g)
{
	return g->group != VERNA_COUNTERS_RDMA || verna_caps(eth->vdev)->rdma.present;
}

static u32 verna_stat_group_sets(struct verna_eth *eth, const struct verna_stat_group *g)
{
	if (!verna_stat_group_there(eth, g))
		return 0;
	return g->per_queue ? eth->params.num : 1;
}

int verna_get_sset_count(struct net_device *netdev, int sset)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 count = 0, i;

	for (i = 0; i < ARRAY_SIZE(verna_stat_groups); i++)
		count += verna_stat_groups[i].num *
			 verna_stat_group_sets(eth, &verna_stat_groups[i]);
	return count;
}

static void verna_stat_strings(u8 **data, const struct verna_stat_group *g, u32 set)
{
	const char *name = g->names;
	u32 i;

	for (i = 0; i < g->num; i++) {
		if (g->per_queue)
			ethtool_sprintf(data, "%s%u_%s", g->prefix, set, name);
		else
			ethtool_sprintf(data, "%s_%s", g->prefix, name);
		name += strlen(name) + 1;
		name += strlen(name) + 1;
	}
}

void verna_get_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 i, set;

	for (i = 0; i < ARRAY_SIZE(verna_stat_groups); i++) {
		const struct verna_stat_group *g = &verna_stat_groups[i];

		for (set = 0; set < verna_stat_group_sets(eth, g); set++)
			verna_stat_strings(&data, g, set);
	}
}

static void verna_stat_values(struct verna_eth *eth, const struct verna_stat_group *g,
			      u32 set, u64 *data)
{
	struct verna_queue_stats copy;

	if (g->group == VERNA_STATS_SW) {
		verna_queue_stats_read(&eth->stats[set], &copy);
		memcpy(data, (u8 *)&copy + g->offset, g->num * sizeof(u64));
		return;
	}
	/* The card has counters only for queues that exist. */
	if (g->per_queue && !eth->chans)
		return;
	verna_query_counters(eth->vdev, g->group, set, data, g->num);
}

void verna_get_ethtool_stats(struct net_device *netdev, struct ethtool_stats *stats,
			     u64 *data)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 i, set;

	for (i = 0; i < ARRAY_SIZE(verna_stat_groups); i++) {
		const struct verna_stat_group *g = &verna_stat_groups[i];

		for (set = 0; set < verna_stat_group_sets(eth, g); set++) {
			verna_stat_values(eth, g, set, data);
			data += g->num;
		}
	}
}
