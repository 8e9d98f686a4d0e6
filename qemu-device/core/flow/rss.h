// SPDX-License-Identifier: GPL-2.0-or-later
// Receive side scaling: which queue a packet goes to.
#pragma once

#include <array>

#include "pkt/packet_view.h"
#include "pkt/toeplitz.h"

namespace verna {

/// Hash function and indirection table of the function's Ethernet side.
class Rss {
 public:
  static constexpr uint16_t kTableSize = 128;
  using Table = std::array<uint16_t, kTableSize>;
  struct Choice {
    uint16_t queue;
    bool hashed;  // the packet is of a kind that is hashed; else `hash` is 0
    uint32_t hash;
  };

  /// `types`: VERNA_RSS_*. A packet whose transport is not selected is hashed by its addresses if
  /// those are; what is not hashed goes to the table's first entry.
  void configure(const uint8_t (&key)[VERNA_RSS_KEY_SIZE], const Table& table, uint32_t types);
  /// Everything to queue 0.
  void reset();
  Choice choose(const PacketView& packet) const;

  uint32_t types() const { return types_; }
  const Table& table() const { return table_; }

 private:
  Toeplitz toeplitz_;
  Table table_{};
  uint32_t types_ = 0;
};

}  // namespace verna
