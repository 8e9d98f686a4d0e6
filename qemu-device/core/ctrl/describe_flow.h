// SPDX-License-Identifier: GPL-2.0-or-later
// RSS contexts and flow tables for people.
#pragma once

#include <string>

#include "eth/eth_engine.h"

namespace verna {

/// A JSON array with one object for each context.
std::string describe_rss(const EthEngine& eth);

/// A JSON object: tables, and at most 4096 of their rules in the order of priority.
std::string describe_flows(const EthEngine& eth);

}  // namespace verna
