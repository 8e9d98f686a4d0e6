// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: user contexts. Each has a doorbell page of its own, so that a
 * process can ring only for queues that were created with its page, and sees the
 * status page of the device.
 */
#include <linux/mm.h>
#include <rdma/uverbs_ioctl.h>

#include "ib.h"

/**
 * struct vib_mmap_entry - a page that user space may map
 * @entry: core part; a doorbell page lives as long as this has references
 * @uar: the doorbell page
 * @is_status: it is the device's status page instead
 */
struct vib_mmap_entry {
	struct rdma_user_mmap_entry entry;
	struct verna_uar uar;
	bool is_status;
};

static int vib_uar_entry_create(struct vib_dev *dev, struct vib_ucontext *uc)
{
	struct vib_mmap_entry *entry;
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

static int vib_status_entry_create(struct vib_ucontext *uc)
{
	struct vib_mmap_entry *entry;
	int err;

	entry = kzalloc(sizeof(*entry), GFP_KERNEL);
	if (!entry)
		return -ENOMEM;
	entry->is_status = true;

	/* Not at 0, which says that there is none. */
	err = rdma_user_mmap_entry_insert_range(&uc->ibuc, &entry->entry,
						PAGE_SIZE, 1, U32_MAX);
	if (err) {
		kfree(entry);
		return err;
	}

	uc->status_entry = &entry->entry;
	return 0;
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

	err = vib_status_entry_create(uc);
	if (err)
		goto err_uar;

	resp.uar_offset = rdma_user_mmap_get_offset(uc->uar_entry);
	resp.uar_index = uc->uar_index;
	resp.status_offset = rdma_user_mmap_get_offset(uc->status_entry);
	err = vib_udata_out(udata, &resp, sizeof(resp));
	if (err)
		goto err_status;
	return 0;

err_status:
	rdma_user_mmap_entry_remove(uc->status_entry);
err_uar:
	rdma_user_mmap_entry_remove(uc->uar_entry);
	return err;
}

/** vib_dealloc_ucontext() - ib_device_ops.dealloc_ucontext */
void vib_dealloc_ucontext(struct ib_ucontext *ibuc)
{
	struct vib_ucontext *uc = to_vib_ucontext(ibuc);

	rdma_user_mmap_entry_remove(uc->status_entry);
	rdma_user_mmap_entry_remove(uc->uar_entry);
}

/**
 * vib_disassociate_ucontext() - ib_device_ops.disassociate_ucontext
 * @ibuc: context of a process that still holds the device
 *
 * The core zaps both pages out of the process, which from then on reads zeros
 * from the status page: the device is dead. Queues lie in the process's own
 * memory. Nothing else ties it to the card.
 */
void vib_disassociate_ucontext(struct ib_ucontext *ibuc)
{
}

static int vib_mmap_status(struct vib_ucontext *uc, struct vm_area_struct *vma,
			   struct rdma_user_mmap_entry *entry)
{
	struct vib_dev *dev = to_vib_dev(uc->ibuc.device);

	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	/* Nor later; what the core puts in its place is the page of zeros then. */
	vm_flags_clear(vma, VM_MAYWRITE);

	return rdma_user_mmap_io(&uc->ibuc, vma,
				 page_to_pfn(virt_to_page(dev->status)),
				 PAGE_SIZE, vma->vm_page_prot, entry);
}

/**
 * vib_mmap() - ib_device_ops.mmap, of a doorbell or status page
 * @ibuc: context
 * @vma: one page at an offset that alloc_ucontext returned
 *
 * Return: 0, -EINVAL for an unknown offset or size, -EPERM.
 */
int vib_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *rdma_entry;
	struct vib_mmap_entry *entry;
	int err;

	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	vm_flags_clear(vma, VM_MAYEXEC);

	rdma_entry = rdma_user_mmap_entry_get(ibuc, vma);
	if (!rdma_entry)
		return -EINVAL;

	entry = container_of(rdma_entry, struct vib_mmap_entry, entry);
	if (entry->is_status)
		err = vib_mmap_status(to_vib_ucontext(ibuc), vma, rdma_entry);
	else
		err = rdma_user_mmap_io(ibuc, vma, PHYS_PFN(entry->uar.phys),
					VERNA_UAR_SIZE,
					pgprot_noncached(vma->vm_page_prot),
					rdma_entry);
	rdma_user_mmap_entry_put(rdma_entry);
	return err;
}

/**
 * vib_mmap_free() - ib_device_ops.mmap_free: nobody maps the page any more
 * @rdma_entry: entry of a doorbell page, which becomes free, or of the status
 *              page, which belongs to the device
 */
void vib_mmap_free(struct rdma_user_mmap_entry *rdma_entry)
{
	struct vib_mmap_entry *entry =
		container_of(rdma_entry, struct vib_mmap_entry, entry);
	struct vib_dev *dev = to_vib_dev(rdma_entry->ucontext->device);

	if (!entry->is_status)
		verna_uar_free(dev->core, &entry->uar);
	kfree(entry);
}
