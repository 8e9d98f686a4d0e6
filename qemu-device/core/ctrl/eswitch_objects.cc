// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/eswitch_objects.h"

#include "ctrl/flow_load.h"
#include "ctrl/flow_result.h"

namespace verna {
namespace {

/// Numbers an object that was made.
template <typename T>
CommandResult give_number(FlowObjects<T>* objects, std::shared_ptr<T> object) {
  const uint32_t id = objects->add(std::move(object));
  return id ? CommandResult::ok(id) : CommandResult::fail(VERNA_CMD_NO_RESOURCE);
}

template <typename T>
CommandResult destroy(FlowObjects<T>* objects, const verna_cmd_object& cmd) {
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  if (!objects->find(cmd.id)) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  if (objects->users(cmd.id)) return CommandResult::fail(VERNA_CMD_BUSY);
  objects->remove(cmd.id);
  return CommandResult::ok();
}

}  // namespace

bool EswitchObjects::knows(uint16_t opcode) {
  switch (opcode) {
    case VERNA_CMD_CREATE_METER:
    case VERNA_CMD_MODIFY_METER:
    case VERNA_CMD_DESTROY_METER:
    case VERNA_CMD_QUERY_METER:
    case VERNA_CMD_CREATE_FLOW_EDIT:
    case VERNA_CMD_DESTROY_FLOW_EDIT:
      return true;
    default:
      return false;
  }
}

CommandResult EswitchObjects::execute(const CommandBytes& command, Nanos now) {
  const auto object = command.as<verna_cmd_flow_object>();
  switch (object.hdr.opcode) {
    case VERNA_CMD_CREATE_METER:
      return create_meter(object, now);
    case VERNA_CMD_MODIFY_METER:
      return modify_meter(object, now);
    case VERNA_CMD_DESTROY_METER:
      return destroy(&switch_.flows().meters(), command.as<verna_cmd_object>());
    case VERNA_CMD_QUERY_METER:
      return query_meter(command.as<verna_cmd_query>());
    case VERNA_CMD_CREATE_FLOW_EDIT:
      return create_edit(object);
    default:
      return destroy(&switch_.flows().edits(), command.as<verna_cmd_object>());
  }
}

template <typename T>
CommandResult EswitchObjects::read(const verna_cmd_flow_object& cmd, T* out) {
  if (cmd.len != sizeof *out) return VERNA_BAD_FIELD(verna_cmd_flow_object, len);
  if (!bus_.read(cmd.hdr.function, cmd.addr, out, sizeof *out))
    return CommandResult::fail(VERNA_CMD_DMA_FAULT, offsetof(verna_cmd_flow_object, addr));
  return CommandResult::ok();
}

CommandResult EswitchObjects::read_meter(const verna_cmd_flow_object& cmd, MeterConfig* config) {
  verna_meter meter;
  const CommandResult result = read(cmd, &meter);
  if (result.status != VERNA_CMD_OK) return result;
  return load_meter(meter, config) ? result : VERNA_BAD_FIELD(verna_cmd_flow_object, addr);
}

CommandResult EswitchObjects::create_meter(const verna_cmd_flow_object& cmd, Nanos now) {
  if (!is_on()) return CommandResult::fail(VERNA_CMD_BAD_STATE);
  if (cmd.id) return VERNA_BAD_FIELD(verna_cmd_flow_object, id);
  MeterConfig config;
  const CommandResult result = read_meter(cmd, &config);
  if (result.status != VERNA_CMD_OK) return result;
  return give_number(&switch_.flows().meters(), std::make_shared<Meter>(config, now));
}

CommandResult EswitchObjects::modify_meter(const verna_cmd_flow_object& cmd, Nanos now) {
  const std::shared_ptr<Meter> meter = switch_.flows().meters().find(cmd.id);
  if (!meter) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  MeterConfig config;
  const CommandResult result = read_meter(cmd, &config);
  if (result.status == VERNA_CMD_OK) meter->configure(config, now);
  return result;
}

CommandResult EswitchObjects::query_meter(const verna_cmd_query& cmd) {
  if (cmd.group) return VERNA_BAD_FIELD(verna_cmd_query, group);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_query, reserved);
  const std::shared_ptr<Meter> meter = switch_.flows().meters().find(cmd.id);
  if (!meter) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  verna_meter_stats stats{};
  for (const Colour colour : {Colour::kGreen, Colour::kYellow, Colour::kRed}) {
    stats.packets[static_cast<size_t>(colour)] = meter->count(colour).packets;
    stats.bytes[static_cast<size_t>(colour)] = meter->count(colour).bytes;
  }
  return reply_to(bus_, cmd, &stats, sizeof stats);
}

CommandResult EswitchObjects::create_edit(const verna_cmd_flow_object& cmd) {
  if (!is_on()) return CommandResult::fail(VERNA_CMD_BAD_STATE);
  if (cmd.id) return VERNA_BAD_FIELD(verna_cmd_flow_object, id);
  verna_flow_edit contract;
  const CommandResult result = read(cmd, &contract);
  if (result.status != VERNA_CMD_OK) return result;
  auto edit = std::make_shared<FlowEdit>();
  if (!load_edit(contract, switch_.num_vports(), edit.get()))
    return VERNA_BAD_FIELD(verna_cmd_flow_object, addr);
  return give_number<const FlowEdit>(&switch_.flows().edits(), std::move(edit));
}

}  // namespace verna
