// SPDX-License-Identifier: GPL-2.0-or-later
// Commands about the embedded switch: who may send them, when, and with which fields.
#include "functions/switchdev_rig.h"

namespace verna::test {
namespace {

using SwitchdevCommands = SwitchdevRig;

struct LegacyCommands : SwitchdevRig {
  LegacyCommands() : SwitchdevRig(false) {}
};

template <typename T>
T with(T command, auto change) {
  change(command);
  return command;
}

TEST_F(LegacyCommands, TheCapabilityBlockSaysWhatThereIs) {
  uint32_t at = card.driver.reg(VERNA_REG_CAPS_OFFSET);
  while (at && (card.driver.reg(at) & 0xffff) != VERNA_CAP_ESWITCH)
    at = card.driver.reg(at + 4) >> 16;
  ASSERT_NE(at, 0u);
  const auto word = [&](size_t offset) {
    return card.driver.reg(at + static_cast<uint32_t>(offset));
  };
  EXPECT_EQ(word(4) & 0xffff, sizeof(verna_cap_eswitch));
  EXPECT_EQ(word(offsetof(verna_cap_eswitch, modes)), 3u);
  EXPECT_EQ(word(offsetof(verna_cap_eswitch, max_rules)), 1u << 20);
  EXPECT_EQ(word(offsetof(verna_cap_eswitch, max_groups)) & 0xffff, 1024u);
  EXPECT_TRUE(word(offsetof(verna_cap_eswitch, actions)) & VERNA_FLOW_A_PORT);
  EXPECT_FALSE(word(offsetof(verna_cap_eswitch, actions)) & VERNA_FLOW_A_QUEUE);
}

TEST_F(LegacyCommands, NothingWorksBeforeTheMode) {
  EXPECT_EQ(try_add({2}, Rule().drop()).status, VERNA_CMD_BAD_STATE);
  EXPECT_EQ(set_miss({2}, VERNA_FLOW_MISS_DROP).status, VERNA_CMD_BAD_STATE);
  EXPECT_EQ(set_group(2, 3).status, VERNA_CMD_BAD_STATE);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DEL_FLOW, VERNA_FLOW_ID_SWITCH | 1).status,
            VERNA_CMD_NOT_FOUND);
  EXPECT_TRUE(set_mode(VERNA_ESWITCH_LEGACY).ok()) << "the mode that is on";
}

TEST_F(SwitchdevCommands, VfsHaveNone) {
  MiniDriver& vf = vf1.driver;
  verna_cmd_set_eswitch mode{};
  EXPECT_EQ(vf.execute(VERNA_CMD_SET_ESWITCH, mode).status, VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(vf.execute_for(0, VERNA_CMD_SET_ESWITCH, mode).status, VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(card.driver.execute_for(1, VERNA_CMD_SET_ESWITCH, mode).status, VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(vf.execute(VERNA_CMD_SET_VPORT_GROUP, verna_cmd_vport_group{}).status,
            VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(vf.execute(VERNA_CMD_ADD_FLOW, add_command({2}, Rule().drop())).status,
            VERNA_CMD_BAD_FUNCTION);
  verna_cmd_flow_miss miss{};
  miss.direction = VERNA_FLOW_SWITCH;
  EXPECT_EQ(vf.execute(VERNA_CMD_SET_FLOW_MISS, miss).status, VERNA_CMD_BAD_FUNCTION);
  const uint32_t rule = add({2}, Rule().drop());
  EXPECT_EQ(vf.object(VERNA_CMD_DEL_FLOW, rule).status, VERNA_CMD_BAD_FUNCTION);
  verna_cmd_query query{};
  query.id = rule;
  EXPECT_EQ(vf.execute(VERNA_CMD_QUERY_FLOW, query).status, VERNA_CMD_BAD_FUNCTION);
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_rule), 1u) << "nothing has changed";
}

TEST(SwitchdevAbsent, ACardWithoutVfsHasNoSwitch) {
  World world;
  Wire wire(world.clock);
  TestCard card(world, wire.a, 1);
  card.driver.bring_up();
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_ESWITCH, verna_cmd_set_eswitch{}).status,
            VERNA_CMD_BAD_OPCODE);
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_VPORT_GROUP, verna_cmd_vport_group{}).status,
            VERNA_CMD_BAD_OPCODE);
  verna_cmd_add_flow add{};
  add.direction = VERNA_FLOW_SWITCH;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_ADD_FLOW, add).status, VERNA_CMD_NOT_SUPPORTED);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DEL_FLOW, VERNA_FLOW_ID_SWITCH | 1).status,
            VERNA_CMD_NOT_FOUND);
}

TEST_F(SwitchdevCommands, EveryFieldOfSetEswitch) {
  const auto detail = [&](auto change) {
    verna_cmd_set_eswitch command{};
    command.mode = VERNA_ESWITCH_SWITCHDEV;
    const Reply reply = card.driver.execute(VERNA_CMD_SET_ESWITCH, with(command, change));
    EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM);
    return reply.detail;
  };
  EXPECT_EQ(detail([](auto& c) { c.mode = 2; }), offsetof(verna_cmd_set_eswitch, mode));
  EXPECT_EQ(detail([](auto& c) { c.reserved0 = 1; }), offsetof(verna_cmd_set_eswitch, reserved0));
  EXPECT_EQ(detail([](auto& c) { c.queue = 128; }), offsetof(verna_cmd_set_eswitch, queue));
  EXPECT_EQ(detail([](auto& c) { c.reserved1 = 1; }), offsetof(verna_cmd_set_eswitch, reserved1));
  EXPECT_EQ(detail([](auto& c) {
              c.mode = VERNA_ESWITCH_LEGACY;
              c.queue = 1;
            }),
            offsetof(verna_cmd_set_eswitch, queue));
  EXPECT_TRUE(set_group(2, 3).ok()) << "the mode is as it was";
}

TEST_F(SwitchdevCommands, EveryFieldOfSetVportGroup) {
  EXPECT_EQ(set_group(kVfs + 2, 1).status, VERNA_CMD_OK) << "of a VF that is not there";
  EXPECT_EQ(set_group(kVfs + 3, 1).detail, offsetof(verna_cmd_vport_group, vport));
  EXPECT_EQ(set_group(0xffff, 1).detail, offsetof(verna_cmd_vport_group, vport));
  EXPECT_EQ(set_group(0, 1023).status, VERNA_CMD_OK);
  EXPECT_EQ(set_group(0, 1024).detail, offsetof(verna_cmd_vport_group, group));
  verna_cmd_vport_group command{};
  command.reserved = 1;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_VPORT_GROUP, command).detail,
            offsetof(verna_cmd_vport_group, reserved));
}

TEST_F(SwitchdevCommands, EveryFieldOfAddFlow) {
  const auto reply = [&](auto change) {
    return card.driver.execute(VERNA_CMD_ADD_FLOW, with(add_command({2}, Rule().drop()), change));
  };
  EXPECT_EQ(reply([](auto& c) { c.direction = 3; }).status, VERNA_CMD_NOT_SUPPORTED);
  EXPECT_EQ(reply([](auto& c) { c.reserved0 = 1; }).detail,
            offsetof(verna_cmd_add_flow, reserved0));
  EXPECT_EQ(reply([](auto& c) { c.group = 1024; }).detail, offsetof(verna_cmd_add_flow, group));
  EXPECT_EQ(reply([](auto& c) { c.reserved1 = 1; }).detail,
            offsetof(verna_cmd_add_flow, reserved1));
  for (const uint32_t len : {0u, 351u, 353u, 367u, 369u, ~0u})
    EXPECT_EQ(reply([len](auto& c) { c.len = len; }).detail, offsetof(verna_cmd_add_flow, len));
  EXPECT_EQ(reply([](auto& c) { c.replaces = 77; }).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(reply([](auto& c) { c.replaces = VERNA_FLOW_ID_SWITCH; }).status, VERNA_CMD_NOT_FOUND);
  const Reply first = reply([](auto& c) { c.len = sizeof(verna_flow_rule); });
  EXPECT_TRUE(first.ok());
  EXPECT_TRUE(first.result & VERNA_FLOW_ID_SWITCH);
  EXPECT_EQ(reply([](auto&) {}).status, VERNA_CMD_EXISTS);
  EXPECT_TRUE(reply([&](auto& c) { c.replaces = static_cast<uint32_t>(first.result); }).ok());
  card.bus.expect_faults();
  EXPECT_EQ(reply([](auto& c) { c.addr = 0x1000; }).status, VERNA_CMD_DMA_FAULT);
}

TEST_F(SwitchdevCommands, RulesThatMakeNoSense) {
  const auto refused = [&](const Rule& rule, const char* what) {
    const Reply reply = try_add({2, 5}, rule);
    EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM) << what;
    EXPECT_EQ(reply.detail, offsetof(verna_cmd_add_flow, addr)) << what;
  };
  const auto action = [](auto change) {
    Rule rule;
    change(rule.rule.actions);
    return rule;
  };
  refused(Rule().action(VERNA_FLOW_A_QUEUE), "a queue");
  refused(Rule().action(VERNA_FLOW_A_RSS), "an RSS context");
  refused(Rule().action(0x80000000), "an unknown action");
  refused(Rule().drop().trap(), "two destinations");
  refused(Rule().drop().port(1), "two destinations");
  refused(Rule().chain(9).port(1), "two destinations");
  refused(Rule().port(kVfs + 3), "no such vport");
  refused(Rule().port(0xffff), "no such vport");
  refused(Rule().chain(5), "the same chain");
  refused(Rule().chain(0), "down");
  refused(action([](auto& a) { a.vport = 1; }), "a vport without PORT");
  refused(action([](auto& a) { a.chain = 9; }), "a chain without CHAIN");
  refused(action([](auto& a) { a.mark = 9; }), "a mark without MARK");
  refused(Rule().action(VERNA_FLOW_A_MARK), "MARK without a mark");
  refused(action([](auto& a) { a.queue = 1; }), "a queue");
  refused(action([](auto& a) { a.rss_context = 1; }), "a context");
  refused(action([](auto& a) { a.reserved0 = 1; }), "reserved");
  refused(action([](auto& a) { a.reserved[6] = 1; }), "reserved");
  refused(action([](auto& a) { a.meter = 1; }), "a meter without METER");
  refused(action([](auto& a) { a.edit = 1; }), "an edit without EDIT");
  const auto match = [](auto change) {
    Rule rule;
    change(rule);
    return rule;
  };
  refused(match([](Rule& r) { r.rule.key.sport = 5; }), "outside of the mask");
  refused(match([](Rule& r) { r.rule.mask.meta = 1; }), "meta");
  refused(match([](Rule& r) { r.rule.mask.reserved1[15] = 1; }), "reserved");
  refused(match([](Rule& r) { r.rule.mask.flags = 0x20; }), "a flag");
  refused(match([](Rule& r) { r.rule.mask.tun_id = 1; }), "a tunnel without kind");
  refused(match([](Rule& r) { r.rule.mask.tun_kind = 0xff; }), "no tunnel");
  refused(match([](Rule& r) { r.sport = {5, 4}; }), "a range");
  refused(match([](Rule& r) { r.dport = {0, 4}; }), "a range");
  refused(match([](Rule& r) { r.reserved = 1; }), "reserved");
}

TEST_F(SwitchdevCommands, AsManyMasksAndTablesAsThereMayBe) {
  const auto masked = [](uint32_t bits) {
    Rule rule = Rule().drop();
    std::memcpy(&rule.rule.mask.flow_label, &bits, sizeof bits);
    return rule;
  };
  for (uint32_t i = 0; i < VERNA_FLOW_MAX_MASKS; i++) add({2}, masked(i));
  EXPECT_EQ(try_add({2}, masked(VERNA_FLOW_MAX_MASKS)).status, VERNA_CMD_NO_RESOURCE);
  for (uint32_t i = 1; i < 1024; i++) ASSERT_TRUE(set_miss({3, i}, VERNA_FLOW_MISS_DROP).ok()) << i;
  EXPECT_EQ(set_miss({3, 1024}, VERNA_FLOW_MISS_DROP).status, VERNA_CMD_NO_RESOURCE);
  EXPECT_EQ(try_add({4}, Rule().drop()).status, VERNA_CMD_NO_RESOURCE);
  EXPECT_TRUE(set_miss({3, 7}, VERNA_FLOW_MISS_PASS).ok());
  EXPECT_TRUE(try_add({4}, Rule().drop()).ok());
}

TEST_F(SwitchdevCommands, EveryFieldOfSetFlowMiss) {
  EXPECT_EQ(set_miss({2}, 4).detail, offsetof(verna_cmd_flow_miss, miss));
  EXPECT_EQ(set_miss({1024}, 1).detail, offsetof(verna_cmd_flow_miss, group));
  EXPECT_EQ(set_miss({2}, VERNA_FLOW_MISS_DROP, 1).detail, offsetof(verna_cmd_flow_miss, to_chain));
  EXPECT_EQ(set_miss({2, 7}, VERNA_FLOW_MISS_CHAIN, 7).detail,
            offsetof(verna_cmd_flow_miss, to_chain));
  verna_cmd_flow_miss command{};
  command.direction = VERNA_FLOW_SWITCH;
  command.reserved = 1;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_FLOW_MISS, command).detail,
            offsetof(verna_cmd_flow_miss, reserved));
  command.reserved = 0;
  command.direction = 3;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_FLOW_MISS, command).status, VERNA_CMD_NOT_SUPPORTED);
}

TEST_F(SwitchdevCommands, SteeringAndSwitchDoNotMeet) {
  verna_cmd_add_flow command = add_command({}, Rule().drop());
  command.direction = VERNA_FLOW_RX;
  const Reply steering = card.driver.execute(VERNA_CMD_ADD_FLOW, command);
  ASSERT_TRUE(steering.ok());
  EXPECT_FALSE(steering.result & VERNA_FLOW_ID_SWITCH);
  const uint32_t rule = add({2}, Rule().drop());
  const auto other = static_cast<uint32_t>(steering.result) | VERNA_FLOW_ID_SWITCH;
  if (other != rule)
    EXPECT_EQ(card.driver.object(VERNA_CMD_DEL_FLOW, other).status, VERNA_CMD_NOT_FOUND);
  command.replaces = rule;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_ADD_FLOW, command).status, VERNA_CMD_NOT_FOUND);
  legacy();
  const auto id = static_cast<uint32_t>(steering.result);
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DEL_FLOW, id).ok()) << "steering has its own rules";
}

TEST_F(SwitchdevCommands, QueriesWriteWhatThereIsRoomFor) {
  const uint32_t rule = add({2}, Rule().drop());
  const auto reply = [&](auto change) {
    verna_cmd_query query{};
    query.id = rule;
    query.addr = card.bus.alloc(64, "statistics");
    query.len = 8;
    return card.driver.execute(VERNA_CMD_QUERY_FLOW, with(query, change));
  };
  EXPECT_EQ(reply([](auto&) {}).result, 8u);
  EXPECT_EQ(reply([](auto& q) { q.len = 0; }).result, 0u);
  EXPECT_EQ(reply([](auto& q) { q.group = 1; }).detail, offsetof(verna_cmd_query, group));
  EXPECT_EQ(reply([](auto& q) { q.reserved = 1; }).detail, offsetof(verna_cmd_query, reserved));
  card.bus.expect_faults();
  EXPECT_EQ(reply([](auto& q) { q.addr = 0x1000; }).status, VERNA_CMD_DMA_FAULT);
}

}  // namespace
}  // namespace verna::test
