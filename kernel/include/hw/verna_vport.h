/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: vports of the embedded switch, and what a PF says of those of its VFs.
 */
#ifndef VERNA_HW_VPORT_H
#define VERNA_HW_VPORT_H

#include "verna_bits.h"
#include "verna_cmd.h"

/* Vports by number: function f has f + 1. */
#define VERNA_VPORT_UPLINK	0u	/* the wire */
#define VERNA_VPORT_PF		1u

/* verna_cmd_set_vport.fields */
#define VERNA_VPORT_SET_MAC		0x01u
#define VERNA_VPORT_SET_VLAN		0x02u
#define VERNA_VPORT_SET_SPOOF_CHECK	0x04u
#define VERNA_VPORT_SET_TRUST		0x08u
#define VERNA_VPORT_SET_LINK		0x10u
#define VERNA_VPORT_SET_RATE		0x20u
#define VERNA_VPORT_SET_MIN_RATE	0x40u
#define VERNA_VPORT_SET_RATE_PARENT	0x80u
#define VERNA_VPORT_SET_RATE_PRIORITY	0x100u
#define VERNA_VPORT_SET_RATE_WEIGHT	0x200u
#define VERNA_VPORT_SET_ALL		0x3ffu

/**
 * enum verna_vport_link - what link a VF sees
 * @VERNA_VPORT_LINK_AUTO: that of the wire
 * @VERNA_VPORT_LINK_UP: always up, so that VFs reach each other without a wire
 * @VERNA_VPORT_LINK_DOWN: always down; no frame goes in or out
 */
enum verna_vport_link {
	VERNA_VPORT_LINK_AUTO = 0,
	VERNA_VPORT_LINK_UP = 1,
	VERNA_VPORT_LINK_DOWN = 2
};

/**
 * struct verna_cmd_set_vport - what the administrator says of a VF's vport
 * @hdr: @function is the VF's
 * @fields: VERNA_VPORT_SET_*: which of the fields below are valid; others are zero
 * @mac: MAC: the VF's permanent address; EXISTS: another vport of the VLAN has it
 * @vlan: VLAN: 0, or 1..4094: the VF's frames are of this VLAN and untagged on its
 *	side; what it tags itself is dropped
 * @qos: VLAN: priority of the tag, 0..7; 0 if @vlan is 0
 * @spoof_check: SPOOF_CHECK: 1: frames from another address than the VF's are dropped
 * @trust: TRUST: 1: it may add unicast addresses, and its promiscuous modes count
 * @link: LINK: enum verna_vport_link
 * @max_kbps: RATE: limit in kbit/s over all that the VF sends, as verna_cmd_modify_txq
 *	counts, and over each copy that the switch makes of it; 0: none
 * @min_kbps: MIN_RATE: what the VF may send in kbit/s before siblings of its priority
 *	(verna_rate.h) get more than they are guaranteed; 0: no such guarantee. Neither
 *	rate may be set so that it is above a @max_kbps that is not 0.
 * @rate_parent: RATE_PARENT: a rate node, or VERNA_RATE_NO_PARENT
 * @rate_weight: RATE_WEIGHT: share among siblings of its priority, 1..1024; 0: 1
 * @rate_priority: RATE_PRIORITY: 0..7, higher ones go first
 * @reserved: zero
 *
 * All fields are set together or, if one is refused, none. Without trust added
 * unicast addresses and promiscuous modes go. At first, and after a reset of the PF,
 * a VF has an address that the card makes of the PF's, no VLAN, spoof check, no trust,
 * the link of the wire, no limit and no guarantee, no parent, priority 0 and weight 1. A
 * reset of the VF changes nothing of it.
 */
struct verna_cmd_set_vport {
	struct verna_cmd_hdr hdr;
	__le32 fields;
	__u8 mac[6];
	__le16 vlan;
	__u8 qos;
	__u8 spoof_check;
	__u8 trust;
	__u8 link;
	__le32 max_kbps;
	__le32 min_kbps;
	__le16 rate_parent;
	__le16 rate_weight;
	__u8 rate_priority;
	__u8 reserved[3];
};
VERNA_ASSERT_SIZE(verna_cmd_set_vport, 40);

/**
 * struct verna_vport_state - result of VERNA_CMD_QUERY_VPORT
 * @mac: see struct verna_cmd_set_vport
 * @vlan: the same
 * @qos: the same
 * @spoof_check: the same
 * @trust: the same
 * @link: the same
 * @enabled: 1: the VF is there; else its settings wait for it
 * @link_up: 1: what the VF sees as its link now
 * @reserved0: zero
 * @max_kbps: see struct verna_cmd_set_vport
 * @min_kbps: the same
 * @rate_parent: the same
 * @rate_weight: the same, never 0
 * @rate_priority: the same
 * @reserved1: zero
 */
struct verna_vport_state {
	__u8 mac[6];
	__le16 vlan;
	__u8 qos;
	__u8 spoof_check;
	__u8 trust;
	__u8 link;
	__u8 enabled;
	__u8 link_up;
	__u8 reserved0[2];
	__le32 max_kbps;
	__le32 min_kbps;
	__le16 rate_parent;
	__le16 rate_weight;
	__u8 rate_priority;
	__u8 reserved1[3];
};
VERNA_ASSERT_SIZE(verna_vport_state, 32);

/**
 * enum verna_eswitch_mode - who decides where frames go
 * @VERNA_ESWITCH_LEGACY: a bridge, by MAC address and VLAN; the PF alone is on the wire
 *	while there are no VFs
 * @VERNA_ESWITCH_SWITCHDEV: tables of rules (verna_flow.h), VFs or not; what no rule
 *	decides goes to software
 */
enum verna_eswitch_mode {
	VERNA_ESWITCH_LEGACY = 0,
	VERNA_ESWITCH_SWITCHDEV = 1
};

/**
 * struct verna_cmd_set_eswitch - mode of the embedded switch
 * @mode: enum verna_eswitch_mode
 * @reserved0: zero
 * @queue: switchdev: RX queue of the PF that gets what VFs sent and no rule decided,
 *	whether or not it exists now; else 0
 * @reserved1: zero
 *
 * A change of mode drops all rules, miss behaviours, groups, meters and edits of the
 * switch, and all learned addresses. With the mode that is already on, only @queue
 * changes. A reset of the PF returns to legacy mode. BAD_FUNCTION for VFs.
 *
 * In switchdev mode a frame that no rule sends elsewhere is handled by software, where
 * each vport has a representor: from the uplink it goes to the PF as from a wire; from
 * the PF it goes to the uplink; from a VF it goes to @queue of the PF, past filters,
 * steering and RDMA. Completions at the PF then have VERNA_CQE_RX_VPORT.
 */
struct verna_cmd_set_eswitch {
	struct verna_cmd_hdr hdr;
	__u8 mode;
	__u8 reserved0;
	__le16 queue;
	__le32 reserved1;
};
VERNA_ASSERT_SIZE(verna_cmd_set_eswitch, 16);

/**
 * struct verna_cmd_vport_group - whose tables frames of a vport go through
 * @vport: any of the card, VERNA_VPORT_UPLINK among them
 * @group: several vports may have one; at first the number of the vport
 * @reserved: zero
 *
 * BAD_STATE in legacy mode.
 */
struct verna_cmd_vport_group {
	struct verna_cmd_hdr hdr;
	__le16 vport;
	__le16 group;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_cmd_vport_group, 16);

#endif /* VERNA_HW_VPORT_H */
