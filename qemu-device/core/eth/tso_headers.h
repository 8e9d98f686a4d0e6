// SPDX-License-Identifier: GPL-2.0-or-later
// The headers of a packet to be cut into segments, checked against what its descriptor says.
#pragma once

#include "base/types.h"
#include "hw/verna_eth.h"

namespace verna {

/// Where the headers lie that differ from segment to segment. All offsets are inside of hdr_len
/// bytes and in order: outer_l3 < outer_l4 < l3 < l4.
struct TsoHeaders {
  uint16_t l3 = 0;
  uint16_t l4 = 0;
  uint16_t end = 0;  // of all headers
  bool ipv4 = false;
  bool tcp = false;

  uint16_t outer_l3 = 0;  // 0: no tunnel
  uint16_t outer_l4 = 0;  // 0: IP in IP
  bool outer_ipv4 = false;
  bool outer_udp = false;       // at outer_l4; else GRE
  bool outer_checksum = false;  // of UDP or GRE, has to be written

  /// Looks at `hdr`, the card's copy of the first request.hdr_len bytes of the packet. False: they
  /// are not what the request says, contradict one another, or cannot be repeated in segments (an
  /// IP fragment, a GRE sequence number).
  bool parse(const uint8_t* hdr, const verna_tx_desc& request);

 private:
  bool parse_tunnel(const uint8_t* hdr);
  bool parse_gre(const uint8_t* hdr);
  bool parse_inner(const uint8_t* hdr);
};

}  // namespace verna
