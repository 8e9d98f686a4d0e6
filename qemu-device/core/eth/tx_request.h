// SPDX-License-Identifier: GPL-2.0-or-later
// What descriptors may ask of the card.
#pragma once

#include "eth/tx_packet.h"
#include "hw/verna_caps.h"

namespace verna {

/// VERNA_ETH_F_* of everything that a TX descriptor may ask for.
inline constexpr uint32_t kTxFeatures = VERNA_ETH_F_TX_CSUM | VERNA_ETH_F_TX_CRC32C |
                                        VERNA_ETH_F_TSO | VERNA_ETH_F_USO | VERNA_ETH_F_TSO_TUNNEL |
                                        VERNA_ETH_F_TX_VLAN;

/// True if flags, fields and lengths keep the rules of verna_eth.h. `max_frame` bounds a packet
/// that is not cut, with the tag that is inserted. Whether there is such a vport, and headers, are
/// not looked at: what they must be for segmentation is checked where they have been read.
bool tx_request_valid(const TxPacket& packet, uint32_t max_frame);

/// Bytes that the request inserts into every frame.
inline uint32_t tx_tag_bytes(const verna_tx_desc& request) {
  return request.flags & (VERNA_TX_F_VLAN | VERNA_TX_F_SVLAN) ? 4 : 0;
}

}  // namespace verna
