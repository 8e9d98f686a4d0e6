/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: a kernel and a card for the provider's unit test.
 *
 * fake.c answers the commands that the provider sends to the kernel and runs a
 * thread that works through the queues as hw/ says, including going to sleep,
 * waking by doorbell, and events of armed CQs. It checks what it is given and
 * counts every breach of the contract in fake_faults.
 */
#ifndef VERNA_TEST_FAKE_H
#define VERNA_TEST_FAKE_H

#include <stdatomic.h>

#include "verna.h"

extern atomic_uint fake_faults;		/* breaches of the contract */
extern atomic_uint fake_doorbells;	/* wakes by doorbell */

struct verna_context *fake_open(void);
void fake_close(struct verna_context *ctx);
void fake_connect(struct ibv_qp *a, struct ibv_qp *b);
void fake_hold(bool hold);
void fake_die(void);
uint32_t fake_events(struct ibv_cq *cq);

#endif /* VERNA_TEST_FAKE_H */
