/*
 * verna: what a guest sees of a function, physical or virtual: BARs, MSI-X and
 * PCI Express capabilities.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/verna_regs.h"
#include "verna.h"

#define VERNA_PCIE_CAP 0x80
#define VERNA_MSIX_CAP 0x70
#define VERNA_AER_CAP 0x100
#define VERNA_PBA_OFFSET (VERNA_CARD_MAX_VECTORS * PCI_MSIX_ENTRY_SIZE)
#define VERNA_MSIX_BAR_SIZE (64 * KiB)

/*
 * After unplug a vCPU may still be on its way into one of these functions,
 * waiting for the BQL; then there is no card any more.
 */
static verna_card *verna_function_card(VernaFunction *f)
{
    return f->s ? f->s->card : NULL;
}

static uint64_t verna_regs_read(void *opaque, hwaddr addr, unsigned size)
{
    VernaFunction *f = opaque;
    uint32_t value;

    if (!verna_function_card(f)) {
        return UINT32_MAX;
    }
    verna_lock(f->s);
    value = verna_card_read(f->s->card, f->number, addr, get_clock());
    verna_unlock(f->s);
    return value;
}

static void verna_regs_write(void *opaque, hwaddr addr, uint64_t value,
                             unsigned size)
{
    VernaFunction *f = opaque;

    if (!verna_function_card(f)) {
        return;
    }
    verna_lock(f->s);
    verna_card_write(f->s->card, f->number, addr, value, get_clock());
    verna_unlock(f->s);
    verna_engine_kick(f->s, 0);
}

static uint64_t verna_doorbell_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void verna_doorbell_write(void *opaque, hwaddr addr, uint64_t value,
                                 unsigned size)
{
    VernaFunction *f = opaque;
    verna_card *card = verna_function_card(f);

    if (card && verna_card_doorbell(card, f->number, addr, value)) {
        verna_engine_kick(f->s, value);
    }
}

static const MemoryRegionOps verna_regs_ops = {
    .read = verna_regs_read,
    .write = verna_regs_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

static const MemoryRegionOps verna_doorbell_ops = {
    .read = verna_doorbell_read,
    .write = verna_doorbell_write,
    .endianness = DEVICE_LITTLE_ENDIAN,
    .valid = { .min_access_size = 4, .max_access_size = 4 },
    .impl = { .min_access_size = 4, .max_access_size = 4 },
};

static uint8_t verna_bar_type(const VernaFunction *f)
{
    return PCI_BASE_ADDRESS_MEM_TYPE_64 |
           (f->number ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0);
}

static void verna_make_bars(VernaFunction *f, PCIDevice *pdev)
{
    const verna_card_config *config = &f->s->config;
    uint32_t uars = f->number ? config->vf_uars : config->uars;
    uint8_t type = verna_bar_type(f);

    memory_region_init_io(&f->regs, OBJECT(pdev), &verna_regs_ops, f,
                          "verna-regs", VERNA_REGS_SIZE);
    memory_region_init_io(&f->doorbells, OBJECT(pdev), &verna_doorbell_ops, f,
                          "verna-doorbells", pow2ceil(uars) * VERNA_UAR_SIZE);
    memory_region_init(&f->msix, OBJECT(pdev), "verna-msix",
                       VERNA_MSIX_BAR_SIZE);
    pci_register_bar(pdev, VERNA_BAR_REGS, type, &f->regs);
    pci_register_bar(pdev, VERNA_BAR_DOORBELL, type, &f->doorbells);
    pci_register_bar(pdev, VERNA_BAR_MSIX, type, &f->msix);
}

static void verna_make_pcie(PCIDevice *pdev)
{
    pcie_endpoint_cap_init(pdev, VERNA_PCIE_CAP);
    pcie_aer_init(pdev, PCI_ERR_VER, VERNA_AER_CAP, PCI_ERR_SIZEOF,
                  &error_abort);
    pcie_cap_flr_init(pdev);
}

static bool verna_make_msix(VernaFunction *f, PCIDevice *pdev, Error **errp)
{
    const verna_card_config *config = &f->s->config;
    unsigned vectors = f->number ? config->vf_vectors : config->vectors;

    if (msix_init(pdev, vectors, &f->msix, VERNA_BAR_MSIX, 0, &f->msix,
                  VERNA_BAR_MSIX, VERNA_PBA_OFFSET, VERNA_MSIX_CAP, errp)) {
        return false;
    }
    for (unsigned i = 0; i < vectors; i++) {
        msix_vector_use(pdev, i);
    }
    return true;
}

/* @f: its card and number are set. On error there is nothing to undo. */
bool verna_function_make(VernaFunction *f, PCIDevice *pdev, Error **errp)
{
    verna_make_bars(f, pdev);
    verna_make_pcie(pdev);
    if (!verna_make_msix(f, pdev, errp)) {
        verna_function_unmake(f, pdev);
        return false;
    }
    return true;
}

/* Undoes verna_function_make(); MSI-X may be missing. */
void verna_function_unmake(VernaFunction *f, PCIDevice *pdev)
{
    if (msix_present(pdev)) {
        msix_unuse_all_vectors(pdev);
        msix_uninit(pdev, &f->msix, &f->msix);
    }
    pcie_aer_exit(pdev);
    pcie_cap_exit(pdev);
}

void verna_function_write_config(VernaFunction *f, PCIDevice *pdev,
                                 uint32_t addr, uint32_t value, int len)
{
    pci_default_write_config(pdev, addr, value, len);
    pcie_cap_flr_write_config(pdev, addr, value, len);
    if (range_covers_byte(addr, len, PCI_COMMAND) && verna_function_card(f)) {
        /* Bus mastering may have ended: wait until no DMA is under way. */
        verna_lock(f->s);
        verna_unlock(f->s);
    }
}
