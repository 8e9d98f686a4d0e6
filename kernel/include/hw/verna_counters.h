/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * verna: names and order of the counters. VERNA_CMD_QUERY_COUNTERS writes an
 * array of __le64 in the order of these lists; a newer card only appends. X is
 * called with the name and one sentence of what is counted.
 */
#ifndef VERNA_HW_COUNTERS_H
#define VERNA_HW_COUNTERS_H

#include "verna_bits.h"

/*
 * Port: what crosses the wire. Every frame that a port receives is counted in
 * rx_frames and then in exactly one of: rx_to_eth, rx_to_rdma, rx_to_switch,
 * rx_pause, rx_drop_*. (The Ethernet, RDMA and vport groups account for what
 * becomes of theirs.) A VF's port is its vport, where the embedded switch is the wire.
 */
#define VERNA_PORT_COUNTERS(X) \
	X(tx_frames, "frames sent") \
	X(tx_bytes, "bytes sent, without FCS") \
	X(tx_drop_link_down, "frames not sent because the link was down") \
	X(rx_frames, "frames received, good or bad") \
	X(rx_bytes, "bytes of all frames received, without FCS") \
	X(rx_to_eth, "frames handed to Ethernet") \
	X(rx_to_rdma, "frames handed to RDMA") \
	X(rx_drop_fcs, "frames with a wrong FCS") \
	X(rx_drop_runt, "frames shorter than an Ethernet header") \
	X(rx_drop_oversize, "frames longer than the MTU allows") \
	X(rx_drop_filter, "frames to a MAC address that is not ours") \
	X(rx_drop_disabled, "frames while neither Ethernet nor RDMA receives") \
	X(link_down_events, "times the link went down") \
	X(link_bad_record, "malformed records from the peer of a link") \
	X(rx_drop_vlan, "frames of a VLAN that is not ours") \
	X(tx_frames_64, "frames sent of 64 bytes; these sizes are with FCS") \
	X(tx_frames_65_127, "frames sent of 65 to 127 bytes") \
	X(tx_frames_128_255, "frames sent of 128 to 255 bytes") \
	X(tx_frames_256_511, "frames sent of 256 to 511 bytes") \
	X(tx_frames_512_1023, "frames sent of 512 to 1023 bytes") \
	X(tx_frames_1024_1518, "frames sent of 1024 to 1518 bytes") \
	X(tx_frames_1519_max, "frames sent of 1519 bytes and more") \
	X(rx_frames_64, "frames received of 64 bytes, good or bad; sizes are with FCS") \
	X(rx_frames_65_127, "frames received of 65 to 127 bytes") \
	X(rx_frames_128_255, "frames received of 128 to 255 bytes") \
	X(rx_frames_256_511, "frames received of 256 to 511 bytes") \
	X(rx_frames_512_1023, "frames received of 512 to 1023 bytes") \
	X(rx_frames_1024_1518, "frames received of 1024 to 1518 bytes") \
	X(rx_frames_1519_max, "frames received of 1519 bytes and more") \
	X(rx_undersize, "frames received shorter than 64 bytes, FCS right") \
	X(rx_fragments, "frames received shorter than 64 bytes, FCS wrong") \
	X(rx_jabbers, "frames received longer than the MTU allows, FCS wrong") \
	X(rx_good_bytes, "bytes of good frames received, without FCS") \
	X(tx_multicast, "frames sent to a group address that is not broadcast") \
	X(tx_broadcast, "frames sent to the broadcast address") \
	X(rx_multicast, "good frames received to a group address that is not broadcast") \
	X(rx_broadcast, "good frames received to the broadcast address") \
	X(tx_control, "MAC control frames sent (type 0x8808)") \
	X(rx_control, "good MAC control frames received") \
	X(rx_control_unknown, "of these: with an opcode other than PAUSE") \
	X(rx_length_in_range, "good frames received whose length field is not their length") \
	X(rx_length_out_of_range, "good frames received with a type from 1501 to 1535") \
	X(tx_pause, "PAUSE frames sent") \
	X(rx_pause, "PAUSE frames received, whether they are obeyed or not") \
	X(rx_to_switch, "frames handed to the embedded switch")

/*
 * Vport of the embedded switch: a function's, or the uplink, whose tx_frames come
 * from the wire and whose rx_frames go there. Each of tx_frames either is counted in
 * exactly one of tx_drop_* or goes to one vport, and tx_copies more; there each is
 * counted in exactly one of rx_frames and rx_drop_*. What goes to software goes to the
 * vport of the PF or, if that sent it, to the uplink.
 */
#define VERNA_VPORT_COUNTERS(X) \
	X(tx_frames, "frames that entered the switch here") \
	X(tx_bytes, "bytes of these, without FCS") \
	X(tx_multicast, "of tx_frames: to a group address that is not broadcast") \
	X(tx_broadcast, "of tx_frames: to the broadcast address") \
	X(tx_copies, "frames beyond the first, where one goes to several vports") \
	X(tx_drop_down, "frames of a vport that is down") \
	X(tx_drop_spoof, "frames from an address that is not the function's") \
	X(tx_drop_tag, "frames with a tag of their own on a vport that has a VLAN") \
	X(tx_drop_reserved, "frames of a VF to a group address that bridges keep to themselves") \
	X(tx_drop_nobody, "frames that no vport is for") \
	X(rx_frames, "frames that left the switch here") \
	X(rx_bytes, "bytes of these, without FCS") \
	X(rx_multicast, "of rx_frames: to a group address that is not broadcast") \
	X(rx_broadcast, "of rx_frames: to the broadcast address") \
	X(rx_drop_full, "frames that found no room at the vport") \
	X(rx_drop_oversize, "frames that a tag or a rule makes longer than any wire carries") \
	X(tx_drop_rule, "frames that a rule or a table's miss behaviour drops") \
	X(tx_drop_meter, "frames that a meter drops") \
	X(tx_drop_edit, "frames that cannot be changed as their rule wants") \
	X(rx_drop_disabled, "frames to a vport that is down or has no function") \
	X(tx_to_software, "of tx_frames: that no rule decided, and went to software")

/*
 * Ethernet function: each of rx_to_eth, each frame that the embedded switch hands to
 * the PF's Ethernet, and each of rx_loopback, which never crosses the wire, ends in
 * exactly one of rx_packets and rx_drop_*. A merged packet counts there as often as it
 * has frames.
 */
#define VERNA_ETH_COUNTERS(X) \
	X(tx_packets, "packets sent") \
	X(tx_bytes, "bytes sent, without FCS and padding") \
	X(tx_drop_desc, "packets refused: a descriptor breaks a rule") \
	X(tx_drop_dma, "packets refused: a buffer is not memory") \
	X(tx_drop_link_down, "packets completed but not sent: link down") \
	X(rx_packets, "packets delivered") \
	X(rx_bytes, "bytes delivered") \
	X(rx_multicast, "of rx_packets: to a group address") \
	X(rx_drop_no_queue, "packets for a queue that does not exist") \
	X(rx_drop_no_buffer, "packets that found too few receive buffers") \
	X(rx_drop_no_cqe, "packets whose completion queue was full") \
	X(rx_drop_desc, "packets dropped: a receive descriptor breaks a rule") \
	X(rx_drop_dma, "packets dropped: a receive buffer is not memory") \
	X(rx_csum_ok, "packets with a checksum that was verified, and none that is wrong") \
	X(rx_csum_bad, "packets with a wrong checksum; they are delivered") \
	X(rx_merged_packets, "packets delivered that were merged from several") \
	X(rx_merged_wire_packets, "of rx_packets: these were merged") \
	X(rx_loopback, "packets that came back in loopback mode") \
	X(tx_tso_packets, "packets cut into segments (TSO, USO)") \
	X(tx_tso_segments, "of tx_packets: segments of these") \
	X(tx_csum, "of tx_packets: with a checksum that the card wrote") \
	X(rx_drop_rule, "packets that a flow rule drops")

#define VERNA_TXQ_COUNTERS(X) \
	X(packets, "packets sent") \
	X(bytes, "bytes sent") \
	X(drops, "packets refused or not sent") \
	X(doorbells, "doorbells rung for this queue") \
	X(completions, "completion entries written") \
	X(tso_packets, "packets cut into segments (TSO, USO)") \
	X(tso_segments, "of packets: segments of these") \
	X(csum, "of packets: with a checksum that the card wrote")

#define VERNA_RXQ_COUNTERS(X) \
	X(packets, "packets delivered") \
	X(bytes, "bytes delivered") \
	X(drops, "packets dropped after this queue was chosen") \
	X(merged_packets, "packets delivered that were merged from several") \
	X(merged_wire_packets, "of packets: these were merged") \
	X(csum_bad, "packets with a wrong checksum; they are delivered")

/*
 * RDMA function: each of rx_to_rdma, and each frame that the card sent to itself
 * (which never crosses the wire), is counted in rx_packets and then in exactly
 * one of rx_accepted, rx_duplicate, rx_out_of_sequence, rx_rnr or rx_drop_*.
 */
#define VERNA_RDMA_COUNTERS(X) \
	X(tx_packets, "packets sent, with retransmissions") \
	X(tx_bytes, "bytes of these frames, without FCS") \
	X(tx_retransmits, "packets sent again") \
	X(tx_timeouts, "retransmission timer expiries") \
	X(tx_acks, "acknowledge packets sent") \
	X(tx_naks_seq, "NAK PSN sequence error sent") \
	X(tx_naks_inv, "NAK invalid request sent") \
	X(tx_naks_acc, "NAK remote access error sent") \
	X(tx_naks_op, "NAK remote operational error sent") \
	X(tx_rnr_naks, "RNR NAK sent") \
	X(rx_packets, "packets received") \
	X(rx_bytes, "bytes of these frames, without FCS") \
	X(rx_accepted, "packets executed, or acknowledgements processed") \
	X(rx_duplicate, "duplicate requests or responses") \
	X(rx_out_of_sequence, "requests or responses ahead of the expected PSN") \
	X(rx_rnr, "requests refused for lack of a receive request") \
	X(rx_naks_seq, "NAK PSN sequence error received") \
	X(rx_rnr_naks, "RNR NAK received") \
	X(rx_naks_fatal, "other NAK received") \
	X(rx_drop_malformed, "packets too short or with contradicting lengths") \
	X(rx_drop_icrc, "packets with a wrong ICRC") \
	X(rx_drop_version, "packets with a BTH version that is not 0") \
	X(rx_drop_opcode, "packets with an unknown opcode") \
	X(rx_drop_no_qp, "packets to a QP that does not exist") \
	X(rx_drop_qp_type, "packets whose opcode does not fit the QP's type") \
	X(rx_drop_qp_state, "packets to a QP that cannot receive in its state") \
	X(rx_drop_addr, "packets whose addresses do not match the connection") \
	X(rx_drop_pkey, "packets with a wrong P_Key") \
	X(rx_drop_qkey, "packets with a wrong Q_Key") \
	X(rx_drop_no_wqe, "UC and UD packets that found no receive request") \
	X(rx_drop_length, "UC and UD packets that do not fit their receive request") \
	X(rx_drop_protection, "UC and UD packets refused by a memory region") \
	X(rx_drop_sequence, "UC packets out of sequence") \
	X(rx_drop_unsolicited, "responses that nobody asked for") \
	X(rx_drop_error, "requests or responses refused: the QP went to error") \
	X(cqes, "completion entries written") \
	X(cq_overruns, "completion queues that overran") \
	X(local_errors, "work requests completed in error by the requester") \
	X(remote_access_errors, "requests refused for rkey, bounds or rights") \
	X(remote_invalid_requests, "requests refused as invalid") \
	X(send_msgs, "SEND messages completed") \
	X(write_msgs, "RDMA WRITE messages completed") \
	X(read_msgs, "RDMA READ messages completed") \
	X(atomic_msgs, "atomics completed") \
	X(recv_msgs, "receive requests completed")

#define VERNA_DEV_COUNTERS(X) \
	X(commands, "admin commands executed") \
	X(command_errors, "of these: with a status other than OK") \
	X(doorbells, "doorbells rung") \
	X(bad_doorbells, "doorbells for a queue that is not there or not the page's") \
	X(dma_errors, "accesses to host memory that failed") \
	X(interrupts, "MSI-X messages raised") \
	X(events, "event queue entries written") \
	X(bad_register_access, "accesses to registers that do not exist") \
	X(engine_runs, "times the engine ran") \
	X(engine_sleeps, "times the engine went to sleep") \
	X(inline_runs, "times a vCPU ran the card from its doorbell") \
	X(resets, "resets since the card was made")

#define VERNA_COUNTER_ENUM_PORT(name, doc) VERNA_PORT_##name,
enum verna_port_counter { VERNA_PORT_COUNTERS(VERNA_COUNTER_ENUM_PORT) VERNA_PORT_NUM_COUNTERS };
#define VERNA_COUNTER_ENUM_VPORT(name, doc) VERNA_VPORT_##name,
enum verna_vport_counter { VERNA_VPORT_COUNTERS(VERNA_COUNTER_ENUM_VPORT) VERNA_VPORT_NUM_COUNTERS };
#define VERNA_COUNTER_ENUM_ETH(name, doc) VERNA_ETH_##name,
enum verna_eth_counter { VERNA_ETH_COUNTERS(VERNA_COUNTER_ENUM_ETH) VERNA_ETH_NUM_COUNTERS };
#define VERNA_COUNTER_ENUM_TXQ(name, doc) VERNA_TXQ_##name,
enum verna_txq_counter { VERNA_TXQ_COUNTERS(VERNA_COUNTER_ENUM_TXQ) VERNA_TXQ_NUM_COUNTERS };
#define VERNA_COUNTER_ENUM_RXQ(name, doc) VERNA_RXQ_##name,
enum verna_rxq_counter { VERNA_RXQ_COUNTERS(VERNA_COUNTER_ENUM_RXQ) VERNA_RXQ_NUM_COUNTERS };
#define VERNA_COUNTER_ENUM_RDMA(name, doc) VERNA_RDMA_##name,
enum verna_rdma_counter { VERNA_RDMA_COUNTERS(VERNA_COUNTER_ENUM_RDMA) VERNA_RDMA_NUM_COUNTERS };
#define VERNA_COUNTER_ENUM_DEV(name, doc) VERNA_DEV_##name,
enum verna_dev_counter { VERNA_DEV_COUNTERS(VERNA_COUNTER_ENUM_DEV) VERNA_DEV_NUM_COUNTERS };

#endif /* VERNA_HW_COUNTERS_H */
