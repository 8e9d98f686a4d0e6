// SPDX-License-Identifier: GPL-2.0-or-later
// Random streams of several flows, with loss, reordering, repetition and headers that change: what
// the card delivers, cut again, is what came, each flow in order, and nothing grows without bound.
#include <map>
#include <random>

#include "eth/merge_rig.h"
#include "flow/rss.h"

namespace verna::test {
namespace {

struct MergeModel : MergeRig {
  struct Flow {
    IpPacket next;
    size_t mss;
  };

  std::vector<Flow> make_flows() {
    std::vector<Flow> flows(1 + random() % 12);
    for (size_t i = 0; i < flows.size(); i++) {
      IpPacket& p = flows[i].next;
      std::copy_n(card.mac, 6, p.dmac);
      p.ip.v6 = random() & 1;
      if (random() % 3 == 0) {
        p.outer.emplace();
        p.outer->v6 = random() & 1;
        p.outer->source = static_cast<uint8_t>(10 + i);
      }
      if (random() % 3 == 0) p.tags = {{0x8100, static_cast<uint16_t>(random() % 3)}};
      p.sport = static_cast<uint16_t>(1000 + i);
      p.seq = static_cast<uint32_t>(random());
      p.ip.id = static_cast<uint16_t>(random());
      if (random() & 1) p.options = {1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2};
      flows[i].mss = 1 + random() % 1300;
    }
    return flows;
  }

  bool rarely(unsigned one_in) { return random() % one_in == 0; }

  /// The next frame of a flow, now and then with something about it.
  Bytes next(Flow* flow) {
    IpPacket& base = flow->next;
    if (rarely(60)) base.ip.tos ^= 3;
    if (rarely(60)) base.ack++;
    if (rarely(60) && base.options.size() > 7) base.options[7]++;
    if (rarely(80)) base.ip.df = !base.ip.df;
    IpPacket p = base;
    p.payload = pattern(rarely(20) ? random() % (flow->mss + 1) : flow->mss, random());
    if (rarely(30)) p.flags |= kPsh;
    if (rarely(40)) p.flags |= kCwr;
    if (rarely(100)) p.flags |= std::array<uint8_t, 4>{kFin, kSyn, kRst, kUrg}[random() % 4];
    if (rarely(60)) p.break_checksum = 7;
    if (rarely(100)) p.ip.break_checksum = 7;
    if (rarely(150)) p.ip.more_fragments = true;
    if (rarely(100)) p.trailer = Bytes(1 + random() % 9, 3);
    if (rarely(100)) p.proto = 17;
    base.seq += static_cast<uint32_t>(p.payload.size());
    base.ip.id = static_cast<uint16_t>(base.ip.id + (rarely(20) ? 0 : 1));
    if (base.outer) base.outer->id++;
    return p.build();
  }

  std::vector<Bytes> stream(std::vector<Flow>* flows, size_t count) {
    std::vector<Bytes> frames;
    size_t flow = 0;
    while (frames.size() < count) {
      if (rarely(4)) flow = random() % flows->size();
      Bytes frame = next(&(*flows)[flow]);
      if (rarely(50)) continue;  // lost
      if (rarely(50)) frames.push_back(frame);
      frames.push_back(std::move(frame));
      if (rarely(30) && frames.size() > 1) std::swap(frames.back(), frames[frames.size() - 2]);
    }
    return frames;
  }

  /// Whose order must be kept. What cannot be told apart is a class of its own.
  static std::string flow_of(const Bytes& f) {
    std::vector<size_t> ips;
    const size_t tcp = tcp_offset(f, &ips);
    if (!tcp) return "other";
    return std::string(f.begin() + static_cast<long>(tcp), f.begin() + static_cast<long>(tcp) + 4);
  }

  static std::map<std::string, std::vector<Bytes>> by_flow(const std::vector<Bytes>& frames) {
    std::map<std::string, std::vector<Bytes>> out;
    for (const Bytes& f : frames) out[flow_of(f)].push_back(f);
    return out;
  }

  /// Bytes that a MAC appended to a short frame are not restored if it was merged.
  static Bytes normal(const Bytes& f) { return f.size() <= 60 ? unpadded(f) : f; }

  void hash(bool on) {
    verna_cmd_set_rss cmd{};
    cmd.table_addr = card.bus.alloc(2 * Rss::kTableSize);
    cmd.table_len = Rss::kTableSize;
    for (uint8_t& byte : cmd.key) byte = static_cast<uint8_t>(random());
    std::fill(std::begin(cmd.fields), std::end(cmd.fields), on ? VERNA_RSS_IPS : 0);
    ASSERT_TRUE(card.driver.execute(VERNA_CMD_SET_RSS, cmd).ok());
  }

  /// Puts a tag back that the card has taken out.
  static void restore_tag(Packet* packet) {
    if (!(packet->cqe.flags & VERNA_CQE_F_VLAN)) return;
    const bool service = packet->cqe.rx_flags & VERNA_CQE_RX_SVLAN;
    const uint8_t tag[4] = {static_cast<uint8_t>(service ? 0x88 : 0x81),
                            static_cast<uint8_t>(service ? 0xa8 : 0x00),
                            static_cast<uint8_t>(packet->cqe.vlan_tci >> 8),
                            static_cast<uint8_t>(packet->cqe.vlan_tci)};
    packet->bytes.insert(packet->bytes.begin() + 12, tag, tag + 4);
  }

  std::mt19937_64 random;
};

TEST_F(MergeModel, WhatIsDeliveredIsWhatCame) {
  big_queue(9, 2048);
  uint64_t merged = 0;
  for (uint64_t seed = 1; seed <= 60; seed++) {
    random.seed(seed);
    const bool keep_cwr = random() & 1;
    uint32_t features = VERNA_ETH_ON_MERGE;
    if (keep_cwr) features |= VERNA_ETH_ON_MERGE_CWR;
    if (random() & 1) features |= VERNA_ETH_ON_MERGE_IDS;
    const uint32_t limit = random() & 1 ? 0 : 2000 + static_cast<uint32_t>(random() % 20000);
    ASSERT_TRUE(set_features(features, random() & 1 ? 0 : 20'000, limit));
    std::vector<Flow> flows = make_flows();
    std::vector<Bytes> came, went;
    for (int burst = 0; burst < 4; burst++) {
      for (const Bytes& f : stream(&flows, 1 + random() % 100)) {
        came.push_back(normal(f));
        wire.to_a.send(f);
      }
      for (const Packet& p : take()) {
        merged += p.cqe.gro_segs > 1;
        if (limit) EXPECT_LE(p.bytes.size(), std::max(limit, 1500u) + 22);
        for (const Bytes& f : segment(p, keep_cwr)) went.push_back(normal(f));
      }
    }
    ASSERT_EQ(by_flow(went), by_flow(came)) << "seed " << seed;
  }
  EXPECT_GT(merged, 1000u) << "the test must merge something";
}

TEST_F(MergeModel, EveryCombinationOfFeatures) {
  constexpr uint32_t kSwitches[] = {
      VERNA_ETH_ON_MERGE,   VERNA_ETH_ON_MERGE_CWR, VERNA_ETH_ON_MERGE_IDS, VERNA_ETH_ON_STRIP,
      VERNA_ETH_ON_STRIP_S, VERNA_ETH_ON_FILTER,    VERNA_ETH_ON_FILTER_S,
  };
  constexpr IpPacket::Tag kCustomer{0x8100, 0x6002}, kService{0x88a8, 0x3003};
  const std::vector<IpPacket::Tag> kTags[] = {{}, {kCustomer}, {kService}, {kService, kCustomer}};
  for (const auto& tag : {kCustomer, kService}) {
    verna_cmd_vlan cmd{};
    cmd.tpid = tag.tpid;
    cmd.vid = tag.tci & 0xfff;
    ASSERT_TRUE(card.driver.execute(VERNA_CMD_ADD_VLAN, cmd).ok());
  }
  for (const uint32_t size : {300u, 2048u}) {
    big_queue(9, size);
    for (uint32_t combination = 0; combination < 1u << (std::size(kSwitches) + 1); combination++) {
      uint32_t features = 0;
      for (size_t i = 0; i < std::size(kSwitches); i++)
        if (combination & 1u << i) features |= kSwitches[i];
      random.seed(combination + 1);
      hash(combination >> std::size(kSwitches));
      ASSERT_TRUE(set_features(features));
      std::vector<Flow> flows = make_flows();
      for (Flow& flow : flows) flow.next.tags = kTags[random() % 4];
      std::vector<Bytes> came, went;
      for (const Bytes& f : stream(&flows, 60)) {
        came.push_back(normal(f));
        wire.to_a.send(f);
      }
      for (Packet& p : take()) {
        restore_tag(&p);
        for (const Bytes& f : segment(p, features & VERNA_ETH_ON_MERGE_CWR))
          went.push_back(normal(f));
      }
      ASSERT_EQ(by_flow(went), by_flow(came)) << std::hex << features << " buffers " << size;
    }
  }
}

TEST_F(MergeModel, SmallBuffersAndFewOfThem) {
  // Whatever is dropped, what is delivered is in order and whole.
  big_queue(5, 300);
  uint64_t lost = 0;
  for (uint64_t seed = 1; seed <= 20; seed++) {
    random.seed(seed);
    ASSERT_TRUE(set_features(kMergeAll, random() & 1 ? 0 : 20'000));
    std::vector<Flow> flows = make_flows();
    std::vector<Bytes> came, went;
    for (const Bytes& f : stream(&flows, 60)) {
      came.push_back(normal(f));
      wire.to_a.send(f);
    }
    for (const Packet& p : take())
      for (const Bytes& f : segment(p, true)) went.push_back(normal(f));
    lost += came.size() - went.size();
    // A subsequence, flow by flow.
    auto all = by_flow(came);
    for (auto& [flow, frames] : by_flow(went)) {
      const std::vector<Bytes>& full = all[flow];
      size_t at = 0;
      for (const Bytes& f : frames) {
        while (at < full.size() && full[at] != f) at++;
        ASSERT_LT(at++, full.size()) << "seed " << seed;
      }
    }
  }
  EXPECT_GT(lost, 100u);
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_buffer), lost);
}

}  // namespace
}  // namespace verna::test
