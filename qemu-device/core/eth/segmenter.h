// SPDX-License-Identifier: GPL-2.0-or-later
// Cuts one large TCP or UDP packet into frames.
#pragma once

#include "eth/tso_headers.h"
#include "eth/tx_packet.h"
#include "pkt/checksum.h"

namespace verna {

/// Makes the segments of a packet one by one, in order. Headers are a private copy that was checked
/// once; the payload of a segment is read from host memory straight into its frame, so that between
/// two segments nothing is held but this state and the work may rest there for as long as the wire,
/// the budget or a rate demands.
class Segmenter {
 public:
  enum class Begin { kReady, kBad, kDmaFault };

  /// Reads and checks the headers of a packet for which tx_request_valid() holds and that stays as
  /// it is until done(). `max_segment` bounds a segment, in bytes from the MAC addresses on.
  Begin begin(HostBus& bus, FunctionId fn, const TxPacket& packet, uint32_t max_segment);

  bool done() const { return left_ == 0; }
  /// Bytes of the next segment, headers included.
  uint32_t next_length() const { return headers_.end + next_payload(); }

  /// Writes the next segment, next_length() bytes, to `frame`, and goes on to the one after it.
  /// False: DMA failed and there are no more.
  [[nodiscard]] bool write(HostBus& bus, FunctionId fn, uint8_t* frame);

 private:
  uint32_t next_payload() const { return std::min(mss_, left_); }
  void write_ip(uint8_t* frame, uint32_t l3, uint32_t len, bool ipv4, bool fixed_id) const;
  CsumSum write_l4(uint8_t* frame, uint32_t len) const;
  void write_tcp(uint8_t* tcp, bool last) const;
  void write_outer(uint8_t* frame, uint32_t len, CsumSum inner) const;

  TsoHeaders headers_;
  TxReader reader_;
  uint32_t mss_ = 0;
  uint32_t left_ = 0;   // payload bytes not yet sent
  uint32_t index_ = 0;  // of the next segment
  uint16_t flags_ = 0;  // VERNA_TX_F_*
  std::array<uint8_t, VERNA_TX_MAX_HDR> hdr_;
};

}  // namespace verna
