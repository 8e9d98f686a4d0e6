// SPDX-License-Identifier: GPL-2.0-or-later
#include <gtest/gtest.h>

#include "support/fail.h"

namespace verna::test {

void fail(const std::string& why) { ADD_FAILURE() << why; }

}  // namespace verna::test
