// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: binds the auxiliary device "verna.rdma", registers the RDMA device.
 */
#include <linux/auxiliary_bus.h>
#include <linux/dma-mapping.h>
#include <linux/module.h>
#include <rdma/uverbs_ioctl.h>

#include "ib.h"
#include "verna_ib_compat.h"

/**
 * vib_udata_in() - fetch the driver's part of a verbs request
 * @udata: of the call
 * @req: where to put it, may be NULL if @len is 0
 * @len: its size in this version of the ABI
 *
 * A longer request of a newer provider is fine as long as the rest is zero.
 * Return: 0, -EINVAL if it is short, -EOPNOTSUPP, -EFAULT.
 */
int vib_udata_in(struct ib_udata *udata, void *req, size_t len)
{
	if (udata->inlen < len)
		return -EINVAL;
	if (udata->inlen > len &&
	    !ib_is_udata_cleared(udata, len, udata->inlen - len))
		return -EOPNOTSUPP;
	return len ? ib_copy_from_udata(req, udata, len) : 0;
}

/**
 * vib_udata_out() - return the driver's part of a verbs response
 * @udata: of the call
 * @resp: response
 * @len: its size; an older provider takes less of it
 *
 * Return: 0 or -EFAULT.
 */
int vib_udata_out(struct ib_udata *udata, const void *resp, size_t len)
{
	return ib_copy_to_udata(udata, (void *)resp, min(len, udata->outlen));
}

static const struct ib_device_ops vib_ops = {
	.owner = THIS_MODULE,
	.driver_id = (enum rdma_driver_id)VERNA_RDMA_DRIVER_ID,
	.uverbs_abi_ver = VERNA_UVERBS_ABI_VERSION,

	.add_gid = vib_add_gid,
	.alloc_hw_port_stats = vib_alloc_hw_port_stats,
	.alloc_pd = vib_alloc_pd,
	.alloc_ucontext = vib_alloc_ucontext,
	.create_ah = vib_create_ah,
	.create_cq = vib_create_cq,
	.create_qp = vib_create_qp,
	.create_user_ah = vib_create_ah,
	.dealloc_pd = vib_dealloc_pd,
	.dealloc_ucontext = vib_dealloc_ucontext,
	.del_gid = vib_del_gid,
	.dereg_mr = vib_dereg_mr,
	.destroy_ah = vib_destroy_ah,
	.destroy_cq = vib_destroy_cq,
	.destroy_qp = vib_destroy_qp,
	.disassociate_ucontext = vib_disassociate_ucontext,
	.fill_res_cq_entry = vib_fill_res_cq_entry,
	.fill_res_mr_entry = vib_fill_res_mr_entry,
	.fill_res_qp_entry = vib_fill_res_qp_entry,
	.get_dev_fw_str = vib_get_dev_fw_str,
	.get_dma_mr = vib_get_dma_mr,
	.get_hw_stats = vib_get_hw_stats,
	.get_link_layer = vib_get_link_layer,
	.get_port_immutable = vib_get_port_immutable,
	.mmap = vib_mmap,
	.mmap_free = vib_mmap_free,
	.modify_cq = vib_modify_cq,
	.modify_qp = vib_modify_qp,
	.poll_cq = vib_poll_cq,
	.post_recv = vib_post_recv,
	.post_send = vib_post_send,
	.process_mad = vib_process_mad,
	.query_device = vib_query_device,
	.query_pkey = vib_query_pkey,
	.query_port = vib_query_port,
	.query_qp = vib_query_qp,
	.reg_user_mr = vib_reg_user_mr_op,
	.req_notify_cq = vib_req_notify_cq,

	INIT_RDMA_OBJ_SIZE(ib_ah, vib_ah, ibah),
	INIT_RDMA_OBJ_SIZE(ib_cq, vib_cq, ibcq),
	INIT_RDMA_OBJ_SIZE(ib_pd, vib_pd, ibpd),
	INIT_RDMA_OBJ_SIZE(ib_qp, vib_qp, ibqp),
	INIT_RDMA_OBJ_SIZE(ib_ucontext, vib_ucontext, ibuc),
};

static void vib_init(struct vib_dev *dev, struct verna_dev *core)
{
	struct ib_device *ibdev = &dev->ibdev;

	dev->core = core;
	dev->caps = verna_caps(core);
	dev->netdev = verna_netdev(core);
	xa_init_flags(&dev->qps, XA_FLAGS_LOCK_IRQ);
	spin_lock_init(&dev->cq_lock);
	INIT_LIST_HEAD(&dev->cqs);
	dev->events.handle = vib_handle_event;

	ibdev->node_type = RDMA_NODE_IB_CA;
	ibdev->phys_port_cnt = 1;
	ibdev->num_comp_vectors = verna_num_comp_vectors(core);
	ibdev->node_guid = dev->caps->rdma.node_guid;
	ibdev->dev.parent = verna_device(core);
	strscpy(ibdev->node_desc, "verna RDMA", sizeof(ibdev->node_desc));
	ib_set_device_ops(ibdev, &vib_ops);
}

static struct vib_dev *vib_alloc(struct verna_dev *core)
{
	struct vib_dev *dev;

	dev = ib_alloc_device(vib_dev, ibdev);
	if (!dev)
		return NULL;

	dev->status = (void *)get_zeroed_page(GFP_KERNEL);
	if (!dev->status) {
		ib_dealloc_device(&dev->ibdev);
		return NULL;
	}
	dev->status->alive = 1;
	vib_init(dev, core);
	return dev;
}

/* Unregistered, or never registered: nobody maps the page. */
static void vib_free(struct vib_dev *dev)
{
	free_page((unsigned long)dev->status);
	ib_dealloc_device(&dev->ibdev);
}

static int vib_register(struct vib_dev *dev)
{
	int err;

	err = ib_device_set_netdev(&dev->ibdev, dev->netdev, VIB_PORT);
	if (err)
		return err;

	/* Events may name QPs as soon as the first one exists. */
	verna_event_register(dev->core, &dev->events);

	err = ib_register_device(&dev->ibdev, "verna%d", verna_device(dev->core));
	if (err)
		goto err_events;

	err = vib_port_watch(dev);
	if (err)
		goto err_register;
	return 0;

err_register:
	ib_unregister_device(&dev->ibdev);
err_events:
	verna_event_unregister(dev->core, &dev->events);
	return err;
}

static int vib_probe(struct auxiliary_device *adev,
		     const struct auxiliary_device_id *id)
{
	struct verna_dev *core = to_verna_adev(adev)->vdev;
	struct vib_dev *dev;
	int err;

	if (!verna_caps(core)->rdma.present)
		return -ENODEV;

	dev = vib_alloc(core);
	if (!dev)
		return -ENOMEM;

	err = vib_register(dev);
	if (err) {
		dev_err(&adev->dev, "cannot register the RDMA device: %d\n", err);
		vib_free(dev);
		return err;
	}

	auxiliary_set_drvdata(adev, dev);
	return 0;
}

static void vib_remove(struct auxiliary_device *adev)
{
	struct vib_dev *dev = auxiliary_get_drvdata(adev);

	/*
	 * After a reset the card has forgotten everything: requests that are
	 * still outstanding must be flushed by us, or those who drain their
	 * queues on the way out would wait for ever.
	 */
	if (!verna_dev_is_up(dev->core))
		vib_mark_dead(dev);

	vib_port_unwatch(dev);
	ib_unregister_device(&dev->ibdev);
	verna_event_unregister(dev->core, &dev->events);
	WARN_ON(!xa_empty(&dev->qps));
	xa_destroy(&dev->qps);
	vib_free(dev);
}

static const struct auxiliary_device_id vib_id_table[] = {
	{ .name = VERNA_DRV_NAME "." VERNA_ADEV_RDMA },
	{}
};
MODULE_DEVICE_TABLE(auxiliary, vib_id_table);

static struct auxiliary_driver vib_driver = {
	.name = VERNA_ADEV_RDMA,
	.probe = vib_probe,
	.remove = vib_remove,
	.id_table = vib_id_table,
};
module_auxiliary_driver(vib_driver);

MODULE_DESCRIPTION("verna RDMA driver");
MODULE_LICENSE("GPL");
