// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * verna: address handles. The kernel checks the source GID and finds the next
 * hop; the address vector itself is written into each request.
 */
#include <errno.h>
#include <stdlib.h>

#include "verna.h"
#include "verna-abi.h"

static void verna_fill_av(struct verna_av *av, const struct ibv_ah_attr *attr,
			  const struct verna_ib_create_ah_resp *resp)
{
	const struct ibv_global_route *grh = &attr->grh;
	uint32_t flow_label = grh->flow_label & IB_GRH_FLOWLABEL_MASK;

	memcpy(av->dgid, grh->dgid.raw, sizeof(av->dgid));
	memcpy(av->dmac, resp->dmac, sizeof(av->dmac));
	av->sgid_index = grh->sgid_index;
	av->hop_limit = grh->hop_limit;
	av->traffic_class = grh->traffic_class;
	av->sl = resp->sl;
	/* Without a flow label the card spreads flows by queue pair. */
	if (flow_label)
		av->udp_sport =
			htole16(ibv_flow_label_to_udp_sport(flow_label));
	av->flow_label = htole32(flow_label);
}

/** verna_create_ah - Return: the handle, or NULL and errno */
struct ibv_ah *verna_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct verna_create_ah_cmd_resp resp = {};
	struct verna_ah *ah;
	int ret;

	if (!attr->is_global) {
		errno = EINVAL;
		return NULL;
	}
	ah = calloc(1, sizeof(*ah));
	if (!ah)
		return NULL;
	ret = ibv_cmd_create_ah(pd, &ah->ibv_ah, attr, &resp.ibv_resp,
				sizeof(resp));
	if (ret) {
		free(ah);
		errno = ret;
		return NULL;
	}
	verna_fill_av(&ah->av, attr, &resp.drv_payload);
	return &ah->ibv_ah;
}

/** verna_destroy_ah - Return: 0 or a positive errno */
int verna_destroy_ah(struct ibv_ah *ibah)
{
	int ret = ibv_cmd_destroy_ah(ibah);

	if (ret)
		return ret;
	free(to_vah(ibah));
	return 0;
}
