// SPDX-License-Identifier: GPL-2.0-or-later
#include "pkt/checksum.h"

#include <gtest/gtest.h>

#include <random>

#include "support/world.h"

namespace verna::test {
namespace {

/// RFC 1071 as it is written: big-endian words one after the other. Returns the number.
uint16_t naive_sum(const uint8_t* data, size_t len, uint64_t sum = 0) {
  for (size_t i = 0; i < len; i++) sum += i & 1 ? data[i] : data[i] << 8;
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}
uint16_t number(uint16_t in_memory) { return __builtin_bswap16(in_memory); }

TEST(Checksum, ExampleOfTheRfc) {
  const uint8_t words[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
  EXPECT_EQ(number(csum_fold(csum_add(0, words, sizeof words))), 0xddf2);
  EXPECT_EQ(number(csum_finish(csum_add(0, words, sizeof words))), 0x220d);
}

TEST(Checksum, AgreesWithTheDefinitionAtEveryLengthAndAlignment) {
  const auto data = pattern(70000, 1);
  for (size_t start = 0; start < 9; start++)
    for (size_t len = 0; len < 300; len++)
      ASSERT_EQ(number(csum_fold(csum_add(0, data.data() + start, len))),
                naive_sum(data.data() + start, len))
          << start << " " << len;
  for (size_t len : {1499u, 9018u, 65535u, 65536u, 69999u})
    EXPECT_EQ(number(csum_fold(csum_add(0, data.data() + 1, len))),
              naive_sum(data.data() + 1, len));
}

TEST(Checksum, CarriesAreNotLost) {
  const std::vector<uint8_t> ones(70000, 0xff), zeros(70000, 0);
  for (size_t len : {2u, 4u, 8u, 32u, 64u, 65536u, 70000u}) {
    EXPECT_EQ(csum_fold(csum_add(0, ones.data(), len)), 0xffff);
    EXPECT_EQ(csum_fold(csum_add(0, zeros.data(), len)), 0);
    EXPECT_EQ(csum_fold(csum_add(~CsumSum{0}, ones.data(), len)), 0xffff);
  }
  EXPECT_EQ(csum_fold(~CsumSum{0}), 0xffff);
  EXPECT_EQ(csum_fold(csum_join(~CsumSum{0}, 1)), 1);
}

TEST(Checksum, PiecesAtAnyOffsetMakeTheWhole) {
  std::mt19937_64 random(7);
  const auto data = pattern(5000, 3);
  for (int round = 0; round < 2000; round++) {
    const size_t len = random() % data.size();
    CsumSum sum = 0;
    for (size_t at = 0; at < len;) {
      const size_t piece = std::min<size_t>(len - at, 1 + random() % 200);
      sum = csum_join(sum, csum_at(csum_add(0, data.data() + at, piece), at));
      at += piece;
    }
    ASSERT_EQ(number(csum_fold(sum)), naive_sum(data.data(), len));
  }
}

TEST(Checksum, IncrementalUpdateEqualsSummingAnew) {
  std::mt19937_64 random(9);
  for (int round = 0; round < 5000; round++) {
    auto data = pattern(60, random());
    store_le<uint16_t>(&data[10], 0);
    store_le(&data[10], csum_finish(csum_add(0, data.data(), data.size())));
    const size_t at = 12 + random() % 10 * 4;
    const CsumSum before = csum_add(0, &data[at], 4);
    store_le(&data[at], static_cast<uint32_t>(random()));
    const uint16_t check =
        csum_update(load_le<uint16_t>(&data[10]), before, csum_add(0, &data[at], 4));
    store_le(&data[10], check);
    ASSERT_EQ(csum_fold(csum_add(0, data.data(), data.size())), 0xffff);
    store_le<uint16_t>(&data[10], 0);
    ASSERT_EQ(check, csum_finish(csum_add(0, data.data(), data.size())));
  }
}

TEST(Checksum, PseudoHeaders) {
  const auto ip = pattern(40, 4);
  uint8_t v4[12] = {};
  std::memcpy(v4, &ip[12], 8);
  v4[9] = 17;
  store_be16(v4 + 10, 0xabcd);
  EXPECT_EQ(number(csum_fold(csum_pseudo_ipv4(ip.data(), 17, 0xabcd))), naive_sum(v4, 12));
  uint8_t v6[40] = {};
  std::memcpy(v6, &ip[8], 32);
  store_be32(v6 + 32, 0x12345);
  v6[39] = 6;
  EXPECT_EQ(number(csum_fold(csum_pseudo_ipv6(ip.data(), 6, 0x12345))), naive_sum(v6, 40));
}

TEST(Checksum, UdpHasNoZero) {
  const uint8_t data[2] = {0xff, 0xff};
  EXPECT_EQ(csum_finish(csum_add(0, data, 2)), 0);
  EXPECT_EQ(csum_finish_udp(csum_add(0, data, 2)), 0xffff);
  EXPECT_EQ(number(csum_finish_udp(csum_number(0x1234))), 0xedcb);
}

}  // namespace
}  // namespace verna::test
