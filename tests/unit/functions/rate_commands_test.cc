// SPDX-License-Identifier: GPL-2.0-or-later
// Rate nodes: every command, right and wrong, what they do to what VFs send, and resets.
#include "functions/switch_rig.h"
#include "hw/verna_rate.h"

namespace verna::test {
namespace {

struct RateCommandsTest : SwitchRig {
  static verna_cmd_rate_node node(uint32_t fields = 0, uint32_t max_kbps = 0, uint16_t parent = 0) {
    verna_cmd_rate_node command{};
    command.fields = fields;
    command.max_kbps = max_kbps;
    command.parent = parent;
    return command;
  }
  Reply create(const verna_cmd_rate_node& command) {
    return card.driver.execute(VERNA_CMD_CREATE_RATE_NODE, command);
  }
  Reply modify(uint32_t id, verna_cmd_rate_node command) {
    command.id = id;
    return card.driver.execute(VERNA_CMD_MODIFY_RATE_NODE, command);
  }
  Reply destroy(uint32_t id) { return card.driver.object(VERNA_CMD_DESTROY_RATE_NODE, id); }
  uint16_t create_below(uint16_t parent, uint32_t max_kbps = 0) {
    const Reply reply = create(node(VERNA_RATE_SET_MAX | VERNA_RATE_SET_PARENT, max_kbps, parent));
    EXPECT_TRUE(reply.ok());
    return static_cast<uint16_t>(reply.result);
  }
  Reply set_parent(FunctionId fn, uint16_t parent) {
    verna_cmd_set_vport command{};
    command.fields = VERNA_VPORT_SET_RATE_PARENT;
    command.rate_parent = parent;
    return set_vport(fn, command);
  }

  template <typename State>
  State query(FunctionId fn, verna_cmd_opcode opcode, uint32_t id) {
    const uint64_t addr = card.bus.alloc(sizeof(State), "state");
    verna_cmd_query command{};
    command.addr = addr;
    command.len = sizeof(State);
    command.id = id;
    const Reply reply = card.driver.execute_for(fn, opcode, command);
    EXPECT_EQ(reply.status, VERNA_CMD_OK);
    EXPECT_EQ(reply.result, sizeof(State));
    State state;
    std::memcpy(&state, card.bus.ptr(addr, sizeof state), sizeof state);
    return state;
  }
  verna_rate_node_state state(uint32_t id) {
    return query<verna_rate_node_state>(0, VERNA_CMD_QUERY_RATE_NODE, id);
  }
  verna_vport_state leaf(FunctionId fn) {
    return query<verna_vport_state>(fn, VERNA_CMD_QUERY_VPORT, 0);
  }
  Reply query_status(uint32_t id) {
    verna_cmd_query command{};
    command.id = id;
    return card.driver.execute(VERNA_CMD_QUERY_RATE_NODE, command);
  }

  /// Frames of 1000 bytes that they have sent in `span`, of 250 that each would.
  uint64_t frames_of(std::initializer_list<Station*> senders, Nanos span = 20 * kMilli) {
    uint64_t before = 0, after = 0;
    for (Station* s : senders) {
      const uint64_t addr = s->bus.alloc(1000, "frame");
      s->bus.fill(addr, s->frame_to(peer.mac, 1000));
      for (int i = 0; i < 250; i++) s->driver.post_tx(s->txq, addr, 1000);
      s->driver.publish(&s->txq->wq);
      before += sent_by(*s);
    }
    const Nanos end = world.clock.now + span;
    while (world.clock.now < end) {
      world.run_for(kMilli);
      (void)on_wire();
      for (Station* s : senders) (void)s->received();
    }
    for (Station* s : senders) after += sent_by(*s);
    return after - before;
  }
  uint64_t sent_by(const Station& s) const {
    const auto fn = static_cast<uint16_t>(&s == &vf1 ? 1 : &s == &vf2 ? 2 : 3);
    return vport(static_cast<uint16_t>(fn + 1), VERNA_VPORT_tx_frames);
  }
};

TEST_F(RateCommandsTest, CapabilitiesTellOfThem) {
  const std::string caps = card.nic->control("caps", 0);
  EXPECT_NE(caps.find("\"max_rate_nodes\":128,\"max_rate_levels\":4"), std::string::npos) << caps;
}

TEST_F(RateCommandsTest, WhatWasSetIsShown) {
  verna_cmd_rate_node c = node(VERNA_RATE_SET_ALL, 9000);
  c.min_kbps = 8000;
  c.weight = 1024;
  c.priority = 7;
  ASSERT_EQ(create(c).result, 1u);
  ASSERT_EQ(create(node(VERNA_RATE_SET_PARENT, 0, 1)).result, 2u);
  ASSERT_TRUE(set_parent(3, 1).ok());
  verna_rate_node_state s = state(1);
  EXPECT_EQ(s.max_kbps, 9000u);
  EXPECT_EQ(s.min_kbps, 8000u);
  EXPECT_EQ(s.parent, 0u);
  EXPECT_EQ(s.weight, 1024u);
  EXPECT_EQ(s.priority, 7u);
  EXPECT_EQ(s.children, 2u);
  EXPECT_EQ(s.tx_bytes, 0u);
  s = state(2);
  EXPECT_EQ(s.max_kbps + s.min_kbps + s.priority + s.children, 0u);
  EXPECT_EQ(s.parent, 1u);
  EXPECT_EQ(s.weight, 1u);
  // One field at a time, the others stay.
  c = node(VERNA_RATE_SET_WEIGHT);
  ASSERT_TRUE(modify(1, c).ok());
  s = state(1);
  EXPECT_EQ(s.weight, 1u) << "0 is as at first";
  EXPECT_EQ(s.max_kbps, 9000u);
  EXPECT_EQ(s.priority, 7u);
  EXPECT_EQ(leaf(3).rate_parent, 1u);
}

TEST_F(RateCommandsTest, ALeafHasTheSame) {
  const uint16_t id = create_below(0);
  verna_cmd_set_vport c{};
  c.fields =
      VERNA_VPORT_SET_RATE_PARENT | VERNA_VPORT_SET_RATE_PRIORITY | VERNA_VPORT_SET_RATE_WEIGHT;
  c.rate_parent = id;
  c.rate_priority = 5;
  c.rate_weight = 77;
  verna_vport_state s = leaf(2);
  EXPECT_EQ(s.rate_parent + s.rate_priority, 0u);
  EXPECT_EQ(s.rate_weight, 1u);
  ASSERT_TRUE(set_vport(2, c).ok());
  s = leaf(2);
  EXPECT_EQ(s.rate_parent, id);
  EXPECT_EQ(s.rate_priority, 5u);
  EXPECT_EQ(s.rate_weight, 77u);
  const auto bad = [&](auto change, size_t field) {
    verna_cmd_set_vport wrong{};
    change(wrong);
    const Reply reply = set_vport(2, wrong);
    EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM) << field;
    EXPECT_EQ(reply.detail, field);
  };
  bad([](auto& w) { w.rate_parent = 1; }, offsetof(verna_cmd_set_vport, rate_parent));
  bad([](auto& w) { w.rate_weight = 1; }, offsetof(verna_cmd_set_vport, rate_weight));
  bad([](auto& w) { w.rate_priority = 1; }, offsetof(verna_cmd_set_vport, rate_priority));
  bad([](auto& w) { w.reserved[1] = 1; }, offsetof(verna_cmd_set_vport, reserved));
  bad([](auto& w) { w.fields = VERNA_VPORT_SET_RATE_WEIGHT, w.rate_weight = 1025; },
      offsetof(verna_cmd_set_vport, rate_weight));
  bad([](auto& w) { w.fields = VERNA_VPORT_SET_RATE_PRIORITY, w.rate_priority = 8; },
      offsetof(verna_cmd_set_vport, rate_priority));
  // An unknown parent; the VLAN beside it is not set either.
  bad(
      [](auto& w) {
        w.fields = VERNA_VPORT_SET_RATE_PARENT | VERNA_VPORT_SET_VLAN;
        w.rate_parent = 9;
        w.vlan = 5;
      },
      offsetof(verna_cmd_set_vport, rate_parent));
  const verna_vport_state after = leaf(2);
  EXPECT_EQ(std::memcmp(&s, &after, sizeof s), 0);
}

TEST_F(RateCommandsTest, EveryBadField) {
  const uint16_t id = create_below(0, 1000);
  const verna_rate_node_state before = state(id);
  const auto bad = [&](auto change, size_t field) {
    verna_cmd_rate_node wrong{};
    change(wrong);
    for (const Reply& reply : {create(wrong), modify(id, wrong)}) {
      EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM) << field;
      EXPECT_EQ(reply.detail, field);
    }
  };
  bad([](auto& w) { w.fields = VERNA_RATE_SET_ALL + 1; }, offsetof(verna_cmd_rate_node, fields));
  bad([](auto& w) { w.max_kbps = 1; }, offsetof(verna_cmd_rate_node, max_kbps));
  bad([](auto& w) { w.min_kbps = 1; }, offsetof(verna_cmd_rate_node, min_kbps));
  bad([](auto& w) { w.parent = 1; }, offsetof(verna_cmd_rate_node, parent));
  bad([](auto& w) { w.weight = 1; }, offsetof(verna_cmd_rate_node, weight));
  bad([](auto& w) { w.priority = 1; }, offsetof(verna_cmd_rate_node, priority));
  bad([](auto& w) { w.reserved[2] = 1; }, offsetof(verna_cmd_rate_node, reserved));
  bad([](auto& w) { w.fields = VERNA_RATE_SET_WEIGHT, w.weight = 1025; },
      offsetof(verna_cmd_rate_node, weight));
  bad([](auto& w) { w.fields = VERNA_RATE_SET_PRIORITY, w.priority = 8; },
      offsetof(verna_cmd_rate_node, priority));
  bad([](auto& w) { w.fields = VERNA_RATE_SET_PARENT, w.parent = 129; },
      offsetof(verna_cmd_rate_node, parent));
  bad(
      [](auto& w) {
        w.fields = VERNA_RATE_SET_MIN | VERNA_RATE_SET_MAX;
        w.min_kbps = 11;
        w.max_kbps = 10;
      },
      offsetof(verna_cmd_rate_node, min_kbps));
  verna_cmd_rate_node c = node();
  c.id = 1;
  EXPECT_EQ(create(c).detail, offsetof(verna_cmd_rate_node, id));
  // Against what was set before.
  c = node(VERNA_RATE_SET_MIN);
  c.min_kbps = 1001;
  EXPECT_EQ(modify(id, c).detail, offsetof(verna_cmd_rate_node, min_kbps));
  const verna_rate_node_state after = state(id);
  EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0);
  c.min_kbps = 900;
  ASSERT_TRUE(modify(id, c).ok());
  EXPECT_EQ(modify(id, node(VERNA_RATE_SET_MAX, 899)).detail,
            offsetof(verna_cmd_rate_node, max_kbps));
  EXPECT_TRUE(modify(id, node(VERNA_RATE_SET_MAX, 0)).ok());
  EXPECT_EQ(create(node()).result, id + 1u) << "no node was made by what was refused";
}

TEST_F(RateCommandsTest, TheTreeStaysATree) {
  EXPECT_EQ(modify(1, node()).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(destroy(1).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(destroy(0x10001).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(query_status(1).status, VERNA_CMD_NOT_FOUND);
  uint16_t chain[4];
  for (int i = 0; i < 4; i++) chain[i] = create_below(i ? chain[i - 1] : uint16_t{0});
  const auto below = [](uint16_t parent) { return node(VERNA_RATE_SET_PARENT, 0, parent); };
  Reply reply = create(below(chain[3]));
  EXPECT_EQ(reply.status, VERNA_CMD_NO_RESOURCE);
  EXPECT_EQ(reply.detail, offsetof(verna_cmd_rate_node, parent));
  EXPECT_EQ(modify(chain[1], below(chain[1])).status, VERNA_CMD_BAD_STATE);
  EXPECT_EQ(modify(chain[0], below(chain[3])).status, VERNA_CMD_BAD_STATE);
  const uint16_t other = create_below(0);
  reply = modify(chain[0], below(other));
  EXPECT_EQ(reply.status, VERNA_CMD_NO_RESOURCE);
  EXPECT_EQ(reply.detail, offsetof(verna_cmd_rate_node, parent));
  EXPECT_EQ(destroy(chain[2]).status, VERNA_CMD_BUSY);
  ASSERT_TRUE(set_parent(4, chain[3]).ok()) << "a VF that is not there";
  EXPECT_EQ(destroy(chain[3]).status, VERNA_CMD_BUSY);
  ASSERT_TRUE(set_parent(4, 0).ok());
  EXPECT_TRUE(destroy(chain[3]).ok());
  EXPECT_TRUE(destroy(chain[2]).ok());
  verna_cmd_object object{};
  object.id = chain[1];
  object.reserved = 1;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_DESTROY_RATE_NODE, object).detail,
            offsetof(verna_cmd_object, reserved));
  for (uint32_t count = 3; count < 128; count++) ASSERT_TRUE(create(node()).ok()) << count;
  reply = create(node());
  EXPECT_EQ(reply.status, VERNA_CMD_NO_RESOURCE);
  EXPECT_EQ(reply.detail, 0u);
}

TEST_F(RateCommandsTest, BadQueries) {
  const uint16_t id = create_below(0);
  const auto ask = [&](auto change) {
    verna_cmd_query command{};
    command.id = id;
    change(command);
    return card.driver.execute(VERNA_CMD_QUERY_RATE_NODE, command);
  };
  EXPECT_EQ(ask([](auto& c) { c.group = 1; }).detail, offsetof(verna_cmd_query, group));
  EXPECT_EQ(ask([](auto& c) { c.reserved = 1; }).detail, offsetof(verna_cmd_query, reserved));
  EXPECT_EQ(ask([](auto&) {}).result, 0u);
  card.bus.expect_faults();
  EXPECT_EQ(ask([](auto& c) { c.len = 16, c.addr = 64; }).status, VERNA_CMD_DMA_FAULT);
}

TEST_F(RateCommandsTest, OnlyThePfAndOnlyWithVfs) {
  for (const verna_cmd_opcode opcode : {VERNA_CMD_CREATE_RATE_NODE, VERNA_CMD_MODIFY_RATE_NODE,
                                        VERNA_CMD_DESTROY_RATE_NODE, VERNA_CMD_QUERY_RATE_NODE}) {
    EXPECT_EQ(vf1.driver.object(opcode, 0).status, VERNA_CMD_BAD_FUNCTION);
    EXPECT_EQ(card.driver.execute_for(1, opcode, verna_cmd_object{}).status,
              VERNA_CMD_BAD_FUNCTION);
  }
  World other;
  Wire cable{other.clock};
  TestCard plain(other, cable.a, 2, with_vfs(0));
  plain.driver.bring_up();
  EXPECT_EQ(plain.driver.execute(VERNA_CMD_CREATE_RATE_NODE, node()).status, VERNA_CMD_BAD_OPCODE);
  EXPECT_EQ(plain.nic->control("rates", 0).find("\"error\""), 1u);
}

TEST_F(RateCommandsTest, ANodeHoldsTwoVfsTogether) {
  // A frame of 1000 bytes each 100 us, and 4 ms of burst.
  const uint16_t id = create_below(0, 80'000);
  ASSERT_TRUE(set_parent(1, id).ok());
  ASSERT_TRUE(set_parent(2, id).ok());
  EXPECT_NEAR(static_cast<double>(frames_of({&vf1, &vf2})), 240, 10);
  const uint64_t each[] = {sent_by(vf1), sent_by(vf2)};
  EXPECT_NEAR(static_cast<double>(each[0]), static_cast<double>(each[1]), 20);
  EXPECT_EQ(state(id).tx_bytes, 1000 * (each[0] + each[1]));
  EXPECT_EQ(frames_of({&vf3}, kMilli), 250u) << "others do not wait";
  ASSERT_TRUE(set_parent(2, 0).ok());
  settle();
  EXPECT_EQ(sent_by(vf2), 250u) << "what waited goes at once";
  ASSERT_TRUE(modify(id, node(VERNA_RATE_SET_MAX, 0)).ok());
  settle();
  EXPECT_EQ(sent_by(vf1), 250u);
}

TEST_F(RateCommandsTest, SettingsStayOverResetsOfTheVfAndItsAbsence) {
  const uint16_t id = create_below(0, 80'000);
  ASSERT_TRUE(set_parent(1, id).ok());
  (void)frames_of({&vf1}, 5 * kMilli);
  card.vfs[0].reset();
  EXPECT_EQ(leaf(1).rate_parent, id);
  vf1.bring_up();
  EXPECT_NEAR(static_cast<double>(frames_of({&vf1})), 200, 45) << "the burst is partly used up";
  card.set_num_vfs(0);
  EXPECT_EQ(leaf(1).rate_parent, id);
  EXPECT_EQ(destroy(id).status, VERNA_CMD_BUSY);
  card.set_num_vfs(kVfs);
  EXPECT_EQ(leaf(1).rate_parent, id);
  EXPECT_EQ(state(id).children, 1u);
}

TEST_F(RateCommandsTest, AModeOfTheSwitchChangesNothing) {
  const uint16_t id = create_below(0, 80'000);
  ASSERT_TRUE(set_parent(1, id).ok());
  verna_cmd_set_eswitch command{};
  command.mode = VERNA_ESWITCH_SWITCHDEV;
  ASSERT_TRUE(card.driver.execute(VERNA_CMD_SET_ESWITCH, command).ok());
  EXPECT_EQ(leaf(1).rate_parent, id);
  EXPECT_EQ(state(id).max_kbps, 80'000u);
}

TEST_F(RateCommandsTest, AResetOfThePfEndsTheTree) {
  const uint16_t top = create_below(0, 1);
  const uint16_t id = create_below(top, 1);
  ASSERT_TRUE(set_parent(1, id).ok());
  ASSERT_TRUE(set_parent(2, top).ok());
  (void)frames_of({&vf1, &vf2}, 5 * kMilli);
  card.reset();
  pf.bring_up();
  EXPECT_EQ(query_status(top).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(query_status(id).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(leaf(1).rate_parent, 0u);
  EXPECT_EQ(leaf(1).rate_weight, 1u);
  vf1.bring_up();
  for (int i = 0; i < 50; i++) vf1.send(vf1.frame_to(peer.mac, 1000));
  EXPECT_EQ(on_wire().size(), 50u) << "nothing holds it";
  EXPECT_EQ(create(node()).result, 1u);
}

TEST_F(RateCommandsTest, ShownToPeople) {
  const uint16_t id = create_below(0, 80'000);
  ASSERT_TRUE(set_parent(1, id).ok());
  vf1.send(vf1.frame_to(peer.mac, 1000));
  settle();
  const std::string all = card.nic->control("rates", 0);
  EXPECT_NE(all.find("{\"node\":1,\"parent\":0,\"max_kbps\":80000,\"min_kbps\":0,\"priority\":0,"
                     "\"weight\":1,\"tx_bytes\":1000,\"held\":false,\"children\":1}"),
            std::string::npos)
      << all;
  EXPECT_NE(all.find("{\"vport\":2,\"parent\":1,\"max_kbps\":0"), std::string::npos) << all;
  EXPECT_NE(all.find("{\"vport\":5,\"parent\":0"), std::string::npos) << all;
  EXPECT_EQ(card.nic->control("fn 2 rates", 0).find("{\"error\""), 0u);
  (void)on_wire();
}

}  // namespace
}  // namespace verna::test
