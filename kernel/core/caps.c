// SPDX-License-Identifier: GPL-2.0
/* verna: identification and the walk along the capability blocks. */
#include "core.h"

/* Blocks are copied to this size at most; a longer one is a newer version. */
union verna_cap_any {
	struct verna_cap_hdr hdr;
	struct verna_cap_dev dev;
	struct verna_cap_eth eth;
	struct verna_cap_rdma rdma;
	struct verna_cap_vport vport;
	struct verna_cap_eswitch eswitch;
	__le32 words[16];
};

static void verna_cap_dev_parse(struct verna_caps *caps,
				const struct verna_cap_dev *cap)
{
	caps->dev.max_eqs = le32_to_cpu(cap->max_eqs);
	caps->dev.max_cqs = le32_to_cpu(cap->max_cqs);
	caps->dev.log_max_cq_entries = le16_to_cpu(cap->log_max_cq_entries);
	caps->dev.log_max_eq_entries = le16_to_cpu(cap->log_max_eq_entries);
	caps->dev.num_functions = le32_to_cpu(cap->num_functions);
	caps->dev.max_pbl_entries = le32_to_cpu(cap->max_pbl_entries);
	caps->dev.page_shifts = le64_to_cpu(cap->page_shifts);
}

static void verna_cap_eth_parse(struct verna_caps *caps,
				const struct verna_cap_eth *cap)
{
	caps->eth.present = true;
	caps->eth.features = le32_to_cpu(cap->features);
	caps->eth.max_txqs = le16_to_cpu(cap->max_txqs);
	caps->eth.max_rxqs = le16_to_cpu(cap->max_rxqs);
	caps->eth.log_max_entries = le16_to_cpu(cap->log_max_entries);
	caps->eth.max_mac_filters = le16_to_cpu(cap->max_mac_filters);
	caps->eth.min_mtu = le16_to_cpu(cap->min_mtu);
	caps->eth.max_mtu = le16_to_cpu(cap->max_mtu);
	caps->eth.max_tx_frags = le16_to_cpu(cap->max_tx_frags);
	caps->eth.rss_table_size = le16_to_cpu(cap->rss_table_size);
	caps->eth.max_tso_bytes = le32_to_cpu(cap->max_tso_bytes);
	caps->eth.max_flow_rules = le32_to_cpu(cap->max_flow_rules);
	caps->eth.max_rss_contexts = le16_to_cpu(cap->max_rss_contexts);
	caps->eth.max_tx_classes = cap->max_tx_classes;
}

static void verna_cap_rdma_parse(struct verna_caps *caps,
				 const struct verna_cap_rdma *cap)
{
	caps->rdma.present = true;
	caps->rdma.features = le32_to_cpu(cap->features);
	caps->rdma.max_qps = le32_to_cpu(cap->max_qps);
	caps->rdma.max_mrs = le32_to_cpu(cap->max_mrs);
	caps->rdma.max_pds = le32_to_cpu(cap->max_pds);
	caps->rdma.max_gids = le16_to_cpu(cap->max_gids);
	caps->rdma.log_max_wqes = le16_to_cpu(cap->log_max_wqes);
	caps->rdma.max_send_sge = le16_to_cpu(cap->max_send_sge);
	caps->rdma.max_recv_sge = le16_to_cpu(cap->max_recv_sge);
	caps->rdma.max_inline = le16_to_cpu(cap->max_inline);
	caps->rdma.max_rd_atomic = le16_to_cpu(cap->max_rd_atomic);
	caps->rdma.max_mtu = le32_to_cpu(cap->max_mtu);
	caps->rdma.max_msg = le64_to_cpu(cap->max_msg);
	caps->rdma.max_mr_size = le64_to_cpu(cap->max_mr_size);
	caps->rdma.node_guid = cap->node_guid;
}

static void verna_cap_vport_parse(struct verna_caps *caps,
				  const struct verna_cap_vport *cap)
{
	caps->vport.present = true;
	caps->vport.max_vfs = le16_to_cpu(cap->max_vfs);
	caps->vport.max_rate_nodes = le16_to_cpu(cap->max_rate_nodes);
}

static void verna_cap_eswitch_parse(struct verna_caps *caps,
				    const struct verna_cap_eswitch *cap)
{
	caps->eswitch.present = le32_to_cpu(cap->modes) & BIT(VERNA_ESWITCH_SWITCHDEV);
}

static int verna_cap_read(struct verna_dev *vdev, u32 offset,
			  union verna_cap_any *cap)
{
	u32 words, i;

	memset(cap, 0, sizeof(*cap));
	if (!IS_ALIGNED(offset, 4) || offset > VERNA_REGS_SIZE - sizeof(cap->hdr))
		return -EINVAL;
	for (i = 0; i < sizeof(cap->hdr) / 4; i++)
		cap->words[i] = cpu_to_le32(verna_reg_read(vdev, offset + i * 4));

	if (cap->hdr.type == cpu_to_le16(VERNA_CAP_END))
		return 0;
	words = le16_to_cpu(cap->hdr.length) / 4;
	if (words < i || offset + words * 4 > VERNA_REGS_SIZE)
		return -EINVAL;
	for (; i < min_t(u32, words, ARRAY_SIZE(cap->words)); i++)
		cap->words[i] = cpu_to_le32(verna_reg_read(vdev, offset + i * 4));
	return 0;
}

static int verna_caps_check(struct verna_dev *vdev)
{
	const struct verna_caps *caps = &vdev->caps;

	if (!caps->dev.max_eqs || !caps->dev.max_cqs ||
	    caps->dev.log_max_eq_entries < 4 ||
	    !(caps->dev.page_shifts & BIT_ULL(VERNA_PAGE_SHIFT)))
		return -EINVAL;
	if (!caps->eth.present || !caps->eth.max_txqs || !caps->eth.max_rxqs ||
	    caps->eth.log_max_entries < 6 || caps->eth.log_max_entries > 20 ||
	    !caps->eth.max_tx_frags || caps->eth.max_mtu < caps->eth.min_mtu)
		return -EINVAL;
	return 0;
}

static int verna_identify(struct verna_dev *vdev)
{
	struct device *dev = verna_device(vdev);
	u32 magic = verna_reg_read(vdev, VERNA_REG_MAGIC);

	if (magic != VERNA_MAGIC) {
		dev_err(dev, "not a verna: magic 0x%08x\n", magic);
		return -ENODEV;
	}
	vdev->abi = verna_reg_read(vdev, VERNA_REG_ABI);
	vdev->version = verna_reg_read(vdev, VERNA_REG_VERSION);
	vdev->function = verna_reg_read(vdev, VERNA_REG_FUNCTION);
	/* A newer minor only adds; an older one lacks what we may rely on. */
	if (vdev->abi >> 16 != VERNA_ABI_MAJOR ||
	    (vdev->abi & 0xffff) < VERNA_ABI_MINOR) {
		dev_err(dev, "card speaks ABI %u.%u, driver %u.%u\n",
			vdev->abi >> 16, vdev->abi & 0xffff,
			VERNA_ABI_MAJOR, VERNA_ABI_MINOR);
		return -EPROTONOSUPPORT;
	}
	return 0;
}

/**
 * verna_caps_read - identify the card and read its capability blocks
 * @vdev: the card
 *
 * Return: 0, -ENODEV if this is no verna, -EPROTONOSUPPORT if it speaks another
 * ABI, -EINVAL if the blocks make no sense.
 */
int verna_caps_read(struct verna_dev *vdev)
{
	u32 offset, max_blocks = 64;
	union verna_cap_any cap;
	int err;

	err = verna_identify(vdev);
	if (err)
		return err;

	memset(&vdev->caps, 0, sizeof(vdev->caps));
	offset = verna_reg_read(vdev, VERNA_REG_CAPS_OFFSET);
	while (offset && max_blocks--) {
		err = verna_cap_read(vdev, offset, &cap);
		if (err)
			break;
		switch (le16_to_cpu(cap.hdr.type)) {
		case VERNA_CAP_DEV:
			verna_cap_dev_parse(&vdev->caps, &cap.dev);
			break;
		case VERNA_CAP_ETH:
			verna_cap_eth_parse(&vdev->caps, &cap.eth);
			break;
		case VERNA_CAP_RDMA:
			verna_cap_rdma_parse(&vdev->caps, &cap.rdma);
			break;
		case VERNA_CAP_VPORT:
			verna_cap_vport_parse(&vdev->caps, &cap.vport);
			break;
		case VERNA_CAP_ESWITCH:
			verna_cap_eswitch_parse(&vdev->caps, &cap.eswitch);
			break;
		}
		if (le16_to_cpu(cap.hdr.type) == VERNA_CAP_END)
			break;
		offset = le16_to_cpu(cap.hdr.next);
	}
	err = err ?: verna_caps_check(vdev);
	if (err)
		dev_err(verna_device(vdev), "capability blocks make no sense\n");
	return err;
}
