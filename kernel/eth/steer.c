// SPDX-License-Identifier: GPL-2.0
/*
 * verna: receive steering, ethtool -N and -n. A rule's location is its priority in
 * the card: the lowest goes first. Rules are the card's at once, whether the
 * interface is up or not, and are given to it again after a reset.
 */
#include <linux/ethtool.h>

#include "eth.h"

/**
 * struct verna_steer_rule - a rule
 * @fs: as the user gave it, with its location
 * @rss_context: if @fs has FLOW_RSS
 * @flow: in the card's words
 * @id: number in the card, 0: it has none
 */
struct verna_steer_rule {
	struct ethtool_rx_flow_spec fs;
	u32 rss_context;
	struct verna_flow_rule flow;
	u32 id;
};

/* Highest queue that packets of a rule may go to, or -1. */
static int verna_steer_rule_queue(struct verna_eth *eth, const struct verna_steer_rule *rule)
{
	int queue = 0;

	if (rule->fs.ring_cookie == RX_CLS_FLOW_DISC)
		return -1;
	if (rule->fs.flow_type & FLOW_RSS)
		queue = verna_rss_max_queue(eth, rule->rss_context);
	return queue < 0 ? queue : queue + (int)rule->fs.ring_cookie;
}

/* Fills in what is done with packets. */
static int verna_steer_actions(struct verna_eth *eth, struct verna_steer_rule *rule)
{
	struct verna_flow_actions *actions = &rule->flow.actions;
	u64 ring = rule->fs.ring_cookie;
	u32 flags = 0;
	int queue;

	if (ring == RX_CLS_FLOW_DISC) {
		actions->flags = cpu_to_le32(VERNA_FLOW_A_DROP);
		return rule->fs.flow_type & FLOW_RSS ? -EINVAL : 0;
	}
	if (ring == RX_CLS_FLOW_WAKE || ethtool_get_flow_spec_ring_vf(ring))
		return -EOPNOTSUPP;
	if (ring >= eth->params.num)
		return -EINVAL;
	queue = verna_steer_rule_queue(eth, rule);
	if (queue < 0 || queue >= eth->params.num)
		return -EINVAL;
	if (rule->fs.flow_type & FLOW_RSS) {
		flags |= VERNA_FLOW_A_RSS;
		actions->rss_context = cpu_to_le16(rule->rss_context);
	}
	if (ring || !flags)
		flags |= VERNA_FLOW_A_QUEUE;
	actions->queue = cpu_to_le16(ring);
	actions->flags = cpu_to_le32(flags);
	return 0;
}

static struct verna_steer_rule *verna_steer_find_same(struct verna_eth *eth,
						      const struct verna_steer_rule *like)
{
	struct verna_steer_rule *rule;
	unsigned long location;

	xa_for_each(&eth->steer.rules, location, rule)
		if (!memcmp(&rule->flow.key, &like->flow.key, sizeof(like->flow.key)) &&
		    !memcmp(&rule->flow.mask, &like->flow.mask, sizeof(like->flow.mask)))
			return rule;
	return NULL;
}

/*
 * Turns a special location into one. A rule that says the same as another takes its
 * place, unless the user chose the location.
 */
static int verna_steer_locate(struct verna_eth *eth, struct verna_steer_rule *rule)
{
	u32 *location = &rule->fs.location, i;
	struct verna_steer_rule *same;

	if (!(*location & RX_CLS_LOC_SPECIAL))
		return *location < VERNA_STEER_LOCATIONS ? 0 : -EINVAL;
	same = verna_steer_find_same(eth, rule);
	if (same) {
		*location = same->fs.location;
		return 0;
	}
	switch (*location) {
	case RX_CLS_LOC_ANY:
	case RX_CLS_LOC_FIRST:
		for (i = 0; i < VERNA_STEER_LOCATIONS && xa_load(&eth->steer.rules, i);)
			i++;
		break;
	case RX_CLS_LOC_LAST:
		for (i = VERNA_STEER_LOCATIONS; i-- && xa_load(&eth->steer.rules, i);)
			;
		break;
	default:
		return -EINVAL;
	}
	if (i >= VERNA_STEER_LOCATIONS)
		return -ENOSPC;
	*location = i;
	return 0;
}

/* Adds @rule, or puts it in the place of another; the caller frees it on an error. */
static int verna_steer_store(struct verna_eth *eth, struct verna_steer_rule *rule)
{
	struct verna_steer_rule *old;
	u32 location;
	int err;

	err = verna_steer_locate(eth, rule);
	if (err)
		return err;
	location = rule->fs.location;
	old = xa_load(&eth->steer.rules, location);
	if (!old) {
		err = xa_reserve(&eth->steer.rules, location, GFP_KERNEL);
		if (err)
			return err;
	}
	err = verna_flow_add(eth, location, old ? old->id : 0, &rule->flow, &rule->id);
	if (err) {
		if (!old)
			xa_release(&eth->steer.rules, location);
		return err;
	}
	xa_store(&eth->steer.rules, location, rule, GFP_KERNEL);
	if (!old)
		eth->steer.num++;
	kfree(old);
	return 0;
}

static int verna_steer_insert(struct verna_eth *eth, struct ethtool_rxnfc *nfc)
{
	struct verna_steer_rule *rule;
	int err;

	if (!(eth->netdev->features & NETIF_F_NTUPLE))
		return -EOPNOTSUPP;
	rule = kzalloc(sizeof(*rule), GFP_KERNEL);
	if (!rule)
		return -ENOMEM;
	rule->fs = nfc->fs;
	rule->rss_context = nfc->fs.flow_type & FLOW_RSS ? nfc->rss_context : 0;
	err = verna_match_spec(&rule->fs, &rule->flow);
	if (!err)
		err = verna_steer_actions(eth, rule);
	if (!err) {
		mutex_lock(&eth->steer.lock);
		err = verna_steer_store(eth, rule);
		mutex_unlock(&eth->steer.lock);
	}
	if (err)
		kfree(rule);
	else
		nfc->fs.location = rule->fs.location;
	return err;
}

static int verna_steer_delete(struct verna_eth *eth, u32 location)
{
	struct verna_steer_rule *rule;

	mutex_lock(&eth->steer.lock);
	rule = xa_erase(&eth->steer.rules, location);
	if (rule) {
		eth->steer.num--;
		verna_flow_del(eth, rule->id);
	}
	mutex_unlock(&eth->steer.lock);
	kfree(rule);
	return rule ? 0 : -ENOENT;
}

/**
 * verna_steer_features - forget all rules if NETIF_F_NTUPLE goes
 * @eth: interface
 * @features: as they are to be
 */
void verna_steer_features(struct verna_eth *eth, netdev_features_t features)
{
	struct verna_steer_rule *rule;
	unsigned long location;

	if (features & NETIF_F_NTUPLE || !(eth->netdev->features & NETIF_F_NTUPLE))
		return;
	xa_for_each(&eth->steer.rules, location, rule)
		verna_steer_delete(eth, location);
	verna_arfs_flush(eth);
}

/**
 * verna_steer_replay - give all rules to a card that was reset
 * @eth: interface; the card has the RSS contexts already
 *
 * Return: 0 or an error.
 */
int verna_steer_replay(struct verna_eth *eth)
{
	struct verna_steer_rule *rule;
	unsigned long location;
	int err = 0;

	mutex_lock(&eth->steer.lock);
	xa_for_each(&eth->steer.rules, location, rule) {
		err = verna_flow_add(eth, location, 0, &rule->flow, &rule->id);
		if (err)
			break;
	}
	mutex_unlock(&eth->steer.lock);
	return err;
}

/**
 * verna_steer_max_queue - highest queue that a rule names
 * @eth: interface
 *
 * Return: the queue or -1. Queues that RSS alone uses are the stack's to check.
 */
int verna_steer_max_queue(struct verna_eth *eth)
{
	struct verna_steer_rule *rule;
	unsigned long location;
	int max = -1;

	mutex_lock(&eth->steer.lock);
	xa_for_each(&eth->steer.rules, location, rule)
		if (!(rule->fs.flow_type & FLOW_RSS) || rule->fs.ring_cookie)
			max = max(max, verna_steer_rule_queue(eth, rule));
	mutex_unlock(&eth->steer.lock);
	return max;
}

static int verna_steer_get(struct verna_eth *eth, struct ethtool_rxnfc *nfc)
{
	struct verna_steer_rule *rule;

	mutex_lock(&eth->steer.lock);
	rule = xa_load(&eth->steer.rules, nfc->fs.location);
	if (rule) {
		nfc->fs = rule->fs;
		nfc->rss_context = rule->rss_context;
		nfc->flow_type = rule->fs.flow_type;
	}
	mutex_unlock(&eth->steer.lock);
	return rule ? 0 : -ENOENT;
}

static int verna_steer_list(struct verna_eth *eth, struct ethtool_rxnfc *nfc, u32 *locations)
{
	struct verna_steer_rule *rule;
	unsigned long location;
	int err = 0;
	u32 i = 0;

	nfc->data = VERNA_STEER_LOCATIONS;
	mutex_lock(&eth->steer.lock);
	xa_for_each(&eth->steer.rules, location, rule) {
		if (i == nfc->rule_cnt) {
			err = -EMSGSIZE;
			break;
		}
		locations[i++] = location;
	}
	mutex_unlock(&eth->steer.lock);
	nfc->rule_cnt = i;
	return err;
}

u32 verna_get_rx_ring_count(struct net_device *netdev)
{
	struct verna_eth *eth = netdev_priv(netdev);

	return eth->params.num;
}

int verna_get_rxnfc(struct net_device *netdev, struct ethtool_rxnfc *nfc, u32 *rules)
{
	struct verna_eth *eth = netdev_priv(netdev);

	switch (nfc->cmd) {
	case ETHTOOL_GRXRINGS:
		nfc->data = verna_get_rx_ring_count(netdev);
		return 0;
	case ETHTOOL_GRXCLSRLCNT:
		nfc->rule_cnt = READ_ONCE(eth->steer.num);
		nfc->data = VERNA_STEER_LOCATIONS | RX_CLS_LOC_SPECIAL;
		return 0;
	case ETHTOOL_GRXCLSRULE:
		return verna_steer_get(eth, nfc);
	case ETHTOOL_GRXCLSRLALL:
		return verna_steer_list(eth, nfc, rules);
	default:
		return -EOPNOTSUPP;
	}
}

int verna_set_rxnfc(struct net_device *netdev, struct ethtool_rxnfc *nfc)
{
	struct verna_eth *eth = netdev_priv(netdev);

	switch (nfc->cmd) {
	case ETHTOOL_SRXCLSRLINS:
		return verna_steer_insert(eth, nfc);
	case ETHTOOL_SRXCLSRLDEL:
		return verna_steer_delete(eth, nfc->fs.location);
	default:
		return -EOPNOTSUPP;
	}
}

/** verna_steer_supported - does the card have flow tables @eth: interface */
bool verna_steer_supported(struct verna_eth *eth)
{
	return verna_caps(eth->vdev)->eth.features & VERNA_ETH_F_FLOW;
}

void verna_steer_init(struct verna_eth *eth)
{
	mutex_init(&eth->steer.lock);
	xa_init(&eth->steer.rules);
}

void verna_steer_exit(struct verna_eth *eth)
{
	struct verna_steer_rule *rule;
	unsigned long location;

	xa_for_each(&eth->steer.rules, location, rule)
		kfree(rule);
	xa_destroy(&eth->steer.rules);
	mutex_destroy(&eth->steer.lock);
}
