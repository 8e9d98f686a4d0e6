/*
 * verna: the PCI function: properties, BARs, capabilities, resets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/host-utils.h"
#include "qemu/module.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "qapi/error.h"
#include "hw/pci/msix.h"
#include "hw/pci/pcie.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
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
static uint64_t verna_regs_read(void *opaque, hwaddr addr, unsigned size)
{
    VernaState *s = opaque;
    uint32_t value;

    if (!s->card) {
        return UINT32_MAX;
    }
    verna_lock(s);
    value = verna_card_read(s->card, 0, addr, get_clock());
    verna_unlock(s);
    return value;
}

static void verna_regs_write(void *opaque, hwaddr addr, uint64_t value,
                             unsigned size)
{
    VernaState *s = opaque;

    if (!s->card) {
        return;
    }
    verna_lock(s);
    verna_card_write(s->card, 0, addr, value, get_clock());
    verna_unlock(s);
    verna_engine_kick(s, 0);
}

static uint64_t verna_doorbell_read(void *opaque, hwaddr addr, unsigned size)
{
    return 0;
}

static void verna_doorbell_write(void *opaque, hwaddr addr, uint64_t value,
                                 unsigned size)
{
    VernaState *s = opaque;

    if (s->card && verna_card_doorbell(s->card, 0, addr, value)) {
        verna_engine_kick(s, value);
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

static bool verna_make_card(VernaState *s, Error **errp)
{
    NetClientState *backend = s->conf.peers.ncs[0];
    char error[256] = "";

    memcpy(s->config.mac, s->conf.macaddr.a, sizeof(s->config.mac));
    s->config.netdev = backend ? backend->name : NULL;
    s->card = verna_card_new(&s->config, &verna_dma_ops, s, error,
                             sizeof(error));
    if (!s->card) {
        error_setg(errp, "verna: %s", error);
    }
    return s->card;
}

static void verna_make_bars(VernaState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    uint8_t type = PCI_BASE_ADDRESS_MEM_TYPE_64;

    memory_region_init_io(&s->regs, OBJECT(s), &verna_regs_ops, s,
                          "verna-regs", VERNA_REGS_SIZE);
    memory_region_init_io(&s->doorbells, OBJECT(s), &verna_doorbell_ops, s,
                          "verna-doorbells",
                          pow2ceil(s->config.uars) * VERNA_UAR_SIZE);
    memory_region_init(&s->msix, OBJECT(s), "verna-msix", VERNA_MSIX_BAR_SIZE);
    pci_register_bar(pdev, VERNA_BAR_REGS, type, &s->regs);
    pci_register_bar(pdev, VERNA_BAR_DOORBELL, type, &s->doorbells);
    pci_register_bar(pdev, VERNA_BAR_MSIX, type, &s->msix);
}

static void verna_make_pcie(PCIDevice *pdev)
{
    pcie_endpoint_cap_init(pdev, VERNA_PCIE_CAP);
    pcie_aer_init(pdev, PCI_ERR_VER, VERNA_AER_CAP, PCI_ERR_SIZEOF,
                  &error_abort);
    pcie_cap_flr_init(pdev);
}

static bool verna_make_msix(VernaState *s, Error **errp)
{
    PCIDevice *pdev = PCI_DEVICE(s);

    if (msix_init(pdev, s->config.vectors, &s->msix, VERNA_BAR_MSIX, 0,
                  &s->msix, VERNA_BAR_MSIX, VERNA_PBA_OFFSET, VERNA_MSIX_CAP,
                  errp)) {
        return false;
    }
    for (unsigned i = 0; i < s->config.vectors; i++) {
        msix_vector_use(pdev, i);
    }
    return true;
}

/* Undoes verna_make_*(); MSI-X may be missing. */
static void verna_unmake(VernaState *s)
{
    PCIDevice *pdev = PCI_DEVICE(s);
    verna_card *card = s->card;

    if (msix_present(pdev)) {
        msix_unuse_all_vectors(pdev);
        msix_uninit(pdev, &s->msix, &s->msix);
    }
    pcie_aer_exit(pdev);
    pcie_cap_exit(pdev);
    s->card = NULL;
    verna_card_free(card);
}

static void verna_realize(PCIDevice *pdev, Error **errp)
{
    VernaState *s = VERNA(pdev);

    if (!pci_bus_is_express(pci_get_bus(pdev))) {
        error_setg(errp, "verna: needs a PCI Express bus");
        return;
    }
    qemu_macaddr_default_if_unset(&s->conf.macaddr);
    if (!verna_make_card(s, errp)) {
        return;
    }
    verna_make_bars(s);
    verna_make_pcie(pdev);
    if (!verna_make_msix(s, errp)) {
        verna_unmake(s);
        return;
    }
    verna_dma_init(s);
    verna_net_init(s);
    verna_engine_start(s);
}

static void verna_exit(PCIDevice *pdev)
{
    VernaState *s = VERNA(pdev);

    verna_engine_stop(s);
    memory_listener_unregister(&s->listener);
    verna_net_exit(s);
    verna_unmake(s);
}

static void verna_write_config(PCIDevice *pdev, uint32_t addr, uint32_t value,
                               int len)
{
    VernaState *s = VERNA(pdev);

    pci_default_write_config(pdev, addr, value, len);
    pcie_cap_flr_write_config(pdev, addr, value, len);
    if (range_covers_byte(addr, len, PCI_COMMAND) && s->card) {
        /* Bus mastering may have ended: wait until no DMA is under way. */
        verna_lock(s);
        verna_unlock(s);
    }
}

static void verna_reset_hold(Object *obj, ResetType type)
{
    VernaState *s = VERNA(obj);

    if (s->card) {
        verna_engine_reset(s);
    }
}

static const VMStateDescription verna_vmstate = {
    .name = "verna",
    .unmigratable = 1,
};

static const Property verna_properties[] = {
    DEFINE_NIC_PROPERTIES(VernaState, conf),
    DEFINE_PROP_STRING("link", VernaState, config.link),
    DEFINE_PROP_STRING("pcap", VernaState, config.pcap),
    DEFINE_PROP_STRING("ctl", VernaState, config.ctl),
    DEFINE_PROP_UINT32("vectors", VernaState, config.vectors, 129),
    DEFINE_PROP_UINT32("uars", VernaState, config.uars, 1024),
    DEFINE_PROP_UINT32("speed", VernaState, config.speed, 100000),
    DEFINE_PROP_UINT32("max-qps", VernaState, config.max_qps, 16384),
    DEFINE_PROP_UINT32("link-ring-kib", VernaState, config.link_ring_kib, 8192),
    DEFINE_PROP_UINT32("poll-us", VernaState, config.poll_us, 3),
    DEFINE_PROP_UINT32("inline-kib", VernaState, config.inline_kib, 16),
    DEFINE_PROP_UINT64("seed", VernaState, config.seed, 0),
};

static void verna_class_init(ObjectClass *class, void *data)
{
    DeviceClass *dc = DEVICE_CLASS(class);
    PCIDeviceClass *pc = PCI_DEVICE_CLASS(class);
    const char *name;

    pc->realize = verna_realize;
    pc->exit = verna_exit;
    pc->config_write = verna_write_config;
    pc->vendor_id = VERNA_PCI_VENDOR_ID;
    pc->device_id = VERNA_PCI_DEVICE_ID;
    pc->revision = VERNA_PCI_REVISION;
    pc->class_id = PCI_CLASS_NETWORK_ETHERNET;
    RESETTABLE_CLASS(class)->phases.hold = verna_reset_hold;
    dc->desc = "verna Ethernet and RDMA adapter";
    dc->vmsd = &verna_vmstate;
    device_class_set_props(dc, verna_properties);
    for (size_t i = 0; i < ARRAY_SIZE(verna_properties); i++) {
        name = verna_properties[i].name;
        if (verna_option_help(name)) {
            object_class_property_set_description(class, name,
                                                  verna_option_help(name));
        }
    }
    set_bit(DEVICE_CATEGORY_NETWORK, dc->categories);
}

static const TypeInfo verna_info = {
    .name = TYPE_VERNA,
    .parent = TYPE_PCI_DEVICE,
    .instance_size = sizeof(VernaState),
    .class_init = verna_class_init,
    .interfaces = (InterfaceInfo[]) {
        { INTERFACE_PCIE_DEVICE },
        { }
    },
};

static void verna_register_types(void)
{
    type_register_static(&verna_info);
}

type_init(verna_register_types)
