// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: see fake.h. Objects are found by number in small arrays; one mutex
 * stands between the card's thread and the commands, as the admin queue does.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fake.h"
#include "verna-abi.h"

#define FAKE_MAX	64
#define FAKE_IDLE_ROUNDS 50

struct fake_cq {
	struct verna_cq_rec *rec;
	struct verna_cqe *ring;
	uint32_t log_size;
	uint32_t prod;
	uint32_t served;
	atomic_uint events;
};

struct fake_wq {
	struct verna_wq_rec *rec;
	uint8_t *ring;
	uint32_t log_size;
	uint32_t log_stride;
	uint32_t cons;
	struct fake_cq *cq;
};

struct fake_qp {
	bool used;
	bool running;
	bool sig_all;
	uint32_t qpn;
	uint32_t max_inline;
	struct fake_wq sq;
	struct fake_wq rq;
	struct fake_qp *peer;
};

atomic_uint fake_faults;
atomic_uint fake_doorbells;

static struct fake_cq fake_cqs[FAKE_MAX];
static struct fake_qp fake_qps[FAKE_MAX];
static pthread_mutex_t fake_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_t fake_thread;
static atomic_bool fake_stop;
static atomic_bool fake_held;
static _Atomic(uint32_t) *fake_uar;
static uint32_t fake_cq_count;
static struct verna_ib_status fake_status;

static void fake_fault(const char *what)
{
	atomic_fetch_add(&fake_faults, 1);
	fprintf(stderr, "# card: %s\n", what);
}

static uint32_t fake_prod(const struct fake_wq *wq)
{
	return verna_rec_load(&wq->rec->prod_index);
}

static void fake_complete(struct fake_wq *wq, uint32_t qpn, uint8_t opcode,
			  uint32_t index, uint32_t len, __le32 imm,
			  uint8_t flags)
{
	struct fake_cq *cq = wq->cq;
	uint32_t size = 1u << cq->log_size;
	struct verna_cqe *cqe = &cq->ring[cq->prod & (size - 1)];
	uint8_t phase = !(cq->prod >> cq->log_size & 1);
	uint32_t arm;

	if (cq->prod - verna_rec_load(&cq->rec->cons_index) >= size)
		fake_fault("CQ overrun");
	if ((cqe->phase & 1) == phase)
		fake_fault("phase of a free entry is wrong");
	cqe->id = htole32(qpn);
	cqe->wqe_index = htole32(index);
	cqe->opcode = opcode;
	cqe->flags = flags;
	cqe->byte_len = htole32(len);
	cqe->imm = imm;
	cqe->timestamp = htole64(cq->prod);
	atomic_thread_fence(memory_order_release);
	*(volatile uint8_t *)&cqe->phase = phase;
	cq->prod++;

	atomic_thread_fence(memory_order_seq_cst);
	arm = verna_rec_load(&cq->rec->arm);
	if (arm >> VERNA_ARM_SN_SHIFT == cq->served)
		return;
	if ((arm & VERNA_ARM_TYPE_MASK) == VERNA_ARM_NEXT ||
	    ((arm & VERNA_ARM_TYPE_MASK) == VERNA_ARM_SOLICITED &&
	     flags & VERNA_CQE_F_SOLICITED)) {
		cq->served = arm >> VERNA_ARM_SN_SHIFT;
		atomic_fetch_add(&cq->events, 1);
	}
}

static bool fake_zero(const void *p, size_t len)
{
	const uint8_t *byte = p;

	while (len--)
		if (*byte++)
			return false;
	return true;
}

static void fake_check_reserved(const struct verna_sq_wqe *wqe)
{
	bool ok = !wqe->reserved0 && !wqe->reserved1;

	switch (wqe->opcode) {
	case VERNA_WR_RDMA_WRITE:
	case VERNA_WR_RDMA_WRITE_WITH_IMM:
	case VERNA_WR_RDMA_READ:
		ok &= fake_zero(wqe->rdma.reserved, sizeof(wqe->rdma.reserved));
		break;
	case VERNA_WR_ATOMIC_CAS:
	case VERNA_WR_ATOMIC_FADD:
		ok &= !wqe->atomic.reserved0 &&
		      fake_zero(wqe->atomic.reserved,
				sizeof(wqe->atomic.reserved));
		break;
	default:
		ok &= fake_zero(&wqe->rdma, sizeof(wqe->rdma));
		break;
	}
	if (!ok)
		fake_fault("reserved field not zero");
}

/* Copies the request's data to @dst (or the other way round). Return: bytes. */
static uint32_t fake_copy(struct fake_qp *qp, const struct verna_sq_wqe *wqe,
			  uint8_t *remote, bool read)
{
	const struct verna_sge *sge = (const struct verna_sge *)(wqe + 1);
	uint32_t len = 0;
	uint32_t i;

	if (wqe->flags & VERNA_WR_F_INLINE) {
		if (le32toh(wqe->inline_len) > qp->max_inline || wqe->num_sge)
			fake_fault("bad inline request");
		memcpy(remote, wqe + 1, le32toh(wqe->inline_len));
		return le32toh(wqe->inline_len);
	}
	for (i = 0; i < wqe->num_sge; i++) {
		uint8_t *local = (uint8_t *)(uintptr_t)le64toh(sge[i].addr);
		uint32_t n = le32toh(sge[i].length);

		memcpy(read ? local : remote + len, read ? remote + len : local,
		       n);
		len += n;
	}
	return len;
}

/* One segment is enough for the receiver of this test. */
static uint8_t *fake_recv_buf(const struct fake_wq *rq)
{
	const struct verna_rq_wqe *wqe = (const struct verna_rq_wqe *)
		(rq->ring + ((size_t)(rq->cons & ((1u << rq->log_size) - 1))
			     << rq->log_stride));
	const struct verna_sge *sge = (const struct verna_sge *)(wqe + 1);

	if (!fake_zero(wqe->reserved, sizeof(wqe->reserved)))
		fake_fault("reserved field of a receive request not zero");
	return wqe->num_sge ? (uint8_t *)(uintptr_t)le64toh(sge->addr) : NULL;
}

static uint64_t fake_atomic(const struct verna_sq_wqe *wqe, uint64_t *remote)
{
	uint64_t old = *remote;

	if (wqe->opcode == VERNA_WR_ATOMIC_FADD)
		*remote = old + le64toh(wqe->atomic.swap_add);
	else if (old == le64toh(wqe->atomic.compare))
		*remote = le64toh(wqe->atomic.swap_add);
	return old;
}

static const uint8_t fake_cqe_opcode[] = {
	[VERNA_WR_SEND] = VERNA_CQE_SEND,
	[VERNA_WR_SEND_WITH_IMM] = VERNA_CQE_SEND,
	[VERNA_WR_SEND_WITH_INV] = VERNA_CQE_SEND,
	[VERNA_WR_RDMA_WRITE] = VERNA_CQE_RDMA_WRITE,
	[VERNA_WR_RDMA_WRITE_WITH_IMM] = VERNA_CQE_RDMA_WRITE,
	[VERNA_WR_RDMA_READ] = VERNA_CQE_RDMA_READ,
	[VERNA_WR_ATOMIC_CAS] = VERNA_CQE_ATOMIC_CAS,
	[VERNA_WR_ATOMIC_FADD] = VERNA_CQE_ATOMIC_FADD,
};

static bool fake_consumes_recv(uint8_t opcode)
{
	return opcode <= VERNA_WR_SEND_WITH_INV ||
	       opcode == VERNA_WR_RDMA_WRITE_WITH_IMM;
}

static void fake_receive(struct fake_qp *peer, const struct verna_sq_wqe *wqe,
			 uint32_t len)
{
	uint8_t flags = 0;

	if (wqe->opcode == VERNA_WR_SEND_WITH_IMM ||
	    wqe->opcode == VERNA_WR_RDMA_WRITE_WITH_IMM)
		flags |= VERNA_CQE_F_IMM;
	if (wqe->opcode == VERNA_WR_SEND_WITH_INV)
		flags |= VERNA_CQE_F_INV;
	if (wqe->flags & VERNA_WR_F_SOLICITED)
		flags |= VERNA_CQE_F_SOLICITED;
	fake_complete(&peer->rq, peer->qpn,
		      wqe->opcode == VERNA_WR_RDMA_WRITE_WITH_IMM ?
		      VERNA_CQE_RECV_RDMA_WITH_IMM : VERNA_CQE_RECV,
		      peer->rq.cons++, len, wqe->imm, flags);
}

/* Return: did it find work? */
static bool fake_step(struct fake_qp *qp)
{
	struct fake_wq *sq = &qp->sq;
	uint32_t prod = fake_prod(sq);
	struct verna_sq_wqe *wqe;
	uint32_t len = 8;
	uint8_t *remote;
	uint64_t old;

	if (prod == sq->cons)
		return false;
	if (prod - sq->cons > 1u << sq->log_size)
		fake_fault("more requests than the ring holds");
	atomic_thread_fence(memory_order_acquire);
	wqe = (struct verna_sq_wqe *)
		(sq->ring + ((size_t)(sq->cons & ((1u << sq->log_size) - 1))
			     << sq->log_stride));
	if (fake_consumes_recv(wqe->opcode) &&
	    fake_prod(&qp->peer->rq) == qp->peer->rq.cons)
		return false;	/* receiver not ready: try again */
	fake_check_reserved(wqe);
	remote = (uint8_t *)(uintptr_t)le64toh(wqe->rdma.remote_addr);
	if (wqe->opcode <= VERNA_WR_SEND_WITH_INV)
		remote = fake_recv_buf(&qp->peer->rq);
	if (wqe->opcode >= VERNA_WR_ATOMIC_CAS) {
		old = fake_atomic(wqe, (uint64_t *)remote);
		fake_copy(qp, wqe, (uint8_t *)&old, true);
	} else {
		len = fake_copy(qp, wqe, remote,
				wqe->opcode == VERNA_WR_RDMA_READ);
	}
	if (fake_consumes_recv(wqe->opcode))
		fake_receive(qp->peer, wqe, len);
	if (qp->sig_all || wqe->flags & VERNA_WR_F_SIGNALED)
		fake_complete(sq, qp->qpn, fake_cqe_opcode[wqe->opcode],
			      sq->cons, len, 0, 0);
	sq->cons++;
	return true;
}

static bool fake_round(void)
{
	bool worked = false;
	int i;

	pthread_mutex_lock(&fake_lock);
	for (i = 0; i < FAKE_MAX && !atomic_load(&fake_held); i++)
		if (fake_qps[i].running && fake_qps[i].peer)
			worked |= fake_step(&fake_qps[i]);
	pthread_mutex_unlock(&fake_lock);
	return worked;
}

static void fake_set_need(uint32_t need)
{
	int i;

	pthread_mutex_lock(&fake_lock);
	for (i = 0; i < FAKE_MAX; i++) {
		if (!fake_qps[i].used)
			continue;
		verna_rec_store(&fake_qps[i].sq.rec->need_doorbell, need);
		verna_rec_store(&fake_qps[i].rq.rec->need_doorbell, need);
	}
	pthread_mutex_unlock(&fake_lock);
}

/* Asks to be woken, looks once more, then only watches the doorbell. */
static void fake_sleep(void)
{
	atomic_store(fake_uar, 0);
	fake_set_need(1);
	atomic_thread_fence(memory_order_seq_cst);
	if (!fake_round()) {
		while (!atomic_exchange(fake_uar, 0)) {
			if (atomic_load(&fake_stop))
				return;
			sched_yield();
		}
		atomic_fetch_add(&fake_doorbells, 1);
	}
	fake_set_need(0);
}

static void *fake_main(void *arg)
{
	int idle = 0;

	while (!atomic_load(&fake_stop)) {
		if (fake_round()) {
			idle = 0;
		} else if (++idle > FAKE_IDLE_ROUNDS) {
			fake_sleep();
			idle = 0;
		} else {
			sched_yield();
		}
	}
	return arg;
}

/** fake_open - a context without a device file, and a running card */
struct verna_context *fake_open(void)
{
	static struct verna_device dev;
	struct verna_context *ctx = calloc(1, sizeof(*ctx));

	dev.page_size = sysconf(_SC_PAGESIZE);
	ctx->vctx.context.device = &dev.vdev.device;
	ctx->uar = mmap(NULL, VERNA_UAR_SIZE, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ctx->max_inline = 512;
	ctx->max_send_sge = 16;
	ctx->max_recv_sge = 16;
	ctx->log_max_wqes = 10;
	ctx->log_max_cqes = 12;
	fake_status.alive = 1;
	ctx->status = &fake_status;
	fake_uar = (_Atomic(uint32_t) *)ctx->uar;
	atomic_store(&fake_stop, false);
	pthread_create(&fake_thread, NULL, fake_main, NULL);
	return ctx;
}

void fake_close(struct verna_context *ctx)
{
	atomic_store(&fake_stop, true);
	pthread_join(fake_thread, NULL);
	munmap(ctx->uar, VERNA_UAR_SIZE);
	free(ctx);
}

static struct fake_qp *fake_find(const struct ibv_qp *ibqp)
{
	return &fake_qps[ibqp->qp_num % FAKE_MAX];
}

void fake_connect(struct ibv_qp *a, struct ibv_qp *b)
{
	pthread_mutex_lock(&fake_lock);
	fake_find(a)->peer = fake_find(b);
	fake_find(b)->peer = fake_find(a);
	pthread_mutex_unlock(&fake_lock);
}

/** fake_hold - while held the card looks at nothing; a doorbell is kept */
void fake_hold(bool hold)
{
	pthread_mutex_lock(&fake_lock);
	atomic_store(&fake_held, hold);
	pthread_mutex_unlock(&fake_lock);
	if (!hold)
		atomic_store(fake_uar, 1);
}

/** fake_die - the driver says that the card, which is held, is dead */
void fake_die(void)
{
	*(volatile uint32_t *)&fake_status.alive = 0;
}

uint32_t fake_events(struct ibv_cq *cq)
{
	return atomic_load(&fake_cqs[cq->handle].events);
}

/* ------------------------------------------------- the kernel's commands */

int ibv_cmd_create_cq_ex(struct ibv_context *context,
			 const struct ibv_cq_init_attr_ex *attr,
			 struct verbs_cq *vcq, struct ibv_create_cq_ex *cmd,
			 size_t cmd_size,
			 struct ib_uverbs_ex_create_cq_resp *resp,
			 size_t resp_size, uint32_t cmd_flags)
{
	struct verna_ib_create_cq *drv =
		&container_of(cmd, struct verna_create_cq_cmd, ibv_cmd)
			->drv_payload;
	uint8_t *buf = (uint8_t *)(uintptr_t)drv->buf_va;
	struct fake_cq *cq = &fake_cqs[fake_cq_count];

	if (drv->ring_offset + ((size_t)VERNA_CQE_SIZE << drv->log_size) >
	    drv->buf_len)
		fake_fault("CQ larger than its memory");
	pthread_mutex_lock(&fake_lock);
	*cq = (struct fake_cq) {
		.rec = (struct verna_cq_rec *)(buf + drv->rec_offset),
		.ring = (struct verna_cqe *)(buf + drv->ring_offset),
		.log_size = drv->log_size,
	};
	pthread_mutex_unlock(&fake_lock);
	vcq->cq.context = context;
	vcq->cq.handle = fake_cq_count++;
	return 0;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	return 0;
}

static struct fake_wq fake_wq_of(const struct verna_ib_create_qp *drv,
				 bool send, struct ibv_cq *cq)
{
	uint8_t *buf = (uint8_t *)(uintptr_t)drv->buf_va;
	struct fake_wq wq = {
		.rec = (struct verna_wq_rec *)
			(buf + (send ? drv->sq_rec_offset : drv->rq_rec_offset)),
		.ring = buf + (send ? drv->sq_offset : drv->rq_offset),
		.log_size = send ? drv->log_sq_size : drv->log_rq_size,
		.log_stride = send ? drv->log_sq_stride : drv->log_rq_stride,
		.cq = &fake_cqs[cq->handle],
	};

	if (wq.ring + ((size_t)1 << (wq.log_size + wq.log_stride)) >
	    buf + drv->buf_len)
		fake_fault("ring outside the memory");
	if ((uintptr_t)wq.ring % (1u << wq.log_stride) ||
	    (uintptr_t)wq.rec % sizeof(*wq.rec))
		fake_fault("ring or record not aligned");
	verna_rec_store(&wq.rec->need_doorbell, 1);
	return wq;
}

int ibv_cmd_create_qp_ex(struct ibv_context *context, struct verbs_qp *vqp,
			 struct ibv_qp_init_attr_ex *attr,
			 struct ibv_create_qp *cmd, size_t cmd_size,
			 struct ib_uverbs_create_qp_resp *resp,
			 size_t resp_size)
{
	static uint32_t serial;
	struct verna_ib_create_qp *drv =
		&container_of(cmd, struct verna_create_qp_cmd, ibv_cmd)
			->drv_payload;
	uint32_t slot = serial % FAKE_MAX;
	struct fake_qp *qp = &fake_qps[slot];

	pthread_mutex_lock(&fake_lock);
	*qp = (struct fake_qp) {
		.used = true,
		.running = true,
		.sig_all = attr->sq_sig_all,
		.qpn = (serial * 7919u % 4096u) * FAKE_MAX + slot,
		.max_inline = attr->cap.max_inline_data,
		.sq = fake_wq_of(drv, true, attr->send_cq),
		.rq = fake_wq_of(drv, false, attr->recv_cq),
	};
	serial++;
	pthread_mutex_unlock(&fake_lock);
	vqp->qp.context = context;
	vqp->qp.pd = attr->pd;
	vqp->qp.send_cq = attr->send_cq;
	vqp->qp.recv_cq = attr->recv_cq;
	vqp->qp.qp_type = attr->qp_type;
	vqp->qp.state = IBV_QPS_RESET;
	vqp->qp.qp_num = qp->qpn;
	vqp->comp_mask = 0;
	return 0;
}

int ibv_cmd_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		      int attr_mask, struct ibv_modify_qp *cmd, size_t cmd_size)
{
	struct fake_qp *qp = fake_find(ibqp);

	pthread_mutex_lock(&fake_lock);
	qp->running = attr->qp_state != IBV_QPS_RESET;
	if (!qp->running) {
		qp->sq.cons = 0;
		qp->rq.cons = 0;
		verna_rec_store(&qp->sq.rec->need_doorbell, 1);
		verna_rec_store(&qp->rq.rec->need_doorbell, 1);
	}
	pthread_mutex_unlock(&fake_lock);
	return 0;
}

int ibv_cmd_query_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		     int attr_mask, struct ibv_qp_init_attr *init_attr,
		     struct ibv_query_qp *cmd, size_t cmd_size)
{
	return 0;
}

int ibv_cmd_destroy_qp(struct ibv_qp *ibqp)
{
	struct fake_qp *qp = fake_find(ibqp);

	pthread_mutex_lock(&fake_lock);
	if (qp->peer)
		qp->peer->peer = NULL;
	*qp = (struct fake_qp) {};
	pthread_mutex_unlock(&fake_lock);
	return 0;
}
