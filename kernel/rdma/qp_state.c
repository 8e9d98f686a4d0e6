// SPDX-License-Identifier: GPL-2.0
/*
 * verna_ib: queue pairs: changes of state and queries.
 */
#include <rdma/ib_verbs.h>

#include "ib.h"

#define VIB_MAX_RETRY	7	/* 3 bits: retry count and RNR retry count */
#define VIB_MAX_TIMER	31	/* 5 bits: timeout and RNR timer */

/* Attributes of ib_modify_qp() that the card takes as they are. */
static const struct {
	int ib;
	u32 hw;
} vib_qpa_map[] = {
	{ IB_QP_STATE, VERNA_QPA_STATE },
	{ IB_QP_ACCESS_FLAGS, VERNA_QPA_ACCESS },
	{ IB_QP_PKEY_INDEX, VERNA_QPA_PKEY_INDEX },
	{ IB_QP_QKEY, VERNA_QPA_QKEY },
	{ IB_QP_AV, VERNA_QPA_AV },
	{ IB_QP_PATH_MTU, VERNA_QPA_PATH_MTU },
	{ IB_QP_TIMEOUT, VERNA_QPA_TIMEOUT },
	{ IB_QP_RETRY_CNT, VERNA_QPA_RETRY_CNT },
	{ IB_QP_RNR_RETRY, VERNA_QPA_RNR_RETRY },
	{ IB_QP_RQ_PSN, VERNA_QPA_RQ_PSN },
	{ IB_QP_MAX_QP_RD_ATOMIC, VERNA_QPA_MAX_RD_ATOMIC },
	{ IB_QP_MIN_RNR_TIMER, VERNA_QPA_MIN_RNR_TIMER },
	{ IB_QP_SQ_PSN, VERNA_QPA_SQ_PSN },
	{ IB_QP_MAX_DEST_RD_ATOMIC, VERNA_QPA_MAX_DEST_RD_ATOMIC },
	{ IB_QP_DEST_QPN, VERNA_QPA_DEST_QPN },
};

static const u8 vib_state_to_hw[] = {
	[IB_QPS_RESET] = VERNA_QPS_RESET,
	[IB_QPS_INIT] = VERNA_QPS_INIT,
	[IB_QPS_RTR] = VERNA_QPS_RTR,
	[IB_QPS_RTS] = VERNA_QPS_RTS,
	[IB_QPS_SQD] = VERNA_QPS_SQD,
	[IB_QPS_SQE] = VERNA_QPS_SQE,
	[IB_QPS_ERR] = VERNA_QPS_ERR,
};

static enum ib_qp_state vib_state_from_hw(u8 hw)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(vib_state_to_hw); i++)
		if (vib_state_to_hw[i] == hw)
			return i;
	return IB_QPS_ERR;
}

static u8 vib_qp_access_to_hw(int access)
{
	u8 hw = 0;

	if (access & IB_ACCESS_REMOTE_WRITE)
		hw |= VERNA_ACCESS_REMOTE_WRITE;
	if (access & IB_ACCESS_REMOTE_READ)
		hw |= VERNA_ACCESS_REMOTE_READ;
	if (access & IB_ACCESS_REMOTE_ATOMIC)
		hw |= VERNA_ACCESS_REMOTE_ATOMIC;
	return hw;
}

static int vib_qp_access_from_hw(u8 hw)
{
	int access = 0;

	if (hw & VERNA_ACCESS_REMOTE_WRITE)
		access |= IB_ACCESS_REMOTE_WRITE;
	if (hw & VERNA_ACCESS_REMOTE_READ)
		access |= IB_ACCESS_REMOTE_READ;
	if (hw & VERNA_ACCESS_REMOTE_ATOMIC)
		access |= IB_ACCESS_REMOTE_ATOMIC;
	return access;
}

/* Ranges; ib_modify_qp_is_ok() has seen which attributes are there. */
static int vib_check_qp_attr(const struct vib_dev *dev,
			     const struct ib_qp_attr *attr, int mask)
{
	const struct verna_caps *caps = dev->caps;

	if (mask & IB_QP_PORT && attr->port_num != VIB_PORT)
		return -EINVAL;
	if (mask & IB_QP_PKEY_INDEX && attr->pkey_index >= VIB_PKEY_TABLE_LEN)
		return -EINVAL;
	if (mask & IB_QP_PATH_MTU &&
	    (attr->path_mtu < IB_MTU_256 || attr->path_mtu > IB_MTU_4096 ||
	     ib_mtu_enum_to_int(attr->path_mtu) > caps->rdma.max_mtu))
		return -EINVAL;
	if ((mask & IB_QP_MAX_QP_RD_ATOMIC &&
	     attr->max_rd_atomic > caps->rdma.max_rd_atomic) ||
	    (mask & IB_QP_MAX_DEST_RD_ATOMIC &&
	     attr->max_dest_rd_atomic > caps->rdma.max_rd_atomic))
		return -EINVAL;
	if ((mask & IB_QP_RETRY_CNT && attr->retry_cnt > VIB_MAX_RETRY) ||
	    (mask & IB_QP_RNR_RETRY && attr->rnr_retry > VIB_MAX_RETRY) ||
	    (mask & IB_QP_TIMEOUT && attr->timeout > VIB_MAX_TIMER) ||
	    (mask & IB_QP_MIN_RNR_TIMER && attr->min_rnr_timer > VIB_MAX_TIMER))
		return -EINVAL;
	/* Automatic path migration: not supported. */
	if (mask & IB_QP_ALT_PATH || (mask & IB_QP_PATH_MIG_STATE &&
				      attr->path_mig_state != IB_MIG_MIGRATED))
		return -EOPNOTSUPP;
	return 0;
}

static int vib_fill_modify_cmd(struct vib_dev *dev, const struct ib_qp_attr *attr,
			       int mask, struct verna_cmd_modify_qp *cmd)
{
	struct verna_qp_attr *hw = &cmd->attr;
	u32 hw_mask = 0;
	int i;

	for (i = 0; i < ARRAY_SIZE(vib_qpa_map); i++)
		if (mask & vib_qpa_map[i].ib)
			hw_mask |= vib_qpa_map[i].hw;
	if (mask & IB_QP_EN_SQD_ASYNC_NOTIFY && attr->en_sqd_async_notify)
		hw_mask |= VERNA_QPA_SQD_EVENT;
	cmd->mask = cpu_to_le32(hw_mask);

	if (mask & IB_QP_STATE)
		hw->state = vib_state_to_hw[attr->qp_state];
	if (mask & IB_QP_ACCESS_FLAGS)
		hw->access = vib_qp_access_to_hw(attr->qp_access_flags);
	if (mask & IB_QP_QKEY)
		hw->qkey = cpu_to_le32(attr->qkey);
	if (mask & IB_QP_PATH_MTU)
		hw->path_mtu = cpu_to_le16(ib_mtu_enum_to_int(attr->path_mtu));
	if (mask & IB_QP_TIMEOUT)
		hw->timeout = attr->timeout;
	if (mask & IB_QP_RETRY_CNT)
		hw->retry_cnt = attr->retry_cnt;
	if (mask & IB_QP_RNR_RETRY)
		hw->rnr_retry = attr->rnr_retry;
	if (mask & IB_QP_RQ_PSN)
		hw->rq_psn = cpu_to_le32(attr->rq_psn);
	if (mask & IB_QP_SQ_PSN)
		hw->sq_psn = cpu_to_le32(attr->sq_psn);
	if (mask & IB_QP_MAX_QP_RD_ATOMIC)
		hw->max_rd_atomic = cpu_to_le16(attr->max_rd_atomic);
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
		hw->max_dest_rd_atomic = cpu_to_le16(attr->max_dest_rd_atomic);
	if (mask & IB_QP_MIN_RNR_TIMER)
		hw->min_rnr_timer = attr->min_rnr_timer;
	if (mask & IB_QP_DEST_QPN)
		hw->dest_qpn = cpu_to_le32(attr->dest_qp_num);
	if (mask & IB_QP_AV)
		return vib_av_from_ah_attr(dev, &attr->ah_attr, &hw->av);
	return 0;
}

static int vib_query_hw(struct vib_dev *dev, struct vib_qp *qp,
			struct verna_qp_attr *hw)
{
	int len;

	len = verna_cmd_query(dev->core, VERNA_CMD_QUERY_QP, 0, qp->ibqp.qp_num,
			      hw, sizeof(*hw));
	if (len < 0)
		return len;
	if (len < sizeof(*hw))
		return -EIO;
	WRITE_ONCE(qp->state, vib_state_from_hw(hw->state));
	return 0;
}

/*
 * One attempt of a transition from the state @cur. -EAGAIN: the card knows
 * another current state.
 */
static int vib_modify_from(struct vib_dev *dev, struct vib_qp *qp,
			   enum ib_qp_state cur, enum ib_qp_state next,
			   const struct ib_qp_attr *attr, int mask)
{
	struct verna_cmd_modify_qp cmd = {
		.hdr.opcode = cpu_to_le16(VERNA_CMD_MODIFY_QP),
		.qpn = cpu_to_le32(qp->ibqp.qp_num),
		.cur_state = vib_state_to_hw[cur],
	};
	struct verna_cmd_result res;
	int err;

	if (!ib_modify_qp_is_ok(cur, next, qp->ibqp.qp_type, mask))
		return -EINVAL;
	err = vib_fill_modify_cmd(dev, attr, mask, &cmd);
	if (err)
		return err;

	err = verna_cmd_exec_quiet(dev->core, &cmd, sizeof(cmd), &res);
	if (err == -EINVAL && res.status == VERNA_CMD_BAD_STATE)
		return -EAGAIN;
	return err;
}

/*
 * The card moves a QP to SQE or ERR on its own, so what the driver believes may
 * be stale. Asking first would double the commands of every connection; instead
 * it asks when the card disagrees, and then tries once more.
 */
static int vib_modify_hw(struct vib_dev *dev, struct vib_qp *qp,
			 const struct ib_qp_attr *attr, int mask)
{
	enum ib_qp_state cur = mask & IB_QP_CUR_STATE ? attr->cur_qp_state :
							qp->state;
	enum ib_qp_state next = mask & IB_QP_STATE ? attr->qp_state : cur;
	struct verna_qp_attr hw;
	int err;

	if (next > IB_QPS_ERR || cur > IB_QPS_ERR)
		return -EINVAL;

	err = vib_modify_from(dev, qp, cur, next, attr, mask);
	if (err != -EAGAIN)
		return err;

	err = vib_query_hw(dev, qp, &hw);
	if (err)
		return err;
	/* A caller who named another current state is wrong. */
	if (mask & IB_QP_CUR_STATE && qp->state != cur)
		return -EINVAL;
	cur = qp->state;
	next = mask & IB_QP_STATE ? attr->qp_state : cur;
	err = vib_modify_from(dev, qp, cur, next, attr, mask);
	return err == -EAGAIN ? -EINVAL : err;
}

static int vib_modify_qp_locked(struct vib_dev *dev, struct vib_qp *qp,
				const struct ib_qp_attr *attr, int mask)
{
	int err;

	err = vib_modify_hw(dev, qp, attr, mask);
	if (err && !verna_dev_is_up(dev->core)) {
		/*
		 * A dead card executes nothing, which is what ERR means; the
		 * requests are flushed in software.
		 */
		vib_mark_dead(dev);
		if (mask & IB_QP_STATE && (attr->qp_state == IB_QPS_ERR ||
					   attr->qp_state == IB_QPS_RESET))
			err = 0;
	}
	if (err || !(mask & IB_QP_STATE))
		return err;

	WRITE_ONCE(qp->state, attr->qp_state);
	qp->sqd_event = attr->qp_state == IB_QPS_SQD &&
			mask & IB_QP_EN_SQD_ASYNC_NOTIFY &&
			attr->en_sqd_async_notify;
	if (attr->qp_state == IB_QPS_RESET && !qp->umem)
		vib_qp_reset_queues(qp);
	return 0;
}

/**
 * vib_modify_qp() - ib_device_ops.modify_qp
 * @ibqp: QP
 * @attr: attributes, paths resolved by the core
 * @mask: IB_QP_*
 * @udata: no private part
 *
 * Return: 0, -EINVAL (transition, attribute, range), -EOPNOTSUPP, or an error of
 * the command; after an error nothing has changed.
 */
int vib_modify_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		  struct ib_udata *udata)
{
	struct vib_dev *dev = to_vib_dev(ibqp->device);
	struct vib_qp *qp = to_vib_qp(ibqp);
	int err;

	if (mask & ~IB_QP_ATTR_STANDARD_BITS)
		return -EOPNOTSUPP;
	err = vib_check_qp_attr(dev, attr, mask);
	if (err)
		return err;

	mutex_lock(&qp->modify_lock);
	err = vib_modify_qp_locked(dev, qp, attr, mask);
	mutex_unlock(&qp->modify_lock);
	return err;
}

static void vib_fill_qp_attr(struct vib_dev *dev, struct vib_qp *qp,
			     const struct verna_qp_attr *hw,
			     struct ib_qp_attr *attr)
{
	*attr = (struct ib_qp_attr){
		.qp_state = qp->state,
		.cur_qp_state = qp->state,
		.path_mtu = ib_mtu_int_to_enum(le16_to_cpu(hw->path_mtu)),
		.path_mig_state = IB_MIG_MIGRATED,
		.qkey = le32_to_cpu(hw->qkey),
		.rq_psn = le32_to_cpu(hw->rq_psn),
		.sq_psn = le32_to_cpu(hw->sq_psn),
		.dest_qp_num = le32_to_cpu(hw->dest_qpn),
		.qp_access_flags = vib_qp_access_from_hw(hw->access),
		.pkey_index = le16_to_cpu(hw->pkey_index),
		.en_sqd_async_notify = qp->sqd_event,
		.sq_draining = hw->sq_draining,
		.max_rd_atomic = le16_to_cpu(hw->max_rd_atomic),
		.max_dest_rd_atomic = le16_to_cpu(hw->max_dest_rd_atomic),
		.min_rnr_timer = hw->min_rnr_timer,
		.port_num = VIB_PORT,
		.timeout = hw->timeout,
		.retry_cnt = hw->retry_cnt,
		.rnr_retry = hw->rnr_retry,
		.cap = {
			.max_send_wr = 1u << qp->sq.log_size,
			.max_recv_wr = 1u << qp->rq.log_size,
			.max_send_sge = qp->sq.max_sge,
			.max_recv_sge = qp->rq.max_sge,
			.max_inline_data = qp->max_inline,
		},
	};
	if (qp->ibqp.qp_type == IB_QPT_RC || qp->ibqp.qp_type == IB_QPT_UC)
		vib_av_to_ah_attr(dev, &hw->av, &attr->ah_attr);
}

/**
 * vib_query_qp() - ib_device_ops.query_qp
 * @ibqp: QP
 * @attr: to be filled
 * @mask: which attributes are wanted; all are filled
 * @init: to be filled
 *
 * Return: 0 or an error of the command.
 */
int vib_query_qp(struct ib_qp *ibqp, struct ib_qp_attr *attr, int mask,
		 struct ib_qp_init_attr *init)
{
	struct vib_dev *dev = to_vib_dev(ibqp->device);
	struct vib_qp *qp = to_vib_qp(ibqp);
	struct verna_qp_attr hw;
	int err;

	mutex_lock(&qp->modify_lock);
	err = vib_query_hw(dev, qp, &hw);
	if (!err)
		vib_fill_qp_attr(dev, qp, &hw, attr);
	mutex_unlock(&qp->modify_lock);
	if (err)
		return err;

	*init = (struct ib_qp_init_attr){
		.event_handler = ibqp->event_handler,
		.qp_context = ibqp->qp_context,
		.send_cq = ibqp->send_cq,
		.recv_cq = ibqp->recv_cq,
		.cap = attr->cap,
		.sq_sig_type = qp->sig_type,
		.qp_type = ibqp->qp_type,
		.port_num = VIB_PORT,
	};
	return 0;
}
