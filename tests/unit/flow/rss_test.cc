// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/rss.h"

#include <gtest/gtest.h>

#include <set>

#include "support/packet_builder.h"
#include "support/world.h"

namespace verna::test {
namespace {

struct RssTest : testing::Test {
  RssTest() {
    for (size_t i = 0; i < VERNA_RSS_KEY_SIZE; i++) key[i] = static_cast<uint8_t>(37 * i + 11);
    for (size_t i = 0; i < table.size(); i++) table[i] = static_cast<uint16_t>(i % 7);
  }
  static PacketView flow(uint16_t sport, bool ipv6 = false, uint8_t proto = 17, uint8_t host = 1) {
    RocePacket p;
    p.ipv6 = ipv6;
    p.sport = sport;
    p.dport = 80;
    p.sip[15] = host;
    p.dip[15] = 2;
    p.opcode = kUdSendOnly;
    p.payload.resize(40);
    frame = p.build();
    frame[ipv6 ? 20 : 23] = proto;
    PacketView view;
    parse_packet(frame.data(), static_cast<uint32_t>(frame.size()), &view);
    return view;
  }
  static Bytes frame;
  uint8_t key[VERNA_RSS_KEY_SIZE];
  Rss::Table table;
  Rss rss;
};
Bytes RssTest::frame;

TEST_F(RssTest, WithoutTypesEverythingGoesToTheFirstEntry) {
  table[0] = 5;
  rss.configure(key, table, 0);
  const Rss::Choice c = rss.choose(flow(1000));
  EXPECT_EQ(c.queue, 5);
  EXPECT_FALSE(c.hashed);
  rss.reset();
  EXPECT_EQ(rss.choose(flow(1000)).queue, 0);
}

TEST_F(RssTest, OneFlowOneQueueManyFlowsManyQueues) {
  rss.configure(key, table, VERNA_RSS_ALL);
  std::set<uint16_t> queues;
  for (uint16_t port = 1000; port < 1200; port++) {
    const Rss::Choice c = rss.choose(flow(port));
    EXPECT_TRUE(c.hashed);
    EXPECT_EQ(c.queue, table[c.hash % Rss::kTableSize]);
    EXPECT_EQ(rss.choose(flow(port)).queue, c.queue);
    queues.insert(c.queue);
  }
  EXPECT_EQ(queues.size(), 7u);
}

TEST_F(RssTest, EachTypeSelectsItsPackets) {
  struct Case {
    uint32_t type;
    bool ipv6;
    uint8_t proto;
    bool ports;
  };
  const Case cases[] = {
      {VERNA_RSS_IPV4, false, 17, false}, {VERNA_RSS_UDPV4, false, 17, true},
      {VERNA_RSS_TCPV4, false, 6, true},  {VERNA_RSS_IPV6, true, 17, false},
      {VERNA_RSS_UDPV6, true, 17, true},  {VERNA_RSS_TCPV6, true, 6, true},
  };
  for (const Case& c : cases) {
    rss.configure(key, table, c.type);
    const Rss::Choice one = rss.choose(flow(1000, c.ipv6, c.proto));
    const Rss::Choice two = rss.choose(flow(1001, c.ipv6, c.proto));
    const Rss::Choice other = rss.choose(flow(1000, c.ipv6, c.proto, 77));
    EXPECT_TRUE(one.hashed);
    EXPECT_EQ(one.hash != two.hash, c.ports) << c.type;
    EXPECT_NE(one.hash, other.hash) << c.type;
    EXPECT_FALSE(rss.choose(flow(1000, !c.ipv6, c.proto)).hashed) << c.type;
    if (c.ports) EXPECT_FALSE(rss.choose(flow(1000, c.ipv6, c.proto == 6 ? 17 : 6)).hashed);
  }
}

TEST_F(RssTest, FragmentsAreHashedByAddressesOnly) {
  rss.configure(key, table, VERNA_RSS_ALL);
  flow(1000);
  const Rss::Choice whole = rss.choose(flow(1000));
  frame[20] = 0x20;
  PacketView view;
  parse_packet(frame.data(), static_cast<uint32_t>(frame.size()), &view);
  const Rss::Choice first = rss.choose(view);
  EXPECT_TRUE(first.hashed);
  EXPECT_NE(first.hash, whole.hash);
}

}  // namespace
}  // namespace verna::test
