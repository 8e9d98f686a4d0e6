// SPDX-License-Identifier: GPL-2.0-or-later
// Flow rules and RSS contexts through commands and frames.
#include <algorithm>

#include "eth/eth_rig.h"
#include "flow/rss.h"
#include "flow/tunnel_frames.h"

namespace verna::test {
namespace {

constexpr uint32_t kQueues = 4;

struct FlowSteeringTest : EthRig {
  FlowSteeringTest() {
    cqs.push_back(rx_cq);
    queues.push_back(rxq);
    for (uint32_t i = 1; i < kQueues; i++) {
      cqs.push_back(card.driver.create_cq(8));
      queues.push_back(card.driver.create_rxq(i, cqs[i], 6));
    }
    for (EthQueue* q : queues) {
      rxq = q;
      post_buffers(std::vector<uint32_t>(40, 512));
    }
    rule_addr = card.bus.alloc(sizeof(verna_flow_rule), "flow rule");
    table_addr = card.bus.alloc(2 * Rss::kTableSize, "RSS table");
  }

  /// A rule for UDP packets over IPv4 to a port.
  static verna_flow_rule udp_rule(uint16_t dport) {
    verna_flow_rule rule{};
    rule.key.ip_version = 4;
    rule.mask.ip_version = 0xff;
    rule.key.ip_proto = 17;
    rule.mask.ip_proto = 0xff;
    rule.key.dport = __builtin_bswap16(dport);
    rule.mask.dport = 0xffff;
    return rule;
  }
  static verna_flow_rule to_queue(verna_flow_rule rule, uint16_t queue) {
    rule.actions.flags |= VERNA_FLOW_A_QUEUE;
    rule.actions.queue = queue;
    return rule;
  }
  verna_cmd_add_flow add_command(const verna_flow_rule& rule, uint32_t priority = 1) {
    Bytes bytes(sizeof rule);
    std::memcpy(bytes.data(), &rule, sizeof rule);
    card.bus.fill(rule_addr, bytes);
    verna_cmd_add_flow cmd{};
    cmd.priority = priority;
    cmd.addr = rule_addr;
    cmd.len = sizeof rule;
    return cmd;
  }
  Reply add(const verna_flow_rule& rule, uint32_t priority = 1, uint32_t replaces = 0) {
    verna_cmd_add_flow cmd = add_command(rule, priority);
    cmd.replaces = replaces;
    return card.driver.execute(VERNA_CMD_ADD_FLOW, cmd);
  }
  Reply set_rss(uint16_t context, std::vector<uint16_t> pattern) {
    verna_cmd_set_rss cmd{};
    cmd.context = context;
    cmd.table_addr = table_addr;
    cmd.table_len = Rss::kTableSize;
    for (size_t i = 0; i < VERNA_RSS_KEY_SIZE; i++) cmd.key[i] = static_cast<uint8_t>(i * 41 + 7);
    std::fill(std::begin(cmd.fields), std::end(cmd.fields), VERNA_RSS_IPS);
    cmd.fields[VERNA_RSS_UDPV4] = VERNA_RSS_IPS | VERNA_RSS_PORTS;
    for (uint64_t i = 0; i < Rss::kTableSize; i++)
      card.bus.store<uint16_t>(table_addr + 2 * i, pattern[i % pattern.size()]);
    return card.driver.execute(VERNA_CMD_SET_RSS, cmd);
  }
  Bytes udp_frame(uint16_t dport, uint16_t sport = 1000) {
    RocePacket p;
    std::copy_n(card.mac, 6, p.dmac);
    p.sip[15] = 5;
    p.dip[15] = 6;
    p.sport = sport;
    p.dport = dport;
    p.opcode = kUdSendOnly;
    return p.build();
  }
  /// Sends a frame; the queue where it came out, or nothing.
  std::optional<uint32_t> send(uint16_t dport, uint16_t sport = 1000) {
    inject(udp_frame(dport, sport));
    std::optional<uint32_t> where;
    for (uint32_t i = 0; i < kQueues; i++) {
      if (auto cqe = done(cqs[i])) {
        EXPECT_FALSE(where) << "two queues got it";
        where = i;
        last = *cqe;
      }
    }
    return where;
  }
  verna_flow_stats query(uint32_t id) {
    return card.driver.query<verna_flow_stats>(VERNA_CMD_QUERY_FLOW, id);
  }

  std::vector<RingHandle*> cqs;
  std::vector<EthQueue*> queues;
  uint64_t rule_addr;
  uint64_t table_addr;
  verna_cqe last;
};

TEST_F(FlowSteeringTest, ToAQueueInTheOrderOfPriorities) {
  EXPECT_EQ(send(80), 0u);
  const Reply broad = add(to_queue({}, 1), 10);
  ASSERT_TRUE(broad.ok());
  EXPECT_EQ(send(80), 1u);
  const Reply exact = add(to_queue(udp_rule(80), 2), 5);
  ASSERT_TRUE(exact.ok());
  EXPECT_EQ(send(80), 2u);
  EXPECT_EQ(send(81), 1u);
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DEL_FLOW, static_cast<uint32_t>(exact.result)).ok());
  EXPECT_EQ(send(80), 1u);
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DEL_FLOW, static_cast<uint32_t>(broad.result)).ok());
  EXPECT_EQ(send(80), 0u);
}

TEST_F(FlowSteeringTest, DropsAreCountedOnceAndByTheRule) {
  verna_flow_rule rule = udp_rule(80);
  rule.actions.flags = VERNA_FLOW_A_DROP;
  const Reply reply = add(rule);
  ASSERT_TRUE(reply.ok());
  EXPECT_FALSE(send(80));
  EXPECT_FALSE(send(80));
  EXPECT_EQ(send(81), 0u);
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_rule), 2u);
  const verna_flow_stats stats = query(static_cast<uint32_t>(reply.result));
  EXPECT_EQ(stats.packets, 2u);
  EXPECT_EQ(stats.bytes, 2 * udp_frame(80).size());
  EXPECT_GT(stats.last_used, 0u);
  EXPECT_GE(stats.now, stats.last_used);
}

TEST_F(FlowSteeringTest, MarksAreInTheCompletion) {
  verna_flow_rule rule = to_queue(udp_rule(80), 3);
  rule.actions.flags |= VERNA_FLOW_A_MARK;
  rule.actions.mark = 0xcafe1234;
  ASSERT_TRUE(add(rule).ok());
  EXPECT_EQ(send(80), 3u);
  EXPECT_TRUE(last.rx_flags & VERNA_CQE_RX_MARK);
  EXPECT_EQ(last.imm, 0xcafe1234u);
  EXPECT_EQ(send(81), 0u);
  EXPECT_FALSE(last.rx_flags & VERNA_CQE_RX_MARK);
  EXPECT_EQ(last.imm, 0u);
}

TEST_F(FlowSteeringTest, ContextsAndOffsets) {
  ASSERT_TRUE(set_rss(0, {0}).ok());
  ASSERT_TRUE(set_rss(7, {1, 2}).ok());
  verna_flow_rule rule = udp_rule(80);
  rule.actions.flags = VERNA_FLOW_A_RSS;
  rule.actions.rss_context = 7;
  const Reply first = add(rule);
  ASSERT_TRUE(first.ok());
  uint32_t seen = 0;
  for (uint16_t sport = 1000; sport < 1030; sport++) seen |= 1u << send(80, sport).value();
  EXPECT_EQ(seen, 0b0110u);
  EXPECT_TRUE(last.flags & VERNA_CQE_F_HASH);
  EXPECT_EQ(send(81), 0u);

  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_RSS, 7).status, VERNA_CMD_BUSY);
  rule = to_queue(rule, 1);
  const Reply second = add(rule, 1, static_cast<uint32_t>(first.result));
  ASSERT_TRUE(second.ok());
  seen = 0;
  for (uint16_t sport = 1000; sport < 1030; sport++) seen |= 1u << send(80, sport).value();
  EXPECT_EQ(seen, 0b1100u) << "the offset is added";
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_RSS, 7).status, VERNA_CMD_BUSY);
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DEL_FLOW, static_cast<uint32_t>(second.result)).ok());
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DESTROY_RSS, 7).ok());
}

TEST_F(FlowSteeringTest, AQueueThatDoesNotExistDropsThePacket) {
  ASSERT_TRUE(add(to_queue(udp_rule(80), 100)).ok());
  EXPECT_FALSE(send(80));
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_queue), 1u);
}

TEST_F(FlowSteeringTest, RulesGoWithAReset) {
  ASSERT_TRUE(set_rss(7, {1, 2}).ok());
  verna_flow_rule rule = udp_rule(80);
  rule.actions.flags = VERNA_FLOW_A_RSS;
  rule.actions.rss_context = 7;
  const Reply reply = add(rule);
  ASSERT_TRUE(reply.ok());
  card.driver.set_reg(VERNA_REG_CONTROL, VERNA_CONTROL_RESET);
  world.settle(100 * kMicro);
  card.driver.bring_up();
  const auto id = static_cast<uint32_t>(reply.result);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DEL_FLOW, id).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_RSS, 7).status, VERNA_CMD_NOT_FOUND);
}

TEST_F(FlowSteeringTest, MissesMayBeDropped) {
  verna_cmd_flow_miss miss{};
  miss.miss = VERNA_FLOW_MISS_DROP;
  ASSERT_TRUE(card.driver.execute(VERNA_CMD_SET_FLOW_MISS, miss).ok());
  EXPECT_FALSE(send(80));
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_rule), 1u);
  ASSERT_TRUE(add(udp_rule(80)).ok()) << "a rule without actions lets through";
  EXPECT_EQ(send(80), 0u);
  miss.miss = VERNA_FLOW_MISS_PASS;
  ASSERT_TRUE(card.driver.execute(VERNA_CMD_SET_FLOW_MISS, miss).ok());
  EXPECT_EQ(send(81), 0u);
  miss.miss = 2;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_FLOW_MISS, miss).status, VERNA_CMD_BAD_PARAM);
  miss.miss = 0;
  miss.chain = 1;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_FLOW_MISS, miss).status, VERNA_CMD_NOT_SUPPORTED);
}

TEST_F(FlowSteeringTest, CommandsCheckEveryField) {
  const auto status = [&](auto change) {
    verna_cmd_add_flow cmd = add_command(to_queue(udp_rule(80), 1));
    change(cmd);
    return card.driver.execute(VERNA_CMD_ADD_FLOW, cmd).status;
  };
  EXPECT_EQ(status([](auto& c) { c.direction = VERNA_FLOW_TX; }), VERNA_CMD_NOT_SUPPORTED);
  EXPECT_EQ(status([](auto& c) { c.group = 1; }), VERNA_CMD_NOT_SUPPORTED);
  EXPECT_EQ(status([](auto& c) { c.chain = 1; }), VERNA_CMD_NOT_SUPPORTED);
  EXPECT_EQ(status([](auto& c) { c.reserved0 = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](auto& c) { c.reserved1 = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](auto& c) { c.len--; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](auto& c) { c.len = 0; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](auto& c) { c.replaces = 77; }), VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(status([](auto&) {}), VERNA_CMD_OK);
  EXPECT_EQ(status([](auto&) {}), VERNA_CMD_EXISTS);
  card.bus.expect_faults();
  EXPECT_EQ(status([](auto& c) { c.addr = 0x1000; }), VERNA_CMD_DMA_FAULT);
}

TEST_F(FlowSteeringTest, RangesOfPorts) {
  verna_flow_rule_ranges ranged{};
  ranged.rule = to_queue(udp_rule(0), 2);
  ranged.rule.mask.dport = 0;
  ranged.dport = {80, 90};
  const auto add_ranged = [&](uint32_t priority) {
    const uint64_t addr = card.bus.alloc(sizeof ranged, "ranges");
    Bytes bytes(sizeof ranged);
    std::memcpy(bytes.data(), &ranged, sizeof ranged);
    card.bus.fill(addr, bytes);
    verna_cmd_add_flow cmd{};
    cmd.priority = priority;
    cmd.addr = addr;
    cmd.len = sizeof ranged;
    return card.driver.execute(VERNA_CMD_ADD_FLOW, cmd);
  };
  ASSERT_TRUE(add_ranged(1).ok());
  EXPECT_EQ(add_ranged(1).status, VERNA_CMD_EXISTS);
  ranged.sport = {999, 1000};
  ranged.rule.actions.queue = 3;
  ASSERT_TRUE(add_ranged(0).ok());
  EXPECT_EQ(send(79), 0u);
  EXPECT_EQ(send(80, 1001), 2u);
  EXPECT_EQ(send(90, 1001), 2u);
  EXPECT_EQ(send(91), 0u);
  EXPECT_EQ(send(85, 1000), 3u);
  ranged.dport = {90, 80};
  EXPECT_EQ(add_ranged(5).status, VERNA_CMD_BAD_PARAM);
}

TEST_F(FlowSteeringTest, WhatIsInsideOfTunnels) {
  verna_flow_rule rule = to_queue(udp_rule(80), 2);
  rule.key.tun_kind = VERNA_FLOW_TUN_VXLAN;
  rule.mask.tun_kind = 0xff;
  rule.key.tun_id = __builtin_bswap64(7);
  std::memset(&rule.mask.tun_id, 0xff, sizeof rule.mask.tun_id);
  ASSERT_TRUE(add(rule).ok());
  FlowEncap outer;
  std::copy_n(card.mac, 6, outer.dmac);
  outer.id = 7;
  const auto queue_of = [&](const Bytes& frame) {
    inject(frame);
    for (uint32_t i = 0; i < kQueues; i++)
      if (done(cqs[i])) return i;
    return ~0u;
  };
  EXPECT_EQ(queue_of(wrap(outer, 50'000, udp_frame(80))), 2u);
  EXPECT_EQ(queue_of(wrap(outer, 50'000, udp_frame(81))), 0u);
  EXPECT_EQ(send(80), 0u) << "no tunnel";
  outer.id = 8;
  EXPECT_EQ(queue_of(wrap(outer, 50'000, udp_frame(80))), 0u);
}

TEST_F(FlowSteeringTest, RulesThatMakeNoSense) {
  const auto status = [&](auto change) {
    verna_flow_rule rule = to_queue(udp_rule(80), 1);
    change(rule);
    return add(rule).status;
  };
  using Rule = verna_flow_rule;
  EXPECT_EQ(status([](Rule& r) { r.key.sport = 5; }), VERNA_CMD_BAD_PARAM) << "outside of the mask";
  EXPECT_EQ(status([](Rule& r) { r.mask.meta = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.mask.tun_id = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.mask.reserved1[15] = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.mask.tun_ip_version = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.mask.tun_kind = 0xff; }), VERNA_CMD_BAD_PARAM) << "no tunnel";
  EXPECT_EQ(status([](Rule& r) { r.mask.reserved0 = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.mask.flags = 0x10; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.actions.flags |= 0x10; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.actions.flags |= VERNA_FLOW_A_DROP; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.actions.queue = 128; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.actions.flags = 0; }), VERNA_CMD_BAD_PARAM) << "queue unused";
  EXPECT_EQ(status([](Rule& r) { r.actions.mark = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.actions.flags |= VERNA_FLOW_A_MARK; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.actions.rss_context = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) { r.actions.reserved[6] = 1; }), VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(status([](Rule& r) {
              r.actions.flags |= VERNA_FLOW_A_RSS;
              r.actions.rss_context = 9;
            }),
            VERNA_CMD_BAD_PARAM)
      << "no such context";
  EXPECT_EQ(status([](Rule&) {}), VERNA_CMD_OK);
}

}  // namespace
}  // namespace verna::test
