/* SPDX-License-Identifier: GPL-2.0 */
/* verna: representors and the rules of tc; a part of eth.h. */
#ifndef VERNA_ETH_REP_H
#define VERNA_ETH_REP_H

#include <linux/mutex.h>
#include <linux/rhashtable-types.h>
#include <net/devlink.h>
#include <net/flow_offload.h>

struct verna_eth;
struct verna_rxq;

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
 * struct verna_tc_key - which rule
 * @cookie: tc's name of it, the same on all ports that share its block
 * @vport: port
 */
struct verna_tc_key {
	unsigned long cookie;
	unsigned long vport;
};

/**
 * struct verna_tc_rule - a rule in the card
 * @node: in a table by @key
 * @list: in a list of all
 * @key: name
 * @chain: of tc and card
 * @priority: the lowest number wins
 * @routed: a flowtable's
 * @own: in the interface's receive steering
 * @elsewhere: for another port that shares the block, so the card has none
 * @skip_sw: it is the card's alone
 * @counted_twice: what it is for then goes to tc in software, which counts it
 * @spec: what the card was told
 * @meter: NULL: none
 * @edit: NULL: none
 * @id: the card's number
 * @packets: of the card, as told to tc last
 * @bytes: the same
 */
struct verna_tc_rule {
	struct rhash_head node;
	struct list_head list;
	struct verna_tc_key key;
	u32 chain;
	u32 priority;
	bool routed;
	bool own;
	bool elsewhere;
	bool skip_sw;
	bool counted_twice;
	struct verna_flow_rule_ranges spec;
	struct verna_tc_object *meter;
	struct verna_tc_object *edit;
	u32 id;
	u64 packets;
	u64 bytes;
};

/**
 * struct verna_tc_rules - rules of tc and of netfilter's flowtables
 * @lock: of everything here; commands are executed under it
 * @rules: by key
 * @list: in the order of addition
 * @objects: meters and edits
 * @blocks: of tc, of all ports
 * @flowtables: of netfilter, of all ports
 */
struct verna_tc_rules {
	struct mutex lock; /* of everything here */
	struct rhashtable rules;
	struct list_head list;
	struct list_head objects;
	struct list_head blocks;
	struct list_head flowtables;
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

/* tc_match.c, tc_action.c */
void verna_tc_match_all(__be16 protocol, struct verna_flow_rule_ranges *spec);
int verna_tc_match(const struct flow_rule *rule, struct verna_flow_rule_ranges *spec,
		   struct netlink_ext_ack *extack);
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
