/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * C interface of the card's core, for hosts: the QEMU shim is one.
 *
 * One card is owned by one thread at a time; the host serialises all calls on
 * a card but those marked "any thread".
 */
#ifndef VERNA_CORE_H
#define VERNA_CORE_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct verna_card verna_card;

/**
 * struct verna_mapping - a piece of host memory
 * @host: where it is in this process
 * @len: how many bytes follow in one piece; before the call: how many are wanted
 * @region: with @offset what the host calls this piece; see written()
 * @writable: false: may only be read
 * @keep: the card may use it until verna_card_forget_memory(), else for this
 *        access only
 */
typedef struct verna_mapping {
    void *host;
    uint64_t len;
    void *region;
    uint64_t offset;
    bool writable;
    bool keep;
} verna_mapping;

/**
 * struct verna_host_ops - what a card needs of its host
 * @map: Says where guest memory is for function @fn, by its requester id.
 *       False: @addr is no memory, belongs to a device, cannot be written (if
 *       @write) or is forbidden by an IOMMU. @len may become larger than was
 *       asked if @keep is set.
 * @written: The card wrote to mapped memory: @region and @offset of its first
 *           byte, and how many bytes.
 */
typedef struct verna_host_ops {
    bool (*map)(void *opaque, uint16_t fn, uint64_t addr, bool write, verna_mapping *mapping);
    void (*written)(void *opaque, void *region, uint64_t offset, uint64_t len);
} verna_host_ops;

#define VERNA_CARD_MAX_VECTORS 2048
#define VERNA_CARD_MAX_VFS 64

/**
 * struct verna_card_config - what a user says about a card
 * Numbers have ranges, which verna_card_new() checks; see card_options.cc.
 * Strings are only read while it runs.
 */
typedef struct verna_card_config {
    uint8_t mac[6];
    uint32_t vectors;
    uint32_t uars;
    uint32_t speed; /* Mbit/s */
    uint32_t max_qps;
    uint32_t link_ring_kib; /* size of each direction's ring */
    uint32_t poll_us;       /* engine: longest look for work before it sleeps; 0: none */
    uint32_t inline_kib;    /* budget of verna_card_run_inline(); 0: none */
    uint32_t vfs;           /* virtual functions that can be enabled, 0: none */
    uint32_t vf_vectors;    /* of each; means nothing without VFs */
    uint32_t vf_uars;       /* the same */
    uint64_t seed;          /* not 0: reproducible keys and numbers */
    char *link;             /* path of a shared-memory link; null: frames go through the host */
    char *netdev;           /* what the host calls its network, null: there is none */
    char *pcap;             /* capture file, or null */
    char *ctl;              /* path of the control socket, or null */
} verna_card_config;

/* What an option of this name is for, null: it is none of the card's. */
const char *verna_option_help(const char *name);

/**
 * verna_card_new() - makes a card
 * On error returns null and puts a message that names the value and its range
 * into @error.
 */
verna_card *verna_card_new(const verna_card_config *config, const verna_host_ops *ops,
                           void *opaque, char *error, size_t error_len);
void verna_card_free(verna_card *card);

/*
 * What the host's engine thread does; see runner.h. All but wake() and asleep()
 * are serialised with the card, and slept() is for the engine alone. The time
 * that is passed in here and below is the host's, monotonic, in ns.
 */
#define VERNA_MAX_FDS 8
typedef struct verna_sleep {
    struct pollfd fds[VERNA_MAX_FDS];
    size_t num_fds;
    int64_t timeout; /* ns, -1: none */
} verna_sleep;

/* Runs for a bounded time. True: wait for a descriptor or the time-out. */
bool verna_card_slice(verna_card *card, uint64_t host_now, verna_sleep *sleep);
/* The engine waited for so many ns. */
void verna_card_slept(verna_card *card, uint64_t duration);
/* Any thread, after a doorbell or a register write: the engine sleeps. */
bool verna_card_asleep(const verna_card *card);
/*
 * Then its work may be done here. @doorbell: the value that was written to a
 * doorbell page, 0: none was. True: the engine need not be woken.
 */
bool verna_card_run_inline(verna_card *card, uint64_t host_now,
                           uint32_t doorbell);
/* Any thread. */
void verna_card_wake(verna_card *card);
/*
 * A machine that is stopped has a card that stands still, and so does its
 * clock. A new card runs. Wake the engine afterwards.
 */
void verna_card_set_running(verna_card *card, bool running, uint64_t host_now);

/*
 * Functions: 0 is the physical one, 1 to verna_card_config.vfs are virtual. As
 * many of these are there as set_num_vfs() says, at first none. One that comes
 * is as after power-on; one that goes does no DMA and raises no interrupt once
 * this returned. Registers of one that is not there read all ones. Serialised
 * with take_vector() too; wake the engine afterwards.
 */
void verna_card_set_num_vfs(verna_card *card, uint16_t count, uint64_t host_now);

/*
 * MSI-X vectors that the card raised. pending() is for any thread, after it
 * ran the card; take() for one thread at a time, which sends what it gets, a
 * vector of function @fn, until that is negative.
 */
bool verna_card_vectors_pending(verna_card *card);
int verna_card_take_vector(verna_card *card, uint16_t *fn);

/* A write to a function's doorbell BAR. Any thread. False: there is no doorbell. */
bool verna_card_doorbell(verna_card *card, uint16_t fn, uint64_t offset, uint32_t value);

/*
 * Any thread, before the layout of guest memory changes: mappings that the card
 * keeps are void from its next access on. Memory must stay where it is until
 * the call into the card that is now running, if any, has returned.
 */
void verna_card_forget_memory(verna_card *card);

uint32_t verna_card_read(verna_card *card, uint16_t fn, uint32_t offset, uint64_t host_now);
void verna_card_write(verna_card *card, uint16_t fn, uint32_t offset, uint32_t value,
                      uint64_t host_now);
/*
 * Function level reset; serialised with take_vector() too. That of the PF resets
 * the VFs, which stay there until set_num_vfs() says otherwise.
 */
void verna_card_reset(verna_card *card, uint16_t fn, uint64_t host_now);
/* What the user wants, and whether the host's network is there, if it is the wire. */
void verna_card_set_link(verna_card *card, bool up, bool network, uint64_t host_now);

/*
 * Frames of a card without a link go through the host's network layer; see
 * mac/host_queue_port.h. These functions are for the host's network thread and
 * may run beside the card; a card with a link has no frames for it.
 */
bool verna_card_host_rx_ready(verna_card *card);
bool verna_card_host_rx(verna_card *card, const struct iovec *pieces, size_t count, size_t skip);
bool verna_card_host_rx_resumes(verna_card *card);
size_t verna_card_host_tx_next(verna_card *card, const uint8_t **frame);
void verna_card_host_tx_done(verna_card *card, bool more);
void verna_card_host_tx_resumes(verna_card *card);
/* Any thread, after it ran the card: the network thread has something to do. */
bool verna_card_host_wanted(const verna_card *card);

#ifdef __cplusplus
}
#endif
#endif /* VERNA_CORE_H */
