/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: PCI BARs and registers.
 *
 * BAR 0  registers, 64 KiB, 64-bit, not prefetchable; 32-bit accesses only.
 * BAR 2  doorbells, one 4 KiB page per user context, 64-bit.
 * BAR 4  MSI-X table and pending bits.
 *
 * A 64-bit value is two registers, low word first; the card uses the pair only
 * when a command or an enable bit says so, so the order of writes is free.
 */
#ifndef VERNA_HW_REGS_H
#define VERNA_HW_REGS_H

#include "verna_bits.h"

#define VERNA_BAR_REGS		0
#define VERNA_BAR_DOORBELL	2
#define VERNA_BAR_MSIX		4

#define VERNA_REGS_SIZE		0x10000u

/* Identification, read only. */
#define VERNA_REG_MAGIC		0x0000	/* reads VERNA_MAGIC */
#define VERNA_MAGIC		0x414e5256u	/* "VRNA" */
#define VERNA_REG_ABI		0x0004	/* major in bits 31:16, minor in 15:0 */
#define VERNA_ABI_MAJOR		1
#define VERNA_ABI_MINOR		4
#define VERNA_REG_VERSION	0x0008	/* card version: major 31:24, minor 23:16, patch 15:0 */
#define VERNA_REG_CAPS_OFFSET	0x000c	/* BAR 0 offset of the first capability block */

/* Life cycle. */
#define VERNA_REG_STATUS	0x0010	/* read only */
#define VERNA_STATUS_READY	0x00000001u	/* commands are accepted once the admin queue is enabled */
#define VERNA_STATUS_FATAL	0x00000002u	/* the card stopped; only a reset helps */
#define VERNA_STATUS_AQ_ENABLED	0x00000004u
#define VERNA_STATUS_LINK_UP	0x00000008u	/* port 0 */
#define VERNA_REG_CONTROL	0x0014
#define VERNA_CONTROL_RESET	0x00000001u	/* self-clearing: as a function level reset */
#define VERNA_CONTROL_AQ_ENABLE	0x00000002u
#define VERNA_REG_FATAL_CODE	0x0018	/* read only: enum verna_fatal */
#define VERNA_REG_HEARTBEAT	0x001c	/* read only: changes at least once a second while the card lives */

enum verna_fatal {
	VERNA_FATAL_NONE = 0,
	VERNA_FATAL_AQ_DMA = 1,		/* the admin queue's memory could not be read or written */
	VERNA_FATAL_EQ_OVERRUN = 2,	/* an event queue stayed full and events were lost */
	VERNA_FATAL_EQ_DMA = 3,
};

/*
 * Admin queue: set base and size while disabled, then CONTROL.AQ_ENABLE. Both
 * rings are physically contiguous and 4 KiB aligned; see verna_cmd.h.
 */
#define VERNA_REG_AQ_SQ_LO	0x0020
#define VERNA_REG_AQ_SQ_HI	0x0024
#define VERNA_REG_AQ_CQ_LO	0x0028
#define VERNA_REG_AQ_CQ_HI	0x002c
#define VERNA_REG_AQ_LOG_SIZE	0x0030	/* log2 of the entries of both rings, 1..8 */
#define VERNA_REG_AQ_DOORBELL	0x0034	/* write: free-running count of commands posted */

/* Properties of the machine around the card, read only. */
#define VERNA_REG_NUM_UARS	0x0040	/* doorbell pages in BAR 2 */
#define VERNA_REG_NUM_VECTORS	0x0044	/* MSI-X vectors */
#define VERNA_REG_MAC_LO	0x0048	/* permanent MAC of the function: bytes 0..3, byte 0 lowest */
#define VERNA_REG_MAC_HI	0x004c	/* bytes 4..5 */
#define VERNA_REG_FUNCTION	0x0050	/* number of this function: 0 the PF, VF n is n + 1 */

/*
 * Self-test. TEST_REG reads back the one's complement of what was written.
 * TEST_IRQ: write a vector number to raise it. TEST_DMA: set address and size
 * (at most VERNA_TEST_DMA_MAX), then write a TEST_DMA_CTRL command; the status
 * register tells the result once it is not BUSY.
 */
#define VERNA_REG_TEST_REG	0x0080
#define VERNA_REG_TEST_IRQ	0x0084
#define VERNA_REG_TEST_DMA_LO	0x0088
#define VERNA_REG_TEST_DMA_HI	0x008c
#define VERNA_REG_TEST_DMA_SIZE	0x0090
#define VERNA_REG_TEST_DMA_CTRL	0x0094
#define VERNA_TEST_DMA_CLEAR	1u	/* fill with 0x00 */
#define VERNA_TEST_DMA_FILL	2u	/* fill with 0x96 */
#define VERNA_TEST_DMA_INVERT	3u	/* read, complement every byte, write back */
#define VERNA_REG_TEST_DMA_STATUS 0x0098
#define VERNA_TEST_DMA_OK	0u
#define VERNA_TEST_DMA_BUSY	1u
#define VERNA_TEST_DMA_FAULT	2u	/* the address is not memory */
#define VERNA_TEST_DMA_EINVAL	3u	/* unknown command or size */
#define VERNA_TEST_DMA_MAX	4096u

/*
 * Bogus registers: nothing is there on purpose. Reads return VERNA_BOGUS, and
 * every access of a bogus or unassigned register counts in BAD_ACCESS, so that
 * a driver's test run can show that it touches none.
 */
#define VERNA_REG_BAD_ACCESS	0x00a0
#define VERNA_REG_BOGUS_FIRST	0x0f00
#define VERNA_REG_BOGUS_LAST	0x0f0c
#define VERNA_BOGUS		0xdeadbabeu

/* Capability blocks live here; see verna_caps.h. */
#define VERNA_CAPS_BASE		0x1000
#define VERNA_CAPS_SIZE		0x1000

/*
 * Doorbell page (BAR 2): one register. A 32-bit write of VERNA_DB(type, id)
 * wakes the card for that queue. It carries no index: indices live in the
 * queue record in memory (verna_queue.h). It is needed only while the record's
 * need_doorbell is set. The queue must have been created with this page's
 * number; anything else is counted and ignored.
 */
#define VERNA_UAR_SIZE		4096u
#define VERNA_UAR_DOORBELL	0x000
#define VERNA_DB_ID_MASK	0x00ffffffu
#define VERNA_DB_TYPE_SHIFT	24
#define VERNA_DB(type, id)	(((__u32)(type) << VERNA_DB_TYPE_SHIFT) | ((id) & VERNA_DB_ID_MASK))

/** enum verna_db_type - which kind of queue a doorbell names */
enum verna_db_type {
	VERNA_DB_QP_SQ = 1,	/* id is a QPN */
	VERNA_DB_QP_RQ = 2,	/* id is a QPN */
	VERNA_DB_TXQ = 3,	/* id is an Ethernet TX queue number */
	VERNA_DB_RXQ = 4,	/* id is an Ethernet RX queue number */
};

#endif /* VERNA_HW_REGS_H */
