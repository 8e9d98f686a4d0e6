// SPDX-License-Identifier: GPL-2.0-or-later
// Rules that age, of steering and of the switch, as a driver sees them: events, GET_AGED_FLOWS, and
// what becomes of both when functions and modes change.
#include "flow/rss.h"
#include "functions/switchdev_objects.h"

namespace verna::test {
namespace {

using Aged = std::vector<verna_flow_aged>;

constexpr uint16_t kType = 0x88b5;

/// Adds a rule to a function's receive steering; `rule` is one of the two structures for that.
template <typename Contract>
Reply add_steering(MiniDriver& driver, FakeHostBus& bus, const Contract& rule) {
  Bytes bytes(sizeof rule);
  std::memcpy(bytes.data(), &rule, sizeof rule);
  verna_cmd_add_flow command{};
  command.addr = bus.alloc(bytes.size(), "rule");
  command.len = sizeof rule;
  bus.fill(command.addr, bytes);
  return driver.execute(VERNA_CMD_ADD_FLOW, command);
}

/// Everything twice: `direction` is the parameter.
struct Ageing : ObjectsRig, testing::WithParamInterface<unsigned> {
  Ageing() : aged_addr(card.bus.alloc(VERNA_FLOW_MAX_AGED * sizeof(verna_flow_aged), "aged")) {}

  bool of_switch() const { return GetParam() == VERNA_FLOW_SWITCH; }
  /// A rule for frames of a type to the PF.
  Rule rule(uint32_t idle_ms, uint32_t life_ms = 0, uint16_t type = kType) const {
    Rule r = Rule().type(type);
    if (of_switch())
      r.port(VERNA_VPORT_PF);
    else
      r.action(VERNA_FLOW_A_QUEUE);
    r.rule.actions.idle_ms = idle_ms;
    r.rule.actions.life_ms = life_ms;
    return r;
  }
  Rule reported(uint32_t idle_ms) const { return rule(idle_ms).action(VERNA_FLOW_A_AGE_REPORT); }
  Reply try_add(const Rule& r) {
    verna_cmd_add_flow command = add_command({}, r);
    command.direction = static_cast<uint8_t>(GetParam());
    return card.driver.execute(VERNA_CMD_ADD_FLOW, command);
  }
  uint32_t add(const Rule& r) {
    const Reply reply = try_add(r);
    EXPECT_EQ(reply.status, VERNA_CMD_OK) << "detail " << reply.detail;
    return static_cast<uint32_t>(reply.result);
  }
  void hit(uint16_t type = kType) {
    inject(ethernet_frame(pf.address.mac, peer.mac, type, pattern(80, 1)));
    world.settle(10 * kMicro);
  }
  void wait(uint64_t ms) { world.run_for(ms * kMilli); }

  verna_cmd_query ask_command(size_t room = VERNA_FLOW_MAX_AGED) const {
    verna_cmd_query command{};
    command.addr = aged_addr;
    command.len = static_cast<uint32_t>(room * sizeof(verna_flow_aged));
    command.group = GetParam();
    return command;
  }
  Aged ask(size_t room = VERNA_FLOW_MAX_AGED) {
    const Reply reply = card.driver.execute(VERNA_CMD_GET_AGED_FLOWS, ask_command(room));
    EXPECT_EQ(reply.status, VERNA_CMD_OK);
    Aged out(reply.result / sizeof(verna_flow_aged));
    if (!out.empty()) std::memcpy(out.data(), card.bus.ptr(aged_addr, reply.result), reply.result);
    return out;
  }
  /// How often the card has said since the last call that there is something to ask for.
  unsigned notices() {
    world.settle(10 * kMicro);
    unsigned count = 0;
    verna_eqe eqe;
    while (card.driver.take_event(card.driver.eq0, &eqe)) {
      if (eqe.type != VERNA_EVENT_FLOW_AGED) continue;
      EXPECT_EQ(eqe.id, GetParam());
      count++;
    }
    return count;
  }

  uint64_t aged_addr;
};

INSTANTIATE_TEST_SUITE_P(Directions, Ageing, testing::Values(VERNA_FLOW_RX, VERNA_FLOW_SWITCH),
                         [](const auto& param) { return param.param ? "Switch" : "Steering"; });

TEST_P(Ageing, TheCardRemovesAnIdleRule) {
  const uint32_t id = add(rule(100));
  wait(90);
  hit();
  const verna_flow_stats before = query(id);
  EXPECT_EQ(before.packets, 1u);
  wait(98);
  EXPECT_EQ(query(id).packets, 1u) << "the frame postponed its end";
  EXPECT_EQ(notices(), 0u);
  wait(4);
  EXPECT_EQ(notices(), 1u);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DEL_FLOW, id).status, VERNA_CMD_NOT_FOUND);
  verna_cmd_query again{};
  again.id = id;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_FLOW, again).status, VERNA_CMD_NOT_FOUND);
  const Aged aged = ask();
  ASSERT_EQ(aged.size(), 1u);
  EXPECT_EQ(aged[0].rule, id);
  EXPECT_EQ(aged[0].flags, VERNA_FLOW_AGED_REMOVED);
  EXPECT_EQ(aged[0].packets, 1u);
  EXPECT_EQ(aged[0].bytes, 94u);
  EXPECT_EQ(aged[0].last_used, before.last_used);
  EXPECT_NEAR(static_cast<double>(aged[0].duration), 190e6, 1e6);
  EXPECT_EQ(ask().size(), 0u);
  EXPECT_NE(add(rule(100)), id) << "its key is free";
}

TEST_P(Ageing, ALifeEnds) {
  const uint32_t id = add(rule(100, 250));
  for (int i = 0; i < 6; i++, wait(40)) hit();
  EXPECT_EQ(notices(), 0u);
  wait(12);
  EXPECT_EQ(notices(), 1u);
  const Aged aged = ask();
  ASSERT_EQ(aged.size(), 1u);
  EXPECT_EQ(aged[0].rule, id);
  EXPECT_EQ(aged[0].flags, VERNA_FLOW_AGED_REMOVED | VERNA_FLOW_AGED_LIFE);
  EXPECT_EQ(aged[0].packets, 6u);
  EXPECT_EQ(aged[0].duration, 250 * kMilli);
}

TEST_P(Ageing, AReportedRuleStaysAndIsReportedAgain) {
  const uint32_t id = add(reported(50));
  for (uint64_t round = 0; round < 3; round++) {
    wait(60);
    EXPECT_EQ(notices(), 1u);
    const Aged aged = ask();
    ASSERT_EQ(aged.size(), 1u);
    EXPECT_EQ(aged[0].rule, id);
    EXPECT_EQ(aged[0].flags, 0u);
    EXPECT_EQ(aged[0].packets, round);
    wait(1000);
    EXPECT_EQ(notices(), 0u) << "nothing has changed";
    hit();
    EXPECT_EQ(query(id).packets, round + 1);
  }
  wait(60);
  hit();
  EXPECT_EQ(notices(), 1u);
  EXPECT_EQ(ask().size(), 0u) << "it is not idle any more";
}

TEST_P(Ageing, OneEventHoweverMany) {
  for (uint16_t n = 0; n < 10; n++) add(rule(10u + n, 0, static_cast<uint16_t>(kType + n)));
  wait(16);
  EXPECT_EQ(notices(), 1u);
  wait(3);
  EXPECT_EQ(notices(), 0u) << "the driver has not asked yet";
  const Aged first = ask(4);
  ASSERT_EQ(first.size(), 4u);
  for (size_t i = 1; i < first.size(); i++) EXPECT_GT(first[i].rule, first[i - 1].rule);
  wait(100);
  EXPECT_EQ(notices(), 0u) << "four fit and there were four: it will ask again";
  EXPECT_EQ(ask().size(), 6u);
  add(rule(5));
  wait(10);
  EXPECT_EQ(notices(), 1u);
}

TEST_P(Ageing, ManyAtOnceComeInBatches) {
  for (uint16_t n = 0; n < 600; n++) add(rule(1000, 0, static_cast<uint16_t>(0x9000 + n)));
  wait(1200);
  EXPECT_EQ(notices(), 1u);
  EXPECT_EQ(ask().size(), VERNA_FLOW_MAX_AGED);
  EXPECT_EQ(ask().size(), VERNA_FLOW_MAX_AGED);
  EXPECT_EQ(ask().size(), 600 - 2 * VERNA_FLOW_MAX_AGED);
  EXPECT_EQ(notices(), 0u);
}

TEST_P(Ageing, WhatComesWhileTheDriverAsksIsNotLost) {
  for (uint16_t n = 0; n < 200; n++) add(rule(20u + n, 0, static_cast<uint16_t>(kType + n)));
  size_t told = 0;
  for (int i = 0; i < 1000 && told < 200; i++) {
    wait(1);
    if (notices() == 0) continue;
    size_t got = 0;
    do {
      got = ask(3).size();
      told += got;
      wait(1);
    } while (got == 3);
  }
  EXPECT_EQ(told, 200u);
}

TEST_P(Ageing, AFullEventQueueDelaysTheEvent) {
  RingHandle* cq = card.driver.create_cq(2);
  for (int i = 0; i < 250; i++) {
    EthQueue* q = card.driver.create_txq(9, cq, 0);
    q->mem.store<uint32_t>(0, 2);
    card.ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 9));
    world.settle(5 * kMicro);
    ASSERT_TRUE(card.driver.object(VERNA_CMD_DESTROY_TXQ, 9).ok());
  }
  add(rule(5));
  wait(50);
  EXPECT_EQ(notices(), 0u) << "there was no room for it";
  wait(1);
  EXPECT_EQ(notices(), 1u);
  EXPECT_EQ(ask().size(), 1u);
}

TEST_P(Ageing, AFailedAnswerLosesNothing) {
  add(rule(5));
  wait(10);
  card.bus.expect_faults();
  verna_cmd_query command = ask_command();
  command.addr = 0x1000;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_GET_AGED_FLOWS, command).status, VERNA_CMD_DMA_FAULT);
  EXPECT_EQ(ask().size(), 1u);
}

TEST_P(Ageing, EveryFieldOfGetAgedFlows) {
  const auto reply = [&](auto change) {
    verna_cmd_query command = ask_command();
    change(command);
    return card.driver.execute(VERNA_CMD_GET_AGED_FLOWS, command);
  };
  EXPECT_TRUE(reply([](auto&) {}).ok());
  EXPECT_EQ(reply([](auto& c) { c.len++; }).detail, offsetof(verna_cmd_query, len));
  EXPECT_EQ(reply([](auto& c) { c.len = ~0u; }).detail, offsetof(verna_cmd_query, len));
  EXPECT_EQ(reply([](auto& c) { c.id = 1; }).detail, offsetof(verna_cmd_query, id));
  EXPECT_EQ(reply([](auto& c) { c.reserved = 1; }).detail, offsetof(verna_cmd_query, reserved));
  for (const uint32_t direction : {unsigned{VERNA_FLOW_TX}, 3u, ~0u})
    EXPECT_EQ(reply([&](auto& c) { c.group = direction; }).status, VERNA_CMD_NOT_SUPPORTED);
  add(rule(5));
  wait(10);
  EXPECT_EQ(reply([](auto& c) { c.len = sizeof(verna_flow_aged) - 1; }).result, 0u);
  EXPECT_EQ(reply([](auto& c) { c.len = 2 * sizeof(verna_flow_aged) - 1; }).result,
            sizeof(verna_flow_aged));
}

TEST_P(Ageing, LimitsThatContradict) {
  const auto refused = [&](const Rule& r) {
    const Reply reply = try_add(r);
    EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM);
    EXPECT_EQ(reply.detail, offsetof(verna_cmd_add_flow, addr));
  };
  refused(rule(0).action(VERNA_FLOW_A_AGE_REPORT));
  refused(rule(0, 5).action(VERNA_FLOW_A_AGE_REPORT));
  refused(rule(5, 5).action(VERNA_FLOW_A_AGE_REPORT));
  Rule beyond = rule(5);
  beyond.rule.actions.reserved[0] = 1;
  refused(beyond);
  EXPECT_TRUE(try_add(rule(~0u, ~0u)).ok());
}

TEST_P(Ageing, WhatARuleHeldIsFreeWhenItIsGone) {
  uint32_t held = 0;
  const uint16_t destroy = of_switch() ? VERNA_CMD_DESTROY_METER : VERNA_CMD_DESTROY_RSS;
  Rule r = rule(5);
  if (of_switch()) {
    held = make(packets(1));
    r = metered(held, r);
  } else {
    held = 1;
    verna_cmd_set_rss context{};
    context.context = 1;
    context.table_len = Rss::kTableSize;
    context.table_addr = card.bus.alloc(2 * Rss::kTableSize, "RSS table");
    ASSERT_TRUE(card.driver.execute(VERNA_CMD_SET_RSS, context).ok());
    r.rule.actions.rss_context = 1;
    r.action(VERNA_FLOW_A_RSS);
  }
  add(r);
  EXPECT_EQ(card.driver.object(destroy, held).status, VERNA_CMD_BUSY);
  wait(10);
  EXPECT_TRUE(card.driver.object(destroy, held).ok()) << "although nobody has asked yet";
  hit();
  EXPECT_EQ(pf.received().size(), 1u);
  EXPECT_EQ(ask().size(), 1u);
}

TEST_P(Ageing, AResetForgetsWhatAged) {
  add(rule(5));
  add(rule(500, 0, kType + 1));
  wait(10);
  card.reset();
  pf.bring_up();
  soft.make_queues(kSoftQueue);
  switchdev();
  wait(1000);
  EXPECT_EQ(notices(), 0u);
  EXPECT_EQ(ask().size(), 0u);
  add(rule(5));
  wait(10);
  EXPECT_EQ(notices(), 1u);
  EXPECT_EQ(ask().size(), 1u);
}

TEST_P(Ageing, OnlyTheSwitchForgetsInAnotherMode) {
  add(rule(5));
  add(rule(500, 0, kType + 1));
  wait(10);
  EXPECT_EQ(notices(), 1u);
  legacy();
  if (of_switch())
    EXPECT_EQ(card.driver.execute(VERNA_CMD_GET_AGED_FLOWS, ask_command()).status,
              VERNA_CMD_BAD_STATE);
  wait(1000);
  switchdev();
  EXPECT_EQ(ask().size(), of_switch() ? 0u : 2u);
  EXPECT_EQ(notices(), 0u);
}

TEST_P(Ageing, ACardWithOldRulesSleeps) {
  for (uint16_t n = 0; n < 100; n++) add(reported(100).type(static_cast<uint16_t>(kType + n)));
  wait(200);
  const uint64_t runs = card.dev_counter(VERNA_DEV_engine_runs);
  wait(10'000);
  EXPECT_LT(card.dev_counter(VERNA_DEV_engine_runs) - runs, 100u);
}

TEST_P(Ageing, AnsweredToPeopleToo) {
  add(reported(100));
  add(rule(5, 0, kType + 1));
  wait(50);
  const std::string text = card.nic->control(of_switch() ? "switch" : "flow", world.clock.now);
  EXPECT_NE(text.find("\"limits\":\"idle=100ms report\""), std::string::npos) << text;
  EXPECT_NE(text.find("\"idle_ms\":50"), std::string::npos) << text;
  EXPECT_NE(text.find("\"aged\":1"), std::string::npos) << text;
}

struct AgeingOfVfs : SwitchdevRig {
  Reply ask(MiniDriver& driver, FakeHostBus& bus, uint32_t direction) {
    verna_cmd_query command{};
    command.addr = bus.alloc(sizeof(verna_flow_aged), "aged");
    command.len = sizeof(verna_flow_aged);
    command.group = direction;
    return driver.execute(VERNA_CMD_GET_AGED_FLOWS, command);
  }
};

TEST_F(AgeingOfVfs, EachHearsOfItsOwnRules) {
  Rule rule = Rule().type(kType).drop();
  rule.rule.actions.idle_ms = 5;
  const verna_flow_rule_ranges& contract = rule;
  ASSERT_TRUE(add_steering(vf1.driver, vf1.bus, contract).ok());
  world.run_for(10 * kMilli);
  verna_eqe eqe;
  EXPECT_FALSE(vf2.driver.take_event(vf2.driver.eq0, &eqe));
  EXPECT_FALSE(card.driver.take_event(card.driver.eq0, &eqe));
  ASSERT_TRUE(vf1.driver.take_event(vf1.driver.eq0, &eqe));
  EXPECT_EQ(eqe.type, VERNA_EVENT_FLOW_AGED);
  EXPECT_EQ(eqe.id, VERNA_FLOW_RX);
  EXPECT_EQ(ask(vf2.driver, vf2.bus, VERNA_FLOW_RX).result, 0u);
  EXPECT_EQ(ask(card.driver, card.bus, VERNA_FLOW_RX).result, 0u);
  EXPECT_EQ(ask(vf1.driver, vf1.bus, VERNA_FLOW_SWITCH).status, VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(ask(vf1.driver, vf1.bus, VERNA_FLOW_RX).result, sizeof(verna_flow_aged));
}

TEST_F(AgeingOfVfs, AVfGoesWithItsRules) {
  Rule rule = Rule().from(2).drop();
  rule.rule.actions.idle_ms = 20;
  add({2}, rule);
  card.set_num_vfs(0);
  world.run_for(50 * kMilli);
  EXPECT_EQ(ask(card.driver, card.bus, VERNA_FLOW_SWITCH).result, sizeof(verna_flow_aged))
      << "rules of the switch are the PF's";
}

TEST(AgeingWithoutEvents, TheEventComesWithTheEventQueue) {
  World world;
  Wire wire(world.clock);
  TestCard card(world, wire.a, 1);
  world.add(&wire);
  card.driver.enable_admin_queue(4);
  verna_flow_rule rule{};
  rule.actions.flags = VERNA_FLOW_A_DROP;
  rule.actions.idle_ms = 5;
  ASSERT_TRUE(add_steering(card.driver, card.bus, rule).ok());
  world.run_for(kSecond);
  RingHandle* eq = card.driver.create_eq(0, 4, 0);
  world.settle();
  verna_eqe eqe;
  ASSERT_TRUE(card.driver.take_event(eq, &eqe));
  EXPECT_EQ(eqe.type, VERNA_EVENT_FLOW_AGED);
  verna_cmd_query ask{};
  ask.group = VERNA_FLOW_SWITCH;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_GET_AGED_FLOWS, ask).status, VERNA_CMD_NOT_SUPPORTED);
}

}  // namespace
}  // namespace verna::test
