/*
 * verna: virtual functions. QEMU makes all of them with the PF and lets the
 * guest see as many as it enables.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qapi/error.h"
#include "hw/pci/pcie.h"
#include "hw/pci/pcie_sriov.h"
#include "hw/verna_regs.h"
#include "verna.h"

#define VERNA_ARI_CAP 0x150
#define VERNA_SRIOV_CAP 0x160
/* Behind the neighbours that the PF may have on a bus without ARI. */
#define VERNA_VF_OFFSET 0x80
#define VERNA_VF_STRIDE 1

struct VernaVf {
    PCIDevice parent_obj;

    VernaFunction function;
};

/* For a function that is there. Any thread. */
PCIDevice *verna_function_device(VernaState *s, uint16_t fn)
{
    PCIDevice *pf = PCI_DEVICE(s);

    return fn ? pf->exp.sriov_pf.vf[fn - 1] : pf;
}

static void verna_make_vf_bar(VernaState *s, int bar, MemoryRegion *region)
{
    PCIDevice *vf = verna_function_device(s, 1);

    pcie_sriov_pf_init_vf_bar(PCI_DEVICE(s), bar, vf->io_regions[bar].type,
                              memory_region_size(region));
}

/* The SR-IOV capability and its VFs, if the card can have any. */
bool verna_vfs_make(VernaState *s, Error **errp)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    uint16_t vfs = s->config.vfs;
    VernaFunction *vf;

    if (!vfs) {
        return true;
    }
    pcie_ari_init(pdev, VERNA_ARI_CAP);
    if (!pcie_sriov_pf_init(pdev, VERNA_SRIOV_CAP, TYPE_VERNA_VF,
                            VERNA_PCI_VF_DEVICE_ID, vfs, vfs, VERNA_VF_OFFSET,
                            VERNA_VF_STRIDE, errp)) {
        return false;
    }
    vf = &VERNA_VF(verna_function_device(s, 1))->function;
    verna_make_vf_bar(s, VERNA_BAR_REGS, &vf->regs);
    verna_make_vf_bar(s, VERNA_BAR_DOORBELL, &vf->doorbells);
    verna_make_vf_bar(s, VERNA_BAR_MSIX, &vf->msix);
    return true;
}

void verna_vfs_unmake(VernaState *s)
{
    if (PCI_DEVICE(s)->exp.sriov_pf.vf) {
        pcie_sriov_pf_exit(PCI_DEVICE(s));
    }
}

static void verna_vf_realize(PCIDevice *pdev, Error **errp)
{
    VernaFunction *f = &VERNA_VF(pdev)->function;

    f->s = VERNA(pcie_sriov_get_pf(pdev));
    f->number = 1 + pcie_sriov_vf_number(pdev);
    if (!verna_function_make(f, pdev, errp)) {
        return;
    }
    pcie_ari_init(pdev, VERNA_ARI_CAP);
}

static void verna_vf_exit(PCIDevice *pdev)
{
    VernaFunction *f = &VERNA_VF(pdev)->function;

    verna_function_unmake(f, pdev);
    f->s = NULL;
}

static void verna_vf_write_config(PCIDevice *pdev, uint32_t addr,
                                  uint32_t value, int len)
{
    verna_function_write_config(&VERNA_VF(pdev)->function, pdev, addr, value,
                                len);
}

/* Also when the guest enables VFs, or disables them, or a reset of the PF does. */
static void verna_vf_reset_hold(Object *obj, ResetType type)
{
    VernaFunction *f = &VERNA_VF(obj)->function;

    if (!f->s || !f->s->card) {
        return;
    }
    verna_lock(f->s);
    verna_card_set_num_vfs(f->s->card, pcie_sriov_num_vfs(PCI_DEVICE(f->s)),
                           get_clock());
    verna_unlock(f->s);
    verna_engine_reset(f->s, f->number);
}

static void verna_vf_class_init(ObjectClass *class, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(class);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(class);

    pc->realize = verna_vf_realize;
    pc->exit = verna_vf_exit;
    pc->config_write = verna_vf_write_config;
    pc->vendor_id = VERNA_PCI_VENDOR_ID;
    pc->device_id = VERNA_PCI_VF_DEVICE_ID;
    pc->revision = VERNA_PCI_REVISION;
    pc->class_id = PCI_CLASS_NETWORK_ETHERNET;
    RESETTABLE_CLASS(class)->phases.hold = verna_vf_reset_hold;
    dc->desc = "verna virtual function";
    dc->user_creatable = false;
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
}

static const TypeInfo verna_vf_info = {
    .name = TYPE_VERNA_VF,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(VernaVf),
    .class_init = verna_vf_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { }
    },
};

static void verna_vf_register_types(void)
{
    type_register_static(&verna_vf_info);
}

type_init(verna_vf_register_types)
