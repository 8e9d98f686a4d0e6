// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: completion queues: creation, polling, arming, and the map from queue
 * pair numbers to queue pairs.
 *
 * The card writes entries, phase bit last; the provider reads them and stores
 * cons_index, from which the card knows how much room it has. Entries are read
 * in place, so cons_index moves only over what nobody reads any more.
 */
#include <errno.h>
#include <stdlib.h>

#include "cqe.h"
#include "verna.h"
#include "verna-abi.h"

#define VERNA_CQ_RING_OFFSET	((uint32_t)sizeof(struct verna_cq_rec))
#define VERNA_MAP_MIN		8u

/* ------------------------------------------------------------------ map */

static struct verna_qp_link **verna_map_bucket(struct verna_qp_map *map,
					       uint32_t qpn)
{
	return &map->bucket[qpn & map->mask];
}

/* Doubles the map. A map that could not grow still works, only slower. */
static void verna_map_grow(struct verna_qp_map *map)
{
	struct verna_qp_map bigger = { .mask = map->mask * 2 + 1 };
	struct verna_qp_link **to;
	struct verna_qp_link *link;
	struct verna_qp_link *next;
	uint32_t i;

	bigger.bucket = calloc((size_t)bigger.mask + 1, sizeof(*bigger.bucket));
	if (!bigger.bucket)
		return;
	for (i = 0; i <= map->mask; i++) {
		for (link = map->bucket[i]; link; link = next) {
			next = link->next;
			to = verna_map_bucket(&bigger, link->qp->vqp.qp.qp_num);
			link->next = *to;
			*to = link;
		}
	}
	free(map->bucket);
	map->bucket = bigger.bucket;
	map->mask = bigger.mask;
}

static struct verna_qp *verna_map_find(struct verna_qp_map *map, uint32_t qpn)
{
	struct verna_qp_link *link;

	if (unlikely(!map->bucket))
		return NULL;
	link = *verna_map_bucket(map, qpn);
	while (link && link->qp->vqp.qp.qp_num != qpn)
		link = link->next;
	return link ? link->qp : NULL;
}

/**
 * verna_cq_add_qp - the queue pair's completions will be understood from now on
 * @cq: send or receive CQ of @qp
 * @qp: queue pair; its number is known
 * @link: lives in @qp
 *
 * Return: 0 or ENOMEM.
 */
int verna_cq_add_qp(struct verna_cq *cq, struct verna_qp *qp,
		    struct verna_qp_link *link)
{
	struct verna_qp_map *map = &cq->map;
	struct verna_qp_link **bucket;
	int ret = 0;

	verna_lock_acquire(&cq->lock);
	if (!map->bucket) {
		map->bucket = calloc(VERNA_MAP_MIN, sizeof(*map->bucket));
		map->mask = VERNA_MAP_MIN - 1;
	}
	if (!map->bucket) {
		ret = ENOMEM;
		goto out;
	}
	if (map->count > map->mask)
		verna_map_grow(map);
	bucket = verna_map_bucket(map, qp->vqp.qp.qp_num);
	link->qp = qp;
	link->next = *bucket;
	*bucket = link;
	map->count++;
out:
	verna_lock_release(&cq->lock);
	return ret;
}

/** verna_cq_remove_qp - undoes verna_cq_add_qp(); clean the CQ first */
void verna_cq_remove_qp(struct verna_cq *cq, struct verna_qp_link *link)
{
	struct verna_qp_link **at;

	verna_lock_acquire(&cq->lock);
	at = verna_map_bucket(&cq->map, link->qp->vqp.qp.qp_num);
	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	cq->map.count--;
	if (cq->last == link->qp)
		cq->last = NULL;
	verna_lock_release(&cq->lock);
}

/* ------------------------------------------------------------- entries */

/**
 * verna_cq_next - takes the next completion
 * @cq: locked
 * @wq: result: the work queue whose request completed
 *
 * The entry stays valid until verna_cq_publish().
 *
 * Return: the entry, or NULL if there is none. Entries of queue pairs that are
 * gone are passed over, a ring of them at most. On a dead device it is followed
 * by entries for all that is outstanding.
 */
const struct verna_cqe *verna_cq_next(struct verna_cq *cq, struct verna_wq **wq)
{
	const struct verna_cqe *cqe;
	uint32_t passed;
	uint32_t qpn;

	for (passed = 0; passed <= cq->mask; passed++) {
		if (unlikely(cq->flushing) || !verna_cqe_valid(cq, cq->cons))
			return likely(verna_cq_alive(cq)) ?
				       NULL :
				       verna_cq_flush(cq, wq);
		udma_from_device_barrier();
		cqe = verna_cqe_at(cq, cq->cons++);
		qpn = le32toh(cqe->id);
		if (unlikely(!cq->last || cq->last->vqp.qp.qp_num != qpn))
			cq->last = verna_map_find(&cq->map, qpn);
		if (likely(cq->last)) {
			*wq = VERNA_CQE_IS_RECV(cqe->opcode) ? &cq->last->rq :
							       &cq->last->sq;
			return cqe;
		}
		verna_cq_publish(cq);
	}
	return NULL;
}

/**
 * verna_cq_clean - removes the completions of a queue pair
 * @cq: CQ
 * @qpn: a queue pair that writes no more completions
 *
 * What stays is moved towards the end of the ring, so that the card's position
 * is untouched. A phase bit belongs to a slot, not to the entry in it.
 */
void verna_cq_clean(struct verna_cq *cq, uint32_t qpn)
{
	struct verna_cqe *from;
	struct verna_cqe *to;
	uint32_t removed = 0;
	uint32_t index;
	uint8_t phase;

	verna_lock_acquire(&cq->lock);
	for (index = cq->cons; index - cq->cons <= cq->mask; index++) {
		if (!verna_cqe_valid(cq, index))
			break;
	}
	udma_from_device_barrier();
	while (index-- != cq->cons) {
		from = verna_cqe_at(cq, index);
		if (le32toh(from->id) == qpn) {
			removed++;
			continue;
		}
		if (!removed)
			continue;
		to = verna_cqe_at(cq, index + removed);
		phase = to->phase;
		*to = *from;
		to->phase = phase;
	}
	if (removed) {
		cq->cons += removed;
		verna_cq_publish(cq);
	}
	verna_lock_release(&cq->lock);
}

static inline void verna_fill_wc(struct ibv_wc *wc, const struct verna_cqe *cqe,
				 uint64_t wr_id)
{
	wc->wr_id = wr_id;
	wc->status = verna_wc_status(cqe);
	wc->opcode = verna_wc_opcode(cqe);
	wc->vendor_err = cqe->syndrome;
	wc->byte_len = le32toh(cqe->byte_len);
	wc->qp_num = le32toh(cqe->id);
	wc->src_qp = le32toh(cqe->src_qp);
	wc->wc_flags = verna_wc_flags(cqe);
	if (unlikely(wc->wc_flags & IBV_WC_WITH_INV))
		wc->invalidated_rkey = le32toh(cqe->imm);
	else
		wc->imm_data = (__force __be32)cqe->imm;
	wc->pkey_index = le16toh(cqe->pkey_index);
	wc->slid = 0;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = 0;
}

/**
 * verna_poll_cq - Return: completions written to @wc, at most @num_entries
 *
 * Entry by entry: the card gets its room back before another thread may post
 * the next request. Otherwise a CQ that is just large enough could overrun.
 */
int verna_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct verna_cq *cq = to_vcq(ibcq);
	const struct verna_cqe *cqe;
	struct verna_wq *wq;
	uint32_t index;
	int n;

	if (verna_cq_is_empty(cq))
		return 0;
	verna_lock_acquire(&cq->lock);
	for (n = 0; n < num_entries; n++) {
		cqe = verna_cq_next(cq, &wq);
		if (!cqe)
			break;
		index = le32toh(cqe->wqe_index);
		verna_fill_wc(wc + n, cqe, verna_wq_wr_id(wq, index));
		verna_cq_publish(cq);
		verna_wq_retire(wq, index);
	}
	verna_lock_release(&cq->lock);
	return n;
}

/* ------------------------------------------------------------- arming */

/**
 * verna_req_notify_cq - asks for an event at the next (solicited) completion
 *
 * No system call and no doorbell: the card looks at the record after each entry
 * that it writes. Entries that are there already raise nothing, so the caller
 * must poll after arming, as verbs demand; the barrier makes sure that either
 * the card sees the request or that poll sees the entry. A request for solicited
 * completions does not weaken a pending one for any.
 *
 * Return: 0.
 */
int verna_req_notify_cq(struct ibv_cq *ibcq, int solicited_only)
{
	struct verna_cq *cq = to_vcq(ibcq);
	uint32_t type = VERNA_ARM_SOLICITED;

	verna_lock_acquire(&cq->lock);
	if (!solicited_only ||
	    atomic_load_explicit(&cq->armed_next, memory_order_relaxed)) {
		atomic_store_explicit(&cq->armed_next, true,
				      memory_order_relaxed);
		type = VERNA_ARM_NEXT;
	}
	verna_cq_publish(cq);
	udma_to_device_barrier();
	verna_rec_store(&cq->rec->arm, VERNA_ARM(++cq->arm_sn, type));
	verna_full_barrier();
	verna_lock_release(&cq->lock);
	return 0;
}

/** verna_cq_event - libibverbs has read an event: the CQ is no longer armed */
void verna_cq_event(struct ibv_cq *ibcq)
{
	atomic_store_explicit(&to_vcq(ibcq)->armed_next, false,
			      memory_order_relaxed);
}

/* ------------------------------------------------- creation, destruction */

static int verna_cq_exec_create(struct verna_context *ctx, struct verna_cq *cq,
				const struct ibv_cq_init_attr_ex *attr)
{
	struct verna_create_cq_cmd_resp resp = {};
	struct verna_create_cq_cmd cmd = {};
	struct ibv_cq_init_attr_ex core = *attr;

	/* Every entry has a timestamp; the kernel has nothing to set up. */
	core.wc_flags = 0;
	cmd.drv_payload = (struct verna_ib_create_cq) {
		.buf_va = (uintptr_t)cq->buf.addr,
		.buf_len = cq->buf.length,
		.rec_offset = 0,
		.ring_offset = VERNA_CQ_RING_OFFSET,
		.log_size = cq->log_size,
	};
	return ibv_cmd_create_cq_ex(&ctx->vctx.context, &core, &cq->vcq,
				    &cmd.ibv_cmd, sizeof(cmd), &resp.ibv_resp,
				    sizeof(resp), 0);
}

static int verna_cq_check(const struct verna_context *ctx,
			  const struct ibv_cq_init_attr_ex *attr)
{
	if (!check_comp_mask(attr->comp_mask, IBV_CQ_INIT_ATTR_MASK_FLAGS |
					      IBV_CQ_INIT_ATTR_MASK_PD) ||
	    !check_comp_mask(attr->wc_flags,
			     IBV_WC_STANDARD_FLAGS |
			     IBV_WC_EX_WITH_COMPLETION_TIMESTAMP))
		return EOPNOTSUPP;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    !check_comp_mask(attr->flags, IBV_CREATE_CQ_ATTR_SINGLE_THREADED))
		return EOPNOTSUPP;
	if (attr->cqe < 1 || attr->cqe > 1u << ctx->log_max_cqes)
		return EINVAL;
	return 0;
}

static bool verna_cq_locks(const struct ibv_cq_init_attr_ex *attr)
{
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS &&
	    attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED)
		return false;
	if (attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD)
		return verna_pd_locks(attr->parent_domain);
	return true;
}

/** verna_create_cq_ex - Return: the CQ, or NULL and errno */
struct ibv_cq_ex *verna_create_cq_ex(struct ibv_context *ibctx,
				     struct ibv_cq_init_attr_ex *attr)
{
	struct verna_context *ctx = to_vctx(ibctx);
	struct verna_cq *cq;
	uint32_t entries;
	int ret;

	ret = verna_cq_check(ctx, attr);
	if (ret)
		goto err;
	cq = calloc(1, sizeof(*cq));
	if (!cq) {
		ret = ENOMEM;
		goto err;
	}
	/*
	 * One entry more than asked for: extended polling gives an entry back
	 * only with the next step, while its request may be posted anew.
	 */
	entries = roundup_pow_of_two((uint64_t)attr->cqe + 1);
	if (entries > 1u << ctx->log_max_cqes)
		entries = 1u << ctx->log_max_cqes;
	cq->mask = entries - 1;
	cq->log_size = __builtin_ctz(entries);
	cq->status = ctx->status;
	verna_lock_init(&cq->lock, verna_cq_locks(attr));
	ret = verna_buf_alloc(ctx, &cq->buf, VERNA_CQ_RING_OFFSET +
			      (size_t)entries * sizeof(struct verna_cqe));
	if (ret)
		goto err_free_cq;
	cq->rec = (struct verna_cq_rec *)cq->buf.addr;
	cq->ring = (struct verna_cqe *)(cq->buf.addr + VERNA_CQ_RING_OFFSET);

	ret = verna_cq_exec_create(ctx, cq, attr);
	if (ret)
		goto err_free_buf;
	cq->vcq.cq.cqe = attr->cqe == entries ? entries : entries - 1;
	verna_cq_set_readers(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;

err_free_buf:
	verna_buf_free(&cq->buf);
err_free_cq:
	free(cq);
err:
	errno = ret;
	return NULL;
}

/** verna_create_cq - Return: the CQ, or NULL and errno */
struct ibv_cq *verna_create_cq(struct ibv_context *ibctx, int cqe,
			       struct ibv_comp_channel *channel,
			       int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct ibv_cq_ex *cq;

	if (cqe < 1) {
		errno = EINVAL;
		return NULL;
	}
	cq = verna_create_cq_ex(ibctx, &attr);
	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

/** verna_destroy_cq - Return: 0, or a positive errno while queue pairs use it */
int verna_destroy_cq(struct ibv_cq *ibcq)
{
	struct verna_cq *cq = to_vcq(ibcq);
	int ret;

	ret = ibv_cmd_destroy_cq(ibcq);
	if (ret)
		return ret;
	verna_buf_free(&cq->buf);
	free(cq->map.bucket);
	free(cq);
	return 0;
}

int verna_modify_cq(struct ibv_cq *ibcq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(ibcq, attr, &cmd, sizeof(cmd));
}
