// SPDX-License-Identifier: GPL-2.0-or-later
// Rules in words, as `vernactl flow` shows them.
#pragma once

#include <string>

#include "flow/flow_table.h"

namespace verna {

/// "dport=80 src_ip=10.0.0.0/ff000000", or "any".
std::string flow_match_text(const FlowRule& rule);

/// What is done, in the order of execution: "decap dec_ttl port=4", or "pass".
std::string flow_action_text(const FlowActions& actions);

/// When a rule ages, and that it is only reported: "idle=30000ms report", or "none".
std::string flow_limits_text(const FlowActions& actions);

/// As flow_action_text() does, of an edit alone: "decap set(ttl=5) push=0x8100:0x0007".
std::string flow_edit_text(const FlowEdit& edit);

/// "pass", "drop", "trap", "chain=7".
std::string flow_miss_text(const FlowMiss& miss);

}  // namespace verna
