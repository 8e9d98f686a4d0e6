/* SPDX-License-Identifier: GPL-2.0 */
/* verna: representors and the rules of tc; a part of eth.h. */
#ifndef VERNA_ETH_REP_H
#define VERNA_ETH_REP_H

#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/rhashtable-types.h>
#include <linux/workqueue.h>
#include <net/devlink.h>
#include <net/flow_offload.h>

struct ip_tunnel_info;
struct verna_eth;
struct verna_rxq;
struct verna_tc_encap;

/**
 * struct verna_rep - private part of a representor's netdev
 * @netdev: the representor
 * @eth: interface of the PF, through which it sends
 * @dst: says so to that interface
 * @port: devlink port of the VF
 * @vf: number of the VF
 */
struct verna_rep {
	struct net_device *netdev;
	struct verna_eth *eth;
	struct metadata_dst *dst;
	struct devlink_port port;
	u32 vf;
};

/**
 * struct verna_tc_object - a meter or an edit that rules share
 * @node: in a list of struct verna_tc_rules
 * @users: rules
 * @index: of the police action; 0: shared by nobody
 * @id: the card's number
 * @create: opcode that makes it
 * @destroy: opcode that ends it
 * @len: of @data
 * @data: what it is made of
 */
struct verna_tc_object {
	struct list_head node;
	u32 users;
	u32 index;
	u32 id;
	u16 create;
	u16 destroy;
	u32 len;
	u8 data[] __aligned(8);
};

/**
 * struct verna_tc_port - whose rules they are
 * @netdev: a port of the switch, a function's interface, or a tunnel device
 * @vport: where its packets come into the card
 * @tunnel: VERNA_FLOW_TUN_*: what they are in there
 */
struct verna_tc_port {
	struct net_device *netdev;
	u32 vport;
	u8 tunnel;
};

/**
 * struct verna_tc_key - which rule
 * @cookie: tc's name of it, the same on all ports that share its block
 * @netdev: whose it is
 */
struct verna_tc_key {
	unsigned long cookie;
	const struct net_device *netdev;
};

/**
 * struct verna_tc_rule - a rule in the card
 * @node: in a table by @key
 * @list: in a list of all
 * @key: name
 * @vport: where packets come from
 * @chain: of tc and card
 * @priority: the lowest number wins
 * @routed: a flowtable's
 * @tunnel: for packets inside of such a tunnel
 * @own: in the interface's receive steering
 * @elsewhere: for another port that shares the block, so the card has none
 * @skip_sw: it is the card's alone
 * @counted_twice: what it is for then goes to tc in software, which counts it
 * @spec: what the card was told
 * @meter: NULL: none
 * @edit: NULL: none
 * @encap: NULL: puts nothing into a tunnel. Without @edit there is no way now
 * @id: the card's number
 * @asked_packets: of the card, when it was asked last
 * @asked_bytes: the same
 * @packets: not yet told to tc
 * @bytes: the same
 * @last_used: jiffies
 */
struct verna_tc_rule {
	struct rhash_head node;
	struct list_head list;
	struct verna_tc_key key;
	u32 vport;
	u32 chain;
	u32 priority;
	u8 tunnel;
	bool routed;
	bool own;
	bool elsewhere;
	bool skip_sw;
	bool counted_twice;
	struct verna_flow_rule_ranges spec;
	struct verna_tc_object *meter;
	struct verna_tc_object *edit;
	struct verna_tc_encap *encap;
	u32 id;
	u64 asked_packets;
	u64 asked_bytes;
	u64 packets;
	u64 bytes;
	u64 last_used;
};

/**
 * struct verna_tc_rules - rules of tc and of netfilter's flowtables
 * @lock: of everything here; commands are executed under it
 * @rules: by key
 * @list: in the order of addition
 * @objects: meters and edits
 * @blocks: of tc, of all ports
 * @flowtables: of netfilter, of all ports
 * @tunnels: tunnel devices with a block
 * @tunnels_on: rules of such devices are heard of
 * @num_encaps: rules that put something into a tunnel
 * @encap_work: looks whether the ways to the ends of tunnels have changed
 * @netevent: tells that one may have
 */
struct verna_tc_rules {
	struct mutex lock; /* of everything here */
	struct rhashtable rules;
	struct list_head list;
	struct list_head objects;
	struct list_head blocks;
	struct list_head flowtables;
	struct list_head tunnels;
	bool tunnels_on;
	u32 num_encaps;
	struct delayed_work encap_work;
	struct notifier_block netevent;
};

/* rep.c */
int verna_reps_init(struct verna_eth *eth);
void verna_reps_exit(struct verna_eth *eth);
int verna_rep_vport(struct verna_eth *eth, const struct net_device *netdev);
void verna_rep_receive(struct verna_rxq *rxq, const struct verna_cqe *cqe,
		       struct sk_buff *skb);
bool verna_rep_is_uplink(const struct verna_eth *eth);
void verna_tx_vport(const struct sk_buff *skb, struct verna_tx_desc *desc);
int verna_get_port_parent_id(struct net_device *netdev, struct netdev_phys_item_id *id);
int verna_get_phys_port_name(struct net_device *netdev, char *name, size_t len);

static inline bool verna_rx_from_vport(const struct verna_cqe *cqe)
{
	return cqe->rx_flags & VERNA_CQE_RX_VPORT;
}

/* What VFs send is no business of the PF's XDP program. */
static inline bool verna_rx_for_rep(const struct verna_cqe *cqe)
{
	return verna_rx_from_vport(cqe) && cqe->pkey_index != VERNA_VPORT_UPLINK;
}

/* tc.c */
int verna_tc_init(struct verna_tc_rules *tc);
void verna_tc_exit(struct verna_tc_rules *tc);
bool verna_tc_has_rules(struct verna_tc_rules *tc, u32 vport);
int verna_tc_replay(struct verna_eth *eth);
int verna_tc_setup_block(struct net_device *netdev, enum tc_setup_type type,
			 struct flow_block_offload *block);

int verna_tc_setup_rule(struct verna_eth *eth, const struct verna_tc_port *port,
			enum tc_setup_type type, void *data, bool routed);
int verna_tc_rule_start(struct verna_eth *eth, struct verna_tc_rule *rule);
int verna_tc_rule_count(struct verna_eth *eth, struct verna_tc_rule *rule);

/* While there is no way to the end of the tunnel, it is software that does and counts. */
static inline bool verna_tc_counts_twice(const struct verna_tc_rule *rule)
{
	return rule->counted_twice || (rule->encap && !rule->edit && !rule->skip_sw);
}

/* tc_tunnel.c */
u8 verna_tc_tunnel_kind(const struct net_device *netdev);
int verna_tc_match_tunnel(const struct flow_rule *rule, u8 kind,
			  struct verna_flow_rule *out, struct netlink_ext_ack *extack);
int verna_tc_tunnels_start(struct verna_eth *eth);
void verna_tc_tunnels_stop(struct verna_eth *eth);

/* tc_encap.c */
int verna_tc_encap_set(struct verna_eth *eth, struct verna_tc_rule *rule,
		       const struct ip_tunnel_info *info, const struct net_device *tunnel,
		       const struct verna_flow_edit *edit, struct netlink_ext_ack *extack);
void verna_tc_encap_put(struct verna_eth *eth, struct verna_tc_rule *rule);
int verna_tc_encaps_init(struct verna_tc_rules *tc);
void verna_tc_encaps_exit(struct verna_tc_rules *tc);

/* tc_match.c, tc_action.c */
void verna_tc_match_all(__be16 protocol, struct verna_flow_rule_ranges *spec);
int verna_tc_match(const struct flow_rule *rule, u8 tunnel,
		   struct verna_flow_rule_ranges *spec, struct netlink_ext_ack *extack);
int verna_tc_actions(struct verna_eth *eth, const struct flow_action *wish,
		     struct verna_tc_rule *rule, struct netlink_ext_ack *extack);

/* tc_object.c */
struct verna_tc_object *verna_tc_meter(struct verna_eth *eth,
				       const struct flow_action_entry *police,
				       struct netlink_ext_ack *extack);
struct verna_tc_object *verna_tc_edit(struct verna_eth *eth,
				      const struct verna_flow_edit *edit);
int verna_tc_object_replay(struct verna_eth *eth, struct verna_tc_object *object);
void verna_tc_object_put(struct verna_eth *eth, struct verna_tc_object *object);

#endif /* VERNA_ETH_REP_H */
