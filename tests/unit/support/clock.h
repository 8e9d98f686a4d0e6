// SPDX-License-Identifier: GPL-2.0-or-later
// Virtual time: moves only when a test says so.
#pragma once

#include "base/types.h"

namespace verna::test {

struct ManualClock {
  Nanos now = 1'000'000'000;
  void advance(Nanos by) { now += by; }
};

inline constexpr Nanos kMicro = 1000;
inline constexpr Nanos kMilli = 1'000'000;
inline constexpr Nanos kSecond = 1'000'000'000;

}  // namespace verna::test
