// SPDX-License-Identifier: GPL-2.0
/*
 * verna: receive side scaling: the contexts as the card has them, and the default
 * one as ethtool -x and -X know it. Further contexts: rss_context.c, fields that
 * are hashed: rss_fields.c.
 */
#include <linux/dma-mapping.h>
#include <linux/ethtool.h>

#include "eth.h"

/**
 * verna_rss_spread - fill the table of a context evenly
 * @eth: interface
 * @ctx: context
 * @num: queues
 */
void verna_rss_spread(struct verna_eth *eth, struct verna_rss_ctx *ctx, u32 num)
{
	u32 i;

	for (i = 0; i < eth->rss.size; i++)
		ctx->table[i] = ethtool_rxfh_indir_default(i, num);
}

/**
 * verna_rss_default_table - spread the default context evenly over queues
 * @eth: interface
 * @num: queues
 */
void verna_rss_default_table(struct verna_eth *eth, u32 num)
{
	if (!eth->rss.size)
		return;
	mutex_lock(&eth->rss.lock);
	verna_rss_spread(eth, eth->rss.ctx[0], num);
	mutex_unlock(&eth->rss.lock);
}

/* Tells the card what context @id is like. */
static int verna_rss_send(struct verna_eth *eth, u32 id, const struct verna_rss_ctx *ctx)
{
	struct device *dev = verna_device(eth->vdev);
	struct verna_cmd_set_rss cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_RSS),
		.context = cpu_to_le16(id),
		.transform = ctx->transform,
		.table_len = cpu_to_le32(eth->rss.size),
	};
	size_t bytes = eth->rss.size * sizeof(__le16);
	dma_addr_t dma;
	__le16 *table;
	int err;
	u32 i;

	table = dma_alloc_coherent(dev, bytes, &dma, GFP_KERNEL);
	if (!table)
		return -ENOMEM;
	for (i = 0; i < eth->rss.size; i++)
		table[i] = cpu_to_le16(ctx->table[i]);
	memcpy(cmd.key, ctx->key, sizeof(cmd.key));
	memcpy(cmd.fields, ctx->fields, sizeof(cmd.fields));
	cmd.table_addr = cpu_to_le64(dma);
	err = verna_cmd_exec(eth->vdev, &cmd, sizeof(cmd), NULL);
	dma_free_coherent(dev, bytes, table, dma);
	return err;
}

/**
 * verna_rss_apply - give the default context to the card
 * @eth: interface
 *
 * Return: 0, also if the card has no RSS, or an error.
 */
int verna_rss_apply(struct verna_eth *eth)
{
	int err;

	if (!eth->rss.size)
		return 0;
	mutex_lock(&eth->rss.lock);
	err = verna_rss_send(eth, 0, eth->rss.ctx[0]);
	mutex_unlock(&eth->rss.lock);
	return err;
}

/**
 * verna_rss_replay - give all contexts to a card that was reset
 * @eth: interface
 *
 * Return: 0 or an error.
 */
int verna_rss_replay(struct verna_eth *eth)
{
	int err = 0;
	u32 id;

	mutex_lock(&eth->rss.lock);
	for (id = 0; !err && id < eth->rss.max; id++)
		if (eth->rss.ctx[id])
			err = verna_rss_send(eth, id, eth->rss.ctx[id]);
	mutex_unlock(&eth->rss.lock);
	return err;
}

/**
 * verna_rss_clone - copy a context
 * @eth: interface; its rss.lock is held
 * @id: context
 *
 * Return: the copy, for verna_rss_replace(), or NULL.
 */
struct verna_rss_ctx *verna_rss_clone(struct verna_eth *eth, u32 id)
{
	struct verna_rss_ctx *ctx = eth->rss.ctx[id];

	return kmemdup(ctx, struct_size(ctx, table, eth->rss.size), GFP_KERNEL);
}

/**
 * verna_rss_replace - give a context to the card and keep it, or free it
 * @eth: interface; its rss.lock is held
 * @id: context, which exists or does not yet
 * @ctx: as it is to be
 *
 * No packet sees a mixture of old and new.
 * Return: 0 or an error; the context is as it was then.
 */
int verna_rss_replace(struct verna_eth *eth, u32 id, struct verna_rss_ctx *ctx)
{
	int err;

	err = verna_rss_send(eth, id, ctx);
	if (err) {
		kfree(ctx);
		return err;
	}
	kfree(eth->rss.ctx[id]);
	eth->rss.ctx[id] = ctx;
	return 0;
}

static const u8 verna_rss_xfrms[] = {
	[VERNA_RSS_PLAIN] = 0,
	[VERNA_RSS_SYM_XOR] = RXH_XFRM_SYM_XOR,
	[VERNA_RSS_SYM_OR_XOR] = RXH_XFRM_SYM_OR_XOR,
};

/**
 * verna_rss_change - change a context as ethtool -X asks
 * @eth: interface; its rss.lock is held
 * @ctx: a copy, which the caller throws away on an error
 * @rxfh: what is asked for
 * @extack: why not
 *
 * Return: 0 or an error.
 */
int verna_rss_change(struct verna_eth *eth, struct verna_rss_ctx *ctx,
		     const struct ethtool_rxfh_param *rxfh, struct netlink_ext_ack *extack)
{
	u32 i;

	if (rxfh->hfunc != ETH_RSS_HASH_NO_CHANGE && rxfh->hfunc != ETH_RSS_HASH_TOP) {
		NL_SET_ERR_MSG(extack, "the hash function is always Toeplitz");
		return -EOPNOTSUPP;
	}
	if (rxfh->key)
		memcpy(ctx->key, rxfh->key, VERNA_RSS_KEY_SIZE);
	for (i = 0; rxfh->indir && i < eth->rss.size; i++)
		ctx->table[i] = rxfh->indir[i];
	if (rxfh->input_xfrm == RXH_XFRM_NO_CHANGE)
		return 0;
	for (i = 0; i < ARRAY_SIZE(verna_rss_xfrms); i++)
		if (rxfh->input_xfrm == verna_rss_xfrms[i])
			break;
	if (i == ARRAY_SIZE(verna_rss_xfrms)) {
		NL_SET_ERR_MSG(extack, "no such input transformation");
		return -EOPNOTSUPP;
	}
	ctx->transform = i;
	if (i && !verna_rss_symmetric(ctx)) {
		NL_SET_ERR_MSG(extack, "the fields that are hashed are not symmetric");
		return -EINVAL;
	}
	return 0;
}

/**
 * verna_rss_modify - change a context that exists as ethtool -X asks
 * @eth: interface
 * @id: context
 * @rxfh: what is asked for
 * @extack: why not
 *
 * Return: 0 or an error; the context is as it was then.
 */
int verna_rss_modify(struct verna_eth *eth, u32 id, const struct ethtool_rxfh_param *rxfh,
		     struct netlink_ext_ack *extack)
{
	struct verna_rss_ctx *ctx;
	int err = -ENOMEM;

	mutex_lock(&eth->rss.lock);
	ctx = verna_rss_clone(eth, id);
	if (!ctx)
		goto unlock;
	err = verna_rss_change(eth, ctx, rxfh, extack);
	if (err)
		kfree(ctx);
	else
		err = verna_rss_replace(eth, id, ctx);
unlock:
	mutex_unlock(&eth->rss.lock);
	return err;
}

/** verna_rss_xfrm - RXH_XFRM_* of a context @ctx: context */
u8 verna_rss_xfrm(const struct verna_rss_ctx *ctx)
{
	return verna_rss_xfrms[ctx->transform];
}

/**
 * verna_rss_max_queue - highest queue in the table of a context
 * @eth: interface
 * @id: context
 *
 * Return: the queue, or a negative error if there is no such context.
 */
int verna_rss_max_queue(struct verna_eth *eth, u32 id)
{
	int max = -ENOENT;
	u32 i;

	mutex_lock(&eth->rss.lock);
	for (i = 0; id < eth->rss.max && eth->rss.ctx[id] && i < eth->rss.size; i++)
		max = max_t(int, max, eth->rss.ctx[id]->table[i]);
	mutex_unlock(&eth->rss.lock);
	return max;
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
	const struct verna_rss_ctx *ctx;
	u32 i;

	if (!eth->rss.size)
		return -EOPNOTSUPP;
	mutex_lock(&eth->rss.lock);
	ctx = eth->rss.ctx[0];
	rxfh->hfunc = ETH_RSS_HASH_TOP;
	rxfh->input_xfrm = verna_rss_xfrm(ctx);
	if (rxfh->key)
		memcpy(rxfh->key, ctx->key, VERNA_RSS_KEY_SIZE);
	for (i = 0; rxfh->indir && i < eth->rss.size; i++)
		rxfh->indir[i] = ctx->table[i];
	mutex_unlock(&eth->rss.lock);
	return 0;
}

int verna_set_rxfh(struct net_device *netdev, struct ethtool_rxfh_param *rxfh,
		   struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);

	return eth->rss.size ? verna_rss_modify(eth, 0, rxfh, extack) : -EOPNOTSUPP;
}

static void verna_rss_ctx_init(struct verna_eth *eth, struct verna_rss_ctx *ctx)
{
	u32 i;

	for (i = 0; i < VERNA_RSS_NUM_TYPES; i++)
		ctx->fields[i] = VERNA_RSS_IPS | VERNA_RSS_PORTS;
	ctx->fields[VERNA_RSS_IPV4] = VERNA_RSS_IPS;
	ctx->fields[VERNA_RSS_IPV6] = VERNA_RSS_IPS;
	netdev_rss_key_fill(ctx->key, sizeof(ctx->key));
	verna_rss_spread(eth, ctx, eth->params.num);
}

int verna_rss_init(struct verna_eth *eth)
{
	const struct verna_caps *caps = verna_caps(eth->vdev);
	u32 want = VERNA_ETH_F_RSS | VERNA_ETH_F_RSS_FIELDS;
	struct verna_rss_ctx *ctx;

	mutex_init(&eth->rss.lock);
	if ((caps->eth.features & want) != want || !caps->eth.rss_table_size)
		return 0;
	ctx = kzalloc(struct_size(ctx, table, caps->eth.rss_table_size), GFP_KERNEL);
	if (!ctx)
		return -ENOMEM;
	eth->rss.size = caps->eth.rss_table_size;
	eth->rss.max = clamp_t(u32, caps->eth.max_rss_contexts, 1, VERNA_MAX_RSS_CONTEXTS);
	verna_rss_ctx_init(eth, ctx);
	eth->rss.ctx[0] = ctx;
	return 0;
}

void verna_rss_free(struct verna_eth *eth)
{
	u32 id;

	for (id = 0; id < eth->rss.max; id++)
		kfree(eth->rss.ctx[id]);
	mutex_destroy(&eth->rss.lock);
}
