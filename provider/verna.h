/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: objects of the verbs provider and what its files offer each other.
 */
#ifndef VERNA_PROVIDER_H
#define VERNA_PROVIDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <ccan/array_size.h>
#include <infiniband/driver.h>
#include <util/compiler.h>
#include <util/util.h>

#include "hw/verna_queue.h"
#include "hw/verna_rdma.h"
#include "ring.h"
#include "uapi/rdma/verna-abi.h"

struct verna_device {
	struct verbs_device vdev;
	size_t page_size;
};

/**
 * struct verna_context - an open device
 * @uar: doorbell page, write only
 * @status: the driver's word on the device, read only
 * @max_inline: bytes of inline data of a send request
 * @max_send_sge: data segments of a send request
 * @max_recv_sge: data segments of a receive request
 * @log_max_wqes: log2 of requests of a queue
 * @log_max_cqes: log2 of entries of a CQ
 */
struct verna_context {
	struct verbs_context vctx;
	void *uar;
	const struct verna_ib_status *status;
	uint32_t max_inline;
	uint32_t max_send_sge;
	uint32_t max_recv_sge;
	uint32_t log_max_wqes;
	uint32_t log_max_cqes;
};

/** struct verna_buf - page-aligned memory that the card accesses */
struct verna_buf {
	uint8_t *addr;
	size_t length;
};

/** struct verna_td - thread domain: a promise to use one thread; @refcnt parents */
struct verna_td {
	struct ibv_td ibv_td;
	atomic_int refcnt;
};

/**
 * struct verna_pd - protection domain or parent domain
 * @pdn: the card's number
 * @refcnt: parent domains that contain this one
 * @contained: of a parent domain, else NULL
 * @td: thread domain of a parent domain, or NULL
 */
struct verna_pd {
	struct ibv_pd ibv_pd;
	uint32_t pdn;
	atomic_int refcnt;
	struct verna_pd *contained;
	struct verna_td *td;
};

struct verna_ah {
	struct ibv_ah ibv_ah;
	struct verna_av av;
};

/** struct verna_qp_link - membership of a queue pair in a CQ's map */
struct verna_qp_link {
	struct verna_qp *qp;
	struct verna_qp_link *next;
};

/**
 * struct verna_qp_map - the queue pairs that complete into a CQ, by number
 *
 * The map belongs to the CQ and is covered by its lock, which a poller holds
 * anyway: no table of the whole context, no race of lookup and destruction.
 * It grows with the number of queue pairs; their numbers are random.
 */
struct verna_qp_map {
	struct verna_qp_link **bucket;
	uint32_t mask;
	uint32_t count;
};

/**
 * struct verna_cq - completion queue
 * @lock: of pollers, of the map and of the arm state
 * @ring: entries
 * @mask: entries - 1
 * @log_size: log2 of entries
 * @cons: index of the next entry to consume
 * @rec: record shared with the card
 * @map: queue pairs
 * @last: queue pair of the last entry, the likely one of the next
 * @arm_sn: sequence number of the last arming
 * @armed_next: armed for any entry and no event seen since
 * @cur: extended polling: entry that the readers look at
 * @status: of the context
 * @flushing: the device is dead and the card's last entry is consumed
 * @flushed: made by us: what the card would have written for a flushed request
 */
struct verna_cq {
	struct verbs_cq vcq;
	struct verna_lock lock;
	struct verna_cqe *ring;
	uint32_t mask;
	uint32_t log_size;
	uint32_t cons;
	struct verna_cq_rec *rec;
	struct verna_qp_map map;
	struct verna_qp *last;
	uint32_t arm_sn;
	atomic_bool armed_next;
	const struct verna_cqe *cur;
	const struct verna_ib_status *status;
	bool flushing;
	struct verna_cqe flushed;
	struct verna_buf buf;
};

/**
 * struct verna_qp - queue pair
 * @send_ops: bit n: enum ibv_wr_opcode n may be posted
 * @send_flags: VERNA_WR_F_* of every request (sq_sig_all)
 * @ud: requests carry an address
 * @max_inline: bytes of inline data
 * @send_link: in the map of the send CQ
 * @recv_link: in the map of the receive CQ, unused if that is the send CQ
 * @cur: ibv_wr_*: request being built
 * @cur_head: ibv_wr_*: head after it
 * @cur_err: ibv_wr_*: first error since wr_start
 */
struct verna_qp {
	struct verbs_qp vqp;
	struct verna_wq sq;
	struct verna_wq rq;
	uint32_t send_ops;
	uint8_t send_flags;
	bool ud;
	uint32_t max_inline;
	struct verna_qp_link send_link;
	struct verna_qp_link recv_link;
	struct verna_sq_wqe *cur;
	uint32_t cur_head;
	int cur_err;
	struct verna_buf buf;
};

static inline struct verna_context *to_vctx(struct ibv_context *ctx)
{
	return container_of(ctx, struct verna_context, vctx.context);
}

static inline struct verna_device *to_vdev(struct ibv_device *dev)
{
	return container_of(dev, struct verna_device, vdev.device);
}

static inline struct verna_pd *to_vpd(struct ibv_pd *pd)
{
	return container_of(pd, struct verna_pd, ibv_pd);
}

static inline struct verna_ah *to_vah(struct ibv_ah *ah)
{
	return container_of(ah, struct verna_ah, ibv_ah);
}

static inline struct verna_cq *to_vcq(struct ibv_cq *cq)
{
	return container_of(cq, struct verna_cq, vcq.cq);
}

static inline struct verna_cq *to_vcq_ex(struct ibv_cq_ex *cq)
{
	return container_of(cq, struct verna_cq, vcq.cq_ex);
}

static inline struct verna_qp *to_vqp(struct ibv_qp *qp)
{
	return container_of(qp, struct verna_qp, vqp.qp);
}

static inline struct verna_qp *to_vqp_ex(struct ibv_qp_ex *qp)
{
	return container_of(qp, struct verna_qp, vqp.qp_ex);
}

/* buf.c */
int verna_buf_alloc(struct verna_context *ctx, struct verna_buf *buf,
		    size_t length);
void verna_buf_free(struct verna_buf *buf);

/* pd_mr.c */
struct ibv_pd *verna_alloc_pd(struct ibv_context *ibctx);
struct ibv_pd *
verna_alloc_parent_domain(struct ibv_context *ibctx,
			  struct ibv_parent_domain_init_attr *attr);
int verna_dealloc_pd(struct ibv_pd *ibpd);
struct ibv_td *verna_alloc_td(struct ibv_context *ibctx,
			      struct ibv_td_init_attr *attr);
int verna_dealloc_td(struct ibv_td *ibtd);
struct ibv_mr *verna_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access);
int verna_dereg_mr(struct verbs_mr *vmr);

/** verna_pd_locks - must objects of this domain be safe to use from many threads? */
static inline bool verna_pd_locks(struct ibv_pd *ibpd)
{
	return !ibpd || !to_vpd(ibpd)->td;
}

/* ah.c */
struct ibv_ah *verna_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr);
int verna_destroy_ah(struct ibv_ah *ibah);

/* cq.c */
struct ibv_cq *verna_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector);
struct ibv_cq_ex *verna_create_cq_ex(struct ibv_context *ibctx,
				     struct ibv_cq_init_attr_ex *attr);
int verna_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr);
int verna_destroy_cq(struct ibv_cq *ibcq);
int verna_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc);
int verna_req_notify_cq(struct ibv_cq *ibcq, int solicited_only);
void verna_cq_event(struct ibv_cq *ibcq);
int verna_cq_add_qp(struct verna_cq *cq, struct verna_qp *qp,
		    struct verna_qp_link *link);
void verna_cq_remove_qp(struct verna_cq *cq, struct verna_qp_link *link);
void verna_cq_clean(struct verna_cq *cq, uint32_t qpn);
const struct verna_cqe *verna_cq_next(struct verna_cq *cq,
				      struct verna_wq **wq);

/* flush.c */
const struct verna_cqe *verna_cq_flush(struct verna_cq *cq,
				       struct verna_wq **wq);

/** verna_cq_publish - entries before cons are read: the card may write there */
static inline void verna_cq_publish(struct verna_cq *cq)
{
	atomic_thread_fence(memory_order_release);
	verna_rec_store(&cq->rec->cons_index, cq->cons);
}

/* cq_ex.c */
void verna_cq_set_readers(struct verna_cq *cq, uint64_t wc_flags);

/* qp.c */
struct ibv_qp *verna_create_qp(struct ibv_pd *pd,
			       struct ibv_qp_init_attr *attr);
struct ibv_qp *verna_create_qp_ex(struct ibv_context *ibctx,
				  struct ibv_qp_init_attr_ex *attr);
int verna_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		    int attr_mask);
int verna_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		   int attr_mask, struct ibv_qp_init_attr *init_attr);
int verna_destroy_qp(struct ibv_qp *ibqp);

/* wr.c */
uint32_t verna_send_ops(enum ibv_qp_type type);
int verna_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		    struct ibv_send_wr **bad_wr);
int verna_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		    struct ibv_recv_wr **bad_wr);

/* wr_ex.c */
int verna_qp_set_builders(struct verna_qp *qp, uint64_t ops);

#endif /* VERNA_PROVIDER_H */
