// SPDX-License-Identifier: GPL-2.0-or-later
// What the card says about checksums of received packets.
#include <algorithm>
#include <random>

#include "eth/eth_rig.h"
#include "support/ip_packet.h"

namespace verna::test {
namespace {

struct RxChecksumTest : EthRig {
  struct Answer {
    verna_cqe cqe;
    Bytes bytes;
  };
  Answer receive(const Bytes& frame) {
    const auto buffers = post_buffers({16384});
    inject(frame);
    const auto cqe = done(rx_cq);
    if (!cqe) {
      ADD_FAILURE() << "a frame is never dropped for its checksum";
      return {};
    }
    EXPECT_TRUE(cqe->rx_flags & VERNA_CQE_RX_CSUM);
    const Bytes bytes = card.bus.bytes(buffers[0], cqe->byte_len);
    EXPECT_EQ(cqe->csum, naive(bytes)) << "sum of what was delivered";
    return {*cqe, bytes};
  }
  /// As the bytes lie in memory: both bytes of the big endian sum change places.
  static uint16_t naive(const Bytes& bytes) {
    return __builtin_bswap16(naive_sum(bytes.data() + 14, bytes.size() - 14));
  }
  void expect(const IpPacket& packet, unsigned ok, bool bad, const char* what) {
    const Bytes frame = packet.build();
    const Answer a = receive(frame);
    EXPECT_EQ(a.cqe.csum_ok, ok) << what;
    EXPECT_EQ((a.cqe.rx_flags & VERNA_CQE_RX_CSUM_BAD) != 0, bad) << what;
    EXPECT_EQ(a.bytes, frame) << what;
  }
  IpPacket make(uint8_t proto, bool v6, size_t payload) {
    IpPacket p;
    std::copy_n(card.mac, 6, p.dmac);
    p.proto = proto;
    p.ip.v6 = v6;
    p.payload = pattern(payload, payload + proto);
    return p;
  }
};

TEST_F(RxChecksumTest, EveryTransportGoodAndBad) {
  ASSERT_TRUE(card.driver.set_mtu(9600).ok());
  for (const bool v6 : {false, true})
    for (const uint8_t proto : {6, 17, 132})
      for (const size_t payload : {0, 1, 2, 7, 100, 1399, 1400, 1727, 1728, 3000, 8999, 9000}) {
        IpPacket p = make(proto, v6, payload);
        expect(p, 1, false, "good");
        p.break_checksum = 1;
        expect(p, 0, true, "bad");
      }
  EXPECT_EQ(eth(VERNA_ETH_rx_csum_ok), 72u);
  EXPECT_EQ(eth(VERNA_ETH_rx_csum_bad), 72u);
  EXPECT_EQ(card.driver.counters(VERNA_COUNTERS_RXQ, 0)[VERNA_RXQ_csum_bad], 72u);
}

TEST_F(RxChecksumTest, OneWrongBitAnywhereIsSeen) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 300; i++) {
    const bool v6 = random() & 1;
    const uint8_t protos[] = {6, 17, 132};
    IpPacket p = make(protos[random() % 3], v6, 40 + random() % 1300);
    Bytes frame = p.build();
    // Ports, sequence numbers and payload: nothing that changes how the packet is read.
    const size_t l4 = v6 ? 54 : 34;
    const size_t first = p.proto == 17 ? l4 + 8 : l4 + (p.proto == 6 ? 20 : 12);
    frame[first + random() % (frame.size() - first)] ^= static_cast<uint8_t>(1u << random() % 8);
    const Answer a = receive(frame);
    EXPECT_EQ(a.cqe.csum_ok, 0) << i;
    EXPECT_TRUE(a.cqe.rx_flags & VERNA_CQE_RX_CSUM_BAD) << i;
  }
}

TEST_F(RxChecksumTest, AnIpv4HeaderChecksumIsLookedAt) {
  IpPacket p = make(6, false, 100);
  p.ip.break_checksum = 1;
  expect(p, 0, true, "IPv4 header");
  p.ip.break_checksum = 0;
  p.ip.options = {1, 1, 1, 0};
  expect(p, 1, false, "options");
}

TEST_F(RxChecksumTest, UdpWithoutAChecksumCounts) {
  for (const bool v6 : {false, true}) {
    IpPacket p = make(17, v6, 33);
    p.no_checksum = true;
    expect(p, 1, false, "zero");
  }
}

TEST_F(RxChecksumTest, FragmentsAndStrangersAreOnlySummed) {
  IpPacket p = make(6, false, 101);
  p.ip.more_fragments = true;
  expect(p, 0, false, "fragment");
  expect(make(50, false, 99), 0, false, "ESP");
  expect(make(50, true, 99), 0, false, "ESP over IPv6");
  expect(make(1, false, 64), 0, false, "ICMP");
  const Answer a = receive(frame_to(card.mac, 333, 5));
  EXPECT_EQ(a.cqe.csum_ok, 0);
  EXPECT_FALSE(a.cqe.rx_flags & VERNA_CQE_RX_CSUM_BAD);
  EXPECT_EQ(eth(VERNA_ETH_rx_csum_ok) + eth(VERNA_ETH_rx_csum_bad), 0u);
}

TEST_F(RxChecksumTest, WhatIsBehindThePacketCountsInTheSumAlone) {
  for (const size_t trailer : {1, 2, 3, 46}) {
    IpPacket p = make(6, false, 64);
    p.trailer = pattern(trailer, 9);
    expect(p, 1, false, "TCP and a trailer");
    p = make(17, true, 64);
    p.trailer = pattern(trailer, 9);
    expect(p, 1, false, "UDP and a trailer");
  }
  expect(make(6, false, 1), 1, false, "padded");
}

TEST_F(RxChecksumTest, TunnelsFromTheOutermostInwards) {
  struct Case {
    IpPacket::Tunnel tunnel;
    unsigned good;       // checksums of a good one
    unsigned inner_bad;  // the inner one is wrong
    bool seen;           // and the card looks there
    const char* name;
  };
  for (const bool outer6 : {false, true})
    for (const bool v6 : {false, true})
      for (const Case& c : {Case{IpPacket::kIp, 1, 0, true, "IP in IP"},
                            {IpPacket::kGre, 1, 0, true, "GRE"},
                            {IpPacket::kGreChecksum, 0, 0, false, "GRE with a checksum"},
                            {IpPacket::kVxlan, 2, 1, true, "VXLAN"},
                            {IpPacket::kGeneve, 2, 1, true, "GENEVE"}}) {
        IpPacket p = make(6, v6, 777);
        p.outer.emplace();
        p.outer->v6 = outer6;
        p.outer->source = 7;
        p.tunnel = c.tunnel;
        expect(p, c.good, false, c.name);
        p.break_checksum = 3;
        expect(p, c.inner_bad, c.seen, c.name);
      }
  IpPacket p = make(6, false, 500);
  p.outer.emplace();
  p.outer->v6 = true;
  p.tunnel = IpPacket::kVxlan;
  p.udp_checksum = true;
  expect(p, 2, false, "outer checksum");
  p.udp_checksum = false;
  expect(p, 0, true, "wrong outer checksum");
}

TEST_F(RxChecksumTest, LengthsThatContradictDoNoHarm) {
  IpPacket p = make(17, false, 100);
  Bytes frame = p.build();
  for (const uint16_t length : {0, 7, 8, 50, 108, 109, 0xffff}) {
    frame[38] = static_cast<uint8_t>(length >> 8);
    frame[39] = static_cast<uint8_t>(length);
    const Answer a = receive(frame);
    EXPECT_EQ(a.cqe.csum_ok, length == 108) << length;
  }
  std::mt19937_64 random(3);
  for (int i = 0; i < 2000; i++) {
    IpPacket q = make(random() & 1 ? 6 : 17, random() & 1, random() % 200);
    q.outer.emplace();
    q.outer->v6 = random() & 1;
    q.tunnel = static_cast<IpPacket::Tunnel>(random() % 5);
    Bytes f = q.build();
    for (int n = 0; n < 3; n++) f[12 + random() % (f.size() - 12)] = static_cast<uint8_t>(random());
    if (random() & 1) f.resize(14 + random() % (f.size() - 13));
    receive(f);
  }
}

// A peer that shares the wire's memory changes the payload while the card works on the frame.
TEST_F(RxChecksumTest, TheSumIsThatOfWhatIsDelivered) {
  const Bytes frame = make(6, false, 1200).build();
  const auto buffers = post_buffers({4096});
  bool changed = false;
  card.bus.set_read_hook([&](const FakeHostBus::Access&) {
    if (!wire.to_a.front()) return;
    auto* shared = const_cast<Bytes*>(wire.to_a.front());
    for (size_t i = 60; i < 1200; i++) (*shared)[i] ^= 0x5a;
    changed = true;
  });
  inject(frame);
  const auto cqe = done(rx_cq);
  card.bus.set_read_hook({});
  ASSERT_TRUE(cqe);
  ASSERT_TRUE(changed) << "the test must do what it says";
  const Bytes bytes = card.bus.bytes(buffers[0], cqe->byte_len);
  EXPECT_EQ(cqe->csum, naive(bytes));
  EXPECT_EQ(cqe->csum_ok, bytes == frame);
}

}  // namespace
}  // namespace verna::test
