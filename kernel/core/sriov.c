// SPDX-License-Identifier: GPL-2.0
/*
 * verna: virtual functions, as the PF's driver has to do with them. The same driver
 * serves a VF that is not given away: to it, it is a card as any.
 */
#include "core.h"

/* Once more afterwards: the mode may have changed meanwhile. */
static void verna_sriov_disable(struct verna_dev *vdev)
{
	verna_eswitch_sync(vdev, 0);
	pci_disable_sriov(vdev->pdev);
	verna_eswitch_sync(vdev, 0);
}

/**
 * verna_sriov_configure - sriov_numvfs
 * @pdev: the PF
 * @num: VFs, 0: none
 *
 * Return: VFs that are there, -EOPNOTSUPP if the card has none, -EIO if it is not up,
 * -EBUSY if a VF is given away, or an error of the PCI core.
 */
int verna_sriov_configure(struct pci_dev *pdev, int num)
{
	struct verna_dev *vdev = pci_get_drvdata(pdev);
	int err;

	if (!vdev->caps.vport.present)
		return -EOPNOTSUPP;
	if (!num) {
		if (pci_vfs_assigned(pdev)) {
			dev_warn(&pdev->dev, "VFs are assigned to guests, they stay\n");
			return -EBUSY;
		}
		verna_sriov_disable(vdev);
		return 0;
	}
	if (!verna_dev_is_up(vdev))
		return -EIO;
	err = pci_enable_sriov(pdev, num);
	if (err)
		return err;
	err = verna_eswitch_sync(vdev, num);
	if (err) {
		verna_sriov_disable(vdev);
		return err;
	}
	return num;
}

/** verna_sriov_exit - the PF goes, and its VFs with it @vdev: the PF */
void verna_sriov_exit(struct verna_dev *vdev)
{
	if (!pci_num_vf(vdev->pdev))
		return;
	if (pci_vfs_assigned(vdev->pdev))
		dev_warn(verna_device(vdev), "VFs that are assigned to guests end now\n");
	verna_sriov_disable(vdev);
}

/**
 * verna_sriov_for_each - do something to each VF that this driver serves
 * @vdev: the PF, or a VF, which has none
 * @what: done with the VF's device lock held
 */
void verna_sriov_for_each(struct verna_dev *vdev, void (*what)(struct pci_dev *vf))
{
	struct pci_dev *vf = NULL;

	if (!pci_num_vf(vdev->pdev))
		return;
	while ((vf = pci_get_device(VERNA_PCI_VENDOR_ID, VERNA_PCI_VF_DEVICE_ID, vf))) {
		if (!vf->is_virtfn || pci_physfn(vf) != vdev->pdev)
			continue;
		device_lock(&vf->dev);
		if (vf->driver == &verna_pci_driver)
			what(vf);
		device_unlock(&vf->dev);
	}
}
