// SPDX-License-Identifier: GPL-2.0-or-later
// The vectors are those that Microsoft publishes for RSS implementers ("Verifying the RSS Hash
// Calculation").
#include "pkt/toeplitz.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <vector>

namespace verna::test {
namespace {

constexpr uint8_t kKey[VERNA_RSS_KEY_SIZE] = {
    0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3,
    0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb, 0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3,
    0x80, 0x30, 0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};

struct Vector {
  const char* dst;
  uint16_t dport;
  const char* src;
  uint16_t sport;
  uint32_t addresses;
  uint32_t with_ports;
};

constexpr Vector kIpv4[] = {
    {"161.142.100.80", 1766, "66.9.149.187", 2794, 0x323e8fc2, 0x51ccc178},
    {"65.69.140.83", 4739, "199.92.111.2", 14230, 0xd718262a, 0xc626b0ea},
    {"12.22.207.184", 38024, "24.19.198.95", 12898, 0xd2d0a5de, 0x5c2b394a},
    {"209.142.163.6", 2217, "38.27.205.30", 48228, 0x82989176, 0xafc7327f},
    {"202.188.127.2", 1303, "153.39.163.191", 44251, 0x5d1809c5, 0x10e828a2},
};
constexpr Vector kIpv6[] = {
    {"3ffe:2501:200:3::1", 1766, "3ffe:2501:200:1fff::7", 2794, 0x2cc18cd5, 0x40207d3d},
    {"ff02::1", 4739, "3ffe:501:8::260:97ff:fe40:efab", 14230, 0x0f0c461c, 0xdde51bbf},
    {"fe80::200:f8ff:fe21:67cf", 38024, "3ffe:1900:4545:3:200:f8ff:fe21:67cf", 44251, 0x4b61e985,
     0x02d1feef},
};

void check(int family, const Vector& v) {
  Toeplitz toeplitz;
  toeplitz.set_key(kKey);
  const size_t size = family == AF_INET ? 4 : 16;
  std::vector<uint8_t> input(2 * size + 4);
  ASSERT_EQ(inet_pton(family, v.src, input.data()), 1);
  ASSERT_EQ(inet_pton(family, v.dst, input.data() + size), 1);
  input[2 * size] = static_cast<uint8_t>(v.sport >> 8);
  input[2 * size + 1] = static_cast<uint8_t>(v.sport);
  input[2 * size + 2] = static_cast<uint8_t>(v.dport >> 8);
  input[2 * size + 3] = static_cast<uint8_t>(v.dport);
  EXPECT_EQ(toeplitz.hash(input.data(), 2 * size), v.addresses) << v.src;
  EXPECT_EQ(toeplitz.hash(input.data(), 2 * size + 4), v.with_ports) << v.src;
}

TEST(Toeplitz, PublishedVectorsIpv4) {
  for (const Vector& v : kIpv4) check(AF_INET, v);
}

TEST(Toeplitz, PublishedVectorsIpv6) {
  for (const Vector& v : kIpv6) check(AF_INET6, v);
}

TEST(Toeplitz, ZeroBeforeAKey) {
  Toeplitz toeplitz;
  const uint8_t input[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(toeplitz.hash(input, 8), 0u);
}

}  // namespace
}  // namespace verna::test
