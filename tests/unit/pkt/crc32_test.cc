// SPDX-License-Identifier: GPL-2.0-or-later
#include "pkt/crc32.h"

#include <gtest/gtest.h>

#include <string>

#include "support/crc.h"
#include "support/world.h"

namespace verna::test {
namespace {

TEST(Crc32, CheckValue) {
  // "Check" value of CRC-32/ISO-HDLC in every catalogue.
  const std::string text = "123456789";
  EXPECT_EQ(crc32(0, text.data(), text.size()), 0xcbf43926u);
  EXPECT_EQ(crc32(0, "", 0), 0u);
}

TEST(Crc32, AgreesWithTheDefinitionAtEveryLengthAndAlignment) {
  const auto data = pattern(2100, 1);
  for (size_t start = 0; start < 9; start++) {
    for (size_t len = 0; len < 300; len++) {
      ASSERT_EQ(crc32(0, data.data() + start, len), ethernet_fcs(data.data() + start, len));
    }
  }
  EXPECT_EQ(crc32(0, data.data(), data.size()), ethernet_fcs(data.data(), data.size()));
}

TEST(Crc32c, CheckValuesAndPieces) {
  const std::string text = "123456789";
  EXPECT_EQ(crc32c(0, text.data(), text.size()), 0xe3069283u);
  EXPECT_EQ(crc32c(crc32c(0, text.data(), 4), text.data() + 4, 5), 0xe3069283u);
  EXPECT_EQ(crc32c(0, "", 0), 0u);
  // RFC 3720 B.4.
  const std::vector<uint8_t> zeros(32, 0), ones(32, 0xff);
  EXPECT_EQ(crc32c(0, zeros.data(), 32), 0x8a9136aau);
  EXPECT_EQ(crc32c(0, ones.data(), 32), 0x62a8ab43u);
}

TEST(Crc32, ContinuesOverPieces) {
  const auto data = pattern(1000, 2);
  const uint32_t whole = crc32(0, data.data(), data.size());
  for (size_t cut : {1u, 7u, 8u, 64u, 999u}) {
    EXPECT_EQ(crc32(crc32(0, data.data(), cut), data.data() + cut, data.size() - cut), whole);
  }
}

}  // namespace
}  // namespace verna::test
