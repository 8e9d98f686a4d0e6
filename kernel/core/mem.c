// SPDX-License-Identifier: GPL-2.0
/*
 * verna: memory of queues. One contiguous piece if there is one, else pieces of a
 * page size that the card knows, described by a page list of one level.
 */
#include <linux/dma-mapping.h>
#include <linux/log2.h>

#include "core.h"

static void verna_mem_free_chunks(struct device *dev, struct verna_mem *mem,
				  size_t chunk_size)
{
	u32 i;

	for (i = 0; i < mem->num_chunks; i++)
		if (mem->chunks[i].va)
			dma_free_coherent(dev, chunk_size, mem->chunks[i].va,
					  mem->chunks[i].dma);
	kvfree(mem->chunks);
}

static int verna_mem_alloc_chunks(struct device *dev, struct verna_mem *mem,
				  u32 num, size_t chunk_size, gfp_t gfp)
{
	u32 i;

	mem->num_chunks = num;
	mem->chunks = kvcalloc(num, sizeof(*mem->chunks), GFP_KERNEL);
	if (!mem->chunks)
		return -ENOMEM;
	for (i = 0; i < num; i++) {
		mem->chunks[i].va = dma_alloc_coherent(dev, chunk_size,
						       &mem->chunks[i].dma, gfp);
		if (!mem->chunks[i].va) {
			verna_mem_free_chunks(dev, mem, chunk_size);
			return -ENOMEM;
		}
	}
	return 0;
}

static int verna_mem_contiguous(struct device *dev, struct verna_mem *mem)
{
	int err;

	err = verna_mem_alloc_chunks(dev, mem, 1, mem->size,
				     GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY);
	if (err)
		return err;
	/* Any offset is in the first piece. */
	mem->chunk_shift = BITS_PER_LONG - 1;
	mem->pbl.addr = cpu_to_le64(mem->chunks[0].dma);
	mem->pbl.num_pages = cpu_to_le32(1);
	return 0;
}

static int verna_mem_scattered(struct device *dev, struct verna_mem *mem, u8 shift)
{
	u32 num = DIV_ROUND_UP(mem->size, BIT(shift));
	int err;
	u32 i;

	err = verna_mem_alloc_chunks(dev, mem, num, BIT(shift), GFP_KERNEL);
	if (err)
		return err;
	mem->chunk_shift = shift;
	mem->list = dma_alloc_coherent(dev, num * sizeof(*mem->list), &mem->list_dma,
				       GFP_KERNEL);
	if (!mem->list) {
		verna_mem_free_chunks(dev, mem, BIT(shift));
		return -ENOMEM;
	}
	for (i = 0; i < num; i++)
		mem->list[i] = cpu_to_le64(mem->chunks[i].dma);
	mem->pbl.addr = cpu_to_le64(mem->list_dma);
	mem->pbl.num_pages = cpu_to_le32(num);
	mem->pbl.page_shift = shift;
	mem->pbl.level = 1;
	return 0;
}

/* The largest page up to 64 KiB that the card knows; coherent memory is at least
 * aligned to its size, as page addresses must be.
 */
static u8 verna_mem_shift(struct verna_dev *vdev)
{
	u64 shifts = vdev->caps.dev.page_shifts & GENMASK_ULL(16, PAGE_SHIFT);

	return shifts ? ilog2(shifts) : PAGE_SHIFT;
}

int verna_mem_alloc(struct verna_dev *vdev, struct verna_mem *mem, size_t size)
{
	struct device *dev = verna_device(vdev);
	int err;

	memset(mem, 0, sizeof(*mem));
	mem->size = PAGE_ALIGN(size);
	err = verna_mem_contiguous(dev, mem);
	if (err)
		err = verna_mem_scattered(dev, mem, verna_mem_shift(vdev));
	if (err)
		memset(mem, 0, sizeof(*mem));
	return err;
}
EXPORT_SYMBOL_GPL(verna_mem_alloc);

void verna_mem_free(struct verna_dev *vdev, struct verna_mem *mem)
{
	struct device *dev = verna_device(vdev);

	if (!mem->chunks)
		return;
	if (mem->list)
		dma_free_coherent(dev, mem->num_chunks * sizeof(*mem->list), mem->list,
				  mem->list_dma);
	verna_mem_free_chunks(dev, mem,
			      mem->list ? BIT(mem->chunk_shift) : mem->size);
	memset(mem, 0, sizeof(*mem));
}
EXPORT_SYMBOL_GPL(verna_mem_free);
