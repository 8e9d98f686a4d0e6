// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: what the device is and can.
 */
#include <rdma/ib_verbs.h>

#include "ib.h"

/* CQE time stamps count nanoseconds (verna_cqe.timestamp): 1 GHz. */
#define VIB_CLOCK_KHZ	1000000

/* Local acknowledge delay: 4.096 us * 2^15, about 134 ms; see query below. */
#define VIB_ACK_DELAY	15

static void vib_device_limits(const struct verna_caps *caps,
			      struct ib_device_attr *attr)
{
	attr->max_mr_size = caps->rdma.max_mr_size;
	attr->page_size_cap = caps->dev.page_shifts;
	attr->max_qp = caps->rdma.max_qps;
	attr->max_qp_wr = 1 << caps->rdma.log_max_wqes;
	attr->max_send_sge = caps->rdma.max_send_sge;
	attr->max_recv_sge = caps->rdma.max_recv_sge;
	attr->max_sge_rd = caps->rdma.max_send_sge;
	attr->max_cq = caps->dev.max_cqs;
	attr->max_cqe = 1 << caps->dev.log_max_cq_entries;
	attr->max_mr = caps->rdma.max_mrs;
	attr->max_pd = caps->rdma.max_pds;
	/* Address vectors travel in the work request: memory is the limit. */
	attr->max_ah = INT_MAX;
	attr->max_pkeys = VIB_PKEY_TABLE_LEN;
}

/**
 * vib_query_device() - ib_device_ops.query_device
 * @ibdev: device
 * @attr: to be filled, zeroed by the caller
 * @udata: no private part in this ABI
 *
 * The acknowledge delay is larger than that of a card made of silicon: ours
 * runs beside a virtual machine and may lose the CPU for some milliseconds;
 * rdma_cm adds the delay to the timeout of connections.
 *
 * Return: 0, -EINVAL or -EOPNOTSUPP.
 */
int vib_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		     struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibdev);
	const struct verna_caps *caps = dev->caps;
	struct pci_dev *pdev = verna_pdev(dev->core);

	if (udata && udata->inlen &&
	    !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EOPNOTSUPP;

	vib_device_limits(caps, attr);
	attr->fw_ver = verna_hw_version(dev->core);
	attr->sys_image_guid = caps->rdma.node_guid;
	attr->vendor_id = pdev->vendor;
	attr->vendor_part_id = pdev->device;
	attr->hw_ver = pdev->revision;
	attr->device_cap_flags = IB_DEVICE_CURR_QP_STATE_MOD |
				 IB_DEVICE_RC_RNR_NAK_GEN |
				 IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SYS_IMAGE_GUID;
	attr->local_ca_ack_delay = VIB_ACK_DELAY;
	attr->timestamp_mask = U64_MAX;
	attr->hca_core_clock = VIB_CLOCK_KHZ;
	if (caps->eth.features & VERNA_ETH_F_MODERATION) {
		attr->cq_caps.max_cq_moderation_count = U16_MAX;
		attr->cq_caps.max_cq_moderation_period = U16_MAX;
	}

	if (caps->rdma.features & VERNA_RDMA_F_RC) {
		attr->max_qp_rd_atom = caps->rdma.max_rd_atomic;
		attr->max_qp_init_rd_atom = caps->rdma.max_rd_atomic;
		attr->max_res_rd_atom = min_t(u64, INT_MAX,
					      (u64)caps->rdma.max_rd_atomic *
					      caps->rdma.max_qps);
	}
	/* Atomic among requests of this card, not with respect to the CPU. */
	if (caps->rdma.features & VERNA_RDMA_F_ATOMIC)
		attr->atomic_cap = IB_ATOMIC_HCA;
	return 0;
}

/**
 * vib_get_dev_fw_str() - ib_device_ops.get_dev_fw_str
 * @ibdev: device
 * @str: of IB_FW_VERSION_NAME_MAX bytes
 */
void vib_get_dev_fw_str(struct ib_device *ibdev, char *str)
{
	u32 version = verna_hw_version(to_vib_dev(ibdev)->core);

	snprintf(str, IB_FW_VERSION_NAME_MAX, "%u.%u.%u", version >> 24,
		 (version >> 16) & 0xff, version & 0xffff);
}
