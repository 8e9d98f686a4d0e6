// SPDX-License-Identifier: GPL-2.0-or-later
// The GID table: our own addresses on the wire.
#pragma once

#include <vector>

#include "hw/verna_cmd.h"
#include "pkt/packet_view.h"

namespace verna {

struct GidEntry {
  bool valid = false;
  bool ipv4 = false;
  uint8_t gid[16] = {};
  uint8_t mac[6] = {};
  uint16_t vlan = VERNA_VLAN_NONE;
};

class GidTable {
 public:
  explicit GidTable(size_t size) : entries_(size) {}

  size_t size() const { return entries_.size(); }
  const GidEntry& at(size_t index) const { return entries_[index]; }
  bool valid(size_t index) const { return index < size() && entries_[index].valid; }
  void set(size_t index, const GidEntry& entry);
  void clear();

  /// True if a valid entry has this GID on this VLAN.
  bool is_ours(const uint8_t gid[16], uint16_t vlan) const;
  /// True if the IP packet is to a valid entry's address, on its VLAN.
  bool claims(const PacketView& packet) const;

  /// Paths that were built from entries look again.
  void invalidate_paths() { generation_++; }
  /// Changes with every set() and clear(), too.
  uint32_t generation() const { return generation_; }

 private:
  bool matches(const GidEntry& entry, const uint8_t gid[16], uint16_t vlan) const;

  std::vector<GidEntry> entries_;
  uint32_t generation_ = 1;
  size_t used_ = 0;          // entries at or above are not valid
  mutable size_t last_ = 0;  // of the last match
};

/// Destination and source address of an IP packet as GIDs (IPv4: ::ffff:a.b.c.d).
void packet_dgid(const PacketView& packet, uint8_t gid[16]);
void packet_sgid(const PacketView& packet, uint8_t gid[16]);
/// VLAN of a frame as the table names it. A tag of VLAN 0 carries only a priority.
uint16_t packet_vlan(const PacketView& packet);

}  // namespace verna
