// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/flow_result.h"

#include <algorithm>
#include <array>

namespace verna {
namespace {

/// False: only one of both ends is zero.
bool load_range(const verna_flow_range& from, PortRange* to) {
  if (!from.low) return !from.high;
  *to = {from.low, from.high};
  return true;
}

verna_flow_aged aged_record(const FlowRule& rule) {
  const FlowEnd end = flow_end(rule);
  verna_flow_aged out{};
  out.rule = rule.id;
  if (rule.age == FlowAge::kGone) out.flags |= VERNA_FLOW_AGED_REMOVED;
  if (end.life) out.flags |= VERNA_FLOW_AGED_LIFE;
  out.packets = rule.packets;
  out.bytes = rule.bytes;
  out.last_used = rule.last_used;
  out.duration = end.when - rule.added;
  return out;
}

}  // namespace

CommandResult flow_result(FlowTables::Status status, uint64_t result) {
  switch (status) {
    case FlowTables::Status::kOk:
      return CommandResult::ok(result);
    case FlowTables::Status::kExists:
      return CommandResult::fail(VERNA_CMD_EXISTS);
    case FlowTables::Status::kNoResource:
      return CommandResult::fail(VERNA_CMD_NO_RESOURCE);
    case FlowTables::Status::kInvalid:
      return VERNA_BAD_FIELD(verna_cmd_add_flow, addr);
    default:
      return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  }
}

CommandResult read_flow_rule(HostBus& bus, const verna_cmd_add_flow& cmd, FlowRuleSpec* spec,
                             verna_flow_actions* actions) {
  verna_flow_rule_ranges ranged{};
  if (cmd.reserved0) return VERNA_BAD_FIELD(verna_cmd_add_flow, reserved0);
  if (cmd.reserved1) return VERNA_BAD_FIELD(verna_cmd_add_flow, reserved1);
  if (cmd.len != sizeof ranged.rule && cmd.len != sizeof ranged)
    return VERNA_BAD_FIELD(verna_cmd_add_flow, len);
  if (!bus.read(cmd.hdr.function, cmd.addr, &ranged, cmd.len))
    return CommandResult::fail(VERNA_CMD_DMA_FAULT, offsetof(verna_cmd_add_flow, addr));
  if (ranged.reserved || !load_range(ranged.sport, &spec->sport) ||
      !load_range(ranged.dport, &spec->dport))
    return VERNA_BAD_FIELD(verna_cmd_add_flow, addr);
  spec->priority = cmd.priority;
  spec->key = ranged.rule.key;
  spec->mask = ranged.rule.mask;
  spec->replaces = cmd.replaces;
  *actions = ranged.rule.actions;
  spec->actions.idle_ms = actions->idle_ms;
  spec->actions.life_ms = actions->life_ms;
  return CommandResult::ok();
}

CommandResult query_flow(HostBus& bus, const verna_cmd_query& cmd, const FlowRule* rule,
                         Nanos now) {
  if (cmd.group) return VERNA_BAD_FIELD(verna_cmd_query, group);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_query, reserved);
  if (!rule) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  const verna_flow_stats stats = {rule->packets, rule->bytes, rule->last_used, now};
  return reply_to(bus, cmd, &stats, sizeof stats);
}

CommandResult get_aged_flows(HostBus& bus, const verna_cmd_query& cmd, FlowTables& flows) {
  std::array<verna_flow_aged, VERNA_FLOW_MAX_AGED> aged;
  if (cmd.len > sizeof aged) return VERNA_BAD_FIELD(verna_cmd_query, len);
  if (cmd.id) return VERNA_BAD_FIELD(verna_cmd_query, id);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_query, reserved);
  const size_t room = cmd.len / sizeof aged[0];
  size_t count = 0;
  flows.for_each_aged(room, [&](const FlowRule& rule) { aged[count++] = aged_record(rule); });
  const CommandResult result = reply_to(bus, cmd, aged.data(), count * sizeof aged[0]);
  if (result.status == VERNA_CMD_OK) flows.told_aged(count, count < room);
  return result;
}

CommandResult reply_to(HostBus& bus, const verna_cmd_query& cmd, const void* data, size_t len) {
  len = std::min<size_t>(len, cmd.len);
  if (len && !bus.write(cmd.hdr.function, cmd.addr, data, len))
    return CommandResult::fail(VERNA_CMD_DMA_FAULT, offsetof(verna_cmd_query, addr));
  return CommandResult::ok(len);
}

}  // namespace verna
