// SPDX-License-Identifier: GPL-2.0-or-later
// Where packets of a queue pair go: frame headers and the MAC that they leave by.
#pragma once

#include "hw/verna_rdma.h"
#include "rdma/codec.h"
#include "rdma/services.h"

namespace verna {

/// A path is built from an address vector and the GID table. It follows changes of the table.
class Path {
 public:
  /// False: the source GID is not valid or the address families differ; the path is then unusable.
  bool set(RdmaServices& services, const verna_av& av, uint16_t default_sport);
  void clear() { mac_ = nullptr; }
  /// Looks again at the GID table if it changed. False: there is no way to send now.
  bool refresh(RdmaServices& services) {
    if (generation_ == services.gids.generation()) [[likely]]
      return mac_ != nullptr;
    return set(services, av_, default_sport_);
  }

  const FrameTemplate& frame() const { return frame_; }
  Mac& mac() const { return *mac_; }
  /// True if the packet comes from this path's destination to its source, on its VLAN.
  bool matches(const PacketView& packet) const;

 private:
  FrameTemplate frame_;
  Mac* mac_ = nullptr;
  verna_av av_{};
  uint8_t sgid_[16] = {};
  uint16_t vlan_ = VERNA_VLAN_NONE;
  uint16_t default_sport_ = 0;
  uint32_t generation_ = 0;
};

/// Source port of a flow for which none was given: 0xc000..0xffff, the same for both directions.
uint16_t default_udp_sport(uint32_t qpn, uint32_t remote_qpn);

}  // namespace verna
