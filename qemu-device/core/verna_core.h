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
 * @map: Says where guest memory is. False: @addr is no memory, belongs to a
 *       device, cannot be written (if @write) or is forbidden by an IOMMU. @len
 *       may become larger than was asked if @keep is set.
 * @written: The card wrote to mapped memory: @region and @offset of its first
 *           byte, and how many bytes.
 * @raise: An MSI-X vector is to be sent; may be done after the call into the
 *         card has returned.
 */
typedef struct verna_host_ops {
    bool (*map)(void *opaque, uint16_t fn, uint64_t addr, bool write, verna_mapping *mapping);
    void (*written)(void *opaque, void *region, uint64_t offset, uint64_t len);
    void (*raise)(void *opaque, uint16_t fn, uint16_t vector);
} verna_host_ops;

/** struct verna_card_config - properties of the device; zero or null: default */
typedef struct verna_card_config {
    uint8_t mac[6];
    uint16_t num_vectors;
    uint16_t num_uars;
    uint32_t link_speed_mbps;
    uint64_t max_pbl_entries;
    uint32_t max_qps;
    const char *pcap;      /* capture file */
    const char *link;      /* path of a shared-memory link; null: frames go through the host */
    uint32_t link_ring_kib; /* size of each direction's ring */
    uint64_t seed;         /* not 0: reproducible keys and numbers */
    uint32_t poll_us;      /* engine: longest look for work before it sleeps; 0: none */
    uint32_t inline_kib;   /* budget of verna_card_run_inline() */
} verna_card_config;

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
 * are serialised with the card, and slept() is for the engine alone.
 */
#define VERNA_MAX_FDS 8
typedef struct verna_sleep {
    struct pollfd fds[VERNA_MAX_FDS];
    size_t num_fds;
    uint64_t deadline; /* of the card's clock, UINT64_MAX: none */
} verna_sleep;

/* Runs for a bounded time. True: wait until a descriptor or the deadline. */
bool verna_card_slice(verna_card *card, uint64_t now, uint64_t host_now, verna_sleep *sleep);
/* The engine waited for so many ns of the host's time. */
void verna_card_slept(verna_card *card, uint64_t duration);
/* Any thread, after a doorbell or a register write: the engine sleeps. */
bool verna_card_asleep(const verna_card *card);
/* Then its work may be done here. True: the engine need not be woken. */
bool verna_card_run_inline(verna_card *card, uint64_t now);
/* Any thread. */
void verna_card_wake(verna_card *card);

/* Any thread. */
void verna_card_doorbell(verna_card *card, uint32_t uar, uint32_t value);

/*
 * Any thread, before the layout of guest memory changes: mappings that the card
 * keeps are void from its next access on. Memory must stay where it is until
 * the call into the card that is now running, if any, has returned.
 */
void verna_card_forget_memory(verna_card *card);

uint32_t verna_card_read(verna_card *card, uint32_t offset, uint64_t now);
void verna_card_write(verna_card *card, uint32_t offset, uint32_t value, uint64_t now);
void verna_card_reset(verna_card *card, uint64_t now);
void verna_card_set_link(verna_card *card, bool up, uint64_t now);

/*
 * Frames of a card without a link go through the host's network layer. Both
 * functions are for the host's network thread and may run beside the card.
 */
/* Any thread (one at a time). False: no room, ask again after rx_room() says so. */
bool verna_card_host_rx(verna_card *card, const uint8_t *frame, size_t len);
bool verna_card_host_rx_room(verna_card *card);
/* Any thread (one at a time). Oldest frame to send, 0: none; valid until pop. */
size_t verna_card_host_tx_peek(verna_card *card, const uint8_t **frame);
void verna_card_host_tx_pop(verna_card *card);
/* Any thread. Is there a frame to send? */
bool verna_card_host_tx_pending(const verna_card *card);
void verna_card_host_set_link(verna_card *card, bool up);

/*
 * Answers one request of vernactl with JSON in one line. Returns a string to
 * free with free(), or null for want of memory.
 */
char *verna_card_control(verna_card *card, const char *request, uint64_t now);

/* The socket at which vernactl asks. */
typedef struct verna_ctl verna_ctl;
/* Null: @error says why. */
verna_ctl *verna_ctl_new(const char *path, char *error, size_t error_len);
/* Readable when there is something to serve. */
int verna_ctl_fd(const verna_ctl *ctl);
/* Answers what was asked; serialised with the card. */
void verna_ctl_serve(verna_ctl *ctl, verna_card *card, uint64_t now);
void verna_ctl_free(verna_ctl *ctl);

#ifdef __cplusplus
}
#endif
#endif /* VERNA_CORE_H */
