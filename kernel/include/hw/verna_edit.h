/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: meters and edits, which rules of the embedded switch share (verna_flow.h).
 *
 * Both are made in switchdev mode from a structure in host memory, are named by the
 * number that CREATE_METER or CREATE_FLOW_EDIT returns, and end with the mode. One
 * that a rule names cannot be destroyed.
 */
#ifndef VERNA_HW_EDIT_H
#define VERNA_HW_EDIT_H

#include "verna_bits.h"
#include "verna_flow.h"

/* verna_meter.unit */
#define VERNA_METER_BYTES	0u	/* of the frame without FCS, and verna_meter.overhead */
#define VERNA_METER_PACKETS	1u

/* verna_meter.second */
#define VERNA_METER_EXCESS	0u	/* RFC 4115: for what exceeds the committed rate */
#define VERNA_METER_PEAK	1u	/* RFC 2698: for all packets */

/* verna_meter.flags */
#define VERNA_METER_COLOUR_AWARE 0x01u	/* no better colour than an earlier meter gave */
#define VERNA_METER_DROP_YELLOW	0x02u	/* as red, which is always dropped */

/**
 * struct verna_meter_rate - tokens of a bucket
 * @amount: bytes or packets in @ns; 0: none, and then @ns and @burst are 0
 * @ns: nanoseconds
 * @burst: bytes or packets that the bucket holds
 *
 * With @amount and @ns in lowest terms, @burst times @ns is at most 2^62.
 */
struct verna_meter_rate {
	__le64 amount;
	__le64 ns;
	__le64 burst;
};
VERNA_ASSERT_SIZE(verna_meter_rate, 24);

/**
 * struct verna_meter - what CREATE_METER and MODIFY_METER read
 * @unit: VERNA_METER_BYTES, _PACKETS
 * @second: VERNA_METER_EXCESS, _PEAK: what the second rate is
 * @flags: VERNA_METER_*
 * @reserved0: zero
 * @overhead: bytes that count with each packet
 * @reserved1: zero
 * @max_bytes: longer packets are red; 0: none are too long
 * @reserved2: zero
 * @committed_rate: for what is green
 * @second_rate: for what is not red. An excess rate of 0 leaves green and red; a peak
 *	rate is at least the committed one
 *
 * Buckets are full in the beginning, and keep what is in them, as far as it fits, when
 * a meter is modified.
 */
struct verna_meter {
	__u8 unit;
	__u8 second;
	__u8 flags;
	__u8 reserved0;
	__le16 overhead;
	__le16 reserved1;
	__le32 max_bytes;
	__le32 reserved2;
	struct verna_meter_rate committed_rate;
	struct verna_meter_rate second_rate;
};
VERNA_ASSERT_SIZE(verna_meter, 64);

/**
 * struct verna_meter_stats - result of VERNA_CMD_QUERY_METER
 * @packets: by colour: green, yellow, red
 * @bytes: of these, without FCS
 */
struct verna_meter_stats {
	__le64 packets[3];
	__le64 bytes[3];
};
VERNA_ASSERT_SIZE(verna_meter_stats, 48);

#define VERNA_EDIT_MAX_COPIES	4u
#define VERNA_EDIT_MAX_TAGS	2u

/* verna_flow_edit.flags, in the order of execution */
#define VERNA_EDIT_DECAP	0x01u	/* takes off a tunnel; the rule asks for tun_kind */
#define VERNA_EDIT_REWRITE	0x02u	/* sets fields */
#define VERNA_EDIT_DEC_TTL	0x04u	/* 0 and 1 go to software as they came */
#define VERNA_EDIT_ENCAP	0x08u	/* puts a tunnel around */

/**
 * struct verna_edit_copy - a copy for a vport, past its tables
 * @vport: one of the card
 * @changed: 0: as the packet came to the rule; 1: as it leaves it
 * @reserved: zero
 */
struct verna_edit_copy {
	__le16 vport;
	__u8 changed;
	__u8 reserved;
};
VERNA_ASSERT_SIZE(verna_edit_copy, 4);

/**
 * struct verna_edit_tag - a VLAN tag
 * @tpid: 0x8100 or 0x88a8
 * @tci: priority, DEI and VID
 */
struct verna_edit_tag {
	__be16 tpid;
	__be16 tci;
};
VERNA_ASSERT_SIZE(verna_edit_tag, 4);

/* verna_edit_encap.flags */
#define VERNA_ENCAP_ID		0x01u	/* has @id; GRE may be without */
#define VERNA_ENCAP_MAY_FRAGMENT 0x02u	/* IPv4 without DF */
#define VERNA_ENCAP_UDP_CSUM	0x04u	/* an outer UDP checksum that is not 0 */

/**
 * struct verna_edit_encap - headers of a tunnel
 * @kind: VERNA_FLOW_TUN_*
 * @ip_version: 4 or 6
 * @tos: without ECN, which is that of the packet
 * @ttl: not 0
 * @flags: VERNA_ENCAP_*
 * @reserved: zero
 * @dport: UDP; the source port is a hash of the packet. GRE: 0
 * @id: VNI or key
 * @dmac: destination MAC address
 * @smac: source MAC address
 * @src_ip: IPv4 in the first four bytes
 * @dst_ip: IPv4 in the first four bytes
 */
struct verna_edit_encap {
	__u8 kind;
	__u8 ip_version;
	__u8 tos;
	__u8 ttl;
	__u8 flags;
	__u8 reserved;
	__be16 dport;
	__be32 id;
	__u8 dmac[6];
	__u8 smac[6];
	__u8 src_ip[16];
	__u8 dst_ip[16];
};
VERNA_ASSERT_SIZE(verna_edit_encap, 56);

/**
 * struct verna_flow_edit - what CREATE_FLOW_EDIT reads
 * @flags: VERNA_EDIT_*
 * @num_copies: of @copies
 * @num_pop: outer tags to take off, 0..2, behind DECAP; none that is not there
 * @num_push: of @push, last of all
 * @reserved0: zero
 * @copies: the rest zero
 * @push: the first becomes the inner one; the rest zero
 * @value: REWRITE: fields to set; @ip_version says of which packets src_ip and dst_ip
 * @mask: REWRITE: their bits. These can be set: dmac, smac, vlan_tpid, vlan_tci, tos,
 *	ttl, flow_label, src_ip, dst_ip, sport, dport
 * @encap: ENCAP; else zero
 * @reserved: zero
 *
 * Checksums follow; the ICRC of RoCE does not.
 */
struct verna_flow_edit {
	__le32 flags;
	__u8 num_copies;
	__u8 num_pop;
	__u8 num_push;
	__u8 reserved0;
	struct verna_edit_copy copies[VERNA_EDIT_MAX_COPIES];
	struct verna_edit_tag push[VERNA_EDIT_MAX_TAGS];
	struct verna_flow_key value;
	struct verna_flow_key mask;
	struct verna_edit_encap encap;
	__le64 reserved;
};
VERNA_ASSERT_SIZE(verna_flow_edit, 384);

#endif /* VERNA_HW_EDIT_H */
