// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/frame_counters.h"

#include <algorithm>
#include <bit>

#include "pkt/protocols.h"

namespace verna {
namespace {

constexpr uint32_t kMinSize = 64;     // with FCS, as all sizes here
constexpr uint32_t kLongSize = 1519;  // the first that is longer than IEEE 802.3 knows
constexpr uint32_t kMinData = 46;
constexpr uint16_t kMaxLengthField = 1500;
constexpr uint16_t kFirstType = 1536;

static_assert(VERNA_PORT_tx_frames_1519_max - VERNA_PORT_tx_frames_64 == 6);
static_assert(VERNA_PORT_rx_frames_1519_max - VERNA_PORT_rx_frames_64 == 6);

/// Which of the seven sizes a frame of at least 64 bytes has: each begins at a power of two.
uint32_t bucket(uint32_t size) {
  if (size <= kMinSize) return 0;
  return size >= kLongSize ? 6 : static_cast<uint32_t>(std::bit_width(size)) - 6;
}

uint16_t type_of(const uint8_t* frame) { return load_be16(frame + 12); }

enum class Cast { kUnicast, kMulticast, kBroadcast };

Cast cast_of(const uint8_t* frame) {
  if (!(frame[0] & 1)) return Cast::kUnicast;
  return is_broadcast(frame) ? Cast::kBroadcast : Cast::kMulticast;
}

/// IEEE 802.3 30.3.1.1.23 and 24: a length field that is not the length, or no length at all.
void count_length_field(Counters& counters, uint16_t type, uint32_t len) {
  if (type >= kFirstType) return;
  const uint32_t data = len - kMacHeaderBytes;
  if (type > kMaxLengthField)
    counters.port[VERNA_PORT_rx_length_out_of_range]++;
  else if (data != std::max<uint32_t>(type, kMinData))
    counters.port[VERNA_PORT_rx_length_in_range]++;
}

}  // namespace

void count_sent(Counters& counters, const uint8_t* frame, uint32_t len) {
  counters.port[VERNA_PORT_tx_frames]++;
  counters.port[VERNA_PORT_tx_bytes] += len;
  counters.port[VERNA_PORT_tx_frames_64 + bucket(len + kFcsBytes)]++;
  const Cast cast = cast_of(frame);
  if (cast == Cast::kMulticast) counters.port[VERNA_PORT_tx_multicast]++;
  if (cast == Cast::kBroadcast) counters.port[VERNA_PORT_tx_broadcast]++;
  if (type_of(frame) == kEthertypeControl) counters.port[VERNA_PORT_tx_control]++;
}

void count_received(Counters& counters, uint32_t len, uint32_t max_len, bool fcs_ok) {
  counters.port[VERNA_PORT_rx_frames]++;
  counters.port[VERNA_PORT_rx_bytes] += len;
  if (len + kFcsBytes >= kMinSize)
    counters.port[VERNA_PORT_rx_frames_64 + bucket(len + kFcsBytes)]++;
  else
    counters.port[fcs_ok ? VERNA_PORT_rx_undersize : VERNA_PORT_rx_fragments]++;
  if (len > max_len && !fcs_ok) counters.port[VERNA_PORT_rx_jabbers]++;
}

void count_good(Counters& counters, const uint8_t* frame, uint32_t len) {
  counters.port[VERNA_PORT_rx_good_bytes] += len;
  const Cast cast = cast_of(frame);
  if (cast == Cast::kMulticast) counters.port[VERNA_PORT_rx_multicast]++;
  if (cast == Cast::kBroadcast) counters.port[VERNA_PORT_rx_broadcast]++;
  const uint16_t type = type_of(frame);
  count_length_field(counters, type, len);
  if (type != kEthertypeControl) return;
  counters.port[VERNA_PORT_rx_control]++;
  if (len < kMacHeaderBytes + 2 || load_be16(frame + 14) != kControlPause)
    counters.port[VERNA_PORT_rx_control_unknown]++;
}

}  // namespace verna
