// SPDX-License-Identifier: GPL-2.0-or-later
// Every field of the commands that make queues and set up Ethernet: a bad value is answered with
// its offset, and nothing is half made.
#include "eth/eth_limits.h"
#include "support/card_test.h"

namespace verna::test {
namespace {

#define BAD(type, field, value) \
  {#field " = " #value, offsetof(type, field), [](type& c) { c.field = value; }}

template <typename T>
struct BadField {
  const char* what;
  size_t offset;
  std::function<void(T&)> change;
};

struct Commands : CardTest {
  Commands() { card.driver.bring_up(); }

  template <typename T>
  void expect_bad(verna_cmd_opcode opcode, const T& good, const std::vector<BadField<T>>& list) {
    for (const BadField<T>& bad : list) {
      T command = good;
      bad.change(command);
      const Reply reply = card.driver.execute(opcode, command);
      EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM) << bad.what;
      EXPECT_EQ(reply.detail, bad.offset) << bad.what;
    }
  }
  uint16_t status(verna_cmd_opcode opcode, uint32_t id) {
    return card.driver.object(opcode, id).status;
  }
  /// Each of the command's DMA accesses fails once: the answer is DMA_FAULT and nothing was made.
  template <typename T>
  void expect_faults_survived(verna_cmd_opcode opcode, const T& command, uint64_t own_accesses) {
    card.bus.expect_faults();
    for (uint64_t n = 1; n <= own_accesses; n++) {
      // The fetch of the command itself comes first.
      T copy = command;
      copy.hdr.opcode = opcode;
      card.driver.post_command(&copy, sizeof copy);
      card.bus.fail_nth(1 + n);
      card.driver.ring_admin_doorbell();
      Reply reply;
      ASSERT_TRUE(world.run_until([&] { return card.driver.take_reply(&reply); })) << n;
      EXPECT_FALSE(card.bus.fail_pending()) << "the command makes fewer accesses than " << n;
      card.bus.fail_nth(0);
      EXPECT_EQ(reply.status, VERNA_CMD_DMA_FAULT) << n;
    }
    card.bus.expect_faults(false);
    EXPECT_TRUE(card.driver.execute(opcode, command).ok());
  }

  verna_cmd_create_eq good_eq() {
    static HostBuffer mem;
    mem = HostBuffer(card.bus, 128 + 32 * 16 + 4096);
    verna_cmd_create_eq c{};
    c.id = 5;
    c.mem = mem.pbl();
    c.ring_offset = 128;
    c.log_size = 4;
    c.vector = 3;
    return c;
  }
  verna_cmd_create_cq good_cq() {
    static HostBuffer mem;
    mem = HostBuffer(card.bus, 128 + 64 * 16 + 4096);
    verna_cmd_create_cq c{};
    c.mem = mem.pbl();
    c.ring_offset = 128;
    c.log_size = 4;
    return c;
  }
  verna_cmd_create_ethq good_ethq(uint32_t cqn) {
    static HostBuffer mem;
    mem = HostBuffer(card.bus, 128 + 32 * 16 + 4096);
    verna_cmd_create_ethq c{};
    c.id = 2;
    c.cqn = cqn;
    c.mem = mem.pbl();
    c.ring_offset = 128;
    c.log_size = 4;
    c.uar = 7;
    return c;
  }
};

template <typename T>
std::vector<BadField<T>> bad_memory() {
  return {
      {"level 3", offsetof(T, mem), [](T& c) { c.mem.level = 3; }},
      {"pbl reserved", offsetof(T, mem), [](T& c) { c.mem.reserved[5] = 1; }},
      {"level 0, offset", offsetof(T, mem), [](T& c) { c.mem.offset = 128; }},
      {"level 0, no page", offsetof(T, mem), [](T& c) { c.mem.num_pages = 0; }},
      {"level 0, wraps", offsetof(T, mem), [](T& c) { c.mem.addr = ~uint64_t{0} - 64; }},
      {"level 1, page shift 0", offsetof(T, mem), [](T& c) { c.mem.level = 1; }},
      {"misaligned record", offsetof(T, rec_offset), [](T& c) { c.rec_offset = 64; }},
      {"misaligned ring", offsetof(T, ring_offset), [](T& c) { c.ring_offset = 128 + 8; }},
  };
}

TEST_F(Commands, CreateEqChecksEveryField) {
  using T = verna_cmd_create_eq;
  const T good = good_eq();
  auto bad = bad_memory<T>();
  bad.insert(bad.end(), {BAD(T, id, 256), BAD(T, id, 0xffffffff), BAD(T, reserved0, 1),
                         BAD(T, log_size, 17), BAD(T, log_size, 255), BAD(T, reserved1, 1),
                         BAD(T, vector, 129), BAD(T, vector, 0xffff), BAD(T, reserved2, 1)});
  expect_bad(VERNA_CMD_CREATE_EQ, good, bad);
  EXPECT_EQ(status(VERNA_CMD_DESTROY_EQ, 5), VERNA_CMD_NOT_FOUND);
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_CREATE_EQ, good).ok());
  EXPECT_EQ(card.driver.execute(VERNA_CMD_CREATE_EQ, good).status, VERNA_CMD_EXISTS);
  EXPECT_EQ(status(VERNA_CMD_DESTROY_EQ, 5), VERNA_CMD_OK);
  EXPECT_EQ(status(VERNA_CMD_DESTROY_EQ, 5), VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(status(VERNA_CMD_DESTROY_EQ, 0xffffffff), VERNA_CMD_NOT_FOUND);
}

TEST_F(Commands, CreateCqChecksEveryField) {
  using T = verna_cmd_create_cq;
  const T good = good_cq();
  auto bad = bad_memory<T>();
  bad.insert(bad.end(),
             {BAD(T, eqn, 1),
              BAD(T, eqn, 0xffffffff),
              BAD(T, reserved0, 1),
              BAD(T, log_size, 19),
              BAD(T, log_size, 255),
              BAD(T, reserved1[0], 1),
              {"reserved1[6]", offsetof(T, reserved1), [](T& c) { c.reserved1[6] = 1; }}});
  expect_bad(VERNA_CMD_CREATE_CQ, good, bad);
  const Reply reply = card.driver.execute(VERNA_CMD_CREATE_CQ, good);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(status(VERNA_CMD_DESTROY_EQ, 0), VERNA_CMD_BUSY);
  const auto cqn = static_cast<uint32_t>(reply.result);
  EXPECT_EQ(status(VERNA_CMD_DESTROY_CQ, cqn), VERNA_CMD_OK);
  EXPECT_EQ(status(VERNA_CMD_DESTROY_CQ, cqn), VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(status(VERNA_CMD_DESTROY_EQ, 0), VERNA_CMD_OK) << "failed commands left a user behind";
}

TEST_F(Commands, ModifyTxqChecksEveryField) {
  using T = verna_cmd_modify_txq;
  card.driver.create_txq(3, card.driver.create_cq(4), 2);
  T good{};
  good.id = 3;
  good.rate_kbps = good.burst_bytes = good.pace_kbps = 0xffffffff;
  good.weight = 1024;
  good.tclass = 7;
  expect_bad<T>(VERNA_CMD_MODIFY_TXQ, good,
                {BAD(T, weight, 0),
                 BAD(T, weight, 1025),
                 BAD(T, weight, 0xffff),
                 BAD(T, tclass, 8),
                 BAD(T, tclass, 255),
                 BAD(T, reserved[0], 1),
                 {"reserved[4]", offsetof(T, reserved), [](T& c) { c.reserved[4] = 1; }}});
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_MODIFY_TXQ, good).ok());
  good.id = 4;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_MODIFY_TXQ, good).status, VERNA_CMD_NOT_FOUND);
  good.id = 0xffffffff;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_MODIFY_TXQ, good).status, VERNA_CMD_NOT_FOUND);
}

TEST_F(Commands, SetTxClassesChecksEveryField) {
  using T = verna_cmd_set_tx_classes;
  T good{};
  good.rdma_class = 7;
  for (int i = 0; i < 8; i++) {
    good.max_kbps[i] = 0xffffffff;
    good.weight[i] = static_cast<uint16_t>(1024 - i);
  }
  expect_bad<T>(VERNA_CMD_SET_TX_CLASSES, good,
                {BAD(T, rdma_class, 8),
                 BAD(T, rdma_class, 255),
                 BAD(T, reserved[0], 1),
                 {"reserved[6]", offsetof(T, reserved), [](T& c) { c.reserved[6] = 1; }},
                 BAD(T, weight[0], 1025),
                 {"weight[7]", offsetof(T, weight), [](T& c) { c.weight[7] = 0xffff; }}});
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_SET_TX_CLASSES, good).ok());
}

TEST_F(Commands, SetPauseChecksEveryField) {
  using T = verna_cmd_set_pause;
  T good{};
  good.rx = good.tx = 1;
  expect_bad<T>(VERNA_CMD_SET_PAUSE, good,
                {BAD(T, rx, 2),
                 BAD(T, tx, 255),
                 BAD(T, reserved[0], 1),
                 {"reserved[5]", offsetof(T, reserved), [](T& c) { c.reserved[5] = 1; }}});
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_SET_PAUSE, good).ok());
}

TEST_F(Commands, ModifyCqChecksEveryField) {
  using T = verna_cmd_modify_cq;
  T good{};
  good.cqn = card.driver.create_cq(2)->id;
  good.delay_ns = VERNA_MAX_CQ_DELAY_NS;
  good.entries = 0xffff;
  expect_bad<T>(VERNA_CMD_MODIFY_CQ, good,
                {BAD(T, delay_ns, VERNA_MAX_CQ_DELAY_NS + 1),
                 BAD(T, delay_ns, 0xffffffff),
                 BAD(T, reserved[0], 1),
                 {"reserved[2]", offsetof(T, reserved), [](T& c) { c.reserved[2] = 1; }}});
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_MODIFY_CQ, good).ok());
  good.cqn++;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_MODIFY_CQ, good).status, VERNA_CMD_NOT_FOUND);
}

TEST_F(Commands, CreateEthernetQueueChecksEveryField) {
  using T = verna_cmd_create_ethq;
  const uint32_t cqn = card.driver.create_cq(4)->id;
  for (bool tx : {true, false}) {
    const T good = good_ethq(cqn);
    const auto create = tx ? VERNA_CMD_CREATE_TXQ : VERNA_CMD_CREATE_RXQ;
    const auto destroy = tx ? VERNA_CMD_DESTROY_TXQ : VERNA_CMD_DESTROY_RXQ;
    auto bad = bad_memory<T>();
    bad.insert(bad.end(), {BAD(T, id, 128),
                           BAD(T, id, 0xffffffff),
                           BAD(T, cqn, 0xffffff),
                           BAD(T, log_size, 15),
                           BAD(T, log_size, 255),
                           BAD(T, reserved[0], 1),
                           {"reserved[2]", offsetof(T, reserved), [](T& c) { c.reserved[2] = 1; }},
                           BAD(T, uar, 1024),
                           BAD(T, uar, 0xffffffff)});
    expect_bad(create, good, bad);
    EXPECT_EQ(status(destroy, 2), VERNA_CMD_NOT_FOUND);
    EXPECT_TRUE(card.driver.execute(create, good).ok());
    EXPECT_EQ(card.driver.execute(create, good).status, VERNA_CMD_EXISTS);
    EXPECT_EQ(status(VERNA_CMD_DESTROY_CQ, cqn), VERNA_CMD_BUSY);
    EXPECT_EQ(status(destroy, 2), VERNA_CMD_OK);
    EXPECT_EQ(status(destroy, 2), VERNA_CMD_NOT_FOUND);
  }
  EXPECT_EQ(status(VERNA_CMD_DESTROY_CQ, cqn), VERNA_CMD_OK);
}

TEST_F(Commands, MemoryThatIsTooSmallIsRefused) {
  HostBuffer mem(card.bus, 4096, {.level = 1});
  verna_cmd_create_cq c = good_cq();
  c.mem = mem.pbl();
  c.log_size = 6;  // 128 + 64 * 64 > 4096
  EXPECT_EQ(card.driver.execute(VERNA_CMD_CREATE_CQ, c).status, VERNA_CMD_BAD_PARAM);
  c.ring_offset = 0xffffffc0;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_CREATE_CQ, c).status, VERNA_CMD_BAD_PARAM);
  c.ring_offset = 128;
  c.rec_offset = 0xffffff80;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_CREATE_CQ, c).status, VERNA_CMD_BAD_PARAM);
}

TEST_F(Commands, FaultsWhileMakingThingsLeaveNothing) {
  HostBuffer mem(card.bus, 128 + 64 * 256, {.level = 2});
  verna_cmd_create_cq cq = good_cq();
  cq.mem = mem.pbl();
  cq.log_size = 8;
  // Level 2 with 5 pages: one table address and one table are read.
  expect_faults_survived(VERNA_CMD_CREATE_CQ, cq, 2);
  EXPECT_EQ(status(VERNA_CMD_DESTROY_EQ, 0), VERNA_CMD_BUSY);
}

TEST_F(Commands, CqNumbersRunOutAndComeBack) {
  World w;
  Wire other(w.clock);
  NicConfig config;
  config.max_cqs = 3;
  TestCard small(w, other.a, 1, config);
  small.driver.bring_up();
  std::vector<RingHandle*> cqs;
  for (int i = 0; i < 3; i++) cqs.push_back(small.driver.create_cq(2));
  HostBuffer mem(small.bus, 4096);
  verna_cmd_create_cq c{};
  c.mem = mem.pbl();
  c.ring_offset = 128;
  c.log_size = 2;
  EXPECT_EQ(small.driver.execute(VERNA_CMD_CREATE_CQ, c).status, VERNA_CMD_NO_RESOURCE);
  EXPECT_TRUE(small.driver.object(VERNA_CMD_DESTROY_CQ, cqs[1]->id).ok());
  EXPECT_TRUE(small.driver.execute(VERNA_CMD_CREATE_CQ, c).ok());
}

TEST_F(Commands, PageAddressesRunOut) {
  World w;
  Wire other(w.clock);
  NicConfig config;
  config.max_pbl_entries = 1024;
  TestCard small(w, other.a, 1, config);
  small.driver.bring_up();
  const auto create = [&](uint32_t pages) {
    HostBuffer mem(small.bus, uint64_t{pages} * 4096, {.level = 1});
    verna_cmd_create_cq c{};
    c.mem = mem.pbl();
    c.ring_offset = 128;
    c.log_size = 2;
    return small.driver.execute(VERNA_CMD_CREATE_CQ, c);
  };
  const Reply first = create(600);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(create(600).status, VERNA_CMD_NO_RESOURCE);
  EXPECT_TRUE(small.driver.object(VERNA_CMD_DESTROY_CQ, static_cast<uint32_t>(first.result)).ok());
  for (int i = 0; i < 20; i++) {
    const Reply again = create(600);
    ASSERT_TRUE(again.ok()) << "page addresses leak";
    small.driver.object(VERNA_CMD_DESTROY_CQ, static_cast<uint32_t>(again.result));
  }
}

TEST_F(Commands, DestroyChecksItsReservedField) {
  for (auto opcode :
       {VERNA_CMD_DESTROY_EQ, VERNA_CMD_DESTROY_CQ, VERNA_CMD_DESTROY_TXQ, VERNA_CMD_DESTROY_RXQ,
        VERNA_CMD_DESTROY_PD, VERNA_CMD_DESTROY_MR, VERNA_CMD_DESTROY_QP}) {
    verna_cmd_object c{};
    c.reserved = 1;
    const Reply reply = card.driver.execute(opcode, c);
    EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM) << opcode;
    EXPECT_EQ(reply.detail, offsetof(verna_cmd_object, reserved)) << opcode;
  }
}

TEST_F(Commands, RxModeAndMtu) {
  verna_cmd_rx_mode mode{};
  expect_bad<verna_cmd_rx_mode>(
      VERNA_CMD_SET_RX_MODE, mode,
      {BAD(verna_cmd_rx_mode, mode, 8), BAD(verna_cmd_rx_mode, mode, 0x80000000),
       BAD(verna_cmd_rx_mode, reserved, 1)});
  verna_cmd_mtu mtu{};
  mtu.mtu = 1500;
  expect_bad<verna_cmd_mtu>(
      VERNA_CMD_SET_MTU, mtu,
      {BAD(verna_cmd_mtu, mtu, 67), BAD(verna_cmd_mtu, mtu, 9601), BAD(verna_cmd_mtu, mtu, 0),
       BAD(verna_cmd_mtu, mtu, 0xffffffff), BAD(verna_cmd_mtu, reserved, 1)});
  EXPECT_TRUE(card.driver.set_mtu(68).ok());
  EXPECT_TRUE(card.driver.set_mtu(9600).ok());
}

TEST_F(Commands, MacFilterLimitsAndErrors) {
  uint8_t mac[6] = {0x02, 0, 0, 0, 0, 0};
  verna_cmd_mac bad{};
  std::memcpy(bad.mac, mac, 6);
  bad.reserved = 1;
  for (auto opcode : {VERNA_CMD_ADD_MAC, VERNA_CMD_DEL_MAC}) {
    const Reply reply = card.driver.execute(opcode, bad);
    EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM);
    EXPECT_EQ(reply.detail, offsetof(verna_cmd_mac, reserved));
  }
  const EthLimits limits;
  unsigned added = 0;
  for (; added < 5000u; added++) {
    mac[4] = static_cast<uint8_t>(added >> 8);
    mac[5] = static_cast<uint8_t>(added);
    mac[0] = 0x06;
    const Reply reply = card.driver.set_mac(VERNA_CMD_ADD_MAC, mac);
    if (!reply.ok()) {
      EXPECT_EQ(reply.status, VERNA_CMD_NO_RESOURCE);
      break;
    }
    EXPECT_EQ(card.driver.set_mac(VERNA_CMD_ADD_MAC, mac).status, VERNA_CMD_EXISTS);
  }
  EXPECT_EQ(added, limits.max_mac_filters);
  EXPECT_EQ(card.driver.set_mac(VERNA_CMD_DEL_MAC, mac).status, VERNA_CMD_NOT_FOUND);
  mac[4] = mac[5] = 0;
  EXPECT_TRUE(card.driver.set_mac(VERNA_CMD_DEL_MAC, mac).ok());
  EXPECT_EQ(card.driver.set_mac(VERNA_CMD_DEL_MAC, mac).status, VERNA_CMD_NOT_FOUND);
  EXPECT_TRUE(card.driver.set_mac(VERNA_CMD_ADD_MAC, mac).ok());
}

verna_cmd_set_rss rss_command(uint64_t table) {
  verna_cmd_set_rss c{};
  c.table_addr = table;
  c.table_len = Rss::kTableSize;
  std::fill(std::begin(c.fields), std::end(c.fields), VERNA_RSS_IPS);
  return c;
}

TEST_F(Commands, SetRssChecksEveryField) {
  const uint64_t table = card.bus.alloc(2 * Rss::kTableSize);
  verna_cmd_set_rss c = rss_command(table);
  expect_bad<verna_cmd_set_rss>(
      VERNA_CMD_SET_RSS, c,
      {BAD(verna_cmd_set_rss, table_len, 511), BAD(verna_cmd_set_rss, table_len, 513),
       BAD(verna_cmd_set_rss, table_len, 0), BAD(verna_cmd_set_rss, context, 64),
       BAD(verna_cmd_set_rss, context, 0xffff), BAD(verna_cmd_set_rss, transform, 3),
       BAD(verna_cmd_set_rss, reserved0, 1), BAD(verna_cmd_set_rss, reserved1, 1)});
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_SET_RSS, c).ok());
  for (const uint8_t fields : {0x20, 0x40, 0x80, 0x04, 0x08, 0x10}) {
    verna_cmd_set_rss bad = c;
    bad.fields[VERNA_RSS_IPV4] = fields;
    EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_RSS, bad).detail,
              offsetof(verna_cmd_set_rss, fields));
  }
  c.transform = VERNA_RSS_SYM_XOR;
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_SET_RSS, c).ok());
  c.fields[VERNA_RSS_TCPV6] = VERNA_RSS_SRC_IP;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_RSS, c).detail, offsetof(verna_cmd_set_rss, fields));
  c = rss_command(table);
  card.bus.store<uint16_t>(table + 2 * 77, EthLimits().max_queues);
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_RSS, c).status, VERNA_CMD_BAD_PARAM)
      << "a queue that cannot exist";
  card.bus.expect_faults();
  c.table_addr = 0x1000;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_SET_RSS, c).status, VERNA_CMD_DMA_FAULT);
}

TEST_F(Commands, RssContextsAreMadeBySetRssAndEndWithDestroy) {
  verna_cmd_set_rss c = rss_command(card.bus.alloc(2 * Rss::kTableSize));
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_RSS, 1).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_RSS, 0).status, VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_RSS, 64).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_RSS, ~0u).status, VERNA_CMD_NOT_FOUND);
  for (uint16_t id = 0; id < RssContexts::kMaxContexts; id++) {
    c.context = id;
    EXPECT_TRUE(card.driver.execute(VERNA_CMD_SET_RSS, c).ok()) << id;
  }
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DESTROY_RSS, 63).ok());
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_RSS, 63).status, VERNA_CMD_NOT_FOUND);
}

TEST_F(Commands, QueryPortTellsTheTruth) {
  const uint64_t addr = card.bus.alloc(64);
  card.driver.set_mtu(2000);
  verna_cmd_query q{};
  q.addr = addr;
  q.len = sizeof(verna_port_state);
  const Reply reply = card.driver.execute(VERNA_CMD_QUERY_PORT, q);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(reply.result, sizeof(verna_port_state));
  verna_port_state state;
  std::memcpy(&state, card.bus.ptr(addr, sizeof state), sizeof state);
  EXPECT_EQ(state.link, 1u);
  EXPECT_EQ(state.speed, 100000u);
  EXPECT_EQ(state.mtu, 2000u);
  EXPECT_EQ(std::memcmp(state.mac, card.mac, 6), 0);
  wire.a.up = false;
  world.run_for(kSecond);
  ASSERT_TRUE(card.driver.execute(VERNA_CMD_QUERY_PORT, q).ok());
  EXPECT_EQ(card.bus.load<uint32_t>(addr), 0u);
}

TEST_F(Commands, QueriesWriteNoMoreThanTheirLength) {
  for (auto opcode : {VERNA_CMD_QUERY_PORT, VERNA_CMD_QUERY_COUNTERS}) {
    for (uint32_t len : {0u, 1u, 7u, 8u, 12u, 31u, 32u}) {
      const uint64_t addr = card.bus.alloc(256);
      card.bus.fill(addr, Bytes(256, 0xa5));
      verna_cmd_query q{};
      q.addr = addr;
      q.len = len;
      q.group = 0;
      const Reply reply = card.driver.execute(opcode, q);
      ASSERT_TRUE(reply.ok());
      EXPECT_LE(reply.result, len);
      for (uint64_t i = reply.result; i < 256; i++) {
        ASSERT_EQ(card.bus.load<uint8_t>(addr + i), 0xa5) << "wrote past what it said";
      }
    }
  }
}

TEST_F(Commands, QueryErrors) {
  verna_cmd_query q{};
  q.addr = card.bus.alloc(4096);
  q.len = 4096;
  q.group = 6;
  Reply reply = card.driver.execute(VERNA_CMD_QUERY_COUNTERS, q);
  EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(reply.detail, offsetof(verna_cmd_query, group));
  q.group = VERNA_COUNTERS_TXQ;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_COUNTERS, q).status, VERNA_CMD_NOT_FOUND);
  q.group = VERNA_COUNTERS_PORT;
  q.id = 1;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_COUNTERS, q).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_QP, q).status, VERNA_CMD_NOT_FOUND);
  q.id = 0;
  q.reserved = 1;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_COUNTERS, q).detail,
            offsetof(verna_cmd_query, reserved));
  q.reserved = 0;
  q.addr = 0x1000;
  card.bus.expect_faults();
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_COUNTERS, q).status, VERNA_CMD_DMA_FAULT);
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_PORT, q).status, VERNA_CMD_DMA_FAULT);
}

TEST_F(Commands, CounterGroupsHaveTheLengthsOfTheContract) {
  EXPECT_EQ(card.driver.counters(VERNA_COUNTERS_PORT).size(), size_t{VERNA_PORT_NUM_COUNTERS});
  EXPECT_EQ(card.driver.counters(VERNA_COUNTERS_ETH).size(), size_t{VERNA_ETH_NUM_COUNTERS});
  EXPECT_EQ(card.driver.counters(VERNA_COUNTERS_RDMA).size(), size_t{VERNA_RDMA_NUM_COUNTERS});
  const auto device = card.driver.counters(VERNA_COUNTERS_DEV);
  ASSERT_EQ(device.size(), size_t{VERNA_DEV_NUM_COUNTERS});
  EXPECT_GT(device[VERNA_DEV_commands], 3u);
}

}  // namespace
}  // namespace verna::test
