// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/rng.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>

namespace verna::test {
namespace {

// RFC 8439 appendix A.1, test vector 1: key 0, nonce 0, block 0.
TEST(Rng, IsChaCha20) {
  const uint8_t zero[32] = {};
  Rng rng(zero);
  const uint32_t want[16] = {0xade0b876, 0x903df1a0, 0xe56a5d40, 0x28bd8653, 0xb819d2bd, 0x1aed8da0,
                             0xccef36a8, 0xc70d778b, 0x7c5941da, 0x8d485751, 0x3fe02477, 0x374ad8b8,
                             0xf4b8436a, 0x1ca11815, 0x69b687c3, 0x8665eeb2};
  for (uint32_t word : want) EXPECT_EQ(rng.next32(), word);
  // Test vector 2: the same key, block 1.
  EXPECT_EQ(rng.next32(), 0xbee7079fu);
}

TEST(Rng, SameSeedSameNumbersOtherSeedOthers) {
  Rng a(uint64_t{1}), b(uint64_t{1}), c(uint64_t{2});
  int same = 0;
  for (int i = 0; i < 1000; i++) {
    const uint64_t v = a.next64();
    EXPECT_EQ(v, b.next64());
    same += v == c.next64();
  }
  EXPECT_EQ(same, 0);
}

TEST(Rng, BelowIsInRangeAndUniform) {
  Rng rng(uint64_t{3});
  EXPECT_EQ(rng.below(1), 0u);
  std::array<int, 10> count{};
  for (int i = 0; i < 100000; i++) {
    const uint32_t v = rng.below(10);
    ASSERT_LT(v, 10u);
    count[v]++;
  }
  double chi = 0;
  for (int n : count) chi += std::pow(n - 10000.0, 2) / 10000;
  EXPECT_LT(chi, 40) << "far from uniform (9 degrees of freedom)";
  const uint32_t big = 0x80000001;
  int high = 0;
  for (int i = 0; i < 10000; i++) {
    const uint32_t v = rng.below(big);
    ASSERT_LT(v, big);
    high += v >= 0x40000000;
  }
  EXPECT_NEAR(high, 5000, 300);
}

}  // namespace
}  // namespace verna::test
