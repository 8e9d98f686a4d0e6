// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: address handles. An address vector travels in the work request, so
 * the card has no object for it and these calls cost no command.
 */
#include <linux/etherdevice.h>
#include <rdma/ib_verbs.h>

#include "ib.h"

#define VIB_MAX_SL	7	/* the priority bits of a VLAN tag */

/**
 * vib_av_from_ah_attr() - translate a path
 * @dev: device
 * @attr: path; the next hop's MAC is resolved
 * @av: result
 *
 * Return: 0 or -EINVAL.
 */
int vib_av_from_ah_attr(struct vib_dev *dev, const struct rdma_ah_attr *attr,
			struct verna_av *av)
{
	const struct ib_global_route *grh = rdma_ah_read_grh(attr);
	u16 udp_sport = 0;

	if (attr->type != RDMA_AH_ATTR_TYPE_ROCE ||
	    !(rdma_ah_get_ah_flags(attr) & IB_AH_GRH))
		return -EINVAL;
	if (rdma_ah_get_sl(attr) > VIB_MAX_SL ||
	    grh->sgid_index >= dev->caps->rdma.max_gids)
		return -EINVAL;

	/* Without a flow label the card derives a port from the QPNs. */
	if (grh->flow_label)
		udp_sport = rdma_flow_label_to_udp_sport(grh->flow_label);

	*av = (struct verna_av){
		.sgid_index = grh->sgid_index,
		.hop_limit = grh->hop_limit,
		.traffic_class = grh->traffic_class,
		.sl = rdma_ah_get_sl(attr),
		.udp_sport = cpu_to_le16(udp_sport),
		.flow_label = cpu_to_le32(grh->flow_label & 0xfffff),
	};
	memcpy(av->dgid, grh->dgid.raw, sizeof(av->dgid));
	ether_addr_copy(av->dmac, attr->roce.dmac);
	return 0;
}

/**
 * vib_av_to_ah_attr() - the way back, for queries
 * @dev: device
 * @av: from the card
 * @attr: result
 */
void vib_av_to_ah_attr(struct vib_dev *dev, const struct verna_av *av,
		       struct rdma_ah_attr *attr)
{
	attr->type = RDMA_AH_ATTR_TYPE_ROCE;
	rdma_ah_set_port_num(attr, VIB_PORT);
	rdma_ah_set_sl(attr, av->sl);
	rdma_ah_set_grh(attr, NULL, le32_to_cpu(av->flow_label), av->sgid_index,
			av->hop_limit, av->traffic_class);
	rdma_ah_set_dgid_raw(attr, (void *)av->dgid);
	ether_addr_copy(attr->roce.dmac, av->dmac);
}

/**
 * vib_create_ah() - ib_device_ops.create_ah and create_user_ah
 * @ibah: to be filled
 * @init: path, MAC resolved by the core
 * @udata: user space: struct verna_ib_create_ah_resp
 *
 * Does not sleep for the kernel. Return: 0, -EINVAL, or an error of @udata.
 */
int vib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		  struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibah->device);
	struct verna_ib_create_ah_resp resp = {};
	struct vib_ah *ah = to_vib_ah(ibah);
	int err;

	err = vib_av_from_ah_attr(dev, init->ah_attr, &ah->av);
	if (err || !udata)
		return err;

	err = vib_udata_in(udata, NULL, 0);
	if (err)
		return err;
	ether_addr_copy(resp.dmac, ah->av.dmac);
	resp.sl = ah->av.sl;
	return vib_udata_out(udata, &resp, sizeof(resp));
}

/**
 * vib_destroy_ah() - ib_device_ops.destroy_ah
 * @ibah: address handle
 * @flags: not used
 *
 * Return: 0.
 */
int vib_destroy_ah(struct ib_ah *ibah, u32 flags)
{
	return 0;
}
