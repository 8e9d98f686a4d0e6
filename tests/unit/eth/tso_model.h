// SPDX-License-Identifier: GPL-2.0-or-later
// Segmentation as a sender without offload would do it: every segment is written from scratch out
// of named values, one header after the other, with checksums by the definition. It shares no code
// with the card and knows no offsets but those that it writes itself.
#pragma once

#include <random>
#include <utility>
#include <vector>

#include "hw/verna_eth.h"
#include "support/packet_builder.h"

namespace verna::test {

enum class Tunnel { kNone, kVxlan, kGeneve, kGre, kGreKey, kGreTap, kIp };

/// A TCP or UDP packet that is to be cut, and all that its headers hold.
struct TsoSpec {
  std::vector<std::pair<uint16_t, uint16_t>> tags;  // TPID and TCI that are in the packet
  Tunnel tunnel = Tunnel::kNone;
  int outer_version = 4;
  size_t outer_options = 0;  // bytes: IPv4 options, or an IPv6 destination option
  bool outer_checksum = false;
  uint16_t outer_id = 0xfffe;
  int version = 4;
  size_t options = 0;
  uint16_t id = 0xfffd;
  bool tcp = true;
  size_t tcp_options = 0;
  uint8_t tcp_flags = 0x10;
  uint32_t seq = 0xfffffc00;
  uint16_t mss = 100;
  Bytes payload;
  uint16_t flags = 0;  // VERNA_TX_F_* beyond TSO, USO and EOP
  uint16_t tci = 0;    // of the tag that is inserted
};

/// What the host posts and what has to be on the wire.
struct TsoCase {
  Bytes packet;
  verna_tx_desc request{};  // all but address and length
  std::vector<Bytes> segments;
};

/// A packet with all headers right but lengths, IDs and checksums, which are the card's to write.
TsoCase make_case(const TsoSpec& spec);

/// Any of all that is allowed, with up to `max_payload` bytes in segments of up to `max_frame`.
TsoSpec random_spec(std::mt19937_64& random, size_t max_payload, size_t max_frame);

/// Bytes of all headers.
size_t header_bytes(const TsoSpec& spec);

}  // namespace verna::test
