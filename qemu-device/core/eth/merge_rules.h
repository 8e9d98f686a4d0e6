// SPDX-License-Identifier: GPL-2.0-or-later
// What may be merged, and what a merged packet looks like.
//
// The rules are those of the Linux stack, so that its GSO restores the frames: all headers are the
// same but for lengths, checksums, IPv4 IDs, TCP's sequence number, FIN and PSH (in the last frame
// only) and CWR; sequence numbers follow one another; all frames but the last carry the same
// amount.
#pragma once

#include "eth/rx_shared.h"

namespace verna {

/// How a frame relates to flows that are held.
enum class FlowKind {
  kNone,     // no TCP: it may overtake
  kTcp,      // must stay in order with its flow
  kUnknown,  // TCP perhaps: a fragment, or headers that are too long
};

/// Finds the TCP header, maybe inside of IP in IP, and notes it and the flow's hash in the frame.
FlowKind find_flow(HeldFrame* frame);

/// A frame of kind kTcp may begin a merged packet or become a part of one: payload, no SYN, RST or
/// URG, no IPv4 options, right checksums, nothing behind the IP packet but padding.
bool may_merge(const HeldFrame& frame);

/// `frame` continues `packet`; notes in the packet how IPv4 IDs go on.
bool continues(HeldFrame* packet, const HeldFrame& frame, const RxShared& settings);

/// With this frame the packet is complete: it is shorter than others, or says FIN or PSH.
bool ends_packet(const HeldFrame& packet, const HeldFrame& frame);

uint32_t tcp_sequence(const HeldFrame& frame);
uint8_t tcp_flags(const HeldFrame& frame);

/// Writes lengths, flags and checksums of the merged packet into the headers of its first frame.
void finish_headers(HeldFrame* packet);

}  // namespace verna
