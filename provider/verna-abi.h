/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: the kernel's private data joined to the commands of uverbs.
 *
 * DECLARE_DRV_CMD() wants a _STRUCT_<name> macro with the members of each
 * private struct, so that they can be named without drv_payload. It is
 * generated for headers that live in rdma-core; for ours it stays empty and the
 * provider always says drv_payload: one definition, no copy to keep in step.
 */
#ifndef VERNA_PROVIDER_ABI_H
#define VERNA_PROVIDER_ABI_H

#include <infiniband/kern-abi.h>

#include "uapi/rdma/verna-abi.h"

#define _STRUCT_verna_ib_alloc_ucontext_resp	struct {}
#define _STRUCT_verna_ib_alloc_pd_resp		struct {}
#define _STRUCT_verna_ib_create_cq		struct {}
#define _STRUCT_verna_ib_create_cq_resp		struct {}
#define _STRUCT_verna_ib_create_qp		struct {}
#define _STRUCT_verna_ib_create_qp_resp		struct {}
#define _STRUCT_verna_ib_create_ah_resp		struct {}

DECLARE_DRV_CMD(verna_alloc_ucontext_cmd, IB_USER_VERBS_CMD_GET_CONTEXT,
		empty, verna_ib_alloc_ucontext_resp);
DECLARE_DRV_CMD(verna_alloc_pd_cmd, IB_USER_VERBS_CMD_ALLOC_PD,
		empty, verna_ib_alloc_pd_resp);
DECLARE_DRV_CMD(verna_create_cq_cmd, IB_USER_VERBS_EX_CMD_CREATE_CQ,
		verna_ib_create_cq, verna_ib_create_cq_resp);
DECLARE_DRV_CMD(verna_create_qp_cmd, IB_USER_VERBS_CMD_CREATE_QP,
		verna_ib_create_qp, verna_ib_create_qp_resp);
DECLARE_DRV_CMD(verna_create_ah_cmd, IB_USER_VERBS_CMD_CREATE_AH,
		empty, verna_ib_create_ah_resp);

#endif /* VERNA_PROVIDER_ABI_H */
