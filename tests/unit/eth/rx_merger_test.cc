// SPDX-License-Identifier: GPL-2.0-or-later
// Receive coalescing case by case, over IPv4 and IPv6, plain and in tunnels.
#include <functional>

#include "eth/merge_rig.h"

namespace verna::test {
namespace {

using Sizes = std::vector<size_t>;

struct Family {
  bool v6;
  bool tunnel;
  bool outer6;
  const char* name;
};

class MergeTable : public MergeRig, public testing::WithParamInterface<Family> {
 protected:
  void SetUp() override {
    big_queue(7, 4096);
    ASSERT_TRUE(set_features(kMergeAll));
  }
  IpPacket packet(uint32_t offset, size_t payload) {
    IpPacket p;
    std::copy_n(card.mac, 6, p.dmac);
    p.ip.v6 = GetParam().v6;
    if (GetParam().tunnel) {
      p.outer.emplace();
      p.outer->v6 = GetParam().outer6;
      p.outer->source = 7;
    }
    p.seq = 100 + offset;
    p.payload = pattern(payload, offset);
    return p;
  }
  using Change = std::function<void(IpPacket&)>;
  /// Frames of 100 bytes one after the other; `changes` by number of the frame.
  Sizes run(size_t count, const std::vector<std::pair<size_t, Change>>& changes) {
    std::vector<Bytes> frames;
    for (size_t i = 0; i < count; i++) {
      IpPacket p = packet(static_cast<uint32_t>(100 * i), 100);
      for (const auto& [n, change] : changes)
        if (n == i) change(p);
      frames.push_back(p.build());
    }
    send(frames);
    Sizes sizes;
    std::vector<Bytes> cut;
    for (const Packet& p : take()) {
      sizes.push_back(p.payload());
      for (Bytes& f : segment(p, true)) cut.push_back(unpadded(f));
    }
    std::vector<Bytes> want;
    for (const Bytes& f : frames) want.push_back(unpadded(f));
    EXPECT_EQ(cut, want) << "what was merged can be cut into what came";
    return sizes;
  }
  IpHeader& header(IpPacket& p) { return p.outer ? *p.outer : p.ip; }
  static Change flags(uint8_t set) {
    return [set](IpPacket& p) { p.flags |= set; };
  }
};

TEST_P(MergeTable, Sizes) {
  EXPECT_EQ(payloads({packet(0, 100).build(), packet(100, 100).build()}), Sizes{200});
  EXPECT_EQ(payloads({packet(0, 100).build(), packet(100, 50).build()}), Sizes{150});
  EXPECT_EQ(payloads({packet(0, 100).build(), packet(100, 1).build()}), Sizes{101});
  EXPECT_EQ(payloads({packet(0, 50).build(), packet(50, 100).build()}), (Sizes{50, 100}));
  EXPECT_EQ(payloads({packet(0, 100).build(), packet(100, 50).build(), packet(150, 50).build()}),
            (Sizes{150, 50}));
  EXPECT_EQ(payloads({packet(0, 1).build(), packet(1, 1).build(), packet(2, 1).build()}), Sizes{3});
}

TEST_P(MergeTable, PureAcksNeverMerge) {
  IpPacket a = packet(0, 0), b = packet(0, 0);
  b.ack++;
  EXPECT_EQ(payloads({a.build(), a.build(), b.build()}), (Sizes{0, 0, 0}));
  EXPECT_EQ(payloads({packet(0, 100).build(), packet(100, 0).build(), packet(100, 100).build()}),
            (Sizes{100, 0, 100}))
      << "an ACK does not overtake data of its flow";
}

TEST_P(MergeTable, Flags) {
  EXPECT_EQ(run(5, {{2, flags(kPsh)}}), (Sizes{300, 200}));
  EXPECT_EQ(run(5, {{2, flags(kFin)}}), (Sizes{300, 200}));
  EXPECT_EQ(run(3, {{0, flags(kPsh)}}), (Sizes{100, 200}));
  for (const uint8_t flag : {kSyn, kRst, kUrg})
    EXPECT_EQ(run(5, {{2,
                       [flag](IpPacket& p) {
                         p.flags |= flag;
                         p.payload.clear();
                       }}}),
              (Sizes{200, 0, 200}))
        << unsigned{flag};
  EXPECT_EQ(run(3, {{1, flags(kUrg)}}), (Sizes{100, 100, 100}));
  EXPECT_EQ(run(5, {{2, flags(kEce)}}), (Sizes{200, 100, 200}));
  EXPECT_EQ(run(3, {{1, [](IpPacket& p) { p.ae = true; }}}), (Sizes{100, 100, 100}));
}

TEST_P(MergeTable, CwrIsTheSameInAllOrInTheFirstAlone) {
  EXPECT_EQ(run(5, {{1, flags(kCwr)}, {2, flags(kCwr)}}), (Sizes{100, 200, 200}));
  ASSERT_TRUE(set_features(kMergeAll & ~VERNA_ETH_ON_MERGE_CWR));
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < 4; i++) {
    IpPacket p = packet(100 * i, 100);
    if (i == 1 || i == 2) p.flags |= kCwr;
    frames.push_back(p.build());
  }
  send(frames);
  const std::vector<Packet> got = take();
  ASSERT_EQ(got.size(), 3u);
  std::vector<Bytes> cut;
  for (const Packet& p : got)
    for (Bytes& f : segment(p, false)) cut.push_back(f);
  EXPECT_EQ(cut, frames);
}

TEST_P(MergeTable, TcpFieldsAndChecksums) {
  EXPECT_EQ(run(3, {{1, [](IpPacket& p) { p.break_checksum = 1; }}}), (Sizes{100, 100, 100}));
  EXPECT_EQ(run(3, {{1, [](IpPacket& p) { p.ack++; }}}), (Sizes{100, 100, 100}));
  EXPECT_EQ(run(3, {{1, [](IpPacket& p) { p.window--; }}}), (Sizes{100, 100, 100}));
  EXPECT_EQ(run(3, {{1, [](IpPacket& p) { p.urgent = 1; }}}), (Sizes{100, 100, 100}));
  EXPECT_EQ(run(3, {{1, [](IpPacket& p) { p.options = {1, 1, 1, 1}; }}}), (Sizes{100, 100, 100}));
}

TEST_P(MergeTable, SequenceNumbers) {
  EXPECT_EQ(run(2, {{1, [](IpPacket& p) { p.seq++; }}}), (Sizes{100, 100}));
  EXPECT_EQ(run(2, {{1, [](IpPacket& p) { p.seq--; }}}), (Sizes{100, 100}));
  // A loss in the middle, and what comes late.
  EXPECT_EQ(payloads({packet(0, 100).build(), packet(100, 100).build(), packet(300, 100).build(),
                      packet(400, 100).build(), packet(200, 100).build()}),
            (Sizes{200, 200, 100}));
  IpPacket wrap = packet(0, 100), next = packet(0, 100);
  wrap.seq = 0xffffffce;
  next.seq = 50;
  EXPECT_EQ(payloads({wrap.build(), next.build()}), Sizes{200});
}

TEST_P(MergeTable, TimestampsMustBeTheSame) {
  const auto stamp = [](uint8_t value, int order) {
    return [value, order](IpPacket& p) {
      const Bytes ts = {8, 10, 0, 0, 0, value, 0, 0, 0, 0};
      p.options = order == 0 ? Bytes{1, 1} : order == 1 ? Bytes{1} : Bytes{};
      p.options.insert(p.options.end(), ts.begin(), ts.end());
      p.options.resize(12, 1);
    };
  };
  EXPECT_EQ(run(5, {{0, stamp(0, 0)},
                    {1, stamp(0, 0)},
                    {2, stamp(100, 0)},
                    {3, stamp(100, 1)},
                    {4, stamp(100, 2)}}),
            (Sizes{200, 100, 100, 100}));
}

TEST_P(MergeTable, IpHeadersMustBeTheSame) {
  const auto both = [&](const std::function<void(IpHeader&)>& change) {
    EXPECT_EQ(run(3, {{1, [&](IpPacket& p) { change(header(p)); }}}), (Sizes{100, 100, 100}));
    EXPECT_EQ(run(3, {{1, [&](IpPacket& p) { change(p.ip); }}}), (Sizes{100, 100, 100}));
  };
  both([](IpHeader& ip) { ip.tos = 2; });     // ECN
  both([](IpHeader& ip) { ip.tos = 0xfc; });  // DSCP
  both([](IpHeader& ip) { ip.ttl--; });
  EXPECT_EQ(run(2, {{1, [](IpPacket& p) { p.tags = {{0x8100, 5}}; }}}), (Sizes{100, 100}));
  EXPECT_EQ(run(2, {{1, [](IpPacket& p) { p.smac[5]++; }}}), (Sizes{100, 100}));
  if (GetParam().v6)
    EXPECT_EQ(run(3, {{1, [](IpPacket& p) { p.ip.flow_label = 5; }}}), (Sizes{100, 100, 100}));
}

TEST_P(MergeTable, ATrailerThatIsNoPaddingIsKept) {
  EXPECT_EQ(run(1, {}), Sizes{100});
  IpPacket p = packet(100, 100);
  p.trailer = {1, 2, 3};
  EXPECT_EQ(payloads({packet(0, 100).build(), p.build(), packet(200, 100).build()}),
            (Sizes{100, 100, 100}));
}

TEST_P(MergeTable, TagsThatAreTheSameDoNotMatter) {
  for (const uint32_t strip : {0u, VERNA_ETH_ON_STRIP}) {
    ASSERT_TRUE(set_features(kMergeAll | strip));
    std::vector<Bytes> frames;
    for (uint32_t i = 0; i < 3; i++) {
      IpPacket p = packet(i * 100, 100);
      p.tags = {{0x8100, static_cast<uint16_t>(i == 2 ? 6 : 5)}};
      frames.push_back(p.build());
    }
    EXPECT_EQ(payloads(frames), (Sizes{200, 100}));
  }
}

TEST_P(MergeTable, SixtyFourKibibytes) {
  ASSERT_TRUE(card.driver.set_mtu(4096).ok());
  const IpPacket probe = packet(0, 1);
  std::vector<size_t> ips;
  const Bytes f = probe.build(false);
  const size_t headers = f.size() - 1 - 14;
  const size_t mss = 4096 - headers;
  const size_t max = 65535 - headers;
  for (const size_t extra : {0u, 1u}) {
    std::vector<Bytes> frames;
    uint32_t at = 0;
    for (; at + mss <= max; at += static_cast<uint32_t>(mss))
      frames.push_back(packet(at, mss).build());
    const size_t rest = max % mss + extra;
    frames.push_back(packet(at, rest).build());
    frames.push_back(packet(at + static_cast<uint32_t>(mss), rest).build());
    const Sizes want = extra ? Sizes{max - max % mss, rest, rest} : Sizes{max, rest};
    EXPECT_EQ(payloads(frames), want);
  }
  ASSERT_TRUE(set_features(kMergeAll, 0, static_cast<uint32_t>(headers + 250)));
  EXPECT_EQ(run(4, {}), (Sizes{200, 200})) << "merge_bytes";
}

INSTANTIATE_TEST_SUITE_P(
    Ip, MergeTable,
    testing::Values(Family{false, false, false, "v4"}, Family{true, false, false, "v6"},
                    Family{false, true, false, "v4_in_v4"}, Family{true, true, true, "v6_in_v6"},
                    Family{true, true, false, "v6_in_v4"}, Family{false, true, true, "v4_in_v6"}),
    [](const auto& p) { return p.param.name; });

// --- one version only --------------------------------------------------------------------------

struct MergeIds : MergeRig {
  void SetUp() override { big_queue(6, 4096); }
  /// `ids`: of outer (if there is a tunnel) and inner header, frame by frame.
  Sizes run(const std::vector<std::pair<uint16_t, uint16_t>>& ids, bool df, bool tunnel) {
    std::vector<Bytes> frames;
    uint32_t seq = 100;
    for (const auto& [outer, inner] : ids) {
      IpPacket p;
      std::copy_n(card.mac, 6, p.dmac);
      p.ip.id = inner;
      p.ip.df = df;
      if (tunnel) {
        p.outer.emplace();
        p.outer->id = outer;
        p.outer->df = df;
      }
      p.seq = seq;
      p.payload = pattern(100, seq);
      seq += 100;
      frames.push_back(p.build());
    }
    send(frames);
    Sizes sizes;
    std::vector<Bytes> cut;
    for (const Packet& p : take()) {
      sizes.push_back(p.payload());
      for (Bytes& f : segment(p, true)) cut.push_back(f);
    }
    EXPECT_EQ(cut, frames);
    return sizes;
  }
};

TEST_F(MergeIds, IncrementingOrFixedButNotBoth) {
  ASSERT_TRUE(set_features(kMergeAll));
  for (const bool df : {false, true}) {
    EXPECT_EQ(run({{0, 8}, {0, 9}}, df, false), Sizes{200});
    EXPECT_EQ(run({{0, 8}, {0, 8}}, df, false), Sizes{200});
    EXPECT_EQ(run({{0, 8}, {0, 9}, {0, 9}}, df, false), (Sizes{200, 100}));
    EXPECT_EQ(run({{0, 8}, {0, 8}, {0, 9}}, df, false), (Sizes{200, 100}));
    EXPECT_EQ(run({{0, 8}, {0, 10}}, df, false), (Sizes{100, 100}));
    EXPECT_EQ(run({{0, 0xffff}, {0, 0}, {0, 1}}, df, false), Sizes{300});
    EXPECT_EQ(run({{1, 8}, {2, 8}, {3, 8}}, df, true), Sizes{300});
    EXPECT_EQ(run({{1, 8}, {1, 9}, {1, 10}}, df, true), Sizes{300});
    EXPECT_EQ(run({{1, 8}, {1, 8}, {1, 8}}, df, true), Sizes{300});
    EXPECT_EQ(run({{1, 8}, {1, 8}, {2, 8}}, df, true), (Sizes{200, 100}));
  }
}

TEST_F(MergeIds, WhatAnOlderGsoCanRestore) {
  ASSERT_TRUE(set_features(VERNA_ETH_ON_MERGE));
  EXPECT_EQ(run({{0, 8}, {0, 8}}, true, false), Sizes{200});
  EXPECT_EQ(run({{0, 8}, {0, 8}}, false, false), (Sizes{100, 100})) << "fixed without DF";
  EXPECT_EQ(run({{0, 8}, {0, 9}}, false, false), Sizes{200});
  EXPECT_EQ(run({{1, 8}, {1, 8}}, true, true), (Sizes{100, 100})) << "outer header fixed";
  EXPECT_EQ(run({{1, 8}, {2, 8}}, true, true), Sizes{200});
}

TEST_F(MergeIds, Ipv4HeaderChecksumOptionsAndFragments) {
  ASSERT_TRUE(set_features(kMergeAll));
  const auto frame = [&](uint32_t offset) {
    IpPacket p;
    std::copy_n(card.mac, 6, p.dmac);
    p.seq = 100 + offset;
    p.payload = pattern(100, 1);
    return p;
  };
  const auto three = [&](const std::function<void(IpPacket&)>& change) {
    IpPacket p = frame(100);
    change(p);
    return payloads({frame(0).build(), p.build(), frame(200).build()});
  };
  EXPECT_EQ(three([](IpPacket& p) { p.ip.break_checksum = 1; }), (Sizes{100, 100, 100}));
  EXPECT_EQ(three([](IpPacket& p) { p.ip.options = {1, 1, 1, 0}; }), (Sizes{100, 100, 100}));
  EXPECT_EQ(three([](IpPacket& p) { p.ip.more_fragments = true; }), (Sizes{100, 100, 100}));
  EXPECT_EQ(three([](IpPacket& p) { p.ip.df = false; }), (Sizes{100, 100, 100}));
}

TEST_F(MergeIds, Ipv6ExtensionHeaders) {
  ASSERT_TRUE(set_features(kMergeAll));
  const auto frame = [&](uint32_t offset, uint8_t type, uint8_t value) {
    IpPacket p;
    std::copy_n(card.mac, 6, p.dmac);
    p.ip.v6 = true;
    p.ip.extension = type;
    p.ip.extension_bytes = Bytes(6, value);
    p.seq = 100 + offset;
    p.payload = pattern(100, 1);
    return p.build();
  };
  for (const uint8_t type : {0, 60}) {
    EXPECT_EQ(payloads({frame(0, type, 1), frame(100, type, 1)}), Sizes{200});
    EXPECT_EQ(payloads({frame(0, type, 1), frame(100, type, 2)}), (Sizes{100, 100}));
  }
  EXPECT_EQ(payloads({frame(0, 0, 1), frame(100, 60, 1)}), (Sizes{100, 100}));
  // A fragment header, also of a packet that is whole.
  EXPECT_EQ(payloads({frame(0, 44, 0), frame(100, 44, 0)}), (Sizes{100, 100}));
}

// --- many flows, time, memory ------------------------------------------------------------------

struct MergeMachinery : MergeRig {
  void SetUp() override {
    big_queue(11, 2048);
    ASSERT_TRUE(set_features(kMergeAll));
  }
  Bytes frame(uint32_t flow, uint32_t n, uint8_t flags = kAckFlag, size_t payload = 200) {
    IpPacket p;
    std::copy_n(card.mac, 6, p.dmac);
    p.sport = static_cast<uint16_t>(1500 + flow);
    p.seq = 100 + n * static_cast<uint32_t>(payload);
    p.flags = flags;
    p.payload = pattern(payload, flow * 1000 + n);
    return p.build();
  }
  static uint16_t port_of(const Packet& p) {
    return static_cast<uint16_t>(p.bytes[34] * 256 + p.bytes[35]);
  }
};

TEST_F(MergeMachinery, FiveHundredFlowsInOrder) {
  ASSERT_TRUE(set_features(kMergeAll, 50'000'000));
  for (const uint32_t flows : {4u, 32u, 512u}) {
    std::vector<Bytes> frames;
    for (uint32_t n = 0; n < 2; n++)
      for (uint32_t flow = 0; flow < flows; flow++)
        frames.push_back(frame(flow, n, n ? kAckFlag | kPsh : kAckFlag));
    send(frames);
    const std::vector<Packet> got = take();
    ASSERT_EQ(got.size(), flows);
    for (uint32_t i = 0; i < flows; i++) {
      EXPECT_EQ(got[i].payload(), 400u);
      EXPECT_EQ(port_of(got[i]), 1500 + i);
    }
  }
  EXPECT_EQ(eth(VERNA_ETH_rx_merged_packets), 548u);
  EXPECT_EQ(eth(VERNA_ETH_rx_merged_wire_packets), 1096u);
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 1096u);
  const auto queue = card.driver.counters(VERNA_COUNTERS_RXQ, 0);
  EXPECT_EQ(queue[VERNA_RXQ_merged_packets], 548u);
  EXPECT_EQ(queue[VERNA_RXQ_packets], 1096u);
  EXPECT_EQ(queue[VERNA_RXQ_bytes], 1096u * 254);
}

TEST_F(MergeMachinery, ASinglePacketIsNotMerged) {
  send({frame(0, 0)});
  const std::vector<Packet> got = take();
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0].cqe.gro_segs, 0);
  EXPECT_EQ(eth(VERNA_ETH_rx_merged_packets), 0u);
}

TEST_F(MergeMachinery, FlushedWhenTheLastFrameWasTaken) {
  send({frame(0, 0)});
  world.settle(5 * kMicro);
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 1u);
}

TEST_F(MergeMachinery, FlushedInTimeAndInTheOrderOfArrival) {
  ASSERT_TRUE(set_features(kMergeAll, 50'000));
  send({frame(2, 0), frame(1, 0)});
  world.settle(30 * kMicro);
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 0u);
  send({frame(2, 1), frame(3, 0)});
  world.settle(25 * kMicro);
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 3u) << "the first two were due, the third is not";
  const std::vector<Packet> got = take();
  ASSERT_EQ(got.size(), 3u);
  EXPECT_EQ(port_of(got[0]), 1502);
  EXPECT_EQ(port_of(got[1]), 1501);
  EXPECT_EQ(port_of(got[2]), 1503);
}

TEST_F(MergeMachinery, OthersMayOvertakeButNotAFragment) {
  ASSERT_TRUE(set_features(kMergeAll, 50'000));
  IpPacket udp;
  std::copy_n(card.mac, 6, udp.dmac);
  udp.proto = 17;
  udp.sport = 9;
  send({frame(0, 0), udp.build()});
  world.settle(10 * kMicro);
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 1u);
  udp.proto = 6;
  udp.ip.more_fragments = true;
  send({frame(1, 0), udp.build()});
  world.settle(10 * kMicro);
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 4u);
  const std::vector<Packet> got = take();
  ASSERT_EQ(got.size(), 4u);
  EXPECT_EQ(port_of(got[1]), 1500);
  EXPECT_EQ(port_of(got[2]), 1501);
}

TEST_F(MergeMachinery, WhatIsHeldFindsBuffers) {
  ASSERT_TRUE(set_features(kMergeAll, 50'000));
  big_queue(6, 2048);
  // 64 buffers: 64 frames of one flow each fit, whatever is held.
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < 100; i++) frames.push_back(frame(i, 0));
  send(frames);
  const std::vector<Packet> got = take();
  ASSERT_EQ(got.size(), 64u);
  for (uint32_t i = 0; i < 64; i++) EXPECT_EQ(port_of(got[i]), 1500 + i);
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_buffer), 36u);
}

TEST_F(MergeMachinery, DropsOfMergedPacketsCountFrames) {
  card.driver.object(VERNA_CMD_DESTROY_RXQ, 0);
  rxq = card.driver.create_rxq(0, rx_cq, 6);
  send({frame(0, 0), frame(0, 1), frame(0, 2)});
  world.settle(400 * kMicro);
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_buffer), 3u);
}

TEST_F(MergeMachinery, DestroyingAQueueDeliversAndAResetCounts) {
  ASSERT_TRUE(set_features(kMergeAll, 500'000'000));
  send({frame(0, 0), frame(1, 0)});
  world.settle(10 * kMicro);
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 0u);
  ASSERT_TRUE(card.driver.object(VERNA_CMD_DESTROY_RXQ, 0).ok());
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 2u);
  rxq = card.driver.create_rxq(0, rx_cq, 6);
  post(8);
  send({frame(0, 0), frame(0, 1)});
  world.settle(10 * kMicro);
  card.reset();
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_queue), 2u);
}

TEST_F(MergeMachinery, SwitchingOffDelivers) {
  ASSERT_TRUE(set_features(kMergeAll, 500'000'000));
  send({frame(0, 0)});
  world.settle(10 * kMicro);
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 0u);
  ASSERT_TRUE(set_features(0));
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 1u);
}

TEST_F(MergeMachinery, MoreFlowsThanTheTableHolds) {
  ASSERT_TRUE(set_features(kMergeAll, 500'000'000));
  std::vector<Bytes> frames;
  for (uint32_t i = 0; i < 1500; i++) frames.push_back(frame(i, 0));
  send(frames);
  world.settle(400 * kMicro);
  EXPECT_GE(eth(VERNA_ETH_rx_packets), 1500u - 1024) << "the oldest make room";
  ASSERT_TRUE(set_features(0));
  EXPECT_EQ(take().size(), 1500u);
}

TEST_F(MergeMachinery, ParametersAreChecked) {
  EXPECT_FALSE(set_features(VERNA_ETH_ON_MERGE, VERNA_MAX_MERGE_NS + 1));
  EXPECT_FALSE(set_features(VERNA_ETH_ON_MERGE, 0, 65536));
}

}  // namespace
}  // namespace verna::test
