// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: the GID table. The RDMA core keeps it; the card has a copy, from
 * which it takes the source address, MAC and VLAN of what it sends, and by which
 * it knows what it has to receive.
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <rdma/ib_cache.h>

#include "ib.h"

/**
 * vib_add_gid() - ib_device_ops.add_gid
 * @attr: the entry, with its netdev (ours, or a VLAN on it)
 * @context: not used
 *
 * May sleep. Return: 0 or an error of the command.
 */
int vib_add_gid(const struct ib_gid_attr *attr, void **context)
{
	struct vib_dev *dev = to_vib_dev(attr->device);
	struct verna_cmd_set_gid cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_GID),
		.index = cpu_to_le16(attr->index),
		.valid = 1,
	};
	u16 vlan;
	int err;

	BUILD_BUG_ON(sizeof(cmd.gid) != sizeof(attr->gid));
	err = rdma_read_gid_l2_fields(attr, &vlan, cmd.mac);
	if (err)
		return err;
	cmd.vlan = cpu_to_le16(vlan < VLAN_N_VID ? vlan : VERNA_VLAN_NONE);
	memcpy(cmd.gid, attr->gid.raw, sizeof(cmd.gid));

	return verna_cmd_exec(dev->core, &cmd, sizeof(cmd), NULL);
}

/**
 * vib_del_gid() - ib_device_ops.del_gid
 * @attr: the entry
 * @context: not used
 *
 * May sleep. Return: 0, also if the card is gone.
 */
int vib_del_gid(const struct ib_gid_attr *attr, void **context)
{
	struct vib_dev *dev = to_vib_dev(attr->device);
	struct verna_cmd_set_gid cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_SET_GID),
		.index = cpu_to_le16(attr->index),
	};
	int err;

	err = verna_cmd_exec(dev->core, &cmd, sizeof(cmd), NULL);
	return verna_dev_is_up(dev->core) ? err : 0;
}
