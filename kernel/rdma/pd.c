// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: protection domains.
 *
 * The card checks that a key and its QP share a domain, so there is no key that
 * is good for all domains: the RDMA core asks for a DMA region of each domain of
 * the kernel instead (vib_get_dma_mr()).
 */
#include <rdma/ib_verbs.h>

#include "ib.h"

/**
 * vib_alloc_pd() - ib_device_ops.alloc_pd
 * @ibpd: to be filled
 * @udata: NULL for the kernel
 *
 * Return: 0, -ENOMEM if the card has no more, or another error.
 */
int vib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibpd->device);
	struct verna_cmd_hdr cmd = {
		.opcode = cpu_to_le16(VERNA_CMD_CREATE_PD),
	};
	struct verna_ib_alloc_pd_resp resp = {};
	struct vib_pd *pd = to_vib_pd(ibpd);
	u64 pdn;
	int err;

	if (udata) {
		err = vib_udata_in(udata, NULL, 0);
		if (err)
			return err;
	}

	err = verna_cmd_exec(dev->core, &cmd, sizeof(cmd), &pdn);
	if (err)
		return err;
	pd->pdn = pdn;
	if (!udata)
		return 0;

	resp.pdn = pd->pdn;
	err = vib_udata_out(udata, &resp, sizeof(resp));
	if (err)
		verna_cmd_destroy(dev->core, VERNA_CMD_DESTROY_PD, pd->pdn);
	return err;
}

/**
 * vib_dealloc_pd() - ib_device_ops.dealloc_pd
 * @ibpd: protection domain without users
 * @udata: not used
 *
 * Return: 0 or an error of the command, when the domain still exists.
 */
int vib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibpd->device);

	return verna_cmd_destroy(dev->core, VERNA_CMD_DESTROY_PD,
				 to_vib_pd(ibpd)->pdn);
}
