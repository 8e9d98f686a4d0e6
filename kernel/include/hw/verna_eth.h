/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: Ethernet descriptors. TX and RX queues are work queues
 * (verna_queue.h); their entries are the descriptors below.
 */
#ifndef VERNA_HW_ETH_H
#define VERNA_HW_ETH_H

#include "verna_bits.h"

/* verna_tx_desc.flags; bits not named here are reserved */
#define VERNA_TX_F_EOP		0x0001u	/* last descriptor of the packet */

/**
 * struct verna_tx_desc - one fragment of a packet to send
 * @addr: bus address of the fragment
 * @len: bytes, 1..65536
 * @flags: VERNA_TX_F_*
 * @reserved: zero; room for checksum, segmentation and VLAN offload
 *
 * A packet is 1..verna_cap_eth.max_tx_frags descriptors, the last with EOP; it
 * is an Ethernet frame without FCS of 14 bytes up to MTU + 18 (a VLAN tag is
 * allowed). Shorter than 60 bytes is padded by the card. The card starts a
 * packet only when its EOP descriptor is posted. One CQE may complete many
 * packets. A descriptor that breaks a rule completes in error
 * (VERNA_CQE_ETH_DESC_ERR or _DMA_ERR, wqe_index is its EOP), is counted, and
 * the queue goes on with the next packet; a packet without EOP in
 * max_tx_frags descriptors stops the queue (VERNA_EVENT_TXQ_ERROR).
 */
struct verna_tx_desc {
	__le64 addr;
	__le32 len;
	__le16 flags;
	__le16 reserved0;
	__le64 reserved[2];
};
VERNA_ASSERT_SIZE(verna_tx_desc, 32);

/**
 * struct verna_rx_desc - one receive buffer
 * @addr: bus address of the buffer
 * @len: its size in bytes, 64..65536
 * @reserved: zero
 *
 * A packet fills one buffer after the other in the order of posting; the CQE
 * tells the first (wqe_index) and how many (num_bufs). The card never writes
 * past @len. A packet that finds too few buffers is dropped and counted
 * (rx_no_buffer) and uses none.
 */
struct verna_rx_desc {
	__le64 addr;
	__le32 len;
	__le32 reserved;
};
VERNA_ASSERT_SIZE(verna_rx_desc, 16);

#define VERNA_ETH_MIN_FRAME	60u	/* without FCS */
#define VERNA_ETH_OVERHEAD	18u	/* header and one VLAN tag beyond the MTU */
#define VERNA_RSS_KEY_SIZE	40u

/* verna_cmd_set_rss.hash_types */
#define VERNA_RSS_IPV4		0x01u
#define VERNA_RSS_TCPV4		0x02u
#define VERNA_RSS_UDPV4		0x04u
#define VERNA_RSS_IPV6		0x08u
#define VERNA_RSS_TCPV6		0x10u
#define VERNA_RSS_UDPV6		0x20u
#define VERNA_RSS_ALL		0x3fu

#endif /* VERNA_HW_ETH_H */
