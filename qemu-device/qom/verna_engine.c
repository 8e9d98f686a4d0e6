/*
 * verna: the engine thread, the card lock, and interrupts. When the card runs,
 * looks for work and sleeps is decided in the card's core (runner.h).
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
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

/* The card's clock, which stands still while the VM is stopped. Under lock. */
uint64_t verna_now(VernaState *s)
{
    VernaEngine *e = &s->engine;

    return (e->paused ? e->paused_at : get_clock()) - e->stopped;
}

static void verna_send_interrupts(VernaState *s)
{
    VernaEngine *e = &s->engine;

    if (!qatomic_read(&e->raised)) {
        return;
    }
    BQL_LOCK_GUARD();
    qatomic_set(&e->raised, false);
    smp_mb();
    for (size_t i = 0; i < BITS_TO_LONGS(s->vectors); i++) {
        unsigned long bits = qatomic_xchg(&e->vectors[i], 0);

        for (; bits; bits &= bits - 1) {
            msix_notify(PCI_DEVICE(s), i * BITS_PER_LONG + ctzl(bits));
        }
    }
}

/* What a run of the card left to do; not under the card lock. */
static void verna_after_run(VernaState *s)
{
    verna_send_interrupts(s);
    verna_net_after_run(s);
}

static void verna_sleep_until_woken(VernaState *s, verna_sleep *sleep,
                                    uint64_t now)
{
    int64_t begin = get_clock();
    uint64_t timeout = sleep->deadline > now ? sleep->deadline - now : 0;

    qemu_poll_ns((GPollFD *)sleep->fds, sleep->num_fds,
                 timeout < INT64_MAX ? timeout : -1);
    verna_card_slept(s->card, get_clock() - begin);
}

/* One turn of the engine. False: it has to end. */
static bool verna_engine_turn(VernaState *s)
{
    VernaEngine *e = &s->engine;
    bool bql = qatomic_read(&e->dma_needs_bql);
    bool sleeps = false, ends;
    verna_sleep sleep;
    uint64_t now;

    if (bql) {
        bql_lock();
    }
    verna_lock(s);
    now = verna_now(s);
    if (!e->stop && !e->paused) {
        sleeps = verna_card_slice(s->card, now, get_clock(), &sleep);
    }
    if (bql) {
        bql_unlock();
    }
    rcu_read_unlock();
    while (e->paused && !e->stop) {
        qemu_cond_wait(&e->resumed, &e->lock);
    }
    ends = e->stop;
    qemu_mutex_unlock(&e->lock);
    if (ends) {
        return false;
    }
    verna_after_run(s);
    if (sleeps) {
        verna_sleep_until_woken(s, &sleep, now);
    }
    return true;
}

static void *verna_engine_thread(void *opaque)
{
    rcu_register_thread();
    while (verna_engine_turn(opaque)) {
        /* goes on */
    }
    rcu_unregister_thread();
    return NULL;
}

/* There may be work for the card. Under the BQL, not under lock. */
void verna_engine_kick(VernaState *s)
{
    VernaEngine *e = &s->engine;
    bool done = false;

    if (!verna_card_asleep(s->card)) {
        return;
    }
    if (s->inline_kib && !qemu_mutex_trylock(&e->lock)) {
        rcu_read_lock();
        done = e->paused || e->stop ||
               verna_card_run_inline(s->card, verna_now(s));
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
    VernaEngine *e = &s->engine;

    verna_lock(s);
    if (running && e->paused) {
        e->stopped += get_clock() - e->paused_at;
        qemu_cond_signal(&e->resumed);
        verna_card_wake(s->card);
    } else if (!running && !e->paused) {
        e->paused_at = get_clock();
    }
    e->paused = !running;
    verna_unlock(s);
}

static void verna_find_iommu(VernaState *s)
{
    qatomic_set(&s->engine.dma_needs_bql,
                pci_device_iommu_address_space(PCI_DEVICE(s)) !=
                &address_space_memory);
}

/* Under the BQL: the card is as after power-on, and no DMA is under way. */
void verna_engine_reset(VernaState *s)
{
    VernaEngine *e = &s->engine;

    verna_lock(s);
    verna_card_reset(s->card, verna_now(s));
    verna_find_iommu(s);
    verna_unlock(s);
    for (size_t i = 0; i < ARRAY_SIZE(e->vectors); i++) {
        qatomic_set(&e->vectors[i], 0);
    }
    verna_card_wake(s->card);
}

void verna_engine_start(VernaState *s)
{
    VernaEngine *e = &s->engine;

    qemu_mutex_init(&e->gate);
    qemu_mutex_init(&e->lock);
    qemu_cond_init(&e->resumed);
    e->paused = !runstate_is_running();
    e->paused_at = get_clock();
    verna_find_iommu(s);
    e->vmstate = qemu_add_vm_change_state_handler(verna_vm_state_change, s);
    qemu_thread_create(&e->thread, "verna-engine", verna_engine_thread, s,
                       QEMU_THREAD_JOINABLE);
    e->started = true;
}

void verna_engine_stop(VernaState *s)
{
    VernaEngine *e = &s->engine;

    qemu_del_vm_change_state_handler(e->vmstate);
    verna_lock(s);
    e->stop = true;
    e->started = false;
    qemu_cond_signal(&e->resumed);
    verna_unlock(s);
    verna_card_wake(s->card);
    /* The engine may be waiting for the BQL to send an interrupt. */
    bql_unlock();
    qemu_thread_join(&e->thread);
    bql_lock();
    qemu_cond_destroy(&e->resumed);
    qemu_mutex_destroy(&e->lock);
    qemu_mutex_destroy(&e->gate);
}
