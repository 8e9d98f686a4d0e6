/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verna: the netdev's objects.
 *
 * A channel is one TX and one RX queue, each with its CQ, on one completion vector
 * and one NAPI. A set of channels is made and thrown away as a whole: to open, to
 * close, and to change rings, channels or buffer sizes. Memory is allocated
 * before the old set stops, so a change that cannot be had leaves traffic alone.
 */
#ifndef VERNA_ETH_H
#define VERNA_ETH_H

#include <linux/dim.h>
#include <linux/ethtool.h>
#include <linux/if_vlan.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/timer.h>
#include <linux/u64_stats_sync.h>
#include <linux/workqueue.h>
#include <net/page_pool/helpers.h>
#include <net/xdp.h>

#include "steer.h"
#include "verna_core_api.h"
#include "qdisc.h"
#include "rep.h"
#include "vf.h"

#define VERNA_MIN_LOG_RING	6
#define VERNA_DEF_LOG_TX	10
#define VERNA_DEF_LOG_RX	11
#define VERNA_RX_HEADROOM	(NET_SKB_PAD + NET_IP_ALIGN)
#define VERNA_RX_COPYBREAK	256
/* Room for the headers of an skb whose payload is in fragments. */
#define VERNA_RX_HEADERS	256
#define VERNA_RX_REFILL_BATCH	16
#define VERNA_RX_STARVED	500	/* polls, 10 ms apart, that are worth a report */
#define VERNA_DEF_ADAPTIVE_RX	false
#define VERNA_DEF_ADAPTIVE_TX	false

struct verna_channel;
struct verna_eth;

/**
 * struct verna_eth_cq - CQ of one queue
 * @core: as the event queues know it
 * @chan: whose NAPI is to run
 * @mem: record and ring
 * @rec: record
 * @cons: entries consumed
 * @sn: sequence number of the last arming
 * @log_size: log2 of entries, at least as many as the queue has descriptors
 * @live: exists in the card
 * @adaptive: @dim moderates it
 * @events: events that it had
 * @dim: adaptive moderation
 */
struct verna_eth_cq {
	struct verna_core_cq core;
	struct verna_channel *chan;
	struct verna_mem mem;
	struct verna_cq_rec *rec;
	u32 cons;
	u32 sn;
	u8 log_size;
	bool live;
	bool adaptive;
	u16 events;
	struct dim dim;
};

/**
 * struct verna_tx_buf - what a TX descriptor points at
 * @skb: on the last descriptor of a packet of the stack
 * @frame: on the last descriptor of a frame of XDP
 * @dma: bus address
 * @len: bytes mapped
 * @packets: on the last descriptor: packets on the wire, else 0
 * @bytes: of these
 * @page: mapped as a page, else as linear data
 * @pool: not mapped by us: of a page pool that keeps it mapped
 */
struct verna_tx_buf {
	struct sk_buff *skb;
	struct xdp_frame *frame;
	dma_addr_t dma;
	u32 len;
	u32 packets;
	u32 bytes;
	bool page;
	bool pool;
};

/**
 * struct verna_txq - TX queue
 * @chan: its channel
 * @nq: the stack's queue
 * @stats: counters, which outlive the queue
 * @bufs: by descriptor
 * @rec: record
 * @mask: descriptors - 1
 * @max_descs: descriptors of one packet
 * @prod: descriptors written; the stack's TX lock protects it
 * @published: of these known to the card
 * @xdp_flush: frames were put for which the card is to be told; NAPI
 * @xdp_used: frames of XDP are or were in it
 * @cons: descriptors done; written by NAPI alone
 * @mem: record and ring
 * @cq: completions
 * @live: exists in the card
 */
struct verna_txq {
	struct verna_channel *chan;
	struct netdev_queue *nq;
	struct verna_queue_stats *stats;
	struct verna_tx_buf *bufs;
	struct verna_wq_rec *rec;
	u32 mask;
	u32 max_descs;
	u32 prod;
	u32 published;
	bool xdp_flush;
	bool xdp_used;

	u32 cons ____cacheline_aligned_in_smp;
	struct verna_mem mem;
	struct verna_eth_cq cq;
	bool live;
};

/**
 * struct verna_rx_buf - buffer of an RX descriptor
 * @page: NULL if there is none
 * @offset: of the buffer in it
 */
struct verna_rx_buf {
	struct page *page;
	u32 offset;
};

/**
 * struct verna_rxq - RX queue; all of it belongs to NAPI
 * @chan: its channel
 * @stats: counters, which outlive the queue
 * @bufs: by descriptor
 * @rec: record
 * @pool: where buffers come from
 * @mask: descriptors - 1
 * @truesize: bytes of a buffer with all that is around what the card writes
 * @headroom: bytes in front of what the card writes
 * @buf_len: bytes that the card may write
 * @max_bufs: buffers of one packet
 * @packed: buffers lie end to end in large pages, with nothing around them
 * @prod: buffers posted
 * @cons: buffers taken back
 * @starved: polls in succession that found no memory while few buffers are left
 * @xdp: buffers are fit for XDP
 * @xdp_flush: packets were redirected in this poll
 * @xdp_info: the queue as XDP knows it
 * @mem: record and ring
 * @cq: completions
 * @live: exists in the card
 */
struct verna_rxq {
	struct verna_channel *chan;
	struct verna_queue_stats *stats;
	struct verna_rx_buf *bufs;
	struct verna_wq_rec *rec;
	struct page_pool *pool;
	u32 mask;
	u32 truesize;
	u32 headroom;
	u32 buf_len;
	u32 max_bufs;
	bool packed;
	u32 prod;
	u32 cons;
	u32 starved;
	bool xdp;
	bool xdp_flush;
	struct xdp_rxq_info xdp_info;
	struct verna_mem mem;
	struct verna_eth_cq cq;
	bool live;
};

/**
 * struct verna_channel - TX and RX queue of one vector
 * @eth: the interface
 * @index: number of the channel, of both queues and of the vector
 * @napi: polls both CQs
 * @refill_timer: tries again when there was no memory for buffers
 * @broken: a completion made no sense; stands still until it is restarted
 * @move: lets another CPU schedule @napi
 * @moves: times that @move is on its way
 * @tx: TX queue
 * @rx: RX queue
 */
struct verna_channel {
	struct verna_eth *eth;
	u32 index;
	struct napi_struct napi;
	struct timer_list refill_timer;
	bool broken;
	call_single_data_t move;
	atomic_t moves;
	struct verna_txq tx;
	struct verna_rxq rx;
};

/**
 * struct verna_params - what a set of channels is made by
 * @num: channels
 * @log_tx: log2 of TX descriptors
 * @log_rx: log2 of RX descriptors
 * @mtu: decides the size of RX buffers
 * @xdp: RX buffers are for XDP
 * @merge: RX buffers are for packets that the card merges
 */
struct verna_params {
	u32 num;
	u8 log_tx;
	u8 log_rx;
	u32 mtu;
	bool xdp;
	bool merge;
};

/**
 * struct verna_channels - a set of channels
 * @params: what it was made by
 * @num: channels
 * @chan: the channels
 */
struct verna_channels {
	struct verna_params params;
	u32 num;
	struct verna_channel *chan[] __counted_by(num);
};

/**
 * struct verna_tx_xmit_stats - counters of the transmit path
 * @stops: times the ring was full
 * @linearized: packets with too many fragments, copied
 * @dropped: packets that could not be mapped or made to fit
 * @csum_none: packets whose checksum was not asked of the card
 * @needs_csum: packets whose checksum the card computes
 * @xdp_full: times that frames of XDP found no room
 * @gso_packets: packets that the card cuts into segments
 * @gso_bytes: of these
 * @gso_wire_packets: segments that they become
 * @gso_wire_bytes: of these segments
 */
struct verna_tx_xmit_stats {
	u64 stops;
	u64 linearized;
	u64 dropped;
	u64 csum_none;
	u64 needs_csum;
	u64 xdp_full;
	u64 gso_packets;
	u64 gso_bytes;
	u64 gso_wire_packets;
	u64 gso_wire_bytes;
};

/**
 * struct verna_tx_done_stats - counters of TX completions
 * @packets: packets of the wire, sent without error
 * @bytes: of these
 * @errors: packets of the stack that the card refused
 * @wakes: times the queue was woken again
 */
struct verna_tx_done_stats {
	u64 packets;
	u64 bytes;
	u64 errors;
	u64 wakes;
};

/**
 * struct verna_rx_stats - counters of reception
 * @packets: received, as they were on the wire before the card merged them
 * @bytes: of these
 * @multicast: of these: to a group address
 * @copied: of these: copied because they are short
 * @errors: completions in error
 * @alloc_fail: buffers or skbs that could not be allocated
 * @xdp_drop: packets that a program dropped
 * @xdp_tx: packets that a program sent back
 * @xdp_redirect: packets that a program sent elsewhere
 * @xdp_error: packets that a program aborted, or that could not go where it said
 * @csum_unnecessary: packets whose checksum the card found right
 * @csum_complete: packets whose sum the card gave to the stack
 * @csum_none: packets without either
 * @csum_bad: packets whose checksum the card found wrong
 * @gro_packets: packets that the card merged of several
 * @gro_bytes: of these
 * @gro_wire_packets: packets of which it merged them
 * @gro_wire_bytes: of these, headers of each included
 * @napi_moved: polls that ended early, to go on where the interrupt belongs
 */
struct verna_rx_stats {
	u64 packets;
	u64 bytes;
	u64 multicast;
	u64 copied;
	u64 errors;
	u64 alloc_fail;
	u64 xdp_drop;
	u64 xdp_tx;
	u64 xdp_redirect;
	u64 xdp_error;
	u64 csum_unnecessary;
	u64 csum_complete;
	u64 csum_none;
	u64 csum_bad;
	u64 gro_packets;
	u64 gro_bytes;
	u64 gro_wire_packets;
	u64 gro_wire_bytes;
	u64 napi_moved;
};

/**
 * struct verna_queue_stats - counters of the queues of one number, which have three
 *	writers
 * @xmit_sync: of @xmit
 * @xmit: under the stack's TX lock
 * @done_sync: of @done
 * @done: NAPI
 * @rx_sync: of @rx
 * @rx: NAPI
 * @rx_hw_drops: dropped by the card in RX queues that are gone; rtnl
 */
struct verna_queue_stats {
	struct u64_stats_sync xmit_sync ____cacheline_aligned_in_smp;
	struct verna_tx_xmit_stats xmit;
	struct u64_stats_sync done_sync ____cacheline_aligned_in_smp;
	struct verna_tx_done_stats done;
	struct u64_stats_sync rx_sync;
	struct verna_rx_stats rx;
	u64 rx_hw_drops;
};

static inline void verna_stat_inc(struct u64_stats_sync *sync, u64 *counter)
{
	u64_stats_update_begin(sync);
	(*counter)++;
	u64_stats_update_end(sync);
}

/**
 * struct verna_moder - how the events of a CQ are moderated
 * @usecs: an event waits for so long; 0: not at all
 * @frames: ... or for so many completions; 0: for any number
 * @adaptive: DIM decides on both
 */
struct verna_moder {
	u16 usecs;
	u16 frames;
	bool adaptive;
};

/**
 * struct verna_coalesce - moderation of the queues of one number
 * @rx: RX queue; a completion is a packet
 * @tx: TX queue; a completion is a batch of up to 64 packets
 */
struct verna_coalesce {
	struct verna_moder rx;
	struct verna_moder tx;
};

/**
 * struct verna_filter - what the card lets in
 * @lock: serialises changes
 * @enabled: reception is on
 * @mode: VERNA_RX_MODE_* that the card has
 * @num: addresses that the card has
 * @macs: these addresses
 */
struct verna_filter {
	struct mutex lock; /* of everything here */
	bool enabled;
	u32 mode;
	u32 num;
	u8 (*macs)[ETH_ALEN];
};

/**
 * struct verna_hw_totals - counters of the card that rtnl's statistics need
 * @lock: readers may not sleep
 * @last_eth: as read last
 * @last_port: as read last
 * @eth: totals over resets of the card
 * @port: totals over resets of the card
 */
struct verna_hw_totals {
	spinlock_t lock; /* of everything here */
	u64 last_eth[VERNA_ETH_NUM_COUNTERS];
	u64 last_port[VERNA_PORT_NUM_COUNTERS];
	u64 eth[VERNA_ETH_NUM_COUNTERS];
	u64 port[VERNA_PORT_NUM_COUNTERS];
};

/**
 * struct verna_eth - the interface, private part of the netdev
 * @netdev: the interface
 * @vdev: the card
 * @handler: of link and queue error events
 * @wq: ordered; works of this interface
 * @link_work: asks for the state of the port
 * @filter_work: brings @filter up to date
 * @totals_work: reads @totals now and then
 * @params: for the next set of channels; rtnl
 * @chans: set in use, NULL while closed; rtnl, and the TX path while queues run
 * @restarting: TX queues stand still on purpose
 * @tx_open: @chans may be sent with; read under a TX queue's lock
 * @xps_queues: TX queues that were given CPUs; rtnl
 * @xdp_prog: program of all RX queues, NULL if there is none; written under rtnl
 * @speed: Mbit/s
 * @max_channels: limit of card and vectors; entries of @stats
 * @stats: by queue number
 * @coalesce_all: what was set for all queues last; rtnl
 * @coalesce: by queue number; rtnl
 * @rx_pause: PAUSE frames are obeyed; rtnl
 * @tx_pause: PAUSE frames are sent; rtnl
 * @tcs: traffic classes; rtnl
 * @pace_mbps: rate of the segments of one packet, 0: no limit; written under rtnl
 * @filter: MAC filters
 * @vports: by VF: all that was said of it, NULL if the card has no VFs; rtnl
 * @rates: nodes above VFs
 * @switchdev: mode of the embedded switch; written under rtnl
 * @reps: by VF: its representor, NULL if the card has no such mode; written under the
 *	lock of devlink, read under RCU
 * @tc: rules of tc; rtnl
 * @rss: receive side scaling
 * @vlans: VIDs of 802.1Q and of 802.1ad that the stack wants; rtnl
 * @loopback: what is sent comes back, so there is a carrier without a link
 * @steer: receive steering
 * @arfs: accelerated receive flow steering
 * @totals: counters of the card
 * @debugfs: file with the rings
 */
struct verna_eth {
	struct net_device *netdev;
	struct verna_dev *vdev;
	struct verna_event_handler handler;
	struct workqueue_struct *wq;
	struct work_struct link_work;
	struct work_struct filter_work;
	struct delayed_work totals_work;
	struct verna_params params;
	struct verna_channels *chans;
	bool restarting;
	bool tx_open;
	u32 xps_queues;
	struct bpf_prog *xdp_prog;
	u32 speed;
	u32 max_channels;
	struct verna_queue_stats *stats;
	struct verna_coalesce coalesce_all;
	struct verna_coalesce *coalesce;
	bool rx_pause;
	bool tx_pause;
	struct verna_tcs tcs;
	u32 pace_mbps;
	struct verna_filter filter;
	struct verna_cmd_set_vport *vports;
	struct verna_rates rates;
	bool switchdev;
	struct verna_rep __rcu **reps;
	struct verna_tc_rules tc;
	struct verna_rss rss;
	DECLARE_BITMAP(vlans[2], VLAN_N_VID);
	bool loopback;
	struct verna_steer steer;
#ifdef CONFIG_RFS_ACCEL
	struct verna_arfs arfs;
#endif
	struct verna_hw_totals totals;
	struct dentry *debugfs;
};

/* channel.c */
struct verna_channels *verna_channels_alloc(struct verna_eth *eth,
					    const struct verna_params *params);
void verna_channels_free(struct verna_channels *chans);
void verna_xps_default(struct verna_eth *eth, u32 num);
int verna_channels_start(struct verna_eth *eth, struct verna_channels *chans);
void verna_channels_stop(struct verna_eth *eth, struct verna_channels *chans);

/* reconfig.c; callers hold rtnl */
int verna_eth_open_channels(struct verna_eth *eth);
void verna_eth_close_channels(struct verna_eth *eth);
int verna_eth_reconfigure(struct verna_eth *eth, const struct verna_params *params);
u32 verna_max_channels(struct verna_eth *eth);

/* queue.c */
int verna_eth_cq_alloc(struct verna_channel *chan, struct verna_eth_cq *cq, u8 log_size);
void verna_eth_cq_free(struct verna_channel *chan, struct verna_eth_cq *cq);
int verna_eth_cq_create(struct verna_channel *chan, struct verna_eth_cq *cq);
void verna_eth_cq_destroy(struct verna_channel *chan, struct verna_eth_cq *cq);
struct verna_cqe *verna_eth_cq_entry(struct verna_eth_cq *cq, u32 index);
const struct verna_cqe *verna_eth_cq_peek(struct verna_eth_cq *cq);
int verna_ethq_create(struct verna_channel *chan, u16 opcode, u32 cqn,
		      const struct verna_mem *mem, u8 log_size);
void verna_ethq_destroy(struct verna_channel *chan, u16 opcode);
size_t verna_ethq_ring_offset(void);

/* tx.c */
int verna_txq_alloc(struct verna_channel *chan, u8 log_size);
void verna_txq_free(struct verna_channel *chan);
void verna_txq_reset(struct verna_txq *txq);
void verna_txq_drain(struct verna_txq *txq);
struct verna_tx_desc *verna_tx_desc(struct verna_txq *txq, u32 index);
void verna_tx_put(struct verna_txq *txq, u32 index, dma_addr_t dma, u32 len, bool page);
void verna_tx_flush(struct verna_txq *txq);
netdev_tx_t verna_xmit(struct sk_buff *skb, struct net_device *netdev);

static inline u32 verna_txq_room(const struct verna_txq *txq)
{
	/* Pairs with the release in verna_tx_poll(). */
	return txq->mask + 1 - (txq->prod - smp_load_acquire(&txq->cons));
}

/* Room for this many packets of the largest size before a queue wakes again. */
static inline u32 verna_txq_wake_room(const struct verna_txq *txq)
{
	return min(txq->max_descs * 2, txq->mask + 1);
}

/* tx_offload.c */
void verna_tx_offload_init(struct verna_eth *eth);
netdev_features_t verna_features_check(struct sk_buff *skb, struct net_device *netdev,
				       netdev_features_t features);
void verna_tx_offload(struct verna_txq *txq, struct sk_buff *skb,
		      struct verna_tx_desc *desc, struct verna_tx_buf *buf);

/* tx_done.c */
void verna_tx_unmap(struct verna_txq *txq, struct verna_tx_buf *buf);
void verna_tx_poll(struct verna_txq *txq, int budget);

/* rx.c */
int verna_rxq_alloc(struct verna_channel *chan, const struct verna_params *params);
void verna_rxq_free(struct verna_channel *chan);
void verna_rxq_reset(struct verna_rxq *rxq);
void verna_rxq_drain(struct verna_rxq *rxq);
u32 verna_rx_buf_len(const struct verna_params *params);
u32 verna_rx_max_merged(const struct verna_params *params);
bool verna_rx_same_buffers(const struct verna_params *a, const struct verna_params *b);
bool verna_rx_refill(struct verna_rxq *rxq, u32 batch);
struct verna_rx_desc *verna_rx_desc(struct verna_rxq *rxq, u32 index);

static inline struct verna_rx_buf *verna_rx_buf(struct verna_rxq *rxq, u32 i)
{
	return &rxq->bufs[(rxq->cons + i) & rxq->mask];
}

static inline void *verna_rx_data(const struct verna_rx_buf *buf)
{
	return page_address(buf->page) + buf->offset;
}

/* rx_poll.c */
void verna_rx_sync(struct verna_rxq *rxq, const struct verna_rx_buf *buf, u32 len);
int verna_rx_poll(struct verna_rxq *rxq, int budget);

/* xdp.c */
struct sk_buff *verna_xdp_receive(struct verna_rxq *rxq, struct bpf_prog *prog,
				  const struct verna_cqe *cqe, u32 len, u32 num_bufs);
void verna_xdp_poll_end(struct verna_channel *chan);
int verna_xdp_rxq_init(struct verna_rxq *rxq);
void verna_xdp_rxq_exit(struct verna_rxq *rxq);
bool verna_xdp_check_mtu(const struct bpf_prog *prog, u32 mtu);
int verna_bpf(struct net_device *netdev, struct netdev_bpf *bpf);
extern const struct xdp_metadata_ops verna_xdp_metadata_ops;

/* xdp_tx.c */
bool verna_xdp_tx(struct verna_rxq *rxq, struct xdp_buff *xdp);
void verna_xdp_tx_flush(struct verna_txq *txq);
int verna_xdp_xmit(struct net_device *netdev, int num, struct xdp_frame **frames,
		   u32 flags);

/* napi.c */
void verna_napi_add(struct verna_channel *chan);
void verna_channel_broken(struct verna_channel *chan, enum verna_queue_kind kind);
void verna_napi_start(struct verna_channel *chan);
void verna_napi_stop(struct verna_channels *chans);
void verna_eth_cq_comp(struct verna_core_cq *core);

/* coalesce.c */
int verna_coalesce_init(struct verna_eth *eth);
void verna_coalesce_free(struct verna_eth *eth);
int verna_coalesce_start(struct verna_eth_cq *cq);
void verna_coalesce_stop(struct verna_eth_cq *cq);
void verna_dim_update(struct verna_eth_cq *cq, u64 packets, u64 bytes);
int verna_get_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
		       struct kernel_ethtool_coalesce *kernel_coal,
		       struct netlink_ext_ack *extack);
int verna_set_coalesce(struct net_device *netdev, struct ethtool_coalesce *ec,
		       struct kernel_ethtool_coalesce *kernel_coal,
		       struct netlink_ext_ack *extack);
int verna_get_per_queue_coalesce(struct net_device *netdev, u32 queue,
				 struct ethtool_coalesce *ec);
int verna_set_per_queue_coalesce(struct net_device *netdev, u32 queue,
				 struct ethtool_coalesce *ec);

/* pause.c */
int verna_pause_start(struct verna_eth *eth);
void verna_get_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause);
int verna_set_pauseparam(struct net_device *netdev, struct ethtool_pauseparam *pause);
void verna_get_pause_stats(struct net_device *netdev, struct ethtool_pause_stats *stats);

/* filter.c */
int verna_filter_init(struct verna_eth *eth);
void verna_filter_free(struct verna_eth *eth);
void verna_filter_set(struct verna_eth *eth, bool enabled);
void verna_filter_forget(struct verna_eth *eth);
int verna_filter_may(struct verna_eth *eth, const u8 *mac);
void verna_filter_work(struct work_struct *work);

/* netdev.c */
void verna_mac_refresh(struct verna_eth *eth);
int verna_eth_set_hw_mtu(struct verna_eth *eth, u32 mtu);

/* link.c */
void verna_link_work(struct work_struct *work);
void verna_eth_event(struct verna_event_handler *handler,
		     const struct verna_event *event);

/* stats.c */
void verna_totals_work(struct work_struct *work);
void verna_totals_update(struct verna_eth *eth);
void verna_get_stats64(struct net_device *netdev, struct rtnl_link_stats64 *stats);
void verna_queue_stats_keep(struct verna_channel *chan);
void verna_queue_stats_read(struct verna_queue_stats *stats,
			    struct verna_queue_stats *copy);
extern const struct netdev_stat_ops verna_stat_ops;

/* debugfs.c */
void verna_eth_debugfs_add(struct verna_eth *eth);
void verna_eth_debugfs_del(struct verna_eth *eth);

#include "ethtool.h"
#include "rx_offload.h"

#endif /* VERNA_ETH_H */
