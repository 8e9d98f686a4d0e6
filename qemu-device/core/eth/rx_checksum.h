// SPDX-License-Identifier: GPL-2.0-or-later
// Checksums of received frames.
#pragma once

#include "eth/frame_store.h"

namespace verna {

/// Sums the frame behind its Ethernet header, once, and looks at the checksums of IPv4 headers and
/// of TCP, UDP and SCTP from the outermost inwards: through IP in IP, GRE, VXLAN (UDP port 4789)
/// and GENEVE (6081). It stops at what it does not know, at a fragment, at a GRE header with a
/// checksum of its own, and at the first one that is wrong. Fills `sum`, `csum_ok` and `csum_bad`.
void check_sums(HeldFrame* frame);

}  // namespace verna
