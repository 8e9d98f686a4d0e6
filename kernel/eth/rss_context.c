// SPDX-License-Identifier: GPL-2.0
/*
 * verna: additional RSS contexts, which flow rules send packets to. The stack keeps
 * what it shows of a context; the driver keeps what the card needs after a reset.
 */
#include <linux/ethtool.h>

#include "eth.h"

/* Tells the stack what it did not choose itself. */
static void verna_rss_context_show(struct verna_eth *eth, const struct verna_rss_ctx *ctx,
				   const struct ethtool_rxfh_param *rxfh,
				   struct ethtool_rxfh_context *shown)
{
	if (!rxfh->indir)
		memcpy(ethtool_rxfh_context_indir(shown), ctx->table,
		       eth->rss.size * sizeof(u32));
	if (!rxfh->key)
		memcpy(ethtool_rxfh_context_key(shown), ctx->key, VERNA_RSS_KEY_SIZE);
	shown->hfunc = ETH_RSS_HASH_TOP;
	shown->input_xfrm = verna_rss_xfrm(ctx);
}

/* What is not asked for is as in the default context; the table is spread evenly. */
int verna_create_rxfh_context(struct net_device *netdev, struct ethtool_rxfh_context *shown,
			      const struct ethtool_rxfh_param *rxfh,
			      struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_rss_ctx *ctx;
	int err = -ENOMEM;

	if (rxfh->rss_context >= eth->rss.max) {
		NL_SET_ERR_MSG(extack, "the card has no more RSS contexts");
		return eth->rss.size ? -ENOSPC : -EOPNOTSUPP;
	}
	mutex_lock(&eth->rss.lock);
	ctx = verna_rss_clone(eth, 0);
	if (!ctx)
		goto unlock;
	verna_rss_spread(eth, ctx, eth->params.num);
	err = verna_rss_change(eth, ctx, rxfh, extack);
	if (err) {
		kfree(ctx);
		goto unlock;
	}
	err = verna_rss_replace(eth, rxfh->rss_context, ctx);
	if (!err)
		verna_rss_context_show(eth, ctx, rxfh, shown);
unlock:
	mutex_unlock(&eth->rss.lock);
	return err;
}

int verna_modify_rxfh_context(struct net_device *netdev, struct ethtool_rxfh_context *shown,
			      const struct ethtool_rxfh_param *rxfh,
			      struct netlink_ext_ack *extack)
{
	return verna_rss_modify(netdev_priv(netdev), rxfh->rss_context, rxfh, extack);
}

int verna_remove_rxfh_context(struct net_device *netdev, struct ethtool_rxfh_context *shown,
			      u32 rss_context, struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_cmd_object cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_DESTROY_RSS),
		.id = cpu_to_le32(rss_context),
	};
	struct verna_cmd_result res;
	int err;

	mutex_lock(&eth->rss.lock);
	/* Not an error worth a line in the log. */
	err = verna_cmd_exec_quiet(eth->vdev, &cmd, sizeof(cmd), &res);
	if (err == -EBUSY) {
		NL_SET_ERR_MSG(extack, "a flow rule uses the context");
	} else if (!err) {
		kfree(eth->rss.ctx[rss_context]);
		eth->rss.ctx[rss_context] = NULL;
	}
	mutex_unlock(&eth->rss.lock);
	return err;
}
