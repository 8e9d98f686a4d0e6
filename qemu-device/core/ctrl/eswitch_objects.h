// SPDX-License-Identifier: GPL-2.0-or-later
// Commands about meters and edits, which rules of the embedded switch share.
#pragma once

#include "ctrl/command.h"
#include "host/host_bus.h"
#include "vswitch/switch.h"

namespace verna {

class EswitchObjects {
 public:
  /// `bus` is the PF's.
  EswitchObjects(HostBus& bus, Switch& vswitch) : bus_(bus), switch_(vswitch) {}

  static bool knows(uint16_t opcode);
  /// Executes a command that it knows and the PF sent.
  CommandResult execute(const CommandBytes& command, Nanos now);

 private:
  CommandResult create_meter(const verna_cmd_flow_object& cmd, Nanos now);
  CommandResult modify_meter(const verna_cmd_flow_object& cmd, Nanos now);
  CommandResult query_meter(const verna_cmd_query& cmd);
  CommandResult create_edit(const verna_cmd_flow_object& cmd);
  template <typename T>
  CommandResult read(const verna_cmd_flow_object& cmd, T* out);
  CommandResult read_meter(const verna_cmd_flow_object& cmd, MeterConfig* config);
  bool is_on() const { return switch_.mode() == VERNA_ESWITCH_SWITCHDEV; }

  HostBus& bus_;
  Switch& switch_;
};

}  // namespace verna
