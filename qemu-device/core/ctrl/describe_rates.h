// SPDX-License-Identifier: GPL-2.0-or-later
// The tree of rates for people.
#pragma once

#include <string>

#include "sched/rate_tree.h"

namespace verna {

/// A JSON object: inner nodes by number and leaves by vport, each with its settings, the bytes that
/// were sent below it, and whether its limit holds it back now.
std::string describe_rates(const RateTree& tree);

}  // namespace verna
