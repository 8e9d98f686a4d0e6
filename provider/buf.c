// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: memory of queues.
 */
#include <errno.h>
#include <sys/mman.h>

#include "verna.h"

/**
 * verna_buf_alloc - zeroed, page-aligned memory that a fork does not share
 * @ctx: device
 * @buf: result
 * @length: bytes, rounded up to pages
 *
 * The card goes on writing to the pages that it was given; after a fork, copy
 * on write could leave the parent with others. The kernel pins the pages when
 * the queue is created, and frees them with the process, however that dies.
 *
 * Return: 0 or a positive errno.
 */
int verna_buf_alloc(struct verna_context *ctx, struct verna_buf *buf,
		    size_t length)
{
	size_t page = to_vdev(ctx->vctx.context.device)->page_size;
	void *addr;
	int ret;

	buf->length = align(length, page);
	addr = mmap(NULL, buf->length, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (addr == MAP_FAILED)
		return errno;
	ret = ibv_dontfork_range(addr, buf->length);
	if (ret) {
		munmap(addr, buf->length);
		return ret < 0 ? errno : ret;
	}
	buf->addr = addr;
	return 0;
}

/** verna_buf_free - the queue must be destroyed by now */
void verna_buf_free(struct verna_buf *buf)
{
	ibv_dofork_range(buf->addr, buf->length);
	munmap(buf->addr, buf->length);
	buf->addr = NULL;
}
