// SPDX-License-Identifier: GPL-2.0-or-later
// Which VLANs Ethernet takes, and which tags it strips.
#pragma once

#include <bitset>

#include "hw/verna_cmd.h"
#include "pkt/packet_view.h"

namespace verna {

/// Looks at the outermost tag alone: one behind it belongs to whoever the outer VLAN is for.
class VlanFilter {
 public:
  static constexpr uint16_t kMaxVid = 4095;

  /// `features`: VERNA_ETH_ON_*. Priority tags (VID 0) and frames without a tag always pass.
  bool accepts(const PacketView& packet, uint32_t features) const {
    if (!packet.has_vlan) return true;
    const bool service = is_service(packet);
    if (!(features & (service ? VERNA_ETH_ON_FILTER_S : VERNA_ETH_ON_FILTER))) return true;
    const uint16_t vid = packet.vlan_tci & 0xfff;
    return vid == 0 || table(service)[vid];
  }
  static bool strips(const PacketView& packet, uint32_t features) {
    return packet.has_vlan &&
           (features & (is_service(packet) ? VERNA_ETH_ON_STRIP_S : VERNA_ETH_ON_STRIP));
  }
  /// The tag is an 802.1ad one.
  static bool is_service(const PacketView& packet) {
    return load_be16(packet.hdr + 12) == kEthertypeQinq;
  }

  bool contains(uint16_t vid, bool service) const { return table(service)[vid]; }
  void set(uint16_t vid, bool service, bool on) { tables_[service][vid] = on; }
  size_t size() const { return tables_[0].count() + tables_[1].count(); }
  void reset() {
    tables_[0].reset();
    tables_[1].reset();
  }

 private:
  using Table = std::bitset<kMaxVid + 1>;
  const Table& table(bool service) const { return tables_[service]; }
  Table tables_[2];
};

}  // namespace verna
