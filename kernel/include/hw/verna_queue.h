/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: the queue, the one abstraction that Ethernet and RDMA share.
 *
 * A *work queue* is a ring of fixed-size entries in host memory. The host
 * writes entries and publishes them by its producer index; the card fetches,
 * executes and reports them in a completion queue. A *completion queue* (CQ)
 * and an *event queue* (EQ) are rings that the card writes and the host reads;
 * the phase bit in the last byte tells which entries are new.
 *
 * Every queue object's memory is one page list (struct verna_pbl). At given
 * offsets in that memory lie the queue record(s) and the ring(s). Entries are a
 * power of two in size and rings are aligned to their entry size, records to
 * 128 bytes, so that none of them crosses a page. Indices run freely modulo
 * 2^32; entry i lies in slot i mod ring size.
 *
 * Publishing work (host):
 *	write the entries; write barrier;
 *	rec.prod_index = new index; full barrier;
 *	if (rec.need_doorbell) write VERNA_DB(type, id) to the doorbell page
 * The card clears need_doorbell while it polls the queue by itself. Before it
 * stops polling it sets need_doorbell, then (full barrier) reads prod_index
 * once more, so that no work is lost. A receive queue needs no doorbell while
 * need_doorbell is zero: the card reads the index when a packet arrives.
 *
 * Arming a CQ or an EQ (host): consume entries; write cons_index;
 *	rec.arm = VERNA_ARM(sn + 1, type); full barrier; look for new entries.
 * The card, after it has written an entry, executes a full barrier, reads the
 * record, and if arm's sequence number differs from the last one that it
 * served and the type matches, it raises the event (CQ) or the vector (EQ)
 * exactly once and remembers the number. No doorbell is involved.
 */
#ifndef VERNA_HW_QUEUE_H
#define VERNA_HW_QUEUE_H

#include "verna_bits.h"

/**
 * struct verna_pbl - physical buffer list: the memory of a queue or a region
 * @addr: level 0: bus address of the (contiguous) buffer;
 *	level 1: bus address of an array of @num_pages __le64 page addresses;
 *	level 2: bus address of an array of __le64 addresses of 4 KiB pages that
 *	hold 512 page addresses each. Page addresses are aligned to the page size.
 *	The card reads the list once, while it executes the command.
 * @num_pages: pages of the buffer (1 for level 0)
 * @offset: bytes from the start of the first page to the start of the buffer,
 *	smaller than the page size; at level 0 it is 0
 * @page_shift: log2 of the page size, see verna_cap_dev.page_shifts; ignored at
 *	level 0
 * @level: 0, 1 or 2
 * @reserved: zero
 */
struct verna_pbl {
	__le64 addr;
	__le32 num_pages;
	__le32 offset;
	__u8 page_shift;
	__u8 level;
	__u8 reserved[6];
};
VERNA_ASSERT_SIZE(verna_pbl, 24);

/**
 * struct verna_wq_rec - record of a work queue
 * @prod_index: host writes: free-running count of entries posted
 * @need_doorbell: card writes: not zero: ring the doorbell after publishing
 */
struct verna_wq_rec {
	__le32 prod_index;
	__le32 reserved0[15];
	__le32 need_doorbell;
	__le32 reserved1[15];
};
VERNA_ASSERT_SIZE(verna_wq_rec, 128);

/**
 * struct verna_cq_rec - record of a CQ or an EQ
 * @cons_index: host writes: free-running count of entries consumed
 * @arm: host writes: VERNA_ARM(); starts as 0 (served, not armed)
 */
struct verna_cq_rec {
	__le32 cons_index;
	__le32 arm;
	__le32 reserved[30];
};
VERNA_ASSERT_SIZE(verna_cq_rec, 128);
VERNA_ASSERT_OFFSET(verna_cq_rec, arm, 4);

#define VERNA_ARM_TYPE_MASK	0x3u
#define VERNA_ARM_NONE		0u
#define VERNA_ARM_NEXT		1u	/* any entry */
#define VERNA_ARM_SOLICITED	2u	/* solicited completions and errors only */
#define VERNA_ARM_SN_SHIFT	2
#define VERNA_ARM(sn, type)	(((__u32)(sn) << VERNA_ARM_SN_SHIFT) | (type))

#define VERNA_CQE_SIZE		64u
#define VERNA_EQE_SIZE		32u

/** VERNA_PHASE - phase bit; the card writes 1 in the first pass, then 0, 1 ... */
#define VERNA_PHASE		0x01u

/**
 * enum verna_cqe_opcode - what a completion reports
 *
 * The first group completes a send queue, the second a receive queue, the last
 * Ethernet queues.
 */
enum verna_cqe_opcode {
	VERNA_CQE_SEND = 0x00,
	VERNA_CQE_RDMA_WRITE = 0x01,
	VERNA_CQE_RDMA_READ = 0x02,
	VERNA_CQE_ATOMIC_CAS = 0x03,
	VERNA_CQE_ATOMIC_FADD = 0x04,
	VERNA_CQE_LOCAL_INV = 0x05,
	VERNA_CQE_REG_MR = 0x06,

	VERNA_CQE_RECV = 0x10,
	VERNA_CQE_RECV_RDMA_WITH_IMM = 0x11,

	VERNA_CQE_ETH_TX = 0x20,
	VERNA_CQE_ETH_RX = 0x21,
};

#define VERNA_CQE_IS_RECV(opcode)	(((opcode) & 0xf0) == 0x10)

/** enum verna_cqe_status - how it ended; values of RDMA as in IBA's list, packed */
enum verna_cqe_status {
	VERNA_CQE_OK = 0,
	VERNA_CQE_LOC_LEN_ERR = 1,
	VERNA_CQE_LOC_QP_OP_ERR = 2,
	VERNA_CQE_LOC_PROT_ERR = 3,
	VERNA_CQE_WR_FLUSH_ERR = 4,
	VERNA_CQE_BAD_RESP_ERR = 5,
	VERNA_CQE_LOC_ACCESS_ERR = 6,
	VERNA_CQE_REM_INV_REQ_ERR = 7,
	VERNA_CQE_REM_ACCESS_ERR = 8,
	VERNA_CQE_REM_OP_ERR = 9,
	VERNA_CQE_RETRY_EXC_ERR = 10,
	VERNA_CQE_RNR_RETRY_EXC_ERR = 11,
	VERNA_CQE_REM_ABORT_ERR = 12,
	VERNA_CQE_FATAL_ERR = 13,
	VERNA_CQE_GENERAL_ERR = 14,

	VERNA_CQE_ETH_DMA_ERR = 32,	/* a TX or RX buffer is not memory */
	VERNA_CQE_ETH_DESC_ERR = 33,	/* a descriptor breaks a rule of verna_eth.h */
};

/* verna_cqe.flags */
#define VERNA_CQE_F_IMM		0x01u	/* @imm is immediate data */
#define VERNA_CQE_F_INV		0x02u	/* @imm is the rkey that was invalidated */
#define VERNA_CQE_F_GRH		0x04u	/* 40 bytes of GRH precede the payload (UD) */
#define VERNA_CQE_F_SOLICITED	0x08u
#define VERNA_CQE_F_VLAN	0x10u	/* @vlan_tci is valid; Ethernet: the tag was stripped */
#define VERNA_CQE_F_IPV4	0x20u	/* RoCEv2 over IPv4 (UD), else IPv6 */
#define VERNA_CQE_F_HASH	0x40u	/* @rss_hash is valid (Ethernet RX) */

/* verna_cqe.rx_flags (Ethernet RX) */
#define VERNA_CQE_RX_CSUM	0x01u	/* @csum is valid */
#define VERNA_CQE_RX_CSUM_BAD	0x02u	/* a checksum was looked at and is wrong */
#define VERNA_CQE_RX_SVLAN	0x04u	/* the stripped tag is 802.1ad, else 802.1Q */
#define VERNA_CQE_RX_HASH_L4	0x08u	/* ports are part of @rss_hash */
#define VERNA_CQE_RX_FIXED_ID	0x10u	/* merged: all frames had the same IPv4 ID */
#define VERNA_CQE_RX_INNER_FIXED_ID 0x20u /* the same for the header inside of a tunnel */
#define VERNA_CQE_RX_MARK	0x40u	/* @imm is the mark of a flow rule */
#define VERNA_CQE_RX_VPORT	0x80u	/* no rule of the switch decided: see @src_qp, @pkey_index */

/**
 * struct verna_cqe - completion queue entry, the same for RDMA and Ethernet
 * @id: QPN, or TX or RX queue number
 * @wqe_index: free-running index of the work request that completed. On a send
 *	queue all requests before it are complete as well. ETH_TX: index of the
 *	last descriptor that is done; all before it are done. ETH_RX: index of the
 *	first descriptor of the packet.
 * @opcode: enum verna_cqe_opcode; on an error of a send queue the opcode of the
 *	failed request
 * @status: enum verna_cqe_status
 * @flags: VERNA_CQE_F_*
 * @syndrome: more of the cause, for people; no driver decides on it
 * @byte_len: bytes received, read or written back; ETH_RX: length of the packet
 *	without FCS
 * @imm: immediate data as on the wire (big endian), or the invalidated rkey
 *	(little endian); ETH_RX with VERNA_CQE_RX_MARK: the mark
 * @src_qp: UD: QPN of the sender; ETH_RX with VERNA_CQE_RX_VPORT: chain of the switch
 *	in which the packet's way ended
 * @smac: UD: source MAC
 * @vlan_tci: VLAN tag of the packet
 * @timestamp: card clock when the entry was written, ns
 * @rss_hash: ETH_RX: Toeplitz hash
 * @num_bufs: ETH_RX: RX descriptors that the packet used, each but the last filled
 * @pkey_index: UD: 0; ETH_RX with VERNA_CQE_RX_VPORT: vport that the packet came from
 * @sl: UD: priority of the VLAN tag
 * @rx_flags: ETH_RX: VERNA_CQE_RX_*
 * @csum: ETH_RX with VERNA_CQE_RX_CSUM: ones' complement sum, folded and not
 *	inverted, over everything behind the Ethernet header, as the bytes lie in
 *	memory. A tag that the card did not strip is behind the header.
 * @csum_ok: ETH_RX: so many TCP, UDP or SCTP checksums, beginning with the
 *	outermost, were verified and are right; a UDP checksum of zero counts. 0:
 *	none was looked at, or the outermost is wrong.
 * @gro_segs: ETH_RX: frames that this packet was merged from; 0 or 1: not merged.
 *	Lengths and checksums of a merged packet's headers are right.
 * @gro_size: ETH_RX, merged: payload bytes of each frame but the last
 * @reserved0: zero
 * @reserved: zero
 * @phase: VERNA_PHASE; written last, together with the preceding 7 bytes
 */
struct verna_cqe {
	__le32 id;
	__le32 wqe_index;
	__u8 opcode;
	__u8 status;
	__u8 flags;
	__u8 syndrome;
	__le32 byte_len;
	__le32 imm;
	__le32 src_qp;
	__u8 smac[6];
	__le16 vlan_tci;
	__le64 timestamp;
	__le32 rss_hash;
	__le16 num_bufs;
	__le16 pkey_index;
	__u8 sl;
	__u8 rx_flags;
	__le16 csum;
	__u8 csum_ok;
	__u8 reserved0;
	__le16 gro_segs;
	__le16 gro_size;
	__u8 reserved[5];
	__u8 phase;
};
VERNA_ASSERT_SIZE(verna_cqe, VERNA_CQE_SIZE);
VERNA_ASSERT_OFFSET(verna_cqe, timestamp, 32);
VERNA_ASSERT_OFFSET(verna_cqe, phase, 63);

/**
 * enum verna_event_type - what an event queue entry reports
 *
 * Events of an object go to the EQ of its CQ; LINK, FATAL and FLOW_AGED go to EQ 0.
 * A driver ignores types that it does not know.
 */
enum verna_event_type {
	VERNA_EVENT_COMPLETION = 1,	/* id: CQN of a CQ that was armed */
	VERNA_EVENT_COMMAND = 2,	/* reserved: vector 0 itself tells of command completions */
	VERNA_EVENT_LINK = 3,		/* id: port; data: 1 up, 0 down */
	VERNA_EVENT_CQ_ERROR = 4,	/* id: CQN; it overran or its memory is gone */
	VERNA_EVENT_QP_FATAL = 5,	/* id: QPN; the QP is in error, its CQ cannot tell */
	VERNA_EVENT_QP_REQ_ERR = 6,	/* id: QPN; invalid request from the peer */
	VERNA_EVENT_QP_ACCESS_ERR = 7,	/* id: QPN; access violation by the peer */
	VERNA_EVENT_QP_COMM_EST = 8,	/* id: QPN; first packet came while in RTR */
	VERNA_EVENT_QP_SQ_DRAINED = 9,	/* id: QPN; SQD: all sent work is acknowledged */
	VERNA_EVENT_QP_LAST_WQE = 10,	/* id: QPN; reserved for SRQ */
	VERNA_EVENT_TXQ_ERROR = 11,	/* id: TX queue, stopped by a bad descriptor or DMA error */
	VERNA_EVENT_RXQ_ERROR = 12,	/* id: RX queue */
	VERNA_EVENT_FATAL = 13,		/* data: enum verna_fatal */
	VERNA_EVENT_FLOW_AGED = 14,	/* id: VERNA_FLOW_RX, _SWITCH; once until GET_AGED_FLOWS */
};

/**
 * struct verna_eqe - event queue entry
 * @type: enum verna_event_type
 * @function: vport the object belongs to
 * @id: object number, see enum verna_event_type
 * @data: see enum verna_event_type
 * @phase: VERNA_PHASE; written last, together with the preceding 7 bytes
 */
struct verna_eqe {
	__le16 type;
	__le16 function;
	__le32 id;
	__le64 data;
	__u8 reserved[15];
	__u8 phase;
};
VERNA_ASSERT_SIZE(verna_eqe, VERNA_EQE_SIZE);
VERNA_ASSERT_OFFSET(verna_eqe, phase, 31);

#endif /* VERNA_HW_QUEUE_H */
