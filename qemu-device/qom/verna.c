/*
 * verna: the card: its properties, its life, its resets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/module.h"
#include "qapi/error.h"
#include "hw/pci/pcie_sriov.h"
#include "hw/qdev-properties.h"
#include "migration/vmstate.h"
#include "hw/verna_regs.h"
#include "verna.h"

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

static void verna_free_card(VernaState *s)
{
    verna_card *card = s->card;

    s->card = NULL;
    verna_card_free(card);
}

static void verna_exit(PCIDevice *pdev)
{
    VernaState *s = VERNA(pdev);

    verna_engine_stop(s);
    memory_listener_unregister(&s->listener);
    verna_net_exit(s);
    verna_vfs_unmake(s);
    verna_function_unmake(&s->pf, pdev);
    verna_free_card(s);
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
    s->pf.s = s;
    if (!verna_function_make(&s->pf, pdev, errp)) {
        verna_free_card(s);
        return;
    }
    verna_dma_init(s);
    verna_net_init(s);
    verna_engine_start(s);
    if (!verna_vfs_make(s, errp)) {
        verna_exit(pdev);
    }
}

static void verna_write_config(PCIDevice *pdev, uint32_t addr, uint32_t value,
                               int len)
{
    VernaState *s = VERNA(pdev);

    verna_function_write_config(&s->pf, pdev, addr, value, len);
    pcie_sriov_config_write(pdev, addr, value, len);
}

static void verna_reset_hold(Object *obj, ResetType type)
{
    VernaState *s = VERNA(obj);

    if (s->card) {
        verna_engine_reset(s, 0);
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
    DEFINE_PROP_UINT32("vfs", VernaState, config.vfs, 0),
    DEFINE_PROP_UINT32("vf-vectors", VernaState, config.vf_vectors, 9),
    DEFINE_PROP_UINT32("vf-uars", VernaState, config.vf_uars, 64),
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
