// SPDX-License-Identifier: GPL-2.0-or-later
// Random rule sets and packets: the engine against the model of naive_tables.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>

#include "flow/naive_tables.h"

namespace verna::test {
namespace {

using Status = FlowTables::Status;

constexpr uint32_t kChains = 24;
constexpr uint16_t kWirePorts[] = {1000, 1001, 2000, 4789, 0x4000, 0xffff};

/// Few values, so that packets match several rules.
class Differential {
 public:
  explicit Differential(uint32_t seed) : random_(seed), pipeline_(tables_, collector()) {
    for (int i = 0; i < 2; i++) add_meter(i);
    for (size_t i = 0; i < std::size(packets_); i++) {
      packets_[i] = random_packet();
      frames_[i] = packets_[i].build();
    }
    for (size_t i = 0, n = 1 + below(20); i < n; i++) masks_.push_back(random_mask());
    // In some every miss goes on, to the end and beyond.
    for (uint32_t chain = 0; seed % 8 == 0 && chain < kChains; chain++)
      set_miss(chain, {FlowMiss::Kind::kChain, chain + 1});
  }

  void step() {
    const uint32_t what = below(24);
    if (what == 0)
      change_miss();
    else if (what < 15)
      add_rule();
    else
      remove_rule();
  }

  void check_packet() {
    const size_t i = below(std::size(packets_));
    now_ += below(1'000'000);
    parse_packet(frames_[i].data(), static_cast<uint32_t>(frames_[i].size()), &view_);
    FlowPacket packet(view_, packets_[i].port, ports_);
    copies_.clear();
    const FlowVerdict got = pipeline_.run({}, &packet, now_);
    NaivePacket model = packets_[i];
    const NaiveVerdict wanted = naive_.run(&model, now_);
    pairs++;
    hits += wanted.rule != 0;
    seen[static_cast<size_t>(wanted.why)]++;
    ASSERT_EQ(got.rule ? got.rule->id : 0, wanted.rule);
    ASSERT_EQ(got.kind, wanted.kind);
    ASSERT_EQ(got.why, wanted.why);
    ASSERT_EQ(got.chain, wanted.chain);
    ASSERT_EQ(got.mark, wanted.mark);
    ASSERT_EQ(got.colour, wanted.colour);
    if (got.kind == FlowVerdict::Kind::kPort) {
      ASSERT_EQ(got.port, wanted.port);
    }
    if (got.why != FlowVerdict::Why::kEdit) check_bytes(packet, &model, frames_[i]);
    ASSERT_EQ(copies_, naive_.copies);
  }

  void check_end() {
    for (const NaiveRule& rule : naive_.rules)
      ASSERT_EQ(tables_.find(rule.id)->packets, rule.packets);
    ASSERT_EQ(tables_.num_rules(), naive_.rules.size());
    while (!naive_.rules.empty()) remove_rule();
    for (const auto& [chain, miss] : naive_.misses) tables_.set_miss({.chain = chain}, {});
    ASSERT_TRUE(tables_.tables().empty());
  }

  uint64_t pairs = 0;
  uint64_t hits = 0;
  std::array<uint64_t, 6> seen{};  // by FlowVerdict::Why

 private:
  uint32_t below(size_t bound) { return static_cast<uint32_t>(random_() % bound); }
  bool one_in(uint32_t n) { return below(n) == 0; }

  FlowPipeline::Copy collector() {
    return [this](uint16_t port, const FlowPacket& packet) {
      Bytes bytes(packet.bytes());
      packet.copy_to(bytes.data());
      copies_.push_back({port, bytes});
    };
  }

  void add_meter(int i) {
    MeterConfig config;
    config.unit = i ? MeterConfig::Unit::kPackets : MeterConfig::Unit::kBytes;
    config.committed = {i ? 1500u : 1'500'000u, 1'000'000'000};
    config.committed_burst = i ? 2 : 2000;
    meters_[static_cast<size_t>(i)] = std::make_shared<Meter>(config, 0);
    naive_.meters[meters_[static_cast<size_t>(i)].get()] = std::make_unique<Meter>(config, 0);
  }

  NaivePacket random_packet() {
    NaivePacket p;
    p.port = static_cast<uint16_t>(below(3));
    p.frame.ip.v6 = one_in(2);
    constexpr uint8_t kProtocols[] = {6, 17, 1};
    p.frame.proto = kProtocols[below(p.frame.ip.v6 ? 2 : 3)];
    p.frame.ip.source = static_cast<uint8_t>(1 + below(3));
    p.frame.ip.dest = static_cast<uint8_t>(1 + below(3));
    p.frame.ip.tos = static_cast<uint8_t>(below(4) << 4 | below(3));
    p.frame.ip.ttl = static_cast<uint8_t>(1 + below(3));
    p.frame.ip.more_fragments = !p.frame.ip.v6 && one_in(8);
    p.frame.ip.df = !p.frame.ip.more_fragments;
    p.frame.dmac[5] = static_cast<uint8_t>(below(3));
    p.frame.flags = static_cast<uint8_t>(1u << below(5));
    if (p.frame.proto == 1) {
      p.frame.sport = static_cast<uint16_t>(below(3) << 8);
      p.frame.dport = 0;
      p.frame.payload.resize(4);
    } else {
      p.frame.sport = kWirePorts[below(std::size(kWirePorts))];
      p.frame.dport = kWirePorts[below(3)];
    }
    p.frame.payload.resize(p.frame.payload.size() + 40 + (one_in(8) ? 300 : 0), 0x33);
    // The fields of ICMP are the first bytes of its payload.
    if (p.frame.proto == 1) p.frame.payload[0] = static_cast<uint8_t>(p.frame.sport >> 8);
    add_tags(&p.frame.tags);
    if (one_in(3)) p.outers.push_back(random_outer());
    return p;
  }

  void add_tags(std::vector<IpPacket::Tag>* tags) {
    for (size_t n = one_in(3) ? 1 + below(3) : 0; n > 0; n--)
      tags->push_back({0x8100, static_cast<uint16_t>(1 + below(3))});
  }

  NaiveOuter random_outer() {
    NaiveOuter o;
    o.headers = outer_headers(static_cast<TunnelKind>(1 + below(3)), one_in(2) ? 4 : 6);
    o.headers.id = 1 + below(3);
    o.headers.ttl = static_cast<uint8_t>(1 + below(3));
    o.sport = kWirePorts[below(3)];
    add_tags(&o.tags);
    return o;
  }

  verna_flow_key random_mask() {
    verna_flow_key m{};
    if (one_in(3)) m.tun_kind = 0xff;
    for (size_t n = one_in(16) ? 0 : 1 + below(3); n > 0; n--) mask_field(&m, below(16));
    return m;
  }

  void mask_field(verna_flow_key* m, uint32_t which) {
    switch (which) {
      case 0:
        m->port = 0xffff;
        break;
      case 1:
        m->flags |= VERNA_FLOW_K_VLAN;
        break;
      case 2:
        m->flags |= VERNA_FLOW_K_FRAGMENT | VERNA_FLOW_K_VLAN2;
        break;
      case 3:
        m->dmac[5] = 0xff;
        break;
      case 4:
        m->vlan_tci = 0xffff;
        break;
      case 5:
        m->ethertype = 0xffff;
        break;
      case 6:
        m->ip_proto = m->ip_version = 0xff;
        break;
      case 7:
        m->tos = 0xf0;
        break;
      case 8:
        m->ttl = 0xff;
        break;
      case 9:
        m->sport = 0xffff;
        break;
      case 10:
        m->dport = 0x00ff;
        break;
      case 11:
        std::fill(std::begin(m->src_ip), std::end(m->src_ip), uint8_t{0xff});
        break;
      case 12:
        m->dst_ip[3] = m->dst_ip[15] = 3;
        break;
      case 13:
        m->tcp_flags = 0xffff;
        break;
      case 14:
        m->icmp_type = 0xff;
        break;
      default:
        if (m->tun_kind) m->tun_id = ~uint64_t{0};
        m->vlan2_tci = 0xffff;
        break;
    }
  }

  /// Mostly what some packet has.
  verna_flow_key random_key(const verna_flow_key& mask) {
    const NaivePacket& p = packets_[below(std::size(packets_))];
    const std::optional<verna_flow_key> inside = p.inside();
    FlowWords key = flow_words(mask.tun_kind && inside ? *inside : p.plain());
    const FlowWords bits = flow_words(mask);
    for (size_t i = 0; i < kFlowWords; i++) key[i] &= bits[i];
    verna_flow_key out = flow_key(key);
    if (mask.tun_kind && !out.tun_kind) out.tun_kind = VERNA_FLOW_TUN_VXLAN;
    return out;
  }

  PortRange random_range() {
    if (!one_in(6)) return {};
    const auto low = static_cast<uint16_t>(1 + below(2000));
    return {low, static_cast<uint16_t>(low + below(3000))};
  }

  FlowActions random_actions(uint32_t chain, const FlowMatchSpec& match) {
    FlowActions a;
    if (one_in(4)) {
      a.flags |= VERNA_FLOW_A_MARK;
      a.mark = 1 + below(5);
    }
    if (one_in(6)) a.meter = meters_[below(2)];
    switch (below(6)) {
      case 0:
        a.flags |= VERNA_FLOW_A_DROP;
        break;
      case 1:
        a.target = FlowTarget::kPort;
        a.port = static_cast<uint16_t>(below(4));
        break;
      case 2:
        a.target = FlowTarget::kTrap;
        break;
      case 3:
        break;
      default:
        a.target = FlowTarget::kChain;
        a.chain = chain + 1 + below(2);
        break;
    }
    if (match.mask.tun_kind || one_in(2)) a.edit = random_edit(a, match);
    return a;
  }

  std::shared_ptr<FlowEdit> random_edit(const FlowActions& a, const FlowMatchSpec& match) {
    auto edit = std::make_shared<FlowEdit>();
    edit->num_copies = one_in(4) ? static_cast<uint8_t>(1 + below(4)) : 0;
    for (FlowCopy& copy : edit->copies) copy = {static_cast<uint16_t>(10 + below(3)), one_in(2)};
    edit->decap = match.mask.tun_kind && !one_in(3);
    edit->pop_tags = static_cast<uint8_t>(one_in(3) ? 1 + below(2) : 0);
    edit->dec_ttl = one_in(3);
    if (one_in(3)) edit->rewrite = random_rewrite(!edit->dec_ttl);
    // The source port of UDP is the card's choice: no other rule must look at it.
    if (a.target == FlowTarget::kPort && one_in(3)) {
      edit->encap = std::make_unique<FlowEncap>(
          outer_headers(static_cast<TunnelKind>(1 + below(3)), one_in(2) ? 4 : 6));
      for (FlowCopy& copy : edit->copies) copy.changed = false;
    }
    edit->num_push = static_cast<uint8_t>(one_in(4) ? 1 + below(2) : 0);
    for (VlanTag& tag : edit->push) tag = {0x8100, static_cast<uint16_t>(1 + below(3))};
    return edit;
  }

  std::unique_ptr<FlowRewrite> random_rewrite(bool ttl) {
    auto r = std::make_unique<FlowRewrite>();
    if (one_in(2)) {
      r->mask.tos = 0xf0;
      r->value.tos = static_cast<uint8_t>(below(4) << 4);
    }
    if (ttl && one_in(2)) {
      r->mask.ttl = 0xff;
      r->value.ttl = static_cast<uint8_t>(1 + below(3));
    }
    if (one_in(2)) {
      r->value.ip_version = one_in(2) ? 4 : 6;
      const size_t last = r->value.ip_version == 4 ? 3 : 15;
      r->mask.dst_ip[last] = 0xff;
      r->value.dst_ip[last] = static_cast<uint8_t>(1 + below(3));
    }
    if (one_in(2)) {
      r->mask.sport = 0xffff;
      r->value.sport = __builtin_bswap16(kWirePorts[below(3)]);
    }
    if (one_in(2)) {
      r->mask.vlan_tci = 0xffff;
      r->value.vlan_tci = __builtin_bswap16(static_cast<uint16_t>(1 + below(3)));
    }
    return r;
  }

  void add_rule() {
    NaiveRule rule{};
    rule.chain = one_in(2) ? 0 : below(one_in(3) ? kChains : 3);
    FlowRuleSpec& spec = rule.spec;
    spec.mask = masks_[below(masks_.size())];
    spec.key = random_key(spec.mask);
    spec.priority = below(8);
    spec.sport = random_range();
    spec.dport = random_range();
    spec.actions = random_actions(rule.chain, spec);
    const size_t victim =
        !naive_.rules.empty() && one_in(8) ? below(naive_.rules.size()) : ~size_t{0};
    spec.replaces = victim < naive_.rules.size() ? naive_.rules[victim].id : 0;
    const bool exists =
        std::any_of(naive_.rules.begin(), naive_.rules.end(), [&](const NaiveRule& r) {
          return r.chain == rule.chain && r.spec.priority == spec.priority &&
                 flow_words(r.spec.mask) == flow_words(spec.mask) &&
                 flow_words(r.spec.key) == flow_words(spec.key) && r.spec.sport == spec.sport &&
                 r.spec.dport == spec.dport && r.id != spec.replaces;
        });
    const Status status = tables_.add({.chain = rule.chain}, spec, now_, &rule.id);
    ASSERT_EQ(status, exists ? Status::kExists : Status::kOk);
    if (exists) return;
    rule.order = ++order_;
    if (spec.replaces) naive_.rules.erase(naive_.rules.begin() + static_cast<ptrdiff_t>(victim));
    naive_.rules.push_back(std::move(rule));
  }

  void remove_rule() {
    if (naive_.rules.empty()) return;
    const size_t i = below(naive_.rules.size());
    ASSERT_EQ(tables_.remove(naive_.rules[i].id), Status::kOk);
    naive_.rules.erase(naive_.rules.begin() + static_cast<ptrdiff_t>(i));
  }

  void change_miss() {
    const uint32_t chain = below(kChains);
    FlowMiss miss;
    miss.kind = static_cast<FlowMiss::Kind>(below(4));
    if (miss.kind == FlowMiss::Kind::kChain) miss.chain = chain + 1 + below(2);
    set_miss(chain, miss);
  }

  void set_miss(uint32_t chain, const FlowMiss& miss) {
    ASSERT_EQ(tables_.set_miss({.chain = chain}, miss), Status::kOk);
    naive_.misses[chain] = miss;
  }

  /// What the model cannot know of a packet that was put into a tunnel it takes from the frame.
  static void learn_source_port(const Bytes& bytes, NaivePacket* model) {
    if (model->outers.empty()) return;
    NaiveOuter& outer = model->outers.back();
    if (outer.sport || outer.headers.kind == TunnelKind::kGre) return;
    const size_t l4 = 14 + 4 * outer.tags.size() + (outer.headers.ip_version == 4 ? 20 : 40);
    if (bytes.size() > l4 + 2) outer.sport = load_be16(bytes.data() + l4);
  }

  void check_bytes(const FlowPacket& packet, NaivePacket* model, const Bytes& before) {
    Bytes bytes(packet.bytes());
    packet.copy_to(bytes.data());
    if (packet.head() == view_.hdr) {
      ASSERT_EQ(bytes, before);
    }
    learn_source_port(bytes, model);
    ASSERT_EQ(bytes, model->build());
  }

  std::mt19937 random_;
  Trace trace_;
  FlowTables tables_{1u << 20, 99, trace_};
  std::array<std::shared_ptr<Meter>, 2> meters_;
  FlowPipeline pipeline_;
  TunnelPorts ports_;
  NaiveTables naive_;
  NaivePacket packets_[16];
  Bytes frames_[16];
  std::vector<verna_flow_key> masks_;
  std::vector<NaiveCopy> copies_;
  PacketView view_;
  uint64_t order_ = 0;
  Nanos now_ = 0;
};

/// Packet and rule set pairs; VERNA_FLOW_PAIRS says how many (a nightly run asks for 10 million).
TEST(FlowDifferential, AgreesWithALinearSearch) {
  const char* wanted = std::getenv("VERNA_FLOW_PAIRS");
  const uint64_t target = wanted ? std::strtoull(wanted, nullptr, 10) : 200'000;
  uint64_t pairs = 0;
  uint64_t hits = 0;
  std::array<uint64_t, 6> seen{};
  for (uint32_t seed = 1; pairs < target; seed++) {
    Differential d(seed);
    for (int round = 0; round < 100; round++) {
      d.step();
      for (int i = 0; i < 20 && !testing::Test::HasFatalFailure(); i++) d.check_packet();
      if (testing::Test::HasFatalFailure()) FAIL() << "seed " << seed << ", round " << round;
    }
    d.check_end();
    pairs += d.pairs;
    hits += d.hits;
    for (size_t i = 0; i < seen.size(); i++) seen[i] += d.seen[i];
  }
  EXPECT_GT(hits, pairs / 10) << "the rules are too special to test much";
  for (size_t i = 0; i < seen.size(); i++)
    EXPECT_GT(seen[i], pairs / 20'000) << "an end that is hardly ever reached: " << i;
}

}  // namespace
}  // namespace verna::test
