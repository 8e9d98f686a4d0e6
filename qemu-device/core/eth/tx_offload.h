// SPDX-License-Identifier: GPL-2.0-or-later
// What the card adds to a frame that is not cut: checksums and tags.
#pragma once

#include "base/types.h"
#include "hw/verna_eth.h"

namespace verna {

/// Writes the checksum that `request` asks for, if any, into a packet of `len` bytes in the card's
/// memory. The request was checked against the length.
void tx_write_checksum(const verna_tx_desc& request, uint8_t* packet, uint32_t len);

/// Writes the tag that `request` asks for. The packet begins at `frame` + 4; afterwards the frame
/// begins at `frame`.
void tx_insert_tag(const verna_tx_desc& request, uint8_t* frame);

}  // namespace verna
