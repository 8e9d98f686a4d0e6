/*
 * verna: says where guest memory is; the card copies.
 *
 * Only RAM may be reached: an access to anything else could end in a device's
 * handler, which needs the BQL, while the card lock is held. The card keeps
 * what it learns here until the memory map changes; this is safe because the
 * card runs within an RCU read section, which memory that goes away outlives.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "exec/exec-all.h"
#include "exec/memory.h"
#include "exec/ram_addr.h"
#include "hw/pci/pci.h"
#include "verna.h"

static bool verna_map(void *opaque, uint16_t fn, uint64_t addr, bool write,
                      verna_mapping *m)
{
    VernaState *s = opaque;
    PCIDevice *pdev = verna_function_device(s, fn);
    MemTxAttrs attrs = {
        .memory = 1,
        .requester_id = pci_requester_id(pdev),
    };
    hwaddr offset, len = s->engine.dma_needs_bql ? m->len : UINT64_MAX - addr;
    MemoryRegion *mr;

    mr = address_space_translate(pci_get_address_space(pdev), addr, &offset,
                                 &len, write, attrs);
    if (!memory_access_is_direct(mr, write, attrs)) {
        return false;
    }
    m->host = (char *)memory_region_get_ram_ptr(mr) + offset;
    m->len = len;
    m->region = mr;
    m->offset = offset;
    m->writable = write || memory_access_is_direct(mr, true, attrs);
    /* What an IOMMU allows is asked each time. */
    m->keep = !s->engine.dma_needs_bql;
    return true;
}

/* As physmem.c does after a write of its own. */
static void verna_written(void *opaque, void *region, uint64_t offset,
                          uint64_t len)
{
    MemoryRegion *mr = region;
    ram_addr_t start = memory_region_get_ram_addr(mr) + offset;
    uint8_t mask = memory_region_get_dirty_log_mask(mr);

    if (mask) {
        mask = cpu_physical_memory_range_includes_clean(start, len, mask);
    }
    if (mask & (1 << DIRTY_MEMORY_CODE)) {
        tb_invalidate_phys_range(start, start + len - 1);
        mask &= ~(1 << DIRTY_MEMORY_CODE);
    }
    cpu_physical_memory_set_dirty_range(start, len, mask);
}

const verna_host_ops verna_dma_ops = {
    .map = verna_map,
    .written = verna_written,
};

static void verna_memory_changes(MemoryListener *listener)
{
    VernaState *s = container_of(listener, VernaState, listener);

    verna_card_forget_memory(s->card);
}

void verna_dma_init(VernaState *s)
{
    s->listener = (MemoryListener) {
        .name = "verna",
        .begin = verna_memory_changes,
        .commit = verna_memory_changes,
    };
    memory_listener_register(&s->listener,
                             pci_get_address_space(PCI_DEVICE(s)));
}
