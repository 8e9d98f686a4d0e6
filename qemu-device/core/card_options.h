// SPDX-License-Identifier: GPL-2.0-or-later
// What a user may say about a card: names, ranges, help.
#pragma once

#include <string>
#include <string_view>

#include "verna_core.h"

namespace verna {

/// Empty, or what is wrong with the configuration: names the option, its value and the range.
/// What only the parts can know (paths that cannot be opened) they check themselves.
std::string check_options(const verna_card_config& config);

/// What an option is for, in a few words; null: none of ours.
const char* option_help(std::string_view name);

}  // namespace verna
