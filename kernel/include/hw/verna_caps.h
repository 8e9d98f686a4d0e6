/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: capability blocks, a linked list in BAR 0 that starts at the offset in
 * VERNA_REG_CAPS_OFFSET. A driver walks it, takes the blocks that it knows and
 * skips others. A newer version of a block only appends fields.
 */
#ifndef VERNA_HW_CAPS_H
#define VERNA_HW_CAPS_H

#include "verna_bits.h"

enum verna_cap_type {
	VERNA_CAP_END = 0,
	VERNA_CAP_DEV = 1,
	VERNA_CAP_ETH = 2,
	VERNA_CAP_RDMA = 3,
	VERNA_CAP_VPORT = 4,	/* of a PF that can have VFs */
	VERNA_CAP_ESWITCH = 5,	/* of the same */
};

/**
 * struct verna_cap_hdr - begins every block
 * @type: enum verna_cap_type
 * @version: of this block's layout, from 1
 * @length: bytes of the block including this header, a multiple of 4
 * @next: BAR 0 offset of the next block, 0 at the end
 */
struct verna_cap_hdr {
	__le16 type;
	__le16 version;
	__le16 length;
	__le16 next;
};
VERNA_ASSERT_SIZE(verna_cap_hdr, 8);

/**
 * struct verna_cap_dev - limits of the whole function
 * @hdr: type VERNA_CAP_DEV
 * @max_eqs: event queues, ids 0 to max_eqs - 1
 * @max_cqs: completion queues
 * @log_max_cq_entries: largest CQ, log2 of entries
 * @log_max_eq_entries: largest EQ, log2 of entries
 * @num_functions: functions that can exist: 1 and, for a PF, its VFs
 * @max_pbl_entries: page addresses that all queues and regions may use in all
 * @page_shifts: bit n set: pages of 2^n bytes are allowed in a page list
 */
struct verna_cap_dev {
	struct verna_cap_hdr hdr;
	__le32 max_eqs;
	__le32 max_cqs;
	__le16 log_max_cq_entries;
	__le16 log_max_eq_entries;
	__le32 num_functions;
	__le32 max_pbl_entries;
	__le32 reserved;
	__le64 page_shifts;
};
VERNA_ASSERT_SIZE(verna_cap_dev, 40);

/* verna_cap_eth.features */
#define VERNA_ETH_F_RSS		0x00000001u	/* Toeplitz hash and indirection table */
#define VERNA_ETH_F_TX_CSUM	0x00000002u	/* VERNA_TX_F_CSUM */
#define VERNA_ETH_F_TX_CRC32C	0x00000004u	/* VERNA_TX_F_CRC32C */
#define VERNA_ETH_F_TSO		0x00000008u	/* VERNA_TX_F_TSO over IPv4 and IPv6 */
#define VERNA_ETH_F_USO		0x00000010u	/* VERNA_TX_F_USO */
#define VERNA_ETH_F_TSO_TUNNEL	0x00000020u	/* TSO, USO inside of IP, UDP and GRE tunnels */
#define VERNA_ETH_F_TX_VLAN	0x00000040u	/* VERNA_TX_F_VLAN, _SVLAN */
#define VERNA_ETH_F_RX_CSUM	0x00000080u	/* verna_cqe.csum and csum_ok */
#define VERNA_ETH_F_RX_MERGE	0x00000100u	/* VERNA_ETH_ON_MERGE */
#define VERNA_ETH_F_RX_VLAN	0x00000200u	/* VERNA_ETH_ON_STRIP*, _VLAN_FILTER* */
#define VERNA_ETH_F_LOOPBACK	0x00000400u	/* VERNA_ETH_ON_LOOPBACK */
#define VERNA_ETH_F_MODERATION	0x00000800u	/* VERNA_CMD_MODIFY_CQ */
#define VERNA_ETH_F_TX_RATE	0x00001000u	/* rate and pacing of VERNA_CMD_MODIFY_TXQ */
#define VERNA_ETH_F_TX_CLASSES	0x00002000u	/* VERNA_CMD_SET_TX_CLASSES */
#define VERNA_ETH_F_PAUSE	0x00004000u	/* VERNA_CMD_SET_PAUSE */
#define VERNA_ETH_F_RSS_FIELDS	0x00008000u	/* fields per flow type, symmetric forms */
#define VERNA_ETH_F_FLOW	0x00010000u	/* match-action tables, verna_flow.h */
#define VERNA_ETH_F_FLOW_RANGES	0x00020000u	/* steering: struct verna_flow_rule_ranges */
#define VERNA_ETH_F_FLOW_TUNNEL	0x00040000u	/* steering: keys of tunnels */

/**
 * struct verna_cap_eth - the Ethernet side
 * @hdr: type VERNA_CAP_ETH
 * @features: VERNA_ETH_F_* that work
 * @max_txqs: TX queues, ids 0 to max_txqs - 1
 * @max_rxqs: RX queues, ids 0 to max_rxqs - 1
 * @log_max_entries: largest TX or RX ring, log2 of descriptors
 * @max_mac_filters: exact unicast and multicast addresses
 * @min_mtu: bytes, without Ethernet header
 * @max_mtu: bytes, without Ethernet header
 * @max_tx_frags: descriptors of one packet
 * @rss_table_size: entries of the indirection table
 * @max_tso_bytes: longest packet with VERNA_TX_F_TSO or _USO, headers included
 * @max_flow_rules: rules of all tables together
 * @max_rss_contexts: hash and indirection table pairs, the default one included
 * @max_tx_classes: traffic classes of the transmit scheduler
 * @flow_age_ms: steering: granularity of a rule's limits of time; 0: rules do not age
 */
struct verna_cap_eth {
	struct verna_cap_hdr hdr;
	__le32 features;
	__le16 max_txqs;
	__le16 max_rxqs;
	__le16 log_max_entries;
	__le16 max_mac_filters;
	__le16 min_mtu;
	__le16 max_mtu;
	__le16 max_tx_frags;
	__le16 rss_table_size;
	__le32 max_tso_bytes;
	__le32 max_flow_rules;
	__le16 max_rss_contexts;
	__u8 max_tx_classes;
	__u8 flow_age_ms;
};
VERNA_ASSERT_SIZE(verna_cap_eth, 40);

/* verna_cap_rdma.features */
#define VERNA_RDMA_F_RC		0x00000001u
#define VERNA_RDMA_F_UC		0x00000002u
#define VERNA_RDMA_F_UD		0x00000004u
#define VERNA_RDMA_F_ATOMIC	0x00000008u
#define VERNA_RDMA_F_SEND_INV	0x00000010u	/* SEND with invalidate */

/**
 * struct verna_cap_rdma - the RDMA side
 * @hdr: type VERNA_CAP_RDMA
 * @features: VERNA_RDMA_F_* that work
 * @max_qps: queue pairs
 * @max_mrs: memory regions
 * @max_pds: protection domains
 * @max_gids: entries of the GID table
 * @log_max_wqes: largest SQ or RQ, log2 of work requests
 * @max_send_sge: data segments of one send request
 * @max_recv_sge: data segments of one receive request
 * @max_inline: bytes of inline data in one send request
 * @max_rd_atomic: outstanding READs and atomics, both as requester and responder
 * @max_mtu: largest path MTU, bytes
 * @max_msg: largest message, bytes
 * @max_mr_size: largest memory region, bytes
 * @node_guid: EUI-64, big endian
 */
struct verna_cap_rdma {
	struct verna_cap_hdr hdr;
	__le32 features;
	__le32 max_qps;
	__le32 max_mrs;
	__le32 max_pds;
	__le16 max_gids;
	__le16 log_max_wqes;
	__le16 max_send_sge;
	__le16 max_recv_sge;
	__le16 max_inline;
	__le16 max_rd_atomic;
	__le32 max_mtu;
	__le64 max_msg;
	__le64 max_mr_size;
	__be64 node_guid;
};
VERNA_ASSERT_SIZE(verna_cap_rdma, 64);

/**
 * struct verna_cap_vport - the embedded switch as a bridge, and what a PF says of VFs
 * @hdr: type VERNA_CAP_VPORT
 * @fields: VERNA_VPORT_SET_* that VERNA_CMD_SET_VPORT takes
 * @max_vfs: VFs that can be enabled
 * @max_addresses: addresses that a VF may add
 * @max_rate_nodes: inner nodes of the tree of rates (verna_rate.h); 0: there is none
 * @max_rate_levels: nodes on the way from a vport to the top of the tree
 * @reserved: zero
 */
struct verna_cap_vport {
	struct verna_cap_hdr hdr;
	__le32 fields;
	__le16 max_vfs;
	__le16 max_addresses;
	__le16 max_rate_nodes;
	__u8 max_rate_levels;
	__u8 reserved;
};
VERNA_ASSERT_SIZE(verna_cap_vport, 20);

/**
 * struct verna_cap_eswitch - modes of the embedded switch, and what its tables can do
 * @hdr: type VERNA_CAP_ESWITCH
 * @modes: bit n: enum verna_eswitch_mode n
 * @max_rules: rules of all tables of the switch
 * @max_meters: meters
 * @max_edits: edits
 * @max_groups: port groups, numbers 0 to max_groups - 1
 * @max_tables: tables that have rules or a miss behaviour
 * @actions: VERNA_FLOW_A_* of its rules
 * @max_masks: of one table
 * @key_flags: VERNA_FLOW_K_* that masks may have
 * @tunnels: bit n: VERNA_FLOW_TUN_* n as a key
 * @max_hops: tables that one frame passes; one that would go further goes to software
 * @max_copies: of one edit
 * @age_ms: granularity of a rule's limits of time; 0: rules do not age
 */
struct verna_cap_eswitch {
	struct verna_cap_hdr hdr;
	__le32 modes;
	__le32 max_rules;
	__le32 max_meters;
	__le32 max_edits;
	__le16 max_groups;
	__le16 max_tables;
	__le32 actions;
	__le16 max_masks;
	__u8 key_flags;
	__u8 tunnels;
	__u8 max_hops;
	__u8 max_copies;
	__le16 age_ms;
};
VERNA_ASSERT_SIZE(verna_cap_eswitch, 40);

#endif /* VERNA_HW_CAPS_H */
