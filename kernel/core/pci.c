// SPDX-License-Identifier: GPL-2.0
/* verna: the PCI driver: registers, probe and remove, resets and power. */
#include <linux/dma-mapping.h>
#include <linux/module.h>

#include "core.h"

/*
 * All ones is what a missing card answers, or zero where a hypervisor has nothing
 * at the address. The identification register tells that from a register which
 * reads so.
 */
u32 verna_reg_read(struct verna_dev *vdev, u32 offset)
{
	u32 value;

	if (READ_ONCE(vdev->gone))
		return ~0U;
	value = readl(vdev->regs + offset);
	if ((value && ~value) || readl(vdev->regs + VERNA_REG_MAGIC) == VERNA_MAGIC)
		return value;
	WRITE_ONCE(vdev->gone, true);
	verna_dev_fail(vdev, "the card is gone");
	return ~0U;
}

void verna_reg_write(struct verna_dev *vdev, u32 offset, u32 value)
{
	if (!READ_ONCE(vdev->gone))
		writel(value, vdev->regs + offset);
}

static int verna_pci_enable(struct verna_dev *vdev)
{
	struct pci_dev *pdev = vdev->pdev;
	int err;

	err = pci_enable_device_mem(pdev);
	if (err)
		return err;
	err = pci_request_mem_regions(pdev, VERNA_DRV_NAME);
	if (err)
		goto disable_device;
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (err)
		goto release_regions;
	dma_set_max_seg_size(&pdev->dev, SZ_2G);
	err = -ENODEV;
	if (pci_resource_len(pdev, VERNA_BAR_REGS) < VERNA_REGS_SIZE)
		goto release_regions;
	err = -ENOMEM;
	vdev->regs = pci_iomap(pdev, VERNA_BAR_REGS, VERNA_REGS_SIZE);
	if (!vdev->regs)
		goto release_regions;
	return 0;

release_regions:
	pci_release_mem_regions(pdev);
disable_device:
	pci_disable_device(pdev);
	return err;
}

static void verna_pci_disable(struct verna_dev *vdev)
{
	pci_iounmap(vdev->pdev, vdev->regs);
	pci_release_mem_regions(vdev->pdev);
	pci_disable_device(vdev->pdev);
}

/** verna_start - bring a card that is DOWN up from a reset @vdev: the card */
int verna_start(struct verna_dev *vdev)
{
	int err;

	mutex_lock(&vdev->lifecycle);
	err = verna_hw_reset(vdev);
	if (!err)
		err = verna_up(vdev);
	mutex_unlock(&vdev->lifecycle);
	return err;
}

static void verna_stop(struct verna_dev *vdev)
{
	devl_lock(vdev->devlink);
	devl_rate_nodes_destroy(vdev->devlink);
	devl_unlock(vdev->devlink);
	mutex_lock(&vdev->lifecycle);
	verna_teardown(vdev);
	mutex_unlock(&vdev->lifecycle);
}

static int verna_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct verna_dev *vdev;
	struct devlink *devlink;
	int err;

	devlink = devlink_alloc(&verna_devlink_ops, sizeof(*vdev), &pdev->dev);
	if (!devlink)
		return -ENOMEM;
	vdev = devlink_priv(devlink);
	verna_dev_init(vdev, pdev);
	pci_set_drvdata(pdev, vdev);

	err = verna_pci_enable(vdev);
	if (err)
		goto free_devlink;
	err = verna_caps_read(vdev);
	if (err)
		goto disable_pci;
	err = verna_uars_init(vdev);
	if (err)
		goto disable_pci;
	verna_debugfs_add(vdev);
	err = verna_start(vdev);
	if (err)
		goto del_debugfs;
	err = verna_reporters_create(vdev);
	if (err)
		goto stop;
	err = verna_params_register(vdev);
	if (err)
		goto destroy_reporters;
	devlink_register(devlink);
	verna_allow_recovery(vdev, true);
	dev_info(&pdev->dev, "card %u.%u.%u, ABI %u.%u, %u vectors\n",
		 vdev->version >> 24, vdev->version >> 16 & 0xff,
		 vdev->version & 0xffff, vdev->abi >> 16, vdev->abi & 0xffff,
		 vdev->num_irqs);
	return 0;

destroy_reporters:
	verna_reporters_destroy(vdev);
stop:
	verna_stop(vdev);
del_debugfs:
	verna_debugfs_del(vdev);
	verna_uars_free(vdev);
disable_pci:
	verna_pci_disable(vdev);
free_devlink:
	verna_affinities_free(vdev);
	devlink_free(devlink);
	return err;
}

static void verna_remove(struct pci_dev *pdev)
{
	struct verna_dev *vdev = pci_get_drvdata(pdev);

	verna_sriov_exit(vdev);
	verna_allow_recovery(vdev, false);
	devlink_unregister(vdev->devlink);
	verna_params_unregister(vdev);
	verna_reporters_destroy(vdev);
	/* A read finds out whether the card is still there. */
	verna_reg_read(vdev, VERNA_REG_STATUS);
	verna_stop(vdev);
	verna_debugfs_del(vdev);
	verna_uars_free(vdev);
	verna_pci_disable(vdev);
	verna_affinities_free(vdev);
	devlink_free(vdev->devlink);
}

static void verna_shutdown(struct pci_dev *pdev)
{
	struct verna_dev *vdev = pci_get_drvdata(pdev);

	verna_allow_recovery(vdev, false);
	mutex_lock(&vdev->lifecycle);
	verna_down(vdev);
	mutex_unlock(&vdev->lifecycle);
	pci_disable_device(pdev);
}

static void verna_down_for_reset(struct verna_dev *vdev)
{
	mutex_lock(&vdev->lifecycle);
	vdev->in_reset = true;
	verna_down(vdev);
	mutex_unlock(&vdev->lifecycle);
}

static void verna_vf_prepare(struct pci_dev *vf)
{
	verna_down_for_reset(pci_get_drvdata(vf));
	pci_save_state(vf);
}

/* A reset of the PF takes its VFs along, and what the PCI core set up in them. */
static void verna_reset_prepare(struct pci_dev *pdev)
{
	struct verna_dev *vdev = pci_get_drvdata(pdev);

	verna_sriov_for_each(vdev, verna_vf_prepare);
	verna_down_for_reset(vdev);
}

static int verna_reset_finish(struct verna_dev *vdev)
{
	int err = 0;

	mutex_lock(&vdev->lifecycle);
	/* The end of an error that never became a reset. */
	if (!vdev->in_reset)
		goto unlock;
	vdev->in_reset = false;
	WRITE_ONCE(vdev->gone, false);
	err = verna_caps_read(vdev);
	if (!err)
		err = verna_hw_reset(vdev);
	if (!err)
		err = verna_up(vdev);
unlock:
	mutex_unlock(&vdev->lifecycle);
	return err;
}

static void verna_up_after_reset(struct pci_dev *pdev)
{
	int err = verna_reset_finish(pci_get_drvdata(pdev));

	if (err)
		dev_err(&pdev->dev, "the card does not come back: %d\n", err);
}

static void verna_vf_done(struct pci_dev *vf)
{
	pci_restore_state(vf);
	verna_up_after_reset(vf);
}

static void verna_reset_done(struct pci_dev *pdev)
{
	verna_up_after_reset(pdev);
	verna_sriov_for_each(pci_get_drvdata(pdev), verna_vf_done);
}

static pci_ers_result_t verna_error_detected(struct pci_dev *pdev,
					     pci_channel_state_t state)
{
	struct verna_dev *vdev = pci_get_drvdata(pdev);

	if (state == pci_channel_io_normal)
		return PCI_ERS_RESULT_CAN_RECOVER;
	if (state == pci_channel_io_perm_failure)
		WRITE_ONCE(vdev->gone, true);
	verna_reset_prepare(pdev);
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT :
						      PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t verna_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	pci_save_state(pdev);
	return pci_enable_device_mem(pdev) ? PCI_ERS_RESULT_DISCONNECT :
					     PCI_ERS_RESULT_RECOVERED;
}

static const struct pci_error_handlers verna_err_handlers = {
	.error_detected = verna_error_detected,
	.slot_reset = verna_slot_reset,
	.resume = verna_reset_done,
	.reset_prepare = verna_reset_prepare,
	.reset_done = verna_reset_done,
};

static int verna_suspend(struct device *dev)
{
	verna_reset_prepare(to_pci_dev(dev));
	return 0;
}

static int verna_resume(struct device *dev)
{
	return verna_reset_finish(dev_get_drvdata(dev));
}

static DEFINE_SIMPLE_DEV_PM_OPS(verna_pm_ops, verna_suspend, verna_resume);

static const struct pci_device_id verna_pci_ids[] = {
	{ PCI_DEVICE(VERNA_PCI_VENDOR_ID, VERNA_PCI_DEVICE_ID) },
	{ PCI_DEVICE(VERNA_PCI_VENDOR_ID, VERNA_PCI_VF_DEVICE_ID) },
	{ }
};
MODULE_DEVICE_TABLE(pci, verna_pci_ids);

struct pci_driver verna_pci_driver = {
	.name = VERNA_DRV_NAME,
	.id_table = verna_pci_ids,
	.probe = verna_probe,
	.remove = verna_remove,
	.shutdown = verna_shutdown,
	.sriov_configure = verna_sriov_configure,
	.driver.pm = pm_sleep_ptr(&verna_pm_ops),
	.err_handler = &verna_err_handlers,
};
