// SPDX-License-Identifier: GPL-2.0-or-later
// Chains, what ends a packet's way, copies, shared meters, refused rules.
#include "flow/flow_pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "flow/tunnel_frames.h"

namespace verna::test {
namespace {

using Kind = FlowVerdict::Kind;
using Status = FlowTables::Status;
using Why = FlowVerdict::Why;

struct FlowPipelineTest : testing::Test {
  static FlowTableId chain(uint32_t number) { return {.chain = number}; }
  static FlowRuleSpec any(uint32_t priority = 1) {
    FlowRuleSpec spec;
    spec.priority = priority;
    return spec;
  }
  static FlowRuleSpec to(FlowTarget target, uint32_t where = 0, uint32_t priority = 1) {
    FlowRuleSpec spec = any(priority);
    spec.actions.target = target;
    if (target == FlowTarget::kChain) spec.actions.chain = where;
    if (target == FlowTarget::kPort) spec.actions.port = static_cast<uint16_t>(where);
    return spec;
  }
  static FlowRuleSpec for_dport(uint16_t port) {
    FlowRuleSpec spec = any();
    spec.mask.dport = 0xffff;
    store_be16(reinterpret_cast<uint8_t*>(&spec.key.dport), port);
    return spec;
  }
  uint32_t add(uint32_t where, const FlowRuleSpec& spec, Nanos now = 0) {
    uint32_t id = 0;
    last = tables.add(chain(where), spec, now, &id);
    return id;
  }
  FlowVerdict run(const IpPacket& p = {}, Nanos now = 1) { return run(p.build(), now); }
  FlowVerdict run(const Bytes& frame, Nanos now = 1) {
    PacketRig rig(frame, 2);
    copies.clear();
    const FlowVerdict verdict = pipeline.run({}, &*rig.packet, now);
    out = rig.bytes();
    return verdict;
  }
  void expect(const FlowVerdict& verdict, Kind kind, Why why, uint32_t where) {
    EXPECT_EQ(verdict.kind, kind);
    EXPECT_EQ(verdict.why, why);
    EXPECT_EQ(verdict.chain, where);
  }

  Trace trace;
  FlowTables tables{1000, 7, trace};
  FlowPipeline pipeline{tables, [this](uint16_t port, const FlowPacket& packet) {
                          Bytes bytes(packet.bytes());
                          packet.copy_to(bytes.data());
                          copies.emplace_back(port, bytes);
                        }};
  std::vector<std::pair<uint16_t, Bytes>> copies;
  Bytes out;
  Status last = Status::kOk;
};

TEST_F(FlowPipelineTest, WithoutTablesPacketsPass) {
  expect(run(), Kind::kPass, Why::kMiss, 0);
  EXPECT_EQ(run().rule, nullptr);
}

TEST_F(FlowPipelineTest, Destinations) {
  FlowRuleSpec drop = any();
  drop.actions.flags = VERNA_FLOW_A_DROP;
  uint32_t id = add(0, drop);
  expect(run(), Kind::kDrop, Why::kRule, 0);
  const auto replace = [&](FlowRuleSpec spec) {
    spec.replaces = id;
    id = add(0, spec);
    EXPECT_EQ(last, Status::kOk);
  };
  replace(to(FlowTarget::kPort, 66));
  expect(run(), Kind::kPort, Why::kRule, 0);
  EXPECT_EQ(run().port, 66);
  replace(to(FlowTarget::kTrap));
  expect(run(), Kind::kTrap, Why::kRule, 0);
  replace(any());
  expect(run(), Kind::kPass, Why::kRule, 0);
  EXPECT_EQ(run().rule->id, id);
  FlowRuleSpec queue = any();
  queue.actions.flags = VERNA_FLOW_A_QUEUE | VERNA_FLOW_A_RSS | VERNA_FLOW_A_MARK;
  queue.actions.queue = 5;
  queue.actions.rss_context = 6;
  queue.actions.mark = 7;
  replace(queue);
  const FlowVerdict v = run();
  expect(v, Kind::kPass, Why::kRule, 0);
  EXPECT_EQ(v.flags, VERNA_FLOW_A_QUEUE | VERNA_FLOW_A_RSS);
  EXPECT_EQ(v.queue, 5);
  EXPECT_EQ(v.rss_context, 6);
  EXPECT_EQ(v.mark, 7u);
}

TEST_F(FlowPipelineTest, ChainsAndWhatTheyMiss) {
  FlowRuleSpec mark = to(FlowTarget::kChain, 3);
  mark.actions.flags = VERNA_FLOW_A_MARK;
  mark.actions.mark = 9;
  const uint32_t first = add(0, mark);
  expect(run(), Kind::kPass, Why::kMiss, 3);
  EXPECT_EQ(run().mark, 9u) << "kept on the way";
  EXPECT_EQ(run().rule->id, first);
  EXPECT_EQ(tables.set_miss(chain(3), {FlowMiss::Kind::kTrap, 0}), Status::kOk);
  expect(run(), Kind::kTrap, Why::kMiss, 3);
  EXPECT_EQ(tables.set_miss(chain(3), {FlowMiss::Kind::kChain, 1'000'000}), Status::kOk);
  expect(run(), Kind::kPass, Why::kMiss, 1'000'000);
  add(1'000'000, to(FlowTarget::kPort, 1));
  expect(run(), Kind::kPort, Why::kRule, 1'000'000);
  EXPECT_EQ(tables.set_miss(chain(3), {FlowMiss::Kind::kDrop, 0}), Status::kOk);
  expect(run(), Kind::kDrop, Why::kMiss, 3);
}

TEST_F(FlowPipelineTest, ChainsAreEnteredUpwards) {
  add(5, to(FlowTarget::kChain, 5));
  EXPECT_EQ(last, Status::kInvalid);
  add(5, to(FlowTarget::kChain, 4));
  EXPECT_EQ(last, Status::kInvalid);
  EXPECT_EQ(tables.set_miss(chain(5), {FlowMiss::Kind::kChain, 5}), Status::kInvalid);
  EXPECT_EQ(tables.set_miss(chain(5), {FlowMiss::Kind::kDrop, 6}), Status::kInvalid);
  EXPECT_TRUE(tables.tables().empty()) << "nothing is half installed";
}

TEST_F(FlowPipelineTest, TooManyChains) {
  for (uint32_t i = 0; i < 15; i++) add(i, to(FlowTarget::kChain, i + 1));
  expect(run(), Kind::kPass, Why::kMiss, 15);
  add(15, to(FlowTarget::kPort, 1));
  expect(run(), Kind::kPort, Why::kRule, 15);
  add(15, to(FlowTarget::kChain, 16, 0));
  expect(run(), Kind::kTrap, Why::kHops, 15);
}

TEST_F(FlowPipelineTest, CopiesAsItCameAndAsItLeaves) {
  FlowRuleSpec spec = to(FlowTarget::kPort, 9);
  auto edit = std::make_shared<FlowEdit>();
  edit->copies = {{{4, false}, {5, true}, {6, false}}};
  edit->num_copies = 3;
  edit->num_push = 1;
  edit->push[0] = {0x8100, 42};
  spec.actions.edit = edit;
  add(0, spec);
  IpPacket p;
  run(p);
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0], std::pair(uint16_t{4}, p.build()));
  EXPECT_EQ(copies[1], std::pair(uint16_t{6}, p.build()));
  EXPECT_EQ(copies[2], std::pair(uint16_t{5}, out));
  EXPECT_EQ(out.size(), p.build().size() + 4);
}

TEST_F(FlowPipelineTest, LaterChainsSeeWhatWasChanged) {
  FlowRuleSpec nat = to(FlowTarget::kChain, 1);
  auto edit = std::make_shared<FlowEdit>();
  FlowRewrite rewrite;
  rewrite.mask.dport = 0xffff;
  store_be16(reinterpret_cast<uint8_t*>(&rewrite.value.dport), 443);
  edit->rewrite = std::make_unique<FlowRewrite>(rewrite);
  nat.actions.edit = edit;
  add(0, nat);
  FlowRuleSpec https = for_dport(443);
  https.actions.target = FlowTarget::kTrap;
  add(1, https);
  expect(run(), Kind::kTrap, Why::kRule, 1);
  IpPacket wanted;
  wanted.dport = 443;
  EXPECT_EQ(out, wanted.build());
}

TEST_F(FlowPipelineTest, InsideAndOutsideOfTunnels) {
  FlowRuleSpec inside = for_dport(8000);
  inside.priority = 10;
  inside.mask.tun_kind = 0xff;
  inside.key.tun_kind = VERNA_FLOW_TUN_VXLAN;
  inside.actions.target = FlowTarget::kPort;
  inside.actions.port = 5;
  auto edit = std::make_shared<FlowEdit>();
  edit->decap = true;
  inside.actions.edit = edit;
  add(0, inside);
  FlowRuleSpec outside = for_dport(4789);
  outside.priority = 20;
  outside.actions.target = FlowTarget::kTrap;
  add(0, outside);
  IpPacket p;
  const FlowEncap vxlan = outer_headers(TunnelKind::kVxlan, 4);
  expect(run(wrap(vxlan, 1, p.build())), Kind::kPort, Why::kRule, 0);
  EXPECT_EQ(out, p.build());
  expect(run(p), Kind::kPass, Why::kMiss, 0);
  p.dport = 1;
  expect(run(wrap(vxlan, 1, p.build())), Kind::kTrap, Why::kRule, 0);
  FlowTable* table = tables.find_table(chain(0));
  const uint64_t before = table->probes;
  run(p);
  EXPECT_EQ(table->probes, before + 1) << "no look-up inside of what is no tunnel";
}

TEST_F(FlowPipelineTest, TtlThatIsUsedUpIsTrappedUnchanged) {
  FlowRuleSpec route = to(FlowTarget::kPort, 1);
  auto edit = std::make_shared<FlowEdit>();
  edit->dec_ttl = true;
  edit->num_push = 1;
  edit->num_copies = 1;
  edit->copies[0] = {4, false};
  route.actions.edit = edit;
  add(0, route);
  IpPacket p;
  p.ip.ttl = 1;
  expect(run(p), Kind::kTrap, Why::kTtl, 0);
  EXPECT_EQ(out, p.build());
  EXPECT_TRUE(copies.empty());
  p.ip.ttl = 2;
  expect(run(p), Kind::kPort, Why::kRule, 0);
}

TEST_F(FlowPipelineTest, WhatCannotBeChangedIsDropped) {
  FlowRuleSpec decap = to(FlowTarget::kChain, 1);
  decap.mask.tun_kind = 0xff;
  decap.key.tun_kind = VERNA_FLOW_TUN_GRE;
  auto edit = std::make_shared<FlowEdit>();
  edit->decap = true;
  decap.actions.edit = edit;
  add(0, decap);
  decap.actions.target = FlowTarget::kPort;
  decap.actions.chain = 0;
  add(1, decap);
  ASSERT_EQ(last, Status::kOk);
  expect(run(wrap(outer_headers(TunnelKind::kGre, 6), 0, IpPacket().build())), Kind::kDrop,
         Why::kEdit, 1);
}

/// Two tenants' rules share one meter of 100 packets a minute.
TEST_F(FlowPipelineTest, RulesShareAMeter) {
  MeterConfig config;
  config.unit = MeterConfig::Unit::kPackets;
  config.committed = {100, 60'000'000'000};
  config.committed_burst = 10;
  const auto meter = std::make_shared<Meter>(config, 0);
  IpPacket packets[2];
  uint32_t ids[2];
  for (uint16_t i = 0; i < 2; i++) {
    packets[i].dport = i;
    FlowRuleSpec spec = for_dport(i);
    spec.actions.target = FlowTarget::kPort;
    spec.actions.port = 1;
    spec.actions.meter = meter;
    ids[i] = add(0, spec);
  }
  uint64_t sent = 0;
  uint64_t passed = 0;
  for (Nanos now = 0; now < 600'000'000'000; now += 100'000'000) {
    const FlowVerdict v = run(packets[sent++ % 2], now);
    passed += v.kind == Kind::kPort;
    if (v.kind != Kind::kPort) expect(v, Kind::kDrop, Why::kMeter, 0);
  }
  EXPECT_EQ(passed, 10u + 999);
  EXPECT_EQ(meter->count(Colour::kGreen).packets, passed);
  EXPECT_EQ(meter->count(Colour::kRed).packets, sent - passed);
  EXPECT_EQ(tables.find(ids[0])->packets, sent / 2) << "rules count what comes to them";
}

TEST_F(FlowPipelineTest, ColoursGoFromMeterToMeter) {
  MeterConfig config;
  config.unit = MeterConfig::Unit::kPackets;
  config.second_rate = {1, 1'000'000'000};
  config.second_burst = 1;
  FlowRuleSpec first = to(FlowTarget::kChain, 1);
  first.actions.meter = std::make_shared<Meter>(config, 0);
  add(0, first);
  EXPECT_EQ(run().colour, Colour::kYellow);
  config.committed = {1, 1};
  config.committed_burst = 100;
  config.colour_aware = true;
  config.drop_yellow = true;
  FlowRuleSpec second = to(FlowTarget::kPort, 1);
  second.actions.meter = std::make_shared<Meter>(config, 0);
  add(1, second);
  expect(run(IpPacket(), 2'000'000'000), Kind::kDrop, Why::kMeter, 1);
}

TEST_F(FlowPipelineTest, PortRanges) {
  FlowRuleSpec range = to(FlowTarget::kTrap);
  range.dport = {100, 199};
  const uint32_t low = add(0, range);
  range.dport = {150, 300};
  const uint32_t high = add(0, range);
  EXPECT_EQ(last, Status::kOk) << "another range is another rule";
  add(0, range);
  EXPECT_EQ(last, Status::kExists);
  const auto found = [this](uint16_t port) {
    IpPacket p;
    p.dport = port;
    const FlowVerdict v = run(p);
    return v.rule ? v.rule->id : 0;
  };
  EXPECT_EQ(found(99), 0u);
  EXPECT_EQ(found(100), low);
  EXPECT_EQ(found(150), low) << "the older one";
  EXPECT_EQ(found(199), low);
  EXPECT_EQ(found(200), high);
  EXPECT_EQ(found(300), high);
  EXPECT_EQ(found(301), 0u);
  const uint32_t rest = add(0, any(2));
  EXPECT_EQ(found(99), rest);
  IpPacket fragment;
  fragment.ip.df = false;
  fragment.ip.more_fragments = true;
  fragment.dport = 150;
  EXPECT_EQ(run(fragment).rule->id, rest) << "no ports, in no range";
  for (const PortRange bad : {PortRange{0, 9}, PortRange{9, 8}}) {
    range.dport = bad;
    add(0, range);
    EXPECT_EQ(last, Status::kInvalid);
  }
}

TEST_F(FlowPipelineTest, AlikeRulesAreBounded) {
  FlowRuleSpec range = any();
  for (uint16_t i = 0; i < MaskGroup::kMaxAlike; i++) {
    range.sport = {static_cast<uint16_t>(i + 1), 60'000};
    add(0, range);
    ASSERT_EQ(last, Status::kOk);
  }
  range.sport = {1, 5};
  const uint32_t none = add(0, range);
  EXPECT_EQ(last, Status::kNoResource);
  EXPECT_EQ(none, 0u);
  const FlowVerdict v = run();
  ASSERT_NE(v.rule, nullptr);
  range.replaces = v.rule->id;
  add(0, range);
  EXPECT_EQ(last, Status::kOk) << "one goes for it";
}

TEST_F(FlowPipelineTest, MalformedRulesAreRefused) {
  const auto refused = [this](auto spoil) {
    FlowRuleSpec spec = any();
    auto edit = std::make_shared<FlowEdit>();
    spoil(&spec, edit.get());
    spec.actions.edit = edit;
    const char* error = FlowTables::check(chain(0), spec);
    add(0, spec);
    EXPECT_EQ(last, error ? Status::kInvalid : Status::kOk);
    if (!error) tables.reset();
    return error != nullptr;
  };
  EXPECT_FALSE(refused([](FlowRuleSpec*, FlowEdit*) {}));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->key.ttl = 1; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->mask.reserved0 = 1; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->mask.reserved1[15] = 1; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->mask.meta = 1; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->mask.flags = 0x20; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->mask.tun_id = 1; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->mask.flags = VERNA_FLOW_K_TUN_ID; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->mask.tun_kind = 0xff; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->mask.tun_kind = s->key.tun_kind = 1; }));
  EXPECT_TRUE(refused([](FlowRuleSpec*, FlowEdit* e) { e->decap = true; }));
  EXPECT_TRUE(refused([](FlowRuleSpec*, FlowEdit* e) { e->pop_tags = 9; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->actions.chain = 1; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) { s->actions.port = 1; }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) {
    s->actions.target = FlowTarget::kTrap;
    s->actions.flags = VERNA_FLOW_A_DROP;
  }));
  EXPECT_TRUE(refused([](FlowRuleSpec* s, FlowEdit*) {
    s->actions.target = FlowTarget::kTrap;
    s->actions.flags = VERNA_FLOW_A_QUEUE;
  }));
  const auto copy_to = [](uint16_t port) {
    return [port](FlowRuleSpec* s, FlowEdit* e) {
      s->mask.port = 0xffff;
      s->key.port = 3;
      e->num_copies = 1;
      e->copies[0].port = port;
    };
  };
  EXPECT_TRUE(refused(copy_to(3))) << "a mirror to itself";
  EXPECT_FALSE(refused(copy_to(4)));
}

TEST_F(FlowPipelineTest, EachTableOnTheWayIsTraced) {
  const uint32_t first = add(0, to(FlowTarget::kChain, 7, 3));
  trace.enable(true);
  run();
  ASSERT_EQ(trace.written(), 1u) << "chain 7 does not exist";
  EXPECT_EQ(trace.at(0).a, first);
  const uint32_t second = add(7, any(4));
  run();
  ASSERT_EQ(trace.written(), 3u);
  EXPECT_EQ(trace.at(2).a, uint64_t{7} << 32 | second);
  EXPECT_EQ(trace.at(2).b, uint64_t{4} << 32 | 1);
}

}  // namespace
}  // namespace verna::test
