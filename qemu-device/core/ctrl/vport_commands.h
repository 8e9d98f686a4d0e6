// SPDX-License-Identifier: GPL-2.0-or-later
// SET_VPORT and QUERY_VPORT: what the PF says of the vports of its VFs.
#pragma once

#include <functional>

#include "ctrl/command.h"
#include "host/host_bus.h"
#include "sched/rate_tree.h"
#include "vswitch/switch.h"

namespace verna {

class VportCommands {
 public:
  /// Leaves of `rates` are VFs 1 and on; `bus` is the PF's. `changed` is told whose settings
  /// changed.
  VportCommands(HostBus& bus, Switch& vswitch, RateTree& rates,
                std::function<void(FunctionId)> changed)
      : bus_(bus), switch_(vswitch), rates_(rates), changed_(std::move(changed)) {}

  static bool knows(uint16_t opcode) {
    return opcode == VERNA_CMD_SET_VPORT || opcode == VERNA_CMD_QUERY_VPORT;
  }
  /// Executes a command that it knows and the PF sent.
  CommandResult execute(const CommandBytes& command);

 private:
  RateSetup rates_after(const verna_cmd_set_vport& cmd) const;
  CommandResult check_rates(const verna_cmd_set_vport& cmd, const RateSetup& rates) const;
  CommandResult set_vport(const verna_cmd_set_vport& cmd);
  CommandResult query_vport(const verna_cmd_query& cmd);

  HostBus& bus_;
  Switch& switch_;
  RateTree& rates_;
  std::function<void(FunctionId)> changed_;
};

/// How a command ends that the bridge refused; `field` is the offset of the address in it.
CommandResult vport_result(Bridge::Status status, uint32_t field);

}  // namespace verna
