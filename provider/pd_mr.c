// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: protection domains, parent and thread domains, memory regions.
 */
#include <errno.h>
#include <stdlib.h>

#include "verna.h"
#include "verna-abi.h"

/** verna_alloc_pd - Return: the domain, or NULL and errno */
struct ibv_pd *verna_alloc_pd(struct ibv_context *ibctx)
{
	struct verna_alloc_pd_cmd_resp resp = {};
	struct ibv_alloc_pd cmd = {};
	struct verna_pd *pd;
	int ret;

	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;
	ret = ibv_cmd_alloc_pd(ibctx, &pd->ibv_pd, &cmd, sizeof(cmd),
			       &resp.ibv_resp, sizeof(resp));
	if (ret) {
		free(pd);
		errno = ret;
		return NULL;
	}
	pd->pdn = resp.drv_payload.pdn;
	atomic_init(&pd->refcnt, 0);
	return &pd->ibv_pd;
}

/**
 * verna_alloc_parent_domain - a domain that carries a thread domain
 *
 * Allocators of the application are not taken: queue memory is mapped, not
 * allocated.
 *
 * Return: the domain, or NULL and errno.
 */
struct ibv_pd *
verna_alloc_parent_domain(struct ibv_context *ibctx,
			  struct ibv_parent_domain_init_attr *attr)
{
	struct verna_pd *pd;

	if (ibv_check_alloc_parent_domain(attr))
		return NULL;
	if (!check_comp_mask(attr->comp_mask,
			     IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT)) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	pd = calloc(1, sizeof(*pd));
	if (!pd)
		return NULL;

	ibv_initialize_parent_domain(&pd->ibv_pd, attr->pd);
	pd->contained = to_vpd(attr->pd);
	pd->pdn = pd->contained->pdn;
	atomic_init(&pd->refcnt, 0);
	atomic_fetch_add(&pd->contained->refcnt, 1);
	if (attr->td) {
		pd->td = container_of(attr->td, struct verna_td, ibv_td);
		atomic_fetch_add(&pd->td->refcnt, 1);
	}
	return &pd->ibv_pd;
}

/** verna_dealloc_pd - Return: 0, or EBUSY while something uses the domain */
int verna_dealloc_pd(struct ibv_pd *ibpd)
{
	struct verna_pd *pd = to_vpd(ibpd);
	int ret;

	if (atomic_load(&pd->refcnt))
		return EBUSY;
	if (pd->contained) {
		atomic_fetch_sub(&pd->contained->refcnt, 1);
		if (pd->td)
			atomic_fetch_sub(&pd->td->refcnt, 1);
		free(pd);
		return 0;
	}
	ret = ibv_cmd_dealloc_pd(ibpd);
	if (ret)
		return ret;
	free(pd);
	return 0;
}

/** verna_alloc_td - Return: the thread domain, or NULL and errno */
struct ibv_td *verna_alloc_td(struct ibv_context *ibctx,
			      struct ibv_td_init_attr *attr)
{
	struct verna_td *td;

	if (attr->comp_mask) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	td = calloc(1, sizeof(*td));
	if (!td)
		return NULL;
	td->ibv_td.context = ibctx;
	atomic_init(&td->refcnt, 0);
	return &td->ibv_td;
}

/** verna_dealloc_td - Return: 0, or EBUSY while a parent domain holds it */
int verna_dealloc_td(struct ibv_td *ibtd)
{
	struct verna_td *td = container_of(ibtd, struct verna_td, ibv_td);

	if (atomic_load(&td->refcnt))
		return EBUSY;
	free(td);
	return 0;
}

/** verna_reg_mr - Return: the region, or NULL and errno */
struct ibv_mr *verna_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			    uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp;
	struct ibv_reg_mr cmd;
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;
	ret = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &cmd,
			     sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

/** verna_dereg_mr - Return: 0 or a positive errno */
int verna_dereg_mr(struct verbs_mr *vmr)
{
	int ret = ibv_cmd_dereg_mr(vmr);

	if (ret)
		return ret;
	free(vmr);
	return 0;
}
