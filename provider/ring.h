/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: the writer of work queues, the same for send and receive queues.
 *
 * Indices run freely modulo 2^32 and sizes are powers of two, so no code here
 * or elsewhere knows about the end of the ring: the slot of index i is
 * i & mask, and head - tail is the number of outstanding requests even when
 * head has wrapped and tail has not.
 *
 * Owners: the poster owns head and the slots from head on, under the queue's
 * lock. The poller moves tail, under the lock of the CQ. The two locks are
 * different, hence the acquire and release on tail: a slot and its wr_id are
 * overwritten only after the poller has read them.
 */
#ifndef VERNA_RING_H
#define VERNA_RING_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "doorbell.h"
#include "hw/verna_rdma.h"

/**
 * struct verna_lock - a lock that costs nothing where the application promised
 * to use an object from one thread
 * @busy: held
 * @needed: false: taking it is a no-op
 */
struct verna_lock {
	_Atomic(uint32_t) busy;
	bool needed;
};

static inline void verna_lock_init(struct verna_lock *lock, bool needed)
{
	atomic_init(&lock->busy, 0);
	lock->needed = needed;
}

/*
 * Guests often have one processor: whoever waits must not spin away the time
 * slice of the holder, so after a short while it yields.
 */
static inline void verna_lock_acquire(struct verna_lock *lock)
{
	unsigned int spins = 0;

	if (!lock->needed)
		return;
	while (unlikely(atomic_exchange_explicit(&lock->busy, 1,
						 memory_order_acquire))) {
		if (++spins % 64 == 0)
			sched_yield();
	}
}

static inline void verna_lock_release(struct verna_lock *lock)
{
	if (lock->needed)
		atomic_store_explicit(&lock->busy, 0, memory_order_release);
}

/**
 * struct verna_wq - one work queue
 * @lock: of posters
 * @head: index of the next request to post
 * @mask: slots - 1
 * @limit: requests that may be outstanding; 0 for a queue that takes none
 * @log_stride: log2 of the size of an entry
 * @max_sge: data segments of a request
 * @ring: entries
 * @wr_id: of each slot
 * @rec: record shared with the card
 * @doorbell: register
 * @db_value: what to write there
 * @tail: index of the oldest request that is not known to be complete
 */
struct verna_wq {
	struct verna_lock lock;
	uint32_t head;
	uint32_t mask;
	uint32_t limit;
	uint32_t log_stride;
	uint32_t max_sge;
	uint8_t *ring;
	uint64_t *wr_id;
	struct verna_wq_rec *rec;
	void *doorbell;
	uint32_t db_value;
	_Atomic(uint32_t) tail;
};

/** verna_wq_full - no room for a request at index @head? */
static inline bool verna_wq_full(struct verna_wq *wq, uint32_t head)
{
	return head - atomic_load_explicit(&wq->tail, memory_order_acquire) >=
	       wq->limit;
}

/** verna_wq_slot - memory of the entry with index @index */
static inline void *verna_wq_slot(const struct verna_wq *wq, uint32_t index)
{
	return wq->ring + ((size_t)(index & wq->mask) << wq->log_stride);
}

/** verna_wq_commit - takes over @head and tells the card, if it is news */
static inline void verna_wq_commit(struct verna_wq *wq, uint32_t head)
{
	if (unlikely(head == wq->head))
		return;
	wq->head = head;
	verna_publish(wq->rec, head, wq->doorbell, wq->db_value);
}

/** verna_wq_wr_id - what the poster called the request with index @index */
static inline uint64_t verna_wq_wr_id(const struct verna_wq *wq, uint32_t index)
{
	return wq->wr_id[index & wq->mask];
}

/**
 * verna_wq_retire - the card has completed request @index and all before it
 *
 * Slots and wr_ids up to it may be written again from here on.
 */
static inline void verna_wq_retire(struct verna_wq *wq, uint32_t index)
{
	atomic_store_explicit(&wq->tail, index + 1, memory_order_release);
}

/**
 * verna_wq_reset - as new, for a queue pair that went back to RESET
 *
 * The card does not look at the producer index of a queue pair in RESET, and has
 * set need_doorbell by itself.
 */
static inline void verna_wq_reset(struct verna_wq *wq)
{
	wq->head = 0;
	atomic_store_explicit(&wq->tail, 0, memory_order_relaxed);
	verna_rec_store(&wq->rec->prod_index, 0);
}

/** verna_write_sge - one data segment, in as few stores as there can be */
static inline void verna_write_sge(struct verna_sge *sge, uint64_t addr,
				   uint32_t length, uint32_t lkey)
{
	__le64 words[] = { htole64(addr),
			   htole64(length | (uint64_t)lkey << 32) };

	_Static_assert(sizeof(words) == sizeof(*sge) &&
		       offsetof(struct verna_sge, length) == 8 &&
		       offsetof(struct verna_sge, lkey) == 12,
		       "a segment is composed here");
	memcpy(sge, words, sizeof(words));
}

#endif /* VERNA_RING_H */
