// SPDX-License-Identifier: GPL-2.0-or-later
// Numbers and sizes of Ethernet, IP and what is above, as IEEE and IANA have them.
#pragma once

#include "base/types.h"

namespace verna {

inline constexpr uint32_t kMacAddressBytes = 12;  // both
inline constexpr uint32_t kMacHeaderBytes = 14;
inline constexpr uint32_t kVlanBytes = 4;
/// Of six bytes, one of the addresses.
inline bool is_broadcast(const uint8_t* mac) {
  return std::all_of(mac, mac + 6, [](uint8_t b) { return b == 0xff; });
}

inline constexpr uint32_t kIpv4Bytes = 20;  // without options
inline constexpr uint32_t kIpv6Bytes = 40;
inline constexpr uint32_t kTcpBytes = 20;  // without options
inline constexpr uint32_t kUdpBytes = 8;

inline constexpr uint16_t kEthertypeIpv4 = 0x0800;
inline constexpr uint16_t kEthertypeIpv6 = 0x86dd;
inline constexpr uint16_t kEthertypeVlan = 0x8100;
inline constexpr uint16_t kEthertypeQinq = 0x88a8;
inline constexpr uint16_t kEthertypeControl = 0x8808;  // MAC control
inline constexpr bool is_vlan(uint16_t ethertype) {
  return ethertype == kEthertypeVlan || ethertype == kEthertypeQinq;
}

inline constexpr uint8_t kProtoIpv4 = 4;  // inside of IP
inline constexpr uint8_t kProtoTcp = 6;
inline constexpr uint8_t kProtoUdp = 17;
inline constexpr uint8_t kProtoIpv6 = 41;  // inside of IP
inline constexpr uint8_t kProtoGre = 47;
inline constexpr uint8_t kProtoSctp = 132;

inline constexpr uint8_t kEcnMask = 3;  // of TOS; both bits set: congestion experienced

inline constexpr uint16_t kControlPause = 0x0001;  // opcode of MAC control
inline constexpr uint16_t kRocePort = 4791;

inline uint32_t ipv6_flow_label(const uint8_t* ip) { return load_be32(ip) & 0xfffff; }

}  // namespace verna
