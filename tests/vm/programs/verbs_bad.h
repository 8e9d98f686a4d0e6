/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bad input: each wrong request has its right status, the queue pairs end in
 * the right state, what was posted with it is flushed in order, the memory of
 * both sides is untouched, and another queue pair goes on.
 */
#ifndef VERBS_BAD_H
#define VERBS_BAD_H

#include "verbs_data.h"

enum twist {
	TWIST_RKEY,		/* a key that nobody handed out */
	TWIST_OTHER_PD,		/* a region of another protection domain */
	TWIST_GONE,		/* a region that was deregistered */
	TWIST_BEFORE,		/* one byte before the region */
	TWIST_AFTER,		/* one byte behind the region */
	TWIST_OUTSIDE,		/* far behind it */
	TWIST_WRAP,		/* past the end of the address space */
	TWIST_NO_RIGHT,		/* the region does not allow the operation */
	TWIST_QP_NO_RIGHT,	/* the queue pair does not allow the operation */
	TWIST_ALIGN,		/* an atomic at an odd address */
	TWIST_LKEY,		/* wrong key of the local segment */
	TWIST_LOCAL_AFTER,	/* local segment longer than its region */
	TWIST_LOCAL_READ_ONLY,	/* results into a region that cannot be written */
	TWIST_RECV_LKEY,	/* wrong key in the receive request */
	TWIST_RECV_SMALL,	/* receive request shorter than the message */
	TWIST_NO_RECV,		/* no receive request at all */
	TWIST_INVALIDATED,	/* a region that SEND_WITH_INV has invalidated */
};

#define IN_ERROR true
#define UNHARMED false

/* The responder ends in error or not; recv: how its first receive request ends. */
static const struct bad_case {
	enum twist twist;
	enum ibv_wr_opcode op;
	const char *name;
	enum ibv_wc_status status;
	bool responder;
	enum ibv_wc_status recv;
} bad_cases[] = {
	{ TWIST_RKEY, IBV_WR_RDMA_WRITE, "WRITE with a wrong rkey",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_RKEY, IBV_WR_RDMA_READ, "READ with a wrong rkey",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_RKEY, IBV_WR_ATOMIC_FETCH_AND_ADD, "FETCH_ADD with a wrong rkey",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_OTHER_PD, IBV_WR_RDMA_WRITE, "WRITE to another domain's region",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_OTHER_PD, IBV_WR_RDMA_READ, "READ of another domain's region",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_OTHER_PD, IBV_WR_ATOMIC_CMP_AND_SWP, "CMP_SWP in another domain's region",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_GONE, IBV_WR_RDMA_WRITE, "WRITE to a deregistered region",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_BEFORE, IBV_WR_RDMA_WRITE, "WRITE from one byte before the region",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_BEFORE, IBV_WR_RDMA_READ, "READ from one byte before the region",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_AFTER, IBV_WR_RDMA_WRITE, "WRITE to one byte behind the region",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_AFTER, IBV_WR_RDMA_READ, "READ to one byte behind the region",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_OUTSIDE, IBV_WR_RDMA_WRITE, "WRITE far outside the region",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_WRAP, IBV_WR_RDMA_WRITE, "WRITE past the end of the address space",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_WRAP, IBV_WR_RDMA_READ, "READ past the end of the address space",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_NO_RIGHT, IBV_WR_RDMA_WRITE, "WRITE to a region without remote write",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_NO_RIGHT, IBV_WR_RDMA_READ, "READ of a region without remote read",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_NO_RIGHT, IBV_WR_ATOMIC_FETCH_AND_ADD, "FETCH_ADD without remote atomic",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_QP_NO_RIGHT, IBV_WR_RDMA_WRITE, "WRITE to a queue pair that forbids it",
	  IBV_WC_REM_INV_REQ_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_QP_NO_RIGHT, IBV_WR_RDMA_READ, "READ from a queue pair that forbids it",
	  IBV_WC_REM_INV_REQ_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_QP_NO_RIGHT, IBV_WR_ATOMIC_CMP_AND_SWP, "CMP_SWP at a queue pair that forbids it",
	  IBV_WC_REM_INV_REQ_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_ALIGN, IBV_WR_ATOMIC_FETCH_AND_ADD, "FETCH_ADD at an unaligned address",
	  IBV_WC_REM_INV_REQ_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_ALIGN, IBV_WR_ATOMIC_CMP_AND_SWP, "CMP_SWP at an unaligned address",
	  IBV_WC_REM_INV_REQ_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
	{ TWIST_LKEY, IBV_WR_SEND, "SEND with a wrong lkey",
	  IBV_WC_LOC_PROT_ERR, UNHARMED, IBV_WC_SUCCESS },
	{ TWIST_LKEY, IBV_WR_RDMA_WRITE, "WRITE with a wrong lkey",
	  IBV_WC_LOC_PROT_ERR, UNHARMED, IBV_WC_SUCCESS },
	{ TWIST_LKEY, IBV_WR_RDMA_READ, "READ with a wrong lkey",
	  IBV_WC_LOC_PROT_ERR, UNHARMED, IBV_WC_SUCCESS },
	{ TWIST_LOCAL_AFTER, IBV_WR_RDMA_WRITE, "WRITE from behind the local region",
	  IBV_WC_LOC_PROT_ERR, UNHARMED, IBV_WC_SUCCESS },
	{ TWIST_LOCAL_READ_ONLY, IBV_WR_RDMA_READ, "READ into a read-only region",
	  IBV_WC_LOC_PROT_ERR, UNHARMED, IBV_WC_SUCCESS },
	{ TWIST_RECV_LKEY, IBV_WR_SEND, "SEND to a receive with a wrong lkey",
	  IBV_WC_REM_OP_ERR, IN_ERROR, IBV_WC_LOC_PROT_ERR },
	{ TWIST_RECV_SMALL, IBV_WR_SEND, "SEND to a receive that is too small",
	  IBV_WC_REM_INV_REQ_ERR, IN_ERROR, IBV_WC_LOC_LEN_ERR },
	{ TWIST_NO_RECV, IBV_WR_SEND, "SEND without a receive, retries run out",
	  IBV_WC_RNR_RETRY_EXC_ERR, UNHARMED, IBV_WC_SUCCESS },
	{ TWIST_NO_RECV, IBV_WR_RDMA_WRITE_WITH_IMM, "WRITE_WITH_IMM without a receive",
	  IBV_WC_RNR_RETRY_EXC_ERR, UNHARMED, IBV_WC_SUCCESS },
	{ TWIST_INVALIDATED, IBV_WR_RDMA_WRITE, "WRITE after SEND_WITH_INV",
	  IBV_WC_REM_ACCESS_ERR, IN_ERROR, IBV_WC_WR_FLUSH_ERR },
};

/*
 * The memory in question lies in the middle of a larger buffer, so that a breach
 * of its bounds would be seen. MSG bytes are asked for. The two sides fill their
 * buffers with different bytes, so that any copy would be seen as well.
 */
#define BUF_LEN (5 * 4096)
#define WIN_AT 8192
#define WIN_LEN 4096
#define MSG 64

struct window {
	uint8_t *buf;
	uint8_t fill;
	struct ibv_mr *mr;
	struct ibv_pd *other_pd;
};

static int right_of(enum ibv_wr_opcode op)
{
	if (op == IBV_WR_RDMA_READ)
		return IBV_ACCESS_REMOTE_READ;
	return op == IBV_WR_ATOMIC_CMP_AND_SWP || op == IBV_WR_ATOMIC_FETCH_AND_ADD ?
	       IBV_ACCESS_REMOTE_ATOMIC : IBV_ACCESS_REMOTE_WRITE;
}

static void window_open(struct side *s, struct window *w, const struct bad_case *bad)
{
	int access = ALL_RIGHTS;
	struct ibv_pd *pd = s->pd;

	memset(w, 0, sizeof(*w));
	w->buf = mmap(NULL, BUF_LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(w->buf != MAP_FAILED, "out of memory");
	w->fill = s->role ? GUARD_BYTE : 0x5c;
	memset(w->buf, w->fill, BUF_LEN);
	if (s->role && bad->twist == TWIST_OTHER_PD) {
		w->other_pd = ibv_alloc_pd(s->ctx);
		MUST(w->other_pd, "cannot allocate a protection domain");
		pd = w->other_pd;
	}
	if (s->role && bad->twist == TWIST_NO_RIGHT)
		access &= ~right_of(bad->op);
	if (!s->role && bad->twist == TWIST_LOCAL_READ_ONLY)
		access = 0;
	w->mr = ibv_reg_mr(pd, w->buf + WIN_AT, WIN_LEN, access);
	MUST(w->mr, "cannot register memory");
}

static void window_close(struct side *s, struct window *w, const struct bad_case *bad)
{
	/* A receive buffer belongs to the card until it completes, well or not. */
	if (s->role && bad->twist == TWIST_RECV_SMALL)
		memset(w->buf + WIN_AT, w->fill, MSG - 1);
	CHECK(s, all_bytes(w->buf, BUF_LEN, w->fill), "memory has changed");
	if (w->mr)
		MUST(!ibv_dereg_mr(w->mr), "cannot deregister memory");
	if (w->other_pd)
		MUST(!ibv_dealloc_pd(w->other_pd), "cannot free a protection domain");
	munmap(w->buf, BUF_LEN);
}

static uint64_t bad_remote_addr(const struct bad_case *bad, const struct target *t)
{
	switch (bad->twist) {
	case TWIST_BEFORE:
		return t->addr - 1;
	case TWIST_AFTER:
		return t->addr + t->len - MSG + 1;
	case TWIST_OUTSIDE:
		return t->addr + (1ull << 40);
	case TWIST_WRAP:
		return UINT64_MAX - MSG / 2 + 1;
	case TWIST_ALIGN:
		return t->addr + 4;
	default:
		return t->addr;
	}
}

/* The bad request and two good ones behind it, which must be flushed. */
static void ask_badly(struct conn *c, const struct bad_case *bad, struct window *w,
		      const struct target *t)
{
	bool atomic = right_of(bad->op) == IBV_ACCESS_REMOTE_ATOMIC;
	struct ibv_sge sge = { (uintptr_t)w->buf + WIN_AT, atomic ? 8 : MSG, w->mr->lkey };
	struct ibv_sge good = sge;
	struct ibv_send_wr wr[3];
	int i;

	if (bad->twist == TWIST_LKEY)
		sge.lkey ^= 0x00a5a500;
	if (bad->twist == TWIST_LOCAL_AFTER)
		sge.addr += WIN_LEN - sge.length + 1;
	wr[0] = make_wr(c, 100, bad->op, &sge, bad_remote_addr(bad, t),
			bad->twist == TWIST_RKEY ? t->rkey ^ 0x00a5a500 : t->rkey);
	if (atomic) {
		wr[0].wr.atomic.compare_add = 0xa5a5a5a5a5a5a5a5ull;
		wr[0].wr.atomic.swap = 1;
	}
	for (i = 1; i < 3; i++) {
		wr[i] = make_wr(c, 100 + i, IBV_WR_SEND, &good, 0, 0);
		wr[i].send_flags = 0;
		wr[i - 1].next = &wr[i];
	}
	CHECK(c->s, !post(c, wr), "post");
	expect(c, c->scq, 100, bad->status);
	for (i = 1; i < 3; i++)
		expect(c, c->scq, 100 + i, IBV_WC_WR_FLUSH_ERR);
	CHECK(c->s, conn_reaches(c, IBV_QPS_ERR), "state %d", conn_state(c));
	wr[2].next = NULL;
	CHECK(c->s, !post(c, &wr[2]), "post in ERROR");
	expect(c, c->scq, 102, IBV_WC_WR_FLUSH_ERR);
}

static void answer_badly(struct conn *c, const struct bad_case *bad)
{
	int i;

	if (bad->responder == UNHARMED) {
		CHECK(c->s, conn_state(c) == IBV_QPS_RTS, "state %d", conn_state(c));
		return;
	}
	for (i = 0; i < 2; i++)
		expect(c, c->rcq, 200 + i, i ? IBV_WC_WR_FLUSH_ERR : bad->recv);
	CHECK(c->s, conn_reaches(c, IBV_QPS_ERR), "state %d", conn_state(c));
	CHECK(c->s, !post_recv(c, 202, NULL, 0), "post_recv in ERROR");
	expect(c, c->rcq, 202, IBV_WC_WR_FLUSH_ERR);
}

static void post_bad_recvs(struct conn *c, const struct bad_case *bad, struct window *w)
{
	struct ibv_sge sge = { (uintptr_t)w->buf + WIN_AT, MSG, w->mr->lkey };
	int i;

	if (bad->twist == TWIST_RECV_LKEY)
		sge.lkey ^= 0x00a5a500;
	if (bad->twist == TWIST_RECV_SMALL)
		sge.length = MSG - 1;
	for (i = 0; i < 2 && bad->twist != TWIST_NO_RECV; i++)
		CHECK(c->s, !post_recv(c, 200 + i, &sge, 1), "post_recv");
}

/* Role 0 sends an empty message that invalidates the window of role 1. */
static void invalidate_window(struct conn *c, const struct target *mine, const struct target *t)
{
	struct ibv_send_wr wr = make_wr(c, 1, IBV_WR_SEND_WITH_INV, NULL, 0, 0);
	struct ibv_wc wc;

	if (!c->s->role) {
		wr.invalidate_rkey = t->rkey;
		CHECK(c->s, !post(c, &wr), "post");
		expect(c, c->scq, 1, IBV_WC_SUCCESS);
		return;
	}
	wc = expect(c, c->rcq, 1, IBV_WC_SUCCESS);
	CHECK(c->s, wc.wc_flags & IBV_WC_WITH_INV, "flags %#x", wc.wc_flags);
	CHECK(c->s, wc.invalidated_rkey == mine->rkey, "rkey %#x", wc.invalidated_rkey);
}

static void run_bad(struct side *s, const struct bad_case *bad)
{
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	struct target mine, theirs;
	struct window w;
	struct conn c;

	if (bad->twist == TWIST_NO_RECV)
		attr.rnr_retry = 2;
	if (bad->twist == TWIST_QP_NO_RIGHT)
		attr.access &= ~right_of(bad->op);
	window_open(s, &w, bad);
	mine = (struct target) { (uintptr_t)w.buf + WIN_AT, WIN_LEN, w.mr->rkey, 0 };
	exchange(s, &mine, &theirs, sizeof(mine));
	if (s->role && bad->twist == TWIST_GONE) {
		MUST(!ibv_dereg_mr(w.mr), "cannot deregister memory");
		w.mr = ibv_reg_mr(s->pd, w.buf, 4096, ALL_RIGHTS);
		MUST(w.mr, "cannot register memory");
	}
	conn_open(s, &c, attr);
	if (s->role && bad->twist == TWIST_INVALIDATED)
		CHECK(s, !post_recv(&c, 1, NULL, 0), "post_recv");
	if (s->role)
		post_bad_recvs(&c, bad, &w);
	meet(s);
	if (bad->twist == TWIST_INVALIDATED)
		invalidate_window(&c, &mine, &theirs);
	if (!s->role)
		ask_badly(&c, bad, &w, &theirs);
	if (s->role && bad->responder == IN_ERROR)
		answer_badly(&c, bad);
	meet(s);
	if (s->role && bad->responder == UNHARMED)
		answer_badly(&c, bad);
	expect_none(&c);
	conn_close(&c);
	window_close(s, &w, bad);
}

/* An rkey means nothing to a message without bytes. */
static void zero_length_case(struct side *s)
{
	const char *name = "RC messages of no bytes do not look at the rkey";
	struct ibv_send_wr wr;
	struct conn c;

	if (!begin(s, name))
		return;
	conn_open(s, &c, conn_defaults(IBV_QPT_RC));
	if (!s->role) {
		wr = make_wr(&c, 1, IBV_WR_RDMA_WRITE, NULL, 0x1000, 0xdeadbeef);
		CHECK(s, !post(&c, &wr), "post");
		expect(&c, c.scq, 1, IBV_WC_SUCCESS);
		wr = make_wr(&c, 2, IBV_WR_RDMA_READ, NULL, 0x1000, 0xdeadbeef);
		CHECK(s, !post(&c, &wr), "post");
		expect(&c, c.scq, 2, IBV_WC_SUCCESS);
	}
	conn_close(&c);
	end(s, name);
}

static void nobody_case(struct side *s)
{
	const char *name = "RC to a queue pair that does not answer runs out of retries";
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	struct ibv_send_wr wr;
	struct conn c;

	if (!begin(s, name))
		return;
	attr.timeout = 14;
	attr.retry_cnt = 2;
	conn_open(s, &c, attr);
	if (s->role)
		CHECK(s, !to_state(&c, IBV_QPS_RESET), "to RESET");
	meet(s);
	if (!s->role) {
		wr = make_wr(&c, 1, IBV_WR_SEND, NULL, 0, 0);
		CHECK(s, !post(&c, &wr), "post");
		expect(&c, c.scq, 1, IBV_WC_RETRY_EXC_ERR);
		CHECK(s, conn_reaches(&c, IBV_QPS_ERR), "state %d", conn_state(&c));
	}
	expect_none(&c);
	conn_close(&c);
	end(s, name);
}

/* Datagrams that must vanish, and one that must not. */
static void ud_case(struct side *s, struct region *r)
{
	const char *name = "UD with a wrong Q_Key or number is dropped, the next is not";
	struct ibv_send_wr wr;
	struct ibv_sge sge = sge_of(r, 0, 200);
	struct ibv_wc wc;
	struct conn c;

	if (!begin(s, name))
		return;
	conn_open(s, &c, conn_defaults(IBV_QPT_UD));
	memset(r->buf, GUARD_BYTE, 4096);
	if (s->role)
		CHECK(s, !post_recv(&c, 7, &sge, 1), "post_recv");
	meet(s);
	if (!s->role) {
		sge.length = 100;
		wr = make_wr(&c, 1, IBV_WR_SEND, &sge, 0, 0);
		wr.wr.ud.remote_qkey = QKEY ^ 1;
		CHECK(s, !post(&c, &wr), "post");
		expect(&c, c.scq, 1, IBV_WC_SUCCESS);
		wr = make_wr(&c, 2, IBV_WR_SEND, &sge, 0, 0);
		wr.wr.ud.remote_qpn ^= 0x800001;
		CHECK(s, !post(&c, &wr), "post");
		expect(&c, c.scq, 2, IBV_WC_SUCCESS);
		pattern_fill(r->buf, 0, 100, s->serial);
		wr = make_wr(&c, 3, IBV_WR_SEND, &sge, 0, 0);
		CHECK(s, !post(&c, &wr), "post");
		expect(&c, c.scq, 3, IBV_WC_SUCCESS);
	} else {
		wc = expect(&c, c.rcq, 7, IBV_WC_SUCCESS);
		CHECK(s, wc.byte_len == 140, "%u bytes", wc.byte_len);
		CHECK(s, pattern_differs(r->buf + GRH_LEN, 0, 100, s->serial) < 0, "contents");
	}
	meet(s);
	expect_none(&c);
	conn_close(&c);
	end(s, name);
}

static void ud_long_case(struct side *s, struct region *r)
{
	const char *name = "UD longer than any MTU ends in a local error";
	struct ibv_send_wr wr;
	struct ibv_sge sge = sge_of(r, 0, 4096 + 1);
	struct conn c;

	if (!begin(s, name))
		return;
	conn_open(s, &c, conn_defaults(IBV_QPT_UD));
	if (!s->role) {
		wr = make_wr(&c, 1, IBV_WR_SEND, &sge, 0, 0);
		CHECK(s, !post(&c, &wr), "post");
		expect(&c, c.scq, 1, IBV_WC_LOC_LEN_ERR);
	}
	conn_close(&c);
	end(s, name);
}

/* What the provider itself must refuse, without harm to the queue pair. */
static void refused_case(struct side *s, struct region *r)
{
	const char *name = "post_send and post_recv refuse what cannot be";
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	struct ibv_sge sge[MAX_SGE + 1];
	struct ibv_send_wr wr[3], *bad;
	struct ibv_recv_wr rwr = { .sg_list = sge }, *bad_recv;
	struct conn c;
	uint32_t i;

	if (!begin(s, name))
		return;
	attr.inline_len = 32;
	conn_open(s, &c, attr);
	for (i = 0; i <= MAX_SGE; i++)
		sge[i] = sge_of(r, 0, 1);
	for (i = 0; i < 3; i++)
		wr[i] = make_wr(&c, i, IBV_WR_SEND, sge, 0, 0);
	wr[0].num_sge = c.cap.max_send_sge + 1;
	CHECK(s, ibv_post_send(c.qp, wr, &bad) == EINVAL && bad == wr, "too many segments");
	wr[0].num_sge = 1;
	wr[0].opcode = (enum ibv_wr_opcode)77;
	CHECK(s, ibv_post_send(c.qp, wr, &bad) == EINVAL && bad == wr, "opcode");
	wr[0].opcode = IBV_WR_SEND;
	wr[0].send_flags = IBV_SEND_INLINE;
	sge[0].length = c.cap.max_inline_data + 1;
	CHECK(s, ibv_post_send(c.qp, wr, &bad) == EINVAL && bad == wr, "inline");
	sge[0].length = sge[1].length = 0x80000000u;
	wr[0].num_sge = 2;
	CHECK(s, ibv_post_send(c.qp, wr, &bad) == EINVAL && bad == wr, "inline sum");
	rwr.num_sge = c.cap.max_recv_sge + 1;
	CHECK(s, ibv_post_recv(c.qp, &rwr, &bad_recv) == EINVAL && bad_recv == &rwr, "segments");
	rwr.num_sge = 0;
	for (i = 0; i < c.cap.max_recv_wr; i++)
		CHECK(s, !ibv_post_recv(c.qp, &rwr, &bad_recv), "receive %u", i);
	CHECK(s, ibv_post_recv(c.qp, &rwr, &bad_recv) == ENOMEM, "a full receive queue");
	expect_none(&c);
	/* The first of a list is posted, the bad one named. */
	meet(s);
	for (i = 0; i < 3; i++)
		wr[i] = make_wr(&c, i, IBV_WR_SEND, NULL, 0, 0);
	wr[0].next = &wr[1];
	wr[1].opcode = (enum ibv_wr_opcode)77;
	wr[1].next = &wr[2];
	CHECK(s, ibv_post_send(c.qp, wr, &bad) == EINVAL && bad == &wr[1], "list");
	expect(&c, c.scq, 0, IBV_WC_SUCCESS);
	expect(&c, c.rcq, 0, IBV_WC_SUCCESS);
	meet(s);
	expect_none(&c);
	conn_close(&c);
	end(s, name);
}

static void bad_input_cases(struct side *s)
{
	struct conn bystander;
	struct region r;
	char name[128];
	size_t i;

	region_open(s, &r, ARENA);
	conn_open(s, &bystander, conn_defaults(IBV_QPT_RC));
	for (i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++) {
		if (s->opt->quick && i % 5)
			continue;
		snprintf(name, sizeof(name), "RC %s", bad_cases[i].name);
		if (!begin(s, name))
			continue;
		run_bad(s, &bad_cases[i]);
		check_alive(&bystander, &r);
		end(s, name);
	}
	zero_length_case(s);
	nobody_case(s);
	ud_case(s, &r);
	ud_long_case(s, &r);
	refused_case(s, &r);
	conn_close(&bystander);
	region_close(s, &r);
}

#endif /* VERBS_BAD_H */
