/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A queue pair on each side, connected to each other, and completions of it.
 */
#ifndef VERBS_CONN_H
#define VERBS_CONN_H

#include "verbs_side.h"

#define QKEY 0x11223344

struct conn_attr {
	enum ibv_qp_type type;
	uint32_t depth;
	uint32_t inline_len;
	int access;			/* of the queue pair */
	uint8_t rnr_retry;
	uint8_t retry_cnt;
	uint8_t timeout;
	struct ibv_comp_channel *channel;	/* of the receive CQ */
	struct ibv_cq *cq;		/* for both queues; NULL: one CQ for each */
	uint64_t send_ops;		/* IBV_QP_EX_WITH_*, 0: the plain interface */
};

static inline struct conn_attr conn_defaults(enum ibv_qp_type type)
{
	return (struct conn_attr) {
		.type = type, .depth = 16, .inline_len = 0,
		.access = type == IBV_QPT_RC ? ALL_RIGHTS :
			  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		.rnr_retry = 7, .retry_cnt = 7, .timeout = 17,
	};
}

struct peer {
	uint32_t qpn;
	uint32_t psn;
	union ibv_gid gid;
};

struct conn {
	struct side *s;
	struct conn_attr attr;
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_qp *qp;
	struct ibv_qp_cap cap;
	struct ibv_ah *ah;
	struct peer me;
	struct peer peer;
};

static inline struct ibv_ah_attr path_to(struct conn *c)
{
	return (struct ibv_ah_attr) {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = c->peer.gid, .sgid_index = c->s->gid_index, .hop_limit = 64 },
	};
}

static inline int mtu_code(uint32_t bytes)
{
	return __builtin_ctz(bytes) - 7;
}

static inline int to_init(struct conn *c)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY,
		.qp_access_flags = c->attr.access,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;

	mask |= c->attr.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	return ibv_modify_qp(c->qp, &a, mask);
}

static inline int to_rtr(struct conn *c)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = mtu_code(c->s->mtu),
		.dest_qp_num = c->peer.qpn, .rq_psn = c->peer.psn,
		.max_dest_rd_atomic = 4, .min_rnr_timer = 12, .ah_attr = path_to(c),
	};
	int mask = IBV_QP_STATE;

	if (c->attr.type != IBV_QPT_UD)
		mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (c->attr.type == IBV_QPT_RC)
		mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	return ibv_modify_qp(c->qp, &a, mask);
}

static inline int to_rts(struct conn *c)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTS, .sq_psn = c->me.psn, .timeout = c->attr.timeout,
		.retry_cnt = c->attr.retry_cnt, .rnr_retry = c->attr.rnr_retry,
		.max_rd_atomic = 4,
	};
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (c->attr.type == IBV_QPT_RC)
		mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MAX_QP_RD_ATOMIC;
	return ibv_modify_qp(c->qp, &a, mask);
}

static inline int to_state(struct conn *c, enum ibv_qp_state state)
{
	struct ibv_qp_attr a = { .qp_state = state };

	return ibv_modify_qp(c->qp, &a, IBV_QP_STATE);
}

/* From RESET to RTS on both sides; receives may be posted after it. */
static inline void conn_join(struct conn *c)
{
	struct side *s = c->s;

	c->me = (struct peer) {
		.qpn = c->qp->qp_num, .gid = s->gid,
		.psn = mix(s->opt->seed + s->serial * 2 + s->role) & 0xffffff,
	};
	exchange(s, &c->me, &c->peer, sizeof(c->me));
	MUST(!to_init(c), "to INIT");
	MUST(!to_rtr(c), "to RTR");
	MUST(!to_rts(c), "to RTS");
	meet(s);
}

static inline struct ibv_qp *make_qp(struct conn *c)
{
	struct side *s = c->s;
	struct ibv_qp_init_attr_ex a = {
		.send_cq = c->scq, .recv_cq = c->rcq, .qp_type = c->attr.type,
		.cap = {
			.max_send_wr = c->attr.depth, .max_recv_wr = c->attr.depth,
			.max_send_sge = s->dev.max_sge, .max_recv_sge = s->dev.max_sge,
			.max_inline_data = c->attr.inline_len,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = s->pd,
		.send_ops_flags = c->attr.send_ops,
	};
	struct ibv_qp *qp;

	if (c->attr.send_ops)
		a.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	qp = ibv_create_qp_ex(s->ctx, &a);
	c->cap = a.cap;
	return qp;
}

static inline void conn_open(struct side *s, struct conn *c, struct conn_attr attr)
{
	struct ibv_ah_attr path;

	*c = (struct conn) { .s = s, .attr = attr, .scq = attr.cq, .rcq = attr.cq };
	if (!attr.cq) {
		c->scq = ibv_create_cq(s->ctx, attr.depth, NULL, NULL, 0);
		c->rcq = ibv_create_cq(s->ctx, attr.depth, NULL, attr.channel, 0);
	}
	MUST(c->scq && c->rcq, "cannot create a CQ");
	c->qp = make_qp(c);
	MUST(c->qp, "cannot create a queue pair");
	conn_join(c);
	if (attr.type != IBV_QPT_UD)
		return;
	path = path_to(c);
	c->ah = ibv_create_ah(s->pd, &path);
	MUST(c->ah, "cannot create an address handle");
}

static inline void conn_close(struct conn *c)
{
	meet(c->s);
	MUST(!ibv_destroy_qp(c->qp), "cannot destroy a queue pair");
	if (c->ah)
		MUST(!ibv_destroy_ah(c->ah), "cannot destroy an address handle");
	if (c->attr.cq)
		return;
	MUST(!ibv_destroy_cq(c->scq), "cannot destroy a CQ");
	MUST(!ibv_destroy_cq(c->rcq), "cannot destroy a CQ");
}

static inline enum ibv_qp_state conn_state(struct conn *c)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	if (ibv_query_qp(c->qp, &a, IBV_QP_STATE, &init))
		return IBV_QPS_UNKNOWN;
	return a.qp_state;
}

/* The error may still be on its way to the kernel's view. */
static inline bool conn_reaches(struct conn *c, enum ibv_qp_state state)
{
	uint64_t limit = now_ms() + patience(c->s);

	while (conn_state(c) != state) {
		if (now_ms() > limit)
			return false;
		usleep(1000);
	}
	return true;
}

/* ----------------------------------------------------------- completions */

/* Return: was there one, within the time limit? */
static inline bool take(struct conn *c, struct ibv_cq *cq, struct ibv_wc *wc)
{
	uint64_t limit = now_ms() + patience(c->s);
	unsigned int spins = 0;
	int n;

	memset(wc, 0, sizeof(*wc));
	while (!(n = ibv_poll_cq(cq, 1, wc))) {
		if (++spins % 32)
			continue;
		sched_yield();
		if (now_ms() > limit) {
			c->s->failed = true;
			note(c->s, "no completion within the time limit");
			return false;
		}
	}
	CHECK(c->s, n == 1, "poll_cq returned %d", n);
	return n == 1;
}

/* Takes the next completion, which must be of @wr_id and end like @status. */
static inline struct ibv_wc expect(struct conn *c, struct ibv_cq *cq, uint64_t wr_id,
			    enum ibv_wc_status status)
{
	struct ibv_wc wc;

	if (!take(c, cq, &wc))
		return wc;
	CHECK(c->s, wc.wr_id == wr_id, "wr_id %llu, expected %llu (status %s)",
	      (unsigned long long)wc.wr_id, (unsigned long long)wr_id, ibv_wc_status_str(wc.status));
	CHECK(c->s, wc.status == status, "wr_id %llu: %s, expected %s",
	      (unsigned long long)wr_id, ibv_wc_status_str(wc.status), ibv_wc_status_str(status));
	CHECK(c->s, wc.qp_num == c->qp->qp_num, "of queue pair %u", wc.qp_num);
	return wc;
}

static inline void expect_opcode(struct conn *c, const struct ibv_wc *wc, enum ibv_wc_opcode opcode)
{
	CHECK(c->s, wc->status || wc->opcode == opcode, "opcode %d, expected %d", wc->opcode, opcode);
}

/* No completion is left, and none comes soon. */
static inline void expect_none(struct conn *c)
{
	struct ibv_wc wc;

	CHECK(c->s, !ibv_poll_cq(c->scq, 1, &wc), "wr_id %llu, opcode %d, %s",
	      (unsigned long long)wc.wr_id, wc.opcode, ibv_wc_status_str(wc.status));
	CHECK(c->s, !ibv_poll_cq(c->rcq, 1, &wc), "wr_id %llu, opcode %d, %s",
	      (unsigned long long)wc.wr_id, wc.opcode, ibv_wc_status_str(wc.status));
}

/* --------------------------------------------------------------- posting */

static inline int post_recv(struct conn *c, uint64_t wr_id, struct ibv_sge *sge, int num_sge)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = sge, .num_sge = num_sge };
	struct ibv_recv_wr *bad;

	return ibv_post_recv(c->qp, &wr, &bad);
}

static inline struct ibv_sge sge_of(const struct region *r, size_t at, uint32_t len)
{
	return (struct ibv_sge) { (uintptr_t)r->buf + at, len, r->mr->lkey };
}

/* A request of the plain kind; the caller changes what is special. */
static inline struct ibv_send_wr make_wr(struct conn *c, uint64_t wr_id, enum ibv_wr_opcode opcode,
				  struct ibv_sge *sge, uint64_t remote, uint32_t rkey)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = sge, .num_sge = sge ? 1 : 0, .opcode = opcode,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (c->attr.type == IBV_QPT_UD) {
		wr.wr.ud.ah = c->ah;
		wr.wr.ud.remote_qpn = c->peer.qpn;
		wr.wr.ud.remote_qkey = QKEY;
	} else if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	return wr;
}

static inline int post(struct conn *c, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(c->qp, wr, &bad);
}

#endif /* VERBS_CONN_H */
