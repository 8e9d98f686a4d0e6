// SPDX-License-Identifier: GPL-2.0
/*
 * verna: rules of tc flower and matchall in the tables of the embedded switch. Each
 * port that a block is bound to has rules of its own in the card, in tables of its own:
 * chain for chain those of tc. What a flowtable of netfilter forwards stands behind all
 * rules of chain 0, as netfilter stands behind tc, and what tunnel devices do with what
 * comes out of tunnels behind that. Without a switch to program, in legacy mode and on
 * VFs, rules are the interface's own: they are in the table of its receive steering,
 * before those of ethtool -N.
 */
#include <linux/rhashtable.h>
#include <net/pkt_cls.h>

#include "eth.h"
#include "verna_compat.h"

#define VERNA_FT_PRIORITY	VERNA_STEER_PRIORITY	/* tc's are lower numbers */
#define VERNA_TUNNEL_PRIORITY	(2 * VERNA_STEER_PRIORITY)

/**
 * struct verna_tc_wish - what tc or a flowtable wants
 * @common: chain, priority, protocol, messages
 * @cookie: name
 * @rule: what it matches and does
 * @routed: it is a flowtable's
 */
struct verna_tc_wish {
	const struct flow_cls_common_offload *common;
	unsigned long cookie;
	const struct flow_rule *rule;
	bool routed;
};

static const struct rhashtable_params verna_tc_params = {
	.key_len = sizeof(struct verna_tc_key),
	.key_offset = offsetof(struct verna_tc_rule, key),
	.head_offset = offsetof(struct verna_tc_rule, node),
	.automatic_shrinking = true,
};

static struct verna_eth *verna_tc_eth(const struct net_device *port)
{
	const struct verna_rep *rep;

	if (port->netdev_ops->ndo_start_xmit == verna_xmit)
		return netdev_priv(port);
	rep = netdev_priv(port);
	return rep->eth;
}

static struct verna_tc_rule *verna_tc_find(struct verna_eth *eth,
					   const struct verna_tc_port *port,
					   unsigned long cookie)
{
	struct verna_tc_key key = { .cookie = cookie, .netdev = port->netdev };

	return rhashtable_lookup_fast(&eth->tc.rules, &key, verna_tc_params);
}

/* What is to be put into a tunnel goes to software while there is no way to its end. */
static void verna_tc_set_actions(const struct verna_tc_rule *rule,
				 struct verna_flow_actions *actions)
{
	if (rule->encap && !rule->edit) {
		memset(actions, 0, sizeof(*actions));
		actions->flags = cpu_to_le32(VERNA_FLOW_A_TRAP);
		return;
	}
	actions->meter = cpu_to_le32(rule->meter ? rule->meter->id : 0);
	actions->edit = cpu_to_le32(rule->edit ? rule->edit->id : 0);
}

/**
 * verna_tc_rule_start - tell the card a rule
 * @eth: interface; its lock of rules is held
 * @rule: rule; if it has a number, that one goes in the same moment
 *
 * Return: 0 or an error of the command, after which all is as before.
 */
int verna_tc_rule_start(struct verna_eth *eth, struct verna_tc_rule *rule)
{
	struct verna_cmd_add_flow cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_ADD_FLOW),
		.direction = rule->own ? VERNA_FLOW_RX : VERNA_FLOW_SWITCH,
		/* At first, each vport is a group of its own. */
		.group = cpu_to_le16(rule->own ? 0 : rule->vport),
		.chain = cpu_to_le32(rule->chain),
		.priority = cpu_to_le32(rule->priority),
		.replaces = cpu_to_le32(rule->id),
		.len = cpu_to_le32(sizeof(rule->spec)),
	};
	struct verna_flow_rule_ranges spec = rule->spec;
	struct verna_cmd_result res;
	int err;

	verna_tc_set_actions(rule, &spec.rule.actions);
	err = verna_cmd_exec_from(eth->vdev, &cmd, sizeof(cmd), &cmd.addr, &spec,
				  sizeof(spec), &res);
	if (!err)
		rule->id = res.result;
	return err;
}

static void verna_tc_rule_free(struct verna_eth *eth, struct verna_tc_rule *rule)
{
	verna_tc_object_put(eth, rule->meter);
	verna_tc_object_put(eth, rule->edit);
	verna_tc_encap_put(eth, rule);
	kfree(rule);
}

/* A block that ports share has rules for one of them only. */
static bool verna_tc_is_elsewhere(const struct net_device *port, const struct flow_rule *rule)
{
	struct flow_match_meta match;

	if (!rule->match.dissector || !flow_rule_match_key(rule, FLOW_DISSECTOR_KEY_META))
		return false;
	flow_rule_match_meta(rule, &match);
	return match.mask->ingress_ifindex && match.key->ingress_ifindex != port->ifindex;
}

/* Chains of a tunnel device would be beside those of the uplink. */
static int verna_tc_rule_place(struct verna_eth *eth, const struct verna_tc_port *port,
			       const struct verna_tc_wish *wish, struct verna_tc_rule *rule)
{
	struct netlink_ext_ack *extack = wish->common->extack;

	rule->own = !verna_rep_is_uplink(eth);
	rule->vport = port->vport;
	rule->tunnel = port->tunnel;
	rule->routed = wish->routed;
	if (rule->own && wish->common->chain_index) {
		NL_SET_ERR_MSG_MOD(extack, "chains are for switchdev mode");
		return -EOPNOTSUPP;
	}
	if (rule->tunnel && wish->common->chain_index) {
		NL_SET_ERR_MSG_MOD(extack, "the card has no chains of tunnel devices");
		return -EOPNOTSUPP;
	}
	rule->chain = wish->routed ? 0 : wish->common->chain_index;
	rule->priority = wish->routed ? VERNA_FT_PRIORITY : wish->common->prio;
	if (rule->tunnel)
		rule->priority += VERNA_TUNNEL_PRIORITY;
	return 0;
}

static int verna_tc_rule_make(struct verna_eth *eth, const struct verna_tc_port *port,
			      const struct verna_tc_wish *wish,
			      struct verna_tc_rule *rule)
{
	struct netlink_ext_ack *extack = wish->common->extack;
	int err;

	/* tc wants all ports to take it, netfilter to hear which one did. */
	rule->elsewhere = verna_tc_is_elsewhere(port->netdev, wish->rule);
	if (rule->elsewhere)
		return wish->routed ? -EOPNOTSUPP : 0;
	rule->skip_sw = verna_cls_skip_sw(wish->common);
	err = verna_tc_rule_place(eth, port, wish, rule);
	if (err)
		return err;
	if (!flow_action_hw_stats_check(&wish->rule->action, extack,
					FLOW_ACTION_HW_STATS_IMMEDIATE_BIT))
		return -EOPNOTSUPP;
	if (wish->rule->match.dissector)
		err = verna_tc_match(wish->rule, rule->tunnel, &rule->spec, extack);
	else if (!rule->tunnel)
		verna_tc_match_all(wish->common->protocol, &rule->spec);
	else
		err = -EOPNOTSUPP;
	if (!err)
		err = verna_tc_actions(eth, &wish->rule->action, rule, extack);
	if (err)
		return err;
	err = verna_tc_rule_start(eth, rule);
	if (err)
		NL_SET_ERR_MSG_FMT_MOD(extack, "the card refuses the rule: %pe",
				       ERR_PTR(err));
	return err;
}

static int verna_tc_replace(struct verna_eth *eth, const struct verna_tc_port *port,
			    const struct verna_tc_wish *wish)
{
	struct verna_tc_rule *rule;
	int err;

	/* A tunnel device has no such feature; the uplink does it for it. */
	if (!tc_can_offload_extack(port->tunnel ? eth->netdev : port->netdev,
				   wish->common->extack))
		return -EOPNOTSUPP;
	if (verna_tc_find(eth, port, wish->cookie))
		return -EEXIST;
	rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	if (!rule)
		return -ENOMEM;
	rule->key.cookie = wish->cookie;
	rule->key.netdev = port->netdev;
	err = verna_tc_rule_make(eth, port, wish, rule);
	if (err)
		goto free_rule;
	err = rhashtable_insert_fast(&eth->tc.rules, &rule->node, verna_tc_params);
	if (err)
		goto del_flow;
	list_add_tail(&rule->list, &eth->tc.list);
	return 0;

del_flow:
	if (rule->id)
		verna_flow_del(eth, rule->id);
free_rule:
	verna_tc_rule_free(eth, rule);
	return err;
}

static int verna_tc_destroy(struct verna_eth *eth, const struct verna_tc_port *port,
			    unsigned long cookie)
{
	struct verna_tc_rule *rule = verna_tc_find(eth, port, cookie);

	if (!rule)
		return -ENOENT;
	if (rule->id)
		verna_flow_del(eth, rule->id);
	list_del(&rule->list);
	rhashtable_remove_fast(&eth->tc.rules, &rule->node, verna_tc_params);
	verna_tc_rule_free(eth, rule);
	return 0;
}

/**
 * verna_tc_rule_count - add what the card counted since it was asked last
 * @eth: interface; its lock of rules is held
 * @rule: rule, whose counters grow by that
 *
 * Return: 0 or an error of the command.
 */
int verna_tc_rule_count(struct verna_eth *eth, struct verna_tc_rule *rule)
{
	struct verna_flow_stats stats;
	u64 packets, bytes, age;
	int len;

	len = verna_cmd_query(eth->vdev, VERNA_CMD_QUERY_FLOW, 0, rule->id, &stats,
			      sizeof(stats));
	if (len < 0)
		return len;
	packets = le64_to_cpu(stats.packets);
	bytes = le64_to_cpu(stats.bytes);
	if (!verna_tc_counts_twice(rule)) {
		rule->packets += packets - rule->asked_packets;
		rule->bytes += bytes - rule->asked_bytes;
	}
	if (packets > rule->asked_packets) {
		age = le64_to_cpu(stats.now) - le64_to_cpu(stats.last_used);
		rule->last_used = jiffies - nsecs_to_jiffies(age);
	}
	rule->asked_packets = packets;
	rule->asked_bytes = bytes;
	return 0;
}

static int verna_tc_stats(struct verna_eth *eth, const struct verna_tc_port *port,
			  unsigned long cookie, struct flow_stats *told)
{
	struct verna_tc_rule *rule = verna_tc_find(eth, port, cookie);
	int err;

	if (!rule || !rule->id)
		return -ENOENT;
	err = verna_tc_rule_count(eth, rule);
	if (err)
		return err;
	flow_stats_update(told, rule->bytes, rule->packets, 0,
			  verna_tc_counts_twice(rule) ? 0 : rule->last_used,
			  FLOW_ACTION_HW_STATS_IMMEDIATE);
	rule->packets = 0;
	rule->bytes = 0;
	return 0;
}

static int verna_tc_flower(struct verna_eth *eth, const struct verna_tc_port *port,
			   struct flow_cls_offload *cls, bool routed)
{
	struct verna_tc_wish wish = {
		.common = &cls->common,
		.cookie = cls->cookie,
		.rule = cls->rule,
		.routed = routed,
	};

	switch (cls->command) {
	case FLOW_CLS_REPLACE:
		return verna_tc_replace(eth, port, &wish);
	case FLOW_CLS_DESTROY:
		return verna_tc_destroy(eth, port, cls->cookie);
	case FLOW_CLS_STATS:
		return verna_tc_stats(eth, port, cls->cookie, &cls->stats);
	default:
		return -EOPNOTSUPP;
	}
}

static int verna_tc_matchall(struct verna_eth *eth, const struct verna_tc_port *port,
			     struct tc_cls_matchall_offload *cls)
{
	struct verna_tc_wish wish = {
		.common = &cls->common,
		.cookie = cls->cookie,
		.rule = cls->rule,
	};

	switch (cls->command) {
	case TC_CLSMATCHALL_REPLACE:
		return verna_tc_replace(eth, port, &wish);
	case TC_CLSMATCHALL_DESTROY:
		return verna_tc_destroy(eth, port, cls->cookie);
	case TC_CLSMATCHALL_STATS:
		return verna_tc_stats(eth, port, cls->cookie, &cls->stats);
	default:
		return -EOPNOTSUPP;
	}
}

/**
 * verna_tc_setup_rule - TC_SETUP_CLSFLOWER and _CLSMATCHALL
 * @eth: interface
 * @port: whose rule it is
 * @type: which of them
 * @data: what is wanted
 * @routed: it is from a flowtable
 *
 * Return: 0, -EOPNOTSUPP and a message that names what the card cannot do, or an error
 * of the card.
 */
int verna_tc_setup_rule(struct verna_eth *eth, const struct verna_tc_port *port,
			enum tc_setup_type type, void *data, bool routed)
{
	int err = -EOPNOTSUPP;

	mutex_lock(&eth->tc.lock);
	if (type == TC_SETUP_CLSFLOWER)
		err = verna_tc_flower(eth, port, data, routed);
	else if (type == TC_SETUP_CLSMATCHALL && !routed)
		err = verna_tc_matchall(eth, port, data);
	mutex_unlock(&eth->tc.lock);
	return err;
}

static int verna_tc_dispatch(struct net_device *netdev, enum tc_setup_type type,
			     void *data, bool routed)
{
	struct verna_eth *eth = verna_tc_eth(netdev);
	int vport = verna_rep_vport(eth, netdev);
	struct verna_tc_port port = {
		.netdev = netdev,
		.vport = vport,
	};

	return vport < 0 ? -EOPNOTSUPP :
			   verna_tc_setup_rule(eth, &port, type, data, routed);
}

static int verna_tc_cls(enum tc_setup_type type, void *data, void *netdev)
{
	return verna_tc_dispatch(netdev, type, data, false);
}

/* From netfilter's work queue, without rtnl; each port is asked about the flows of all. */
static int verna_ft_cls(enum tc_setup_type type, void *data, void *netdev)
{
	return verna_tc_dispatch(netdev, type, data, true);
}

/**
 * verna_tc_setup_block - TC_SETUP_BLOCK and TC_SETUP_FT
 * @netdev: a representor, or a function's interface
 * @type: which of them
 * @block: what is to be bound or unbound
 */
int verna_tc_setup_block(struct net_device *netdev, enum tc_setup_type type,
			 struct flow_block_offload *block)
{
	struct verna_eth *eth = verna_tc_eth(netdev);
	int err;

	if (block->command == FLOW_BLOCK_BIND && !verna_rep_is_uplink(eth) &&
	    (type == TC_SETUP_FT || !verna_steer_supported(eth)))
		return -EOPNOTSUPP;
	mutex_lock(&eth->tc.lock);
	if (type == TC_SETUP_FT)
		err = flow_block_cb_setup_simple(block, &eth->tc.flowtables, verna_ft_cls,
						 netdev, netdev, true);
	else
		err = flow_block_cb_setup_simple(block, &eth->tc.blocks, verna_tc_cls,
						 netdev, netdev, true);
	mutex_unlock(&eth->tc.lock);
	return err;
}

/** verna_tc_has_rules - whether a port has rules in the card @tc: rules @vport: of the port */
bool verna_tc_has_rules(struct verna_tc_rules *tc, u32 vport)
{
	const struct verna_tc_rule *rule;
	bool found = false;

	mutex_lock(&tc->lock);
	list_for_each_entry(rule, &tc->list, list)
		found |= rule->vport == vport && !rule->tunnel;
	mutex_unlock(&tc->lock);
	return found;
}

/**
 * verna_tc_replay - tell a card that was reset all rules
 * @eth: interface
 *
 * Counters begin anew.
 *
 * Return: 0 or an error of a command.
 */
int verna_tc_replay(struct verna_eth *eth)
{
	struct verna_tc_object *object;
	struct verna_tc_rule *rule;
	int err = 0;

	mutex_lock(&eth->tc.lock);
	list_for_each_entry(object, &eth->tc.objects, node)
		err = err ?: verna_tc_object_replay(eth, object);
	list_for_each_entry(rule, &eth->tc.list, list) {
		rule->id = 0;
		rule->asked_packets = 0;
		rule->asked_bytes = 0;
		if (!err && !rule->elsewhere)
			err = verna_tc_rule_start(eth, rule);
	}
	mutex_unlock(&eth->tc.lock);
	return err;
}

int verna_tc_init(struct verna_tc_rules *tc)
{
	int err;

	INIT_LIST_HEAD(&tc->list);
	INIT_LIST_HEAD(&tc->objects);
	INIT_LIST_HEAD(&tc->blocks);
	INIT_LIST_HEAD(&tc->flowtables);
	INIT_LIST_HEAD(&tc->tunnels);
	mutex_init(&tc->lock);
	err = rhashtable_init(&tc->rules, &verna_tc_params);
	if (err)
		return err;
	err = verna_tc_encaps_init(tc);
	if (err)
		rhashtable_destroy(&tc->rules);
	return err;
}

void verna_tc_exit(struct verna_tc_rules *tc)
{
	verna_tc_encaps_exit(tc);
	rhashtable_destroy(&tc->rules);
	mutex_destroy(&tc->lock);
}
