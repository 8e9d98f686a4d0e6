/*
 * verna: the card as a QEMU device. The card itself is behind verna_core.h;
 * here is what joins it to QEMU's PCI bus, memory, threads and networking.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 *
 * Locks: the card lock (engine.lock) serialises all use of the card. Whoever
 * holds the BQL may take it; whoever holds it never takes the BQL, and is in
 * an RCU read section.
 */
#ifndef HW_NET_VERNA_H
#define HW_NET_VERNA_H

#include "qemu/main-loop.h"
#include "qemu/thread.h"
#include "exec/memory.h"
#include "hw/pci/pci_device.h"
#include "net/net.h"
#include "verna_core.h"

#define TYPE_VERNA "verna"
OBJECT_DECLARE_SIMPLE_TYPE(VernaState, VERNA)
#define TYPE_VERNA_VF "verna-vf"
OBJECT_DECLARE_SIMPLE_TYPE(VernaVf, VERNA_VF)

/* What a guest sees of a function, physical or virtual; verna_function.c. */
typedef struct VernaFunction {
    VernaState *s;   /* its card, NULL: that is gone */
    uint16_t number; /* 0: the PF, VF n is n + 1 */
    MemoryRegion regs;
    MemoryRegion doorbells;
    MemoryRegion msix;
} VernaFunction;

/* The thread that runs the card; verna_engine.c. */
typedef struct VernaEngine {
    QemuThread thread;
    /* Taken before and released after taking lock: lets waiters in. */
    QemuMutex gate;
    QemuMutex lock;
    VMChangeStateEntry *vmstate;
    bool stop; /* atomic */
    /* DMA may need the BQL: there is an IOMMU, which may raise interrupts. */
    bool dma_needs_bql; /* atomic */
} VernaEngine;

/* The way to a -netdev backend; verna_net.c. */
typedef struct VernaNet {
    NICState *nic;
    NetClientState *cable; /* stands for the other end of a link */
    QEMUBH *bh;
} VernaNet;

struct VernaState {
    PCIDevice parent_obj;

    NICConf conf;
    verna_card_config config;

    verna_card *card;
    VernaFunction pf;
    MemoryListener listener;
    VernaEngine engine;
    VernaNet net;
};

bool verna_function_make(VernaFunction *f, PCIDevice *pdev, Error **errp);
void verna_function_unmake(VernaFunction *f, PCIDevice *pdev);
void verna_function_write_config(VernaFunction *f, PCIDevice *pdev,
                                 uint32_t addr, uint32_t value, int len);
PCIDevice *verna_function_device(VernaState *s, uint16_t fn);

bool verna_vfs_make(VernaState *s, Error **errp);
void verna_vfs_unmake(VernaState *s);

extern const verna_host_ops verna_dma_ops;
void verna_dma_init(VernaState *s);

void verna_engine_start(VernaState *s);
void verna_engine_stop(VernaState *s);
void verna_lock(VernaState *s);
void verna_unlock(VernaState *s);
void verna_engine_kick(VernaState *s, uint32_t doorbell);
void verna_engine_reset(VernaState *s, uint16_t fn);

void verna_net_init(VernaState *s);
void verna_net_exit(VernaState *s);
void verna_net_after_run(VernaState *s);

#endif
