// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/eswitch_commands.h"

#include <bit>

#include "ctrl/flow_result.h"

namespace verna {
namespace {

constexpr uint32_t kDestinations =
    VERNA_FLOW_A_DROP | VERNA_FLOW_A_PORT | VERNA_FLOW_A_CHAIN | VERNA_FLOW_A_TRAP;

FlowTarget target_of(uint32_t flags) {
  if (flags & VERNA_FLOW_A_PORT) return FlowTarget::kPort;
  if (flags & VERNA_FLOW_A_CHAIN) return FlowTarget::kChain;
  return flags & VERNA_FLOW_A_TRAP ? FlowTarget::kTrap : FlowTarget::kNext;
}

/// An operand is there with its action, and else zero.
bool has_operand(uint32_t flags, uint32_t action, uint32_t operand) {
  return flags & action || operand == 0;
}

}  // namespace

bool EswitchCommands::knows(const CommandBytes& command) {
  switch (command.as<verna_cmd_hdr>().opcode) {
    case VERNA_CMD_SET_ESWITCH:
    case VERNA_CMD_SET_VPORT_GROUP:
      return true;
    case VERNA_CMD_ADD_FLOW:
      return command.as<verna_cmd_add_flow>().direction == VERNA_FLOW_SWITCH;
    case VERNA_CMD_SET_FLOW_MISS:
      return command.as<verna_cmd_flow_miss>().direction == VERNA_FLOW_SWITCH;
    case VERNA_CMD_DEL_FLOW:
      return command.as<verna_cmd_object>().id & VERNA_FLOW_ID_SWITCH;
    case VERNA_CMD_QUERY_FLOW:
      return command.as<verna_cmd_query>().id & VERNA_FLOW_ID_SWITCH;
    case VERNA_CMD_GET_AGED_FLOWS:
      return command.as<verna_cmd_query>().group == VERNA_FLOW_SWITCH;
    default:
      return EswitchObjects::knows(command.as<verna_cmd_hdr>().opcode);
  }
}

CommandResult EswitchCommands::execute(const CommandBytes& command, Nanos now) {
  switch (command.as<verna_cmd_hdr>().opcode) {
    case VERNA_CMD_SET_ESWITCH:
      return set_eswitch(command.as<verna_cmd_set_eswitch>(), now);
    case VERNA_CMD_SET_VPORT_GROUP:
      return set_group(command.as<verna_cmd_vport_group>());
    case VERNA_CMD_ADD_FLOW:
      return add_flow(command.as<verna_cmd_add_flow>(), now);
    case VERNA_CMD_DEL_FLOW:
      return del_flow(command.as<verna_cmd_object>());
    case VERNA_CMD_SET_FLOW_MISS:
      return set_miss(command.as<verna_cmd_flow_miss>());
    case VERNA_CMD_QUERY_FLOW: {
      const auto cmd = command.as<verna_cmd_query>();
      return query_flow(bus_, cmd, switch_.flows().tables().find(cmd.id), now);
    }
    case VERNA_CMD_GET_AGED_FLOWS:
      if (!is_on()) return CommandResult::fail(VERNA_CMD_BAD_STATE);
      return get_aged_flows(bus_, command.as<verna_cmd_query>(), switch_.flows().tables());
    default:
      return objects_.execute(command, now);
  }
}

CommandResult EswitchCommands::set_eswitch(const verna_cmd_set_eswitch& cmd, Nanos now) {
  if (cmd.mode > VERNA_ESWITCH_SWITCHDEV) return VERNA_BAD_FIELD(verna_cmd_set_eswitch, mode);
  if (cmd.reserved0) return VERNA_BAD_FIELD(verna_cmd_set_eswitch, reserved0);
  if (cmd.mode == VERNA_ESWITCH_LEGACY ? cmd.queue != 0 : cmd.queue >= max_rxqs_)
    return VERNA_BAD_FIELD(verna_cmd_set_eswitch, queue);
  if (cmd.reserved1) return VERNA_BAD_FIELD(verna_cmd_set_eswitch, reserved1);
  set_mode_(static_cast<verna_eswitch_mode>(cmd.mode), cmd.queue, now);
  return CommandResult::ok();
}

CommandResult EswitchCommands::set_group(const verna_cmd_vport_group& cmd) {
  if (!is_on()) return CommandResult::fail(VERNA_CMD_BAD_STATE);
  if (cmd.vport >= switch_.num_vports()) return VERNA_BAD_FIELD(verna_cmd_vport_group, vport);
  if (cmd.group >= FlowSwitch::kMaxGroups) return VERNA_BAD_FIELD(verna_cmd_vport_group, group);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_vport_group, reserved);
  switch_.flows().set_group(cmd.vport, cmd.group);
  return CommandResult::ok();
}

/// False: there is no such meter or edit, or nobody asked for it.
bool EswitchCommands::load_objects(const verna_flow_actions& from, FlowActions* to) const {
  const FlowSwitch& flows = switch_.flows();
  if (!has_operand(from.flags, VERNA_FLOW_A_METER, from.meter)) return false;
  if (!has_operand(from.flags, VERNA_FLOW_A_EDIT, from.edit)) return false;
  if (from.flags & VERNA_FLOW_A_METER && !(to->meter = flows.meters().find(from.meter)))
    return false;
  if (from.flags & VERNA_FLOW_A_EDIT && !(to->edit = flows.edits().find(from.edit))) return false;
  to->meter_id = from.meter;
  to->edit_id = from.edit;
  return true;
}

/// False: an action that the switch does not know, or with an operand that is out of range.
bool EswitchCommands::load_actions(const verna_flow_actions& from, FlowActions* to) const {
  const uint32_t flags = from.flags;
  if (flags & ~FlowSwitch::kActions || std::popcount(flags & kDestinations) > 1) return false;
  if ((from.mark != 0) != ((flags & VERNA_FLOW_A_MARK) != 0)) return false;
  if (!has_operand(flags, VERNA_FLOW_A_PORT, from.vport) || from.vport >= switch_.num_vports())
    return false;
  if (!has_operand(flags, VERNA_FLOW_A_CHAIN, from.chain)) return false;
  if (from.queue || from.rss_context || from.reserved0 || !load_objects(from, to)) return false;
  to->flags = flags;
  to->mark = from.mark;
  to->target = target_of(flags);
  to->port = from.vport;
  to->chain = from.chain;
  return all_zero(from.reserved);
}

CommandResult EswitchCommands::add_flow(const verna_cmd_add_flow& cmd, Nanos now) {
  if (!is_on()) return CommandResult::fail(VERNA_CMD_BAD_STATE);
  if (cmd.group >= FlowSwitch::kMaxGroups) return VERNA_BAD_FIELD(verna_cmd_add_flow, group);
  FlowRuleSpec spec;
  verna_flow_actions actions;
  const CommandResult read = read_flow_rule(bus_, cmd, &spec, &actions);
  if (read.status != VERNA_CMD_OK) return read;
  if (!load_actions(actions, &spec.actions)) return VERNA_BAD_FIELD(verna_cmd_add_flow, addr);
  uint32_t id = 0;
  const FlowTables::Status status =
      switch_.flows().tables().add({cmd.direction, cmd.group, cmd.chain}, spec, now, &id);
  return flow_result(status, id);
}

CommandResult EswitchCommands::del_flow(const verna_cmd_object& cmd) {
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  return flow_result(switch_.flows().tables().remove(cmd.id));
}

CommandResult EswitchCommands::set_miss(const verna_cmd_flow_miss& cmd) {
  if (!is_on()) return CommandResult::fail(VERNA_CMD_BAD_STATE);
  if (cmd.miss > VERNA_FLOW_MISS_CHAIN) return VERNA_BAD_FIELD(verna_cmd_flow_miss, miss);
  if (cmd.group >= FlowSwitch::kMaxGroups) return VERNA_BAD_FIELD(verna_cmd_flow_miss, group);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_flow_miss, reserved);
  const FlowTableId table{cmd.direction, cmd.group, cmd.chain};
  const FlowMiss miss{static_cast<FlowMiss::Kind>(cmd.miss), cmd.to_chain};
  const FlowTables::Status status = switch_.flows().tables().set_miss(table, miss);
  if (status == FlowTables::Status::kInvalid) return VERNA_BAD_FIELD(verna_cmd_flow_miss, to_chain);
  return flow_result(status);
}

}  // namespace verna
