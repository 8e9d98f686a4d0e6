// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/device_commands.h"

#include <algorithm>

namespace verna {

CommandResult DeviceCommands::execute(const CommandBytes& command) {
  const auto object = command.as<verna_cmd_object>();
  switch (object.hdr.opcode) {
    case VERNA_CMD_NOP:
      return CommandResult::ok();
    case VERNA_CMD_QUERY_COUNTERS:
      return query_counters(command.as<verna_cmd_query>());
    case VERNA_CMD_QUERY_PORT:
      return query_port(command.as<verna_cmd_query>());
    case VERNA_CMD_CREATE_EQ:
      return eqs_.create(command.as<verna_cmd_create_eq>());
    case VERNA_CMD_CREATE_CQ:
      return cqs_.create(command.as<verna_cmd_create_cq>());
    case VERNA_CMD_MODIFY_CQ:
      return cqs_.modify(command.as<verna_cmd_modify_cq>());
    case VERNA_CMD_DESTROY_EQ:
    case VERNA_CMD_DESTROY_CQ:
      if (object.reserved) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
      return object.hdr.opcode == VERNA_CMD_DESTROY_EQ ? eqs_.destroy(object.id)
                                                       : cqs_.destroy(object.id);
    default:
      return CommandResult::fail(VERNA_CMD_BAD_OPCODE);
  }
}

/// False: no such group.
bool DeviceCommands::find_group(const verna_cmd_query& cmd, std::span<const uint64_t>* out) const {
  switch (cmd.group) {
    case VERNA_COUNTERS_PORT:
      if (cmd.id == 0) *out = counters_.port;
      return true;
    case VERNA_COUNTERS_ETH:
      if (cmd.id == 0) *out = counters_.eth;
      return true;
    case VERNA_COUNTERS_TXQ:
      if (const TxQueue* queue = eth_.txq(cmd.id)) *out = queue->counters;
      return true;
    case VERNA_COUNTERS_RXQ:
      if (const RxQueue* queue = eth_.rxq(cmd.id)) *out = queue->counters;
      return true;
    case VERNA_COUNTERS_RDMA:
      if (cmd.id == 0) *out = counters_.rdma;
      return true;
    case VERNA_COUNTERS_DEV:
      if (cmd.id == 0) *out = counters_.dev;
      return true;
    case VERNA_COUNTERS_VPORT:
      if (const VportCounters* vport = find_vport(cmd.id)) *out = *vport;
      return vswitch_ != nullptr;
    default:
      return false;
  }
}

/// The PF sees all, a VF its own. Null: there is none, or it is another's.
const VportCounters* DeviceCommands::find_vport(uint32_t number) const {
  if (!vswitch_ || (fn_ != 0 && number != vport_of(fn_))) return nullptr;
  return vswitch_->counters(number);
}

CommandResult DeviceCommands::query_counters(const verna_cmd_query& cmd) {
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_query, reserved);
  std::span<const uint64_t> values;
  if (!find_group(cmd, &values)) return VERNA_BAD_FIELD(verna_cmd_query, group);
  if (values.empty()) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  // Whole counters only.
  const size_t count = std::min<size_t>(values.size(), cmd.len / sizeof(uint64_t));
  return reply(cmd, values.data(), count * sizeof(uint64_t));
}

CommandResult DeviceCommands::query_port(const verna_cmd_query& cmd) {
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_query, reserved);
  if (cmd.group) return VERNA_BAD_FIELD(verna_cmd_query, group);
  if (cmd.id) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  verna_port_state state{};
  state.link = regs_.link_up();
  state.speed = port_.speed_mbps;
  state.mtu = eth_.mtu();
  std::copy(std::begin(port_.mac), std::end(port_.mac), state.mac);
  return reply(cmd, &state, std::min<size_t>(sizeof state, cmd.len));
}

CommandResult DeviceCommands::reply(const verna_cmd_query& cmd, const void* data, size_t len) {
  if (len && !bus_.write(cmd.hdr.function, cmd.addr, data, len))
    return CommandResult::fail(VERNA_CMD_DMA_FAULT, offsetof(verna_cmd_query, addr));
  return CommandResult::ok(len);
}

}  // namespace verna
