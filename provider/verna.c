// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: finding and opening the device.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "verna.h"
#include "verna-abi.h"

static int verna_query_device_ex(struct ibv_context *ibctx,
				 const struct ibv_query_device_ex_input *input,
				 struct ibv_device_attr_ex *attr,
				 size_t attr_size)
{
	struct ib_uverbs_ex_query_device_resp resp;
	size_t resp_size = sizeof(resp);
	uint64_t version;
	int ret;

	ret = ibv_cmd_query_device_any(ibctx, input, attr, attr_size, &resp,
				       &resp_size);
	if (ret)
		return ret;

	/* VERNA_REG_VERSION: major 31:24, minor 23:16, patch 15:0 */
	version = resp.base.fw_ver;
	snprintf(attr->orig_attr.fw_ver, sizeof(attr->orig_attr.fw_ver),
		 "%" PRIu64 ".%" PRIu64 ".%" PRIu64, version >> 24,
		 version >> 16 & 0xff, version & 0xffff);

	/* Completions carry nanoseconds in 64 bits. */
	if (attr_size >= offsetofend(struct ibv_device_attr_ex,
				     hca_core_clock)) {
		attr->completion_timestamp_mask = UINT64_MAX;
		attr->hca_core_clock = 1000000;
	}
	return 0;
}

static int verna_query_port(struct ibv_context *ibctx, uint8_t port,
			    struct ibv_port_attr *attr)
{
	struct ibv_query_port cmd;

	return ibv_cmd_query_port(ibctx, port, attr, &cmd, sizeof(cmd));
}

static size_t verna_status_size(struct ibv_context *ibctx)
{
	return to_vdev(ibctx->device)->page_size;
}

static void verna_free_context(struct ibv_context *ibctx)
{
	struct verna_context *ctx = to_vctx(ibctx);

	munmap((void *)ctx->status, verna_status_size(ibctx));
	munmap(ctx->uar, VERNA_UAR_SIZE);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

/* What is not here (resize_cq, SRQs, windows ...) libibverbs answers EOPNOTSUPP. */
static const struct verbs_context_ops verna_context_ops = {
	.alloc_parent_domain = verna_alloc_parent_domain,
	.alloc_pd = verna_alloc_pd,
	.alloc_td = verna_alloc_td,
	.cq_event = verna_cq_event,
	.create_ah = verna_create_ah,
	.create_cq = verna_create_cq,
	.create_cq_ex = verna_create_cq_ex,
	.create_qp = verna_create_qp,
	.create_qp_ex = verna_create_qp_ex,
	.dealloc_pd = verna_dealloc_pd,
	.dealloc_td = verna_dealloc_td,
	.dereg_mr = verna_dereg_mr,
	.destroy_ah = verna_destroy_ah,
	.destroy_cq = verna_destroy_cq,
	.destroy_qp = verna_destroy_qp,
	.free_context = verna_free_context,
	.modify_cq = verna_modify_cq,
	.modify_qp = verna_modify_qp,
	.poll_cq = verna_poll_cq,
	.post_recv = verna_post_recv,
	.post_send = verna_post_send,
	.query_device_ex = verna_query_device_ex,
	.query_port = verna_query_port,
	.query_qp = verna_query_qp,
	.reg_mr = verna_reg_mr,
	.req_notify_cq = verna_req_notify_cq,
};

static struct verbs_context *verna_alloc_context(struct ibv_device *ibdev,
						 int cmd_fd, void *private_data)
{
	struct verna_alloc_ucontext_cmd_resp resp = {};
	struct verna_ib_alloc_ucontext_resp *drv = &resp.drv_payload;
	struct ibv_get_context cmd = {};
	struct verna_context *ctx;

	ctx = verbs_init_and_alloc_context(ibdev, cmd_fd, ctx, vctx,
					   VERNA_RDMA_DRIVER_ID);
	if (!ctx)
		return NULL;
	if (ibv_cmd_get_context(&ctx->vctx, &cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp)))
		goto err_uninit;

	ctx->max_inline = drv->max_inline;
	ctx->max_send_sge = drv->max_send_sge;
	ctx->max_recv_sge = drv->max_recv_sge;
	ctx->log_max_wqes = drv->log_max_wqes;
	ctx->log_max_cqes = drv->log_max_cqes;
	ctx->uar = mmap(NULL, VERNA_UAR_SIZE, PROT_WRITE, MAP_SHARED, cmd_fd,
			drv->uar_offset);
	if (ctx->uar == MAP_FAILED)
		goto err_uninit;

	ctx->status = mmap(NULL, verna_status_size(&ctx->vctx.context),
			   PROT_READ, MAP_SHARED, cmd_fd, drv->status_offset);
	if (ctx->status == MAP_FAILED)
		goto err_unmap;

	verbs_set_ops(&ctx->vctx, &verna_context_ops);
	return &ctx->vctx;

err_unmap:
	munmap(ctx->uar, VERNA_UAR_SIZE);
err_uninit:
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
	return NULL;
}

static struct verbs_device *
verna_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	struct verna_device *dev;

	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return NULL;
	dev->page_size = sysconf(_SC_PAGESIZE);
	return &dev->vdev;
}

static void verna_uninit_device(struct verbs_device *vdev)
{
	free(container_of(vdev, struct verna_device, vdev));
}

static const struct verbs_match_ent verna_match_table[] = {
	VERBS_DRIVER_ID(VERNA_RDMA_DRIVER_ID),
	VERBS_PCI_MATCH(VERNA_PCI_VENDOR_ID, VERNA_PCI_DEVICE_ID, NULL),
	VERBS_PCI_MATCH(VERNA_PCI_VENDOR_ID, VERNA_PCI_VF_DEVICE_ID, NULL),
	{},
};

static const struct verbs_device_ops verna_device_ops = {
	.name = "verna",
	.match_min_abi_version = VERNA_UVERBS_ABI_VERSION,
	.match_max_abi_version = VERNA_UVERBS_ABI_VERSION,
	.match_table = verna_match_table,
	.alloc_device = verna_alloc_device,
	.uninit_device = verna_uninit_device,
	.alloc_context = verna_alloc_context,
};
PROVIDER_DRIVER(verna, verna_device_ops);
