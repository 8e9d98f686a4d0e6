// SPDX-License-Identifier: GPL-2.0-or-later
// Answers of the card as tables for people.
#pragma once

#include <string>

#include "client.h"

namespace vernactl {

/// An array of flat objects: one row each, a column for each key. An object of values: two columns.
/// An object of objects or arrays: one table after another, each under its name.
std::string format_tables(const Json& answer);

/// Takes out all members that are the number 0, at any depth, and objects that become empty so.
void drop_zeros(Json& value);

/// One line for each trace record; the values in hexadecimal where they hold more than one thing.
std::string format_trace(const Json& records);

}  // namespace vernactl
