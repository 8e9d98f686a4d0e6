// SPDX-License-Identifier: GPL-2.0-or-later
// Commands of receive steering: RSS contexts, and 0x0300 to 0x03ff: flow rules.
#include <algorithm>

#include "ctrl/flow_result.h"
#include "eth/rx_steering.h"

namespace verna {
namespace {

constexpr uint32_t kActions = VERNA_FLOW_A_DROP | VERNA_FLOW_A_QUEUE | VERNA_FLOW_A_RSS |
                              VERNA_FLOW_A_MARK | VERNA_FLOW_A_AGE_REPORT;
/// The only table that packets go through.
bool exists(const FlowTableId& id) { return id == FlowTableId(); }

}  // namespace

CommandResult RxSteering::execute_rss(const CommandBytes& command) {
  return command.as<verna_cmd_hdr>().opcode == VERNA_CMD_SET_RSS ? set_rss(command)
                                                                 : destroy_rss(command);
}

CommandResult RxSteering::execute_flow(const CommandBytes& command, Nanos now) {
  CommandResult result = CommandResult::fail(VERNA_CMD_BAD_OPCODE);
  switch (command.as<verna_cmd_hdr>().opcode) {
    case VERNA_CMD_ADD_FLOW:
      result = add_flow(command, now);
      break;
    case VERNA_CMD_DEL_FLOW:
      result = del_flow(command);
      break;
    case VERNA_CMD_QUERY_FLOW: {
      const auto cmd = command.as<verna_cmd_query>();
      return query_flow(bus_, cmd, flows_.find(cmd.id), now);
    }
    case VERNA_CMD_GET_AGED_FLOWS: {
      const auto cmd = command.as<verna_cmd_query>();
      if (cmd.group != VERNA_FLOW_RX) return CommandResult::fail(VERNA_CMD_NOT_SUPPORTED);
      return get_aged_flows(bus_, cmd, flows_);
    }
    case VERNA_CMD_SET_FLOW_MISS:
      result = set_miss(command);
      break;
    default:
      break;
  }
  table_ = flows_.find_table(FlowTableId());
  return result;
}

CommandResult RxSteering::set_rss(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_set_rss>();
  Rss::Config config;
  if (cmd.context >= RssContexts::kMaxContexts) return VERNA_BAD_FIELD(verna_cmd_set_rss, context);
  if (cmd.transform > VERNA_RSS_SYM_OR_XOR) return VERNA_BAD_FIELD(verna_cmd_set_rss, transform);
  if (cmd.reserved0) return VERNA_BAD_FIELD(verna_cmd_set_rss, reserved0);
  if (cmd.reserved1) return VERNA_BAD_FIELD(verna_cmd_set_rss, reserved1);
  if (cmd.table_len != Rss::kTableSize) return VERNA_BAD_FIELD(verna_cmd_set_rss, table_len);
  std::copy(std::begin(cmd.fields), std::end(cmd.fields), config.fields.begin());
  if (Rss::check(config.fields, cmd.transform)) return VERNA_BAD_FIELD(verna_cmd_set_rss, fields);
  if (!bus_.read(cmd.hdr.function, cmd.table_addr, config.table.data(), sizeof config.table))
    return CommandResult::fail(VERNA_CMD_DMA_FAULT, offsetof(verna_cmd_set_rss, table_addr));
  for (const uint16_t queue : config.table)
    if (queue >= max_queues_) return VERNA_BAD_FIELD(verna_cmd_set_rss, table_addr);
  std::copy(std::begin(cmd.key), std::end(cmd.key), std::begin(config.key));
  config.transform = static_cast<verna_rss_transform>(cmd.transform);
  rss_.configure(cmd.context, config);
  return CommandResult::ok();
}

CommandResult RxSteering::destroy_rss(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_object>();
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  if (cmd.id == 0) return VERNA_BAD_FIELD(verna_cmd_object, id);
  const Rss* context = rss_.find(cmd.id);
  if (!context) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  if (context->users) return CommandResult::fail(VERNA_CMD_BUSY);
  rss_.destroy(cmd.id);
  return CommandResult::ok();
}

/// False: an action that the card does not know, or with an operand that is out of range.
bool RxSteering::load_actions(const verna_flow_actions& from, FlowActions* to) const {
  to->flags = from.flags;
  to->mark = from.mark;
  to->queue = from.queue;
  to->rss_context = from.rss_context;
  const bool drop = from.flags & VERNA_FLOW_A_DROP;
  const bool queue = from.flags & VERNA_FLOW_A_QUEUE;
  const bool rss = from.flags & VERNA_FLOW_A_RSS;
  if (from.flags & ~kActions) return false;
  if (drop && (queue || rss)) return false;
  if (from.queue && !(queue && from.queue < max_queues_)) return false;
  if (rss ? !rss_.find(from.rss_context) : from.rss_context) return false;
  if ((from.mark != 0) != ((from.flags & VERNA_FLOW_A_MARK) != 0)) return false;
  if (from.vport || from.reserved0 || from.chain || from.meter || from.edit) return false;
  return all_zero(from.reserved);
}

/// Counts a rule that sends packets to a context.
void RxSteering::use_context(const FlowActions& actions, int change) {
  if (actions.flags & VERNA_FLOW_A_RSS)
    rss_.find(actions.rss_context)->users += static_cast<uint32_t>(change);
}

CommandResult RxSteering::add_flow(const CommandBytes& command, Nanos now) {
  const auto cmd = command.as<verna_cmd_add_flow>();
  const FlowTableId table{cmd.direction, cmd.group, cmd.chain};
  if (!exists(table)) return CommandResult::fail(VERNA_CMD_NOT_SUPPORTED);
  FlowRuleSpec spec;
  verna_flow_actions actions;
  const CommandResult read = read_flow_rule(bus_, cmd, &spec, &actions);
  if (read.status != VERNA_CMD_OK) return read;
  if (!load_actions(actions, &spec.actions)) return VERNA_BAD_FIELD(verna_cmd_add_flow, addr);
  const FlowRule* old = flows_.find(cmd.replaces);
  const FlowActions old_actions = old ? old->actions : FlowActions();
  uint32_t id = 0;
  const FlowTables::Status status = flows_.add(table, spec, now, &id);
  if (status == FlowTables::Status::kOk) {
    use_context(spec.actions, 1);
    use_context(old_actions, -1);
  }
  return flow_result(status, id);
}

void RxSteering::age(Nanos now, size_t budget) {
  flows_.age(now, budget, [this](const FlowRule& rule) { use_context(rule.actions, -1); });
  table_ = flows_.find_table(FlowTableId());
}

CommandResult RxSteering::del_flow(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_object>();
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_object, reserved);
  const FlowRule* rule = flows_.find(cmd.id);
  if (!rule) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  use_context(rule->actions, -1);
  return flow_result(flows_.remove(cmd.id));
}

CommandResult RxSteering::set_miss(const CommandBytes& command) {
  const auto cmd = command.as<verna_cmd_flow_miss>();
  const FlowTableId table{cmd.direction, cmd.group, cmd.chain};
  if (!exists(table)) return CommandResult::fail(VERNA_CMD_NOT_SUPPORTED);
  if (cmd.miss > VERNA_FLOW_MISS_DROP) return VERNA_BAD_FIELD(verna_cmd_flow_miss, miss);
  if (cmd.to_chain) return VERNA_BAD_FIELD(verna_cmd_flow_miss, to_chain);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_flow_miss, reserved);
  return flow_result(flows_.set_miss(table, {static_cast<FlowMiss::Kind>(cmd.miss), 0}));
}

}  // namespace verna
