// SPDX-License-Identifier: GPL-2.0
/*
 * verna: what a rule of tc does, in the card's words. tc executes a list in its order,
 * the card a set in an order of its own (hw/verna_edit.h): meter, copies, pop, rewrite,
 * push, copies, destination. A list that comes to the same is taken, others are refused.
 */
#include <linux/unaligned.h>
#include <net/pkt_cls.h>

#include "eth.h"

/**
 * struct verna_tc_list - a list of actions on its way to a set
 * @eth: interface
 * @rule: rule
 * @extack: gets what is wrong
 * @edit: what changes packets
 * @tunnel: that they are to be put into, NULL: none
 * @tunnel_dev: device that does so in software, the destination
 * @edits: there is something in @edit besides copies
 * @late_copy: a copy was made of what the edits left, so nothing may be changed any more
 * @end: there was a destination
 */
struct verna_tc_list {
	struct verna_eth *eth;
	struct verna_tc_rule *rule;
	struct netlink_ext_ack *extack;
	struct verna_flow_edit edit;
	const struct ip_tunnel_info *tunnel;
	const struct net_device *tunnel_dev;
	bool edits;
	bool late_copy;
	bool end;
};

static struct verna_flow_actions *verna_tc_set(struct verna_tc_list *list)
{
	return &list->rule->spec.rule.actions;
}

static int verna_tc_no(struct verna_tc_list *list, const char *what)
{
	NL_SET_ERR_MSG_FMT_MOD(list->extack, "the card does not do: %s", what);
	return -EOPNOTSUPP;
}

static int verna_tc_flag(struct verna_tc_list *list, u32 flag)
{
	verna_tc_set(list)->flags |= cpu_to_le32(flag);
	return 0;
}

static int verna_tc_end(struct verna_tc_list *list, u32 flag)
{
	list->end = true;
	return verna_tc_flag(list, flag);
}

static int verna_tc_goto(struct verna_tc_list *list, u32 chain)
{
	if (chain <= list->rule->chain)
		return verna_tc_no(list, "goto to the same chain or a lower one");
	verna_tc_set(list)->chain = cpu_to_le32(chain);
	return verna_tc_end(list, VERNA_FLOW_A_CHAIN);
}

/* What is outside of a tag or a copy here is outside of the tunnel in the card. */
static int verna_tc_into_tunnel(struct verna_tc_list *list, const struct net_device *to)
{
	int i;

	if (!list->tunnel)
		return verna_tc_no(list, "a tunnel device without tunnel_key set");
	if (list->edit.num_push)
		return verna_tc_no(list, "push of a tag inside of a tunnel");
	for (i = 0; i < list->edit.num_copies; i++)
		if (list->edit.copies[i].changed)
			return verna_tc_no(list, "a copy between a change and a tunnel");
	list->tunnel_dev = to;
	verna_tc_set(list)->vport = cpu_to_le16(VERNA_VPORT_UPLINK);
	return verna_tc_end(list, VERNA_FLOW_A_PORT);
}

static int verna_tc_redirect(struct verna_tc_list *list, const struct net_device *to)
{
	int vport = verna_rep_vport(list->eth, to);

	if (verna_tc_tunnel_kind(to))
		return verna_tc_into_tunnel(list, to);
	if (list->tunnel)
		return verna_tc_no(list, "tunnel_key set without a tunnel device");
	if (vport < 0)
		return verna_tc_no(list, "redirect to an interface that is not of this card");
	verna_tc_set(list)->vport = cpu_to_le16(vport);
	return verna_tc_end(list, VERNA_FLOW_A_PORT);
}

static int verna_tc_mirror(struct verna_tc_list *list, const struct net_device *to)
{
	int vport = verna_rep_vport(list->eth, to);
	struct verna_edit_copy *copy;
	bool changed;

	if (vport < 0)
		return verna_tc_no(list, "mirror to an interface that is not of this card");
	if (list->edit.num_copies == VERNA_EDIT_MAX_COPIES)
		return verna_tc_no(list, "more than four copies");
	copy = &list->edit.copies[list->edit.num_copies++];
	changed = list->edits || list->rule->tunnel;
	copy->vport = cpu_to_le16(vport);
	copy->changed = changed;
	list->late_copy |= changed;
	return 0;
}

/* Begins a change; what was copied after an earlier one would have to be as it was then. */
static int verna_tc_change(struct verna_tc_list *list)
{
	if (list->late_copy)
		return verna_tc_no(list, "a copy between two changes");
	list->edits = true;
	return 0;
}

static int verna_tc_push(struct verna_tc_list *list, const struct flow_action_entry *act)
{
	struct verna_edit_tag *tag;

	if (list->edit.num_push == VERNA_EDIT_MAX_TAGS)
		return verna_tc_no(list, "push of more than two tags");
	tag = &list->edit.push[list->edit.num_push++];
	tag->tpid = act->vlan.proto;
	tag->tci = htons(act->vlan.vid | act->vlan.prio << VLAN_PRIO_SHIFT);
	return verna_tc_change(list);
}

static int verna_tc_pop(struct verna_tc_list *list)
{
	if (list->edit.num_push)
		return verna_tc_no(list, "pop after push");
	if (list->edit.mask.vlan_tci)
		return verna_tc_no(list, "pop after a change of the tag");
	if (list->edit.num_pop == VERNA_EDIT_MAX_TAGS)
		return verna_tc_no(list, "pop of more than two tags");
	list->edit.num_pop++;
	return verna_tc_change(list);
}

/* tc writes VID and protocol, and the priority if one is given: it says 0 if not. */
static int verna_tc_modify(struct verna_tc_list *list, const struct flow_action_entry *act)
{
	u16 tci = act->vlan.vid | act->vlan.prio << VLAN_PRIO_SHIFT;
	u16 mask = VLAN_VID_MASK | VLAN_PRIO_MASK;

	if (list->edit.num_push)
		return verna_tc_no(list, "a change of a tag that was pushed");
	list->edit.flags |= cpu_to_le32(VERNA_EDIT_REWRITE);
	list->edit.value.vlan_tpid = act->vlan.proto;
	list->edit.mask.vlan_tpid = htons(0xffff);
	list->edit.value.vlan_tci = htons(tci);
	list->edit.mask.vlan_tci = htons(mask);
	return verna_tc_change(list);
}

/* Bytes of a header that can be set, and where they are in the card's key. */
static const struct verna_tc_field {
	enum flow_action_mangle_base header;
	u8 offset;
	u8 len;
	u8 key;
} verna_tc_fields[] = {
	{ FLOW_ACT_MANGLE_HDR_TYPE_ETH, 0, 6, VERNA_KEY(dmac) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_ETH, 6, 6, VERNA_KEY(smac) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_IP4, 1, 1, VERNA_KEY(tos) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_IP4, 8, 1, VERNA_KEY(ttl) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_IP4, 12, 4, VERNA_KEY(src_ip) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_IP4, 16, 4, VERNA_KEY(dst_ip) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_IP6, 7, 1, VERNA_KEY(ttl) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_IP6, 8, 16, VERNA_KEY(src_ip) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_IP6, 24, 16, VERNA_KEY(dst_ip) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_TCP, 0, 2, VERNA_KEY(sport) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_TCP, 2, 2, VERNA_KEY(dport) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_UDP, 0, 2, VERNA_KEY(sport) },
	{ FLOW_ACT_MANGLE_HDR_TYPE_UDP, 2, 2, VERNA_KEY(dport) },
};

static const struct verna_tc_field *verna_tc_field(enum flow_action_mangle_base header,
						   u32 offset)
{
	const struct verna_tc_field *field = verna_tc_fields;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(verna_tc_fields); i++, field++)
		if (field->header == header && offset >= field->offset &&
		    offset < field->offset + field->len)
			return field;
	return NULL;
}

static void verna_tc_set_byte(struct verna_tc_list *list, u32 key, u8 value, u8 mask)
{
	u8 *to = (u8 *)&list->edit.value + key, *to_mask = (u8 *)&list->edit.mask + key;

	*to = (*to & ~mask) | (value & mask);
	*to_mask |= mask;
}

/* The traffic class lies across two bytes of the first word; the flow label behind it. */
static int verna_tc_mangle_ip6(struct verna_tc_list *list, u32 value, u32 mask)
{
	if (mask & 0xf0000000)
		return verna_tc_no(list, "pedit of the version of IPv6");
	if (mask & 0x000fffff)
		return verna_tc_no(list, "pedit of the flow label");
	verna_tc_set_byte(list, VERNA_KEY(tos), value >> 20, mask >> 20);
	return 0;
}

static u8 verna_tc_ip_version(enum flow_action_mangle_base header)
{
	return header == FLOW_ACT_MANGLE_HDR_TYPE_IP6 ? 6 : 4;
}

/* tc's mask has the bits that stay. */
static int verna_tc_mangle(struct verna_tc_list *list, const struct flow_action_entry *act)
{
	__be32 value = (__force __be32)act->mangle.val;
	__be32 mask = (__force __be32)~act->mangle.mask;
	const u8 *values = (const u8 *)&value, *masks = (const u8 *)&mask;
	const struct verna_tc_field *field;
	u32 i, offset;
	int err;

	err = verna_tc_change(list);
	if (err)
		return err;
	list->edit.flags |= cpu_to_le32(VERNA_EDIT_REWRITE);
	if (act->mangle.htype == FLOW_ACT_MANGLE_HDR_TYPE_IP6 && !act->mangle.offset)
		return verna_tc_mangle_ip6(list, ntohl(value), ntohl(mask));
	for (i = 0; i < sizeof(mask); i++) {
		if (!masks[i])
			continue;
		offset = act->mangle.offset + i;
		field = verna_tc_field(act->mangle.htype, offset);
		if (!field)
			return verna_tc_no(list, "pedit of this field");
		verna_tc_set_byte(list, field->key + offset - field->offset, values[i],
				  masks[i]);
		if (field->key == VERNA_KEY(src_ip) || field->key == VERNA_KEY(dst_ip))
			list->edit.value.ip_version = verna_tc_ip_version(act->mangle.htype);
	}
	return 0;
}

/* The one sum that the card does: a TTL or hop limit less one. */
static int verna_tc_add(struct verna_tc_list *list, const struct flow_action_entry *act)
{
	bool ip6 = act->mangle.htype == FLOW_ACT_MANGLE_HDR_TYPE_IP6;
	u32 value = ntohl((__force __be32)act->mangle.val);
	u32 mask = ntohl((__force __be32)~act->mangle.mask);
	u32 shift = ip6 ? 0 : 24;

	if (!ip6 && act->mangle.htype != FLOW_ACT_MANGLE_HDR_TYPE_IP4)
		return verna_tc_no(list, "pedit with add, but for ttl");
	if (act->mangle.offset != (ip6 ? 4 : 8) || mask != 0xffU << shift ||
	    value >> shift != 0xff)
		return verna_tc_no(list, "pedit with add, but for ttl add 0xff");
	list->edit.flags |= cpu_to_le32(VERNA_EDIT_DEC_TTL);
	return verna_tc_change(list);
}

static int verna_tc_add_meter(struct verna_tc_list *list, const struct flow_action_entry *act)
{
	struct verna_tc_object *meter;

	if (list->rule->meter)
		return verna_tc_no(list, "two meters in a rule");
	if (list->edits || list->edit.num_copies)
		return verna_tc_no(list, "police after a change or a copy");
	meter = verna_tc_meter(list->eth, act, list->extack);
	if (IS_ERR(meter))
		return PTR_ERR(meter);
	list->rule->meter = meter;
	return verna_tc_flag(list, VERNA_FLOW_A_METER);
}

static int verna_tc_mark(struct verna_tc_list *list, u32 mark)
{
	if (!mark)
		return verna_tc_no(list, "a mark of 0");
	verna_tc_set(list)->mark = cpu_to_le32(mark);
	return verna_tc_flag(list, VERNA_FLOW_A_MARK);
}

static int verna_tc_action(struct verna_tc_list *list, const struct flow_action_entry *act)
{
	if (list->end)
		return verna_tc_no(list, "something after drop, redirect, goto, pass or trap");
	switch (act->id) {
	case FLOW_ACTION_DROP:
		return verna_tc_end(list, VERNA_FLOW_A_DROP);
	case FLOW_ACTION_ACCEPT:
	case FLOW_ACTION_TRAP:
		return verna_tc_end(list, VERNA_FLOW_A_TRAP);
	case FLOW_ACTION_GOTO:
		return verna_tc_goto(list, act->chain_index);
	case FLOW_ACTION_REDIRECT:
		return verna_tc_redirect(list, act->dev);
	case FLOW_ACTION_MIRRED:
		return verna_tc_mirror(list, act->dev);
	case FLOW_ACTION_TUNNEL_ENCAP:
		list->tunnel = act->tunnel;
		return 0;
	case FLOW_ACTION_TUNNEL_DECAP: /* so is all that comes to a tunnel device */
		return list->rule->tunnel ? 0 : verna_tc_no(list, "tunnel_key unset here");
	case FLOW_ACTION_VLAN_PUSH:
		return verna_tc_push(list, act);
	case FLOW_ACTION_VLAN_POP:
		return verna_tc_pop(list);
	case FLOW_ACTION_VLAN_MANGLE:
		return verna_tc_modify(list, act);
	case FLOW_ACTION_MANGLE:
		return verna_tc_mangle(list, act);
	case FLOW_ACTION_ADD:
		return verna_tc_add(list, act);
	case FLOW_ACTION_CSUM:
		return 0; /* the card's checksums follow what it changes */
	case FLOW_ACTION_MARK:
		return verna_tc_mark(list, act->mark);
	case FLOW_ACTION_POLICE:
		return verna_tc_add_meter(list, act);
	default:
		NL_SET_ERR_MSG_FMT_MOD(list->extack, "the card has no action %u of tc",
				       act->id);
		return -EOPNOTSUPP;
	}
}

/* Of what an interface itself receives the card can keep packets away. */
static int verna_tc_finish_own(struct verna_tc_list *list)
{
	__le32 pass = cpu_to_le32(VERNA_FLOW_A_TRAP), drop = cpu_to_le32(VERNA_FLOW_A_DROP);
	struct verna_flow_actions *actions = verna_tc_set(list);

	if (actions->flags & ~(pass | drop) || list->edits || list->edit.num_copies)
		return verna_tc_no(list, "other than drop and pass, but in switchdev mode");
	actions->flags &= ~pass; /* on to where it would have gone */
	return 0;
}

static int verna_tc_finish(struct verna_tc_list *list)
{
	struct verna_tc_object *edit;
	bool software;

	software = !(verna_tc_set(list)->flags & cpu_to_le32(VERNA_FLOW_A_PORT |
							     VERNA_FLOW_A_CHAIN |
							     VERNA_FLOW_A_DROP));
	list->rule->counted_twice = software && !list->rule->skip_sw;
	if (list->rule->own)
		return verna_tc_finish_own(list);
	/* There tc executes the whole list once more. */
	if (list->rule->counted_twice && (list->rule->meter || list->edit.num_copies))
		return verna_tc_no(list, "police or copy for software, without skip_sw");
	if (list->rule->routed) { /* netfilter takes it for granted */
		list->edit.flags |= cpu_to_le32(VERNA_EDIT_DEC_TTL);
		list->edits = true;
	}
	if (list->rule->tunnel && !(software || verna_tc_set(list)->flags &
				    cpu_to_le32(VERNA_FLOW_A_DROP))) {
		list->edit.flags |= cpu_to_le32(VERNA_EDIT_DECAP);
		list->edits = true;
	}
	if (list->tunnel_dev)
		return verna_tc_encap_set(list->eth, list->rule, list->tunnel,
					  list->tunnel_dev, &list->edit, list->extack) ?:
		       verna_tc_flag(list, VERNA_FLOW_A_EDIT);
	if (list->tunnel)
		return verna_tc_no(list, "tunnel_key set without a tunnel device");
	if (!list->edits && !list->edit.num_copies)
		return 0;
	/* Software would get what was changed, and tc's list would change it again. */
	if (list->edits && software)
		return verna_tc_no(list, "a change of what then goes to software");
	edit = verna_tc_edit(list->eth, &list->edit);
	if (IS_ERR(edit)) {
		NL_SET_ERR_MSG_MOD(list->extack, "the card refuses what changes packets");
		return PTR_ERR(edit);
	}
	list->rule->edit = edit;
	return verna_tc_flag(list, VERNA_FLOW_A_EDIT);
}

/**
 * verna_tc_actions - translate what a rule of tc does
 * @eth: interface; its lock of rules is held
 * @wish: tc's list
 * @rule: gets actions, meter and edit, which it has to give back, also after an error
 * @extack: gets what is wrong
 *
 * Return: 0, or -EOPNOTSUPP and a message that names the action, or an error of the
 * card.
 */
int verna_tc_actions(struct verna_eth *eth, const struct flow_action *wish,
		     struct verna_tc_rule *rule, struct netlink_ext_ack *extack)
{
	struct verna_tc_list list = {
		.eth = eth,
		.rule = rule,
		.extack = extack,
	};
	const struct flow_action_entry *act;
	int err = 0, i;

	flow_action_for_each(i, act, wish) {
		err = verna_tc_action(&list, act);
		if (err)
			return err;
	}
	return verna_tc_finish(&list);
}
