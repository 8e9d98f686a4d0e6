// SPDX-License-Identifier: GPL-2.0
/* verna: rules of the card's receive table, for steer.c and arfs.c. */
#include <linux/dma-mapping.h>

#include "eth.h"

/**
 * verna_flow_add - add a rule to the card
 * @eth: interface
 * @priority: the lowest number wins
 * @replaces: rule that goes in the same moment, or 0
 * @rule: key, mask and actions
 * @id: its number
 *
 * Return: 0 or an error, of which -ENOMEM and -EINVAL may be the user's.
 */
int verna_flow_add(struct verna_eth *eth, u32 priority, u32 replaces,
		   const struct verna_flow_rule *rule, u32 *id)
{
	struct device *dev = verna_device(eth->vdev);
	struct verna_cmd_add_flow cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_ADD_FLOW),
		.direction = VERNA_FLOW_RX,
		.priority = cpu_to_le32(priority),
		.replaces = cpu_to_le32(replaces),
		.len = cpu_to_le32(sizeof(*rule)),
	};
	struct verna_cmd_result res;
	struct verna_flow_rule *copy;
	dma_addr_t dma;
	int err;

	copy = kmemdup(rule, sizeof(*rule), GFP_KERNEL);
	if (!copy)
		return -ENOMEM;
	dma = dma_map_single(dev, copy, sizeof(*copy), DMA_TO_DEVICE);
	err = dma_mapping_error(dev, dma);
	if (err)
		goto free_copy;
	cmd.addr = cpu_to_le64(dma);
	err = verna_cmd_exec_quiet(eth->vdev, &cmd, sizeof(cmd), &res);
	if (!err)
		*id = res.result;
	dma_unmap_single(dev, dma, sizeof(*copy), DMA_TO_DEVICE);
free_copy:
	kfree(copy);
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
