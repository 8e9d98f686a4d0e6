// SPDX-License-Identifier: GPL-2.0
/* verna: the auxiliary device on which verna_ib.ko sits. */
#include <linux/idr.h>

#include "core.h"

static DEFINE_IDA(verna_adev_ida);

static void verna_adev_release(struct device *dev)
{
	struct verna_adev *vadev = to_verna_adev(to_auxiliary_dev(dev));

	ida_free(&verna_adev_ida, vadev->adev.id);
	kfree(vadev);
}

/**
 * verna_adev_add - announce the RDMA side of a card that is up
 * @vdev: the card
 *
 * Does nothing if the card has no RDMA side.
 * Return: 0 or an error of the auxiliary bus.
 */
int verna_adev_add(struct verna_dev *vdev)
{
	struct verna_adev *vadev;
	int id, err;

	if (!vdev->caps.rdma.present)
		return 0;
	vadev = kzalloc(sizeof(*vadev), GFP_KERNEL);
	if (!vadev)
		return -ENOMEM;
	id = ida_alloc(&verna_adev_ida, GFP_KERNEL);
	if (id < 0) {
		kfree(vadev);
		return id;
	}
	vadev->vdev = vdev;
	vadev->adev.name = VERNA_ADEV_RDMA;
	vadev->adev.id = id;
	vadev->adev.dev.parent = verna_device(vdev);
	vadev->adev.dev.release = verna_adev_release;

	err = auxiliary_device_init(&vadev->adev);
	if (err) {
		ida_free(&verna_adev_ida, id);
		kfree(vadev);
		return err;
	}
	err = auxiliary_device_add(&vadev->adev);
	if (err) {
		auxiliary_device_uninit(&vadev->adev);
		return err;
	}
	vdev->adev = vadev;
	return 0;
}

/** verna_adev_del - undoes verna_adev_add(), if it was done @vdev: the card */
void verna_adev_del(struct verna_dev *vdev)
{
	struct verna_adev *vadev = vdev->adev;

	if (!vadev)
		return;
	vdev->adev = NULL;
	auxiliary_device_delete(&vadev->adev);
	auxiliary_device_uninit(&vadev->adev);
}
