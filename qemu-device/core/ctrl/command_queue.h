// SPDX-License-Identifier: GPL-2.0-or-later
// The admin queue: commands from the host, one completion each.
#pragma once

#include <functional>

#include "base/counters.h"
#include "base/trace.h"
#include "ctrl/command.h"
#include "host/host_bus.h"
#include "hw/verna_regs.h"

namespace verna {

/// Fetches commands, has them executed in order, and writes completions. If its memory fails the
/// card is dead (VERNA_FATAL_AQ_DMA): nobody could be told anything.
class CommandQueue {
 public:
  using Execute = std::function<CommandResult(const CommandBytes&, Nanos)>;
  struct Config {
    uint64_t sq_addr;
    uint64_t cq_addr;
    uint32_t log_size;
  };

  /// Of function `fn`.
  CommandQueue(HostBus& bus, FunctionId fn, Counters& counters, Trace& trace, Execute execute,
               std::function<void(verna_fatal)> fatal);

  /// False: addresses are not 4 KiB aligned or the size is out of range.
  bool enable(const Config& config);
  void disable() { enabled_ = false; }
  bool enabled() const { return enabled_; }

  /// Doorbell register: count of all commands posted. Nonsense (more than the ring holds) is
  /// ignored.
  void post(uint32_t count);
  bool pending() const { return enabled_ && posted_ != done_; }

  /// Executes at most `max` commands; returns how many.
  uint32_t run(uint32_t max, Nanos now);

 private:
  bool run_one(bool* wants_event, Nanos now);
  bool complete(const verna_cmd_hdr& hdr, const CommandResult& result);
  CommandResult dispatch(const CommandBytes& command, Nanos now);
  bool may_name(const verna_cmd_hdr& hdr) const;

  HostBus& bus_;
  FunctionId fn_;
  Counters& counters_;
  Trace& trace_;
  Execute execute_;
  std::function<void(verna_fatal)> fatal_;
  Config config_{};
  bool enabled_ = false;
  uint32_t posted_ = 0;
  uint32_t done_ = 0;
};

/// Bytes of the command's structure, 0 if there is no such opcode. What follows it must be zero.
uint32_t command_length(uint16_t opcode);

}  // namespace verna
