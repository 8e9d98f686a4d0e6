// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/rss.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "support/packet_builder.h"
#include "support/world.h"

namespace verna::test {
namespace {

constexpr uint8_t kTcp = 6;
constexpr uint8_t kUdp = 17;
constexpr uint8_t kSctp = 132;
constexpr uint8_t kFourTuple = VERNA_RSS_IPS | VERNA_RSS_PORTS;

/// The hash as Microsoft defines it, one bit of the input after the other.
uint32_t bitwise_toeplitz(const uint8_t* key, size_t key_len, const Bytes& input) {
  uint32_t sum = 0;
  uint64_t window = 0;
  for (size_t i = 0; i < 8; i++) window = window << 8 | key[i];
  for (size_t i = 0; i < input.size(); i++) {
    for (int bit = 7; bit >= 0; bit--) {
      if (input[i] >> bit & 1) sum ^= static_cast<uint32_t>(window >> 32);
      const size_t next = i * 8 + static_cast<size_t>(7 - bit) + 64;
      const uint64_t in = next < key_len * 8 ? key[next / 8] >> (7 - next % 8) & 1u : 0;
      window = window << 1 | in;
    }
  }
  return sum;
}

struct Flow {
  bool ipv6 = false;
  uint8_t proto = kUdp;
  uint8_t src = 1;
  uint8_t dst = 2;
  uint16_t sport = 1000;
  uint16_t dport = 80;
  uint32_t label = 0;

  Flow reversed() const {
    Flow back = *this;
    std::swap(back.src, back.dst);
    std::swap(back.sport, back.dport);
    return back;
  }
  Bytes address(uint8_t host) const {
    if (!ipv6) return {10, 0, 0, host};
    Bytes out(16, 0);
    out[0] = 0xfd;
    out[15] = host;
    return out;
  }
};

struct RssTest : testing::Test {
  RssTest() {
    for (size_t i = 0; i < VERNA_RSS_KEY_SIZE; i++)
      config.key[i] = static_cast<uint8_t>(37 * i + 11);
    for (size_t i = 0; i < config.table.size(); i++) config.table[i] = static_cast<uint16_t>(i % 7);
    hash_all();
  }
  void hash_all() {
    config.fields.fill(kFourTuple);
    config.fields[VERNA_RSS_IPV4] = config.fields[VERNA_RSS_IPV6] = VERNA_RSS_IPS;
  }
  PacketView view(const Flow& f) {
    RocePacket p;
    p.ipv6 = f.ipv6;
    p.sport = f.sport;
    p.dport = f.dport;
    const Bytes src = f.address(f.src);
    const Bytes dst = f.address(f.dst);
    std::copy(src.begin(), src.end(), p.sip + 16 - src.size());
    std::copy(dst.begin(), dst.end(), p.dip + 16 - dst.size());
    p.opcode = kUdSendOnly;
    p.payload.resize(40);
    frame = p.build();
    frame[f.ipv6 ? 20 : 23] = f.proto;
    if (f.ipv6) {
      frame[15] = static_cast<uint8_t>((frame[15] & 0xf0) | f.label >> 16);
      frame[16] = static_cast<uint8_t>(f.label >> 8);
      frame[17] = static_cast<uint8_t>(f.label);
    }
    return parsed();
  }
  PacketView parsed() const {
    PacketView view;
    parse_packet(frame.data(), static_cast<uint32_t>(frame.size()), &view);
    return view;
  }
  Rss::Choice choose(const Flow& f) {
    rss.configure(config);
    return rss.choose(view(f));
  }
  /// What the contract says is hashed, put together by hand.
  Bytes input_of(const Flow& f, uint8_t fields) const {
    Bytes out;
    const auto add = [&](const Bytes& b) { out.insert(out.end(), b.begin(), b.end()); };
    const auto be16 = [](uint16_t v) {
      return Bytes{static_cast<uint8_t>(v >> 8), static_cast<uint8_t>(v)};
    };
    if (fields & VERNA_RSS_SRC_IP) add(f.address(f.src));
    if (fields & VERNA_RSS_DST_IP) add(f.address(f.dst));
    if (fields & VERNA_RSS_SRC_PORT) add(be16(f.sport));
    if (fields & VERNA_RSS_DST_PORT) add(be16(f.dport));
    if (fields & VERNA_RSS_FLOW_LABEL)
      add({0, static_cast<uint8_t>(f.label >> 16), static_cast<uint8_t>(f.label >> 8),
           static_cast<uint8_t>(f.label)});
    return out;
  }
  uint32_t expected(const Bytes& input) const {
    return bitwise_toeplitz(config.key, VERNA_RSS_KEY_SIZE, input);
  }

  Bytes frame;
  Rss::Config config{};
  Rss rss;
};

TEST_F(RssTest, WithoutFieldsEverythingGoesToTheFirstEntry) {
  config.table[0] = 5;
  config.fields.fill(0);
  const Rss::Choice c = choose({});
  EXPECT_EQ(c.queue, 5);
  EXPECT_FALSE(c.hashed);
  EXPECT_EQ(RssContexts().main().choose(view({})).queue, 0);
}

TEST_F(RssTest, OneFlowOneQueueManyFlowsManyQueues) {
  std::set<uint16_t> queues;
  for (uint16_t port = 1000; port < 1200; port++) {
    const Flow flow = {.sport = port};
    const Rss::Choice c = choose(flow);
    EXPECT_TRUE(c.hashed);
    EXPECT_TRUE(c.l4);
    EXPECT_EQ(c.queue, config.table[c.hash % Rss::kTableSize]);
    EXPECT_EQ(choose(flow).queue, c.queue);
    queues.insert(c.queue);
  }
  EXPECT_EQ(queues.size(), 7u);
}

TEST_F(RssTest, EverySubsetOfTheFieldsOfEveryType) {
  const std::map<int, std::pair<bool, uint8_t>> types = {
      {VERNA_RSS_IPV4, {false, 50}},    {VERNA_RSS_TCPV4, {false, kTcp}},
      {VERNA_RSS_UDPV4, {false, kUdp}}, {VERNA_RSS_SCTPV4, {false, kSctp}},
      {VERNA_RSS_IPV6, {true, 50}},     {VERNA_RSS_TCPV6, {true, kTcp}},
      {VERNA_RSS_UDPV6, {true, kUdp}},  {VERNA_RSS_SCTPV6, {true, kSctp}}};
  size_t tried = 0;
  for (const auto& [type, what] : types) {
    for (uint8_t fields = 0; fields < 32; fields++) {
      Flow f = {.ipv6 = what.first, .proto = what.second, .src = 77, .sport = 51966};
      if (f.ipv6) f.label = 0xabcde;
      hash_all();
      config.fields[static_cast<size_t>(type)] = fields;
      if (Rss::check(config.fields, VERNA_RSS_PLAIN)) continue;
      const Rss::Choice c = choose(f);
      const Bytes input = input_of(f, fields);
      EXPECT_EQ(c.hashed, fields != 0);
      EXPECT_EQ(c.hash, fields ? expected(input) : 0) << type << " " << +fields;
      EXPECT_EQ(c.l4, (fields & VERNA_RSS_PORTS) == VERNA_RSS_PORTS);
      tried++;
    }
  }
  EXPECT_EQ(tried, 3 * 16 + 4 + 3 * 32 + 8u);
}

TEST_F(RssTest, FieldsThatAPacketDoesNotHaveAreRefused) {
  const auto refused = [&](int type, uint8_t fields, uint8_t transform = VERNA_RSS_PLAIN) {
    hash_all();
    config.fields[static_cast<size_t>(type)] = fields;
    return Rss::check(config.fields, transform) != nullptr;
  };
  EXPECT_FALSE(refused(VERNA_RSS_TCPV6, 0x1f));
  EXPECT_TRUE(refused(VERNA_RSS_TCPV6, 0x20));
  EXPECT_TRUE(refused(VERNA_RSS_TCPV4, VERNA_RSS_FLOW_LABEL));
  EXPECT_TRUE(refused(VERNA_RSS_IPV4, VERNA_RSS_SRC_PORT));
  EXPECT_TRUE(refused(VERNA_RSS_IPV6, VERNA_RSS_DST_PORT));
  EXPECT_TRUE(refused(VERNA_RSS_IPV4, VERNA_RSS_IPS, 3));
  for (const uint8_t transform : {VERNA_RSS_SYM_XOR, VERNA_RSS_SYM_OR_XOR}) {
    EXPECT_FALSE(refused(VERNA_RSS_TCPV4, kFourTuple, transform));
    EXPECT_FALSE(refused(VERNA_RSS_TCPV4, VERNA_RSS_PORTS, transform));
    EXPECT_FALSE(refused(VERNA_RSS_TCPV4, 0, transform));
    EXPECT_TRUE(refused(VERNA_RSS_TCPV4, VERNA_RSS_SRC_IP, transform));
    EXPECT_TRUE(refused(VERNA_RSS_TCPV4, VERNA_RSS_IPS | VERNA_RSS_DST_PORT, transform));
    EXPECT_TRUE(refused(VERNA_RSS_UDPV6, kFourTuple | VERNA_RSS_FLOW_LABEL, transform));
  }
}

TEST_F(RssTest, SymmetricFormsGiveBothDirectionsOneHash) {
  for (const bool ipv6 : {false, true}) {
    for (uint16_t port = 1000; port < 1050; port++) {
      const Flow f = {.ipv6 = ipv6, .proto = kTcp, .src = 9, .dst = 4, .sport = port};
      config.transform = VERNA_RSS_PLAIN;
      EXPECT_NE(choose(f).hash, choose(f.reversed()).hash);
      for (const auto transform : {VERNA_RSS_SYM_XOR, VERNA_RSS_SYM_OR_XOR}) {
        config.transform = transform;
        EXPECT_EQ(choose(f).hash, choose(f.reversed()).hash) << port;
        EXPECT_NE(choose(f).hash, 0u);
      }
    }
  }
}

/// The published key and first flow, whose plain hash Microsoft gives. The symmetric inputs are put
/// together by hand from its addresses and ports, and hashed by another program.
TEST_F(RssTest, SymmetricGoldenVectors) {
  constexpr uint8_t kPublished[40] = {0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2, 0x41, 0x67,
                                      0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0, 0xd0, 0xca, 0x2b, 0xcb,
                                      0xae, 0x7b, 0x30, 0xb4, 0x77, 0xcb, 0x2d, 0xa3, 0x80, 0x30,
                                      0xf2, 0x0c, 0x6a, 0x42, 0xb7, 0x3b, 0xbe, 0xac, 0x01, 0xfa};
  std::memset(config.key, 0, sizeof config.key);
  std::copy(std::begin(kPublished), std::end(kPublished), config.key);
  const Bytes plain = {66, 9, 149, 187, 161, 142, 100, 80, 0x0a, 0xea, 0x06, 0xe6};
  const Bytes xors = {227, 135, 241, 235, 227, 135, 241, 235, 0x0c, 0x0c, 0x0c, 0x0c};
  const Bytes ors = {227, 143, 245, 251, 227, 135, 241, 235, 0x0e, 0xee, 0x0c, 0x0c};
  view({.proto = kTcp});
  std::copy(plain.begin(), plain.begin() + 8, frame.begin() + 26);
  std::copy(plain.begin() + 8, plain.end(), frame.begin() + 34);
  const auto hash = [&](verna_rss_transform transform) {
    config.transform = transform;
    rss.configure(config);
    return rss.choose(parsed()).hash;
  };
  EXPECT_EQ(hash(VERNA_RSS_PLAIN), 0x51ccc178u);
  EXPECT_EQ(hash(VERNA_RSS_SYM_XOR), 0xac2b58cau);
  EXPECT_EQ(hash(VERNA_RSS_SYM_OR_XOR), 0xa65524fau);
  EXPECT_EQ(expected(plain), 0x51ccc178u) << "the reference itself";
  EXPECT_EQ(expected(xors), 0xac2b58cau);
  EXPECT_EQ(expected(ors), 0xa65524fau);
}

TEST_F(RssTest, FragmentsAreHashedByAddressesOnly) {
  const Rss::Choice whole = choose({});
  frame[20] = 0x20;
  const Rss::Choice first = rss.choose(parsed());
  EXPECT_TRUE(first.hashed);
  EXPECT_FALSE(first.l4);
  EXPECT_NE(first.hash, whole.hash);
}

TEST_F(RssTest, ContextsComeAndGo) {
  RssContexts contexts;
  EXPECT_NE(contexts.find(0), nullptr);
  EXPECT_EQ(contexts.find(1), nullptr);
  EXPECT_EQ(contexts.find(RssContexts::kMaxContexts), nullptr);
  contexts.configure(63, config);
  ASSERT_NE(contexts.find(63), nullptr);
  EXPECT_TRUE(contexts.find(63)->choose(view({})).hashed);
  EXPECT_FALSE(contexts.main().choose(view({})).hashed) << "contexts are apart";
  contexts.destroy(63);
  EXPECT_EQ(contexts.find(63), nullptr);
  contexts.configure(5, config);
  contexts.configure(0, config);
  contexts.reset();
  EXPECT_EQ(contexts.find(5), nullptr);
  EXPECT_FALSE(contexts.main().choose(view({})).hashed);
}

}  // namespace
}  // namespace verna::test
