// SPDX-License-Identifier: GPL-2.0-or-later
// How the support code reports a broken rule: a test failure in unit tests, an abort in fuzzers.
#pragma once

#include <string>

namespace verna::test {

void fail(const std::string& why);

}  // namespace verna::test
