// SPDX-License-Identifier: GPL-2.0-or-later
// Two cards on one wire.
#pragma once

#include <gtest/gtest.h>

#include "support/world.h"

namespace verna::test {

/// Two cards with GIDs, a domain each, and a wire between them.
struct Pair {
  explicit Pair(uint64_t seed, const NicConfig& config = {})
      : wire(world.clock),
        a(world, wire.a, 1, config, seed * 2 + 1),
        b(world, wire.b, 2, config, seed * 2 + 2) {
    world.add(&wire);
    for (TestCard* card : {&a, &b}) {
      card->driver.bring_up();
      set_gids(*card);
      card->driver.set_mtu(9000);
    }
    pd_a = a.driver.create_pd();
    pd_b = b.driver.create_pd();
  }
  struct Ends {
    QueuePair* a;
    QueuePair* b;
  };
  Ends connect(uint8_t type, const Connection& how = {}) {
    QpOptions options;
    options.log_sq_size = 7;
    options.type = type;
    options.pdn = pd_a;
    Ends ends{};
    ends.a = a.driver.create_qp(options, a.driver.create_cq(8), a.driver.create_cq(8));
    options.pdn = pd_b;
    ends.b = b.driver.create_qp(options, b.driver.create_cq(8), b.driver.create_cq(8));
    if (type == VERNA_QP_UD) {
      bring_ud_to_rts(a, ends.a, 0x1111);
      bring_ud_to_rts(b, ends.b, 0x1111);
    } else {
      bring_to_rts(a, ends.a, b, ends.b->qpn, how);
      bring_to_rts(b, ends.b, a, ends.a->qpn, how);
    }
    return ends;
  }
  void expect_conserved() {
    EXPECT_EQ(a.check_conservation(), "");
    EXPECT_EQ(b.check_conservation(), "");
  }

  World world;
  Wire wire;
  TestCard a;
  TestCard b;
  uint32_t pd_a = 0;
  uint32_t pd_b = 0;
};

}  // namespace verna::test
