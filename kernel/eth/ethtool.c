// SPDX-License-Identifier: GPL-2.0
/* verna: ethtool: what the card is, registers, link; the rest is in its own files. */
#include <linux/ethtool.h>

#include "eth.h"
#include "verna_compat.h"

static void verna_get_drvinfo(struct net_device *netdev, struct ethtool_drvinfo *info)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 version = verna_hw_version(eth->vdev);

	strscpy(info->driver, VERNA_DRV_NAME, sizeof(info->driver));
	snprintf(info->fw_version, sizeof(info->fw_version), "%u.%u.%u", version >> 24,
		 version >> 16 & 0xff, version & 0xffff);
	strscpy(info->bus_info, pci_name(verna_pdev(eth->vdev)), sizeof(info->bus_info));
}

/* Every register that reading does not disturb, in order of its offset. */
static const u32 verna_dump_regs[] = {
	VERNA_REG_MAGIC, VERNA_REG_ABI, VERNA_REG_VERSION, VERNA_REG_CAPS_OFFSET,
	VERNA_REG_STATUS, VERNA_REG_CONTROL, VERNA_REG_FATAL_CODE, VERNA_REG_HEARTBEAT,
	VERNA_REG_AQ_SQ_LO, VERNA_REG_AQ_SQ_HI, VERNA_REG_AQ_CQ_LO, VERNA_REG_AQ_CQ_HI,
	VERNA_REG_AQ_LOG_SIZE, VERNA_REG_NUM_UARS, VERNA_REG_NUM_VECTORS,
	VERNA_REG_MAC_LO, VERNA_REG_MAC_HI, VERNA_REG_BAD_ACCESS,
};

/* Offset and value of each register. */
static int verna_get_regs_len(struct net_device *netdev)
{
	return ARRAY_SIZE(verna_dump_regs) * 2 * sizeof(u32);
}

static void verna_get_regs(struct net_device *netdev, struct ethtool_regs *regs, void *data)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 *out = data;
	u32 i;

	regs->version = 1;
	for (i = 0; i < ARRAY_SIZE(verna_dump_regs); i++) {
		*out++ = verna_dump_regs[i];
		*out++ = verna_reg_read(eth->vdev, verna_dump_regs[i]);
	}
}

static int verna_get_link_ksettings(struct net_device *netdev,
				    struct ethtool_link_ksettings *ks)
{
	struct verna_eth *eth = netdev_priv(netdev);
	u32 speed = READ_ONCE(eth->speed);
	bool up = netif_carrier_ok(netdev) && speed;

	ethtool_link_ksettings_zero_link_mode(ks, supported);
	ethtool_link_ksettings_zero_link_mode(ks, advertising);
	ks->base.speed = up ? speed : SPEED_UNKNOWN;
	ks->base.duplex = up ? DUPLEX_FULL : DUPLEX_UNKNOWN;
	ks->base.autoneg = AUTONEG_DISABLE;
	ks->base.port = PORT_OTHER;
	ks->lanes = up ? 1 : 0;
	return 0;
}

static int verna_get_sset_counts(struct net_device *netdev, int sset)
{
	switch (sset) {
	case ETH_SS_STATS:
		return verna_get_sset_count(netdev, sset);
	case ETH_SS_TEST:
		return verna_self_test_count();
	default:
		return -EOPNOTSUPP;
	}
}

static void verna_get_all_strings(struct net_device *netdev, u32 sset, u8 *data)
{
	if (sset == ETH_SS_STATS)
		verna_get_strings(netdev, sset, data);
	else if (sset == ETH_SS_TEST)
		verna_self_test_strings(data);
}

const struct ethtool_ops verna_ethtool_ops = {
	.cap_link_lanes_supported = true,
	.supported_coalesce_params = ETHTOOL_COALESCE_USECS | ETHTOOL_COALESCE_MAX_FRAMES |
				     ETHTOOL_COALESCE_USE_ADAPTIVE,
	.supported_input_xfrm = RXH_XFRM_SYM_XOR | RXH_XFRM_SYM_OR_XOR,
	.rxfh_per_ctx_fields = true,
	.rxfh_per_ctx_key = true,
	.cap_rss_rxnfc_adds = true,
	.rxfh_max_num_contexts = VERNA_MAX_RSS_CONTEXTS,
	.get_drvinfo = verna_get_drvinfo,
	.get_regs_len = verna_get_regs_len,
	.get_regs = verna_get_regs,
	.get_link = ethtool_op_get_link,
	.get_link_ksettings = verna_get_link_ksettings,
	.get_ts_info = ethtool_op_get_ts_info,
	.get_coalesce = verna_get_coalesce,
	.set_coalesce = verna_set_coalesce,
	.get_per_queue_coalesce = verna_get_per_queue_coalesce,
	.set_per_queue_coalesce = verna_set_per_queue_coalesce,
	.get_pauseparam = verna_get_pauseparam,
	.set_pauseparam = verna_set_pauseparam,
	.get_pause_stats = verna_get_pause_stats,
	.get_ringparam = verna_get_ringparam,
	.set_ringparam = verna_set_ringparam,
	.get_channels = verna_get_channels,
	.set_channels = verna_set_channels,
	.get_sset_count = verna_get_sset_counts,
	.get_strings = verna_get_all_strings,
	.get_ethtool_stats = verna_get_ethtool_stats,
	.get_eth_mac_stats = verna_get_eth_mac_stats,
	.get_eth_ctrl_stats = verna_get_eth_ctrl_stats,
	.get_rmon_stats = verna_get_rmon_stats,
	.get_link_ext_stats = verna_get_link_ext_stats,
	.self_test = verna_self_test,
	.get_rxfh_indir_size = verna_get_rxfh_indir_size,
	.get_rxfh_key_size = verna_get_rxfh_key_size,
	.get_rxfh = verna_get_rxfh,
	.set_rxfh = verna_set_rxfh,
	.get_rxfh_fields = verna_get_rxfh_fields,
	.set_rxfh_fields = verna_set_rxfh_fields,
	.create_rxfh_context = verna_create_rxfh_context,
	.modify_rxfh_context = verna_modify_rxfh_context,
	.remove_rxfh_context = verna_remove_rxfh_context,
	.get_rxnfc = verna_get_rxnfc,
	.set_rxnfc = verna_set_rxnfc,
#ifdef VERNA_HAVE_ETHTOOL_RX_RING_COUNT
	.get_rx_ring_count = verna_get_rx_ring_count,
#endif
};
