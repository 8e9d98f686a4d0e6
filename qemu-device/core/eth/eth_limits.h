// SPDX-License-Identifier: GPL-2.0-or-later
// What the Ethernet side of the card offers; advertised in verna_cap_eth and enforced here.
#pragma once

#include <cstdint>

#include "eth/frame_store.h"
#include "flow/rss.h"

namespace verna {

struct EthLimits {
  uint16_t max_queues = 128;  // TX and RX queues each
  uint8_t log_max_entries = 14;
  uint16_t max_mac_filters = 512;
  uint32_t max_flow_rules = 1u << 20;
  uint16_t min_mtu = 68;
  uint16_t max_mtu = 9600;
  uint16_t default_mtu = 1500;
  uint32_t max_held_cells = FrameStore::kDefaultCells;
  /// PAUSE and traffic classes are this function's to set; else all its queues are equal, in class
  /// 0.
  bool owns_wire = true;
};

/// Descriptors of one packet to send: the kernel's MAX_SKB_FRAGS and one for the header, rounded
/// up.
inline constexpr uint16_t kMaxTxFrags = 32;
inline constexpr uint32_t kMaxBufferBytes = 65536;
/// Longest packet to cut into segments, headers included: what Linux makes at most (BIG TCP).
inline constexpr uint32_t kMaxTsoBytes = 524288;
inline constexpr uint32_t kMinRxBufferBytes = 64;

}  // namespace verna
