/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Contents: every opcode at every size, from and to many segments. Each byte of
 * the data and of the guards around it is checked on both sides, and each
 * completion exactly once and in order.
 */
#ifndef VERBS_DATA_H
#define VERBS_DATA_H

#include "verbs_conn.h"

#define MIB (1u << 20)
#define ARENA (5u * MIB)

/*
 * struct layout - where the parts of a message lie in a region: message i in
 * slot i, its parts a gap apart, guards before, between and behind them.
 */
struct layout {
	uint32_t size;
	uint32_t parts;
	uint32_t prefix;	/* before the data: the GRH of a datagram */
	uint32_t skew;		/* bytes off alignment */
};

#define PART_GAP 16

static size_t slot_len(const struct layout *l)
{
	size_t len = GUARD_LEN + l->skew + l->prefix + l->size + l->parts * PART_GAP + GUARD_LEN;

	return (len + 63) & ~(size_t)63;
}

static uint32_t part_from(const struct layout *l, uint32_t part)
{
	return (uint64_t)l->size * part / l->parts;
}

static uint32_t part_len(const struct layout *l, uint32_t part)
{
	return part_from(l, part + 1) - part_from(l, part);
}

static size_t part_at(const struct layout *l, uint32_t slot, uint32_t part)
{
	return slot * slot_len(l) + GUARD_LEN + l->skew + l->prefix + part_from(l, part) +
	       part * PART_GAP;
}

static void lay_guards(struct region *r, const struct layout *l, uint32_t count)
{
	memset(r->buf, GUARD_BYTE, count * slot_len(l));
}

static void lay_data(struct region *r, const struct layout *l, uint32_t slot, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < l->parts; i++)
		pattern_fill(r->buf + part_at(l, slot, i), part_from(l, i), part_len(l, i), key);
}

/* @data: the slot holds its data, else guards only. A GRH may be there or not. */
static void check_slot(struct side *s, struct region *r, const struct layout *l, uint32_t slot,
		       uint64_t key, bool data)
{
	size_t from = slot * slot_len(l);
	size_t at;
	int64_t bad;
	uint32_t i;

	for (i = 0; i < l->parts; i++) {
		at = part_at(l, slot, i);
		if (i == 0 && l->prefix && data) {
			CHECK(s, all_guard(r->buf + from, GUARD_LEN + l->skew), "slot %u, GRH", slot);
			from = at;
		}
		CHECK(s, all_guard(r->buf + from, at - from), "slot %u, before part %u", slot, i);
		from = at + part_len(l, i);
		if (!data) {
			CHECK(s, all_guard(r->buf + at, part_len(l, i)), "slot %u is touched", slot);
			continue;
		}
		bad = pattern_differs(r->buf + at, part_from(l, i), part_len(l, i), key);
		CHECK(s, bad < 0, "slot %u, part %u, byte %lld of %u", slot, i, (long long)bad,
		      part_len(l, i));
	}
	CHECK(s, all_guard(r->buf + from, (slot + 1) * slot_len(l) - from), "slot %u, behind", slot);
}

static int lay_sges(struct region *r, const struct layout *l, uint32_t slot, struct ibv_sge *sge)
{
	uint32_t i;

	for (i = 0; i < l->parts; i++)
		sge[i] = sge_of(r, part_at(l, slot, i), part_len(l, i));
	if (l->prefix) {
		sge[0].addr -= l->prefix;
		sge[0].length += l->prefix;
	}
	return l->parts;
}

/* ------------------------------------------------------------- one flow */

#define MAX_COUNT 8
#define MAX_SGE 64

struct flow {
	enum ibv_wr_opcode op;
	uint32_t size;
	uint32_t count;		/* messages, posted as one list */
	uint32_t parts;		/* segments on the side that asks */
	uint32_t recv_parts;	/* segments of the receiver */
	bool inl;
	bool last_only;		/* only the last request is signaled */
	uint32_t skew;
};

static bool uses_recv(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static bool is_send(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM;
}

static bool has_imm(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

static struct layout flow_layout(struct conn *c, const struct flow *f, bool asking)
{
	struct layout l = {
		.size = f->size, .parts = asking ? f->parts : 1,
		.skew = asking ? f->skew : f->skew / 2,
	};

	if (!asking && is_send(f->op)) {
		l.parts = f->recv_parts;
		l.prefix = c->attr.type == IBV_QPT_UD ? GRH_LEN : 0;
	}
	return l;
}

static __be32 flow_imm(const struct flow *f, uint32_t i)
{
	return htobe32(0xc0de0000u + f->size * 8 + i);
}

static void ask(struct conn *c, const struct flow *f, struct region *r, uint64_t id)
{
	struct layout mine = flow_layout(c, f, true);
	struct layout theirs = flow_layout(c, f, false);
	static const enum ibv_wc_opcode opcode[] = {
		[IBV_WR_SEND] = IBV_WC_SEND,
		[IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
		[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
		[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ,
	};
	struct ibv_sge sge[MAX_COUNT][MAX_SGE];
	struct ibv_send_wr wr[MAX_COUNT];
	struct ibv_wc wc;
	uint32_t i;
	int ret;

	for (i = 0; i < f->count; i++) {
		wr[i] = make_wr(c, id + i, f->op, sge[i], r->remote.addr + part_at(&theirs, i, 0),
				r->remote.rkey);
		wr[i].num_sge = lay_sges(r, &mine, i, sge[i]);
		if (f->size == 0 && i % 2)
			wr[i].num_sge = 0;
		if (has_imm(f->op))
			wr[i].imm_data = flow_imm(f, i);
		if (f->inl)
			wr[i].send_flags |= IBV_SEND_INLINE;
		if (f->last_only && i < f->count - 1)
			wr[i].send_flags &= ~IBV_SEND_SIGNALED;
		wr[i].next = i < f->count - 1 ? &wr[i + 1] : NULL;
	}
	ret = post(c, wr);
	CHECK(c->s, !ret, "post_send: %s", strerror(ret));
	for (i = f->last_only ? f->count - 1 : 0; i < f->count && !ret; i++) {
		wc = expect(c, c->scq, id + i, IBV_WC_SUCCESS);
		expect_opcode(c, &wc, opcode[f->op]);
		CHECK(c->s, f->op != IBV_WR_RDMA_READ || wc.byte_len == f->size, "read %u bytes",
		      wc.byte_len);
	}
}

static void check_grh(struct conn *c, const uint8_t *grh)
{
	if (!gid_is_ipv4(&c->s->gid))
		CHECK(c->s, grh[0] >> 4 == 6 && !memcmp(grh + 24, c->s->gid.raw, 16), "IPv6 header");
	else
		CHECK(c->s, grh[20] == 0x45 && !memcmp(grh + 36, c->s->gid.raw + 12, 4),
		      "IPv4 header");
}

static void check_recv(struct conn *c, const struct flow *f, const struct ibv_wc *wc, uint32_t i,
		       const uint8_t *grh)
{
	struct side *s = c->s;
	bool ud = c->attr.type == IBV_QPT_UD;

	if (wc->status)
		return;
	expect_opcode(c, wc, is_send(f->op) ? IBV_WC_RECV : IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK(s, wc->byte_len == f->size + (ud ? GRH_LEN : 0), "received %u bytes of %u",
	      wc->byte_len, f->size);
	CHECK(s, !(wc->wc_flags & IBV_WC_WITH_IMM) == !has_imm(f->op), "flags %#x", wc->wc_flags);
	CHECK(s, !has_imm(f->op) || wc->imm_data == flow_imm(f, i), "immediate data %#x",
	      be32toh(wc->imm_data));
	if (!ud)
		return;
	CHECK(s, wc->wc_flags & IBV_WC_GRH, "flags %#x", wc->wc_flags);
	CHECK(s, wc->src_qp == c->peer.qpn, "from queue pair %u", wc->src_qp);
	check_grh(c, grh);
}

static void await(struct conn *c, const struct flow *f, struct region *r, uint64_t id)
{
	struct layout l = flow_layout(c, f, false);
	struct ibv_wc wc;
	uint32_t i;

	for (i = 0; i < f->count && uses_recv(f->op); i++) {
		wc = expect(c, c->rcq, id + i, IBV_WC_SUCCESS);
		check_recv(c, f, &wc, i, r->buf + part_at(&l, i, 0) - l.prefix);
	}
}

static void post_recvs(struct conn *c, const struct flow *f, struct region *r, uint64_t id)
{
	struct layout l = flow_layout(c, f, false);
	struct ibv_sge sge[MAX_SGE];
	uint32_t i;
	int n;

	for (i = 0; i < f->count && uses_recv(f->op); i++) {
		n = is_send(f->op) ? lay_sges(r, &l, i, sge) : 0;
		CHECK(c->s, !post_recv(c, id + i, sge, n), "request %u", i);
	}
}

/* Runs a flow between begin() and end(). */
static void run_flow(struct conn *c, const struct flow *f, struct region *r)
{
	struct side *s = c->s;
	bool asking = s->role == 0;
	struct layout l = flow_layout(c, f, asking);
	uint64_t key = mix(s->opt->seed + s->serial) << 8;
	uint64_t id = s->serial << 16;
	bool source = asking == (f->op != IBV_WR_RDMA_READ);
	uint32_t i;

	lay_guards(r, &l, f->count);
	for (i = 0; i < f->count && source; i++)
		lay_data(r, &l, i, key + ((uint64_t)i << 32));
	if (!asking)
		post_recvs(c, f, r, id);
	meet(s);
	if (asking)
		ask(c, f, r, id);
	else
		await(c, f, r, id);
	meet(s);
	for (i = 0; i < f->count; i++)
		check_slot(s, r, &l, i, key + ((uint64_t)i << 32), true);
	expect_none(c);
}

/* A small exchange that must work: a queue pair that others have not harmed. */
static void check_alive(struct conn *c, struct region *r)
{
	struct flow f = { .op = IBV_WR_SEND, .size = 100, .count = 2, .parts = 1, .recv_parts = 1 };

	c->s->serial++;
	run_flow(c, &f, r);
}

/* ----------------------------------------------------------------- cases */

static const struct {
	enum ibv_wr_opcode op;
	const char *name;
} data_ops[] = {
	{ IBV_WR_SEND, "SEND" },
	{ IBV_WR_SEND_WITH_IMM, "SEND_WITH_IMM" },
	{ IBV_WR_RDMA_WRITE, "RDMA_WRITE" },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, "RDMA_WRITE_WITH_IMM" },
	{ IBV_WR_RDMA_READ, "RDMA_READ" },
};

static const char *type_name(enum ibv_qp_type type)
{
	return type == IBV_QPT_RC ? "RC" : type == IBV_QPT_UC ? "UC" : "UD";
}

static bool type_has(enum ibv_qp_type type, enum ibv_wr_opcode op)
{
	if (type == IBV_QPT_UD)
		return is_send(op);
	return type == IBV_QPT_RC || op != IBV_WR_RDMA_READ;
}

static void flow_case(struct conn *c, struct flow f, struct region *r, const char *op,
		      const char *what)
{
	char name[96];

	snprintf(name, sizeof(name), "%s %s, %u bytes%s", type_name(c->attr.type), op, f.size, what);
	if (!begin(c->s, name))
		return;
	run_flow(c, &f, r);
	end(c->s, name);
}

static void size_cases(struct conn *c, struct region *r, enum ibv_wr_opcode op, const char *name)
{
	uint32_t mtu = c->s->mtu;
	uint32_t sizes[] = { 0, 1, mtu - 1, mtu, mtu + 1, 65536, MIB };
	uint32_t max = c->attr.type == IBV_QPT_UD ? mtu : MIB;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct flow f = {
			.op = op, .size = sizes[i], .count = sizes[i] < MIB ? 4 : 2,
			.parts = 1, .recv_parts = 1, .skew = i,
		};

		if (f.size <= max && !(c->s->opt->quick && i % 3))
			flow_case(c, f, r, name, "");
	}
}

/* One to all segments on either side, at a size that does not divide. */
static void segment_case(struct conn *c, struct region *r, enum ibv_wr_opcode op, const char *op_name)
{
	uint32_t max = c->cap.max_send_sge < (uint32_t)c->s->dev.max_sge ? c->cap.max_send_sge :
		       (uint32_t)c->s->dev.max_sge;
	struct flow f = { .op = op, .size = c->s->mtu - 3, .count = 2, .skew = 1 };
	char name[96];

	if (max > MAX_SGE)
		max = MAX_SGE;
	if (c->attr.type != IBV_QPT_UD)
		f.size = 3 * c->s->mtu + 5;
	snprintf(name, sizeof(name), "%s %s from and to 1..%u segments", type_name(c->attr.type),
		 op_name, max);
	if (!begin(c->s, name))
		return;
	for (f.parts = 1; f.parts <= max; f.parts++) {
		f.recv_parts = max + 1 - f.parts;
		c->s->serial++;
		run_flow(c, &f, r);
	}
	end(c->s, name);
}

static void inline_case(struct conn *c, struct region *r, enum ibv_wr_opcode op, const char *op_name)
{
	uint32_t max = c->cap.max_inline_data;
	uint32_t sizes[] = { 0, 1, 8, max / 2, max - 1, max };
	struct flow f = { .op = op, .recv_parts = 1, .inl = true, .count = 4, .skew = 3 };
	char name[96];
	size_t i;

	snprintf(name, sizeof(name), "%s %s inline, up to %u bytes", type_name(c->attr.type), op_name,
		 max);
	if (!begin(c->s, name))
		return;
	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		f.size = sizes[i];
		for (f.parts = 1; f.parts <= 3; f.parts++) {
			c->s->serial++;
			run_flow(c, &f, r);
		}
	}
	end(c->s, name);
}

static void unsignaled_case(struct conn *c, struct region *r)
{
	struct flow f = { .op = IBV_WR_RDMA_WRITE, .size = 300, .parts = 2, .recv_parts = 1,
			  .count = MAX_COUNT, .last_only = true };
	const char *name = "only signaled requests complete, for all before them";
	int i;

	if (!begin(c->s, name))
		return;
	for (i = 0; i < 50; i++) {
		c->s->serial++;
		run_flow(c, &f, r);
	}
	end(c->s, name);
}

/* Each side has a sequence in mind; the card must keep it, and each result. */
static void atomic_case(struct conn *c, struct region *r, enum ibv_wr_opcode op, const char *name)
{
	struct side *s = c->s;
	uint64_t *word = (uint64_t *)(r->buf + 4096);
	uint64_t value = 0x0123456789abcdefull;
	struct ibv_sge sge = sge_of(r, 64, 8);
	struct ibv_send_wr wr;
	uint64_t old, cmp, add;
	struct ibv_wc wc;
	int i;

	if (!begin(s, name))
		return;
	memset(r->buf, GUARD_BYTE, 8192);
	if (s->role)
		*word = value;
	meet(s);
	for (i = 0; i < 64; i++) {
		add = mix(s->opt->seed + i);
		cmp = i % 3 ? value : ~value;	/* every third comparison fails */
		wr = make_wr(c, i, op, &sge, r->remote.addr + 4096, r->remote.rkey);
		wr.wr.atomic.compare_add = op == IBV_WR_ATOMIC_CMP_AND_SWP ? cmp : add;
		wr.wr.atomic.swap = add;
		if (!s->role) {
			CHECK(s, !post(c, &wr), "post");
			wc = expect(c, c->scq, i, IBV_WC_SUCCESS);
			expect_opcode(c, &wc, op == IBV_WR_ATOMIC_CMP_AND_SWP ? IBV_WC_COMP_SWAP :
									IBV_WC_FETCH_ADD);
			CHECK(s, wc.status || wc.byte_len == 8, "length %u", wc.byte_len);
			memcpy(&old, r->buf + 64, 8);
			CHECK(s, old == value, "step %d: %#llx, expected %#llx", i,
			      (unsigned long long)old, (unsigned long long)value);
		}
		if (op == IBV_WR_ATOMIC_FETCH_AND_ADD)
			value += add;
		else if (cmp == value)
			value = add;
	}
	meet(s);
	if (s->role) {
		CHECK(s, *word == value, "%#llx, expected %#llx", (unsigned long long)*word,
		      (unsigned long long)value);
		*word = 0xa5a5a5a5a5a5a5a5ull;
		CHECK(s, all_guard(r->buf, 8192), "memory around it");
	} else {
		memset(r->buf + 64, GUARD_BYTE, 8);
		CHECK(s, all_guard(r->buf, 8192), "memory around the result");
	}
	expect_none(c);
	end(s, name);
}

static void type_cases(struct side *s, struct region *r, enum ibv_qp_type type)
{
	struct conn_attr attr = conn_defaults(type);
	struct conn c;
	size_t i;

	attr.inline_len = 128;
	conn_open(s, &c, attr);
	for (i = 0; i < sizeof(data_ops) / sizeof(data_ops[0]); i++) {
		if (!type_has(type, data_ops[i].op))
			continue;
		size_cases(&c, r, data_ops[i].op, data_ops[i].name);
		if (s->opt->quick)
			continue;
		segment_case(&c, r, data_ops[i].op, data_ops[i].name);
		if (data_ops[i].op != IBV_WR_RDMA_READ)
			inline_case(&c, r, data_ops[i].op, data_ops[i].name);
	}
	if (type == IBV_QPT_RC) {
		unsignaled_case(&c, r);
		atomic_case(&c, r, IBV_WR_ATOMIC_CMP_AND_SWP, "RC ATOMIC_CMP_AND_SWP");
		atomic_case(&c, r, IBV_WR_ATOMIC_FETCH_AND_ADD, "RC ATOMIC_FETCH_AND_ADD");
	}
	conn_close(&c);
}

/* One message of --big bytes, by WRITE and back by READ. */
static void big_case(struct side *s)
{
	struct conn c;
	struct region r;
	struct layout l = { .size = s->opt->big, .parts = 1 };
	struct flow f = { .size = s->opt->big, .count = 1, .parts = 1, .recv_parts = 1 };

	if (!s->opt->big)
		return;
	region_open(s, &r, slot_len(&l) + 4096);
	conn_open(s, &c, conn_defaults(IBV_QPT_RC));
	f.op = IBV_WR_RDMA_WRITE;
	flow_case(&c, f, &r, "RDMA_WRITE", " in one message");
	f.op = IBV_WR_RDMA_READ;
	flow_case(&c, f, &r, "RDMA_READ", " in one message");
	conn_close(&c);
	region_close(s, &r);
}

static void data_cases(struct side *s)
{
	struct region r;

	region_open(s, &r, ARENA);
	type_cases(s, &r, IBV_QPT_RC);
	type_cases(s, &r, IBV_QPT_UC);
	type_cases(s, &r, IBV_QPT_UD);
	region_close(s, &r);
	big_case(s);
}

#endif /* VERBS_DATA_H */
