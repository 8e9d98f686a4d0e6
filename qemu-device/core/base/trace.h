// SPDX-License-Identifier: GPL-2.0-or-later
// Trace points that follow one packet through the card.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "base/types.h"

namespace verna {

/// Stages of a packet or a request, in the order of architecture and life-of-a-packet.
enum class Stage : uint8_t {
  kDoorbell,     // a: doorbell value, b: page
  kCommand,      // a: opcode, b: status
  kTxFetch,      // a: queue or QPN, b: index of the descriptor or request
  kTxSend,       // a: queue or QPN, b: bytes (RDMA: opcode << 24 | PSN in the upper word)
  kWireOut,      // a: bytes
  kWireIn,       // a: bytes
  kSwitch,       // a: vport it came from << 16 | vport it goes to, b: bytes there
  kDrop,         // a: counter group << 16 | counter, b: bytes
  kFlow,         // a: chain << 32 | flow rule, 0: a miss, b: its priority << 32 |
                 // direction << 24 | group << 8 | hash look-ups
  kSteerEth,     // a: RX queue, b: hash
  kRxDeliver,    // a: RX queue, b: first descriptor
  kRdmaIn,       // a: QPN, b: opcode << 24 | PSN
  kRdmaExecute,  // a: QPN, b: bytes placed
  kRdmaAck,      // a: QPN, b: syndrome << 24 | PSN
  kRetransmit,   // a: QPN, b: PSN
  kComplete,     // a: CQN, b: status << 32 | wqe index
  kEvent,        // a: EQN, b: type
  kInterrupt,    // a: vector
  kCount
};
const char* stage_name(Stage stage);

/// A ring of the last records. Off by default; when off a trace point is one predictable branch.
class Trace {
 public:
  struct Record {
    Nanos time;
    uint64_t packet;  // the number of the frame or request that the card was working on
    uint64_t a;
    uint64_t b;
    Stage stage;
  };
  static constexpr size_t kRecords = 16384;

  void enable(bool on);
  bool enabled() const { return records_ != nullptr; }
  void set_now(Nanos now) { now_ = now; }
  /// Starts a new packet: records that follow carry its number.
  void next_packet() { packet_++; }

  void point(Stage stage, uint64_t a, uint64_t b = 0) {
    if (records_) [[unlikely]]
      store(stage, a, b);
  }
  uint64_t written() const { return written_; }
  /// Record number `i` of all ever written; only the last kRecords exist.
  const Record& at(uint64_t i) const { return (*records_)[i % kRecords]; }

 private:
  void store(Stage stage, uint64_t a, uint64_t b);
  std::unique_ptr<std::array<Record, kRecords>> records_;
  uint64_t written_ = 0;
  uint64_t packet_ = 0;
  Nanos now_ = 0;
};

}  // namespace verna
