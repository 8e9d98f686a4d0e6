/*
 * verna: the engine thread, the card lock, and interrupts. When the card runs,
 * looks for work and sleeps is decided in the card's core (runner.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "exec/address-spaces.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "system/runstate.h"
#include "verna.h"

/*
 * The engine takes the lock again right after it released it, and a mutex
 * would let it. With the gate it has to wait while another thread waits.
 */
void verna_lock(VernaState *s)
{
    qemu_mutex_lock(&s->engine.gate);
    qemu_mutex_lock(&s->engine.lock);
    qemu_mutex_unlock(&s->engine.gate);
    rcu_read_lock();
}

void verna_unlock(VernaState *s)
{
    rcu_read_unlock();
    qemu_mutex_unlock(&s->engine.lock);
}

/* MSI-X needs the BQL; nobody waits for it with the card lock. */
static void verna_send_interrupts(VernaState *s)
{
    uint16_t fn;
    int vector;

    if (!verna_card_vectors_pending(s->card)) {
        return;
    }
    BQL_LOCK_GUARD();
    while ((vector = verna_card_take_vector(s->card, &fn)) >= 0) {
        msix_notify(verna_function_device(s, fn), vector);
    }
}

/* What a run of the card left to do; not under the card lock. */
static void verna_after_run(VernaState *s)
{
    verna_send_interrupts(s);
    verna_net_after_run(s);
}

static void verna_engine_turn(VernaState *s)
{
    bool bql = qatomic_read(&s->engine.dma_needs_bql);
    verna_sleep sleep;
    int64_t begin;
    bool sleeps;

    if (bql) {
        bql_lock();
    }
    verna_lock(s);
    sleeps = verna_card_slice(s->card, get_clock(), &sleep);
    verna_unlock(s);
    if (bql) {
        bql_unlock();
    }
    verna_after_run(s);
    if (sleeps) {
        begin = get_clock();
        qemu_poll_ns((GPollFD *)sleep.fds, sleep.num_fds, sleep.timeout);
        verna_card_slept(s->card, get_clock() - begin);
    }
}

static void *verna_engine_thread(void *opaque)
{
    VernaState *s = opaque;

    rcu_register_thread();
    while (!qatomic_read(&s->engine.stop)) {
        verna_engine_turn(s);
    }
    rcu_unregister_thread();
    return NULL;
}

/*
 * There may be work for the card: @doorbell was written, or a register if that
 * is 0. Under the BQL, not under lock.
 */
void verna_engine_kick(VernaState *s, uint32_t doorbell)
{
    bool done = false;

    if (!verna_card_asleep(s->card)) {
        return;
    }
    if (!qemu_mutex_trylock(&s->engine.lock)) {
        rcu_read_lock();
        done = verna_card_run_inline(s->card, get_clock(), doorbell);
        verna_unlock(s);
        verna_after_run(s);
    }
    if (!done) {
        verna_card_wake(s->card);
    }
}

static void verna_vm_state_change(void *opaque, bool running, RunState state)
{
    VernaState *s = opaque;

    verna_lock(s);
    verna_card_set_running(s->card, running, get_clock());
    verna_unlock(s);
    verna_card_wake(s->card);
}

static void verna_find_iommu(VernaState *s)
{
    qatomic_set(&s->engine.dma_needs_bql,
                pci_device_iommu_address_space(PCI_DEVICE(s)) !=
                &address_space_memory);
}

/* Under the BQL: a function is as after power-on, and does no DMA. */
void verna_engine_reset(VernaState *s, uint16_t fn)
{
    verna_lock(s);
    verna_card_reset(s->card, fn, get_clock());
    verna_find_iommu(s);
    verna_unlock(s);
    verna_card_wake(s->card);
}

void verna_engine_start(VernaState *s)
{
    VernaEngine *e = &s->engine;

    qemu_mutex_init(&e->gate);
    qemu_mutex_init(&e->lock);
    qatomic_set(&e->stop, false);
    verna_find_iommu(s);
    verna_vm_state_change(s, runstate_is_running(), runstate_get());
    e->vmstate = qemu_add_vm_change_state_handler(verna_vm_state_change, s);
    qemu_thread_create(&e->thread, "verna-engine", verna_engine_thread, s,
                       QEMU_THREAD_JOINABLE);
}

void verna_engine_stop(VernaState *s)
{
    VernaEngine *e = &s->engine;

    qemu_del_vm_change_state_handler(e->vmstate);
    qatomic_set(&e->stop, true);
    verna_card_wake(s->card);
    /* The engine may be waiting for the BQL to send an interrupt. */
    bql_unlock();
    qemu_thread_join(&e->thread);
    bql_lock();
    qemu_mutex_destroy(&e->lock);
    qemu_mutex_destroy(&e->gate);
}
