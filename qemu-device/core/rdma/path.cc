// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/path.h"

#include <cstring>

namespace verna {

bool Path::set(RdmaServices& services, const verna_av& av, uint16_t default_sport) {
  av_ = av;
  default_sport_ = default_sport;
  generation_ = services.gids.generation();
  mac_ = nullptr;
  if (!services.gids.valid(av.sgid_index)) return false;
  const GidEntry& source = services.gids.at(av.sgid_index);
  if (gid_is_ipv4(av.dgid) != source.ipv4) return false;

  PathAddress address{};
  std::memcpy(address.smac, source.mac, 6);
  std::memcpy(address.dmac, av.dmac, 6);
  std::memcpy(address.sgid, source.gid, 16);
  std::memcpy(address.dgid, av.dgid, 16);
  address.vlan = source.vlan != VERNA_VLAN_NONE;
  address.vlan_tci = static_cast<uint16_t>((av.sl & 7) << 13 | (source.vlan & 0x0fff));
  address.hop_limit = av.hop_limit;
  address.traffic_class = av.traffic_class;
  address.flow_label = av.flow_label;
  address.udp_sport = av.udp_sport ? av.udp_sport : default_sport;
  make_template(address, &frame_);
  std::memcpy(sgid_, source.gid, 16);
  vlan_ = source.vlan;
  mac_ = services.gids.is_ours(av.dgid, source.vlan) ? &services.env.loopback : services.env.wire;
  return true;
}

bool Path::matches(const PacketView& packet) const {
  if (!mac_ || packet_vlan(packet) != vlan_) return false;
  uint8_t gid[16];
  packet_sgid(packet, gid);
  if (std::memcmp(gid, av_.dgid, 16) != 0) return false;
  packet_dgid(packet, gid);
  return std::memcmp(gid, sgid_, 16) == 0;
}

uint16_t default_udp_sport(uint32_t qpn, uint32_t remote_qpn) {
  uint64_t mix = uint64_t{qpn} * remote_qpn;
  mix ^= mix >> 20;
  mix ^= mix >> 40;
  return static_cast<uint16_t>(0xc000 | (mix & 0x3fff));
}

}  // namespace verna
