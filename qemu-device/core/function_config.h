// SPDX-License-Identifier: GPL-2.0-or-later
// What each function of a card is made with.
#pragma once

#include "function.h"
#include "nic.h"

namespace verna {

/// Empty, or which number is out of range.
std::string check_config(const NicConfig& config);

FunctionConfig function_config(const NicConfig& config, FunctionId fn);

/// The address of the PF, and of a VF as long as the administrator says nothing else: cards whose
/// addresses differ in the last four bytes have VFs with different ones.
Bridge::Mac default_mac(const NicConfig& config, FunctionId fn);

}  // namespace verna
