// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_text.h"

#include <gtest/gtest.h>

#include "flow/flow_tables.h"
#include "flow/tunnel_frames.h"

namespace verna::test {
namespace {

std::string match_of(const FlowRuleSpec& spec) {
  Trace trace;
  FlowTables tables(10, 1, trace);
  uint32_t id = 0;
  EXPECT_EQ(tables.add({}, spec, 0, &id), FlowTables::Status::kOk);
  return flow_match_text(*tables.find(id));
}

TEST(FlowText, Matches) {
  FlowRuleSpec spec;
  EXPECT_EQ(match_of(spec), "any");
  spec.mask.dport = 0xffff;
  store_be16(reinterpret_cast<uint8_t*>(&spec.key.dport), 80);
  spec.mask.src_ip[0] = 0xff;
  spec.key.src_ip[0] = 10;
  EXPECT_EQ(match_of(spec), "src_ip=10.0.0.0/ff000000 dport=80");
  spec.dport = {80, 90};
  EXPECT_EQ(match_of(spec), "src_ip=10.0.0.0/ff000000 dport=80 dport=80-90");
  spec = {};
  spec.mask.tun_kind = 0xff;
  spec.key.tun_kind = VERNA_FLOW_TUN_VXLAN;
  spec.mask.tun_id = ~uint64_t{0};
  store_be64(reinterpret_cast<uint8_t*>(&spec.key.tun_id), 7);
  spec.mask.tun_src[0] = 0xff;
  spec.key.tun_src[0] = 0xfd;
  spec.mask.tun_ip_version = 0xff;
  spec.key.tun_ip_version = 6;
  EXPECT_EQ(match_of(spec),
            "tun_kind=1 tun_ip_version=6 tun_id=7 "
            "tun_src=fd00:0:0:0:0:0:0:0/ff000000000000000000000000000000");
}

TEST(FlowText, Actions) {
  FlowActions a;
  EXPECT_EQ(flow_action_text(a), "pass");
  a.flags = VERNA_FLOW_A_QUEUE | VERNA_FLOW_A_RSS | VERNA_FLOW_A_MARK;
  a.mark = 0xab;
  a.queue = 3;
  a.rss_context = 4;
  EXPECT_EQ(flow_action_text(a), "mark=0xab rss=4 queue=3");
  a = {};
  a.flags = VERNA_FLOW_A_DROP;
  EXPECT_EQ(flow_action_text(a), "drop");
  a = {};
  a.target = FlowTarget::kTrap;
  EXPECT_EQ(flow_action_text(a), "trap");
  a.target = FlowTarget::kChain;
  a.chain = 9;
  a.meter = std::make_shared<Meter>(MeterConfig(), 0);
  EXPECT_EQ(flow_action_text(a), "meter chain=9");
  auto edit = std::make_shared<FlowEdit>();
  edit->copies = {{{1, false}, {2, true}}};
  edit->num_copies = 2;
  edit->decap = edit->dec_ttl = true;
  edit->pop_tags = 2;
  FlowRewrite rewrite;
  rewrite.mask.tos = 0xfc;
  rewrite.value.tos = 0xb8;
  edit->rewrite = std::make_unique<FlowRewrite>(rewrite);
  edit->encap = std::make_unique<FlowEncap>(outer_headers(TunnelKind::kGeneve, 4));
  edit->num_push = 1;
  edit->push[0] = {0x88a8, 5};
  a = {};
  a.target = FlowTarget::kPort;
  a.port = 6;
  a.edit = edit;
  EXPECT_EQ(flow_action_text(a),
            "copy=1 decap pop pop set(tos=0xb8/fc) dec_ttl encap=geneve:1193046 "
            "push=0x88a8:0x0005 copy=2 port=6");
}

TEST(FlowText, Limits) {
  FlowActions a;
  EXPECT_EQ(flow_limits_text(a), "none");
  a.idle_ms = 30'000;
  a.life_ms = 5;
  EXPECT_EQ(flow_limits_text(a), "idle=30000ms life=5ms");
  a.life_ms = 0;
  a.flags = VERNA_FLOW_A_AGE_REPORT;
  EXPECT_EQ(flow_limits_text(a), "idle=30000ms report");
}

TEST(FlowText, Misses) {
  EXPECT_EQ(flow_miss_text({}), "pass");
  EXPECT_EQ(flow_miss_text({FlowMiss::Kind::kDrop, 0}), "drop");
  EXPECT_EQ(flow_miss_text({FlowMiss::Kind::kTrap, 0}), "trap");
  EXPECT_EQ(flow_miss_text({FlowMiss::Kind::kChain, 7}), "chain=7");
}

}  // namespace
}  // namespace verna::test
