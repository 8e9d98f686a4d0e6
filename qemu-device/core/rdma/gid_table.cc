// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/gid_table.h"

#include <cstring>

#include "rdma/codec.h"

namespace verna {
namespace {

void ip_to_gid(const PacketView& packet, uint32_t offset4, uint32_t offset6, uint8_t gid[16]) {
  if (packet.ip_version == 6) {
    std::memcpy(gid, packet.hdr + packet.l3 + offset6, 16);
    return;
  }
  std::memset(gid, 0, 10);
  gid[10] = gid[11] = 0xff;
  std::memcpy(gid + 12, packet.hdr + packet.l3 + offset4, 4);
}

}  // namespace

uint16_t packet_vlan(const PacketView& packet) {
  const uint16_t id = packet.vlan_tci & 0x0fff;
  return packet.has_vlan && id != 0 ? id : uint16_t{VERNA_VLAN_NONE};
}

void packet_dgid(const PacketView& packet, uint8_t gid[16]) { ip_to_gid(packet, 16, 24, gid); }
void packet_sgid(const PacketView& packet, uint8_t gid[16]) { ip_to_gid(packet, 12, 8, gid); }

void GidTable::set(size_t index, const GidEntry& entry) {
  entries_[index] = entry;
  generation_++;
  used_ = size();
  while (used_ > 0 && !entries_[used_ - 1].valid) used_--;
}

void GidTable::clear() {
  for (GidEntry& entry : entries_) entry = GidEntry{};
  generation_++;
  used_ = 0;
}

bool GidTable::matches(const GidEntry& entry, const uint8_t gid[16], uint16_t vlan) const {
  return entry.valid && entry.vlan == vlan && std::memcmp(entry.gid, gid, 16) == 0;
}

bool GidTable::is_ours(const uint8_t gid[16], uint16_t vlan) const {
  if (last_ < used_ && matches(entries_[last_], gid, vlan)) return true;
  for (size_t i = 0; i < used_; i++) {
    if (!matches(entries_[i], gid, vlan)) continue;
    last_ = i;
    return true;
  }
  return false;
}

bool GidTable::claims(const PacketView& packet) const {
  if (packet.l4 == 0 || packet.ip_proto != kProtoUdp || packet.dport() != kRocePort) return false;
  if (packet.vlan_tags > 1) return false;
  uint8_t gid[16];
  packet_dgid(packet, gid);
  // An IPv6 packet to a mapped address is not IPv4.
  if (packet.ip_version == 6 && gid_is_ipv4(gid)) return false;
  return is_ours(gid, packet_vlan(packet));
}

}  // namespace verna
