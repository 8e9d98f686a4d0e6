// SPDX-License-Identifier: GPL-2.0-or-later
// A fixture: one card, a wire that ends in the test, no driver loaded yet.
#pragma once

#include <gtest/gtest.h>

#include "support/world.h"

namespace verna::test {

struct CardTest : testing::Test {
  explicit CardTest(NicConfig config = {}) : card(world, wire.a, 1, config) { world.add(&wire); }

  uint32_t reg(uint32_t offset) { return card.driver.reg(offset); }
  void set_reg(uint32_t offset, uint32_t v) { card.driver.set_reg(offset, v); }
  bool aq_enabled() { return (reg(VERNA_REG_STATUS) & VERNA_STATUS_AQ_ENABLED) != 0; }
  uint64_t dev(verna_dev_counter c) const { return card.dev_counter(c); }

  World world;
  Wire wire{world.clock};
  TestCard card;
};

}  // namespace verna::test
