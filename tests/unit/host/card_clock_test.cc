// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/card_clock.h"

#include <gtest/gtest.h>

namespace verna {
namespace {

TEST(CardClock, RunsAsTheHostsDoes) {
  CardClock clock;
  EXPECT_TRUE(clock.running());
  EXPECT_EQ(clock.now(12345), 12345u);
}

TEST(CardClock, StandsStillWhileStopped) {
  CardClock clock;
  clock.set_running(false, 1000);
  EXPECT_FALSE(clock.running());
  EXPECT_EQ(clock.now(5000), 1000u);
  clock.set_running(true, 6000);
  EXPECT_EQ(clock.now(6000), 1000u);
  EXPECT_EQ(clock.now(6500), 1500u);
  clock.set_running(false, 7000);
  clock.set_running(true, 9000);
  EXPECT_EQ(clock.now(9000), 2000u) << "stops add up";
}

TEST(CardClock, WhatItDoesAlreadyChangesNothing) {
  CardClock clock;
  clock.set_running(true, 500);
  EXPECT_EQ(clock.now(600), 600u);
  clock.set_running(false, 1000);
  clock.set_running(false, 2000);
  clock.set_running(true, 3000);
  EXPECT_EQ(clock.now(3000), 1000u);
}

TEST(CardClock, AMachineThatStartsStoppedHasItsTimeFromThen) {
  CardClock clock;
  clock.set_running(false, 100);
  EXPECT_EQ(clock.now(900), 100u);
}

}  // namespace
}  // namespace verna
