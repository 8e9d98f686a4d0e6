/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: what orders the provider against the card, and the only store that
 * reaches a device register.
 *
 * Records (verna_queue.h) are shared with the card without a lock, so every
 * access of them goes through verna_rec_load() and verna_rec_store(): one
 * access, of one word, that the compiler neither splits nor repeats.
 */
#ifndef VERNA_DOORBELL_H
#define VERNA_DOORBELL_H

#include <endian.h>
#include <stdatomic.h>
#include <stdint.h>

#include <util/compiler.h>
#include <util/mmio.h>
#include <util/udma_barrier.h>

#include "hw/verna_queue.h"
#include "hw/verna_regs.h"

static inline uint32_t verna_rec_load(const __le32 *word)
{
	return le32toh((__le32)*(const volatile __le32 *)word);
}

static inline void verna_rec_store(__le32 *word, uint32_t value)
{
	*(volatile __le32 *)word = htole32(value);
}

/**
 * verna_full_barrier - no later load passes an earlier store
 *
 * Both sides of "I publish, then look whether you sleep" need it. On x86 the
 * compiler would emit a locked read-modify-write of the stack for a sequentially
 * consistent fence; mfence is one host fence under an emulator and no slower on
 * metal when, as here, few stores are outstanding.
 */
static inline void verna_full_barrier(void)
{
#if defined(__x86_64__)
	asm volatile("mfence" ::: "memory");
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/**
 * verna_publish - hands entries up to @index to the card
 * @rec: record of the work queue
 * @index: free-running count of entries posted
 * @reg: doorbell register of the context
 * @value: VERNA_DB() of the queue
 *
 * The entries have been written. The register is touched only if the card says
 * that it sleeps: such a store leaves the virtual machine.
 */
static inline void verna_publish(struct verna_wq_rec *rec, uint32_t index,
				 void *reg, uint32_t value)
{
	udma_to_device_barrier();
	verna_rec_store(&rec->prod_index, index);
	verna_full_barrier();
	if (unlikely(verna_rec_load(&rec->need_doorbell)))
		mmio_write32(reg, value);
}

#endif /* VERNA_DOORBELL_H */
