// SPDX-License-Identifier: GPL-2.0-or-later
// SET_VPORT and QUERY_VPORT: every field, right and wrong, and what it does.
#include "functions/switch_rig.h"

namespace verna::test {
namespace {

struct VportCommandsTest : SwitchRig {
  verna_vport_state query(FunctionId fn) {
    const uint64_t addr = card.bus.alloc(sizeof(verna_vport_state), "vport");
    verna_cmd_query command{};
    command.addr = addr;
    command.len = sizeof(verna_vport_state);
    const Reply reply = card.driver.execute_for(fn, VERNA_CMD_QUERY_VPORT, command);
    EXPECT_EQ(reply.status, VERNA_CMD_OK);
    EXPECT_EQ(reply.result, sizeof(verna_vport_state));
    verna_vport_state state;
    std::memcpy(&state, card.bus.ptr(addr, sizeof state), sizeof state);
    return state;
  }
  Reply set_link(FunctionId fn, uint8_t link) {
    verna_cmd_set_vport command{};
    command.fields = VERNA_VPORT_SET_LINK;
    command.link = link;
    return set_vport(fn, command);
  }
  void expect_bad(const verna_cmd_set_vport& command, size_t field, const char* what) {
    const verna_vport_state before = query(1);
    const Reply reply = set_vport(1, command);
    EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM) << what;
    EXPECT_EQ(reply.detail, field) << what;
    const verna_vport_state after = query(1);
    EXPECT_EQ(std::memcmp(&before, &after, sizeof before), 0) << what;
  }
};

#define VPORT_FIELD(field) offsetof(verna_cmd_set_vport, field), #field

TEST_F(VportCommandsTest, EveryBadField) {
  verna_cmd_set_vport c{};
  c.fields = VERNA_VPORT_SET_ALL + 1;
  expect_bad(c, VPORT_FIELD(fields));
  c = {};
  c.fields = VERNA_VPORT_SET_MAC;
  expect_bad(c, VPORT_FIELD(mac));  // zero
  c.mac[0] = 1;
  expect_bad(c, VPORT_FIELD(mac));  // a group
  c.fields = 0;
  c.mac[0] = 2;
  expect_bad(c, VPORT_FIELD(mac));  // not asked for
  c = {};
  c.fields = VERNA_VPORT_SET_VLAN;
  c.vlan = 4095;
  expect_bad(c, VPORT_FIELD(vlan));
  c.vlan = 5;
  c.qos = 8;
  expect_bad(c, VPORT_FIELD(qos));
  c.vlan = 0;
  c.qos = 1;
  expect_bad(c, VPORT_FIELD(qos));
  c = {};
  c.vlan = 1;
  expect_bad(c, VPORT_FIELD(vlan));
  c = {};
  c.qos = 1;
  expect_bad(c, VPORT_FIELD(qos));
  c = {};
  c.spoof_check = 1;
  expect_bad(c, VPORT_FIELD(spoof_check));
  c.fields = VERNA_VPORT_SET_SPOOF_CHECK;
  c.spoof_check = 2;
  expect_bad(c, VPORT_FIELD(spoof_check));
  c = {};
  c.trust = 1;
  expect_bad(c, VPORT_FIELD(trust));
  c.fields = VERNA_VPORT_SET_TRUST;
  c.trust = 2;
  expect_bad(c, VPORT_FIELD(trust));
  c = {};
  c.link = 1;
  expect_bad(c, VPORT_FIELD(link));
  c.fields = VERNA_VPORT_SET_LINK;
  c.link = 3;
  expect_bad(c, VPORT_FIELD(link));
  c = {};
  c.max_kbps = 1;
  expect_bad(c, VPORT_FIELD(max_kbps));
  c = {};
  c.min_kbps = 1;
  expect_bad(c, VPORT_FIELD(min_kbps));
  c.fields = VERNA_VPORT_SET_RATE | VERNA_VPORT_SET_MIN_RATE;
  c.max_kbps = 10;
  c.min_kbps = 11;
  expect_bad(c, VPORT_FIELD(min_kbps));
  // One field is wrong, so that none is set.
  c = {};
  c.fields = VERNA_VPORT_SET_VLAN | VERNA_VPORT_SET_TRUST;
  c.vlan = 5;
  c.trust = 2;
  expect_bad(c, VPORT_FIELD(trust));
}

TEST_F(VportCommandsTest, OnlyVfsThatCanExist) {
  const verna_cmd_set_vport set{};
  const verna_cmd_query get{};
  for (const FunctionId fn : {0, kVfs + 2, 0xffff}) {
    EXPECT_EQ(card.driver.execute_for(fn, VERNA_CMD_SET_VPORT, set).status, VERNA_CMD_BAD_FUNCTION);
    EXPECT_EQ(card.driver.execute_for(fn, VERNA_CMD_QUERY_VPORT, get).status,
              VERNA_CMD_BAD_FUNCTION);
  }
  struct Unknown {
    verna_cmd_hdr hdr;
  };
  EXPECT_EQ(card.driver.execute_for(1, 0x0404, Unknown{}).status, VERNA_CMD_BAD_OPCODE);
}

TEST_F(VportCommandsTest, BadQueries) {
  const auto query_with = [&](auto change) {
    verna_cmd_query command{};
    change(command);
    return card.driver.execute_for(1, VERNA_CMD_QUERY_VPORT, command);
  };
  EXPECT_EQ(query_with([](auto& c) { c.id = 1; }).detail, offsetof(verna_cmd_query, id));
  EXPECT_EQ(query_with([](auto& c) { c.group = 1; }).detail, offsetof(verna_cmd_query, group));
  EXPECT_EQ(query_with([](auto& c) { c.reserved = 1; }).detail,
            offsetof(verna_cmd_query, reserved));
  EXPECT_EQ(query_with([](auto&) {}).result, 0u);
  card.bus.expect_faults();
  const Reply fault = query_with([](auto& c) { c.len = 16, c.addr = 64; });
  EXPECT_EQ(fault.status, VERNA_CMD_DMA_FAULT);
  EXPECT_EQ(fault.detail, offsetof(verna_cmd_query, addr));
}

TEST_F(VportCommandsTest, WhatWasSetIsShown) {
  verna_vport_state state = query(1);
  EXPECT_TRUE(std::equal(state.mac, state.mac + 6, card.vfs[0].mac));
  EXPECT_EQ(state.vlan, 0u);
  EXPECT_EQ(state.spoof_check, 1u);
  EXPECT_EQ(state.trust, 0u);
  EXPECT_EQ(state.link, VERNA_VPORT_LINK_AUTO);
  EXPECT_EQ(state.enabled, 1u);
  EXPECT_EQ(state.link_up, 1u);
  EXPECT_EQ(query(kVfs + 1).enabled, 0u);
  verna_cmd_set_vport c{};
  c.fields = VERNA_VPORT_SET_ALL;
  const uint8_t mac[6] = {2, 7, 7, 7, 7, 7};
  std::copy_n(mac, 6, c.mac);
  c.vlan = 77;
  c.qos = 6;
  c.spoof_check = 0;
  c.trust = 1;
  c.link = VERNA_VPORT_LINK_DOWN;
  c.max_kbps = 123'456;
  c.min_kbps = 65'432;
  ASSERT_TRUE(set_vport(1, c).ok());
  state = query(1);
  EXPECT_TRUE(std::equal(state.mac, state.mac + 6, mac));
  EXPECT_EQ(state.vlan, 77u);
  EXPECT_EQ(state.qos, 6u);
  EXPECT_EQ(state.spoof_check, 0u);
  EXPECT_EQ(state.trust, 1u);
  EXPECT_EQ(state.link, VERNA_VPORT_LINK_DOWN);
  EXPECT_EQ(state.max_kbps, 123'456u);
  EXPECT_EQ(state.min_kbps, 65'432u);
  EXPECT_EQ(state.link_up, 0u);
  EXPECT_EQ(query(2).vlan, 0u) << "the others' are theirs";
  card.vfs[0].reset();
  EXPECT_EQ(query(1).vlan, 77u) << "a reset of the VF changes nothing";
  card.set_num_vfs(0);
  EXPECT_EQ(query(1).vlan, 77u) << "nor does its absence";
}

TEST_F(VportCommandsTest, TheLeastRateIsNotAboveTheMost) {
  verna_cmd_set_vport c{};
  c.fields = VERNA_VPORT_SET_MIN_RATE;
  c.min_kbps = 500;
  ASSERT_TRUE(set_vport(1, c).ok()) << "without a limit";
  c = {};
  c.fields = VERNA_VPORT_SET_RATE;
  c.max_kbps = 499;
  EXPECT_EQ(set_vport(1, c).detail, offsetof(verna_cmd_set_vport, max_kbps));
  c.max_kbps = 500;
  ASSERT_TRUE(set_vport(1, c).ok());
  c = {};
  c.fields = VERNA_VPORT_SET_MIN_RATE;
  c.min_kbps = 501;
  EXPECT_EQ(set_vport(1, c).detail, offsetof(verna_cmd_set_vport, min_kbps));
  EXPECT_EQ(query(1).min_kbps, 500u);
  card.reset();
  pf.bring_up();
  EXPECT_EQ(query(1).min_kbps, 0u);
}

TEST_F(VportCommandsTest, AnAddressIsOneVports) {
  verna_cmd_set_vport c{};
  c.fields = VERNA_VPORT_SET_MAC;
  std::copy_n(card.vfs[1].mac, 6, c.mac);
  EXPECT_EQ(set_vport(1, c).status, VERNA_CMD_EXISTS);
  std::copy_n(card.mac, 6, c.mac);
  EXPECT_EQ(set_vport(1, c).status, VERNA_CMD_EXISTS) << "the PF's";
  std::copy_n(card.vfs[3].mac, 6, c.mac);
  EXPECT_EQ(set_vport(1, c).status, VERNA_CMD_EXISTS) << "one that is not there yet";
  ASSERT_TRUE(set_vlan(1, 5).ok());
  ASSERT_TRUE(set_vlan(2, 6).ok());
  std::copy_n(card.vfs[1].mac, 6, c.mac);
  EXPECT_TRUE(set_vport(1, c).ok()) << "where they never meet";
  EXPECT_EQ(set_vlan(1, 6).status, VERNA_CMD_EXISTS);
}

TEST_F(VportCommandsTest, ANewAddress) {
  verna_cmd_set_vport c{};
  c.fields = VERNA_VPORT_SET_MAC;
  const uint8_t mac[6] = {2, 7, 7, 7, 7, 7};
  std::copy_n(mac, 6, c.mac);
  ASSERT_TRUE(set_vport(1, c).ok());
  EXPECT_EQ(vf1.driver.reg(VERNA_REG_MAC_LO), 0x07070702u);
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_drop_spoof), 1u) << "the old one is not its own any more";
  const Bytes frame = ethernet_frame(mac, peer.mac, 0x88b5, pattern(80, 1));
  inject(frame);
  settle();
  EXPECT_EQ(vf1.received(), std::vector<Bytes>{frame});
  inject(ethernet_frame(card.vfs[0].mac, peer.mac, 0x88b5, pattern(80, 1)));
  settle();
  expect_silence();
}

TEST_F(VportCommandsTest, SpoofCheckOff) {
  verna_cmd_set_vport c{};
  c.fields = VERNA_VPORT_SET_SPOOF_CHECK;
  ASSERT_TRUE(set_vport(1, c).ok());
  const uint8_t guest[6] = {2, 8, 8, 8, 8, 8};
  vf1.send(ethernet_frame(vf2.address.mac, guest, 0x88b5, pattern(80, 1)));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u);
  ASSERT_TRUE(vf1.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC).ok());
  vf2.send(vf2.frame_to(guest));
  settle();
  EXPECT_EQ(vf1.received().size(), 1u) << "it was learned where that station is";
  expect_silence();
}

TEST_F(VportCommandsTest, LinkStates) {
  EXPECT_TRUE(vf1.link_up());
  ASSERT_TRUE(set_link(1, VERNA_VPORT_LINK_DOWN).ok());
  settle();
  EXPECT_FALSE(vf1.link_up());
  EXPECT_TRUE(vf2.link_up());
  verna_eqe eqe;
  ASSERT_TRUE(vf1.driver.take_event(vf1.driver.eq0, &eqe));
  EXPECT_EQ(eqe.type, VERNA_EVENT_LINK);
  EXPECT_EQ(eqe.function, 1u);
  vf1.send(vf1.frame_to(vf2.address.mac));
  vf2.send(vf2.frame_to(vf1.address.mac));
  settle();
  EXPECT_EQ(card.vfs[0].counters().eth[VERNA_ETH_tx_drop_link_down], 1u);
  EXPECT_EQ(vport(3, VERNA_VPORT_tx_drop_nobody), 1u);
  expect_silence();

  card.set_link(false);
  ASSERT_TRUE(set_link(1, VERNA_VPORT_LINK_UP).ok());
  ASSERT_TRUE(set_link(2, VERNA_VPORT_LINK_UP).ok());
  settle();
  EXPECT_TRUE(vf1.link_up());
  EXPECT_FALSE(vf3.link_up());
  EXPECT_FALSE(pf.link_up());
  vf1.send(vf1.frame_to(vf2.address.mac));
  vf1.send(vf1.frame_to(peer.mac));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u) << "neighbours need no wire";
  EXPECT_EQ(card.port_counter(VERNA_PORT_tx_drop_link_down), 1u);
  card.set_link(true);
  settle();
  EXPECT_TRUE(vf3.link_up());
}

TEST_F(VportCommandsTest, ARateForAllThatAVfSends) {
  verna_cmd_set_vport c{};
  c.fields = VERNA_VPORT_SET_RATE;
  c.max_kbps = 80'000;  // a frame of 1000 bytes each 100 us
  ASSERT_TRUE(set_vport(1, c).ok());
  EthQueue* second = vf1.driver.create_txq(1, vf1.tx_cq, 8);
  const uint64_t addr = vf1.bus.alloc(1000, "frame");
  vf1.bus.fill(addr, vf1.frame_to(peer.mac, 1000));
  const auto frames_in = [&](Nanos span) {
    for (EthQueue* queue : {vf1.txq, second}) {
      for (int i = 0; i < 200; i++) vf1.driver.post_tx(queue, addr, 1000);
      vf1.driver.publish(&queue->wq);
    }
    const uint64_t before = vport(2, VERNA_VPORT_tx_frames);
    const Nanos end = world.clock.now + span;
    while (world.clock.now < end) {
      world.run_for(kMilli);
      (void)on_wire();
    }
    return vport(2, VERNA_VPORT_tx_frames) - before;
  };
  // 4 ms of burst, and two queues that share the rate.
  EXPECT_NEAR(static_cast<double>(frames_in(20 * kMilli)), 240, 10);
  EXPECT_NEAR(static_cast<double>(second->wq.prod), 200, 0);
  vf2.send(vf2.frame_to(peer.mac));
  EXPECT_EQ(on_wire().empty(), false) << "others do not wait";
  c.max_kbps = 0;
  ASSERT_TRUE(set_vport(1, c).ok());
  settle();
  EXPECT_EQ(vport(2, VERNA_VPORT_tx_frames), 400u) << "the rest goes at once";
  (void)on_wire();
  c.max_kbps = 1;
  ASSERT_TRUE(set_vport(1, c).ok());
  card.reset();
  vf1.bring_up();
  EXPECT_EQ(vf1.driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_FATAL, 0u);
  for (int i = 0; i < 50; i++) vf1.send(vf1.frame_to(peer.mac, 1000));
  EXPECT_EQ(on_wire().size(), 50u) << "a reset of the PF forgets the limit";
}

TEST_F(VportCommandsTest, TheRateCountsCopies) {
  verna_cmd_set_vport c{};
  c.fields = VERNA_VPORT_SET_RATE;
  c.max_kbps = 80'000;
  ASSERT_TRUE(set_vport(1, c).ok());
  for (int i = 0; i < 200; i++) vf1.send(vf1.frame_to(kEverybody, 1000));
  world.run_for(20 * kMilli);
  // To the wire and three functions.
  EXPECT_NEAR(static_cast<double>(vport(2, VERNA_VPORT_tx_frames)), 60, 6);
}

TEST_F(VportCommandsTest, ShownToPeople) {
  ASSERT_TRUE(set_vlan(1, 77, 5).ok());
  const std::string all = card.nic->control("vports", 0);
  EXPECT_NE(all.find("\"vport\":0"), std::string::npos) << all;
  EXPECT_NE(all.find("\"vlan\":77,\"qos\":5"), std::string::npos) << all;
  EXPECT_NE(all.find("\"mac\":\"52:57:4e:00:00:01\""), std::string::npos) << all;
  const std::string own = card.nic->control("fn 2 vports", 0);
  EXPECT_NE(own.find("\"vport\":3"), std::string::npos) << own;
  EXPECT_EQ(own.find("\"vport\":2"), std::string::npos) << own;
  EXPECT_NE(card.nic->control("caps", 0).find("\"max_vfs\":4"), std::string::npos);
}

TEST_F(VportCommandsTest, SettingsWaitForTheirVf) {
  ASSERT_TRUE(set_vlan(4, 12).ok());
  card.set_num_vfs(4);
  Station vf4(world, card.vfs[3].driver, card.vfs[3].bus, card.vfs[3]);
  vf4.bring_up();
  const Bytes frame = vf4.frame_to(peer.mac);
  vf4.send(frame);
  EXPECT_EQ(on_wire(), std::vector<Bytes>{tagged(frame, 12)});
}

}  // namespace
}  // namespace verna::test
