// SPDX-License-Identifier: GPL-2.0
/* verna: meters and edits of the card, as far as rules of tc need them. */
#include <linux/math64.h>

#include "eth.h"

static int verna_tc_object_start(struct verna_eth *eth, struct verna_tc_object *object)
{
	struct verna_cmd_flow_object cmd = {
		.hdr.opcode = cpu_to_le16(object->create),
		.len = cpu_to_le32(object->len),
	};
	struct verna_cmd_result res;
	int err;

	err = verna_cmd_exec_from(eth->vdev, &cmd, sizeof(cmd), &cmd.addr, object->data,
				  object->len, &res);
	if (!err)
		object->id = res.result;
	return err;
}

/**
 * verna_tc_object_replay - make an object of a card that was reset again
 * @eth: interface; its lock of rules is held
 * @object: object
 *
 * Return: 0 or an error of the command.
 */
int verna_tc_object_replay(struct verna_eth *eth, struct verna_tc_object *object)
{
	object->id = 0;
	return verna_tc_object_start(eth, object);
}

static struct verna_tc_object *verna_tc_object_create(struct verna_eth *eth, u16 create,
						      u16 destroy, const void *data,
						      u32 len)
{
	struct verna_tc_object *object;
	int err;

	object = kzalloc(struct_size(object, data, len), GFP_KERNEL);
	if (!object)
		return ERR_PTR(-ENOMEM);
	object->users = 1;
	object->create = create;
	object->destroy = destroy;
	object->len = len;
	memcpy(object->data, data, len);
	err = verna_tc_object_start(eth, object);
	if (err) {
		kfree(object);
		return ERR_PTR(err);
	}
	list_add_tail(&object->node, &eth->tc.objects);
	return object;
}

/** verna_tc_object_put - a rule does not need it any more @eth: interface @object: or NULL */
void verna_tc_object_put(struct verna_eth *eth, struct verna_tc_object *object)
{
	if (!object || --object->users)
		return;
	if (object->id)
		verna_cmd_destroy(eth->vdev, object->destroy, object->id);
	list_del(&object->node);
	kfree(object);
}

/**
 * verna_tc_edit - an edit for one rule
 * @eth: interface; its lock of rules is held
 * @edit: what it does
 *
 * Return: the object or an ERR_PTR().
 */
struct verna_tc_object *verna_tc_edit(struct verna_eth *eth,
				      const struct verna_flow_edit *edit)
{
	return verna_tc_object_create(eth, VERNA_CMD_CREATE_FLOW_EDIT,
				      VERNA_CMD_DESTROY_FLOW_EDIT, edit, sizeof(*edit));
}

static void verna_tc_rate(struct verna_meter_rate *rate, u64 per_second, u64 burst)
{
	if (!per_second)
		return;
	rate->amount = cpu_to_le64(per_second);
	rate->ns = cpu_to_le64(NSEC_PER_SEC);
	rate->burst = cpu_to_le64(burst);
}

/* tc has bursts of packets in packets, and those of bytes in bytes, whatever its page says. */
static int verna_tc_police(const struct flow_action_entry *act, struct verna_meter *meter,
			   struct netlink_ext_ack *extack)
{
	if (act->police.exceed.act_id != FLOW_ACTION_DROP) {
		NL_SET_ERR_MSG_MOD(extack, "police: what exceeds can only be dropped");
		return -EOPNOTSUPP;
	}
	if (act->police.notexceed.act_id != FLOW_ACTION_PIPE &&
	    act->police.notexceed.act_id != FLOW_ACTION_ACCEPT &&
	    act->police.notexceed.act_id != FLOW_ACTION_CONTINUE) {
		NL_SET_ERR_MSG_MOD(extack, "police: what conforms can only go on");
		return -EOPNOTSUPP;
	}
	if (act->police.avrate) {
		NL_SET_ERR_MSG_MOD(extack, "police: avrate");
		return -EOPNOTSUPP;
	}
	if (act->police.rate_pkt_ps) {
		meter->unit = VERNA_METER_PACKETS;
		verna_tc_rate(&meter->committed_rate, act->police.rate_pkt_ps,
			      act->police.burst_pkt);
		return 0;
	}
	meter->unit = VERNA_METER_BYTES;
	meter->overhead = cpu_to_le16(act->police.overhead);
	meter->max_bytes = cpu_to_le32(act->police.mtu == U32_MAX ? 0 : act->police.mtu);
	verna_tc_rate(&meter->committed_rate, act->police.rate_bytes_ps,
		      act->police.burst);
	if (act->police.peakrate_bytes_ps) {
		NL_SET_ERR_MSG_MOD(extack, "police: peakrate");
		return -EOPNOTSUPP;
	}
	return 0;
}

/**
 * verna_tc_meter - the meter of a police action, which rules may share
 * @eth: interface; its lock of rules is held
 * @police: the action
 * @extack: gets what is wrong
 *
 * Return: the object or an ERR_PTR().
 */
struct verna_tc_object *verna_tc_meter(struct verna_eth *eth,
				       const struct flow_action_entry *police,
				       struct netlink_ext_ack *extack)
{
	struct verna_tc_object *object;
	struct verna_meter meter = {};
	int err;

	list_for_each_entry(object, &eth->tc.objects, node) {
		if (object->create == VERNA_CMD_CREATE_METER &&
		    object->index == police->hw_index) {
			object->users++;
			return object;
		}
	}
	err = verna_tc_police(police, &meter, extack);
	if (err)
		return ERR_PTR(err);
	object = verna_tc_object_create(eth, VERNA_CMD_CREATE_METER,
					VERNA_CMD_DESTROY_METER, &meter, sizeof(meter));
	if (IS_ERR(object))
		NL_SET_ERR_MSG_MOD(extack, "police: the card has no such meter");
	else
		object->index = police->hw_index;
	return object;
}
