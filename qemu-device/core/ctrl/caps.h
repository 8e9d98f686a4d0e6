// SPDX-License-Identifier: GPL-2.0-or-later
// Capability blocks: what the card says about itself.
#pragma once

#include <vector>

#include "ctrl/device_limits.h"
#include "eth/eth_limits.h"
#include "hw/verna_caps.h"
#include "rdma/rdma_engine.h"

namespace verna {

verna_cap_dev device_caps(const DeviceLimits& limits);
verna_cap_eth ethernet_caps(const EthLimits& limits);
/// The node GUID is made of `mac` as IPv6 makes interface ids.
verna_cap_rdma rdma_caps(const RdmaLimits& limits, const uint8_t (&mac)[6]);

/// Of a PF; without VFs there are no such blocks.
verna_cap_vport vport_caps(uint16_t max_vfs, uint16_t max_addresses);
verna_cap_eswitch eswitch_caps();

/// The blocks one after the other, linked, as the host reads them from VERNA_CAPS_BASE on.
std::vector<uint32_t> build_caps(const verna_cap_dev& dev, const verna_cap_eth& eth,
                                 const verna_cap_rdma& rdma, const verna_cap_vport& vport,
                                 const verna_cap_eswitch& eswitch);

}  // namespace verna
