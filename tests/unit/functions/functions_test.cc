// SPDX-License-Identifier: GPL-2.0-or-later
// Functions come, go and are reset, and none reaches into another.
#include <map>

#include "functions/switch_rig.h"
#include "vswitch/bridge.h"

namespace verna::test {
namespace {

using Functions = SwitchRig;

TEST_F(Functions, EachKnowsItself) {
  EXPECT_EQ(pf.driver.reg(VERNA_REG_FUNCTION), 0u);
  EXPECT_EQ(vf1.driver.reg(VERNA_REG_FUNCTION), 1u);
  EXPECT_EQ(vf3.driver.reg(VERNA_REG_FUNCTION), 3u);
  EXPECT_EQ(vf1.driver.reg(VERNA_REG_NUM_VECTORS), NicConfig().vf_vectors);
  EXPECT_EQ(vf1.driver.reg(VERNA_REG_NUM_UARS), NicConfig().vf_uars);
  uint8_t mac[8];
  store_le<uint32_t>(mac, vf2.driver.reg(VERNA_REG_MAC_LO));
  store_le<uint32_t>(mac + 4, vf2.driver.reg(VERNA_REG_MAC_HI));
  EXPECT_TRUE(std::equal(mac, mac + 6, vf2.address.mac));
  EXPECT_EQ(card.vfs[3].driver.reg(VERNA_REG_MAGIC), ~0u) << "not there";
  card.vfs[3].driver.set_reg(VERNA_REG_CONTROL, VERNA_CONTROL_RESET);
  card.vfs[3].driver.set_reg(VERNA_REG_TEST_IRQ, 0);
  card.vfs[3].ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 0));
  settle();
  EXPECT_EQ(card.vfs[3].bus.total_interrupts(), 0u);
}

/// Capability blocks of a function by type.
std::map<uint16_t, uint32_t> blocks(MiniDriver& driver) {
  std::map<uint16_t, uint32_t> found;
  for (uint32_t at = driver.reg(VERNA_REG_CAPS_OFFSET); at != 0;) {
    found[static_cast<uint16_t>(driver.reg(at))] = at;
    at = driver.reg(at + 4) >> 16;
  }
  return found;
}

TEST_F(Functions, CapabilitiesAreTheFunctions) {
  const auto of_pf = blocks(pf.driver);
  const auto of_vf = blocks(vf1.driver);
  ASSERT_TRUE(of_pf.contains(VERNA_CAP_VPORT));
  EXPECT_FALSE(of_vf.contains(VERNA_CAP_VPORT));
  const uint32_t vports = of_pf.at(VERNA_CAP_VPORT);
  EXPECT_EQ(pf.driver.reg(vports + offsetof(verna_cap_vport, fields)), VERNA_VPORT_SET_ALL);
  EXPECT_EQ(pf.driver.reg(vports + offsetof(verna_cap_vport, max_vfs)) & 0xffff, kVfs + 1u);
  const auto functions = [&](Station& s) {
    return s.driver.reg(blocks(s.driver).at(VERNA_CAP_DEV) +
                        offsetof(verna_cap_dev, num_functions));
  };
  EXPECT_EQ(functions(pf), kVfs + 2u);
  EXPECT_EQ(functions(vf1), 1u);
  const uint32_t eth = of_vf.at(VERNA_CAP_ETH);
  const uint32_t features = vf1.driver.reg(eth + offsetof(verna_cap_eth, features));
  EXPECT_FALSE(features & (VERNA_ETH_F_PAUSE | VERNA_ETH_F_TX_CLASSES));
  EXPECT_TRUE(features & VERNA_ETH_F_TX_RATE);
}

TEST(FunctionsOff, ACardWithoutVfsSaysNothingOfThem) {
  World world;
  Wire wire(world.clock);
  TestCard card(world, wire.a, 1);
  world.add(&wire);
  card.driver.bring_up();
  EXPECT_FALSE(blocks(card.driver).contains(VERNA_CAP_VPORT));
  EXPECT_EQ(card.driver.reg(blocks(card.driver).at(VERNA_CAP_DEV) +
                            offsetof(verna_cap_dev, num_functions)),
            1u);
  verna_cmd_set_vport command{};
  EXPECT_EQ(card.driver.execute_for(1, VERNA_CMD_SET_VPORT, command).status, VERNA_CMD_BAD_OPCODE);
  verna_cmd_query query{};
  query.group = VERNA_COUNTERS_VPORT;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_COUNTERS, query).status, VERNA_CMD_BAD_PARAM);
  card.set_num_vfs(3);
  EXPECT_EQ(card.nic->read_register(1, VERNA_REG_MAGIC, world.clock.now), ~0u);
}

TEST(ManyFunctions, SixtyFour) {
  World world;
  Wire wire(world.clock);
  TestCard card(world, wire.a, 1, with_vfs(64));
  world.add(&wire);
  card.set_num_vfs(64);
  TestVf& first = card.vfs.front();
  TestVf& last = card.vfs.back();
  Station a(world, first.driver, first.bus, first);
  Station b(world, last.driver, last.bus, last);
  a.bring_up();
  b.bring_up();
  EXPECT_EQ(last.driver.reg(VERNA_REG_FUNCTION), 64u);
  a.send(a.frame_to(last.mac));
  b.send(b.frame_to(first.mac));
  b.send(b.frame_to(kEverybody));
  world.settle();
  EXPECT_EQ(a.received().size(), 2u);
  EXPECT_EQ(b.received().size(), 1u);
  EXPECT_EQ(card.vport_counter(last.vport(), VERNA_VPORT_tx_copies), 64u);
  EXPECT_EQ(card.vfs[30].counters().port[VERNA_PORT_rx_drop_disabled], 1u);
  EXPECT_EQ(card.check_switch(), "");
  card.set_num_vfs(1);
  a.send(a.frame_to(last.mac));
  world.settle();
  EXPECT_EQ(card.vport_counter(first.vport(), VERNA_VPORT_tx_drop_nobody), 1u);
}

TEST(FunctionsOff, TooMany) {
  World world;
  Wire wire(world.clock);
  FakeHostBus bus;
  NicConfig config;
  config.num_vfs = 65;
  EXPECT_EQ(Nic(config, bus, wire.a, Rng(1)).start(), "num_vfs is 65, must be 0 to 64");
}

TEST_F(Functions, CommandsActOnTheirOwnFunction) {
  const auto as = [&](Station& s, FunctionId fn) {
    struct Nop {
      verna_cmd_hdr hdr;
    };
    return s.driver.execute_for(fn, VERNA_CMD_NOP, Nop{}).status;
  };
  EXPECT_EQ(as(vf1, 1), VERNA_CMD_OK);
  EXPECT_EQ(as(vf1, 0), VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(as(vf1, 2), VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(as(pf, 1), VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(as(pf, 0), VERNA_CMD_OK);
}

TEST_F(Functions, WhatIsThePfsIsRefusedToOthers) {
  const auto refused = [&](uint16_t opcode, auto command) {
    for (const FunctionId fn : {FunctionId{0}, FunctionId{1}, FunctionId{2}})
      EXPECT_EQ(vf1.driver.execute_for(fn, opcode, command).status, VERNA_CMD_BAD_FUNCTION)
          << opcode << " for " << fn;
  };
  refused(VERNA_CMD_SET_PAUSE, verna_cmd_set_pause{});
  refused(VERNA_CMD_SET_TX_CLASSES, verna_cmd_set_tx_classes{});
  refused(VERNA_CMD_SET_VPORT, verna_cmd_set_vport{});
  refused(VERNA_CMD_QUERY_VPORT, verna_cmd_query{});
}

TEST_F(Functions, AVfHasOneClassAndItsQueuesAreEqual) {
  verna_cmd_modify_txq command{};
  command.weight = 1;
  command.rate_kbps = 1000;
  EXPECT_TRUE(vf1.driver.execute(VERNA_CMD_MODIFY_TXQ, command).ok());
  command.tclass = 1;
  Reply reply = vf1.driver.execute(VERNA_CMD_MODIFY_TXQ, command);
  EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(reply.detail, offsetof(verna_cmd_modify_txq, tclass));
  command.tclass = 0;
  command.weight = 2;
  reply = vf1.driver.execute(VERNA_CMD_MODIFY_TXQ, command);
  EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(reply.detail, offsetof(verna_cmd_modify_txq, weight));
}

TEST_F(Functions, CountersOfOthersAreNotShown) {
  const auto query = [&](Station& s, uint32_t group, uint32_t id) {
    verna_cmd_query command{};
    command.group = group;
    command.id = id;
    return s.driver.execute(VERNA_CMD_QUERY_COUNTERS, command).status;
  };
  EXPECT_EQ(query(vf1, VERNA_COUNTERS_VPORT, 2), VERNA_CMD_OK);
  for (const uint32_t other : {0u, 1u, 3u, 4u, 99u})
    EXPECT_EQ(query(vf1, VERNA_COUNTERS_VPORT, other), VERNA_CMD_NOT_FOUND) << other;
  for (uint32_t vport = 0; vport <= kVfs + 2; vport++)
    EXPECT_EQ(query(pf, VERNA_COUNTERS_VPORT, vport), VERNA_CMD_OK) << vport;
  EXPECT_EQ(query(pf, VERNA_COUNTERS_VPORT, kVfs + 3), VERNA_CMD_NOT_FOUND);
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(pf.driver.counters(VERNA_COUNTERS_VPORT, 2)[VERNA_VPORT_tx_frames], 1u);
  EXPECT_EQ(vf2.driver.counters(VERNA_COUNTERS_VPORT, 3)[VERNA_VPORT_rx_frames], 1u);
  EXPECT_EQ(pf.driver.counters(VERNA_COUNTERS_VPORT, 2).size(), VERNA_VPORT_NUM_COUNTERS);
}

TEST_F(Functions, QueuesAndDoorbellsAreTheirOwners) {
  // All have TX queue 0 on page 1, so that a doorbell that went astray would ring.
  const uint64_t addr = vf2.bus.alloc(100, "frame");
  vf2.bus.fill(addr, vf2.frame_to(peer.mac));
  vf2.driver.post_tx(vf2.txq, addr, 100);
  world.settle(10 * kMilli);
  vf2.txq->mem.store<uint32_t>(offsetof(verna_wq_rec, prod_index), vf2.txq->wq.prod);
  const uint64_t bad = card.vfs[0].counters().dev[VERNA_DEV_bad_doorbells];
  card.vfs[0].ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 0));
  card.vfs[0].ring_doorbell(2, VERNA_DB(VERNA_DB_TXQ, 0));
  card.vfs[0].ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 5));
  EXPECT_EQ(on_wire().size(), 0u);
  EXPECT_EQ(card.vfs[0].counters().dev[VERNA_DEV_bad_doorbells], bad + 2);
  card.vfs[1].ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 0));
  EXPECT_EQ(on_wire().size(), 1u);
  // Numbers name the function's own objects: there is no queue 1, whoever has one.
  RingHandle* cq = pf.driver.create_cq(4);
  pf.driver.create_txq(1, cq, 4);
  EXPECT_EQ(vf1.driver.object(VERNA_CMD_DESTROY_TXQ, 1).status, VERNA_CMD_NOT_FOUND);
}

TEST_F(Functions, OneThatRingsWithoutEndDoesNotDrownOthers) {
  for (int i = 0; i < 5000; i++) card.vfs[0].ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 9));
  vf2.send(vf2.frame_to(vf3.address.mac));
  settle();
  EXPECT_EQ(vf3.received().size(), 1u);
}

TEST_F(Functions, AddressesAreAskedForAtTheSwitch) {
  const uint8_t own[6] = {2, 7, 7, 7, 7, 1};
  EXPECT_EQ(vf1.driver.set_mac(VERNA_CMD_ADD_MAC, own).status, VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(vf1.driver.set_mac(VERNA_CMD_DEL_MAC, own).status, VERNA_CMD_NOT_FOUND)
      << "a command that fails has changed nothing";
  verna_cmd_set_vport trust{};
  trust.fields = VERNA_VPORT_SET_TRUST;
  trust.trust = 1;
  ASSERT_TRUE(set_vport(1, trust).ok());
  ASSERT_TRUE(vf1.driver.set_mac(VERNA_CMD_ADD_MAC, own).ok());
  EXPECT_EQ(vf1.driver.set_mac(VERNA_CMD_ADD_MAC, own).status, VERNA_CMD_EXISTS);
  EXPECT_EQ(pf.driver.set_mac(VERNA_CMD_ADD_MAC, own).status, VERNA_CMD_EXISTS);
  inject(ethernet_frame(own, peer.mac, 0x88b5, pattern(80, 1)));
  settle();
  EXPECT_EQ(vf1.received().size(), 1u);
  trust.trust = 0;
  ASSERT_TRUE(set_vport(1, trust).ok());
  inject(ethernet_frame(own, peer.mac, 0x88b5, pattern(80, 1)));
  settle();
  expect_silence();
  trust.trust = 1;
  ASSERT_TRUE(set_vport(1, trust).ok());
  inject(ethernet_frame(own, peer.mac, 0x88b5, pattern(80, 1)));
  settle();
  EXPECT_EQ(vf1.received().size(), 1u) << "what it asked for before counts again";
  for (uint32_t i = 1; i < Bridge::kMaxAddresses; i++) {
    const uint8_t group[6] = {0x33, 0x33, 0, 0, 1, static_cast<uint8_t>(i)};
    ASSERT_TRUE(vf1.driver.set_mac(VERNA_CMD_ADD_MAC, group).ok()) << i;
  }
  const uint8_t one_more[6] = {0x33, 0x33, 0, 0, 2, 0};
  EXPECT_EQ(vf1.driver.set_mac(VERNA_CMD_ADD_MAC, one_more).status, VERNA_CMD_NO_RESOURCE);
}

TEST_F(Functions, AResetLeavesOthersAlone) {
  const uint8_t group[6] = {0x33, 0x33, 0, 0, 0, 7};
  ASSERT_TRUE(vf2.driver.set_mac(VERNA_CMD_ADD_MAC, group).ok());
  for (int i = 0; i < 20; i++) {
    vf1.send(vf1.frame_to(vf2.address.mac, 500, i));
    vf1.send(vf1.frame_to(vf3.address.mac, 500, i));
    vf3.send(vf3.frame_to(pf.address.mac, 500, i));
    vf2.send(vf2.frame_to(peer.mac, 500, i));
  }
  world.run_for(300);
  card.vfs[1].reset();
  const unsigned interrupts = vf2.bus.total_interrupts();
  const uint64_t memory = vf2.bus.hash();
  settle();
  EXPECT_EQ(vf2.bus.hash(), memory) << "no DMA after a reset";
  EXPECT_EQ(vf2.bus.total_interrupts(), interrupts);
  EXPECT_FALSE(vf2.driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_AQ_ENABLED);
  EXPECT_EQ(vf3.received().size(), 20u);
  EXPECT_EQ(pf.received().size(), 20u);
  EXPECT_EQ(card.vfs[1].counters().dev[VERNA_DEV_resets], 2u) << "as it came, and now";
  EXPECT_EQ(card.vfs[2].counters().dev[VERNA_DEV_resets], 1u);
  (void)on_wire();
  vf1.send(vf1.frame_to(group));
  vf2.bring_up();
  settle();
  EXPECT_EQ(vf2.received().size(), 0u) << "memberships are gone";
  vf1.send(vf1.frame_to(vf2.address.mac));
  settle();
  EXPECT_EQ(vf2.received().size(), 1u);
  vf2.driver.set_reg(VERNA_REG_CONTROL, VERNA_CONTROL_RESET);
  EXPECT_FALSE(vf2.driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_AQ_ENABLED);
  EXPECT_TRUE(vf1.driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_AQ_ENABLED);
}

TEST_F(Functions, AResetOfThePfIsForAll) {
  verna_cmd_set_vport command{};
  command.fields = VERNA_VPORT_SET_MAC | VERNA_VPORT_SET_VLAN;
  std::copy_n(card.vfs[1].mac, 6, command.mac);
  command.mac[5] ^= 1;
  command.vlan = 7;
  ASSERT_TRUE(set_vport(1, command).ok());
  for (int i = 0; i < 20; i++) vf3.send(vf3.frame_to(vf2.address.mac, 500, i));
  world.run_for(300);
  card.reset();
  settle();
  for (Station& s : stations) {
    EXPECT_FALSE(s.driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_AQ_ENABLED);
    s.bring_up();
  }
  EXPECT_EQ(vf1.driver.reg(VERNA_REG_MAC_HI) >> 8, card.vfs[0].mac[5]) << "its first address";
  vf1.send(vf1.frame_to(peer.mac));
  const std::vector<Bytes> out = on_wire();
  ASSERT_EQ(out.size(), 1u);
  EXPECT_EQ(out[0], vf1.frame_to(peer.mac)) << "no VLAN any more";
}

TEST_F(Functions, VfsComeAndGoInEveryOrder) {
  const uint16_t counts[] = {0, 1, 4, 2, 3, 0, 4, 1, 9, 0, 3};
  for (const uint16_t count : counts) {
    SCOPED_TRACE(count);
    pf.send(pf.frame_to(kEverybody));
    for (size_t fn = 1; fn < stations.size(); fn++)
      if (stations[fn].driver.reg(VERNA_REG_STATUS) != ~0u &&
          stations[fn].driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_AQ_ENABLED)
        stations[fn].send(stations[fn].frame_to(pf.address.mac));
    world.run_for(500);
    card.set_num_vfs(count);
    settle();
    for (TestVf& vf : card.vfs)
      EXPECT_EQ(vf.driver.reg(VERNA_REG_MAGIC), vf.fn <= count ? VERNA_MAGIC : ~0u) << vf.fn;
    for (size_t fn = 1; fn < stations.size() && fn <= count; fn++)
      if (!(stations[fn].driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_AQ_ENABLED))
        stations[fn].bring_up();
    settle();
    (void)pf.received();
    (void)on_wire();
    const Bytes out = pf.frame_to(peer.mac);
    pf.send(out);
    EXPECT_EQ(on_wire(), std::vector<Bytes>{out});
    if (count == 0) continue;
    vf1.send(vf1.frame_to(pf.address.mac));
    settle();
    EXPECT_EQ(pf.received().size(), 1u);
  }
}

TEST_F(Functions, NothingIsLeftInTheSwitchThatThePfLeaves) {
  ASSERT_TRUE(pf.driver.set_mtu(1000).ok());
  for (int i = 0; i < 40; i++) vf1.send(vf1.frame_to(pf.address.mac, 1400, i));
  vf1.send(vf1.frame_to(pf.address.mac, 100));
  ASSERT_TRUE(world.run_until([&] { return vport(2, VERNA_VPORT_tx_frames) == 41; }));
  card.set_num_vfs(0);
  settle();
  EXPECT_EQ(card.nic->vport_mac_counters().port[VERNA_PORT_rx_drop_oversize], 40u);
  EXPECT_EQ(pf.received().size(), 1u);
  const uint64_t runs = card.dev_counter(VERNA_DEV_engine_runs);
  world.run_for(10 * kMilli);
  EXPECT_LT(card.dev_counter(VERNA_DEV_engine_runs) - runs, 10u) << "the card sleeps";
}

TEST_F(Functions, VfsGoOnWhileThePfIsDown) {
  ASSERT_TRUE(pf.driver.set_rx_mode(0).ok());
  ASSERT_TRUE(pf.driver.object(VERNA_CMD_DESTROY_TXQ, 0).ok());
  ASSERT_TRUE(pf.driver.object(VERNA_CMD_DESTROY_RXQ, 0).ok());
  vf1.send(vf1.frame_to(peer.mac));
  vf1.send(vf1.frame_to(vf2.address.mac));
  EXPECT_EQ(on_wire().size(), 1u);
  EXPECT_EQ(vf2.received().size(), 1u);
  vf1.send(vf1.frame_to(pf.address.mac));
  settle();
  EXPECT_EQ(card.nic->vport_mac_counters().port[VERNA_PORT_rx_drop_disabled], 1u);
}

TEST_F(Functions, AskedByNumber) {
  EXPECT_NE(card.nic->control("fn 2 regs", 0).find("\"FUNCTION\":\"0x00000002\""),
            std::string::npos);
  EXPECT_NE(card.nic->control("regs", 0).find("\"FUNCTION\":\"0x00000000\""), std::string::npos);
  for (const char* nonsense : {"fn 4 regs", "fn 99999 regs", "fn regs", "fn 1", "fn 1regs", "fn "})
    EXPECT_NE(card.nic->control(nonsense, 0).find("\"error\""), std::string::npos) << nonsense;
}

}  // namespace
}  // namespace verna::test
