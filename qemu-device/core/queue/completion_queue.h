// SPDX-License-Identifier: GPL-2.0-or-later
// Writer of completion and event queues: rings with a phase bit in host memory.
#pragma once

#include "queue/queue_memory.h"

namespace verna {

/// Common to CQ and EQ: writes entries with a phase bit and knows the host's consumer index and arm
/// word. It never writes over an entry that the host has not consumed.
class PhaseRing {
 public:
  struct Layout {
    uint32_t rec_offset;
    uint32_t ring_offset;
    uint8_t log_size;
    uint8_t entry_size;  // 32 or 64
  };
  enum class Push { kOk, kFull, kDmaFault };

  bool init(HostBus* bus, FunctionId fn, PageList memory, const Layout& layout);

  /// Writes one entry, `entry_size` bytes whose last byte is the phase and is filled in here. The
  /// last 8 bytes are written after the others in one piece.
  Push push(void* entry);

  /// True if at least `wanted` entries are free (reads the host's index only if they seem not to
  /// be).
  bool has_room(uint32_t wanted = 1);

  /// An arm word that the host wrote and that no event has answered yet.
  struct Arm {
    uint32_t type;  // VERNA_ARM_NONE: there is none
    uint32_t sn;
  };
  /// Full barrier, then reads the record. Does not answer the arm word.
  Arm look_for_arm();
  /// The event for this arm word was sent.
  void serve(const Arm& arm) { served_arm_sn_ = arm.sn; }

  /// look_for_arm() and serve() in one: true exactly once per arm word that asks for what was
  /// pushed since; `solicited` tells whether any push since the last call was solicited or an
  /// error.
  bool take_arm(bool solicited);

  uint32_t size() const { return 1u << layout_.log_size; }
  /// Free-running counts of entries written and, as far as the card has noticed, consumed.
  uint32_t produced() const { return prod_; }
  uint32_t consumed() const { return cons_; }

 private:
  bool read_record(uint32_t* arm);

  HostBus* bus_ = nullptr;
  FunctionId fn_ = 0;
  PageList memory_;
  Layout layout_{};
  uint64_t rec_addr_ = 0;
  uint32_t prod_ = 0;
  uint32_t cons_ = 0;
  uint32_t served_arm_sn_ = 0;
};

}  // namespace verna
