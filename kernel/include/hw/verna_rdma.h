/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: RDMA work requests. A queue pair (QP) is two work queues
 * (verna_queue.h), its send queue (SQ) and receive queue (RQ); entries are a
 * power of two in size, chosen at creation, and hold one work request each.
 */
#ifndef VERNA_HW_RDMA_H
#define VERNA_HW_RDMA_H

#include "verna_bits.h"

enum verna_qp_type {
	VERNA_QP_RC = 1,
	VERNA_QP_UC = 2,
	VERNA_QP_UD = 3,
	VERNA_QP_GSI = 4,	/* QPN 1, one per port; wire format of UD */
};

/** enum verna_qp_state - as IBA names them */
enum verna_qp_state {
	VERNA_QPS_RESET = 0,
	VERNA_QPS_INIT = 1,
	VERNA_QPS_RTR = 2,
	VERNA_QPS_RTS = 3,
	VERNA_QPS_SQD = 4,
	VERNA_QPS_SQE = 5,
	VERNA_QPS_ERR = 6,
};

/* Access rights of a region or a QP. */
#define VERNA_ACCESS_LOCAL_WRITE	0x01u
#define VERNA_ACCESS_REMOTE_WRITE	0x02u
#define VERNA_ACCESS_REMOTE_READ	0x04u
#define VERNA_ACCESS_REMOTE_ATOMIC	0x08u
#define VERNA_ACCESS_ZERO_BASED		0x10u	/* addresses count from 0, not from the iova */
#define VERNA_ACCESS_ALL		0x1fu

enum verna_wr_opcode {
	VERNA_WR_SEND = 0x00,
	VERNA_WR_SEND_WITH_IMM = 0x01,
	VERNA_WR_SEND_WITH_INV = 0x02,
	VERNA_WR_RDMA_WRITE = 0x03,
	VERNA_WR_RDMA_WRITE_WITH_IMM = 0x04,
	VERNA_WR_RDMA_READ = 0x05,
	VERNA_WR_ATOMIC_CAS = 0x06,
	VERNA_WR_ATOMIC_FADD = 0x07,
	VERNA_WR_LOCAL_INV = 0x08,
};

/* verna_sq_wqe.flags */
#define VERNA_WR_F_SIGNALED	0x01u	/* write a CQE on success */
#define VERNA_WR_F_SOLICITED	0x02u	/* solicited event at the receiver */
#define VERNA_WR_F_FENCE	0x04u	/* wait for earlier READs and atomics */
#define VERNA_WR_F_INLINE	0x08u	/* data follow in the entry itself */

/**
 * struct verna_sge - data segment
 * @addr: address in the region
 * @length: bytes; 0 is an empty segment whose key is not checked
 * @lkey: key of the region
 */
struct verna_sge {
	__le64 addr;
	__le32 length;
	__le32 lkey;
};
VERNA_ASSERT_SIZE(verna_sge, 16);

/**
 * struct verna_av - address vector: where a packet goes
 * @dgid: destination GID as on the wire (IPv4: ::ffff:a.b.c.d)
 * @dmac: destination MAC (the next hop)
 * @sgid_index: own entry of the GID table: source address, MAC and VLAN
 * @hop_limit: TTL or hop limit; 0 means 64
 * @traffic_class: DSCP and ECN bits
 * @sl: service level, the priority in a VLAN tag, 0..7
 * @udp_sport: UDP source port, 0xc000..0xffff; 0: the card derives one
 * @flow_label: 20 bits
 */
struct verna_av {
	__u8 dgid[16];
	__u8 dmac[6];
	__u8 sgid_index;
	__u8 hop_limit;
	__u8 traffic_class;
	__u8 sl;
	__le16 udp_sport;
	__le32 flow_label;
};
VERNA_ASSERT_SIZE(verna_av, 32);

/**
 * struct verna_sq_wqe - send work request: 64 bytes, then the data
 * @opcode: enum verna_wr_opcode
 * @flags: VERNA_WR_F_*
 * @num_sge: data segments at offset 64; 0 with INLINE
 * @inline_len: bytes of inline data at offset 64
 * @imm: immediate data as on the wire, or (WITH_INV, LOCAL_INV) the rkey,
 *	little endian
 * @rdma: RDMA_WRITE, RDMA_READ
 * @atomic: ATOMIC_*: 8 bytes, naturally aligned; the original value is written
 *	to the one data segment in host (little endian) byte order
 * @ud: UD and GSI
 *
 * The entry size is 128 bytes or a larger power of two:
 * 64 + max(16 * max_send_sge, max_inline), rounded up.
 */
struct verna_sq_wqe {
	__u8 opcode;
	__u8 flags;
	__u8 num_sge;
	__u8 reserved0;
	__le32 inline_len;
	__le32 imm;
	__le32 reserved1;
	union {
		struct {
			__le64 remote_addr;
			__le32 rkey;
			__le32 reserved[9];
		} rdma;
		struct {
			__le64 remote_addr;
			__le32 rkey;
			__le32 reserved0;
			__le64 swap_add;	/* CAS: swap; FADD: add */
			__le64 compare;
			__le32 reserved[4];
		} atomic;
		struct {
			__le32 remote_qpn;
			__le32 remote_qkey;	/* bit 31 set: the QP's own Q_Key is used */
			struct verna_av av;
			__le32 reserved[2];
		} ud;
	};
};
VERNA_ASSERT_SIZE(verna_sq_wqe, 64);
VERNA_ASSERT_OFFSET(verna_sq_wqe, rdma, 16);
#define VERNA_SQ_WQE_HDR	64u
#define VERNA_SQ_WQE_MIN	128u
#define VERNA_SQ_WQE_MAX	1024u

/**
 * struct verna_rq_wqe - receive work request: 16 bytes, then the data segments
 * @num_sge: data segments that follow, 0..verna_cap_rdma.max_recv_sge
 *
 * The entry size is 16 + 16 * max_recv_sge, rounded up to a power of two, 32 at
 * least.
 */
struct verna_rq_wqe {
	__u8 num_sge;
	__u8 reserved[15];
};
VERNA_ASSERT_SIZE(verna_rq_wqe, 16);
#define VERNA_RQ_WQE_HDR	16u
#define VERNA_RQ_WQE_MIN	32u
#define VERNA_RQ_WQE_MAX	512u

/* Bytes before the payload of a UD receive: GRH, or 20 unused and an IPv4 header. */
#define VERNA_GRH_SIZE		40u

#endif /* VERNA_HW_RDMA_H */
