/*
 * verna: who runs the card.
 *
 * A thread, the engine, runs the card in slices while there is work, looks for
 * more for a while, and then sleeps until a file descriptor of the card, a
 * deadline or a doorbell wakes it. A vCPU whose doorbell finds it asleep runs
 * the card itself for a bounded time, because waking another thread costs far
 * more than sending a few packets.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/bitops.h"
#include "qemu/rcu.h"
#include "qemu/timer.h"
#include "qemu/units.h"
#include "exec/address-spaces.h"
#include "hw/pci/msix.h"
#include "hw/pci/pci.h"
#include "system/runstate.h"
#include "verna.h"

#define VERNA_SLICE_BYTES (128 * KiB)
#define VERNA_INLINE_TURNS 4

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

static size_t verna_wait_fds(VernaState *s, struct pollfd *fds)
{
    memset(fds, 0, VERNA_MAX_FDS * sizeof(*fds));
    fds[0].fd = event_notifier_get_fd(&s->engine.wake);
    fds[0].events = POLLIN;
    return 1 + verna_card_poll_fds(s->card, fds + 1, VERNA_MAX_FDS - 1);
}

/*
 * Under lock: arms all that wakes the engine. asleep is set first: whoever
 * rings after the card looked for work for the last time must see it.
 */
static bool verna_prepare_sleep(VernaState *s, uint64_t now, uint64_t deadline)
{
    VernaEngine *e = &s->engine;

    qatomic_set(&e->asleep, true);
    smp_mb();
    if (!verna_card_prepare_sleep(s->card, now)) {
        qatomic_set(&e->asleep, false);
        return false;
    }
    e->sleep_until = deadline;
    e->num_fds = verna_wait_fds(s, e->fds);
    verna_card_count_sleep(s->card);
    return true;
}

/*
 * Waits. Polls longer next time if the sleep was so short that polling would
 * have found the work, and less if it was long.
 */
static void verna_sleep(VernaState *s, struct pollfd *fds, size_t num_fds,
                        int64_t timeout)
{
    VernaEngine *e = &s->engine;
    int64_t limit = s->poll_us * 1000LL;
    int64_t begin = get_clock();

    qemu_poll_ns((GPollFD *)fds, num_fds, timeout);
    event_notifier_test_and_clear(&e->wake);
    if (get_clock() - begin < 2 * limit) {
        e->poll_ns = MIN(limit, MAX(e->poll_ns * 2, limit / 8));
    } else {
        e->poll_ns = MAX(e->poll_ns / 2, limit / 8);
    }
}

/* Under lock: one slice. True: the engine may sleep, everything is armed. */
static bool verna_run_slice(VernaState *s)
{
    VernaEngine *e = &s->engine;
    uint64_t now = verna_now(s);
    uint64_t deadline;
    int64_t host_now;

    if (qatomic_read(&e->asleep)) {
        qatomic_set(&e->asleep, false);
        verna_card_cancel_sleep(s->card);
        e->idle_since = 0;
    }
    deadline = verna_card_run(s->card, now, VERNA_SLICE_BYTES);
    if (!deadline) {
        e->idle_since = 0;
        return false;
    }
    host_now = get_clock();
    if (!e->idle_since) {
        e->idle_since = host_now;
    }
    if (deadline <= now || host_now - e->idle_since < e->poll_ns) {
        return false;
    }
    return verna_prepare_sleep(s, now, deadline);
}

/* One turn of the engine. False: it has to end. */
static bool verna_engine_turn(VernaState *s)
{
    VernaEngine *e = &s->engine;
    struct pollfd fds[VERNA_MAX_FDS];
    size_t num_fds = 0;
    int64_t timeout = -1;
    bool bql = qatomic_read(&e->dma_needs_bql);
    bool ends;

    if (bql) {
        bql_lock();
    }
    verna_lock(s);
    if (!e->stop && !e->paused && verna_run_slice(s)) {
        num_fds = e->num_fds;
        memcpy(fds, e->fds, sizeof(fds));
        if (e->sleep_until - verna_now(s) < INT64_MAX) {
            timeout = e->sleep_until - verna_now(s);
        }
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
    if (num_fds) {
        verna_sleep(s, fds, num_fds, timeout);
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

/* Under lock, by a vCPU. True: the engine can stay asleep. */
static bool verna_run_inline(VernaState *s)
{
    VernaEngine *e = &s->engine;
    uint64_t now = verna_now(s);
    uint64_t deadline = 0;
    struct pollfd fds[VERNA_MAX_FDS];

    verna_card_set_polling(s->card, false);
    for (int i = 0; i < VERNA_INLINE_TURNS && !deadline; i++) {
        deadline = verna_card_run(s->card, now, s->inline_kib * KiB);
    }
    verna_card_set_polling(s->card, true);
    verna_card_count_inline(s->card);
    return deadline >= e->sleep_until &&
           verna_card_prepare_sleep(s->card, now) &&
           verna_wait_fds(s, fds) == e->num_fds &&
           !memcmp(fds, e->fds, sizeof(fds));
}

/* There may be work for the card. Under the BQL, not under lock. */
void verna_engine_kick(VernaState *s)
{
    VernaEngine *e = &s->engine;
    bool stay = false;

    smp_mb(); /* between the doorbell and asleep */
    if (!qatomic_read(&e->asleep)) {
        return;
    }
    if (s->inline_kib && !qemu_mutex_trylock(&e->lock)) {
        rcu_read_lock();
        stay = e->paused || !e->asleep || verna_run_inline(s);
        verna_unlock(s);
        verna_after_run(s);
    }
    if (!stay) {
        event_notifier_set(&e->wake);
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
        event_notifier_set(&e->wake);
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
    event_notifier_set(&e->wake);
}

void verna_engine_start(VernaState *s)
{
    VernaEngine *e = &s->engine;

    qemu_mutex_init(&e->gate);
    qemu_mutex_init(&e->lock);
    qemu_cond_init(&e->resumed);
    event_notifier_init(&e->wake, 0);
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
    qatomic_set(&e->asleep, false);
    qemu_cond_signal(&e->resumed);
    verna_unlock(s);
    event_notifier_set(&e->wake);
    /* The engine may be waiting for the BQL to send an interrupt. */
    bql_unlock();
    qemu_thread_join(&e->thread);
    bql_lock();
    event_notifier_cleanup(&e->wake);
    qemu_cond_destroy(&e->resumed);
    qemu_mutex_destroy(&e->lock);
    qemu_mutex_destroy(&e->gate);
}
