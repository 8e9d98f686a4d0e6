// SPDX-License-Identifier: GPL-2.0
/* verna: rules of the card's tables, for steer.c, arfs.c and tc.c. */
#include <linux/dma-mapping.h>

#include "eth.h"

/**
 * verna_cmd_exec_from - execute a command that names memory which the card reads
 * @vdev: the card
 * @cmd: command
 * @len: its size
 * @addr: field of @cmd that gets the bus address
 * @data: what the card reads, any kernel memory
 * @size: of it
 * @res: all that the card says
 *
 * Return: as verna_cmd_exec_quiet(), or -ENOMEM.
 */
int verna_cmd_exec_from(struct verna_dev *vdev, void *cmd, size_t len, __le64 *addr,
			const void *data, size_t size, struct verna_cmd_result *res)
{
	struct device *dev = verna_device(vdev);
	dma_addr_t dma;
	void *copy;
	int err;

	copy = kmemdup(data, size, GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	dma = dma_map_single(dev, copy, size, DMA_TO_DEVICE);
	err = dma_mapping_error(dev, dma);
	if (err)
		goto free_copy;
	*addr = cpu_to_le64(dma);
	err = verna_cmd_exec_quiet(vdev, cmd, len, res);
	dma_unmap_single(dev, dma, size, DMA_TO_DEVICE);
free_copy:
	kfree(copy);
	return err;
}

/**
 * verna_flow_add - add a rule to receive steering
 * @eth: interface
 * @priority: the lowest number wins; they are behind all rules of tc
 * @replaces: rule that goes in the same moment, or 0
 * @rule: key, mask and actions
 * @id: its number
 *
 * Return: 0 or an error, of which -ENOMEM and -EINVAL may be the user's.
 */
int verna_flow_add(struct verna_eth *eth, u32 priority, u32 replaces,
		   const struct verna_flow_rule *rule, u32 *id)
{
	struct verna_cmd_add_flow cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_ADD_FLOW),
		.direction = VERNA_FLOW_RX,
		.priority = cpu_to_le32(VERNA_STEER_PRIORITY + priority),
		.replaces = cpu_to_le32(replaces),
		.len = cpu_to_le32(sizeof(*rule)),
	};
	struct verna_cmd_result res;
	int err;

	err = verna_cmd_exec_from(eth->vdev, &cmd, sizeof(cmd), &cmd.addr, rule,
				  sizeof(*rule), &res);
	if (!err)
		*id = res.result;
	return err;
}

/** verna_flow_del - take a rule back @eth: interface @id: its number */
void verna_flow_del(struct verna_eth *eth, u32 id)
{
	verna_cmd_destroy(eth->vdev, VERNA_CMD_DEL_FLOW, id);
}

/**
 * verna_flow_match - let a rule look at a field
 * @rule: rule
 * @offset: of the field in struct verna_flow_key
 * @value: the field
 * @mask: bits that count
 * @len: bytes
 */
void verna_flow_match(struct verna_flow_rule *rule, size_t offset, const void *value,
		      const void *mask, size_t len)
{
	u8 *to_key = (u8 *)&rule->key + offset, *to_mask = (u8 *)&rule->mask + offset;
	const u8 *from_key = value, *from_mask = mask;
	size_t i;

	for (i = 0; i < len; i++) {
		to_mask[i] |= from_mask[i];
		to_key[i] |= from_key[i] & from_mask[i];
	}
}
