// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: memory regions.
 */
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "ib.h"
#include "verna_ib_compat.h"

/* Hints and limits that the card need not know about. */
#define VIB_ACCESS_IGNORED	(IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

static const struct {
	int ib;
	u8 hw;
} vib_access_map[] = {
	{ IB_ACCESS_LOCAL_WRITE, VERNA_ACCESS_LOCAL_WRITE },
	{ IB_ACCESS_REMOTE_WRITE, VERNA_ACCESS_REMOTE_WRITE },
	{ IB_ACCESS_REMOTE_READ, VERNA_ACCESS_REMOTE_READ },
	{ IB_ACCESS_REMOTE_ATOMIC, VERNA_ACCESS_REMOTE_ATOMIC },
	{ IB_ZERO_BASED, VERNA_ACCESS_ZERO_BASED },
};

/* -EOPNOTSUPP for rights that need what the card has not (memory windows). */
static int vib_access_to_hw(int access, u8 *hw)
{
	int i;

	*hw = 0;
	access &= ~VIB_ACCESS_IGNORED;
	for (i = 0; i < ARRAY_SIZE(vib_access_map); i++) {
		if (access & vib_access_map[i].ib)
			*hw |= vib_access_map[i].hw;
		access &= ~vib_access_map[i].ib;
	}
	return access ? -EOPNOTSUPP : 0;
}

static int vib_create_mr_cmd(struct vib_dev *dev, struct vib_mr *mr, u32 pdn,
			     struct verna_cmd_create_mr *cmd)
{
	u64 key;
	int err;

	cmd->hdr.opcode = cpu_to_le16(VERNA_CMD_CREATE_MR);
	cmd->pdn = cpu_to_le32(pdn);
	err = verna_cmd_exec(dev->core, cmd, sizeof(*cmd), &key);
	if (err)
		return err;

	mr->pbl = cmd->mem;
	mr->key = key;
	mr->ibmr.lkey = mr->key;
	mr->ibmr.rkey = mr->key;
	return 0;
}

static int vib_reg_pinned(struct vib_dev *dev, struct vib_mr *mr, u32 pdn,
			  u64 iova, struct verna_cmd_create_mr *cmd)
{
	struct vib_pbl pbl;
	int err;

	err = vib_pbl_from_umem(dev, &pbl, mr->umem, iova);
	if (err)
		return err;
	cmd->mem = pbl.hw;
	err = vib_create_mr_cmd(dev, mr, pdn, cmd);
	vib_pbl_free(&pbl);
	return err;
}

/**
 * vib_reg_user_mr() - ib_device_ops.reg_user_mr
 * @ibpd: protection domain
 * @start: address in the process
 * @length: bytes; 0 gives a region that allows access to nothing
 * @iova: address of the first byte as work requests will name it
 * @access: IB_ACCESS_*, checked by the core
 * @udata: no private part
 *
 * Return: the region, or ERR_PTR(): -EOPNOTSUPP (rights), -EINVAL, -ENOMEM,
 * -EFAULT, or another error.
 */
struct ib_mr *vib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 iova, int access, struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibpd->device);
	struct verna_cmd_create_mr cmd = {
		.iova = cpu_to_le64(iova),
		.length = cpu_to_le64(length),
	};
	u32 pdn = to_vib_pd(ibpd)->pdn;
	struct vib_mr *mr;
	int err;

	err = vib_udata_in(udata, NULL, 0);
	if (err)
		return ERR_PTR(err);
	err = vib_access_to_hw(access, &cmd.access);
	if (err)
		return ERR_PTR(err);
	if (length > dev->caps->rdma.max_mr_size)
		return ERR_PTR(-EINVAL);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);

	if (!length) {
		err = vib_create_mr_cmd(dev, mr, pdn, &cmd);
		if (err)
			goto err_mr;
		return &mr->ibmr;
	}

	mr->umem = ib_umem_get_va(&dev->ibdev, start, length, access);
	if (IS_ERR(mr->umem)) {
		err = PTR_ERR(mr->umem);
		goto err_mr;
	}
	err = vib_reg_pinned(dev, mr, pdn, iova, &cmd);
	if (err)
		goto err_umem;
	mr->ibmr.page_size = mr->pbl.level ? 1u << mr->pbl.page_shift : 0;
	return &mr->ibmr;

err_umem:
	ib_umem_release(mr->umem);
err_mr:
	kfree(mr);
	return ERR_PTR(err);
}

/**
 * vib_get_dma_mr() - ib_device_ops.get_dma_mr: all of memory by bus address
 * @ibpd: a domain of the kernel
 * @access: IB_ACCESS_LOCAL_WRITE at most
 *
 * The card gives no remote rights to such a region, so a domain with
 * IB_PD_UNSAFE_GLOBAL_RKEY cannot be had. Return: the region, or ERR_PTR().
 */
struct ib_mr *vib_get_dma_mr(struct ib_pd *ibpd, int access)
{
	struct vib_dev *dev = to_vib_dev(ibpd->device);
	struct verna_cmd_create_mr cmd = {
		.flags = VERNA_MR_F_DMA,
	};
	struct vib_mr *mr;
	int err;

	if (access & ~IB_ACCESS_LOCAL_WRITE)
		return ERR_PTR(-EOPNOTSUPP);
	err = vib_access_to_hw(access, &cmd.access);
	if (err)
		return ERR_PTR(err);

	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	err = vib_create_mr_cmd(dev, mr, to_vib_pd(ibpd)->pdn, &cmd);
	if (err) {
		kfree(mr);
		return ERR_PTR(err);
	}
	return &mr->ibmr;
}

/**
 * vib_dereg_mr() - ib_device_ops.dereg_mr
 * @ibmr: region
 * @udata: not used
 *
 * Memory is unpinned only after the card has let go of it.
 * Return: 0, or an error of the command, when the region still exists.
 */
int vib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibmr->device);
	struct vib_mr *mr = to_vib_mr(ibmr);
	int err;

	err = verna_cmd_destroy(dev->core, VERNA_CMD_DESTROY_MR, mr->key);
	if (err)
		return err;

	ib_umem_release(mr->umem);
	kfree(mr);
	return 0;
}
