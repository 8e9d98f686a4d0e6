/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verna: what the files of core/ share. Nobody else includes this.
 *
 * Locks, outermost first: devlink instance lock, verna_dev.lifecycle, rtnl,
 * verna_cmdq.lock or verna_eq.lock (leaves, hard interrupt safe).
 */
#ifndef VERNA_CORE_H
#define VERNA_CORE_H

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <net/devlink.h>

#include "verna_core_api.h"

#define VERNA_AQ_LOG_SIZE	6
#define VERNA_AQ_SIZE		BIT(VERNA_AQ_LOG_SIZE)
#define VERNA_EQ_LOG_SIZE	12
#define VERNA_CMD_HISTORY	64
#define VERNA_CMD_TIMEOUT	(10 * HZ)

/**
 * enum verna_state - of the card, as the driver sees it
 * @VERNA_STATE_DOWN: nothing is set up; commands fail
 * @VERNA_STATE_UP: the admin queue works
 * @VERNA_STATE_FAILED: it was up and is cut off; waits for recovery
 */
enum verna_state {
	VERNA_STATE_DOWN,
	VERNA_STATE_UP,
	VERNA_STATE_FAILED,
};

/**
 * struct verna_cmd_wait - a command's waiter, on its stack
 * @done: completed when @comp or @err is set
 * @comp: copy of the completion
 * @err: not zero: the command was given up
 */
struct verna_cmd_wait {
	struct completion done;
	struct verna_cmd_comp comp;
	int err;
};

/**
 * struct verna_cmd_slot - a place in the ring that is in use
 * @wait: NULL if nobody waits any more
 * @posted: when it was written
 * @opcode: of the command
 */
struct verna_cmd_slot {
	struct verna_cmd_wait *wait;
	ktime_t posted;
	u16 opcode;
};

/** struct verna_cmd_record - one line of the history in debugfs and in the reporter's dump */
struct verna_cmd_record {
	u16 opcode;
	u16 id;
	u16 status;
	u32 detail;
	u64 result;
	ktime_t posted;
	u64 latency_ns;
};

/**
 * struct verna_cmdq - the admin queue
 * @lock: protects all below
 * @slot_wait: woken when places in the ring become free
 * @sq: commands
 * @cq: completions
 * @sq_dma: bus address of @sq
 * @cq_dma: bus address of @cq
 * @prod: commands posted
 * @cons: completions taken
 * @open: commands are accepted
 * @events: vector 0 tells of completions; before that they are polled
 * @failed: it is why the card was given up; for the reporter
 * @timeouts: commands that got no answer
 * @slots: by position in the ring
 * @history: the last commands
 * @history_next: free-running index into @history
 */
struct verna_cmdq {
	spinlock_t lock; /* of everything here */
	wait_queue_head_t slot_wait;
	u8 (*sq)[VERNA_CMD_SIZE];
	struct verna_cmd_comp *cq;
	dma_addr_t sq_dma;
	dma_addr_t cq_dma;
	u32 prod;
	u32 cons;
	bool open;
	bool events;
	bool failed;
	u32 timeouts;
	struct verna_cmd_slot slots[VERNA_AQ_SIZE];
	struct verna_cmd_record history[VERNA_CMD_HISTORY];
	u32 history_next;
};

/**
 * struct verna_cmdq_view - the admin queue at one moment, for people
 * @prod: commands posted
 * @cons: completions taken
 * @open: commands are accepted
 * @events: vector 0 tells of completions
 * @num: records in @history
 * @history: the last commands, the oldest first
 */
struct verna_cmdq_view {
	u32 prod;
	u32 cons;
	bool open;
	bool events;
	u32 num;
	struct verna_cmd_record history[VERNA_CMD_HISTORY];
};

/**
 * struct verna_eq - an event queue
 * @vdev: the card
 * @lock: handler against threaded rest of the handler
 * @mem: record and ring
 * @rec: the record
 * @id: number
 * @cons: entries consumed
 * @sn: sequence number of the last arming
 * @log_size: log2 of entries
 * @events: entries ever consumed
 */
struct verna_eq {
	struct verna_dev *vdev;
	spinlock_t lock; /* handler against its thread */
	struct verna_mem mem;
	struct verna_cq_rec *rec;
	u32 id;
	u32 cons;
	u32 sn;
	u8 log_size;
	u64 events;
};

/**
 * struct verna_irq - an MSI-X vector
 * @vdev: the card
 * @eq: the event queue that it serves, NULL before there is one
 * @vector: index in the MSI-X table
 * @irq: Linux interrupt number
 * @count: times it was raised
 * @affinity: preferred CPUs
 * @notify: tells of CPUs that were chosen since
 * @name: as in /proc/interrupts
 */
struct verna_irq {
	struct verna_dev *vdev;
	struct verna_eq *eq;
	u32 vector;
	int irq;
	u32 count;
	cpumask_t affinity;
	struct irq_affinity_notify notify;
	char name[40];
};

/** enum verna_reporter - devlink health reporters, see reporters.c */
enum verna_reporter {
	VERNA_REPORTER_FW,
	VERNA_REPORTER_CMD,
	VERNA_REPORTER_TX,
	VERNA_REPORTER_RX,
	VERNA_NUM_REPORTERS,
};

/**
 * struct verna_report - a failure of Ethernet queues on its way to a reporter
 * @vdev: the card
 * @work: reports it
 * @reason: what is reported
 * @restart: new queues would help
 * @reporter: who hears of it
 */
struct verna_report {
	struct verna_dev *vdev;
	struct work_struct work;
	const char *reason;
	bool restart;
	enum verna_reporter reporter;
};

/**
 * struct verna_dev - a card
 * @pdev: PCI device
 * @devlink: instance of which this is the private part
 * @regs: BAR 0
 * @db_phys: bus address of BAR 2
 * @caps: capability blocks
 * @abi: contract version
 * @version: card version
 * @function: which of the card's functions this is, 0: the PF
 * @lifecycle: serialises bringing up and down
 * @state: enum verna_state; written under @state_lock
 * @state_lock: hard interrupt safe
 * @gone: reads return all ones
 * @recoverable: the health reporters exist; under @state_lock
 * @in_reset: between reset_prepare and reset_done; under @lifecycle
 * @fail_reason: why the card was given up last
 * @cmdq: admin queue
 * @num_irqs: vectors in use
 * @irqs: vectors
 * @num_affinities: entries of @affinities
 * @affinities: by vector: CPUs that its interrupt went to before the last reset
 * @eqs: event queues, as many as vectors
 * @cqs: struct verna_core_cq by number
 * @handlers: event subscribers, RCU list
 * @handlers_lock: writers of @handlers
 * @num_uars: doorbell pages
 * @uars: bitmap of those in use
 * @uars_lock: protects @uars
 * @kernel_uar: page of the kernel's own queues
 * @netdev: network interface
 * @switchdev: mode of the embedded switch; written under the lock of devlink and
 *	@lifecycle
 * @adev: auxiliary device, NULL while there is none
 * @adev_id: number in its name
 * @health: watchdog
 * @recover_work: reports a failure
 * @queue_reports: of hung or failed Ethernet queues, by enum verna_queue_kind
 * @heartbeat: last value seen
 * @heartbeat_seen: jiffies when it changed last
 * @reporters: devlink health reporters
 * @recoveries: times the card was recovered
 * @debugfs: directory
 */
struct verna_dev {
	struct pci_dev *pdev;
	struct devlink *devlink;
	void __iomem *regs;
	phys_addr_t db_phys;
	struct verna_caps caps;
	u32 abi;
	u32 version;
	u16 function;

	struct mutex lifecycle; /* up and down */
	enum verna_state state;
	spinlock_t state_lock; /* of state and recoverable */
	bool gone;
	bool recoverable;
	bool in_reset;
	const char *fail_reason;

	struct verna_cmdq cmdq;
	u32 num_irqs;
	struct verna_irq *irqs;
	u32 num_affinities;
	cpumask_t *affinities;
	struct verna_eq *eqs;
	struct xarray cqs;
	struct list_head handlers;
	struct mutex handlers_lock; /* writers of handlers */

	u32 num_uars;
	unsigned long *uars;
	spinlock_t uars_lock; /* of uars */
	struct verna_uar kernel_uar;

	struct net_device *netdev;
	bool switchdev;
	struct verna_adev *adev;
	int adev_id;

	struct delayed_work health;
	struct work_struct recover_work;
	struct verna_report queue_reports[VERNA_QUEUE_RX + 1];
	u32 heartbeat;
	unsigned long heartbeat_seen;
	struct devlink_health_reporter *reporters[VERNA_NUM_REPORTERS];
	u32 recoveries;

	struct dentry *debugfs;
};

/* lifecycle.c: bringing the card up and down; callers hold lifecycle */
void verna_dev_init(struct verna_dev *vdev, struct pci_dev *pdev);
int verna_hw_reset(struct verna_dev *vdev);
int verna_up(struct verna_dev *vdev);
void verna_down(struct verna_dev *vdev);
void verna_teardown(struct verna_dev *vdev);
int verna_recover(struct verna_dev *vdev);
void verna_allow_recovery(struct verna_dev *vdev, bool allow);
void verna_block_recovery(struct verna_dev *vdev);
const char *verna_state_name(struct verna_dev *vdev);

/* pci.c */
extern struct pci_driver verna_pci_driver;
int verna_start(struct verna_dev *vdev);

/* sriov.c */
int verna_sriov_configure(struct pci_dev *pdev, int num);
void verna_sriov_exit(struct verna_dev *vdev);
void verna_sriov_for_each(struct verna_dev *vdev, void (*what)(struct pci_dev *vf));

/* eswitch.c */
int verna_eswitch_start(struct verna_dev *vdev);
int verna_eswitch_sync(struct verna_dev *vdev, u32 num);
int verna_eswitch_mode_get(struct devlink *devlink, u16 *mode);
int verna_eswitch_mode_set(struct devlink *devlink, u16 mode,
			   struct netlink_ext_ack *extack);

/* caps.c */
int verna_caps_read(struct verna_dev *vdev);

/* cmd.c */
int verna_cmdq_start(struct verna_dev *vdev);
void verna_cmdq_use_events(struct verna_dev *vdev, bool on);
void verna_cmdq_close(struct verna_dev *vdev);
void verna_cmdq_stop(struct verna_dev *vdev);
void verna_cmdq_poll(struct verna_dev *vdev);
void verna_cmdq_fail(struct verna_dev *vdev, const char *why);
struct verna_cmdq_view *verna_cmdq_view(struct verna_dev *vdev);
const char *verna_cmd_name(u16 opcode);

/* irq.c */
int verna_irqs_alloc(struct verna_dev *vdev);
void verna_irqs_free(struct verna_dev *vdev);
void verna_affinities_free(struct verna_dev *vdev);

/* eq.c */
int verna_eqs_create(struct verna_dev *vdev);
void verna_eqs_destroy(struct verna_dev *vdev);
bool verna_eq_process(struct verna_eq *eq);
struct verna_eqe *verna_eq_entry(struct verna_eq *eq, u32 index);

/* event.c */
void verna_event_dispatch(struct verna_dev *vdev, const struct verna_event *event);
void verna_eqe_handle(struct verna_dev *vdev, const struct verna_eqe *eqe);

/* uar.c */
int verna_uars_init(struct verna_dev *vdev);
void verna_uars_free(struct verna_dev *vdev);

/* adev.c */
int verna_adev_add(struct verna_dev *vdev);
void verna_adev_del(struct verna_dev *vdev);

/* health.c */
void verna_health_init(struct verna_dev *vdev);
void verna_health_start(struct verna_dev *vdev);
void verna_health_stop(struct verna_dev *vdev);
void verna_health_exit(struct verna_dev *vdev);

/* devlink.c */
extern const struct devlink_ops verna_devlink_ops;

/* reporters.c */
int verna_reporters_create(struct verna_dev *vdev);
void verna_reporters_destroy(struct verna_dev *vdev);

/* params.c */
int verna_params_register(struct verna_dev *vdev);
void verna_params_unregister(struct verna_dev *vdev);

/* debugfs.c */
void verna_debugfs_init(void);
void verna_debugfs_exit(void);
void verna_debugfs_add(struct verna_dev *vdev);
void verna_debugfs_del(struct verna_dev *vdev);

#endif /* VERNA_CORE_H */
