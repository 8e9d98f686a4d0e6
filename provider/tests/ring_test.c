// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: the provider's data path against a card played by a thread (fake.c).
 * Prints TAP; exit code 0 if every case passed.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cqe.h"
#include "fake.h"

#define CHECK(cond) do { \
	if (!(cond)) { \
		printf("# %s:%d: %s\n", __FILE__, __LINE__, #cond); \
		case_ok = false; \
	} \
} while (0)

static struct verna_context *ctx;
static struct verna_pd pd;
static bool case_ok;
static int case_count;
static int case_failed;

struct pair {
	struct ibv_cq *cq[2];
	struct ibv_qp *qp[2];
};

static void set_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	CHECK(!verna_modify_qp(qp, &attr, IBV_QP_STATE));
	qp->state = state;
}

static struct ibv_qp *make_qp(struct ibv_cq *cq, uint32_t send_wr,
			      uint32_t recv_wr, uint32_t inline_data,
			      uint64_t ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.cap = { .max_send_wr = send_wr, .max_recv_wr = recv_wr,
			 .max_send_sge = 4, .max_recv_sge = 1,
			 .max_inline_data = inline_data },
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     (ops ? IBV_QP_INIT_ATTR_SEND_OPS_FLAGS : 0),
		.pd = &pd.ibv_pd,
		.send_ops_flags = ops,
	};
	struct ibv_qp *qp = verna_create_qp_ex(&ctx->vctx.context, &attr);

	CHECK(qp);
	set_state(qp, IBV_QPS_RTS);
	return qp;
}

static struct pair make_pair(uint32_t depth, uint64_t ops)
{
	struct pair p;
	int i;

	for (i = 0; i < 2; i++) {
		p.cq[i] = verna_create_cq(&ctx->vctx.context, 2 * depth, NULL,
					  0);
		CHECK(p.cq[i]);
		p.qp[i] = make_qp(p.cq[i], depth, depth, 64, ops);
	}
	fake_connect(p.qp[0], p.qp[1]);
	return p;
}

static void drop_pair(struct pair *p)
{
	int i;

	for (i = 0; i < 2; i++) {
		CHECK(!verna_destroy_qp(p->qp[i]));
		CHECK(!verna_destroy_cq(p->cq[i]));
	}
}

static void poll_one(struct ibv_cq *cq, struct ibv_wc *wc)
{
	while (!verna_poll_cq(cq, 1, wc))
		sched_yield();
}

static int post(struct ibv_qp *qp, uint64_t wr_id, enum ibv_wr_opcode opcode,
		unsigned int flags, void *local, uint32_t len, void *remote)
{
	struct ibv_sge sge = { .addr = (uintptr_t)local, .length = len };
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
		.opcode = opcode, .send_flags = flags,
		.imm_data = htobe32(0x1234),
	};
	struct ibv_send_wr *bad = NULL;
	int ret;

	wr.wr.rdma.remote_addr = (uintptr_t)remote;
	ret = verna_post_send(qp, &wr, &bad);
	CHECK((bad == &wr) == (ret != 0));
	return ret;
}

static int post_recv(struct ibv_qp *qp, uint64_t wr_id, void *buf, uint32_t len)
{
	struct ibv_sge sge = { .addr = (uintptr_t)buf, .length = len };
	struct ibv_recv_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
	};
	struct ibv_recv_wr *bad;

	return verna_post_recv(qp, &wr, &bad);
}

static void test_opcodes(void)
{
	struct pair p = make_pair(8, 0);
	uint64_t remote[8] = {};
	uint64_t local[8] = { 1, 2, 3 };
	struct ibv_wc wc;

	CHECK(!post(p.qp[0], 10, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, local,
		    24, remote));
	poll_one(p.cq[0], &wc);
	CHECK(wc.wr_id == 10 && wc.opcode == IBV_WC_RDMA_WRITE && !wc.status);
	CHECK(wc.qp_num == p.qp[0]->qp_num && remote[2] == 3);

	CHECK(!post_recv(p.qp[1], 20, remote, sizeof(remote)));
	CHECK(!post(p.qp[0], 11, IBV_WR_SEND_WITH_IMM,
		    IBV_SEND_SIGNALED | IBV_SEND_INLINE, local, 16, NULL));
	poll_one(p.cq[1], &wc);
	CHECK(wc.wr_id == 20 && wc.opcode == IBV_WC_RECV && wc.byte_len == 16);
	CHECK(wc.wc_flags == IBV_WC_WITH_IMM && wc.imm_data == htobe32(0x1234));
	poll_one(p.cq[0], &wc);
	CHECK(wc.wr_id == 11);

	remote[0] = 77;
	CHECK(!post(p.qp[0], 12, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED, local, 8,
		    remote));
	poll_one(p.cq[0], &wc);
	CHECK(wc.opcode == IBV_WC_RDMA_READ && local[0] == 77);
	drop_pair(&p);
}

static void test_errors(void)
{
	struct pair p = make_pair(4, 0);
	uint8_t data[128] = {};
	struct ibv_wc wc;
	int i;

	CHECK(post(p.qp[0], 0, IBV_WR_SEND, IBV_SEND_INLINE, data, 65, NULL) ==
	      EINVAL);
	CHECK(post(p.qp[0], 0, IBV_WR_SEND, IBV_SEND_INLINE, data, UINT32_MAX,
		   NULL) == EINVAL);
	CHECK(post(p.qp[0], 0, IBV_WR_BIND_MW, 0, data, 1, NULL) == EINVAL);
	CHECK(post(p.qp[0], 0, IBV_WR_SEND, IBV_SEND_IP_CSUM, data, 1, NULL) ==
	      EINVAL);
	CHECK(post(p.qp[0], 0, IBV_WR_RDMA_READ, IBV_SEND_INLINE, data, 1,
		   data) == EINVAL);
	fake_hold(true);
	for (i = 0; i < 4; i++)
		CHECK(!post(p.qp[0], i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED,
			    data, 1, data + 64));
	CHECK(post(p.qp[0], 4, IBV_WR_RDMA_WRITE, 0, data, 1, data + 64) ==
	      ENOMEM);
	fake_hold(false);
	for (i = 0; i < 4; i++) {
		poll_one(p.cq[0], &wc);
		CHECK(wc.wr_id == i);
	}
	for (i = 0; i < 4; i++)
		CHECK(!post_recv(p.qp[0], i, data, 1));
	CHECK(post_recv(p.qp[0], 4, data, 1) == ENOMEM);
	set_state(p.qp[0], IBV_QPS_RESET);
	CHECK(post(p.qp[0], 0, IBV_WR_SEND, 0, data, 1, NULL) == EINVAL);
	CHECK(post_recv(p.qp[0], 0, data, 1) == EINVAL);
	drop_pair(&p);
}

/* Indices that pass 2^32 in the middle of the ring. */
static void test_wrap(void)
{
	struct pair p = make_pair(4, 0);
	struct verna_qp *qp = to_vqp(p.qp[0]);
	uint32_t value;
	uint32_t remote = 0;
	struct ibv_wc wc;
	uint32_t i;

	CHECK(qp->sq.limit == 4);
	fake_hold(true);
	qp->sq.head = UINT32_MAX - 1;
	qp->sq.tail = UINT32_MAX - 1;
	for (i = 0; i < 4; i++)
		CHECK(!verna_wq_full(&qp->sq, qp->sq.head + i));
	CHECK(verna_wq_full(&qp->sq, qp->sq.head + 4));
	verna_wq_retire(&qp->sq, UINT32_MAX);
	CHECK(!verna_wq_full(&qp->sq, 3) && verna_wq_full(&qp->sq, 4));
	verna_wq_reset(&qp->sq);
	fake_hold(false);

	/* The CQ's phase over many passes. */
	for (i = 0; i < 10000; i++) {
		value = i;
		CHECK(!post(p.qp[0], i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED |
			    (i % 2 ? IBV_SEND_INLINE : 0), &value, 4, &remote));
		poll_one(p.cq[0], &wc);
		CHECK(wc.wr_id == i && remote == i);
	}
	drop_pair(&p);
}

/* One CQE retires the unsignaled requests before it. */
static void test_unsignaled(void)
{
	struct pair p = make_pair(4, 0);
	uint64_t sum = 0;
	uint64_t old[4];
	struct ibv_send_wr wr[4] = {};
	struct ibv_sge sge[4];
	struct ibv_send_wr *bad;
	struct ibv_wc wc;
	int round, i;

	for (round = 0; round < 1000; round++) {
		for (i = 0; i < 4; i++) {
			sge[i] = (struct ibv_sge) {
				.addr = (uintptr_t)&old[i], .length = 8
			};
			wr[i].wr_id = round * 4 + i;
			wr[i].next = i < 3 ? &wr[i + 1] : NULL;
			wr[i].sg_list = &sge[i];
			wr[i].num_sge = 1;
			wr[i].opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
			wr[i].send_flags = i == 3 ? IBV_SEND_SIGNALED : 0;
			wr[i].wr.atomic.remote_addr = (uintptr_t)&sum;
			wr[i].wr.atomic.compare_add = 1;
		}
		CHECK(!verna_post_send(p.qp[0], wr, &bad));
		poll_one(p.cq[0], &wc);
		CHECK(wc.wr_id == round * 4 + 3);
		CHECK(old[3] == round * 4 + 3);
	}
	CHECK(sum == 4000);
	drop_pair(&p);
}

/* Two queue pairs on one CQ; the completions of one vanish with it. */
static void test_clean(void)
{
	struct ibv_cq *cq = verna_create_cq(&ctx->vctx.context, 16, NULL, 0);
	struct ibv_qp *qp[3];
	uint32_t remote = 0, local = 5;
	struct ibv_wc wc;
	int i, n;

	for (i = 0; i < 3; i++) {
		qp[i] = make_qp(cq, 8, 1, 0, 0);
		fake_connect(qp[i], qp[i]);
	}
	for (n = 0; n < 40; n++) {
		for (i = 0; i < 15; i++)
			CHECK(!post(qp[i % 3], i, IBV_WR_RDMA_WRITE,
				    IBV_SEND_SIGNALED, &local, 4, &remote));
		/* All entries are there before any is removed. */
		while (!verna_cqe_valid(to_vcq(cq), to_vcq(cq)->cons + 14))
			sched_yield();
		if (n % 2) {
			CHECK(!verna_destroy_qp(qp[1]));
			qp[1] = make_qp(cq, 8, 1, 0, 0);
			fake_connect(qp[1], qp[1]);
		} else {
			set_state(qp[1], IBV_QPS_RESET);
			set_state(qp[1], IBV_QPS_RTS);
		}
		for (i = 0; i < 15; i++) {
			if (i % 3 == 1)
				continue;
			poll_one(cq, &wc);
			CHECK(wc.qp_num == qp[wc.wr_id % 3]->qp_num);
			CHECK(wc.wr_id % 3 != 1);
		}
		CHECK(verna_poll_cq(cq, 1, &wc) == 0);
	}
	for (i = 0; i < 3; i++)
		CHECK(!verna_destroy_qp(qp[i]));
	CHECK(!verna_destroy_cq(cq));
}

static void test_builders(void)
{
	struct pair p = make_pair(4, IBV_QP_EX_WITH_SEND |
				  IBV_QP_EX_WITH_RDMA_WRITE |
				  IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP);
	struct ibv_qp_ex *ex = &to_vqp(p.qp[0])->vqp.qp_ex;
	uint64_t remote[2] = { 5, 0 }, local = 9, old = 0;
	struct ibv_data_buf buf[2] = { { &local, 4 }, { (char *)&local + 4, 4 } };
	struct ibv_wc wc;
	int i;

	ex->wr_start(ex);
	ex->wr_id = 1;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ex->wr_atomic_cmp_swp(ex, 0, (uintptr_t)remote, 5, 6);
	ex->wr_set_sge(ex, 0, (uintptr_t)&old, 8);
	ex->wr_id = 2;
	ex->wr_rdma_write(ex, 0, (uintptr_t)&remote[1]);
	ex->wr_set_inline_data_list(ex, 2, buf);
	CHECK(!ex->wr_complete(ex));
	for (i = 1; i <= 2; i++) {
		poll_one(p.cq[0], &wc);
		CHECK(wc.wr_id == i);
	}
	CHECK(remote[0] == 6 && remote[1] == 9 && old == 5);

	/* Nothing of a batch with an error, or of an aborted one, is posted. */
	ex->wr_start(ex);
	ex->wr_rdma_write(ex, 0, (uintptr_t)remote);
	ex->wr_set_sge(ex, 0, (uintptr_t)&local, 8);
	ex->wr_rdma_write(ex, 0, (uintptr_t)remote);
	ex->wr_set_inline_data(ex, &local, SIZE_MAX);
	CHECK(ex->wr_complete(ex) == EINVAL);
	ex->wr_start(ex);
	for (i = 0; i < 5; i++)
		ex->wr_rdma_write(ex, 0, (uintptr_t)remote);
	CHECK(ex->wr_complete(ex) == ENOMEM);
	ex->wr_start(ex);
	ex->wr_rdma_write(ex, 0, (uintptr_t)remote);
	ex->wr_abort(ex);
	usleep(10000);
	CHECK(!verna_poll_cq(p.cq[0], 1, &wc) && remote[0] == 6);

	/* The slots are used again; the card looks for remains of the CAS. */
	for (i = 0; i < 4; i++) {
		CHECK(!post(p.qp[0], i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED,
			    &local, 8, &remote[1]));
		poll_one(p.cq[0], &wc);
	}
	drop_pair(&p);
}

static void check_cq_ex(uint32_t depth)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = depth,
		.wc_flags = IBV_WC_EX_WITH_BYTE_LEN |
			    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP,
	};
	struct ibv_cq_ex *cq = verna_create_cq_ex(&ctx->vctx.context, &attr);
	struct ibv_qp *qp = make_qp(ibv_cq_ex_to_cq(cq), depth, 1, 0, 0);
	struct ibv_poll_cq_attr poll = {};
	uint32_t local = 1, remote = 0;
	uint64_t seen = 0;
	uint32_t i;
	int ret;

	fake_connect(qp, qp);
	for (i = 0; i < depth; i++)
		CHECK(!post(qp, i, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &local,
			    4, &remote));
	while (seen < 1000) {
		ret = cq->start_poll(cq, &poll);
		if (ret) {
			CHECK(ret == ENOENT);
			sched_yield();
			continue;
		}
		do {
			CHECK(cq->wr_id == seen && !cq->status);
			CHECK(cq->read_byte_len(cq) == 4);
			CHECK(cq->read_completion_ts(cq) == seen);
			seen++;
			/* Posted anew before its entry is given back. */
			CHECK(!post(qp, seen + depth - 1, IBV_WR_RDMA_WRITE,
				    IBV_SEND_SIGNALED, &local, 4, &remote));
			while (!verna_cqe_valid(to_vcq_ex(cq),
						seen + depth - 1))
				sched_yield();
			CHECK(cq->read_byte_len(cq) == 4);
		} while (seen < 1000 && !cq->next_poll(cq));
		cq->end_poll(cq);
	}
	CHECK(!verna_destroy_qp(qp));
	CHECK(!verna_destroy_cq(ibv_cq_ex_to_cq(cq)));
}

/* As many requests as the CQ was asked for: where it has room to spare and not. */
static void test_cq_ex(void)
{
	check_cq_ex(7);
	check_cq_ex(8);
}

static void test_arm(void)
{
	struct pair p = make_pair(4, 0);
	uint32_t buf = 0, value = 1;
	struct ibv_wc wc;
	uint32_t events = 0;
	int i;

	for (i = 0; i < 300; i++) {
		CHECK(!post_recv(p.qp[1], 2 * i, &buf, 4));
		CHECK(!post_recv(p.qp[1], 2 * i + 1, &buf, 4));
		CHECK(!verna_req_notify_cq(p.cq[1], 1));
		CHECK(!verna_poll_cq(p.cq[1], 1, &wc));
		CHECK(!post(p.qp[0], 0, IBV_WR_SEND, IBV_SEND_SIGNALED, &value,
			    4, NULL));
		poll_one(p.cq[0], &wc);
		poll_one(p.cq[1], &wc);
		CHECK(fake_events(p.cq[1]) == events);
		CHECK(!post(p.qp[0], 0, IBV_WR_SEND, IBV_SEND_SIGNALED |
			    IBV_SEND_SOLICITED, &value, 4, NULL));
		poll_one(p.cq[0], &wc);
		poll_one(p.cq[1], &wc);
		CHECK(wc.wr_id == 2 * i + 1);
		events++;
		CHECK(fake_events(p.cq[1]) == events);
		verna_cq_event(p.cq[1]);
	}
	/* A request for solicited entries does not weaken one for any. */
	CHECK(!verna_req_notify_cq(p.cq[0], 0));
	CHECK(!verna_req_notify_cq(p.cq[0], 1));
	events = fake_events(p.cq[0]);
	CHECK(!post(p.qp[0], 0, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, &value,
		    4, &buf));
	poll_one(p.cq[0], &wc);
	usleep(1000);
	CHECK(fake_events(p.cq[0]) == events + 1);
	drop_pair(&p);
}

#define THREADS		4
#define PER_THREAD	20000

static struct pair shared;
static atomic_uint posted;

static void *poster(void *arg)
{
	uint64_t base = (uintptr_t)arg * PER_THREAD;
	static uint32_t sink[THREADS];
	static uint32_t value = 1;	/* outlives the thread, as requests do */
	int i;

	for (i = 0; i < PER_THREAD; i++) {
		struct ibv_sge sge = { .addr = (uintptr_t)&value, .length = 4 };
		struct ibv_send_wr wr = {
			.wr_id = base + i, .sg_list = &sge, .num_sge = 1,
			.opcode = IBV_WR_RDMA_WRITE,
			.send_flags = IBV_SEND_SIGNALED,
		};
		struct ibv_send_wr *bad;

		wr.wr.rdma.remote_addr = (uintptr_t)&sink[(uintptr_t)arg];
		while (verna_post_send(shared.qp[0], &wr, &bad) == ENOMEM)
			sched_yield();
		atomic_fetch_add(&posted, 1);
		if (i % 512 == 0)
			usleep(300);	/* let the card fall asleep */
	}
	return NULL;
}

static atomic_uint polled;
static _Atomic(uint8_t) seen_ids[THREADS * PER_THREAD];

static void *poller(void *arg)
{
	struct ibv_wc wc[3];
	int n, i;

	while (atomic_load(&polled) < THREADS * PER_THREAD) {
		n = verna_poll_cq(shared.cq[0], 3, wc);
		if (!n)
			sched_yield();
		for (i = 0; i < n; i++)
			if (wc[i].wr_id < THREADS * PER_THREAD)
				atomic_fetch_add(&seen_ids[wc[i].wr_id], 1);
		atomic_fetch_add(&polled, n);
	}
	return arg;
}

/* Many posters and pollers, a CQ with no room to spare, a card that dozes off. */
static void test_threads(void)
{
	pthread_t thread[THREADS + 2];
	uintptr_t i;

	shared = make_pair(8, 0);
	for (i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, poster, (void *)i);
	for (; i < THREADS + 2; i++)
		pthread_create(&thread[i], NULL, poller, NULL);
	for (i = 0; i < THREADS + 2; i++)
		pthread_join(thread[i], NULL);
	CHECK(atomic_load(&polled) == THREADS * PER_THREAD);
	for (i = 0; i < THREADS * PER_THREAD; i++)
		CHECK(seen_ids[i] == 1);
	CHECK(atomic_load(&fake_doorbells) > 0);
	drop_pair(&shared);
}

/* Has the card written an entry that nobody took? */
static bool ready(struct ibv_cq *cq)
{
	return verna_cqe_valid(to_vcq(cq), to_vcq(cq)->cons);
}

/* The card dies with work of two queue pairs outstanding. It must be the last. */
static void test_dead(void)
{
	struct pair p = make_pair(8, 0);
	struct pair q = make_pair(8, 0);
	uint64_t data[8] = {};
	struct ibv_wc wc[16];
	int i;

	CHECK(!post(p.qp[0], 1, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, data, 8,
		    data));
	while (!ready(p.cq[0]))
		sched_yield();
	fake_hold(true);
	for (i = 0; i < 3; i++)
		CHECK(!post(p.qp[0], 10 + i, IBV_WR_RDMA_WRITE,
			    i ? IBV_SEND_SIGNALED : 0, data, 8, data));
	for (i = 0; i < 2; i++)
		CHECK(!post_recv(p.qp[0], 20 + i, data, 8));
	CHECK(!post_recv(q.qp[1], 30, data, 8));
	CHECK(!verna_poll_cq(q.cq[1], 16, wc));
	fake_die();

	/* What the card completed comes first, then all that it owes. */
	CHECK(verna_poll_cq(p.cq[0], 2, wc) == 2);
	CHECK(wc[0].wr_id == 1 && wc[0].status == IBV_WC_SUCCESS);
	CHECK(wc[1].wr_id == 10 && wc[1].status == IBV_WC_WR_FLUSH_ERR);
	CHECK(wc[1].qp_num == p.qp[0]->qp_num);
	CHECK(verna_poll_cq(p.cq[0], 16, wc) == 4);
	for (i = 0; i < 4; i++)
		CHECK(wc[i].status == IBV_WC_WR_FLUSH_ERR);
	CHECK(wc[0].wr_id == 11 && wc[1].wr_id == 12);
	CHECK(wc[2].wr_id == 20 && wc[3].wr_id == 21);
	CHECK(!(wc[1].opcode & IBV_WC_RECV) && wc[2].opcode == IBV_WC_RECV);
	CHECK(!verna_poll_cq(p.cq[0], 16, wc));

	/* Also what is posted now, and what the card writes late is ignored. */
	CHECK(!post(p.qp[0], 40, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, data, 8,
		    data));
	CHECK(verna_poll_cq(p.cq[0], 16, wc) == 1 && wc[0].wr_id == 40);
	fake_hold(false);
	while (!ready(p.cq[0]))
		sched_yield();
	CHECK(!verna_poll_cq(p.cq[0], 16, wc));

	CHECK(!verna_poll_cq(q.cq[0], 16, wc));
	CHECK(verna_poll_cq(q.cq[1], 16, wc) == 1 && wc[0].wr_id == 30);
	drop_pair(&p);
	drop_pair(&q);
}

/* The same by extended polling, and no late entry. */
static void test_dead_cq_ex(void)
{
	struct ibv_poll_cq_attr attr = {};
	struct pair p = make_pair(8, 0);
	struct ibv_cq_ex *cq = &to_vcq(p.cq[0])->vcq.cq_ex;
	uint64_t data[1] = {};
	int i;

	for (i = 0; i < 2; i++)
		CHECK(!post_recv(p.qp[0], 50 + i, data, 8));
	CHECK(!cq->start_poll(cq, &attr));
	CHECK(cq->wr_id == 50 && cq->status == IBV_WC_WR_FLUSH_ERR);
	CHECK(!cq->next_poll(cq));
	CHECK(cq->wr_id == 51 && cq->read_opcode(cq) == IBV_WC_RECV);
	CHECK(cq->next_poll(cq) == ENOENT);
	cq->end_poll(cq);
	CHECK(cq->start_poll(cq, &attr) == ENOENT);
	drop_pair(&p);
}

static void run(const char *name, void (*test)(void))
{
	uint32_t faults = atomic_load(&fake_faults);

	case_ok = true;
	alarm(60);
	test();
	CHECK(atomic_load(&fake_faults) == faults);
	printf("%s %d - %s\n", case_ok ? "ok" : "not ok", ++case_count, name);
	case_failed += !case_ok;
}

int main(void)
{
	ctx = fake_open();
	run("every opcode completes with its data", test_opcodes);
	run("bad requests are refused, a full queue says so", test_errors);
	run("indices and phases wrap", test_wrap);
	run("one completion retires the unsignaled before it", test_unsignaled);
	run("completions vanish with their queue pair", test_clean);
	run("ibv_wr builders post all or nothing", test_builders);
	run("extended polling gives entries back in time", test_cq_ex);
	run("armed CQs raise each event once", test_arm);
	run("threads share a queue pair and a CQ", test_threads);
	run("a dead device flushes what is outstanding", test_dead);
	run("and so does extended polling", test_dead_cq_ex);
	printf("1..%d\n", case_count);
	printf("# doorbells: %u\n", atomic_load(&fake_doorbells));
	fake_close(ctx);
	return case_failed ? 1 : 0;
}
