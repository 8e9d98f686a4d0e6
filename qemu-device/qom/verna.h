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

#define VERNA_MAX_VECTORS 2048

/* The thread that runs the card, and interrupts; verna_engine.c. */
typedef struct VernaEngine {
    QemuThread thread;
    /* Taken before and released after taking lock: lets waiters in. */
    QemuMutex gate;
    QemuMutex lock;
    QemuCond resumed;
    VMChangeStateEntry *vmstate;
    bool started;
    bool raised; /* atomic: some bit of vectors is set */
    /* MSI-X vectors to send; set by any thread, cleared under the BQL. */
    unsigned long vectors[BITS_TO_LONGS(VERNA_MAX_VECTORS)];

    /* Under lock. */
    bool stop;
    bool paused;
    int64_t paused_at; /* host time, ns */
    int64_t stopped; /* ns that the card's clock is behind the host's */

    /* DMA may need the BQL: there is an IOMMU, which may raise interrupts. */
    bool dma_needs_bql;
} VernaEngine;

/* The way to a -netdev backend; verna_net.c. */
typedef struct VernaNet {
    NICState *nic;
    NetClientState *cable; /* stands for the other end of a link */
    QEMUBH *bh;
    bool rx_stalled; /* atomic: the backend waits for room */
    bool tx_blocked; /* atomic: the backend has no room */
    uint8_t frame[16384];
} VernaNet;

struct VernaState {
    PCIDevice parent_obj;

    NICConf conf;
    char *link;
    char *pcap;
    char *ctl_path;
    uint32_t vectors;
    uint32_t uars;
    uint32_t speed;
    uint32_t max_qps;
    uint32_t link_ring_kib;
    uint32_t poll_us;
    uint32_t inline_kib;
    uint64_t seed;

    verna_card *card;
    MemoryRegion regs;
    MemoryRegion doorbells;
    MemoryRegion msix;
    MemoryListener listener;
    VernaEngine engine;
    VernaNet net;
    verna_ctl *ctl;
};

extern const verna_host_ops verna_dma_ops;
void verna_dma_init(VernaState *s);

void verna_engine_start(VernaState *s);
void verna_engine_stop(VernaState *s);
void verna_lock(VernaState *s);
void verna_unlock(VernaState *s);
uint64_t verna_now(VernaState *s);
void verna_engine_kick(VernaState *s);
void verna_engine_reset(VernaState *s);

void verna_net_init(VernaState *s);
void verna_net_exit(VernaState *s);
void verna_net_after_run(VernaState *s);

#endif
