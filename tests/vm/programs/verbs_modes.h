/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ways of use: many threads, sleeping on events, the ibv_wr_*() and ibv_cq_ex
 * interfaces, and the life of queue pairs that share a CQ.
 */
#ifndef VERBS_MODES_H
#define VERBS_MODES_H

#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "verbs_data.h"

/* --------------------------------------------------------------- threads */

#define POSTERS 4
#define POLLERS 2

struct crowd {
	struct conn *c;
	struct region *r;
	uint32_t each;
	atomic_uint next_thread;
	atomic_uint polled;
	atomic_bool failed;
	_Atomic(uint8_t) *seen;
};

/* Thread t writes i+1 to its own word, so the last value there is the last request's. */
static void *crowd_poster(void *arg)
{
	struct crowd *w = arg;
	uint32_t t = atomic_fetch_add(&w->next_thread, 1);
	uint64_t limit = now_ms() + 60000;
	uint32_t i;

	for (i = 0; i < w->each; i++) {
		size_t at = 64 * (t * w->each + i);
		struct ibv_sge sge = sge_of(w->r, at, 8);
		struct ibv_send_wr wr = make_wr(w->c, t * w->each + i, IBV_WR_RDMA_WRITE, &sge,
						w->r->remote.addr + 64 * t, w->r->remote.rkey);
		int ret;

		if (i % 3 == 0)
			wr.send_flags |= IBV_SEND_INLINE;
		*(uint64_t *)(w->r->buf + at) = i + 1;
		while ((ret = post(w->c, &wr)) == ENOMEM && now_ms() < limit)
			sched_yield();
		if (ret) {
			note(w->c->s, "thread %u, request %u: %s", t, i, strerror(ret));
			atomic_store(&w->failed, true);
			return NULL;
		}
	}
	return NULL;
}

static void *crowd_poller(void *arg)
{
	struct crowd *w = arg;
	uint32_t all = w->each * POSTERS;
	uint64_t limit = now_ms() + 60000;
	struct ibv_wc wc[4];
	int n, i;

	while (atomic_load(&w->polled) < all && !atomic_load(&w->failed)) {
		n = ibv_poll_cq(w->c->scq, 4, wc);
		if (n == 0) {
			sched_yield();
			if (now_ms() > limit)
				atomic_store(&w->failed, true);
		}
		for (i = 0; i < n; i++) {
			if (wc[i].status || wc[i].wr_id >= all) {
				note(w->c->s, "request %llu: %s", (unsigned long long)wc[i].wr_id,
				     ibv_wc_status_str(wc[i].status));
				atomic_store(&w->failed, true);
				continue;
			}
			atomic_fetch_add(&w->seen[wc[i].wr_id], 1);
		}
		atomic_fetch_add(&w->polled, n > 0 ? n : 0);
	}
	return NULL;
}

static void crowd_run(struct crowd *w)
{
	pthread_t thread[POSTERS + POLLERS];
	uint32_t i;

	w->seen = calloc(w->each * POSTERS, 1);
	MUST(w->seen, "out of memory");
	for (i = 0; i < POSTERS + POLLERS; i++)
		MUST(!pthread_create(&thread[i], NULL, i < POSTERS ? crowd_poster : crowd_poller, w),
		     "cannot create a thread");
	for (i = 0; i < POSTERS + POLLERS; i++)
		pthread_join(thread[i], NULL);
	CHECK(w->c->s, !atomic_load(&w->failed), "a thread met an error or waited too long");
	for (i = 0; i < w->each * POSTERS; i++)
		CHECK(w->c->s, w->seen[i] == 1, "request %u completed %u times", i, w->seen[i]);
	free((void *)w->seen);
}

static void threads_case(struct side *s, struct region *r)
{
	const char *name = "threads share a queue pair and its CQ";
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	struct crowd w = { .r = r, .each = s->opt->quick ? 500 : 4000 };
	struct conn c;
	uint32_t i;

	if (!begin(s, name))
		return;
	attr.inline_len = 8;
	attr.depth = 32;
	memset(r->buf, 0, 64 * POSTERS);
	conn_open(s, &c, attr);
	w.c = &c;
	if (!s->role)
		crowd_run(&w);
	meet(s);
	for (i = 0; i < POSTERS && s->role; i++)
		CHECK(s, *(uint64_t *)(r->buf + 64 * i) == w.each, "thread %u: %llu", i,
		      (unsigned long long)*(uint64_t *)(r->buf + 64 * i));
	expect_none(&c);
	conn_close(&c);
	end(s, name);
}

/* ---------------------------------------------------------------- events */

static bool event_within(struct conn *c, int ms)
{
	struct pollfd fd = { .fd = c->attr.channel->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, ms) != 1)
		return false;
	MUST(!ibv_get_cq_event(c->attr.channel, &cq, &context), "cannot read an event");
	CHECK(c->s, cq == c->rcq, "of another CQ");
	ibv_ack_cq_events(cq, 1);
	return true;
}

/* Sleeps until there is a receive completion; armed or not on entry. */
static void sleep_and_take(struct conn *c, uint64_t wr_id)
{
	uint64_t limit = now_ms() + patience(c->s);
	struct ibv_wc wc;
	int n;

	for (;;) {
		n = ibv_poll_cq(c->rcq, 1, &wc);
		if (n)
			break;
		CHECK(c->s, !ibv_req_notify_cq(c->rcq, 0), "cannot arm");
		n = ibv_poll_cq(c->rcq, 1, &wc);
		if (n)
			break;
		if (!event_within(c, patience(c->s)) || now_ms() > limit) {
			CHECK(c->s, false, "message %llu: no event", (unsigned long long)wr_id);
			return;
		}
	}
	CHECK(c->s, n == 1 && !wc.status && wc.wr_id == wr_id, "wr_id %llu, %s",
	      (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
}

/* Each side sleeps until the other has answered: a lost wake-up would show. */
static void event_ping_pong(struct conn *c, struct region *r, int rounds)
{
	struct side *s = c->s;
	struct ibv_sge sge = sge_of(r, 0, 64);
	struct ibv_send_wr wr;
	int i;

	CHECK(s, !post_recv(c, 0, &sge, 1), "post_recv");
	meet(s);
	for (i = 0; i < rounds && !s->failed; i++) {
		wr = make_wr(c, i, IBV_WR_SEND, &sge, 0, 0);
		if (s->role) {
			sleep_and_take(c, i);
			CHECK(s, !post_recv(c, i + 1, &sge, 1), "post_recv");
		}
		CHECK(s, !post(c, &wr), "post");
		expect(c, c->scq, i, IBV_WC_SUCCESS);
		if (!s->role) {
			sleep_and_take(c, i);
			CHECK(s, !post_recv(c, i + 1, &sge, 1), "post_recv");
		}
	}
	meet(s);
}

static void send_one(struct conn *c, unsigned int flags)
{
	struct ibv_send_wr wr = make_wr(c, 1, IBV_WR_SEND, NULL, 0, 0);

	wr.send_flags |= flags;
	CHECK(c->s, !post(c, &wr), "post");
	expect(c, c->scq, 1, IBV_WC_SUCCESS);
}

static void drain(struct conn *c, int count)
{
	struct ibv_wc wc;

	while (count--)
		take(c, c->rcq, &wc);
}

/* Arm for solicited: only the second of two messages wakes. Unarmed: none does. */
static void event_kinds(struct conn *c)
{
	struct side *s = c->s;
	int i;

	while (s->role && event_within(c, 0))
		;
	for (i = 0; i < 5 && s->role; i++)
		CHECK(s, !post_recv(c, i, NULL, 0), "post_recv");
	if (s->role)
		CHECK(s, !ibv_req_notify_cq(c->rcq, 1), "cannot arm");
	meet(s);
	if (!s->role)
		send_one(c, 0);
	meet(s);
	if (s->role)
		CHECK(s, !event_within(c, 200), "an event of a message that was not solicited");
	meet(s);
	if (!s->role)
		send_one(c, IBV_SEND_SOLICITED);
	if (s->role)
		CHECK(s, event_within(c, patience(s)), "no event of a solicited message");
	meet(s);
	if (!s->role)
		send_one(c, IBV_SEND_SOLICITED);
	meet(s);
	if (s->role) {
		CHECK(s, !event_within(c, 200), "an event of a CQ that is not armed");
		drain(c, 3);
		CHECK(s, !ibv_req_notify_cq(c->rcq, 0), "cannot arm");
	}
	meet(s);
	if (!s->role)
		send_one(c, 0);
	if (s->role)
		CHECK(s, event_within(c, patience(s)), "no event of the next message");
	meet(s);
	if (s->role) {
		CHECK(s, !event_within(c, 100), "a second event");
		drain(c, 1);
	}
}

static void events_case(struct side *s, struct region *r)
{
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	const char *names[] = { "sleeping receivers lose no message",
				"solicited, armed once, not armed" };
	struct conn c;
	int i;

	for (i = 0; i < 2; i++) {
		if (!begin(s, names[i]))
			continue;
		attr.channel = ibv_create_comp_channel(s->ctx);
		MUST(attr.channel, "cannot create a channel");
		conn_open(s, &c, attr);
		if (i == 0)
			event_ping_pong(&c, r, s->opt->quick ? 50 : 500);
		else
			event_kinds(&c);
		conn_close(&c);
		MUST(!ibv_destroy_comp_channel(attr.channel), "cannot destroy the channel");
		end(s, names[i]);
	}
}

/* ------------------------------------------------------- no system call */

#define VERNA_VENDOR_ID 0x1234
#define VERNA_PART_ID 0x7e4a
#define QUIET_ROUNDS 2000

struct quiet {
	struct conn *c;
	struct region *r;
	atomic_uint rounds;
};

/* From prctl() on the kernel ends the thread at any system call but exit. */
static void *quiet_thread(void *arg)
{
	struct quiet *q = arg;
	struct ibv_sge sge = sge_of(q->r, 0, 32);
	struct ibv_send_wr wr = make_wr(q->c, 1, IBV_WR_RDMA_WRITE, &sge, q->r->remote.addr,
					q->r->remote.rkey);
	uint64_t spins = 0;
	struct ibv_wc wc;
	int i;

	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT))
		return NULL;
	for (i = 0; i < QUIET_ROUNDS; i++) {
		if (ibv_req_notify_cq(q->c->scq, 1) || post(q->c, &wr) ||
		    post_recv(q->c, 2, NULL, 0) == EINVAL)
			break;
		while (!ibv_poll_cq(q->c->scq, 1, &wc) && ++spins < 1ull << 32)
			;
		atomic_fetch_add(&q->rounds, !wc.status);
	}
	syscall(SYS_exit, 0);
	return NULL;
}

/* A promise of verna; others, which enter the kernel to post, are not asked. */
static void quiet_case(struct side *s, struct region *r)
{
	const char *name = "posting, polling and arming make no system call";
	struct quiet q = { .r = r };
	pthread_t thread;
	struct conn c;

	if (s->dev.vendor_id != VERNA_VENDOR_ID || s->dev.vendor_part_id != VERNA_PART_ID)
		return;
	if (!begin(s, name))
		return;
	conn_open(s, &c, conn_defaults(IBV_QPT_RC));
	q.c = &c;
	if (!s->role) {
		MUST(!pthread_create(&thread, NULL, quiet_thread, &q), "cannot create a thread");
		pthread_join(thread, NULL);
		CHECK(s, atomic_load(&q.rounds) == QUIET_ROUNDS, "ended in round %u",
		      atomic_load(&q.rounds));
	}
	conn_close(&c);
	end(s, name);
}

/* ------------------------------------------------- the other interfaces */

static void builders_case(struct side *s, struct region *r)
{
	const char *name = "ibv_wr_*: a batch of WRITE, FETCH_ADD, READ, SEND_IMM";
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	struct ibv_data_buf bufs[2];
	struct ibv_qp_ex *qpx;
	struct ibv_sge sge[2];
	struct ibv_wc wc;
	struct conn c;
	uint64_t i;
	int ret;

	if (!begin(s, name))
		return;
	attr.inline_len = 64;
	attr.send_ops = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ |
			IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_IMM;
	memset(r->buf, GUARD_BYTE, 8192);
	if (s->role)
		*(uint64_t *)(r->buf + 256) = 40;
	conn_open(s, &c, attr);
	if (s->role)
		CHECK(s, !post_recv(&c, 9, NULL, 0), "post_recv");
	meet(s);
	if (!s->role) {
		qpx = ibv_qp_to_qp_ex(c.qp);
		pattern_fill(r->buf, 0, 48, s->serial);
		bufs[0] = (struct ibv_data_buf) { r->buf, 20 };
		bufs[1] = (struct ibv_data_buf) { r->buf + 20, 28 };
		sge[0] = sge_of(r, 1024, 10);
		sge[1] = sge_of(r, 2048, 38);
		ibv_wr_start(qpx);
		qpx->wr_id = 1;
		qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qpx, r->remote.rkey, r->remote.addr);
		ibv_wr_set_inline_data_list(qpx, 2, bufs);
		qpx->wr_id = 2;
		ibv_wr_atomic_fetch_add(qpx, r->remote.rkey, r->remote.addr + 256, 2);
		ibv_wr_set_sge(qpx, r->mr->lkey, (uintptr_t)r->buf + 512, 8);
		qpx->wr_id = 3;
		qpx->wr_flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE;
		ibv_wr_rdma_read(qpx, r->remote.rkey, r->remote.addr);
		ibv_wr_set_sge_list(qpx, 2, sge);
		qpx->wr_id = 4;
		ibv_wr_send_imm(qpx, htobe32(77));
		ret = ibv_wr_complete(qpx);
		CHECK(s, !ret, "%s", strerror(ret));
		for (i = 1; i <= 4; i++)
			expect(&c, c.scq, i, IBV_WC_SUCCESS);
		CHECK(s, *(uint64_t *)(r->buf + 512) == 40, "fetched");
		CHECK(s, pattern_differs(r->buf + 1024, 0, 10, s->serial) < 0, "first part read");
		CHECK(s, pattern_differs(r->buf + 2048, 10, 38, s->serial) < 0, "second part read");
		ibv_wr_start(qpx);
		ibv_wr_rdma_write(qpx, r->remote.rkey, r->remote.addr + 4096);
		ibv_wr_set_sge(qpx, r->mr->lkey, (uintptr_t)r->buf, 48);
		ibv_wr_abort(qpx);
	} else {
		wc = expect(&c, c.rcq, 9, IBV_WC_SUCCESS);
		CHECK(s, wc.imm_data == htobe32(77), "%#x", wc.imm_data);
		CHECK(s, pattern_differs(r->buf, 0, 48, s->serial) < 0, "written");
		CHECK(s, *(uint64_t *)(r->buf + 256) == 42, "added");
	}
	meet(s);
	CHECK(s, all_guard(r->buf + 4096, 4096), "an aborted request was executed");
	expect_none(&c);
	conn_close(&c);
	end(s, name);
}

static uint32_t poll_ex(struct side *s, struct ibv_cq_ex *cq, uint64_t *next_id, uint64_t *last_ts)
{
	struct ibv_poll_cq_attr attr = {};
	uint32_t n = 0;
	uint64_t ts;
	int ret;

	ret = ibv_start_poll(cq, &attr);
	if (ret) {
		CHECK(s, ret == ENOENT, "start_poll: %d", ret);
		return 0;
	}
	do {
		ts = ibv_wc_read_completion_ts(cq);
		CHECK(s, cq->status == IBV_WC_SUCCESS, "%s", ibv_wc_status_str(cq->status));
		CHECK(s, cq->wr_id == *next_id, "wr_id %llu", (unsigned long long)cq->wr_id);
		CHECK(s, ibv_wc_read_opcode(cq) == IBV_WC_RDMA_WRITE, "opcode");
		CHECK(s, ts && ts >= *last_ts, "time runs backwards");
		*last_ts = ts;
		++*next_id;
		n++;
		ret = ibv_next_poll(cq);
	} while (!ret);
	ibv_end_poll(cq);
	return n;
}

static void cq_ex_case(struct side *s, struct region *r)
{
	const char *name = "ibv_cq_ex: in order, with time stamps";
	struct ibv_cq_init_attr_ex cq_attr = {
		.cqe = 16,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	struct ibv_sge sge = sge_of(r, 0, 32);
	uint64_t posted = 0, next_id = 0, last_ts = 0;
	uint64_t limit = now_ms() + patience(s);
	struct ibv_send_wr wr;
	struct ibv_cq_ex *cq;
	struct conn c;

	if (!begin(s, name))
		return;
	cq = ibv_create_cq_ex(s->ctx, &cq_attr);
	MUST(cq, "cannot create an extended CQ");
	attr.cq = ibv_cq_ex_to_cq(cq);
	conn_open(s, &c, attr);
	while (!s->role && next_id < 500 && now_ms() < limit) {
		wr = make_wr(&c, posted, IBV_WR_RDMA_WRITE, &sge, r->remote.addr, r->remote.rkey);
		if (posted < 500 && !post(&c, &wr))
			posted++;
		poll_ex(s, cq, &next_id, &last_ts);
	}
	CHECK(s, s->role || next_id == 500, "%llu completions", (unsigned long long)next_id);
	conn_close(&c);
	MUST(!ibv_destroy_cq(attr.cq), "cannot destroy the CQ");
	end(s, name);
}

/* ------------------------------------------------------------- life cycle */

/* Completions 0, 3, 6 of the first and 2, 5, 8 of the last: in order for each. */
static void take_of_two(struct conn *first, struct conn *last, struct ibv_cq *cq)
{
	struct side *s = first->s;
	uint64_t next[2] = { 0, 2 };
	struct ibv_wc wc;
	int i, which;

	for (i = 0; i < 6; i++) {
		if (!take(first, cq, &wc))
			return;
		which = wc.qp_num == last->qp->qp_num;
		CHECK(s, which || wc.qp_num == first->qp->qp_num, "of queue pair %u", wc.qp_num);
		CHECK(s, !wc.status && wc.wr_id == next[which], "wr_id %llu, expected %llu, %s",
		      (unsigned long long)wc.wr_id, (unsigned long long)next[which],
		      ibv_wc_status_str(wc.status));
		next[which] += 3;
	}
}

/* Queue pairs on one CQ: one goes with completions unread, another starts over. */
static void shared_cq_case(struct side *s, struct region *r)
{
	const char *name = "queue pairs come and go on one CQ, through RESET too";
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	struct ibv_sge sge = sge_of(r, 0, 64);
	struct ibv_send_wr wr;
	struct conn c[3];
	struct ibv_wc wc;
	int round, i;

	if (!begin(s, name))
		return;
	attr.cq = ibv_create_cq(s->ctx, 64, NULL, NULL, 0);
	MUST(attr.cq, "cannot create a CQ");
	for (i = 0; i < 3; i++)
		conn_open(s, &c[i], attr);
	for (round = 0; round < 6; round++) {
		for (i = 0; i < 9 && !s->role; i++) {
			wr = make_wr(&c[i % 3], i, IBV_WR_RDMA_WRITE, &sge, r->remote.addr,
				     r->remote.rkey);
			CHECK(s, !post(&c[i % 3], &wr), "post");
		}
		usleep(20000);
		if (round % 2) {
			conn_close(&c[1]);
			conn_open(s, &c[1], attr);
		} else {
			meet(s);
			CHECK(s, !to_state(&c[1], IBV_QPS_RESET), "to RESET");
			conn_join(&c[1]);
		}
		if (!s->role)
			take_of_two(&c[0], &c[2], attr.cq);
		CHECK(s, !ibv_poll_cq(attr.cq, 1, &wc), "a completion too many");
		check_alive(&c[1], r);
		meet(s);
	}
	for (i = 0; i < 3; i++)
		conn_close(&c[i]);
	MUST(!ibv_destroy_cq(attr.cq), "cannot destroy the CQ");
	end(s, name);
}

/* Requests that wait for the receiver are flushed, each once and in order. */
static void flush_case(struct side *s)
{
	const char *name = "ERROR flushes all that is posted, in order";
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	struct ibv_send_wr wr;
	struct conn c;
	uint32_t i;

	if (!begin(s, name))
		return;
	conn_open(s, &c, attr);
	if (!s->role) {
		for (i = 0; i < attr.depth; i++) {
			wr = make_wr(&c, i, IBV_WR_SEND, NULL, 0, 0);
			wr.send_flags = i % 2 ? IBV_SEND_SIGNALED : 0;
			CHECK(s, !post(&c, &wr), "post");
			CHECK(s, !post_recv(&c, 50 + i, NULL, 0), "post_recv");
		}
		CHECK(s, !to_state(&c, IBV_QPS_ERR), "to ERR");
		for (i = 0; i < attr.depth; i++)
			expect(&c, c.scq, i, IBV_WC_WR_FLUSH_ERR);
		for (i = 0; i < attr.depth; i++)
			expect(&c, c.rcq, 50 + i, IBV_WC_WR_FLUSH_ERR);
	}
	expect_none(&c);
	conn_close(&c);
	end(s, name);
}

/* Many queue pairs at once; each with its own contents. */
static void many_case(struct side *s, struct region *r)
{
	const char *name = "64 queue pairs on one CQ";
	struct conn_attr attr = conn_defaults(IBV_QPT_RC);
	uint32_t count = s->opt->quick ? 16 : 64;
	struct conn *c = calloc(count, sizeof(*c));
	uint32_t i;

	MUST(c, "out of memory");
	if (!begin(s, name)) {
		free(c);
		return;
	}
	attr.cq = ibv_create_cq(s->ctx, 64, NULL, NULL, 0);
	MUST(attr.cq, "cannot create a CQ");
	for (i = 0; i < count; i++)
		conn_open(s, &c[i], attr);
	for (i = 0; i < count; i++)
		check_alive(&c[i], r);
	for (i = 0; i < count; i++)
		conn_close(&c[i]);
	MUST(!ibv_destroy_cq(attr.cq), "cannot destroy the CQ");
	free(c);
	end(s, name);
}

static void mode_cases(struct side *s)
{
	struct region r;

	region_open(s, &r, ARENA);
	threads_case(s, &r);
	events_case(s, &r);
	quiet_case(s, &r);
	builders_case(s, &r);
	cq_ex_case(s, &r);
	shared_cq_case(s, &r);
	flush_case(s);
	many_case(s, &r);
	region_close(s, &r);
}

#endif /* VERBS_MODES_H */
