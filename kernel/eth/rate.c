// SPDX-License-Identifier: GPL-2.0
/*
 * verna: the tree by which VFs share the wire (devlink rate). A leaf is a VF, and its
 * settings are kept with all else that is said of it (vf.c); nodes are kept here. What
 * devlink calls holds its instance lock; rtnl is taken besides, as a reset tells the card
 * everything again.
 */
#include <linux/math64.h>
#include <net/devlink.h>

#include "hw/verna_rate.h"

#include "eth.h"

/**
 * struct verna_rate_node - an inner node
 * @node: in a list of struct verna_eth
 * @eth: interface of the PF
 * @parent: NULL: it is at the top
 * @set: the command that says all of it; its id is the card's
 */
struct verna_rate_node {
	struct list_head node;
	struct verna_eth *eth;
	struct verna_rate_node *parent;
	struct verna_cmd_rate_node set;
};

static u32 verna_rate_id(const struct verna_rate_node *node)
{
	return node ? le32_to_cpu(node->set.id) : VERNA_RATE_NO_PARENT;
}

/* The card's rates are in kbit/s, rounded up. */
static int verna_rate_kbps(u64 bytes, __le32 *kbps, struct netlink_ext_ack *extack)
{
	if (bytes > U32_MAX * 125ULL) {
		NL_SET_ERR_MSG_FMT(extack, "the largest rate is %u kbit/s", U32_MAX);
		return -ERANGE;
	}
	*kbps = cpu_to_le32(DIV_ROUND_UP_ULL(bytes, 125));
	return 0;
}

static int verna_rate_priority(u32 priority, u8 *to, struct netlink_ext_ack *extack)
{
	if (priority > VERNA_RATE_MAX_PRIORITY) {
		NL_SET_ERR_MSG_FMT(extack, "tx_priority is 0 to %u", VERNA_RATE_MAX_PRIORITY);
		return -ERANGE;
	}
	*to = priority;
	return 0;
}

static int verna_rate_weight(u32 weight, __le16 *to, struct netlink_ext_ack *extack)
{
	if (weight > VERNA_RATE_MAX_WEIGHT) {
		NL_SET_ERR_MSG_FMT(extack, "tx_weight is 1 to %u", VERNA_RATE_MAX_WEIGHT);
		return -ERANGE;
	}
	*to = cpu_to_le16(weight);
	return 0;
}

static int verna_rate_refused(int err, struct netlink_ext_ack *extack)
{
	if (err == -EINVAL)
		NL_SET_ERR_MSG(extack, "the card refuses: tx_share is above tx_max");
	else if (err)
		NL_SET_ERR_MSG_FMT(extack, "the card refuses: %pe", ERR_PTR(err));
	return err;
}

/* leaves */

static int verna_leaf_set(struct verna_rep *rep, struct verna_cmd_set_vport *change,
			  struct netlink_ext_ack *extack)
{
	int err;

	rtnl_lock();
	err = verna_vf_change(rep->eth->netdev, rep->vf, change);
	rtnl_unlock();
	return verna_rate_refused(err, extack);
}

int verna_rate_leaf_tx_share_set(struct devlink_rate *rate, void *priv, u64 bytes,
				 struct netlink_ext_ack *extack)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_MIN_RATE),
	};

	return verna_rate_kbps(bytes, &change.min_kbps, extack) ?:
	       verna_leaf_set(priv, &change, extack);
}

int verna_rate_leaf_tx_max_set(struct devlink_rate *rate, void *priv, u64 bytes,
			       struct netlink_ext_ack *extack)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_RATE),
	};

	return verna_rate_kbps(bytes, &change.max_kbps, extack) ?:
	       verna_leaf_set(priv, &change, extack);
}

int verna_rate_leaf_tx_priority_set(struct devlink_rate *rate, void *priv, u32 priority,
				    struct netlink_ext_ack *extack)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_RATE_PRIORITY),
	};

	return verna_rate_priority(priority, &change.rate_priority, extack) ?:
	       verna_leaf_set(priv, &change, extack);
}

int verna_rate_leaf_tx_weight_set(struct devlink_rate *rate, void *priv, u32 weight,
				  struct netlink_ext_ack *extack)
{
	struct verna_cmd_set_vport change = {
		.fields = cpu_to_le32(VERNA_VPORT_SET_RATE_WEIGHT),
	};

	return verna_rate_weight(weight, &change.rate_weight, extack) ?:
	       verna_leaf_set(priv, &change, extack);
}

int verna_rate_leaf_parent_set(struct devlink_rate *rate, struct devlink_rate *parent,
			       void *priv, void *parent_priv,
			       struct netlink_ext_ack *extack)
{
	struct verna_rate_node *node = parent_priv;
	struct verna_rep *rep = priv;
	int err;

	rtnl_lock();
	err = verna_vf_set_parent(rep->eth, rep->vf, verna_rate_id(node));
	if (!err)
		rep->eth->rates.parents[rep->vf] = node;
	rtnl_unlock();
	return verna_rate_refused(err, extack);
}

/**
 * verna_rate_leaf_end - a leaf of devlink goes, and its place in the tree with it
 * @eth: interface of the PF
 * @vf: VF, which may be gone already. Its rates stay, as they are those of ip link, too
 */
void verna_rate_leaf_end(struct verna_eth *eth, u32 vf)
{
	if (!verna_caps(eth->vdev)->vport.max_rate_nodes)
		return;
	rtnl_lock();
	eth->rates.parents[vf] = NULL;
	verna_vf_leave_tree(eth, vf);
	rtnl_unlock();
}

/* nodes */

static int verna_node_set(struct verna_rate_node *node, struct verna_cmd_rate_node *change,
			  struct netlink_ext_ack *extack)
{
	struct verna_cmd_rate_node *set = &node->set;
	u32 fields = le32_to_cpu(change->fields);
	struct verna_cmd_result res;
	int err;

	change->hdr.opcode = cpu_to_le16(VERNA_CMD_MODIFY_RATE_NODE);
	change->id = set->id;
	rtnl_lock();
	err = verna_cmd_exec_quiet(node->eth->vdev, change, sizeof(*change), &res);
	if (err)
		goto unlock;
	set->fields |= change->fields;
	if (fields & VERNA_RATE_SET_MAX)
		set->max_kbps = change->max_kbps;
	if (fields & VERNA_RATE_SET_MIN)
		set->min_kbps = change->min_kbps;
	if (fields & VERNA_RATE_SET_PARENT)
		set->parent = change->parent;
	if (fields & VERNA_RATE_SET_PRIORITY)
		set->priority = change->priority;
	if (fields & VERNA_RATE_SET_WEIGHT)
		set->weight = change->weight;
unlock:
	rtnl_unlock();
	return verna_rate_refused(err, extack);
}

int verna_rate_node_tx_share_set(struct devlink_rate *rate, void *priv, u64 bytes,
				 struct netlink_ext_ack *extack)
{
	struct verna_cmd_rate_node change = { .fields = cpu_to_le32(VERNA_RATE_SET_MIN) };

	return verna_rate_kbps(bytes, &change.min_kbps, extack) ?:
	       verna_node_set(priv, &change, extack);
}

int verna_rate_node_tx_max_set(struct devlink_rate *rate, void *priv, u64 bytes,
			       struct netlink_ext_ack *extack)
{
	struct verna_cmd_rate_node change = { .fields = cpu_to_le32(VERNA_RATE_SET_MAX) };

	return verna_rate_kbps(bytes, &change.max_kbps, extack) ?:
	       verna_node_set(priv, &change, extack);
}

int verna_rate_node_tx_priority_set(struct devlink_rate *rate, void *priv, u32 priority,
				    struct netlink_ext_ack *extack)
{
	struct verna_cmd_rate_node change = {
		.fields = cpu_to_le32(VERNA_RATE_SET_PRIORITY),
	};

	return verna_rate_priority(priority, &change.priority, extack) ?:
	       verna_node_set(priv, &change, extack);
}

int verna_rate_node_tx_weight_set(struct devlink_rate *rate, void *priv, u32 weight,
				  struct netlink_ext_ack *extack)
{
	struct verna_cmd_rate_node change = { .fields = cpu_to_le32(VERNA_RATE_SET_WEIGHT) };

	return verna_rate_weight(weight, &change.weight, extack) ?:
	       verna_node_set(priv, &change, extack);
}

int verna_rate_node_parent_set(struct devlink_rate *rate, struct devlink_rate *parent,
			       void *priv, void *parent_priv,
			       struct netlink_ext_ack *extack)
{
	struct verna_cmd_rate_node change = {
		.fields = cpu_to_le32(VERNA_RATE_SET_PARENT),
		.parent = cpu_to_le16(verna_rate_id(parent_priv)),
	};
	struct verna_rate_node *node = priv;
	int err;

	err = verna_node_set(node, &change, extack);
	if (!err)
		node->parent = parent_priv;
	return err;
}

/* A new node, with nothing set but what @set says, its parent aside. */
static int verna_node_create(struct verna_eth *eth, struct verna_cmd_rate_node *set)
{
	struct verna_cmd_rate_node cmd = *set;
	struct verna_cmd_result res;
	int err;

	cmd.hdr.opcode = cpu_to_le16(VERNA_CMD_CREATE_RATE_NODE);
	cmd.fields &= ~cpu_to_le32(VERNA_RATE_SET_PARENT);
	cmd.parent = 0;
	cmd.id = 0;
	err = verna_cmd_exec_quiet(eth->vdev, &cmd, sizeof(cmd), &res);
	if (!err)
		set->id = cpu_to_le32(res.result);
	return err;
}

/**
 * verna_eth_rate_node_new - add an inner node
 * @netdev: interface of the PF
 * @priv: gets what devlink names it by
 * @extack: gets what is wrong
 *
 * Return: 0, -EOPNOTSUPP if the card has no tree, or an error.
 */
int verna_eth_rate_node_new(struct net_device *netdev, void **priv,
			    struct netlink_ext_ack *extack)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_rate_node *node;
	int err;

	if (!verna_caps(eth->vdev)->vport.max_rate_nodes) {
		NL_SET_ERR_MSG(extack, "the card has no tree of rates");
		return -EOPNOTSUPP;
	}
	node = kzalloc(sizeof(*node), GFP_KERNEL);
	if (!node)
		return -ENOMEM;
	node->eth = eth;
	rtnl_lock();
	err = verna_node_create(eth, &node->set);
	if (!err)
		list_add_tail(&node->node, &eth->rates.nodes);
	rtnl_unlock();
	if (err)
		kfree(node);
	else
		*priv = node;
	return verna_rate_refused(err, extack);
}

/* Nothing is below it; a card that is gone has none. */
int verna_rate_node_del(struct devlink_rate *rate, void *priv, struct netlink_ext_ack *extack)
{
	struct verna_rate_node *node = priv;

	rtnl_lock();
	verna_cmd_destroy(node->eth->vdev, VERNA_CMD_DESTROY_RATE_NODE, verna_rate_id(node));
	list_del(&node->node);
	rtnl_unlock();
	kfree(node);
	return 0;
}

/**
 * verna_rates_replay - make the tree of a card that was reset anew
 * @eth: interface; rtnl is held. Leaves find their places by verna_vfs_replay()
 *
 * Return: 0 or an error of a command.
 */
int verna_rates_replay(struct verna_eth *eth)
{
	struct verna_rate_node *node;
	struct verna_cmd_result res;
	int err;

	list_for_each_entry(node, &eth->rates.nodes, node) {
		err = verna_node_create(eth, &node->set);
		if (err)
			return err;
	}
	list_for_each_entry(node, &eth->rates.nodes, node) {
		struct verna_cmd_rate_node cmd = {
			.hdr.opcode = cpu_to_le16(VERNA_CMD_MODIFY_RATE_NODE),
			.id = node->set.id,
			.fields = cpu_to_le32(VERNA_RATE_SET_PARENT),
			.parent = cpu_to_le16(verna_rate_id(node->parent)),
		};

		node->set.parent = cmd.parent;
		err = verna_cmd_exec_quiet(eth->vdev, &cmd, sizeof(cmd), &res);
		if (err)
			return err;
	}
	return 0;
}

/** verna_rate_leaf_parent - number of a VF's parent in the card @eth: interface @vf: VF */
u32 verna_rate_leaf_parent(const struct verna_eth *eth, u32 vf)
{
	return verna_rate_id(eth->rates.parents[vf]);
}
