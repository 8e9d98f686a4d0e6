// SPDX-License-Identifier: GPL-2.0-or-later
// Commands of the PF about the embedded switch in switchdev mode.
#pragma once

#include <functional>

#include "ctrl/eswitch_objects.h"
#include "host/host_bus.h"
#include "vswitch/switch.h"

namespace verna {

/// SET_ESWITCH, SET_VPORT_GROUP, flow commands that name a table or a rule of the switch, and those
/// of EswitchObjects.
class EswitchCommands {
 public:
  /// Sets the mode, and the RX queue of the PF that gets what no rule decides.
  using SetMode = std::function<void(verna_eswitch_mode mode, uint16_t queue, Nanos now)>;

  /// `bus` is the PF's, which can have `max_rxqs` RX queues.
  EswitchCommands(HostBus& bus, Switch& vswitch, uint16_t max_rxqs, SetMode set_mode)
      : bus_(bus),
        switch_(vswitch),
        objects_(bus, vswitch),
        max_rxqs_(max_rxqs),
        set_mode_(std::move(set_mode)) {}

  static bool knows(const CommandBytes& command);
  /// Executes a command that it knows and the PF sent.
  CommandResult execute(const CommandBytes& command, Nanos now);

 private:
  CommandResult set_eswitch(const verna_cmd_set_eswitch& cmd, Nanos now);
  CommandResult set_group(const verna_cmd_vport_group& cmd);
  CommandResult add_flow(const verna_cmd_add_flow& cmd, Nanos now);
  CommandResult del_flow(const verna_cmd_object& cmd);
  CommandResult set_miss(const verna_cmd_flow_miss& cmd);
  bool load_objects(const verna_flow_actions& from, FlowActions* to) const;
  bool load_actions(const verna_flow_actions& from, FlowActions* to) const;
  bool is_on() const { return switch_.mode() == VERNA_ESWITCH_SWITCHDEV; }

  HostBus& bus_;
  Switch& switch_;
  EswitchObjects objects_;
  uint16_t max_rxqs_;
  SetMode set_mode_;
};

}  // namespace verna
