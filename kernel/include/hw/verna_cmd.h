/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: the admin queue and its commands.
 *
 * The admin queue is a ring of 128-byte commands and a ring of 32-byte
 * completions, both of 2^AQ_LOG_SIZE entries (verna_regs.h). The host writes
 * commands and then the count of all commands posted to VERNA_REG_AQ_DOORBELL.
 * Commands are executed in order; each is answered by exactly one completion.
 * Vector 0 is raised after completions if the command had VERNA_CMD_F_EVENT; a
 * host that has no interrupt yet polls the phase bit. The host must have at
 * most 2^AQ_LOG_SIZE commands outstanding.
 *
 * A command that fails has changed nothing.
 */
#ifndef VERNA_HW_CMD_H
#define VERNA_HW_CMD_H

#include "verna_bits.h"
#include "verna_queue.h"
#include "verna_eth.h"
#include "verna_flow.h"
#include "verna_rdma.h"

#define VERNA_CMD_SIZE		128u
#define VERNA_CMD_COMP_SIZE	32u

enum verna_cmd_opcode {
	/* device */
	VERNA_CMD_NOP = 0x0000,
	VERNA_CMD_QUERY_COUNTERS = 0x0001,	/* verna_cmd_query */
	VERNA_CMD_QUERY_PORT = 0x0002,		/* verna_cmd_query -> verna_port_state */
	VERNA_CMD_SET_PAUSE = 0x0003,		/* verna_cmd_set_pause */
	VERNA_CMD_CREATE_EQ = 0x0010,		/* verna_cmd_create_eq; id chosen by the host */
	VERNA_CMD_DESTROY_EQ = 0x0011,		/* verna_cmd_object */
	VERNA_CMD_CREATE_CQ = 0x0012,		/* verna_cmd_create_cq -> result: CQN */
	VERNA_CMD_DESTROY_CQ = 0x0013,		/* verna_cmd_object */
	VERNA_CMD_MODIFY_CQ = 0x0014,		/* verna_cmd_modify_cq */

	/* Ethernet */
	VERNA_CMD_CREATE_TXQ = 0x0100,		/* verna_cmd_create_ethq; id chosen by the host */
	VERNA_CMD_DESTROY_TXQ = 0x0101,		/* verna_cmd_object */
	VERNA_CMD_CREATE_RXQ = 0x0102,		/* verna_cmd_create_ethq; id chosen by the host */
	VERNA_CMD_DESTROY_RXQ = 0x0103,		/* verna_cmd_object */
	VERNA_CMD_MODIFY_TXQ = 0x0104,		/* verna_cmd_modify_txq */
	VERNA_CMD_SET_TX_CLASSES = 0x0105,	/* verna_cmd_set_tx_classes */
	VERNA_CMD_SET_RX_MODE = 0x0110,		/* verna_cmd_rx_mode */
	VERNA_CMD_ADD_MAC = 0x0111,		/* verna_cmd_mac */
	VERNA_CMD_DEL_MAC = 0x0112,		/* verna_cmd_mac */
	VERNA_CMD_SET_MTU = 0x0113,		/* verna_cmd_mtu */
	VERNA_CMD_SET_RSS = 0x0114,		/* verna_cmd_set_rss */
	VERNA_CMD_SET_ETH_FEATURES = 0x0115,	/* verna_cmd_eth_features */
	VERNA_CMD_ADD_VLAN = 0x0116,		/* verna_cmd_vlan */
	VERNA_CMD_DEL_VLAN = 0x0117,		/* verna_cmd_vlan */
	VERNA_CMD_DESTROY_RSS = 0x0118,		/* verna_cmd_object; BUSY while a rule uses it */

	/* RDMA */
	VERNA_CMD_CREATE_PD = 0x0200,		/* no operands -> result: PDN */
	VERNA_CMD_DESTROY_PD = 0x0201,		/* verna_cmd_object; BUSY while something uses it */
	VERNA_CMD_CREATE_MR = 0x0202,		/* verna_cmd_create_mr -> result: key */
	VERNA_CMD_DESTROY_MR = 0x0203,		/* verna_cmd_object, id is the key */
	VERNA_CMD_CREATE_QP = 0x0210,		/* verna_cmd_create_qp -> result: QPN */
	VERNA_CMD_MODIFY_QP = 0x0211,		/* verna_cmd_modify_qp */
	VERNA_CMD_QUERY_QP = 0x0212,		/* verna_cmd_query -> verna_qp_attr */
	VERNA_CMD_DESTROY_QP = 0x0213,		/* verna_cmd_object */
	VERNA_CMD_SET_GID = 0x0220,		/* verna_cmd_set_gid */

	/* match-action tables */
	VERNA_CMD_ADD_FLOW = 0x0300,		/* verna_cmd_add_flow -> result: rule */
	VERNA_CMD_DEL_FLOW = 0x0301,		/* verna_cmd_object */
	VERNA_CMD_QUERY_FLOW = 0x0302,		/* verna_cmd_query -> verna_flow_stats */
	VERNA_CMD_SET_FLOW_MISS = 0x0303,	/* verna_cmd_flow_miss */
	VERNA_CMD_GET_AGED_FLOWS = 0x0304,	/* verna_cmd_query -> verna_flow_aged[] */

	/* what rules of the embedded switch share; verna_edit.h */
	VERNA_CMD_CREATE_METER = 0x0310,	/* verna_cmd_flow_object -> result: meter */
	VERNA_CMD_MODIFY_METER = 0x0311,	/* verna_cmd_flow_object */
	VERNA_CMD_DESTROY_METER = 0x0312,	/* verna_cmd_object; BUSY while a rule uses it */
	VERNA_CMD_QUERY_METER = 0x0313,		/* verna_cmd_query -> verna_meter_stats */
	VERNA_CMD_CREATE_FLOW_EDIT = 0x0318,	/* verna_cmd_flow_object -> result: edit */
	VERNA_CMD_DESTROY_FLOW_EDIT = 0x0319,	/* verna_cmd_object; BUSY while a rule uses it */

	/* the PF about the switch and its VFs, the first two about vports of these */
	VERNA_CMD_SET_VPORT = 0x0400,		/* verna_cmd_set_vport */
	VERNA_CMD_QUERY_VPORT = 0x0401,		/* verna_cmd_query -> verna_vport_state */
	VERNA_CMD_SET_ESWITCH = 0x0402,		/* verna_cmd_set_eswitch */
	VERNA_CMD_SET_VPORT_GROUP = 0x0403,	/* verna_cmd_vport_group */
	VERNA_CMD_CREATE_RATE_NODE = 0x0410,	/* verna_cmd_rate_node (verna_rate.h) -> result: node */
	VERNA_CMD_MODIFY_RATE_NODE = 0x0411,	/* verna_cmd_rate_node */
	VERNA_CMD_DESTROY_RATE_NODE = 0x0412,	/* verna_cmd_object; BUSY while something is below */
	VERNA_CMD_QUERY_RATE_NODE = 0x0413,	/* verna_cmd_query -> verna_rate_node_state */
};

enum verna_cmd_status {
	VERNA_CMD_OK = 0,
	VERNA_CMD_BAD_OPCODE = 1,
	VERNA_CMD_BAD_PARAM = 2,	/* detail: byte offset of the field in the command */
	VERNA_CMD_BAD_FUNCTION = 3,	/* no such function, not yours, or not allowed to it */
	VERNA_CMD_NO_RESOURCE = 4,	/* a limit of the capability blocks is reached */
	VERNA_CMD_NOT_FOUND = 5,	/* no object of that number */
	VERNA_CMD_BUSY = 6,		/* something still uses the object */
	VERNA_CMD_EXISTS = 7,		/* that number is taken */
	VERNA_CMD_DMA_FAULT = 8,	/* memory named by the command is not memory */
	VERNA_CMD_BAD_STATE = 9,	/* e.g. a QP state transition that IBA forbids */
	VERNA_CMD_NOT_SUPPORTED = 10,
};

#define VERNA_CMD_F_EVENT	0x0001u	/* raise vector 0 when done */

/**
 * struct verna_cmd_hdr - begins every command
 * @opcode: enum verna_cmd_opcode
 * @cmd_id: returned in the completion
 * @function: VERNA_REG_FUNCTION of the function whose queue this is; in SET_VPORT
 *	and QUERY_VPORT the VF that the command is about
 * @flags: VERNA_CMD_F_*
 */
struct verna_cmd_hdr {
	__le16 opcode;
	__le16 cmd_id;
	__le16 function;
	__le16 flags;
};
VERNA_ASSERT_SIZE(verna_cmd_hdr, 8);

/**
 * struct verna_cmd_comp - completion of a command
 * @cmd_id: of the command
 * @status: enum verna_cmd_status
 * @detail: VERNA_CMD_BAD_PARAM: offset of the offending field
 * @result: number of the object that was created, or bytes that were written
 * @phase: VERNA_PHASE, as in a CQ
 */
struct verna_cmd_comp {
	__le16 cmd_id;
	__le16 status;
	__le32 detail;
	__le64 result;
	__u8 reserved[15];
	__u8 phase;
};
VERNA_ASSERT_SIZE(verna_cmd_comp, VERNA_CMD_COMP_SIZE);

/** struct verna_cmd_object - names one object @id: its number */
struct verna_cmd_object {
	struct verna_cmd_hdr hdr;
	__le32 id;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_cmd_object, 16);

/* Counter groups of VERNA_CMD_QUERY_COUNTERS; names and order in verna_counters.h. */
enum verna_counter_group {
	VERNA_COUNTERS_PORT = 0,	/* id: port */
	VERNA_COUNTERS_ETH = 1,		/* id: 0, the function */
	VERNA_COUNTERS_TXQ = 2,		/* id: TX queue */
	VERNA_COUNTERS_RXQ = 3,		/* id: RX queue */
	VERNA_COUNTERS_RDMA = 4,	/* id: 0, the function */
	VERNA_COUNTERS_DEV = 5,		/* id: 0: admin queue, doorbells, DMA, interrupts */
	VERNA_COUNTERS_VPORT = 6,	/* id: vport; VERNA_VPORT_UPLINK etc. A VF: its own only */
};

/**
 * struct verna_cmd_query - reads something into host memory
 * @addr: bus address of the buffer
 * @len: its size; the card writes at most this and tells in result how much
 * @id: object; GET_AGED_FLOWS: 0
 * @group: QUERY_COUNTERS: enum verna_counter_group; GET_AGED_FLOWS: VERNA_FLOW_RX, or
 *	_SWITCH (a PF in switchdev mode, else BAD_STATE); else 0
 *
 * GET_AGED_FLOWS tells of each rule that aged once, the oldest first, and of as many as
 * fit into @len, which has room for VERNA_FLOW_MAX_AGED at most. If they were fewer than
 * fit there are no more, and the next rule that ages raises VERNA_EVENT_FLOW_AGED.
 */
struct verna_cmd_query {
	struct verna_cmd_hdr hdr;
	__le64 addr;
	__le32 len;
	__le32 id;
	__le32 group;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_cmd_query, 32);

/**
 * struct verna_port_state - result of VERNA_CMD_QUERY_PORT
 * @link: 1 up, 0 down
 * @speed: Mbit/s that the port pretends to have
 * @mtu: current MTU
 * @mac: current permanent MAC
 */
struct verna_port_state {
	__le32 link;
	__le32 speed;
	__le32 mtu;
	__u8 mac[6];
	__u8 reserved[14];
};
VERNA_ASSERT_SIZE(verna_port_state, 32);

/**
 * struct verna_cmd_create_eq
 * @id: EQ number, 0..max_eqs - 1
 * @mem: memory of record and ring
 * @rec_offset: of struct verna_cq_rec
 * @ring_offset: of the ring
 * @log_size: log2 of entries
 * @vector: MSI-X vector
 */
struct verna_cmd_create_eq {
	struct verna_cmd_hdr hdr;
	__le32 id;
	__le32 reserved0;
	struct verna_pbl mem;
	__le32 rec_offset;
	__le32 ring_offset;
	__u8 log_size;
	__u8 reserved1;
	__le16 vector;
	__le32 reserved2;
};
VERNA_ASSERT_SIZE(verna_cmd_create_eq, 56);

/**
 * struct verna_cmd_create_cq - see verna_cmd_create_eq
 * @eqn: EQ that gets its completion and error events
 * @mem: memory of record and ring
 * @rec_offset: of struct verna_cq_rec
 * @ring_offset: of the ring
 * @log_size: log2 of entries
 */
struct verna_cmd_create_cq {
	struct verna_cmd_hdr hdr;
	__le32 eqn;
	__le32 reserved0;
	struct verna_pbl mem;
	__le32 rec_offset;
	__le32 ring_offset;
	__u8 log_size;
	__u8 reserved1[7];
};
VERNA_ASSERT_SIZE(verna_cmd_create_cq, 56);

/**
 * struct verna_cmd_modify_cq - moderates the events of a CQ
 * @cqn: CQ
 * @delay_ns: a completion event waits for so long after the first entry that it
 *	would report, 0: not at all
 * @entries: ... or until so many entries were written, 0: time alone decides
 * @reserved: zero
 *
 * With both 0, as after CREATE_CQ, an event is due as soon as the CQ is armed and
 * has an entry. A solicited entry, where the CQ is armed for these, does not
 * wait.
 */
struct verna_cmd_modify_cq {
	struct verna_cmd_hdr hdr;
	__le32 cqn;
	__le32 delay_ns;
	__le16 entries;
	__le16 reserved[3];
};
VERNA_ASSERT_SIZE(verna_cmd_modify_cq, 24);
#define VERNA_MAX_CQ_DELAY_NS	1000000000u

/**
 * struct verna_cmd_set_pause - IEEE 802.3 annex 31B, off after a reset
 * @rx: 1: PAUSE frames from the wire stop the transmit scheduler; 0: they are
 *	counted and dropped
 * @tx: 1: the card sends PAUSE while a receive queue is about to run out of
 *	buffers, and a PAUSE of no time afterwards
 * @reserved: zero
 */
struct verna_cmd_set_pause {
	struct verna_cmd_hdr hdr;
	__u8 rx;
	__u8 tx;
	__u8 reserved[6];
};
VERNA_ASSERT_SIZE(verna_cmd_set_pause, 16);

/**
 * struct verna_cmd_create_ethq - TX or RX queue
 * @id: queue number
 * @cqn: CQ for its completions
 * @mem: memory of record and ring
 * @rec_offset: of struct verna_wq_rec
 * @ring_offset: of the ring of struct verna_tx_desc or verna_rx_desc
 * @log_size: log2 of descriptors
 * @uar: doorbell page
 */
struct verna_cmd_create_ethq {
	struct verna_cmd_hdr hdr;
	__le32 id;
	__le32 cqn;
	struct verna_pbl mem;
	__le32 rec_offset;
	__le32 ring_offset;
	__u8 log_size;
	__u8 reserved[3];
	__le32 uar;
};
VERNA_ASSERT_SIZE(verna_cmd_create_ethq, 56);

#define VERNA_MAX_TX_CLASSES	8u

/**
 * struct verna_cmd_modify_txq - how the scheduler serves a TX queue
 * @id: TX queue
 * @rate_kbps: limit in kbit/s over frames without FCS, 0: none
 * @burst_bytes: how far the queue may run ahead of @rate_kbps; 0: the card decides
 * @pace_kbps: the segments of one TSO or USO packet leave no faster, 0: at once
 * @weight: share among the function's queues of its class, 1..1024
 * @tclass: traffic class, 0..max_tx_classes - 1
 * @reserved: zero
 *
 * A queue is created without limits, with weight 1, in class 0.
 */
struct verna_cmd_modify_txq {
	struct verna_cmd_hdr hdr;
	__le32 id;
	__le32 rate_kbps;
	__le32 burst_bytes;
	__le32 pace_kbps;
	__le16 weight;
	__u8 tclass;
	__u8 reserved[5];
};
VERNA_ASSERT_SIZE(verna_cmd_modify_txq, 32);

/**
 * struct verna_cmd_set_tx_classes - how classes share the wire
 * @rdma_class: class of all queue pairs
 * @reserved: zero
 * @max_kbps: by class: limit in kbit/s, 0: none
 * @weight: by class: 0: strict priority; 1..1024: share of what strict classes
 *	leave. A strict class goes before all strict ones of lower number, and
 *	before all that have a weight.
 *
 * After a reset all classes are strict and all traffic is in class 0.
 */
struct verna_cmd_set_tx_classes {
	struct verna_cmd_hdr hdr;
	__u8 rdma_class;
	__u8 reserved[7];
	__le32 max_kbps[VERNA_MAX_TX_CLASSES];
	__le16 weight[VERNA_MAX_TX_CLASSES];
};
VERNA_ASSERT_SIZE(verna_cmd_set_tx_classes, 64);

/* verna_cmd_eth_features.features */
#define VERNA_ETH_ON_MERGE	0x00000001u	/* merge TCP segments before delivery */
#define VERNA_ETH_ON_STRIP	0x00000002u	/* strip an outer 802.1Q tag into the CQE */
#define VERNA_ETH_ON_STRIP_S	0x00000004u	/* strip an outer 802.1ad tag into the CQE */
#define VERNA_ETH_ON_FILTER	0x00000008u	/* drop 802.1Q tags that were not added */
#define VERNA_ETH_ON_FILTER_S	0x00000010u	/* drop 802.1ad tags that were not added */
#define VERNA_ETH_ON_LOOPBACK	0x00000020u	/* what Ethernet sends comes back; nothing crosses the wire */
#define VERNA_ETH_ON_MERGE_CWR	0x00000040u	/* MERGE: CWR is the same in all frames, else in the first at most */
#define VERNA_ETH_ON_MERGE_IDS	0x00000080u	/* MERGE: see below */

#define VERNA_MAX_MERGE_NS	1000000000u	/* verna_cmd_eth_features.merge_ns at most */

/**
 * struct verna_cmd_eth_features - switches receive features on and off
 * @features: VERNA_ETH_ON_*, all off after a reset
 * @merge_ns: how long a frame may wait for others to be merged with; 0: until the
 *	card has taken all frames that are there
 * @merge_bytes: longest merged packet, IP header included, 0: 65535
 * @reserved: zero
 *
 * A merged packet can be cut into exactly the frames that it was made of. What a
 * host's software can restore decides what may be merged: the IDs of an IPv4
 * header that frames have one after the other always, the same ID in all frames in
 * the innermost header with DF, and with MERGE_IDS in any header.
 *
 * Priority tags (VID 0) pass the VLAN filters, and so does everything while
 * VERNA_RX_MODE_PROMISC is set.
 */
struct verna_cmd_eth_features {
	struct verna_cmd_hdr hdr;
	__le32 features;
	__le32 merge_ns;
	__le32 merge_bytes;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_cmd_eth_features, 24);

/**
 * struct verna_cmd_vlan - one VLAN that the filters let in
 * @vid: 0..4095
 * @tpid: 0x8100 or 0x88a8
 * @reserved: zero
 */
struct verna_cmd_vlan {
	struct verna_cmd_hdr hdr;
	__le16 vid;
	__le16 tpid;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_cmd_vlan, 16);

#define VERNA_RX_MODE_PROMISC	0x1u
#define VERNA_RX_MODE_ALLMULTI	0x2u
#define VERNA_RX_MODE_ENABLE	0x4u	/* without it every frame for Ethernet is dropped */

/** struct verna_cmd_rx_mode @mode: VERNA_RX_MODE_* */
struct verna_cmd_rx_mode {
	struct verna_cmd_hdr hdr;
	__le32 mode;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_cmd_rx_mode, 16);

/** struct verna_cmd_mac - unicast or multicast filter @mac: address */
struct verna_cmd_mac {
	struct verna_cmd_hdr hdr;
	__u8 mac[6];
	__le16 reserved;
};
VERNA_ASSERT_SIZE(verna_cmd_mac, 16);

/** struct verna_cmd_mtu @mtu: bytes, within verna_cap_eth's limits */
struct verna_cmd_mtu {
	struct verna_cmd_hdr hdr;
	__le32 mtu;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_cmd_mtu, 16);

/**
 * struct verna_cmd_set_rss - hash and indirection table of an RSS context
 * @context: 0, or 1..max_rss_contexts - 1, which comes into being with the first
 *	SET_RSS and ends with DESTROY_RSS
 * @transform: enum verna_rss_transform
 * @reserved0: zero
 * @reserved1: zero
 * @table_len: entries, equal to verna_cap_eth.rss_table_size
 * @table_addr: bus address of @table_len __le16 RX queue numbers
 * @key: Toeplitz key
 * @fields: by enum verna_rss_type: VERNA_RSS_SRC_IP etc. that are hashed; 0: packets
 *	of the type are not hashed and go to the table's first entry
 *
 * The hash modulo @table_len chooses the entry. Context 0 takes all packets that no
 * flow rule sends elsewhere (verna_flow.h); after a reset it sends them to queue 0.
 * The change takes effect between two packets, as a whole.
 */
struct verna_cmd_set_rss {
	struct verna_cmd_hdr hdr;
	__le16 context;
	__u8 transform;
	__u8 reserved0;
	__le32 table_len;
	__le64 table_addr;
	__u8 key[VERNA_RSS_KEY_SIZE];
	__u8 fields[VERNA_RSS_NUM_TYPES];
	__le32 reserved1;
};
VERNA_ASSERT_SIZE(verna_cmd_set_rss, 88);

#define VERNA_MR_F_DMA		0x01u	/* all of memory by bus address; no remote rights; kernel only */

/**
 * struct verna_cmd_create_mr
 * @pdn: protection domain
 * @access: VERNA_ACCESS_*
 * @flags: VERNA_MR_F_*
 * @iova: address of the first byte as work requests name it
 * @length: bytes, may be 0
 * @mem: pages (num_pages 0 if @length is 0 or with VERNA_MR_F_DMA)
 *
 * The resulting key is lkey and rkey.
 */
struct verna_cmd_create_mr {
	struct verna_cmd_hdr hdr;
	__le32 pdn;
	__u8 access;
	__u8 flags;
	__le16 reserved;
	__le64 iova;
	__le64 length;
	struct verna_pbl mem;
};
VERNA_ASSERT_SIZE(verna_cmd_create_mr, 56);

#define VERNA_QP_F_SIGNAL_ALL	0x01u	/* every send request is signaled */

/**
 * struct verna_cmd_create_qp - starts in RESET
 * @pdn: protection domain
 * @send_cqn: CQ of the send queue
 * @recv_cqn: CQ of the receive queue
 * @uar: doorbell page
 * @type: enum verna_qp_type
 * @flags: VERNA_QP_F_*
 * @log_sq_size: log2 of SQ entries
 * @log_sq_stride: log2 of the SQ entry size, 7..10
 * @log_rq_size: log2 of RQ entries
 * @log_rq_stride: log2 of the RQ entry size, 5..9
 * @max_inline: bytes
 * @mem: memory of records and rings
 * @sq_rec_offset: of the SQ's struct verna_wq_rec
 * @rq_rec_offset: of the RQ's struct verna_wq_rec
 * @sq_offset: of the SQ ring
 * @rq_offset: of the RQ ring
 */
struct verna_cmd_create_qp {
	struct verna_cmd_hdr hdr;
	__le32 pdn;
	__le32 send_cqn;
	__le32 recv_cqn;
	__le32 uar;
	__u8 type;
	__u8 flags;
	__u8 log_sq_size;
	__u8 log_sq_stride;
	__u8 log_rq_size;
	__u8 log_rq_stride;
	__le16 max_inline;
	struct verna_pbl mem;
	__le32 sq_rec_offset;
	__le32 rq_rec_offset;
	__le32 sq_offset;
	__le32 rq_offset;
};
VERNA_ASSERT_SIZE(verna_cmd_create_qp, 72);

/* verna_qp_attr fields that a MODIFY_QP sets. */
#define VERNA_QPA_STATE			0x00000001u
#define VERNA_QPA_ACCESS		0x00000002u
#define VERNA_QPA_PKEY_INDEX		0x00000004u
#define VERNA_QPA_QKEY			0x00000008u
#define VERNA_QPA_AV			0x00000010u
#define VERNA_QPA_PATH_MTU		0x00000020u
#define VERNA_QPA_TIMEOUT		0x00000040u
#define VERNA_QPA_RETRY_CNT		0x00000080u
#define VERNA_QPA_RNR_RETRY		0x00000100u
#define VERNA_QPA_RQ_PSN		0x00000200u
#define VERNA_QPA_MAX_RD_ATOMIC		0x00000400u
#define VERNA_QPA_MIN_RNR_TIMER		0x00000800u
#define VERNA_QPA_SQ_PSN		0x00001000u
#define VERNA_QPA_MAX_DEST_RD_ATOMIC	0x00002000u
#define VERNA_QPA_DEST_QPN		0x00004000u
#define VERNA_QPA_SQD_EVENT		0x00008000u	/* SQD: send VERNA_EVENT_QP_SQ_DRAINED */
#define VERNA_QPA_ALL			0x0000ffffu

/**
 * struct verna_qp_attr - attributes of a QP
 * @state: enum verna_qp_state
 * @access: VERNA_ACCESS_REMOTE_*
 * @path_mtu: bytes: 256, 512, 1024, 2048 or 4096
 * @timeout: 0..31: 4.096 us * 2^timeout, 0 is never
 * @retry_cnt: 0..7
 * @rnr_retry: 0..7, 7 is for ever
 * @min_rnr_timer: 0..31, code of IBA's table
 * @max_rd_atomic: as requester
 * @max_dest_rd_atomic: as responder
 * @qkey: UD
 * @rq_psn: expected PSN
 * @sq_psn: next PSN
 * @dest_qpn: RC, UC
 * @pkey_index: 0
 * @sq_draining: QUERY: 1 while SQD has unacknowledged work
 * @av: RC, UC
 */
struct verna_qp_attr {
	__u8 state;
	__u8 access;
	__le16 path_mtu;
	__u8 timeout;
	__u8 retry_cnt;
	__u8 rnr_retry;
	__u8 min_rnr_timer;
	__le16 max_rd_atomic;
	__le16 max_dest_rd_atomic;
	__le32 qkey;
	__le32 rq_psn;
	__le32 sq_psn;
	__le32 dest_qpn;
	__le16 pkey_index;
	__u8 sq_draining;
	__u8 reserved;
	struct verna_av av;
};
VERNA_ASSERT_SIZE(verna_qp_attr, 64);

/**
 * struct verna_cmd_modify_qp
 * @qpn: QP
 * @mask: VERNA_QPA_* that are valid in @attr
 * @cur_state: with VERNA_QPA_STATE: state the host believes; enum verna_qp_state
 * @attr: new values
 *
 * Required and optional attributes per transition are IBA's (the kernel's
 * qp_state_table); the driver checks them, the card checks ranges, transitions
 * and references.
 */
struct verna_cmd_modify_qp {
	struct verna_cmd_hdr hdr;
	__le32 qpn;
	__le32 mask;
	__u8 cur_state;
	__u8 reserved[7];
	struct verna_qp_attr attr;
};
VERNA_ASSERT_SIZE(verna_cmd_modify_qp, 88);

#define VERNA_VLAN_NONE		0xffffu

/**
 * struct verna_cmd_set_gid - sets or clears one entry of the GID table
 * @index: entry
 * @valid: 1 set, 0 clear
 * @reserved0: zero
 * @vlan: VLAN id of the netdev, or VERNA_VLAN_NONE
 * @mac: source MAC
 * @reserved1: zero
 * @gid: as on the wire; ::ffff:a.b.c.d speaks IPv4, else IPv6
 *
 * Frames to UDP port 4791 at the address (and VLAN) of a valid entry go to RDMA
 * if their MAC address is the permanent one or was added by ADD_MAC (whatever
 * the receive mode); all others go to Ethernet.
 */
struct verna_cmd_set_gid {
	struct verna_cmd_hdr hdr;
	__le16 index;
	__u8 valid;
	__u8 reserved0;
	__le16 vlan;
	__u8 mac[6];
	__le32 reserved1;
	__u8 gid[16];
};
VERNA_ASSERT_SIZE(verna_cmd_set_gid, 40);

/**
 * struct verna_cmd_add_flow - adds a rule to a table (verna_flow.h)
 * @direction: VERNA_FLOW_RX, or _SWITCH (a PF in switchdev mode, else BAD_STATE)
 * @reserved0: zero
 * @group: port group; RX: 0
 * @chain: RX: 0
 * @priority: lower numbers win
 * @replaces: rule that goes in the same moment, 0: none. It may be equal to the new
 *	one but for the actions.
 * @addr: bus address of a struct verna_flow_rule or verna_flow_rule_ranges
 * @len: its size
 * @reserved1: zero
 *
 * EXISTS: the table has a rule of this key, mask and priority. NO_RESOURCE: there
 * are too many rules, or masks in this table, or rules of this key and mask.
 */
struct verna_cmd_add_flow {
	struct verna_cmd_hdr hdr;
	__u8 direction;
	__u8 reserved0;
	__le16 group;
	__le32 chain;
	__le32 priority;
	__le32 replaces;
	__le64 addr;
	__le32 len;
	__le32 reserved1;
};
VERNA_ASSERT_SIZE(verna_cmd_add_flow, 40);

/**
 * struct verna_cmd_flow_miss - what becomes of packets that a table has no rule for
 * @direction: VERNA_FLOW_RX, _SWITCH; see struct verna_cmd_add_flow
 * @miss: VERNA_FLOW_MISS_*
 * @group: port group; RX: 0
 * @chain: RX: 0
 * @to_chain: VERNA_FLOW_MISS_CHAIN: higher than @chain; else 0
 * @reserved: zero
 */
struct verna_cmd_flow_miss {
	struct verna_cmd_hdr hdr;
	__u8 direction;
	__u8 miss;
	__le16 group;
	__le32 chain;
	__le32 to_chain;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_cmd_flow_miss, 24);

/**
 * struct verna_cmd_flow_object - makes or changes a meter or an edit
 * @addr: bus address of a struct verna_meter or verna_flow_edit, read once
 * @len: its size
 * @id: MODIFY_METER: the meter; else 0
 *
 * Of a PF in switchdev mode; BAD_STATE in legacy mode.
 */
struct verna_cmd_flow_object {
	struct verna_cmd_hdr hdr;
	__le64 addr;
	__le32 len;
	__le32 id;
};
VERNA_ASSERT_SIZE(verna_cmd_flow_object, 24);

#endif /* VERNA_HW_CMD_H */
