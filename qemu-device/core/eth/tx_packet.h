// SPDX-License-Identifier: GPL-2.0-or-later
// A packet to send: its descriptors, copied once, and a reader of the bytes that they describe.
#pragma once

#include <algorithm>
#include <array>

#include "eth/eth_limits.h"
#include "host/host_bus.h"
#include "hw/verna_eth.h"

namespace verna {

struct TxPacket {
  std::array<verna_tx_desc, kMaxTxFrags> frags;
  uint32_t count = 0;  // descriptors
  uint64_t bytes = 0;  // of all of them

  /// The descriptor that says what the card is to do with the packet.
  const verna_tx_desc& request() const { return frags[0]; }
  /// To a vport that it names.
  bool aimed() const { return request().flags & VERNA_TX_F_VPORT; }
  bool segmented() const { return request().flags & (VERNA_TX_F_TSO | VERNA_TX_F_USO); }
};

/// Reads a packet from host memory from its start to its end, in pieces of any size, straight to
/// where they are needed.
class TxReader {
 public:
  /// `packet` stays as it is while it is read.
  void start(const TxPacket* packet) { *this = TxReader{packet}; }

  /// Copies the next `len` bytes, of which there must be so many. False: DMA failed.
  [[nodiscard]] bool read(HostBus& bus, FunctionId fn, uint8_t* to, uint32_t len) {
    while (len) {
      const verna_tx_desc& d = packet_->frags[frag_];
      const uint32_t piece = std::min(len, d.len - done_);
      if (!bus.read(fn, d.addr + done_, to, piece)) return false;
      to += piece;
      len -= piece;
      done_ += piece;
      if (done_ < d.len) break;
      frag_++;
      done_ = 0;
    }
    return true;
  }

  TxReader() = default;

 private:
  explicit TxReader(const TxPacket* packet) : packet_(packet) {}

  const TxPacket* packet_ = nullptr;
  uint32_t frag_ = 0;  // that the next byte is in
  uint32_t done_ = 0;  // bytes of it that were read
};

}  // namespace verna
