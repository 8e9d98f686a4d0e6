// SPDX-License-Identifier: GPL-2.0-or-later
// The card's counters, in the order of the contract's lists.
#pragma once

#include <array>
#include <cstdint>

#include "hw/verna_counters.h"

namespace verna {

/// Counters of one function and its port, indexed by the enums of verna_counters.h, for example
/// `counters.port[VERNA_PORT_rx_frames]++`. Written by the card's owner only.
struct Counters {
  std::array<uint64_t, VERNA_PORT_NUM_COUNTERS> port{};
  std::array<uint64_t, VERNA_ETH_NUM_COUNTERS> eth{};
  std::array<uint64_t, VERNA_RDMA_NUM_COUNTERS> rdma{};
  std::array<uint64_t, VERNA_DEV_NUM_COUNTERS> dev{};
};

}  // namespace verna
