// SPDX-License-Identifier: GPL-2.0
/*
 * verna: ethtool's standard statistics (ethtool -S --groups, -I): what IEEE 802.3
 * and RFC 2819 define, from the counters of the port. All of them are of the wire:
 * RDMA is in them, and sizes and octets include the FCS. What this MAC has not, such
 * as collisions, is not reported; nor are lengths in range that are wrong, as there are
 * tools that send a length of zero and take what a MAC says of it for a fault.
 */
#include <linux/ethtool.h>

#include "eth.h"

#define VERNA_MAX_FRAME	(9600 + VERNA_ETH_OVERHEAD + ETH_FCS_LEN)

/* One range for each of VERNA_PORT_[tr]x_frames_64 and those behind it. */
static const struct ethtool_rmon_hist_range verna_rmon_ranges[] = {
	{ 64, 64 }, { 65, 127 }, { 128, 255 }, { 256, 511 }, { 512, 1023 },
	{ 1024, 1518 }, { 1519, VERNA_MAX_FRAME }, {}
};

#define VERNA_RMON_BUCKETS	(ARRAY_SIZE(verna_rmon_ranges) - 1)

static_assert(VERNA_PORT_tx_frames_1519_max - VERNA_PORT_tx_frames_64 + 1 ==
	      VERNA_RMON_BUCKETS);
static_assert(VERNA_PORT_rx_frames_1519_max - VERNA_PORT_rx_frames_64 + 1 ==
	      VERNA_RMON_BUCKETS);

static int verna_port_counters(struct net_device *netdev, u64 *port)
{
	struct verna_eth *eth = netdev_priv(netdev);

	return verna_query_counters(eth->vdev, VERNA_COUNTERS_PORT, 0, port,
				    VERNA_PORT_NUM_COUNTERS);
}

static void verna_mac_stats_tx(struct ethtool_eth_mac_stats *stats, const u64 *port,
			       const u64 *eth)
{
	u64 frames = port[VERNA_PORT_tx_frames];

	stats->FramesTransmittedOK = frames;
	stats->OctetsTransmittedOK = port[VERNA_PORT_tx_bytes] + frames * ETH_FCS_LEN;
	stats->MulticastFramesXmittedOK = port[VERNA_PORT_tx_multicast];
	stats->BroadcastFramesXmittedOK = port[VERNA_PORT_tx_broadcast];
	stats->FramesLostDueToIntMACXmitError = eth[VERNA_ETH_tx_drop_dma];
	stats->CarrierSenseErrors = port[VERNA_PORT_tx_drop_link_down];
}

static void verna_mac_stats_rx(struct ethtool_eth_mac_stats *stats, const u64 *port,
			       const u64 *eth)
{
	u64 good = port[VERNA_PORT_rx_frames] - port[VERNA_PORT_rx_drop_fcs] -
		   port[VERNA_PORT_rx_drop_runt] - port[VERNA_PORT_rx_drop_oversize];

	stats->FramesReceivedOK = good;
	stats->OctetsReceivedOK = port[VERNA_PORT_rx_good_bytes] + good * ETH_FCS_LEN;
	stats->MulticastFramesReceivedOK = port[VERNA_PORT_rx_multicast];
	stats->BroadcastFramesReceivedOK = port[VERNA_PORT_rx_broadcast];
	stats->FrameCheckSequenceErrors = port[VERNA_PORT_rx_drop_fcs];
	stats->FrameTooLongErrors = port[VERNA_PORT_rx_drop_oversize];
	stats->OutOfRangeLengthField = port[VERNA_PORT_rx_length_out_of_range];
	stats->FramesLostDueToIntMACRcvError = eth[VERNA_ETH_rx_drop_dma];
}

void verna_get_eth_mac_stats(struct net_device *netdev,
			     struct ethtool_eth_mac_stats *stats)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u64 port[VERNA_PORT_NUM_COUNTERS], fn[VERNA_ETH_NUM_COUNTERS];

	if (verna_port_counters(netdev, port) ||
	    verna_query_counters(eth->vdev, VERNA_COUNTERS_ETH, 0, fn, ARRAY_SIZE(fn)))
		return;
	verna_mac_stats_tx(stats, port, fn);
	verna_mac_stats_rx(stats, port, fn);
}

void verna_get_eth_ctrl_stats(struct net_device *netdev,
			      struct ethtool_eth_ctrl_stats *stats)
{
	u64 port[VERNA_PORT_NUM_COUNTERS];

	if (verna_port_counters(netdev, port))
		return;
	stats->MACControlFramesTransmitted = port[VERNA_PORT_tx_control];
	stats->MACControlFramesReceived = port[VERNA_PORT_rx_control];
	stats->UnsupportedOpcodesReceived = port[VERNA_PORT_rx_control_unknown];
}

void verna_get_rmon_stats(struct net_device *netdev, struct ethtool_rmon_stats *stats,
			  const struct ethtool_rmon_hist_range **ranges)
{
	u64 port[VERNA_PORT_NUM_COUNTERS];
	u32 i;

	if (verna_port_counters(netdev, port))
		return;
	stats->undersize_pkts = port[VERNA_PORT_rx_undersize];
	stats->oversize_pkts = port[VERNA_PORT_rx_drop_oversize];
	stats->fragments = port[VERNA_PORT_rx_fragments];
	stats->jabbers = port[VERNA_PORT_rx_jabbers];
	for (i = 0; i < VERNA_RMON_BUCKETS; i++) {
		stats->hist[i] = port[VERNA_PORT_rx_frames_64 + i];
		stats->hist_tx[i] = port[VERNA_PORT_tx_frames_64 + i];
	}
	*ranges = verna_rmon_ranges;
}

void verna_get_link_ext_stats(struct net_device *netdev,
			      struct ethtool_link_ext_stats *stats)
{
	u64 port[VERNA_PORT_NUM_COUNTERS];

	if (!verna_port_counters(netdev, port))
		stats->link_down_events = port[VERNA_PORT_link_down_events];
}
