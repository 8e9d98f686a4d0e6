/* SPDX-License-Identifier: GPL-2.0 */
/*
 * verna_ib: the verbs driver of the verna card. One file per verbs object; the
 * prefix of everything here is vib_ ("verna ib").
 *
 * Objects of user space own their rings: the driver pins the memory, tells the
 * card where it is, and is out of the data path. Objects of the kernel have
 * their rings in struct verna_mem, and post.c, poll.c and flush.c drive them.
 *
 * Locks, outer to inner:
 *	vib_qp.modify_lock	modify and query of one QP (sleeps)
 *	vib_dev.cq_lock		list of kernel CQs
 *	vib_cq.lock		polling and arming of one kernel CQ, its QP lists
 *	vib_wq.lock		posting to one kernel work queue
 *	vib_dev.qps xa_lock	QPN to QP
 */
#ifndef VERNA_IB_H
#define VERNA_IB_H

#include <linux/completion.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>

#include "verna_core_api.h"
#include "uapi/rdma/verna-abi.h"

#define VIB_PORT		1	/* the card has one port */
#define VIB_PKEY_TABLE_LEN	1

/**
 * struct vib_dev - one card as an RDMA device
 * @ibdev: what the RDMA core knows
 * @core: the card; verna.ko owns it
 * @caps: its limits
 * @netdev: its Ethernet side; unregistered only after this device
 * @qps: QPN to &struct vib_qp, for completions and events; irq-safe lock
 * @cq_lock: guards @cqs
 * @cqs: all CQs, by vib_cq.node
 * @dead: the card executes nothing any more, see flush.c; never turns back
 * @status: tells user space the same; a page of its own
 * @port_active: last port state that was announced; used under RTNL only
 * @netdev_nb: watches @netdev
 * @events: subscription to the card's asynchronous events
 */
struct vib_dev {
	struct ib_device ibdev;
	struct verna_dev *core;
	const struct verna_caps *caps;
	struct net_device *netdev;
	struct xarray qps;
	spinlock_t cq_lock;		/* @cqs */
	struct list_head cqs;
	bool dead;
	struct verna_ib_status *status;
	bool port_active;
	struct notifier_block netdev_nb;
	struct verna_event_handler events;
};

/**
 * struct vib_ucontext - one open of the device
 * @ibuc: core part
 * @uar_entry: the doorbell page's mmap entry, which owns the page
 * @uar_index: its number
 * @status_entry: mmap entry of the device's status page
 */
struct vib_ucontext {
	struct ib_ucontext ibuc;
	struct rdma_user_mmap_entry *uar_entry;
	struct rdma_user_mmap_entry *status_entry;
	u32 uar_index;
};

struct vib_pd {
	struct ib_pd ibpd;
	u32 pdn;
};

/**
 * struct vib_pbl - page list of pinned user memory while the card reads it
 * @hw: for the create command
 * @dev: DMA device
 * @root: level 1: page addresses; level 2: addresses of @leaves
 * @root_dma: bus address of @root
 * @root_len: bytes of @root
 * @leaves: level 2: 4 KiB pages of page addresses
 * @num_leaves: how many of them are mapped
 */
struct vib_pbl {
	struct verna_pbl hw;
	struct device *dev;
	__le64 *root;
	dma_addr_t root_dma;
	size_t root_len;
	__le64 **leaves;
	u32 num_leaves;
};

/**
 * struct vib_mr - memory region
 * @ibmr: core part
 * @umem: pinned memory; NULL for length 0 and for DMA regions
 * @key: lkey and rkey
 * @pbl: how the card was told (no addresses), for `rdma resource`
 */
struct vib_mr {
	struct ib_mr ibmr;
	struct ib_umem *umem;
	u32 key;
	struct verna_pbl pbl;
};

struct vib_ah {
	struct ib_ah ibah;
	struct verna_av av;
};

/**
 * struct vib_cq - completion queue
 * @ibcq: core part
 * @hw: the CQ as verna.ko sees it
 * @umem: memory of user space
 * @mem: memory of the kernel
 * @rec: record in @mem
 * @ring: offset of the ring in @mem
 * @lock: guards all below
 * @cons: entries consumed
 * @arm_sn: last sequence number used for arming
 * @armed: VERNA_ARM_* that has not fired yet
 * @log_size: log2 of entries
 * @sqs: kernel QPs that send to this CQ, by vib_qp.sq_node
 * @rqs: kernel QPs that receive to this CQ, by vib_qp.rq_node
 * @node: in vib_dev.cqs
 */
struct vib_cq {
	struct ib_cq ibcq;
	struct verna_core_cq hw;
	struct ib_umem *umem;
	struct verna_mem mem;
	struct verna_cq_rec *rec;
	u32 ring;
	spinlock_t lock;		/* all below */
	u32 cons;
	u32 arm_sn;
	u32 armed;
	u8 log_size;
	struct list_head sqs;
	struct list_head rqs;
	struct list_head node;
};

/**
 * struct vib_wq - a work queue of the kernel, or the geometry of a user one
 * @lock: posting
 * @rec: record in the QP's memory
 * @wr_ids: cookie of the request in each slot; NULL on user queues
 * @ring: offset of the ring in the QP's memory
 * @rec_offset: of the record
 * @head: requests posted; written under @lock, read by the poller
 * @tail: requests completed; written under the CQ's lock, read by the poster
 * @max_sge: data segments of one request
 * @log_size: log2 of entries
 * @log_stride: log2 of bytes per entry
 */
struct vib_wq {
	spinlock_t lock;		/* posting */
	struct verna_wq_rec *rec;
	u64 *wr_ids;
	u32 ring;
	u32 rec_offset;
	u32 head;
	u32 tail;
	u32 max_sge;
	u8 log_size;
	u8 log_stride;
};

/**
 * struct vib_qp - queue pair
 * @ibqp: core part
 * @refs: one for the object, one for each event that is being delivered
 * @unused: @refs fell to zero
 * @modify_lock: serializes changes of state
 * @state: as the driver believes; the card may have moved on to SQE or ERR
 * @sqd_event: the last move to SQD asked for an event
 * @umem: memory of user space
 * @mem: memory of the kernel
 * @sq: send queue
 * @rq: receive queue
 * @sig_type: as asked for at creation
 * @max_inline: bytes
 * @sq_node: in vib_cq.sqs
 * @rq_node: in vib_cq.rqs
 */
struct vib_qp {
	struct ib_qp ibqp;
	refcount_t refs;
	struct completion unused;
	struct mutex modify_lock;	/* changes of state */
	enum ib_qp_state state;
	bool sqd_event;
	struct ib_umem *umem;
	struct verna_mem mem;
	struct vib_wq sq;
	struct vib_wq rq;
	enum ib_sig_type sig_type;
	u32 max_inline;
	struct list_head sq_node;
	struct list_head rq_node;
};

#define VIB_CAST(name, member)						\
static inline struct vib_##name *to_vib_##name(struct ib_##name *ib)	\
{									\
	return container_of(ib, struct vib_##name, member);		\
}

VIB_CAST(pd, ibpd)
VIB_CAST(mr, ibmr)
VIB_CAST(ah, ibah)
VIB_CAST(cq, ibcq)
VIB_CAST(qp, ibqp)

static inline struct vib_dev *to_vib_dev(struct ib_device *ibdev)
{
	return container_of(ibdev, struct vib_dev, ibdev);
}

static inline struct vib_ucontext *to_vib_ucontext(struct ib_ucontext *ibuc)
{
	return container_of(ibuc, struct vib_ucontext, ibuc);
}

static inline void *vib_wqe_at(const struct vib_qp *qp, const struct vib_wq *wq,
			       u32 index)
{
	u32 slot = index & ((1u << wq->log_size) - 1);

	return verna_mem_at(&qp->mem, wq->ring + ((size_t)slot << wq->log_stride));
}

/* main.c */
int vib_udata_in(struct ib_udata *udata, void *req, size_t len);
int vib_udata_out(struct ib_udata *udata, const void *resp, size_t len);

/* device.c */
int vib_query_device(struct ib_device *ibdev, struct ib_device_attr *attr,
		     struct ib_udata *udata);
void vib_get_dev_fw_str(struct ib_device *ibdev, char *str);

/* port.c */
int vib_query_port(struct ib_device *ibdev, u32 port, struct ib_port_attr *attr);
int vib_get_port_immutable(struct ib_device *ibdev, u32 port,
			   struct ib_port_immutable *imm);
enum rdma_link_layer vib_get_link_layer(struct ib_device *ibdev, u32 port);
int vib_query_pkey(struct ib_device *ibdev, u32 port, u16 index, u16 *pkey);
int vib_port_watch(struct vib_dev *dev);
void vib_port_unwatch(struct vib_dev *dev);

/* gid.c */
int vib_add_gid(const struct ib_gid_attr *attr, void **context);
int vib_del_gid(const struct ib_gid_attr *attr, void **context);

/* ucontext.c */
int vib_alloc_ucontext(struct ib_ucontext *ibuc, struct ib_udata *udata);
void vib_dealloc_ucontext(struct ib_ucontext *ibuc);
void vib_disassociate_ucontext(struct ib_ucontext *ibuc);
int vib_mmap(struct ib_ucontext *ibuc, struct vm_area_struct *vma);
void vib_mmap_free(struct rdma_user_mmap_entry *entry);

/* pd.c */
int vib_alloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);
int vib_dealloc_pd(struct ib_pd *ibpd, struct ib_udata *udata);

/* pbl.c */
int vib_pbl_from_umem(struct vib_dev *dev, struct vib_pbl *pbl,
		      struct ib_umem *umem, u64 iova);
void vib_pbl_free(struct vib_pbl *pbl);
struct ib_umem *vib_pin_queue(struct vib_dev *dev, u64 va, u64 len,
			      struct vib_pbl *pbl);
bool vib_fits(u64 buf_len, u32 offset, u64 len, u32 align);

/* mr.c */
struct ib_mr *vib_reg_user_mr(struct ib_pd *ibpd, u64 start, u64 length,
			      u64 iova, int access, struct ib_udata *udata);
struct ib_mr *vib_get_dma_mr(struct ib_pd *ibpd, int access);
int vib_dereg_mr(struct ib_mr *ibmr, struct ib_udata *udata);

/* cq.c */
int vib_create_cq(struct ib_cq *ibcq, const struct ib_cq_init_attr *attr,
		  struct uverbs_attr_bundle *attrs);
int vib_modify_cq(struct ib_cq *ibcq, u16 cq_count, u16 cq_period);
int vib_destroy_cq(struct ib_cq *ibcq, struct ib_udata *udata);
void vib_cq_fire(struct vib_cq *cq);

/* poll.c */
int vib_poll_cq(struct ib_cq *ibcq, int num, struct ib_wc *wc);
int vib_req_notify_cq(struct ib_cq *ibcq, enum ib_cq_notify_flags flags);
void vib_cq_forget_qp(struct vib_cq *cq, u32 qpn);

/* flush.c */
void vib_mark_dead(struct vib_dev *dev);
bool vib_is_dead(struct vib_dev *dev);
int vib_flush_cq(struct vib_cq *cq, int num, struct ib_wc *wc);
bool vib_flush_pending(struct vib_cq *cq);

/* qp.c */
int vib_create_qp(struct ib_qp *ibqp, struct ib_qp_init_attr *attr,
		  struct ib_udata *udata);
int vib_destroy_qp(struct ib_qp *ibqp, struct ib_udata *udata);
void vib_qp_reset_queues(struct vib_qp *qp);

/* qp_state.c */
int vib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata);
int vib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init);

/* ah.c */
int vib_av_from_ah_attr(struct vib_dev *dev, const struct rdma_ah_attr *attr,
			struct verna_av *av);
void vib_av_to_ah_attr(struct vib_dev *dev, const struct verna_av *av,
		       struct rdma_ah_attr *attr);
int vib_create_ah(struct ib_ah *ibah, struct rdma_ah_init_attr *init,
		  struct ib_udata *udata);
int vib_destroy_ah(struct ib_ah *ibah, u32 flags);

/* post.c */
int vib_post_send(struct ib_qp *ibqp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad_wr);
int vib_post_recv(struct ib_qp *ibqp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad_wr);

/* mad.c */
int vib_process_mad(struct ib_device *ibdev, int flags, u32 port,
		    const struct ib_wc *in_wc, const struct ib_grh *in_grh,
		    const struct ib_mad *in, struct ib_mad *out,
		    size_t *out_size, u16 *out_pkey_index);

/* counters.c */
struct rdma_hw_stats *vib_alloc_hw_port_stats(struct ib_device *ibdev, u32 port);
int vib_get_hw_stats(struct ib_device *ibdev, struct rdma_hw_stats *stats,
		     u32 port, int index);

/* event.c */
void vib_handle_event(struct verna_event_handler *handler,
		      const struct verna_event *event);

/* res.c */
int vib_fill_res_qp_entry(struct sk_buff *msg, struct ib_qp *ibqp);
int vib_fill_res_cq_entry(struct sk_buff *msg, struct ib_cq *ibcq);
int vib_fill_res_mr_entry(struct sk_buff *msg, struct ib_mr *ibmr);

#endif /* VERNA_IB_H */
