// SPDX-License-Identifier: GPL-2.0
/* verna: doorbell pages of BAR 2. */
#include <linux/bitmap.h>

#include "core.h"

int verna_uar_alloc(struct verna_dev *vdev, struct verna_uar *uar, bool map)
{
	unsigned long index;

	spin_lock(&vdev->uars_lock);
	index = find_first_zero_bit(vdev->uars, vdev->num_uars);
	if (index < vdev->num_uars)
		__set_bit(index, vdev->uars);
	spin_unlock(&vdev->uars_lock);
	if (index >= vdev->num_uars)
		return -ENOSPC;

	uar->index = index;
	uar->phys = vdev->db_phys + index * VERNA_UAR_SIZE;
	uar->map = NULL;
	if (!map)
		return 0;
	uar->map = ioremap(uar->phys, VERNA_UAR_SIZE);
	if (!uar->map) {
		verna_uar_free(vdev, uar);
		return -ENOMEM;
	}
	return 0;
}
EXPORT_SYMBOL_GPL(verna_uar_alloc);

void verna_uar_free(struct verna_dev *vdev, struct verna_uar *uar)
{
	if (uar->map)
		iounmap(uar->map);
	uar->map = NULL;
	spin_lock(&vdev->uars_lock);
	__clear_bit(uar->index, vdev->uars);
	spin_unlock(&vdev->uars_lock);
}
EXPORT_SYMBOL_GPL(verna_uar_free);

const struct verna_uar *verna_kernel_uar(struct verna_dev *vdev)
{
	return &vdev->kernel_uar;
}
EXPORT_SYMBOL_GPL(verna_kernel_uar);

/**
 * verna_uars_init - prepare the allocator and take the kernel's own page
 * @vdev: the card, identified
 *
 * Return: 0, -ENOMEM, -ENOSPC or -EINVAL.
 */
int verna_uars_init(struct verna_dev *vdev)
{
	u64 in_bar = pci_resource_len(vdev->pdev, VERNA_BAR_DOORBELL) / VERNA_UAR_SIZE;
	int err;

	vdev->db_phys = pci_resource_start(vdev->pdev, VERNA_BAR_DOORBELL);
	vdev->num_uars = min_t(u64, in_bar, verna_reg_read(vdev, VERNA_REG_NUM_UARS));
	if (!vdev->num_uars)
		return -EINVAL;
	spin_lock_init(&vdev->uars_lock);
	vdev->uars = bitmap_zalloc(vdev->num_uars, GFP_KERNEL);
	if (!vdev->uars)
		return -ENOMEM;
	err = verna_uar_alloc(vdev, &vdev->kernel_uar, true);
	if (err)
		bitmap_free(vdev->uars);
	return err;
}

/** verna_uars_free - undoes verna_uars_init() @vdev: the card */
void verna_uars_free(struct verna_dev *vdev)
{
	verna_uar_free(vdev, &vdev->kernel_uar);
	bitmap_free(vdev->uars);
}
