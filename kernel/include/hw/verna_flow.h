/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: match-action tables.
 *
 * A table has rules; a rule has a key, a mask, a priority and actions. Of all rules
 * whose key equals the packet's under their mask, the one of the lowest priority
 * number acts; of several with the same number the one that was added first. A
 * packet that no rule matches is a miss.
 *
 * A table is named by direction, port group and chain. It exists while it has a
 * rule or a miss behaviour of its own. Received packets for Ethernet go through
 * table (RX, 0, 0) of their function after the filters; what they miss there goes to
 * RSS context 0. In switchdev mode (verna_vport.h) every frame that enters the
 * embedded switch goes through tables (SWITCH, group of its vport, 0 and up), which
 * are the PF's. Other tables do not exist: commands that name one get NOT_SUPPORTED.
 *
 * Rules of one mask cost one look-up together, however many they are. A table has
 * at most VERNA_FLOW_MAX_MASKS different masks; all steering tables of a function
 * together have at most verna_cap_eth.max_flow_rules rules, those of the switch
 * verna_cap_eswitch.max_rules.
 *
 * A rule may have limits of time, for its idleness and for its life. When one ends,
 * the rule has *aged*: the card removes it, or, if it shall only report it, waits for a
 * packet that the rule is for, from which on it counts anew. Aged rules stand in line
 * until the driver asks for them by GET_AGED_FLOWS; VERNA_EVENT_FLOW_AGED says that
 * there are some. A rule that the card has removed counts against the limit of rules
 * until then, but its key is free at once. Neither early, nor as much later as
 * verna_cap_eth.flow_age_ms or verna_cap_eswitch.age_ms, unless very many age at once.
 */
#ifndef VERNA_HW_FLOW_H
#define VERNA_HW_FLOW_H

#include "verna_bits.h"

#define VERNA_FLOW_MAX_MASKS	64u
#define VERNA_FLOW_MAX_ALIKE	64u

/* verna_flow_key.flags */
#define VERNA_FLOW_K_FRAGMENT	0x01u	/* an IP fragment */
#define VERNA_FLOW_K_FIRST	0x02u	/* and it is the first */
#define VERNA_FLOW_K_VLAN	0x04u	/* has a VLAN tag */
#define VERNA_FLOW_K_VLAN2	0x08u	/* has two */
#define VERNA_FLOW_K_TUN_ID	0x10u	/* the tunnel has a VNI or key */

/* verna_flow_key.tun_kind: Ethernet inside of ... */
#define VERNA_FLOW_TUN_NONE	0u	/* no tunnel, or a rule that does not look inside */
#define VERNA_FLOW_TUN_VXLAN	1u
#define VERNA_FLOW_TUN_GENEVE	2u
#define VERNA_FLOW_TUN_GRE	3u

/**
 * struct verna_flow_key - what is known of a packet; what it does not have is zero
 * @port: vport that it came from; in steering 0
 * @flags: VERNA_FLOW_K_*
 * @ip_version: 4, 6 or 0
 * @dmac: destination MAC address
 * @smac: source MAC address
 * @ethertype: of what is behind the VLAN tags
 * @ip_proto: behind IPv6 extension headers that the card knows
 * @tos: IPv4 type of service or IPv6 traffic class
 * @vlan_tpid: of the outer tag
 * @vlan_tci: of the outer tag
 * @vlan2_tpid: of the inner tag
 * @vlan2_tci: of the inner tag
 * @tcp_flags: the lower 12 bits of bytes 12 and 13 of the TCP header
 * @ttl: TTL or hop limit
 * @reserved0: zero
 * @sport: TCP, UDP, SCTP: source port; else the first two bytes behind IP
 * @dport: TCP, UDP, SCTP: destination port; else the next two
 * @icmp_type: ICMP and ICMPv6
 * @icmp_code: ICMP and ICMPv6
 * @arp_op: ARP operation
 * @src_ip: IPv4 in the first four bytes; ARP: sender
 * @dst_ip: IPv4 in the first four bytes; ARP: target
 * @flow_label: IPv6
 * @meta: reserved for what an earlier table found, zero
 * @tun_id: VNI or key; this and all that follow are of the outer headers of a tunnel
 * @tun_src: outer source address
 * @tun_dst: outer destination address
 * @tun_sport: outer source port
 * @tun_dport: outer destination port
 * @tun_kind: VERNA_FLOW_TUN_*
 * @tun_tos: outer type of service
 * @tun_ttl: outer TTL
 * @tun_ip_version: of the outer addresses
 * @reserved1: zero
 *
 * A fragment has no @sport to @icmp_code, not even the first.
 *
 * A mask with @tun_kind is for what is inside of tunnels: then all fields but tun_*
 * are those of the inner headers. It has all bits of @tun_kind, and the key is not
 * VERNA_FLOW_TUN_NONE. A mask with other tun_* fields needs @tun_kind as well.
 */
struct verna_flow_key {
	__le16 port;
	__u8 flags;
	__u8 ip_version;
	__u8 dmac[6];
	__u8 smac[6];
	__be16 ethertype;
	__u8 ip_proto;
	__u8 tos;
	__be16 vlan_tpid;
	__be16 vlan_tci;
	__be16 vlan2_tpid;
	__be16 vlan2_tci;
	__be16 tcp_flags;
	__u8 ttl;
	__u8 reserved0;
	__be16 sport;
	__be16 dport;
	__u8 icmp_type;
	__u8 icmp_code;
	__be16 arp_op;
	__u8 src_ip[16];
	__u8 dst_ip[16];
	__be32 flow_label;
	__le32 meta;
	__be64 tun_id;
	__u8 tun_src[16];
	__u8 tun_dst[16];
	__be16 tun_sport;
	__be16 tun_dport;
	__u8 tun_kind;
	__u8 tun_tos;
	__u8 tun_ttl;
	__u8 tun_ip_version;
	__u8 reserved1[16];
};
VERNA_ASSERT_SIZE(verna_flow_key, 144);
VERNA_ASSERT_OFFSET(verna_flow_key, sport, 32);
VERNA_ASSERT_OFFSET(verna_flow_key, src_ip, 40);
VERNA_ASSERT_OFFSET(verna_flow_key, meta, 76);

/*
 * verna_flow_actions.flags. Actions are executed in this order whatever the order
 * of bits: meter, mark, edit, then one destination: drop, queue and RSS, port, chain
 * or trap. Each rule counts. Steering knows DROP, QUEUE, RSS and MARK; switch tables
 * all but QUEUE and RSS, as far as verna_cap_eswitch.actions says.
 */
#define VERNA_FLOW_A_DROP	0x00000001u	/* counted in rx_drop_rule */
#define VERNA_FLOW_A_QUEUE	0x00000002u	/* to @queue; with RSS: @queue is added */
#define VERNA_FLOW_A_RSS	0x00000004u	/* to the queue that @rss_context chooses */
#define VERNA_FLOW_A_MARK	0x00000008u	/* @mark is told in the completion */
#define VERNA_FLOW_A_PORT	0x00000010u	/* out of @vport, past its own tables */
#define VERNA_FLOW_A_CHAIN	0x00000020u	/* on to table @chain of the same group */
#define VERNA_FLOW_A_TRAP	0x00000040u	/* to software, as a miss */
#define VERNA_FLOW_A_METER	0x00000080u	/* coloured by @meter, which may drop it */
#define VERNA_FLOW_A_EDIT	0x00000100u	/* copied and changed by @edit */
#define VERNA_FLOW_A_AGE_REPORT	0x00000200u	/* no action: after @idle_ms the rule stays */

/**
 * struct verna_flow_actions - what happens to packets of a rule
 * @flags: VERNA_FLOW_A_*; no destination: as if there were no rule, but counted
 * @mark: MARK: not zero; in the switch it is told of what goes to software
 * @queue: QUEUE: RX queue, or what is added to RSS's choice
 * @rss_context: RSS: an existing context, which cannot be destroyed meanwhile
 * @vport: PORT: one of the card's, whether or not a function is behind it now
 * @reserved0: zero
 * @chain: CHAIN: higher than that of the rule's table
 * @meter: METER: number of an existing meter, which cannot be destroyed meanwhile
 * @edit: EDIT: number of an existing edit, likewise
 * @idle_ms: the rule ages if no packet came for so long, or since it was added; 0: it
 *	does not
 * @life_ms: the rule ages so long after it was added; 0: it does not. With AGE_REPORT 0
 * @reserved: zero; operands of actions to come
 *
 * Without RSS the hash in the completion is that of context 0.
 */
struct verna_flow_actions {
	__le32 flags;
	__le32 mark;
	__le16 queue;
	__le16 rss_context;
	__le16 vport;
	__le16 reserved0;
	__le32 chain;
	__le32 meter;
	__le32 edit;
	__le32 idle_ms;
	__le32 life_ms;
	__le32 reserved[7];
};
VERNA_ASSERT_SIZE(verna_flow_actions, 64);

/**
 * struct verna_flow_rule - in host memory, read once by ADD_FLOW
 * @key: values; zero where @mask is zero
 * @mask: bits of the key that count; none at all is a rule for every packet
 * @actions: see there
 */
struct verna_flow_rule {
	struct verna_flow_key key;
	struct verna_flow_key mask;
	struct verna_flow_actions actions;
};
VERNA_ASSERT_SIZE(verna_flow_rule, 352);

/**
 * struct verna_flow_range - ports from @low to @high, both included
 * @low: at least 1; 0, with @high 0: any port, or none
 * @high: at least @low
 */
struct verna_flow_range {
	__le16 low;
	__le16 high;
};
VERNA_ASSERT_SIZE(verna_flow_range, 4);

/**
 * struct verna_flow_rule_ranges - the same with ranges of ports beside the mask
 * @rule: see there
 * @sport: source ports
 * @dport: destination ports
 * @reserved: zero
 *
 * ADD_FLOW tells by its length which of the two structures there is. A packet without
 * ports is in no range. Rules that differ in ranges only are different rules; at most
 * VERNA_FLOW_MAX_ALIKE of one table may share key and mask.
 */
struct verna_flow_rule_ranges {
	struct verna_flow_rule rule;
	struct verna_flow_range sport;
	struct verna_flow_range dport;
	__le64 reserved;
};
VERNA_ASSERT_SIZE(verna_flow_rule_ranges, 368);

/* Directions of a table. */
#define VERNA_FLOW_RX		0u
#define VERNA_FLOW_TX		1u
#define VERNA_FLOW_SWITCH	2u	/* of the PF, in switchdev mode */

/*
 * Numbers of rules of switch tables have this bit, those of steering rules do not.
 */
#define VERNA_FLOW_ID_SWITCH	0x80000000u

/* verna_cmd_flow_miss.miss */
#define VERNA_FLOW_MISS_PASS	0u	/* on to the next stage; after a reset */
#define VERNA_FLOW_MISS_DROP	1u	/* counted in rx_drop_rule; the switch: tx_drop_rule */
#define VERNA_FLOW_MISS_TRAP	2u	/* the switch only: to software, which PASS is there, too */
#define VERNA_FLOW_MISS_CHAIN	3u	/* the switch only: to table @to_chain of the same group */

/**
 * struct verna_flow_stats - result of VERNA_CMD_QUERY_FLOW
 * @packets: that the rule acted on
 * @bytes: of these, without FCS
 * @last_used: card clock at the last of them, ns; 0: none yet
 * @now: card clock, ns
 */
struct verna_flow_stats {
	__le64 packets;
	__le64 bytes;
	__le64 last_used;
	__le64 now;
};
VERNA_ASSERT_SIZE(verna_flow_stats, 32);

/* verna_flow_aged.flags */
#define VERNA_FLOW_AGED_REMOVED	0x1u	/* the card removed the rule: its number names nothing */
#define VERNA_FLOW_AGED_LIFE	0x2u	/* its life ended, else it was idle */

#define VERNA_FLOW_MAX_AGED	256u

/**
 * struct verna_flow_aged - one of the results of VERNA_CMD_GET_AGED_FLOWS
 * @rule: its number
 * @flags: VERNA_FLOW_AGED_*
 * @packets: that the rule acted on
 * @bytes: of these, without FCS
 * @last_used: card clock at the last of them, ns; 0: none
 * @duration: from its addition until its limit ended, ns
 */
struct verna_flow_aged {
	__le32 rule;
	__le32 flags;
	__le64 packets;
	__le64 bytes;
	__le64 last_used;
	__le64 duration;
};
VERNA_ASSERT_SIZE(verna_flow_aged, 40);

#endif /* VERNA_HW_FLOW_H */
