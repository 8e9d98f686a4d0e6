// SPDX-License-Identifier: GPL-2.0-or-later
// What flow commands of steering and of the embedded switch have in common.
#pragma once

#include "ctrl/command.h"
#include "flow/flow_tables.h"
#include "host/host_bus.h"

namespace verna {

/// How ADD_FLOW and its like end; kInvalid names the rule.
CommandResult flow_result(FlowTables::Status status, uint64_t result = 0);

/// Reads the rule of an ADD_FLOW whose table was checked, either structure of it. On success `spec`
/// has all but the actions, of which it has the limits of time, and `actions` has all.
CommandResult read_flow_rule(HostBus& bus, const verna_cmd_add_flow& cmd, FlowRuleSpec* spec,
                             verna_flow_actions* actions);

/// Executes QUERY_FLOW for a rule; null: there is none.
CommandResult query_flow(HostBus& bus, const verna_cmd_query& cmd, const FlowRule* rule, Nanos now);

/// Executes GET_AGED_FLOWS, whose direction was checked, for the rules of `flows`.
CommandResult get_aged_flows(HostBus& bus, const verna_cmd_query& cmd, FlowTables& flows);

/// Writes an answer to a query, as much as there is room for.
CommandResult reply_to(HostBus& bus, const verna_cmd_query& cmd, const void* data, size_t len);

}  // namespace verna
