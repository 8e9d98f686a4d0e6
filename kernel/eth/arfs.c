// SPDX-License-Identifier: GPL-2.0
/*
 * verna: accelerated receive flow steering: the stack says on which queue's CPU a
 * flow is read, and the card gets a rule for it. The stack asks in softirq context,
 * where no command can be executed: a work does that. Rules of ethtool -N go first.
 */
#include <linux/cpu_rmap.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/jhash.h>
#include <net/flow_dissector.h>

#include "eth.h"

#ifdef CONFIG_RFS_ACCEL

#define VERNA_ARFS_PRIORITY	0x10000	/* behind every location of ethtool */
#define VERNA_ARFS_EXPIRE	HZ

/**
 * struct verna_arfs_key - what makes a flow, zero where unused
 * @src: source address
 * @dst: destination address
 * @sport: source port
 * @dport: destination port
 * @proto: TCP or UDP
 * @version: of IP
 * @pad: zero
 */
struct verna_arfs_key {
	__be32 src[4];
	__be32 dst[4];
	__be16 sport;
	__be16 dport;
	u8 proto;
	u8 version;
	u16 pad;
};

/**
 * struct verna_arfs_flow - a flow that the stack wants on a certain queue
 * @node: in verna_arfs.flows
 * @key: the flow
 * @flow_id: for rps_may_expire_flow()
 * @queue: where it is to go
 * @card_queue: where the card sends it, if @card_id
 * @card_id: rule of the card, or 0; of the works alone
 * @failed: the card refused; not tried again for this queue
 * @id: what the stack calls it
 */
struct verna_arfs_flow {
	struct hlist_node node;
	struct verna_arfs_key key;
	u32 flow_id;
	u16 queue;
	u16 card_queue;
	u32 card_id;
	bool failed;
	u16 id;
};

static bool verna_arfs_dissect(const struct sk_buff *skb, struct verna_arfs_key *key)
{
	struct flow_keys keys;

	if (skb->encapsulation || !skb_flow_dissect_flow_keys(skb, &keys, 0) ||
	    keys.control.flags & FLOW_DIS_IS_FRAGMENT)
		return false;
	memset(key, 0, sizeof(*key));
	if (keys.basic.n_proto == htons(ETH_P_IP)) {
		key->version = 4;
		key->src[0] = keys.addrs.v4addrs.src;
		key->dst[0] = keys.addrs.v4addrs.dst;
	} else if (keys.basic.n_proto == htons(ETH_P_IPV6)) {
		key->version = 6;
		memcpy(key->src, &keys.addrs.v6addrs.src, sizeof(key->src));
		memcpy(key->dst, &keys.addrs.v6addrs.dst, sizeof(key->dst));
	} else {
		return false;
	}
	key->proto = keys.basic.ip_proto;
	key->sport = keys.ports.src;
	key->dport = keys.ports.dst;
	return key->proto == IPPROTO_TCP || key->proto == IPPROTO_UDP;
}

static u32 verna_arfs_hash(const struct verna_arfs_key *key)
{
	return jhash2((const u32 *)key, sizeof(*key) / sizeof(u32), 0);
}

static struct verna_arfs_flow *verna_arfs_find(struct verna_arfs *arfs,
					       const struct verna_arfs_key *key, u32 hash)
{
	struct verna_arfs_flow *flow;

	hash_for_each_possible(arfs->flows, flow, node, hash)
		if (!memcmp(&flow->key, key, sizeof(*key)))
			return flow;
	return NULL;
}

static struct verna_arfs_flow *verna_arfs_new(struct verna_arfs *arfs,
					      const struct verna_arfs_key *key, u32 hash)
{
	u32 id = find_first_zero_bit(arfs->ids, VERNA_ARFS_FLOWS);
	struct verna_arfs_flow *flow;

	if (id == VERNA_ARFS_FLOWS)
		return NULL;
	flow = kzalloc(sizeof(*flow), GFP_ATOMIC);
	if (!flow)
		return NULL;
	__set_bit(id, arfs->ids);
	flow->id = id;
	flow->key = *key;
	hash_add(arfs->flows, &flow->node, hash);
	return flow;
}

/**
 * verna_rx_flow_steer - ndo_rx_flow_steer
 * @netdev: interface
 * @skb: a packet of the flow
 * @rxq_index: queue that the flow is to go to
 * @flow_id: number of the flow for rps_may_expire_flow()
 *
 * Return: a number for the rule, or an error.
 */
int verna_rx_flow_steer(struct net_device *netdev, const struct sk_buff *skb,
			u16 rxq_index, u32 flow_id)
{
	struct verna_eth *eth = netdev_priv(netdev);
	struct verna_arfs *arfs = &eth->arfs;
	struct verna_arfs_flow *flow;
	struct verna_arfs_key key;
	int id = -ENOSPC;
	u32 hash;

	if (!READ_ONCE(arfs->on) || !verna_arfs_dissect(skb, &key))
		return -EPROTONOSUPPORT;
	hash = verna_arfs_hash(&key);
	spin_lock_bh(&arfs->lock);
	flow = verna_arfs_find(arfs, &key, hash);
	if (!flow)
		flow = verna_arfs_new(arfs, &key, hash);
	if (flow) {
		if (flow->queue != rxq_index)
			flow->failed = false;
		flow->queue = rxq_index;
		flow->flow_id = flow_id;
		id = flow->id;
	}
	spin_unlock_bh(&arfs->lock);
	if (flow)
		queue_work(eth->wq, &arfs->work);
	return id;
}

static void verna_arfs_rule(const struct verna_arfs_key *key, u16 queue,
			    struct verna_flow_rule *rule)
{
	u8 ones[16];

	memset(ones, 0xff, sizeof(ones));
	memset(rule, 0, sizeof(*rule));
	verna_match_ip(rule, key->version, key->proto);
	verna_flow_match(rule, offsetof(struct verna_flow_key, src_ip), key->src, ones, 16);
	verna_flow_match(rule, offsetof(struct verna_flow_key, dst_ip), key->dst, ones, 16);
	verna_flow_match(rule, offsetof(struct verna_flow_key, sport), &key->sport, ones, 2);
	verna_flow_match(rule, offsetof(struct verna_flow_key, dport), &key->dport, ones, 2);
	rule->actions.flags = cpu_to_le32(VERNA_FLOW_A_QUEUE);
	rule->actions.queue = cpu_to_le16(queue);
}

/* A flow that the card does not know, or sends elsewhere. */
static struct verna_arfs_flow *verna_arfs_next(struct verna_arfs *arfs, u16 *queue)
{
	struct verna_arfs_flow *flow, *found = NULL;
	u32 bucket;

	spin_lock_bh(&arfs->lock);
	hash_for_each(arfs->flows, bucket, flow, node) {
		if (flow->failed || (flow->card_id && flow->card_queue == flow->queue))
			continue;
		found = flow;
		*queue = flow->queue;
		break;
	}
	spin_unlock_bh(&arfs->lock);
	return found;
}

/* The notifiers of interrupts are core's; the map is brought up to date with flows. */
static void verna_arfs_map_update(struct verna_eth *eth)
{
	struct cpu_rmap *rmap = eth->netdev->rx_cpu_rmap;
	const struct cpumask *mask;
	u32 i;

	for (i = 0; rmap && i < rmap->size; i++) {
		mask = irq_get_affinity_mask(verna_comp_irq(eth->vdev, i));
		if (mask)
			cpu_rmap_update(rmap, i, mask);
	}
}

/*
 * Brings the card up to date. Both works run one at a time, and flows go only in
 * the other one, or when both have been cancelled.
 */
static void verna_arfs_work(struct work_struct *work)
{
	struct verna_eth *eth = container_of(work, struct verna_eth, arfs.work);
	struct verna_arfs_flow *flow;
	struct verna_flow_rule rule;
	u16 queue;
	int err;

	verna_arfs_map_update(eth);
	while ((flow = verna_arfs_next(&eth->arfs, &queue))) {
		verna_arfs_rule(&flow->key, queue, &rule);
		err = verna_flow_add(eth, VERNA_ARFS_PRIORITY, flow->card_id, &rule,
				     &flow->card_id);
		spin_lock_bh(&eth->arfs.lock);
		flow->card_queue = queue;
		flow->failed = err;
		spin_unlock_bh(&eth->arfs.lock);
	}
	queue_delayed_work(eth->wq, &eth->arfs.expire_work, VERNA_ARFS_EXPIRE);
}

/* Removes flows, those that are over or all; returns how many are left. */
static u32 verna_arfs_expire(struct verna_eth *eth, bool all)
{
	struct verna_arfs *arfs = &eth->arfs;
	struct verna_arfs_flow *flow;
	struct hlist_node *next;
	HLIST_HEAD(old);
	u32 bucket, left;

	spin_lock_bh(&arfs->lock);
	hash_for_each_safe(arfs->flows, bucket, next, flow, node) {
		if (!all && !rps_may_expire_flow(eth->netdev, flow->queue, flow->flow_id, flow->id))
			continue;
		hash_del(&flow->node);
		hlist_add_head(&flow->node, &old);
		__clear_bit(flow->id, arfs->ids);
	}
	left = bitmap_weight(arfs->ids, VERNA_ARFS_FLOWS);
	spin_unlock_bh(&arfs->lock);
	hlist_for_each_entry_safe(flow, next, &old, node) {
		if (flow->card_id)
			verna_flow_del(eth, flow->card_id);
		kfree(flow);
	}
	return left;
}

static void verna_arfs_expire_work(struct work_struct *work)
{
	struct verna_eth *eth = container_of(to_delayed_work(work), struct verna_eth,
					     arfs.expire_work);

	if (verna_arfs_expire(eth, false))
		queue_delayed_work(eth->wq, &eth->arfs.expire_work, VERNA_ARFS_EXPIRE);
}

static void verna_arfs_unmap(struct verna_eth *eth)
{
	cpu_rmap_put(eth->netdev->rx_cpu_rmap);
	eth->netdev->rx_cpu_rmap = NULL;
}

static int verna_arfs_map(struct verna_eth *eth, u32 num)
{
	struct cpu_rmap *rmap;
	u32 i;

	rmap = alloc_cpu_rmap(num, GFP_KERNEL);
	if (!rmap)
		return -ENOMEM;
	for (i = 0; i < num; i++)
		cpu_rmap_add(rmap, eth);
	eth->netdev->rx_cpu_rmap = rmap;
	verna_arfs_map_update(eth);
	return 0;
}

/**
 * verna_arfs_start - tell the stack which CPU each queue's interrupt goes to
 * @eth: interface, before its queues run
 * @num: RX queues
 *
 * Without memory flows are not steered, and everything else works.
 */
void verna_arfs_start(struct verna_eth *eth, u32 num)
{
	if (!verna_steer_supported(eth))
		return;
	WRITE_ONCE(eth->arfs.on, !verna_arfs_map(eth, num));
}

/** verna_arfs_stop - undo it @eth: interface, whose queues do not run */
void verna_arfs_stop(struct verna_eth *eth)
{
	WRITE_ONCE(eth->arfs.on, false);
	synchronize_net();
	verna_arfs_flush(eth);
	if (eth->netdev->rx_cpu_rmap)
		verna_arfs_unmap(eth);
}

/** verna_arfs_flush - forget all flows @eth: interface */
void verna_arfs_flush(struct verna_eth *eth)
{
	cancel_work_sync(&eth->arfs.work);
	cancel_delayed_work_sync(&eth->arfs.expire_work);
	verna_arfs_expire(eth, true);
}

void verna_arfs_init(struct verna_eth *eth)
{
	spin_lock_init(&eth->arfs.lock);
	hash_init(eth->arfs.flows);
	INIT_WORK(&eth->arfs.work, verna_arfs_work);
	INIT_DELAYED_WORK(&eth->arfs.expire_work, verna_arfs_expire_work);
}

#endif /* CONFIG_RFS_ACCEL */
