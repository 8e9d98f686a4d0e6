// SPDX-License-Identifier: GPL-2.0-or-later
// Commands of the PF about inner nodes of the tree of rates.
#pragma once

#include "ctrl/command.h"
#include "host/host_bus.h"
#include "hw/verna_rate.h"
#include "sched/rate_tree.h"

namespace verna {

/// CREATE_, MODIFY_, DESTROY_ and QUERY_RATE_NODE.
class RateCommands {
 public:
  /// `bus` is the PF's.
  RateCommands(HostBus& bus, RateTree& tree) : bus_(bus), tree_(tree) {}

  static bool knows(uint16_t opcode);
  /// Executes a command that it knows and the PF sent.
  CommandResult execute(const CommandBytes& command);

 private:
  CommandResult create(const verna_cmd_rate_node& cmd);
  CommandResult modify(const verna_cmd_rate_node& cmd);
  CommandResult destroy(const verna_cmd_object& cmd);
  CommandResult query(const verna_cmd_query& cmd);

  HostBus& bus_;
  RateTree& tree_;
};

/// How a command ends that the tree answered so; `parent` is the offset of that field in it.
CommandResult rate_result(RateTree::Status status, uint32_t parent);

}  // namespace verna
