// SPDX-License-Identifier: GPL-2.0-or-later
// Ethernet inside of VXLAN, GENEVE and GRE.
#pragma once

#include <array>

#include "pkt/packet_view.h"

namespace verna {

enum class TunnelKind : uint8_t { kNone, kVxlan, kGeneve, kGre };

/// UDP ports on which tunnels are looked for; 0: no port.
struct TunnelPorts {
  std::array<uint16_t, 4> vxlan{4789};
  std::array<uint16_t, 4> geneve{6081};
};

struct Tunnel {
  TunnelKind kind = TunnelKind::kNone;
  bool has_id = false;  // GRE may have no key
  uint32_t id = 0;      // VNI or key
  FrameLayers inner;    // offsets are from the start of the outer frame
};

inline constexpr uint32_t kVxlanBytes = 8;
inline constexpr uint32_t kGeneveBytes = 8;  // without options
inline constexpr uint32_t kGreBytes = 4;     // without optional fields
inline constexpr uint16_t kEthertypeBridged = 0x6558;

/// Looks for a whole Ethernet header inside of the frame whose layers are `outer`. Not a tunnel:
/// fragments, other versions and protocols than Ethernet, VXLAN without a VNI, GENEVE that is for
/// control or has critical options (RFC 8926: these may not be skipped), GRE with routing.
Tunnel find_tunnel(const HeaderBytes& bytes, const FrameLayers& outer, const TunnelPorts& ports);

}  // namespace verna
