/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: helpers shared by every header of the hardware contract.
 *
 * The headers in this folder are included verbatim by the kernel driver (C),
 * the verbs provider (C), the card (C++20) and the tests. They may include
 * <linux/types.h> and each other, nothing else.
 *
 * Rules of the contract:
 *  - All multi-byte fields are little endian (__leNN) unless they are copied
 *    to or from the wire unchanged (__beNN).
 *  - No C bit-fields: words have masks and shifts.
 *  - Reserved fields are written as zero by the host; the card rejects a
 *    command or a work request whose reserved fields are not zero.
 *  - "host" is whoever drives the card (driver or provider); "card" is verna.
 */
#ifndef VERNA_HW_BITS_H
#define VERNA_HW_BITS_H

#include <linux/types.h>

#ifdef __cplusplus
#define VERNA_STATIC_ASSERT(cond, msg) static_assert(cond, msg)
#else
#define VERNA_STATIC_ASSERT(cond, msg) _Static_assert(cond, msg)
#endif

/** VERNA_ASSERT_SIZE - the size of a contract structure is part of the contract */
#define VERNA_ASSERT_SIZE(type, size) \
	VERNA_STATIC_ASSERT(sizeof(struct type) == (size), "size of " #type)

/** VERNA_ASSERT_OFFSET - and so is the offset of a field that others rely on */
#define VERNA_ASSERT_OFFSET(type, field, off) \
	VERNA_STATIC_ASSERT(__builtin_offsetof(struct type, field) == (off), \
			    "offset of " #type "." #field)

#define VERNA_PCI_VENDOR_ID	0x1234	/* the vendor id QEMU uses for its own models */
#define VERNA_PCI_DEVICE_ID	0x7e4a
#define VERNA_PCI_VF_DEVICE_ID	0x7e4b	/* of virtual functions */
#define VERNA_PCI_REVISION	0x01

#define VERNA_PAGE_SHIFT	12	/* the card's smallest page: 4 KiB */
#define VERNA_PAGE_SIZE		(1u << VERNA_PAGE_SHIFT)

#endif /* VERNA_HW_BITS_H */
