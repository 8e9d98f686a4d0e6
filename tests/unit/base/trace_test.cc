// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/trace.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace verna::test {
namespace {

TEST(Trace, OffByDefaultAndCostsNothing) {
  Trace trace;
  EXPECT_FALSE(trace.enabled());
  trace.point(Stage::kDoorbell, 1, 2);
  EXPECT_EQ(trace.written(), 0u);
}

TEST(Trace, KeepsTimePacketAndArguments) {
  Trace trace;
  trace.enable(true);
  trace.set_now(42);
  trace.next_packet();
  trace.point(Stage::kWireIn, 64);
  trace.point(Stage::kDrop, 7, 64);
  trace.next_packet();
  trace.set_now(43);
  trace.point(Stage::kWireIn, 65);
  ASSERT_EQ(trace.written(), 3u);
  EXPECT_EQ(trace.at(0).time, 42u);
  EXPECT_EQ(trace.at(0).stage, Stage::kWireIn);
  EXPECT_EQ(trace.at(0).a, 64u);
  EXPECT_EQ(trace.at(1).a, 7u);
  EXPECT_EQ(trace.at(1).b, 64u);
  EXPECT_EQ(trace.at(0).packet, trace.at(1).packet);
  EXPECT_NE(trace.at(1).packet, trace.at(2).packet);
  EXPECT_EQ(trace.at(2).time, 43u);
}

TEST(Trace, IsABoundedRing) {
  Trace trace;
  trace.enable(true);
  for (uint64_t i = 0; i < 3 * Trace::kRecords + 5; i++) trace.point(Stage::kCommand, i);
  EXPECT_EQ(trace.written(), 3 * Trace::kRecords + 5);
  for (uint64_t i = trace.written() - Trace::kRecords; i < trace.written(); i++) {
    ASSERT_EQ(trace.at(i).a, i);
  }
  trace.enable(false);
  EXPECT_FALSE(trace.enabled());
}

TEST(Trace, EveryStageHasItsOwnName) {
  std::set<std::string> names;
  for (int i = 0; i < static_cast<int>(Stage::kCount); i++) {
    const char* name = stage_name(static_cast<Stage>(i));
    ASSERT_NE(name, nullptr);
    EXPECT_FALSE(std::string(name).empty());
    names.insert(name);
  }
  EXPECT_EQ(names.size(), static_cast<size_t>(Stage::kCount));
}

}  // namespace
}  // namespace verna::test
