// SPDX-License-Identifier: GPL-2.0-or-later
// RSS contexts and flow tables for people.
#pragma once

#include <string>

#include "eth/eth_engine.h"
#include "vswitch/switch.h"

namespace verna {

/// A JSON array with one object for each context.
std::string describe_rss(const EthEngine& eth);

/// A JSON object: tables, at most 4096 of their rules by table, in the order of priority, and how
/// many have aged (up to 4096) that software has not heard of.
std::string describe_flows(const EthEngine& eth, Nanos now);

/// The same of the embedded switch, with its meters and edits.
std::string describe_switch(const Switch& vswitch, Nanos now);
const char* switch_mode_name(const Switch& vswitch);

}  // namespace verna
