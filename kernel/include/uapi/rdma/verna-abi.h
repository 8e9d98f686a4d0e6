/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: verbs user data, between verna_ib.ko and the provider. Layouts of
 * queues are in hw/; this file only says where user space put them.
 */
#ifndef VERNA_ABI_USER_H
#define VERNA_ABI_USER_H

#include <linux/types.h>

#define VERNA_UVERBS_ABI_VERSION	1

/*
 * The kernel does not check the range of driver ids; upstream ids are small, so
 * this one ("vrna") meets none of them.
 */
#define VERNA_RDMA_DRIVER_ID		0x76726e61

/**
 * struct verna_ib_alloc_ucontext_resp
 * @uar_offset: mmap offset of the context's doorbell page (one page, write only)
 * @uar_index: its number
 * @max_inline: bytes
 * @max_send_sge: data segments
 * @max_recv_sge: data segments
 * @log_max_wqes: log2 of work requests per queue
 * @log_max_cqes: log2 of completion entries
 * @status_offset: mmap offset of &struct verna_ib_status (one page, read only),
 *                 0: there is none
 */
struct verna_ib_alloc_ucontext_resp {
	__aligned_u64 uar_offset;
	__u32 uar_index;
	__u32 max_inline;
	__u32 max_send_sge;
	__u32 max_recv_sge;
	__u32 log_max_wqes;
	__u32 log_max_cqes;
	__aligned_u64 status_offset;
};

/**
 * struct verna_ib_status - what every user context sees of its device
 * @alive: not 0 while the card executes what is posted. Once it is 0 it stays
 *         so, and what is outstanding completes no more: user space flushes it.
 *         When the device goes away the kernel replaces the page by zeros.
 */
struct verna_ib_status {
	__u32 alive;
};

/** struct verna_ib_alloc_pd_resp @pdn: number of the protection domain */
struct verna_ib_alloc_pd_resp {
	__u32 pdn;
	__u32 reserved;
};

/**
 * struct verna_ib_create_cq
 * @buf_va: page-aligned start of the memory
 * @buf_len: bytes
 * @rec_offset: of struct verna_cq_rec
 * @ring_offset: of the ring
 * @log_size: log2 of entries
 * @reserved: zero
 */
struct verna_ib_create_cq {
	__aligned_u64 buf_va;
	__aligned_u64 buf_len;
	__u32 rec_offset;
	__u32 ring_offset;
	__u32 log_size;
	__u32 reserved;
};

struct verna_ib_create_cq_resp {
	__u32 cqn;
	__u32 reserved;
};

/**
 * struct verna_ib_create_qp - fields as in struct verna_cmd_create_qp
 */
struct verna_ib_create_qp {
	__aligned_u64 buf_va;
	__aligned_u64 buf_len;
	__u32 sq_rec_offset;
	__u32 rq_rec_offset;
	__u32 sq_offset;
	__u32 rq_offset;
	__u8 log_sq_size;
	__u8 log_sq_stride;
	__u8 log_rq_size;
	__u8 log_rq_stride;
	__u32 reserved;
};

struct verna_ib_create_qp_resp {
	__u32 qpn;
	__u32 reserved;
};

/** struct verna_ib_create_ah_resp @dmac: of the next hop @sl: after mapping */
struct verna_ib_create_ah_resp {
	__u8 dmac[6];
	__u8 sl;
	__u8 reserved;
};

#endif /* VERNA_ABI_USER_H */
