// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/rate_commands.h"

#include "ctrl/flow_result.h"

namespace verna {
namespace {

/// Ranges of what is set, and zeros in what is not.
CommandResult check_fields(const verna_cmd_rate_node& cmd) {
  const auto within = [&](uint32_t field, uint32_t value, uint32_t max) {
    return value <= (cmd.fields & field ? max : 0);
  };
  if (cmd.fields & ~VERNA_RATE_SET_ALL) return VERNA_BAD_FIELD(verna_cmd_rate_node, fields);
  if (!within(VERNA_RATE_SET_MAX, cmd.max_kbps, ~uint32_t{0}))
    return VERNA_BAD_FIELD(verna_cmd_rate_node, max_kbps);
  if (!within(VERNA_RATE_SET_MIN, cmd.min_kbps, ~uint32_t{0}))
    return VERNA_BAD_FIELD(verna_cmd_rate_node, min_kbps);
  if (!within(VERNA_RATE_SET_PARENT, cmd.parent, 0xffff))
    return VERNA_BAD_FIELD(verna_cmd_rate_node, parent);
  if (!within(VERNA_RATE_SET_WEIGHT, cmd.weight, VERNA_RATE_MAX_WEIGHT))
    return VERNA_BAD_FIELD(verna_cmd_rate_node, weight);
  if (!within(VERNA_RATE_SET_PRIORITY, cmd.priority, VERNA_RATE_MAX_PRIORITY))
    return VERNA_BAD_FIELD(verna_cmd_rate_node, priority);
  if (!all_zero(cmd.reserved)) return VERNA_BAD_FIELD(verna_cmd_rate_node, reserved);
  return CommandResult::ok();
}

RateSetup merged(const verna_cmd_rate_node& cmd, RateSetup setup) {
  if (cmd.fields & VERNA_RATE_SET_MAX) setup.max_kbps = cmd.max_kbps;
  if (cmd.fields & VERNA_RATE_SET_MIN) setup.min_kbps = cmd.min_kbps;
  if (cmd.fields & VERNA_RATE_SET_PARENT) setup.parent = cmd.parent;
  if (cmd.fields & VERNA_RATE_SET_PRIORITY) setup.priority = cmd.priority;
  if (cmd.fields & VERNA_RATE_SET_WEIGHT) setup.weight = cmd.weight ? cmd.weight : uint16_t{1};
  return setup;
}

/// What a node would be set to fits together; else one of the rates that came is to blame.
CommandResult check_rates(const verna_cmd_rate_node& cmd, const RateSetup& setup) {
  if (!setup.max_kbps || setup.min_kbps <= setup.max_kbps) return CommandResult::ok();
  return cmd.fields & VERNA_RATE_SET_MIN ? VERNA_BAD_FIELD(verna_cmd_rate_node, min_kbps)
                                         : VERNA_BAD_FIELD(verna_cmd_rate_node, max_kbps);
}

}  // namespace

CommandResult rate_result(RateTree::Status status, uint32_t parent) {
  switch (status) {
    case RateTree::Status::kOk:
      return CommandResult::ok();
    case RateTree::Status::kNotFound:
      return CommandResult::fail(VERNA_CMD_NOT_FOUND);
    case RateTree::Status::kNoParent:
      return CommandResult::fail(VERNA_CMD_BAD_PARAM, parent);
    case RateTree::Status::kCycle:
      return CommandResult::fail(VERNA_CMD_BAD_STATE);
    case RateTree::Status::kTooDeep:
      return CommandResult::fail(VERNA_CMD_NO_RESOURCE, parent);
    case RateTree::Status::kFull:
      return CommandResult::fail(VERNA_CMD_NO_RESOURCE);
    case RateTree::Status::kBusy:
      break;
  }
  return CommandResult::fail(VERNA_CMD_BUSY);
}

bool RateCommands::knows(uint16_t opcode) {
  return opcode == VERNA_CMD_CREATE_RATE_NODE || opcode == VERNA_CMD_MODIFY_RATE_NODE ||
         opcode == VERNA_CMD_DESTROY_RATE_NODE || opcode == VERNA_CMD_QUERY_RATE_NODE;
}

CommandResult RateCommands::execute(const CommandBytes& command) {
  switch (command.as<verna_cmd_hdr>().opcode) {
    case VERNA_CMD_CREATE_RATE_NODE:
      return create(command.as<verna_cmd_rate_node>());
    case VERNA_CMD_MODIFY_RATE_NODE:
      return modify(command.as<verna_cmd_rate_node>());
    case VERNA_CMD_DESTROY_RATE_NODE:
      return destroy(command.as<verna_cmd_object>());
    default:
      return query(command.as<verna_cmd_query>());
  }
}

CommandResult RateCommands::create(const verna_cmd_rate_node& cmd) {
  if (cmd.id) return VERNA_BAD_FIELD(verna_cmd_rate_node, id);
  CommandResult result = check_fields(cmd);
  if (result.status != VERNA_CMD_OK) return result;
  const RateSetup setup = merged(cmd, {});
  result = check_rates(cmd, setup);
  if (result.status != VERNA_CMD_OK) return result;
  uint16_t id = 0;
  result = rate_result(tree_.create(setup, &id), offsetof(verna_cmd_rate_node, parent));
  result.result = id;
  return result;
}

CommandResult RateCommands::modify(const verna_cmd_rate_node& cmd) {
  CommandResult result = check_fields(cmd);
  if (result.status != VERNA_CMD_OK) return result;
  const TxNode* node = tree_.find(cmd.id);
  if (!node) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  const RateSetup setup = merged(cmd, RateTree::setup_of(*node));
  result = check_rates(cmd, setup);
  if (result.status != VERNA_CMD_OK) return result;
  return rate_result(tree_.modify(cmd.id, setup), offsetof(verna_cmd_rate_node, parent));
}

CommandResult RateCommands::destroy(const verna_cmd_object& cmd) {
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  return rate_result(tree_.destroy(cmd.id), 0);
}

CommandResult RateCommands::query(const verna_cmd_query& cmd) {
  if (cmd.group) return VERNA_BAD_FIELD(verna_cmd_query, group);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_query, reserved);
  const TxNode* node = tree_.find(cmd.id);
  if (!node) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  const RateSetup setup = RateTree::setup_of(*node);
  verna_rate_node_state state{};
  state.max_kbps = setup.max_kbps;
  state.min_kbps = setup.min_kbps;
  state.parent = setup.parent;
  state.weight = setup.weight;
  state.priority = setup.priority;
  state.children = static_cast<uint16_t>(node->num_children);
  state.tx_bytes = node->sent;
  return reply_to(bus_, cmd, &state, sizeof state);
}

}  // namespace verna
