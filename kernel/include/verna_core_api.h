/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verna: what core/ offers to eth/ (same module) and to rdma/ (verna_ib.ko), and
 * the functions that core/ expects of eth/. No other header of core/ is
 * included outside of it.
 *
 * Life cycle that a client sees. The auxiliary device exists exactly while the
 * card is up. Before a reset (function level reset, recovery, removal) the card
 * is silenced or found gone, commands start to fail with -EIO, and then the
 * auxiliary device is deleted: a client's remove() runs with a card that has
 * forgotten all objects and cannot reach memory any more. After the reset a new
 * auxiliary device appears. On an orderly unload of the driver the card still
 * answers while remove() runs.
 */
#ifndef VERNA_CORE_API_H
#define VERNA_CORE_API_H

#include <linux/auxiliary_bus.h>
#include <linux/io.h>
#include <linux/list.h>
#include <linux/netdevice.h>
#include <linux/pci.h>
#include <linux/types.h>

#include "hw/verna_caps.h"
#include "hw/verna_cmd.h"
#include "hw/verna_counters.h"
#include "hw/verna_edit.h"
#include "hw/verna_eth.h"
#include "hw/verna_queue.h"
#include "hw/verna_rdma.h"
#include "hw/verna_regs.h"
#include "hw/verna_vport.h"

#define VERNA_DRV_NAME		"verna"
#define VERNA_ADEV_RDMA		"rdma"	/* full name: verna.rdma */

struct devlink;
struct netlink_ext_ack;
struct verna_dev;

/* ---- the device ------------------------------------------------------- */

/**
 * struct verna_caps - the capability blocks in host byte order
 * @dev: block VERNA_CAP_DEV
 * @eth: block VERNA_CAP_ETH
 * @rdma: block VERNA_CAP_RDMA; @rdma.present is false if the card has none
 * @vport: block VERNA_CAP_VPORT; @vport.present is false if there are no VFs
 * @eswitch: block VERNA_CAP_ESWITCH; @eswitch.present is false if the switch can only be
 *	a bridge
 *
 * Members are named as in hw/verna_caps.h.
 */
struct verna_caps {
	struct {
		u32 max_eqs;
		u32 max_cqs;
		u16 log_max_cq_entries;
		u16 log_max_eq_entries;
		u32 num_functions;
		u32 max_pbl_entries;
		u64 page_shifts;
	} dev;
	struct {
		bool present;
		u32 features;
		u16 max_txqs;
		u16 max_rxqs;
		u16 log_max_entries;
		u16 max_mac_filters;
		u16 min_mtu;
		u16 max_mtu;
		u16 max_tx_frags;
		u16 rss_table_size;
		u32 max_tso_bytes;
		u32 max_flow_rules;
		u16 max_rss_contexts;
		u8 max_tx_classes;
	} eth;
	struct {
		bool present;
		u32 features;
		u32 max_qps;
		u32 max_mrs;
		u32 max_pds;
		u16 max_gids;
		u16 log_max_wqes;
		u16 max_send_sge;
		u16 max_recv_sge;
		u16 max_inline;
		u16 max_rd_atomic;
		u32 max_mtu;
		u64 max_msg;
		u64 max_mr_size;
		__be64 node_guid;
	} rdma;
	struct {
		bool present;
		u16 max_vfs;
		u16 max_rate_nodes;
	} vport;
	struct {
		bool present;
	} eswitch;
};

/**
 * struct verna_adev - the auxiliary device "verna.rdma"
 * @adev: its parent is the PCI device
 * @vdev: the card; valid until the client's remove() returns
 */
struct verna_adev {
	struct auxiliary_device adev;
	struct verna_dev *vdev;
};

static inline struct verna_adev *to_verna_adev(struct auxiliary_device *adev)
{
	return container_of(adev, struct verna_adev, adev);
}

struct pci_dev *verna_pdev(struct verna_dev *vdev);
struct device *verna_device(struct verna_dev *vdev);
const struct verna_caps *verna_caps(struct verna_dev *vdev);
struct net_device *verna_netdev(struct verna_dev *vdev);
u16 verna_function(struct verna_dev *vdev);
u32 verna_hw_version(struct verna_dev *vdev);
struct dentry *verna_debugfs_dir(struct verna_dev *vdev);

/* True while commands work: neither resetting, nor failed, nor gone. */
bool verna_dev_is_up(struct verna_dev *vdev);

/* True once the card was found missing (surprise removal). */
bool verna_dev_is_gone(struct verna_dev *vdev);

/*
 * Gives the card up: cuts it off from memory, fails commands, and lets the
 * health reporter recover it. @why is a constant string. Any context.
 */
void verna_dev_fail(struct verna_dev *vdev, const char *why);

/* ---- commands --------------------------------------------------------- */

/**
 * struct verna_cmd_result - all that a command's completion tells
 * @result: number of the created object, or bytes written
 * @detail: VERNA_CMD_BAD_PARAM: offset of the offending field
 * @status: enum verna_cmd_status, meaningful if the command was executed
 */
struct verna_cmd_result {
	u64 result;
	u32 detail;
	u16 status;
};

/*
 * Executes a command and sleeps until it is done. @cmd starts with a
 * struct verna_cmd_hdr of which the caller sets only the opcode, and the function if
 * the command is about another one than its own (0 is the own one); @len bytes (at
 * most VERNA_CMD_SIZE) are copied, the rest is zero. @result may be NULL.
 *
 * Returns 0 or: -EINVAL (BAD_PARAM, BAD_STATE), -EOPNOTSUPP (BAD_OPCODE,
 * NOT_SUPPORTED), -EACCES (BAD_FUNCTION), -ENOMEM (NO_RESOURCE), -ENOENT
 * (NOT_FOUND), -EBUSY, -EEXIST, -EFAULT (DMA_FAULT), -ETIMEDOUT (no answer: the
 * card is silenced and will be recovered), -EIO (the card is not up). In the
 * last two cases memory that the command names may be freed: the card is cut
 * off from memory before the call returns.
 */
int verna_cmd_exec(struct verna_dev *vdev, void *cmd, size_t len, u64 *result);

/* The same, without a log line for a bad status; @res tells all (not NULL). */
int verna_cmd_exec_quiet(struct verna_dev *vdev, void *cmd, size_t len,
			 struct verna_cmd_result *res);

/*
 * Executes @opcode with a struct verna_cmd_object that names @id; for DESTROY
 * commands. Returns 0 as well if the card is not up: the object is gone then,
 * and the caller may free its memory.
 */
int verna_cmd_destroy(struct verna_dev *vdev, u16 opcode, u32 id);

/*
 * Executes a command that begins as struct verna_cmd_query and writes up to @len
 * bytes to @buf (any kernel memory, zeroed first). Returns bytes written by the
 * card or an error. May sleep.
 */
int verna_cmd_query(struct verna_dev *vdev, u16 opcode, u32 group, u32 id,
		    void *buf, size_t len);

/* The same, of a command that is about @function and needs no group and id. */
int verna_cmd_query_function(struct verna_dev *vdev, u16 opcode, u16 function, void *buf,
			     size_t len);

/*
 * Reads a counter group (enum verna_counter_group) of object @id as host values,
 * @num at most; counters that the card does not know read as zero.
 */
int verna_query_counters(struct verna_dev *vdev, u32 group, u32 id, u64 *values,
			 u32 num);

/* ---- events ----------------------------------------------------------- */

/**
 * struct verna_event - an asynchronous event other than a completion
 * @type: enum verna_event_type; VERNA_EVENT_FATAL is also sent when the driver
 *	itself finds the card dead or gone (data is then VERNA_FATAL_NONE)
 * @id: object number
 * @data: see enum verna_event_type
 */
struct verna_event {
	u16 type;
	u32 id;
	u64 data;
};

/**
 * struct verna_event_handler - a subscriber
 * @handle: called in any context, hard interrupt included: must not sleep.
 *	CQ_ERROR events go to the CQ's own event() and are not sent here.
 * @node: private to core
 */
struct verna_event_handler {
	void (*handle)(struct verna_event_handler *handler,
		       const struct verna_event *event);
	struct list_head node;
};

void verna_event_register(struct verna_dev *vdev,
			  struct verna_event_handler *handler);
/* After return the handler is not running and will not run. May sleep. */
void verna_event_unregister(struct verna_dev *vdev,
			    struct verna_event_handler *handler);

/* ---- completion vectors and CQs --------------------------------------- */

/* Completion vectors, at least 1; each has an event queue and an interrupt. */
u32 verna_num_comp_vectors(struct verna_dev *vdev);
/* Number of the EQ behind a completion vector, for verna_cmd_create_cq.eqn. */
u32 verna_comp_eqn(struct verna_dev *vdev, u32 vector);
/* Linux interrupt number of a completion vector. */
int verna_comp_irq(struct verna_dev *vdev, u32 vector);
/* CPUs that the vector's interrupt should go to. */
const struct cpumask *verna_comp_affinity(struct verna_dev *vdev, u32 vector);
/*
 * CPUs that it is to go to: these, or what the administrator chose since, even if the
 * interrupt has not been raised since then. The mask may change under the reader.
 */
const struct cpumask *verna_comp_cpus(struct verna_dev *vdev, u32 vector);

/**
 * struct verna_core_cq - a CQ as the event queues see it
 * @cqn: number that CREATE_CQ returned
 * @vector: completion vector whose EQ the CQ was created with
 * @comp: the CQ was armed and has entries; hard interrupt context
 * @event: VERNA_EVENT_CQ_ERROR; hard interrupt context; may be NULL
 *
 * Create the CQ, fill this, verna_cq_add(), arm. On the way out: DESTROY_CQ,
 * verna_cq_del(), free.
 */
struct verna_core_cq {
	u32 cqn;
	u32 vector;
	void (*comp)(struct verna_core_cq *cq);
	void (*event)(struct verna_core_cq *cq, enum verna_event_type type);
};

int verna_cq_add(struct verna_dev *vdev, struct verna_core_cq *cq);
/* After return no callback is running and none will. May sleep. */
void verna_cq_del(struct verna_dev *vdev, struct verna_core_cq *cq);

/* ---- queue memory ----------------------------------------------------- */

/**
 * struct verna_mem - zeroed, coherent memory of a queue
 * @pbl: for the create command
 * @size: bytes
 * @num_chunks: pieces of memory
 * @chunk_shift: log2 of a piece's size
 * @chunks: addresses of the pieces
 * @list: memory of the page list (level 1)
 * @list_dma: its bus address
 *
 * One piece if the system has one that is large enough, else pieces of a page
 * size of the card. Entries and records never straddle two pieces as long as
 * they are aligned to their (power of two) size.
 */
struct verna_mem {
	struct verna_pbl pbl;
	size_t size;
	u32 num_chunks;
	u8 chunk_shift;
	struct verna_mem_chunk {
		void *va;
		dma_addr_t dma;
	} *chunks;
	__le64 *list;
	dma_addr_t list_dma;
};

int verna_mem_alloc(struct verna_dev *vdev, struct verna_mem *mem, size_t size);
/* The card must not use the memory any more. @mem may be all zero. */
void verna_mem_free(struct verna_dev *vdev, struct verna_mem *mem);

static inline void *verna_mem_at(const struct verna_mem *mem, size_t offset)
{
	return mem->chunks[offset >> mem->chunk_shift].va +
	       (offset & ((1UL << mem->chunk_shift) - 1));
}

/* ---- doorbells -------------------------------------------------------- */

/**
 * struct verna_uar - a doorbell page
 * @index: for the create commands
 * @phys: for mmap
 * @map: kernel mapping, NULL unless asked for
 */
struct verna_uar {
	u32 index;
	phys_addr_t phys;
	void __iomem *map;
};

/* @map: also map it for the kernel. -ENOSPC if all pages are taken. */
int verna_uar_alloc(struct verna_dev *vdev, struct verna_uar *uar, bool map);
void verna_uar_free(struct verna_dev *vdev, struct verna_uar *uar);

/* The page that all queues of the kernel share; mapped. */
const struct verna_uar *verna_kernel_uar(struct verna_dev *vdev);

static inline void verna_ring_doorbell(const struct verna_uar *uar,
				       enum verna_db_type type, u32 id)
{
	writel(VERNA_DB(type, id), uar->map + VERNA_UAR_DOORBELL);
}

/* ---- the ends of a queue, as hw/verna_queue.h prescribes -------------- */

/* Publishes entries that were written up to @prod. */
static inline void verna_wq_publish(struct verna_wq_rec *rec, u32 prod)
{
	/* Entries before the index that makes them visible. */
	dma_wmb();
	WRITE_ONCE(rec->prod_index, cpu_to_le32(prod));
}

/* Wakes the card if it sleeps; after verna_wq_publish(), once per batch. */
static inline void verna_wq_kick(const struct verna_wq_rec *rec,
				 const struct verna_uar *uar,
				 enum verna_db_type type, u32 id)
{
	/* The card sets need_doorbell and then reads the index: full barrier. */
	mb();
	if (READ_ONCE(rec->need_doorbell))
		verna_ring_doorbell(uar, type, id);
}

/* Phase that entry @cons of a CQ or EQ of 2^@log_size entries has once new. */
static inline u8 verna_phase(u32 cons, u8 log_size)
{
	return (~(cons >> log_size)) & VERNA_PHASE;
}

/* The CQE if entry @cons was written, else NULL. */
static inline const struct verna_cqe *verna_cqe_peek(const struct verna_cqe *cqe,
						     u32 cons, u8 log_size)
{
	if ((READ_ONCE(cqe->phase) & VERNA_PHASE) != verna_phase(cons, log_size))
		return NULL;
	/* The phase before the rest of the entry. */
	dma_rmb();
	return cqe;
}

static inline void verna_cq_set_cons(struct verna_cq_rec *rec, u32 cons)
{
	WRITE_ONCE(rec->cons_index, cpu_to_le32(cons));
}

/*
 * Arms a CQ or EQ; @sn is the owner's sequence number. The caller has written
 * cons_index and looks for new entries afterwards.
 */
static inline void verna_cq_arm(struct verna_cq_rec *rec, u32 *sn, u32 type)
{
	(*sn)++;
	WRITE_ONCE(rec->arm, cpu_to_le32(VERNA_ARM(*sn, type)));
	/* The card writes an entry and then reads the arm word: full barrier. */
	mb();
}

/* ---- for eth/ --------------------------------------------------------- */

/* A register; all ones, and the card marked as gone, if it is missing. */
u32 verna_reg_read(struct verna_dev *vdev, u32 offset);
void verna_reg_write(struct verna_dev *vdev, u32 offset, u32 value);

/* Number of interrupts that vector (not completion vector) @vector has had. */
u32 verna_irq_count(struct verna_dev *vdev, u32 vector);
u32 verna_num_vectors(struct verna_dev *vdev);

/** enum verna_queue_kind - which of the health reporters "tx" and "rx" */
enum verna_queue_kind {
	VERNA_QUEUE_TX,
	VERNA_QUEUE_RX,
};

/*
 * Reports what is wrong with queue @id (@what is a constant string) to a health
 * reporter, which makes the queues anew by verna_eth_restart() if @restart. Any context.
 */
void verna_health_queue_error(struct verna_dev *vdev, enum verna_queue_kind kind,
			      const char *what, u32 id, bool restart);

/* The network namespace that the netdev is to be in. */
struct net *verna_net(struct verna_dev *vdev);

/* ---- implemented by eth/ ---------------------------------------------- */

/* Creates and registers the netdev; ERR_PTR() on error. */
struct net_device *verna_eth_create(struct verna_dev *vdev);
/* Unregisters and frees it. */
void verna_eth_destroy(struct net_device *netdev);
/* The card was silenced: detach and give back every queue. */
void verna_eth_suspend(struct net_device *netdev);
/* The card is fresh: set it up again as the netdev was, attach. */
int verna_eth_resume(struct net_device *netdev);
/* Destroys and makes all queues anew; an error means that there are none now. */
int verna_eth_restart(struct net_device *netdev);
/*
 * The mode of the embedded switch changes: 0, or -EBUSY and a message if rules are in the
 * way. Representors are no part of it.
 */
int verna_eth_switch_mode(struct net_device *netdev, bool switchdev,
			  struct netlink_ext_ack *extack);
/*
 * From now on VFs 0 to @num - 1 have representors, others none; all or none of one VF's.
 * The lock of devlink is held.
 */
int verna_reps_set(struct net_device *netdev, struct devlink *devlink, u32 num);
/* Of devlink's rate objects: VFs, and nodes above them. Rates are in bytes a second. */
struct devlink_rate;
int verna_rate_leaf_tx_share_set(struct devlink_rate *rate, void *priv, u64 bytes,
				 struct netlink_ext_ack *extack);
int verna_rate_leaf_tx_max_set(struct devlink_rate *rate, void *priv, u64 bytes,
			       struct netlink_ext_ack *extack);
int verna_rate_leaf_tx_priority_set(struct devlink_rate *rate, void *priv, u32 priority,
				    struct netlink_ext_ack *extack);
int verna_rate_leaf_tx_weight_set(struct devlink_rate *rate, void *priv, u32 weight,
				  struct netlink_ext_ack *extack);
int verna_rate_leaf_parent_set(struct devlink_rate *rate, struct devlink_rate *parent,
			       void *priv, void *parent_priv,
			       struct netlink_ext_ack *extack);
int verna_rate_node_tx_share_set(struct devlink_rate *rate, void *priv, u64 bytes,
				 struct netlink_ext_ack *extack);
int verna_rate_node_tx_max_set(struct devlink_rate *rate, void *priv, u64 bytes,
			       struct netlink_ext_ack *extack);
int verna_rate_node_tx_priority_set(struct devlink_rate *rate, void *priv, u32 priority,
				    struct netlink_ext_ack *extack);
int verna_rate_node_tx_weight_set(struct devlink_rate *rate, void *priv, u32 weight,
				  struct netlink_ext_ack *extack);
int verna_rate_node_parent_set(struct devlink_rate *rate, struct devlink_rate *parent,
			       void *priv, void *parent_priv,
			       struct netlink_ext_ack *extack);
int verna_eth_rate_node_new(struct net_device *netdev, void **priv,
			    struct netlink_ext_ack *extack);
int verna_rate_node_del(struct devlink_rate *rate, void *priv,
			struct netlink_ext_ack *extack);
/* Rate in Mbit/s at which the segments of one packet leave, 0: no limit. */
int verna_eth_set_pace(struct net_device *netdev, u32 mbps);
u32 verna_eth_get_pace(struct net_device *netdev);
/* Fill a health reporter's message with the state of all queues, or with the entries that
 * are next in them.
 */
struct devlink_fmsg;
void verna_eth_diagnose(struct net_device *netdev, enum verna_queue_kind kind,
			struct devlink_fmsg *fmsg);
void verna_eth_dump(struct net_device *netdev, enum verna_queue_kind kind,
		    struct devlink_fmsg *fmsg);

#endif /* VERNA_CORE_API_H */
