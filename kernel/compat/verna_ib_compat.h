/* SPDX-License-Identifier: GPL-2.0 */
/* Where kernels differ in what they ask of an RDMA driver; see verna_compat.h. */
#ifndef VERNA_IB_COMPAT_H
#define VERNA_IB_COMPAT_H

#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "../rdma/ib.h"
#include "verna_have.h"

#ifndef VERNA_HAVE_IB_UMEM_GET_VA
#define ib_umem_get_va ib_umem_get
#endif

/*
 * ib_device_ops.reg_user_mr in the form that the kernel has. A DMA handle holds hints
 * for the bus, for which the card has no use.
 */
#ifdef VERNA_HAVE_REG_USER_MR_DMAH
static inline struct ib_mr *vib_reg_user_mr_op(struct ib_pd *pd, u64 start, u64 length,
					       u64 iova, int access, struct ib_dmah *dmah,
					       struct ib_udata *udata)
{
	if (dmah)
		return ERR_PTR(-EOPNOTSUPP);
	return vib_reg_user_mr(pd, start, length, iova, access, udata);
}
#else
#define vib_reg_user_mr_op vib_reg_user_mr
#endif

#endif /* VERNA_IB_COMPAT_H */
