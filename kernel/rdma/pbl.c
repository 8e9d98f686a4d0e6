// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: page lists (struct verna_pbl) of pinned user memory.
 *
 * The card reads a list while it executes the command that names it, so lists
 * live only that long. Few large pages are better than many small ones: both
 * the list and the card's own copy shrink.
 */
#include <linux/dma-mapping.h>
#include <linux/slab.h>
#include <rdma/ib_umem.h>
#include <rdma/iter.h>

#include "ib.h"
#include "verna_ib_compat.h"

#define VIB_LEAF_SHIFT	9	/* page addresses in one 4 KiB page of a list */
#define VIB_LEAF_LEN	BIT(VIB_LEAF_SHIFT)

/* Level 0: the buffer is one piece for the card. */
static void vib_pbl_direct(struct vib_pbl *pbl, struct ib_umem *umem)
{
	dma_addr_t addr = sg_dma_address(umem->sgt_append.sgt.sgl) +
			  ib_umem_offset(umem);

	pbl->hw.addr = cpu_to_le64(addr);
	pbl->hw.num_pages = cpu_to_le32(1);
	pbl->hw.level = 0;
}

static int vib_pbl_alloc_root(struct vib_pbl *pbl, size_t entries)
{
	pbl->root_len = entries * sizeof(*pbl->root);
	pbl->root = kzalloc(pbl->root_len, GFP_KERNEL | __GFP_NOWARN);
	return pbl->root ? 0 : -ENOMEM;
}

static int vib_pbl_map_root(struct vib_pbl *pbl, u8 level)
{
	pbl->root_dma = dma_map_single(pbl->dev, pbl->root, pbl->root_len,
				       DMA_TO_DEVICE);
	if (dma_mapping_error(pbl->dev, pbl->root_dma)) {
		pbl->root_dma = DMA_MAPPING_ERROR;
		return -ENOMEM;
	}
	pbl->hw.addr = cpu_to_le64(pbl->root_dma);
	pbl->hw.level = level;
	return 0;
}

static int vib_pbl_alloc_leaves(struct vib_pbl *pbl, u32 num)
{
	u32 i;

	pbl->leaves = kvcalloc(num, sizeof(*pbl->leaves), GFP_KERNEL);
	if (!pbl->leaves)
		return -ENOMEM;

	for (i = 0; i < num; i++) {
		pbl->leaves[i] = kzalloc(VERNA_PAGE_SIZE, GFP_KERNEL);
		if (!pbl->leaves[i])
			goto err_leaves;
	}
	return 0;

err_leaves:
	while (i--)
		kfree(pbl->leaves[i]);
	kvfree(pbl->leaves);
	pbl->leaves = NULL;
	return -ENOMEM;
}

/* Maps leaf after leaf; what is mapped is counted for vib_pbl_free(). */
static int vib_pbl_map_leaves(struct vib_pbl *pbl, u32 num)
{
	dma_addr_t dma;

	for (; pbl->num_leaves < num; pbl->num_leaves++) {
		dma = dma_map_single(pbl->dev, pbl->leaves[pbl->num_leaves],
				     VERNA_PAGE_SIZE, DMA_TO_DEVICE);
		if (dma_mapping_error(pbl->dev, dma))
			break;
		pbl->root[pbl->num_leaves] = cpu_to_le64(dma);
	}
	if (pbl->num_leaves == num)
		return 0;

	/* Those that were never mapped are not vib_pbl_free()'s. */
	while (num-- > pbl->num_leaves)
		kfree(pbl->leaves[num]);
	return -ENOMEM;
}

/* Level 1: one array of page addresses. */
static int vib_pbl_array(struct vib_pbl *pbl, struct ib_umem *umem, u32 pages,
			 unsigned long pgsz)
{
	struct ib_block_iter biter;
	u32 i = 0;
	int err;

	err = vib_pbl_alloc_root(pbl, pages);
	if (err)
		return err;
	rdma_umem_for_each_dma_block(umem, &biter, pgsz)
		pbl->root[i++] = cpu_to_le64(rdma_block_iter_dma_address(&biter));
	return vib_pbl_map_root(pbl, 1);
}

/* Level 2: an array of addresses of pages of page addresses. */
static int vib_pbl_tree(struct vib_pbl *pbl, struct ib_umem *umem, u32 pages,
			unsigned long pgsz)
{
	u32 leaves = DIV_ROUND_UP(pages, VIB_LEAF_LEN);
	struct ib_block_iter biter;
	u32 i = 0;
	int err;

	err = vib_pbl_alloc_root(pbl, leaves);
	if (err)
		return err;
	err = vib_pbl_alloc_leaves(pbl, leaves);
	if (err)
		return err;

	rdma_umem_for_each_dma_block(umem, &biter, pgsz) {
		pbl->leaves[i >> VIB_LEAF_SHIFT][i & (VIB_LEAF_LEN - 1)] =
			cpu_to_le64(rdma_block_iter_dma_address(&biter));
		i++;
	}

	err = vib_pbl_map_leaves(pbl, leaves);
	if (err)
		return err;
	return vib_pbl_map_root(pbl, 2);
}

/**
 * vib_pbl_from_umem() - describe pinned memory to the card
 * @dev: device
 * @pbl: to be filled; vib_pbl_free() it after the command, not after an error
 * @umem: pinned memory
 * @iova: address of its first byte as the card will be asked for it
 *
 * Return: 0, -EINVAL if no page size of the card fits, -ENOMEM.
 */
int vib_pbl_from_umem(struct vib_dev *dev, struct vib_pbl *pbl,
		      struct ib_umem *umem, u64 iova)
{
	unsigned long pgsz;
	size_t pages;
	int err;

	*pbl = (struct vib_pbl){
		.dev = dev->ibdev.dma_device,
		.root_dma = DMA_MAPPING_ERROR,
	};
	if (umem->sgt_append.sgt.nents == 1) {
		vib_pbl_direct(pbl, umem);
		return 0;
	}

	pgsz = ib_umem_find_best_pgsz(umem, dev->caps->dev.page_shifts, iova);
	if (!pgsz)
		return -EINVAL;
	pages = ib_umem_num_dma_blocks(umem, pgsz);
	if (pages > dev->caps->dev.max_pbl_entries)
		return -ENOMEM;

	pbl->hw.num_pages = cpu_to_le32(pages);
	pbl->hw.page_shift = __ffs(pgsz);
	pbl->hw.offset = cpu_to_le32(ib_umem_dma_offset(umem, pgsz));
	if (pages <= VIB_LEAF_LEN)
		err = vib_pbl_array(pbl, umem, pages, pgsz);
	else
		err = vib_pbl_tree(pbl, umem, pages, pgsz);
	if (err)
		vib_pbl_free(pbl);
	return err;
}

/**
 * vib_pbl_free() - the card has read the list
 * @pbl: list
 */
void vib_pbl_free(struct vib_pbl *pbl)
{
	u32 i;

	if (pbl->root && pbl->root_dma != DMA_MAPPING_ERROR)
		dma_unmap_single(pbl->dev, pbl->root_dma, pbl->root_len,
				 DMA_TO_DEVICE);
	for (i = 0; i < pbl->num_leaves; i++) {
		dma_unmap_single(pbl->dev, le64_to_cpu(pbl->root[i]),
				 VERNA_PAGE_SIZE, DMA_TO_DEVICE);
		kfree(pbl->leaves[i]);
	}
	kvfree(pbl->leaves);
	kfree(pbl->root);
}

/**
 * vib_pin_queue() - pin a process's queue memory and describe it
 * @dev: device
 * @va: page-aligned address
 * @len: bytes
 * @pbl: to be filled; vib_pbl_free() it after the command
 *
 * Return: the memory, or ERR_PTR().
 */
struct ib_umem *vib_pin_queue(struct vib_dev *dev, u64 va, u64 len,
			      struct vib_pbl *pbl)
{
	struct ib_umem *umem;
	int err;

	if (!len || !IS_ALIGNED(va, VERNA_PAGE_SIZE))
		return ERR_PTR(-EINVAL);

	umem = ib_umem_get_va(&dev->ibdev, va, len, IB_ACCESS_LOCAL_WRITE);
	if (IS_ERR(umem))
		return umem;

	err = vib_pbl_from_umem(dev, pbl, umem, va);
	if (err) {
		ib_umem_release(umem);
		return ERR_PTR(err);
	}
	return umem;
}

/**
 * vib_fits() - check where user space put a record or a ring
 * @buf_len: bytes of the queue's memory
 * @offset: of the part
 * @len: of the part
 * @align: that the part needs, a power of two
 *
 * The card sees pages; only we know where the memory of the process ends.
 * Return: true if the part is aligned and inside.
 */
bool vib_fits(u64 buf_len, u32 offset, u64 len, u32 align)
{
	return IS_ALIGNED(offset, align) && len <= buf_len &&
	       offset <= buf_len - len;
}
