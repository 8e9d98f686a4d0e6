/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: the tree by which VFs share what the card sends.
 *
 * Leaves are vports of VFs (verna_vport.h). Inner nodes are made by the PF, are named by
 * the number that CREATE_RATE_NODE returns, and end with a reset of the PF. A leaf or a
 * node may have a node as its parent; one that has none is at the top, as the PF itself
 * always is. Those with the same parent are siblings.
 *
 * In every traffic class siblings that have something to send, and that no limit of
 * their own holds back, go by priority, the highest first; of one priority first those
 * with a guarantee that is due; what is left they share by weight. Whose turn it is
 * decides in the same way which of those below it sends. A limit is over all that is
 * below, in all classes.
 */
#ifndef VERNA_HW_RATE_H
#define VERNA_HW_RATE_H

#include "verna_bits.h"
#include "verna_cmd.h"

#define VERNA_RATE_NO_PARENT	0u
#define VERNA_RATE_MAX_PRIORITY	7u
#define VERNA_RATE_MAX_WEIGHT	1024u

/* verna_cmd_rate_node.fields */
#define VERNA_RATE_SET_MAX	0x01u
#define VERNA_RATE_SET_MIN	0x02u
#define VERNA_RATE_SET_PARENT	0x04u
#define VERNA_RATE_SET_PRIORITY	0x08u
#define VERNA_RATE_SET_WEIGHT	0x10u
#define VERNA_RATE_SET_ALL	0x1fu

/**
 * struct verna_cmd_rate_node - makes or changes an inner node
 * @id: MODIFY_RATE_NODE: the node; else 0
 * @fields: VERNA_RATE_SET_*: which of the fields below are valid; others are zero
 * @max_kbps: MAX: limit in kbit/s over all that is sent below the node, as
 *	verna_cmd_set_vport counts for one VF; 0: none
 * @min_kbps: MIN: what may be sent below it in kbit/s before siblings of its priority
 *	get more than they are guaranteed; 0: no such guarantee. Neither rate may be set
 *	so that it is above a @max_kbps that is not 0.
 * @parent: PARENT: a node, or VERNA_RATE_NO_PARENT
 * @weight: WEIGHT: share among siblings of its priority, 1..1024; 0: 1
 * @priority: PRIORITY: 0..7, higher ones go first
 * @reserved: zero
 *
 * What CREATE_RATE_NODE does not set is as 0 says. All fields are set together or, if one
 * is refused, none. A @parent that does not exist is a BAD_PARAM, and then:
 * BAD_STATE: the node is @parent, or above it. NO_RESOURCE: there are max_rate_nodes; or,
 * with the offset of @parent in detail, a way from below the node to the top would have
 * more than max_rate_levels nodes.
 *
 * What waits or sends below a node goes on while the node changes or moves; a limit that
 * changes keeps what was sent too much, in bytes. DESTROY_RATE_NODE is BUSY while the node
 * is the parent of another or of a vport, whether or not its VF is there.
 */
struct verna_cmd_rate_node {
	struct verna_cmd_hdr hdr;
	__le32 id;
	__le32 fields;
	__le32 max_kbps;
	__le32 min_kbps;
	__le16 parent;
	__le16 weight;
	__u8 priority;
	__u8 reserved[3];
};
VERNA_ASSERT_SIZE(verna_cmd_rate_node, 32);

/**
 * struct verna_rate_node_state - result of VERNA_CMD_QUERY_RATE_NODE
 * @max_kbps: see struct verna_cmd_rate_node
 * @min_kbps: the same
 * @parent: the same
 * @weight: the same, never 0
 * @priority: the same
 * @reserved0: zero
 * @children: nodes and vports that have it as their parent
 * @reserved1: zero
 * @tx_bytes: sent below it since it was made, as @max_kbps counts
 */
struct verna_rate_node_state {
	__le32 max_kbps;
	__le32 min_kbps;
	__le16 parent;
	__le16 weight;
	__u8 priority;
	__u8 reserved0;
	__le16 children;
	__le64 reserved1;
	__le64 tx_bytes;
};
VERNA_ASSERT_SIZE(verna_rate_node_state, 32);

#endif /* VERNA_HW_RATE_H */
