// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: the card's RDMA counters as hw_counters of the port, under the names
 * of the contract (hw/verna_counters.h).
 */
#include <rdma/ib_verbs.h>

#include "ib.h"

#define VIB_STAT_DESC(stat, doc) { .name = #stat, .priv = doc },
static const struct rdma_stat_desc vib_stat_descs[] = {
	VERNA_RDMA_COUNTERS(VIB_STAT_DESC)
};

static_assert(ARRAY_SIZE(vib_stat_descs) == VERNA_RDMA_NUM_COUNTERS);

/**
 * vib_alloc_hw_port_stats() - ib_device_ops.alloc_hw_port_stats
 * @ibdev: device
 * @port: 1
 *
 * Return: room for the values, or NULL.
 */
struct rdma_hw_stats *vib_alloc_hw_port_stats(struct ib_device *ibdev, u32 port)
{
	return rdma_alloc_hw_stats_struct(vib_stat_descs,
					  VERNA_RDMA_NUM_COUNTERS,
					  RDMA_HW_STATS_DEFAULT_LIFESPAN);
}

/**
 * vib_get_hw_stats() - ib_device_ops.get_hw_stats
 * @ibdev: device
 * @stats: values to be filled
 * @port: 1; 0 asks for counters of the device, of which there are none
 * @index: not used: one command reads all
 *
 * May sleep. Return: the number of values, or an error.
 */
int vib_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index)
{
	int err;

	if (port != VIB_PORT || !stats)
		return -EINVAL;
	err = verna_query_counters(to_vib_dev(ibdev)->core, VERNA_COUNTERS_RDMA,
				   0, stats->value, stats->num_counters);
	return err ? err : stats->num_counters;
}
