// SPDX-License-Identifier: GPL-2.0-or-later
// What the MAC counts of each frame: sizes as in RFC 2819, the rest as in IEEE 802.3 clause 30.
#pragma once

#include "base/counters.h"

namespace verna {

constexpr uint32_t kFcsBytes = 4;

/// Counts a frame that goes onto the wire; `len` is without FCS, at least 60.
void count_sent(Counters& counters, const uint8_t* frame, uint32_t len);

/// Counts a frame from the wire, good or bad; `len` is without FCS.
void count_received(Counters& counters, uint32_t len, uint32_t max_len, bool fcs_ok);

/// Counts what is in a good frame of at least 14 bytes.
void count_good(Counters& counters, const uint8_t* frame, uint32_t len);

}  // namespace verna
