/*
 * verna: a card whose wire is a -netdev backend, and QMP set_link for all.
 *
 * The engine never waits for the network layer, which lives under the BQL:
 * frames go through two rings in the card, and a bottom half in the main loop
 * empties one and asks the backend to fill the other.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#include "qemu/osdep.h"
#include "qemu/iov.h"
#include "qemu/timer.h"
#include "hw/qdev-core.h"
#include "verna.h"

#define VERNA_FRAMES_PER_BH 256

static const uint8_t verna_no_header[64];

/*
 * A backend that a virtio-net device used before may still put that device's
 * header in front of every frame; tap does. We use none of what it offers.
 */
static size_t verna_header_len(NetClientState *nc)
{
    return MIN(qemu_get_vnet_hdr_len(nc->peer), sizeof(verna_no_header));
}

static bool verna_can_receive(NetClientState *nc)
{
    VernaState *s = qemu_get_nic_opaque(nc);

    return verna_card_host_rx_ready(s->card);
}

static ssize_t verna_receive_iov(NetClientState *nc, const struct iovec *iov,
                                 int count)
{
    VernaState *s = qemu_get_nic_opaque(nc);

    if (!verna_card_host_rx(s->card, iov, count, verna_header_len(nc))) {
        /* The card may have made room meanwhile. */
        verna_net_after_run(s);
        return 0;
    }
    return iov_size(iov, count);
}

static void verna_sent(NetClientState *nc, ssize_t len)
{
    VernaState *s = qemu_get_nic_opaque(nc);

    verna_card_host_tx_resumes(s->card);
    qemu_bh_schedule(s->net.bh);
}

/* False: the backend took the frame into its queue and wants no more. */
static bool verna_send(NetClientState *nc, const uint8_t *frame, size_t len)
{
    size_t header = verna_header_len(nc);
    struct iovec iov[2] = {
        { .iov_base = (void *)verna_no_header, .iov_len = header },
        { .iov_base = (void *)frame, .iov_len = len },
    };

    return qemu_sendv_packet_async(nc, header ? iov : iov + 1,
                                   header ? 2 : 1, verna_sent) != 0;
}

/* A bounded number of frames at a time: the main loop has others to serve. */
static void verna_net_bh(void *opaque)
{
    VernaState *s = opaque;
    NetClientState *nc = qemu_get_queue(s->net.nic);
    const uint8_t *frame;
    size_t len;

    if (verna_card_host_rx_resumes(s->card)) {
        qemu_flush_queued_packets(nc);
    }
    for (int i = 0; i < VERNA_FRAMES_PER_BH; i++) {
        len = verna_card_host_tx_next(s->card, &frame);
        if (!len) {
            break;
        }
        verna_card_host_tx_done(s->card, verna_send(nc, frame, len));
    }
    verna_net_after_run(s);
}

/* After the card ran: is there anything for the bottom half? Any thread. */
void verna_net_after_run(VernaState *s)
{
    if (verna_card_host_wanted(s->card)) {
        qemu_bh_schedule(s->net.bh);
    }
}

/* The NIC lives as long as the engine, so there is a lock and a card. */
static void verna_link_status_changed(NetClientState *nc)
{
    VernaState *s = qemu_get_nic_opaque(nc);

    verna_lock(s);
    verna_card_set_link(s->card, !nc->link_down, nc->peer, get_clock());
    verna_unlock(s);
    verna_card_wake(s->card);
}

static NetClientInfo verna_nic_info = {
    .type = NET_CLIENT_DRIVER_NIC,
    .size = sizeof(NICState),
    .can_receive = verna_can_receive,
    .receive_iov = verna_receive_iov,
    .link_status_changed = verna_link_status_changed,
};

static ssize_t verna_cable_receive(NetClientState *nc, const uint8_t *buf,
                                   size_t size)
{
    return size;
}

/* The other end of link=PATH, so that "info network" shows what is there. */
static NetClientInfo verna_cable_info = {
    .type = NET_CLIENT_DRIVER_NONE,
    .size = sizeof(NetClientState),
    .receive = verna_cable_receive,
};

void verna_net_init(VernaState *s)
{
    DeviceState *dev = DEVICE(s);
    VernaNet *n = &s->net;

    if (s->config.link) {
        n->cable = qemu_new_net_client(&verna_cable_info, NULL, "verna-link",
                                       NULL);
        qemu_set_info_str(n->cable, "path=%s", s->config.link);
        s->conf.peers.ncs[0] = n->cable;
        s->conf.peers.queues = 1;
    }
    n->bh = qemu_bh_new_guarded(verna_net_bh, s, &dev->mem_reentrancy_guard);
    n->nic = qemu_new_nic(&verna_nic_info, &s->conf, TYPE_VERNA, dev->id,
                          &dev->mem_reentrancy_guard, s);
    qemu_format_nic_info_str(qemu_get_queue(n->nic), s->conf.macaddr.a);
}

void verna_net_exit(VernaState *s)
{
    VernaNet *n = &s->net;
    bool cable = n->cable && !n->nic->peer_deleted;

    qemu_bh_delete(n->bh);
    qemu_del_nic(n->nic);
    if (cable) {
        qemu_del_net_client(n->cable);
    }
}
