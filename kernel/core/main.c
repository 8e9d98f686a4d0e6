// SPDX-License-Identifier: GPL-2.0
/* verna: the module, and what clients may ask of a card. */
#include <linux/module.h>

#include "core.h"

#define CREATE_TRACE_POINTS
#include "trace.h"

struct pci_dev *verna_pdev(struct verna_dev *vdev)
{
	return vdev->pdev;
}
EXPORT_SYMBOL_GPL(verna_pdev);

struct device *verna_device(struct verna_dev *vdev)
{
	return &vdev->pdev->dev;
}
EXPORT_SYMBOL_GPL(verna_device);

const struct verna_caps *verna_caps(struct verna_dev *vdev)
{
	return &vdev->caps;
}
EXPORT_SYMBOL_GPL(verna_caps);

struct net *verna_net(struct verna_dev *vdev)
{
	return devlink_net(vdev->devlink);
}

struct net_device *verna_netdev(struct verna_dev *vdev)
{
	return vdev->netdev;
}
EXPORT_SYMBOL_GPL(verna_netdev);

u16 verna_function(struct verna_dev *vdev)
{
	return vdev->function;
}
EXPORT_SYMBOL_GPL(verna_function);

u32 verna_hw_version(struct verna_dev *vdev)
{
	return vdev->version;
}
EXPORT_SYMBOL_GPL(verna_hw_version);

struct dentry *verna_debugfs_dir(struct verna_dev *vdev)
{
	return vdev->debugfs;
}
EXPORT_SYMBOL_GPL(verna_debugfs_dir);

static int __init verna_init(void)
{
	int err;

	verna_debugfs_init();
	err = pci_register_driver(&verna_pci_driver);
	if (err)
		verna_debugfs_exit();
	return err;
}
module_init(verna_init);

static void __exit verna_exit(void)
{
	pci_unregister_driver(&verna_pci_driver);
	verna_debugfs_exit();
}
module_exit(verna_exit);

MODULE_DESCRIPTION("verna virtual Ethernet and RDMA network adapter");
MODULE_AUTHOR("The verna project");
MODULE_LICENSE("GPL");
