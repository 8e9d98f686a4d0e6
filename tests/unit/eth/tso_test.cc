// SPDX-License-Identifier: GPL-2.0-or-later
// Segmentation against a model, and its behaviour when it cannot go on.
#include <algorithm>

#include "eth/eth_limits.h"
#include "eth/eth_rig.h"
#include "eth/tso_model.h"

namespace verna::test {
namespace {

struct TsoTest : EthRig {
  /// Posts a packet in pieces that end at `cuts` (ascending, inside of the packet).
  void post(const TsoCase& c, const std::vector<size_t>& cuts = {}, EthQueue* queue = nullptr) {
    queue = queue ? queue : txq;
    size_t from = 0;
    for (size_t i = 0; i <= cuts.size(); i++) {
      const size_t to = i < cuts.size() ? cuts[i] : c.packet.size();
      verna_tx_desc desc = i == 0 ? c.request : verna_tx_desc{};
      desc.addr = buffer(Bytes(c.packet.begin() + static_cast<ptrdiff_t>(from),
                               c.packet.begin() + static_cast<ptrdiff_t>(to)));
      desc.len = static_cast<uint32_t>(to - from);
      if (i == cuts.size()) desc.flags |= VERNA_TX_F_EOP;
      std::memcpy(card.bus.ptr(queue->wq.entry(queue->wq.prod), sizeof desc), &desc, sizeof desc);
      queue->wq.prod++;
      from = to;
    }
    card.driver.publish(&queue->wq);
  }
  /// Up to 31 different cuts.
  std::vector<size_t> random_cuts(size_t bytes, size_t wanted) {
    std::vector<size_t> cuts;
    for (size_t i = 0; i < wanted; i++) cuts.push_back(1 + random() % (bytes - 1));
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    return cuts;
  }
  void expect_sent(const TsoCase& c) {
    for (size_t i = 0; i < c.segments.size(); i++) {
      auto out = sent();
      ASSERT_TRUE(out) << "segment " << i << " of " << c.segments.size();
      ASSERT_EQ(*out, c.segments[i]) << "segment " << i << " of " << c.segments.size();
    }
    EXPECT_FALSE(sent());
  }
  void expect_done(verna_cqe_status status) {
    auto cqe = done(tx_cq);
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->status, status);
    EXPECT_EQ(cqe->wqe_index, txq->wq.prod - 1);
    EXPECT_FALSE(done(tx_cq)) << "more than one completion";
  }
  /// As many TCP segments of 1000 bytes as asked for.
  static TsoSpec plain(size_t segments) {
    TsoSpec s;
    s.mss = 1000;
    s.payload = pattern(segments * 1000, 1);
    return s;
  }

  std::mt19937_64 random{42};
};

TEST_F(TsoTest, EveryStackOfHeaders) {
  for (int tunnel = 0; tunnel <= static_cast<int>(Tunnel::kIp); tunnel++)
    for (int choice = 0; choice < 32; choice++) {
      TsoSpec s;
      s.tunnel = static_cast<Tunnel>(tunnel);
      s.version = choice & 1 ? 6 : 4;
      s.outer_version = choice & 2 ? 6 : 4;
      s.tcp = choice & 4;
      s.outer_checksum = (choice & 8) && tunnel && s.tunnel != Tunnel::kIp;
      if (choice & 16) s.tags = {{0x88a8, 7}, {0x8100, 9}};
      s.payload = pattern(350, static_cast<uint64_t>(choice));
      const TsoCase c = make_case(s);
      SCOPED_TRACE(testing::Message() << "tunnel " << tunnel << " choice " << choice);
      post(c);
      ASSERT_NO_FATAL_FAILURE(expect_sent(c));
      ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_OK));
    }
}

TEST_F(TsoTest, AgreesWithTheModelOverRandomLayouts) {
  for (int round = 0; round < 400; round++) {
    const TsoSpec s = random_spec(random, 8000, 1522);
    const TsoCase c = make_case(s);
    SCOPED_TRACE(testing::Message()
                 << "round " << round << " mss " << s.mss << " payload " << s.payload.size());
    post(c, random_cuts(c.packet.size(), random() % kMaxTxFrags));
    ASSERT_NO_FATAL_FAILURE(expect_sent(c));
    ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_OK));
  }
}

TEST_F(TsoTest, MssExtremes) {
  TsoSpec s;
  s.payload = pattern(300, 1);
  s.mss = 1;
  TsoCase c = make_case(s);
  post(c);
  ASSERT_NO_FATAL_FAILURE(expect_sent(c));
  ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_OK));

  s.mss = 65535;  // more than there is: one segment, which has to fit
  c = make_case(s);
  post(c);
  ASSERT_NO_FATAL_FAILURE(expect_sent(c));
  ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_OK));

  ASSERT_TRUE(card.driver.set_mtu(9600).ok());
  s.mss = static_cast<uint16_t>(9622 - header_bytes(s));
  s.payload = pattern(s.mss * 3u, 2);
  c = make_case(s);
  post(c, {20000});
  ASSERT_NO_FATAL_FAILURE(expect_sent(c));
  ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_OK));
  s.mss++;
  post(make_case(s), {20000});
  EXPECT_FALSE(sent()) << "a segment that does not fit";
  ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_ETH_DESC_ERR));
}

TEST_F(TsoTest, TheLargestPacket) {
  ASSERT_TRUE(card.driver.set_mtu(9000).ok());
  TsoSpec s;
  s.version = 6;
  s.mss = 8900;
  s.payload = pattern(kMaxTsoBytes - header_bytes(s), 1);
  TsoCase c = make_case(s);
  ASSERT_EQ(c.packet.size(), kMaxTsoBytes);
  std::vector<size_t> cuts;
  for (size_t at = 20000; at < c.packet.size(); at += 20000) cuts.push_back(at);
  post(c, cuts);
  ASSERT_NO_FATAL_FAILURE(expect_sent(c));
  ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_OK));
  s.payload.push_back(1);
  post(make_case(s), cuts);
  EXPECT_FALSE(sent());
  ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_ETH_DESC_ERR));
}

TEST_F(TsoTest, CountsPacketsOfTheWire) {
  const TsoCase c = make_case(plain(7));
  post(c);
  transmit(pattern(100, 1));
  uint64_t bytes = 100;
  for (const Bytes& f : c.segments) bytes += f.size();
  while (sent()) {
  }
  EXPECT_EQ(eth(VERNA_ETH_tx_packets), 8u);
  EXPECT_EQ(eth(VERNA_ETH_tx_bytes), bytes);
  EXPECT_EQ(eth(VERNA_ETH_tx_tso_packets), 1u);
  EXPECT_EQ(eth(VERNA_ETH_tx_tso_segments), 7u);
  EXPECT_EQ(eth(VERNA_ETH_tx_csum), 7u);
  const auto queue = card.driver.counters(VERNA_COUNTERS_TXQ, 0);
  EXPECT_EQ(queue[VERNA_TXQ_packets], 8u);
  EXPECT_EQ(queue[VERNA_TXQ_bytes], bytes);
  EXPECT_EQ(queue[VERNA_TXQ_tso_packets], 1u);
  EXPECT_EQ(queue[VERNA_TXQ_tso_segments], 7u);
  EXPECT_EQ(queue[VERNA_TXQ_csum], 7u);
}

// --- hostile requests --------------------------------------------------------------------------

TEST_F(TsoTest, LiesAreRefusedAndNothingIsSent) {
  struct Lie {
    const char* what;
    std::function<void(TsoCase&)> tell;
    Tunnel tunnel = Tunnel::kNone;
    bool tcp = true;
    int version = 4;
    int outer_version = 4;
  };
  const Lie lies[] = {
      {"mss 0", [](TsoCase& c) { c.request.mss = 0; }},
      {"segments longer than the MTU", [](TsoCase& c) { c.request.mss = 1500; }},
      {"mss 65535", [](TsoCase& c) { c.request.mss = 65535; }},
      {"no headers", [](TsoCase& c) { c.request.hdr_len = 0; }},
      {"headers only", [](TsoCase& c) { c.packet.resize(c.request.hdr_len); }},
      {"fewer bytes than headers", [](TsoCase& c) { c.packet.resize(c.request.hdr_len - 1u); }},
      {"one byte", [](TsoCase& c) { c.packet.resize(1); }},
      {"hdr_len less", [](TsoCase& c) { c.request.hdr_len--; }},
      {"hdr_len more", [](TsoCase& c) { c.request.hdr_len++; }},
      {"hdr_len ends in IP", [](TsoCase& c) { c.request.hdr_len = 30; }},
      {"hdr_len beyond the limit", [](TsoCase& c) { c.request.hdr_len = VERNA_TX_MAX_HDR + 1; }},
      {"hdr_len 65535", [](TsoCase& c) { c.request.hdr_len = 65535; }},
      {"l3 0", [](TsoCase& c) { c.request.l3_offset = 0; }},
      {"l3 before the type", [](TsoCase& c) { c.request.l3_offset = 12; }},
      {"l3 later", [](TsoCase& c) { c.request.l3_offset = 15; }},
      {"l3 at the end", [](TsoCase& c) { c.request.l3_offset = c.request.hdr_len; }},
      {"l3 65535", [](TsoCase& c) { c.request.l3_offset = 65535; }},
      {"l4 0", [](TsoCase& c) { c.request.csum_start = 0; }},
      {"l4 later", [](TsoCase& c) { c.request.csum_start++; }},
      {"l4 65535", [](TsoCase& c) { c.request.csum_start = 65535; }},
      {"csum_offset", [](TsoCase& c) { c.request.csum_offset = 16; }},
      {"IP version 5", [](TsoCase& c) { c.packet[14] = 0x55; }},
      {"IP version of the other type", [](TsoCase& c) { c.packet[14] = 0x65; }},
      {"ethertype of another protocol", [](TsoCase& c) { c.packet[13] = 6; }},
      {"a tag without end", [](TsoCase& c) { c.packet[12] = 0x81; }},
      {"IP header of 16 bytes", [](TsoCase& c) { c.packet[14] = 0x44; }},
      {"IP header longer", [](TsoCase& c) { c.packet[14] = 0x46; }},
      {"IP fragment", [](TsoCase& c) { c.packet[20] |= 0x20; }},
      {"IP fragment offset", [](TsoCase& c) { c.packet[21] = 1; }},
      {"not TCP", [](TsoCase& c) { c.packet[23] = 17; }},
      {"TCP header of 16 bytes", [](TsoCase& c) { c.packet[46] = 0x40; }},
      {"TCP header longer", [](TsoCase& c) { c.packet[46] = 0x60; }},
      {"not UDP", [](TsoCase& c) { c.packet[23] = 6; }, Tunnel::kNone, false},
      {"UDP as TCP", [](TsoCase& c) { c.request.flags ^= VERNA_TX_F_TSO | VERNA_TX_F_USO; },
       Tunnel::kNone, false},
      {"UDP with a long header",
       [](TsoCase& c) { c.request.hdr_len = static_cast<uint16_t>(c.request.hdr_len + 4); },
       Tunnel::kNone, false},
      {"IPv6 without TCP", [](TsoCase& c) { c.packet[20] = 59; }, Tunnel::kNone, true, 6},
      {"IPv6 with an unknown extension", [](TsoCase& c) { c.packet[20] = 44; }, Tunnel::kNone, true,
       6},
      {"outer l4 without a tunnel", [](TsoCase& c) { c.request.outer_l4_offset = 20; }},
      {"outer l3 without a tunnel", [](TsoCase& c) { c.request.outer_l3_offset = 14; }},
      {"outer fixed ID without a tunnel",
       [](TsoCase& c) { c.request.flags |= VERNA_TX_F_OUTER_FIXED_ID; }},
      {"outer l3 behind l3", [](TsoCase& c) { c.request.outer_l3_offset = 65535; }, Tunnel::kVxlan},
      {"outer l3 later", [](TsoCase& c) { c.request.outer_l3_offset++; }, Tunnel::kVxlan},
      {"outer l4 behind l3", [](TsoCase& c) { c.request.outer_l4_offset = c.request.l3_offset; },
       Tunnel::kVxlan},
      {"outer l4 before l3", [](TsoCase& c) { c.request.outer_l4_offset = 1; }, Tunnel::kVxlan},
      {"outer l4 later", [](TsoCase& c) { c.request.outer_l4_offset++; }, Tunnel::kVxlan},
      {"outer UDP is not", [](TsoCase& c) { c.packet[23] = 132; }, Tunnel::kVxlan},
      {"outer UDP is TCP", [](TsoCase& c) { c.packet[23] = 6; }, Tunnel::kVxlan},
      {"no outer l4 but UDP", [](TsoCase& c) { c.request.outer_l4_offset = 0; }, Tunnel::kVxlan},
      {"no outer l3 but UDP",
       [](TsoCase& c) { c.request.outer_l3_offset = c.request.outer_l4_offset = 0; },
       Tunnel::kVxlan},
      {"outer fragment", [](TsoCase& c) { c.packet[20] |= 0x20; }, Tunnel::kVxlan},
      {"GRE version 1", [](TsoCase& c) { c.packet[35] |= 1; }, Tunnel::kGre},
      {"GRE with routing", [](TsoCase& c) { c.packet[34] |= 0x40; }, Tunnel::kGre},
      {"GRE with sequence numbers", [](TsoCase& c) { c.packet[34] |= 0x10; }, Tunnel::kGreKey},
      {"GRE longer than there is", [](TsoCase& c) { c.packet[34] |= 0xa0; }, Tunnel::kGre},
      {"IPv6 in IP that says IPv4", [](TsoCase& c) { c.packet[23] = 4; }, Tunnel::kIp, true, 6},
      {"IPv4 in IP that says IPv6", [](TsoCase& c) { c.packet[23] = 41; }, Tunnel::kIp},
      {"IP in IPv6 that says TCP", [](TsoCase& c) { c.packet[20] = 6; }, Tunnel::kIp, true, 4, 6},
      {"TSO and USO", [](TsoCase& c) { c.request.flags |= VERNA_TX_F_TSO | VERNA_TX_F_USO; }},
      {"TSO and CSUM", [](TsoCase& c) { c.request.flags |= VERNA_TX_F_CSUM; }},
      {"TSO and CRC32C", [](TsoCase& c) { c.request.flags |= VERNA_TX_F_CRC32C; }},
      {"two tags", [](TsoCase& c) { c.request.flags |= VERNA_TX_F_VLAN | VERNA_TX_F_SVLAN; }},
      {"CWR of UDP", [](TsoCase& c) { c.request.flags |= VERNA_TX_F_KEEP_CWR; }, Tunnel::kNone,
       false},
      {"unknown flag", [](TsoCase& c) { c.request.flags |= 0x800; }},
      {"a TCI without a tag", [](TsoCase& c) { c.request.vlan_tci = 1; }},
      {"a vport without VPORT", [](TsoCase& c) { c.request.vport = 1; }},
      {"VPORT without a switch", [](TsoCase& c) { c.request.flags |= VERNA_TX_F_VPORT; }},
  };
  for (const Lie& lie : lies) {
    SCOPED_TRACE(lie.what);
    TsoSpec s = plain(4);
    s.tunnel = lie.tunnel;
    s.tcp = lie.tcp;
    s.version = lie.version;
    s.outer_version = lie.outer_version;
    TsoCase c = make_case(s);
    lie.tell(c);
    const uint64_t refused = eth(VERNA_ETH_tx_drop_desc);
    post(c);
    ASSERT_FALSE(sent());
    ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_ETH_DESC_ERR));
    EXPECT_EQ(eth(VERNA_ETH_tx_drop_desc), refused + 1);
  }
  const TsoCase good = make_case(plain(3));
  post(good);
  ASSERT_NO_FATAL_FAILURE(expect_sent(good));
}

TEST_F(TsoTest, RandomRequestsNeitherCrashNorStopTheQueue) {
  for (int round = 0; round < 3000; round++) {
    TsoCase c = make_case(random_spec(random, 2000, 1522));
    uint8_t* raw = reinterpret_cast<uint8_t*>(&c.request);
    for (size_t i = random() % 4; i > 0; i--)
      raw[12 + random() % 20] = static_cast<uint8_t>(random() % 3 ? random() % 100 : random());
    for (size_t i = random() % 4; i > 0; i--)
      c.packet[random() % std::min<size_t>(c.packet.size(), 120)] = static_cast<uint8_t>(random());
    c.request.flags &= static_cast<uint16_t>(~VERNA_TX_F_EOP);
    post(c, random_cuts(c.packet.size(), random() % 4));
    while (sent()) {
    }
    ASSERT_TRUE(done(tx_cq)) << round;
    ASSERT_FALSE(done(tx_cq)) << round;
  }
}

TEST_F(TsoTest, OnlyTheFirstDescriptorMayAsk) {
  TsoCase c = make_case(plain(2));
  for (size_t at = 12; at < sizeof(verna_tx_desc); at++) {
    post(c, {500});
    ASSERT_NO_FATAL_FAILURE(expect_sent(c));
    ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_OK));
    // The same once more, with one byte of the second descriptor changed before it is published.
    txq->wq.prod += 2;
    for (uint32_t i = 0; i < 2; i++)
      card.bus.fill(txq->wq.entry(txq->wq.prod - 2 + i),
                    card.bus.bytes(txq->wq.entry(txq->wq.prod - 4 + i), sizeof(verna_tx_desc)));
    *card.bus.ptr(txq->wq.entry(txq->wq.prod - 1) + at) |= 2;
    card.driver.publish(&txq->wq);
    EXPECT_FALSE(sent()) << at;
    ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_ETH_DESC_ERR));
  }
}

TEST_F(TsoTest, MemoryIsReadOnceAndMayChange) {
  const TsoCase c = make_case(plain(5));
  // Every byte becomes something else as soon as the card has read it.
  card.bus.set_read_hook([&](const FakeHostBus::Access& a) {
    if (a.len >= 54 && a.addr >= FakeHostBus::kBase)
      for (size_t i = 0; i < a.len; i++) *card.bus.ptr(a.addr + i) ^= 0x5a;
  });
  post(c);
  ASSERT_NO_FATAL_FAILURE(expect_sent(c));
}

// --- between two segments ----------------------------------------------------------------------

TEST_F(TsoTest, AFullWireIsWaitedForBetweenSegments) {
  const TsoCase c = make_case(plain(20));
  wire.to_b.impairment.max_queued = 3;
  post(c, {100, 5000, 5001});
  transmit(pattern(200, 9));
  for (size_t i = 0; i < c.segments.size(); i++) {
    if (i < 16) EXPECT_FALSE(done(tx_cq)) << "completed with segments left";
    auto out = sent();
    ASSERT_TRUE(out) << i;
    ASSERT_EQ(*out, c.segments[i]) << i;
  }
  EXPECT_TRUE(sent()) << "the packet behind it";
  uint32_t last = 0;
  while (auto cqe = done(tx_cq)) {
    EXPECT_EQ(cqe->status, VERNA_CQE_OK);
    last = cqe->wqe_index;
  }
  EXPECT_EQ(last, txq->wq.prod - 1);
}

TEST_F(TsoTest, LinkDownInTheMiddleLosesTheRestAndCompletes) {
  const TsoCase c = make_case(plain(20));
  wire.to_b.impairment.max_queued = 3;
  post(c);
  world.settle();
  wire.a.up = false;
  world.run_for(kSecond);
  ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_OK));
  const uint64_t gone = eth(VERNA_ETH_tx_packets);
  EXPECT_GE(gone, 3u);
  EXPECT_LT(gone, 20u);
  EXPECT_EQ(eth(VERNA_ETH_tx_drop_link_down), 20 - gone);
  EXPECT_EQ(eth(VERNA_ETH_tx_tso_segments), gone);
}

TEST_F(TsoTest, DestroyAndResetInTheMiddleAreClean) {
  const TsoCase c = make_case(plain(20));
  wire.to_b.impairment.max_queued = 3;
  post(c);
  world.settle();
  const uint64_t before = wire.to_b.sent;
  ASSERT_TRUE(card.driver.object(VERNA_CMD_DESTROY_TXQ, 0).ok());
  while (sent()) {
  }
  EXPECT_EQ(wire.to_b.sent, before) << "a destroyed queue sends nothing more";
  txq = card.driver.create_txq(0, tx_cq, 6);
  post(c);
  world.settle();
  card.reset();
  const uint64_t at_reset = wire.to_b.sent;
  while (sent()) {
  }
  EXPECT_EQ(wire.to_b.sent, at_reset);
}

TEST_F(TsoTest, ADmaFaultInTheMiddleKeepsWhatWasSent) {
  card.bus.expect_faults();
  TsoCase c = make_case(plain(6));
  verna_tx_desc first = c.request, second{};
  first.addr = buffer(Bytes(c.packet.begin(), c.packet.begin() + 2500));
  first.len = 2500;
  second.addr = 0xfee00000;
  second.len = static_cast<uint32_t>(c.packet.size() - 2500);
  second.flags = VERNA_TX_F_EOP;
  for (const verna_tx_desc& d : {first, second}) {
    std::memcpy(card.bus.ptr(txq->wq.entry(txq->wq.prod), sizeof d), &d, sizeof d);
    txq->wq.prod++;
  }
  card.driver.publish(&txq->wq);
  for (size_t i = 0; i < 2; i++) {
    auto out = sent();
    ASSERT_TRUE(out);
    EXPECT_EQ(*out, c.segments[i]);
  }
  EXPECT_FALSE(sent());
  ASSERT_NO_FATAL_FAILURE(expect_done(VERNA_CQE_ETH_DMA_ERR));
  EXPECT_EQ(eth(VERNA_ETH_tx_drop_dma), 1u);
  EXPECT_EQ(eth(VERNA_ETH_tx_packets), 2u);
  EXPECT_EQ(eth(VERNA_ETH_tx_tso_packets), 0u);
  transmit(pattern(100, 1));
  EXPECT_TRUE(sent());
}

TEST_F(TsoTest, AHugePacketSharesTheWireWithOtherQueues) {
  EthQueue* other = card.driver.create_txq(1, card.driver.create_cq(8), 6);
  const TsoCase c = make_case(plain(400));
  wire.a.block_tx = true;
  std::vector<size_t> cuts;
  for (size_t at = 50000; at < c.packet.size(); at += 50000) cuts.push_back(at);
  post(c, cuts);
  const Bytes small = pattern(100, 3);
  card.driver.post_tx(other, buffer(small), 100);
  card.driver.publish(&other->wq);
  world.settle();
  wire.a.block_tx = false;
  for (size_t i = 0;; i++) {
    auto out = sent();
    ASSERT_TRUE(out);
    if (*out != small) continue;
    EXPECT_LE(i, 20u) << "16 KiB and then the other queue";
    break;
  }
}

}  // namespace
}  // namespace verna::test
