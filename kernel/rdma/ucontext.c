// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: user contexts. Each has a doorbell page of its own, so that a
 * process can ring only for queues that were created with its page.
 */
#include <linux/mm.h>
#include <rdma/uverbs_ioctl.h>

#include "ib.h"

/**
 * struct vib_uar_entry - a doorbell page that user space may map
 * @entry: core part; the page lives as long as this has references
 * @uar: the page
 */
struct vib_uar_entry {
	struct rdma_user_mmap_entry entry;
	struct verna_uar uar;
};

static int vib_uar_entry_create(struct vib_dev *dev, struct vib_ucontext *uc)
{
	struct vib_uar_entry *entry;
	int err;

	/* A larger page of the CPU would hold doorbells of others. */
	if (PAGE_SIZE != VERNA_UAR_SIZE)
		return -EOPNOTSUPP;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;

	err = verna_uar_alloc(dev->core, &entry->uar, false);
	if (err)
		goto err_entry;

	err = rdma_user_mmap_entry_insert(&uc->ibuc, &entry->entry,
					  VERNA_UAR_SIZE);
	if (err)
		goto err_uar;

	uc->uar_entry = &entry->entry;
	uc->uar_index = entry->uar.index;
	return 0;

err_uar:
	verna_uar_free(dev->core, &entry->uar);
err_entry:
	kfree(entry);
	return err;
}

/**
 * vib_alloc_ucontext() - ib_device_ops.alloc_ucontext
 * @ibuc: to be filled
 * @udata: struct verna_ib_alloc_ucontext_resp
 *
 * Return: 0, -ENOSPC if all doorbell pages are taken, or another error.
 */
int vib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibuc->device);
	struct vib_ucontext *uc = to_vib_ucontext(ibuc);
	struct verna_ib_alloc_ucontext_resp resp = {
		.max_inline = dev->caps->rdma.max_inline,
		.max_send_sge = dev->caps->rdma.max_send_sge,
		.max_recv_sge = dev->caps->rdma.max_recv_sge,
		.log_max_wqes = dev->caps->rdma.log_max_wqes,
		.log_max_cqes = dev->caps->dev.log_max_cq_entries,
	};
	int err;

	err = vib_udata_in(udata, NULL, 0);
	if (err)
		return err;

	err = vib_uar_entry_create(dev, uc);
	if (err)
		return err;

	resp.uar_offset = rdma_user_mmap_get_offset(uc->uar_entry);
	resp.uar_index = uc->uar_index;
	err = vib_udata_out(udata, &resp, sizeof(resp));
	if (err)
		rdma_user_mmap_entry_remove(uc->uar_entry);
	return err;
}

/** vib_dealloc_ucontext() - ib_device_ops.dealloc_ucontext */
void vib_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	rdma_user_mmap_entry_remove(to_vib_ucontext(ibuc)->uar_entry);
}

/**
 * vib_disassociate_ucontext() - ib_device_ops.disassociate_ucontext
 * @ibuc: context of a process that still holds the device
 *
 * The core zaps the doorbell page out of the process; queues lie in the
 * process's own memory. Nothing else ties it to the card.
 */
void vib_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

/**
 * vib_mmap() - ib_device_ops.mmap, of a doorbell page
 * @ibuc: context
 * @vma: one page at the offset that alloc_ucontext returned
 *
 * Return: 0, -EINVAL for an unknown offset or size, -EPERM.
 */
int vib_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma_entry;
	struct vib_uar_entry *entry;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	vm_flags_clear(vma, VM_MAYEXEC);

	rdma_entry = rdma_user_mmap_entry_get(ibuc, vma);
	if (!rdma_entry)
		return -EINVAL;

	entry = container_of(rdma_entry, struct vib_uar_entry, entry);
	err = rdma_user_mmap_io(ibuc, vma, PHYS_PFN(entry->uar.phys),
				VERNA_UAR_SIZE,
				pgprot_noncached(vma->vm_page_prot), rdma_entry);
	rdma_user_mmap_entry_put(rdma_entry);
	return err;
}

/**
 * vib_mmap_free() - ib_device_ops.mmap_free: nobody maps the page any more
 * @rdma_entry: entry of a doorbell page
 */
void vib_mmap_free(struct rdma_user_mmap_entry *rdma_entry)
{
	struct vib_uar_entry *entry =
		container_of(rdma_entry, struct vib_uar_entry, entry);
	struct vib_dev *dev = to_vib_dev(rdma_entry->ucontext->device);

	verna_uar_free(dev->core, &entry->uar);
	kfree(entry);
}
