/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: Ethernet descriptors. TX and RX queues are work queues
 * (verna_queue.h); their entries are the descriptors below.
 */
#ifndef VERNA_HW_ETH_H
#define VERNA_HW_ETH_H

#include "verna_bits.h"

/*
 * verna_tx_desc.flags; bits not named here are reserved. All but EOP belong to
 * the first descriptor of a packet and are zero on the others. Each asks for a
 * feature of verna_cap_eth, VPORT for the switch's mode; without it the packet is
 * refused.
 */
#define VERNA_TX_F_EOP		0x0001u	/* last descriptor of the packet */
#define VERNA_TX_F_CSUM		0x0002u	/* Internet checksum, see @csum_start */
#define VERNA_TX_F_CRC32C	0x0004u	/* the same with SCTP's CRC32c */
#define VERNA_TX_F_VLAN		0x0008u	/* insert an 802.1Q tag (TPID 0x8100) */
#define VERNA_TX_F_SVLAN	0x0010u	/* insert an 802.1ad tag (TPID 0x88a8) */
#define VERNA_TX_F_TSO		0x0020u	/* cut into TCP segments */
#define VERNA_TX_F_USO		0x0040u	/* cut into UDP datagrams */
#define VERNA_TX_F_FIXED_ID	0x0080u	/* TSO, USO: the IPv4 ID of all segments is the same */
#define VERNA_TX_F_OUTER_FIXED_ID 0x0100u /* the same for the IPv4 header around a tunnel */
#define VERNA_TX_F_KEEP_CWR	0x0200u	/* TSO: CWR stays in all segments (AccECN) */
#define VERNA_TX_F_VPORT	0x0400u	/* to @vport; a PF in switchdev mode only */

/**
 * struct verna_tx_desc - one fragment of a packet to send
 * @addr: bus address of the fragment
 * @len: bytes, 1..65536
 * @flags: VERNA_TX_F_*
 * @vlan_tci: VLAN, SVLAN: the tag's priority, DEI and VID. It is inserted behind
 *	the MAC addresses after all else is done; no offset below counts it.
 * @csum_start: CSUM, CRC32C: where summing begins, bytes from the start of the
 *	packet; it ends with the packet. TSO, USO: the TCP or UDP header.
 * @csum_offset: CSUM, CRC32C: the result goes to @csum_start + @csum_offset.
 *	CSUM: the field holds the folded sum of the pseudo header beforehand. A
 *	result of 0 is written as 0xffff if it is a UDP checksum, that is, if
 *	@csum_offset is 6. TSO, USO: zero.
 * @mss: TSO, USO: payload bytes of each segment but the last, at least 1
 * @hdr_len: TSO, USO: bytes of all headers, which begin every segment, at most
 *	VERNA_TX_MAX_HDR
 * @l3_offset: TSO, USO: the (inner) IPv4 or IPv6 header
 * @outer_l3_offset: TSO, USO in a tunnel: the outer IPv4 or IPv6 header, else 0
 * @outer_l4_offset: TSO, USO in a tunnel: its UDP or GRE header; 0 if IP is in IP
 * @vport: VPORT: where the packet, or each of its segments, goes, past loopback mode,
 *	spoof check and all tables of the switch
 *
 * Fields of which no flag makes use are zero.
 *
 * A packet is 1..verna_cap_eth.max_tx_frags descriptors, the last with EOP; it
 * is an Ethernet frame without FCS of 14 bytes up to MTU + 22 (two VLAN tags are
 * allowed, an inserted one counts). Shorter than 60 bytes is padded by the card. The card starts a
 * packet only when its EOP descriptor is posted. One CQE may complete many
 * packets. A descriptor that breaks a rule completes in error
 * (VERNA_CQE_ETH_DESC_ERR or _DMA_ERR, wqe_index is its EOP), is counted, and
 * the queue goes on with the next packet; a packet without EOP in
 * max_tx_frags descriptors stops the queue (VERNA_EVENT_TXQ_ERROR).
 *
 * TSO, USO: the packet may be longer, up to verna_cap_eth.max_tso_bytes; each
 * segment must fit. The card writes lengths, IPv4 IDs (the packet's, then one
 * more for each segment, unless fixed), IPv4 header checksums, TCP sequence
 * numbers and flags (FIN and PSH only on the last segment, CWR only on the first
 * unless KEEP_CWR) and TCP or UDP checksums of all segments, whatever the packet
 * has in these fields. Around a tunnel it writes the outer lengths, IDs and
 * header checksums, the outer UDP checksum if the packet's is not zero, and the
 * GRE checksum with the zero behind it if the GRE header has one. Headers that
 * are not what @l3_offset and its like say, or are inconsistent, are an error as
 * above, and nothing is sent.
 */
struct verna_tx_desc {
	__le64 addr;
	__le32 len;
	__le16 flags;
	__le16 vlan_tci;
	__le16 csum_start;
	__le16 csum_offset;
	__le16 mss;
	__le16 hdr_len;
	__le16 l3_offset;
	__le16 outer_l3_offset;
	__le16 outer_l4_offset;
	__le16 vport;
};
VERNA_ASSERT_SIZE(verna_tx_desc, 32);
VERNA_ASSERT_OFFSET(verna_tx_desc, csum_start, 16);

/**
 * struct verna_rx_desc - one receive buffer
 * @addr: bus address of the buffer
 * @len: its size in bytes, 64..65536
 * @reserved: zero
 *
 * A packet fills one buffer after the other in the order of posting; the CQE
 * tells the first (wqe_index) and how many (num_bufs). The card never writes
 * past @len. A packet that finds too few buffers is dropped and counted
 * (rx_no_buffer) and uses none.
 */
struct verna_rx_desc {
	__le64 addr;
	__le32 len;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_rx_desc, 16);

#define VERNA_TX_MAX_HDR	512u
#define VERNA_ETH_MIN_FRAME	60u	/* without FCS */
#define VERNA_ETH_OVERHEAD	22u	/* header and two VLAN tags beyond the MTU */

/*
 * Receive side scaling. The input of the Toeplitz hash is what a context selects of
 * these, in this order: source address, destination address, source port,
 * destination port, IPv6 flow label (4 bytes, the upper 12 bits zero).
 */
#define VERNA_RSS_KEY_SIZE	52u

/* enum verna_rss_type - kinds of packets, for each of which fields are chosen */
enum verna_rss_type {
	VERNA_RSS_IPV4 = 0,	/* IPv4 that is none of the three below, and fragments */
	VERNA_RSS_TCPV4 = 1,
	VERNA_RSS_UDPV4 = 2,
	VERNA_RSS_SCTPV4 = 3,
	VERNA_RSS_IPV6 = 4,
	VERNA_RSS_TCPV6 = 5,
	VERNA_RSS_UDPV6 = 6,
	VERNA_RSS_SCTPV6 = 7,
	VERNA_RSS_NUM_TYPES = 8
};

/* verna_cmd_set_rss.fields */
#define VERNA_RSS_SRC_IP	0x01u
#define VERNA_RSS_DST_IP	0x02u
#define VERNA_RSS_SRC_PORT	0x04u	/* not with VERNA_RSS_IPV4, _IPV6 */
#define VERNA_RSS_DST_PORT	0x08u	/* the same */
#define VERNA_RSS_FLOW_LABEL	0x10u	/* IPv6 only */
#define VERNA_RSS_IPS		(VERNA_RSS_SRC_IP | VERNA_RSS_DST_IP)
#define VERNA_RSS_PORTS		(VERNA_RSS_SRC_PORT | VERNA_RSS_DST_PORT)

/**
 * enum verna_rss_transform - what becomes of the fields before they are hashed
 * @VERNA_RSS_PLAIN: nothing
 * @VERNA_RSS_SYM_XOR: source and destination are both replaced by their exclusive
 *	or, addresses and ports alike
 * @VERNA_RSS_SYM_OR_XOR: the source is replaced by the inclusive or, the
 *	destination by the exclusive or of both
 *
 * The symmetric forms give both directions of a connection the same hash. They
 * need source and destination together, and no flow label, for every type.
 */
enum verna_rss_transform {
	VERNA_RSS_PLAIN = 0,
	VERNA_RSS_SYM_XOR = 1,
	VERNA_RSS_SYM_OR_XOR = 2
};

#endif /* VERNA_HW_ETH_H */
