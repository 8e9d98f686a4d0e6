// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * verna_scribble - a hostile process
 *
 *	verna_scribble [-d DEVICE] [-g GID_INDEX] [-t SECONDS] [-s SEED]
 *
 * Writes random bytes, indices and half-sane requests into the memory of its own
 * queues while the card works on them, and random values all over its doorbell
 * page, others' queue numbers among them. Queue pairs that end in error are
 * started over, so that the card never runs out of garbage.
 *
 * The memory is found by standing between the provider and mmap(): what it maps
 * while objects are created are their queues and the doorbell page.
 *
 * At the end new objects must still work, for this process too. Exit code 0: they
 * did, and everything could be destroyed. What it must not do, harm others, is
 * for those others to see.
 */
#include <getopt.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include "hw/verna_queue.h"
#include "hw/verna_rdma.h"
#include "hw/verna_regs.h"
#include "verbs_conn.h"

#define VICTIMS 6
#define DEPTH 16
#define MAX_MAPS 64

struct map {
	uint8_t *addr;
	size_t len;
};

static struct map queues[MAX_MAPS];	/* of the victims */
static int num_queues;
static struct map doorbells;
static bool recording;

/* Takes the place of the C library's. */
void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p = (void *)syscall(SYS_mmap, addr, len, prot, flags, fd, offset);

	if (!recording || p == MAP_FAILED)
		return p;
	if (fd >= 0 && flags & MAP_SHARED)
		doorbells = (struct map) { p, len };
	else if (fd < 0 && num_queues < MAX_MAPS)
		queues[num_queues++] = (struct map) { p, len };
	return p;
}

/* ---------------------------------------------------------------- chance */

static uint64_t chance_state;

static uint32_t chance(uint32_t below)
{
	chance_state = mix(chance_state);
	return (chance_state >> 32) % below;
}

static uint32_t chance_word(void)
{
	static const uint32_t favourites[] = { 0, 1, 2, 0xffffffff, 0x80000000, 0x7fffffff, 64, 4096 };

	if (chance(3) == 0)
		return favourites[chance(sizeof(favourites) / sizeof(favourites[0]))];
	return chance_state >> 24;
}

/* --------------------------------------------------------------- victims */

struct victims {
	struct side s;
	struct conn c[VICTIMS];
	struct region r;
	uint64_t scribbles;
	uint64_t doorbells;
	uint64_t restarts;
	uint64_t polled;
};

static const enum ibv_qp_type victim_type[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD };

/* A queue pair that is connected to itself needs nobody else. */
static void join_itself(struct conn *c)
{
	c->me = (struct peer) { .qpn = c->qp->qp_num, .psn = 1, .gid = c->s->gid };
	c->peer = c->me;
	MUST(!to_state(c, IBV_QPS_RESET), "to RESET");
	MUST(!to_init(c), "to INIT");
	MUST(!to_rtr(c), "to RTR");
	MUST(!to_rts(c), "to RTS");
}

static void victim_open(struct victims *v, struct conn *c, enum ibv_qp_type type)
{
	struct conn_attr attr = conn_defaults(type);
	struct ibv_ah_attr path;

	attr.depth = DEPTH;
	attr.rnr_retry = 1;
	attr.retry_cnt = 1;
	attr.timeout = 12;
	attr.inline_len = 128;
	*c = (struct conn) { .s = &v->s, .attr = attr };
	c->scq = ibv_create_cq(v->s.ctx, DEPTH, NULL, NULL, 0);
	c->rcq = ibv_create_cq(v->s.ctx, DEPTH, NULL, NULL, 0);
	MUST(c->scq && c->rcq, "cannot create a CQ");
	c->qp = make_qp(c);
	MUST(c->qp, "cannot create a queue pair");
	join_itself(c);
	path = path_to(c);
	c->ah = ibv_create_ah(v->s.pd, &path);
	MUST(c->ah, "cannot create an address handle");
}

static void victim_close(struct conn *c)
{
	MUST(!ibv_destroy_qp(c->qp), "cannot destroy a queue pair");
	MUST(!ibv_destroy_ah(c->ah), "cannot destroy an address handle");
	MUST(!ibv_destroy_cq(c->scq), "cannot destroy a CQ");
	MUST(!ibv_destroy_cq(c->rcq), "cannot destroy a CQ");
}

static void victims_open(struct victims *v, const struct options *o)
{
	struct side *s = &v->s;
	int i;

	s->opt = o;
	recording = true;
	s->ctx = open_device(o->device);
	recording = false;
	MUST(s->ctx, "cannot open the device");
	MUST(doorbells.addr, "the provider has mapped no doorbell page");
	s->gid_index = o->gid >= 0 ? o->gid : find_gid(s->ctx);
	MUST(s->gid_index >= 0, "no RoCE v2 address");
	MUST(!ibv_query_gid(s->ctx, 1, s->gid_index, &s->gid), "cannot read the GID");
	MUST(!ibv_query_device(s->ctx, &s->dev), "cannot query the device");
	s->mtu = 1024;
	s->pd = ibv_alloc_pd(s->ctx);
	MUST(s->pd, "cannot allocate a protection domain");
	v->r.len = 1 << 20;
	v->r.buf = mmap(NULL, v->r.len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(v->r.buf != MAP_FAILED, "out of memory");
	v->r.mr = ibv_reg_mr(s->pd, v->r.buf, v->r.len, ALL_RIGHTS);
	MUST(v->r.mr, "cannot register memory");
	num_queues = 0;
	recording = true;
	for (i = 0; i < VICTIMS; i++)
		victim_open(v, &v->c[i], victim_type[i % 3]);
	recording = false;
	MUST(num_queues == 3 * VICTIMS, "the provider maps queues otherwise than expected");
}

/* ---------------------------------------------------------------- attacks */

static void scribble_bytes(void)
{
	struct map *m = &queues[chance(num_queues)];
	size_t at = chance(m->len);
	size_t len = 1 + chance(64);

	while (len-- && at < m->len)
		((volatile uint8_t *)m->addr)[at++] = chance(256);
}

/* Records come first in each queue's memory; indices a little off do most harm. */
static void scribble_record(void)
{
	struct map *m = &queues[chance(num_queues)];
	volatile uint32_t *word = (volatile uint32_t *)m->addr + chance(64);

	if (chance(2))
		*word += chance(40) - 8;
	else
		*word = chance_word();
}

/* A request that the card might take: the right place, a few wrong fields. */
static void scribble_request(struct victims *v)
{
	struct map *m = &queues[chance(num_queues)];
	struct verna_sge sge = {
		.addr = (uintptr_t)v->r.buf + chance(v->r.len), .length = chance(2 * v->s.mtu),
		.lkey = v->r.mr->lkey,
	};
	struct verna_sq_wqe wqe = {
		.opcode = chance(12), .flags = chance(16), .num_sge = chance(3), .imm = chance_word(),
		.rdma.remote_addr = (uintptr_t)v->r.buf + chance(v->r.len), .rdma.rkey = v->r.mr->rkey,
	};
	uint8_t *slot = m->addr + 256 + 256 * (size_t)chance((m->len - 512) / 256);

	if (chance(4) == 0)
		wqe.inline_len = chance_word();
	if (chance(4) == 0)
		sge.length = chance_word();
	if (chance(4) == 0)
		sge.lkey = chance_word();
	memcpy(slot, &wqe, sizeof(wqe));
	memcpy(slot + sizeof(wqe), &sge, sizeof(sge));
	memcpy(slot + sizeof(wqe) + sizeof(sge), &sge, sizeof(sge));
}

static void ring_anything(struct victims *v)
{
	struct conn *c = &v->c[chance(VICTIMS)];
	volatile uint32_t *reg = (volatile uint32_t *)(doorbells.addr + VERNA_UAR_DOORBELL);
	uint32_t id = chance(2) ? c->qp->qp_num : c->qp->qp_num + chance(9) - 4;

	v->doorbells++;
	switch (chance(4)) {
	case 0:
		*reg = chance_word();
		break;
	case 1:
		*reg = VERNA_DB(chance(6), chance(16));	/* somebody's Ethernet queues */
		break;
	case 2:
		*(volatile uint32_t *)(doorbells.addr + 4 * chance(1024)) = chance_word();
		break;
	default:
		*reg = VERNA_DB(1 + chance(2), id);
		break;
	}
}

/* Garbage is also what the provider reads back. */
static void use(struct victims *v)
{
	struct conn *c = &v->c[chance(VICTIMS)];
	struct ibv_sge sge = sge_of(&v->r, chance(4096), chance(512));
	struct ibv_send_wr wr = make_wr(c, 1, IBV_WR_SEND, &sge, 0, 0);
	struct ibv_wc wc[4];
	int n;

	post(c, &wr);
	post_recv(c, 2, &sge, 1);
	n = ibv_poll_cq(c->scq, 4, wc);
	v->polled += n > 0 ? n : 0;
	n = ibv_poll_cq(c->rcq, 4, wc);
	v->polled += n > 0 ? n : 0;
	ibv_req_notify_cq(c->scq, chance(2));
}

static void restart(struct victims *v)
{
	join_itself(&v->c[chance(VICTIMS)]);
	v->restarts++;
}

static void attack(struct victims *v, int seconds)
{
	uint64_t limit = now_ms() + seconds * 1000ull;
	uint64_t step;

	for (step = 0; step % 256 || now_ms() < limit; step++) {
		switch (chance(8)) {
		case 0:
		case 1:
			scribble_bytes();
			break;
		case 2:
		case 3:
			scribble_record();
			break;
		case 4:
		case 5:
			scribble_request(v);
			break;
		case 6:
			ring_anything(v);
			break;
		default:
			use(v);
			break;
		}
		v->scribbles++;
		if (step % 100 == 0)
			restart(v);
	}
}

/* New objects of the same process: they are somebody else's. */
static void aftermath(struct victims *v)
{
	struct side *s = &v->s;
	struct ibv_sge from = sge_of(&v->r, 0, 1000);
	struct ibv_sge to = sge_of(&v->r, 8192, 1000);
	struct ibv_send_wr wr;
	struct conn c;

	victim_open(v, &c, IBV_QPT_RC);
	pattern_fill(v->r.buf, 0, 1000, s->opt->seed);
	memset(v->r.buf + 8192, GUARD_BYTE, 1000);
	CHECK(s, !post_recv(&c, 5, &to, 1), "post_recv");
	wr = make_wr(&c, 6, IBV_WR_SEND, &from, 0, 0);
	CHECK(s, !post(&c, &wr), "post");
	expect(&c, c.scq, 6, IBV_WC_SUCCESS);
	expect(&c, c.rcq, 5, IBV_WC_SUCCESS);
	CHECK(s, pattern_differs(v->r.buf + 8192, 0, 1000, s->opt->seed) < 0, "contents");
	victim_close(&c);
}

int main(int argc, char **argv)
{
	struct options o = { .gid = -1, .seed = 1 };
	struct victims v = {};
	int seconds = 5;
	int c, i;

	while ((c = getopt(argc, argv, "d:g:t:s:")) != -1) {
		if (c == 'd')
			o.device = optarg;
		else if (c == 'g')
			o.gid = atoi(optarg);
		else if (c == 't')
			seconds = atoi(optarg);
		else if (c == 's')
			o.seed = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	chance_state = o.seed;
	victims_open(&v, &o);
	attack(&v, seconds);
	for (i = 0; i < VICTIMS; i++)
		victim_close(&v.c[i]);
	aftermath(&v);
	MUST(!ibv_dereg_mr(v.r.mr), "cannot deregister memory");
	side_close(&v.s);
	printf("# %llu scribbles, %llu doorbells, %llu restarts, %llu completions\n",
	       (unsigned long long)v.scribbles, (unsigned long long)v.doorbells,
	       (unsigned long long)v.restarts, (unsigned long long)v.polled);
	printf("%s\n", v.s.failed ? "not ok" : "ok");
	return v.s.failed ? 1 : 0;
}
