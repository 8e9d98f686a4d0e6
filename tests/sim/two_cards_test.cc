// SPDX-License-Identifier: GPL-2.0-or-later
// Two cards and a bad wire in virtual time. Everything follows from the seed.
#include <gtest/gtest.h>

#include <cstdio>
#include <ostream>
#include <string>

#include "sim/flow.h"
#include "sim/pair.h"

namespace verna::test {
namespace {

struct Weather {
  const char* name;
  Impairment how;
};
void PrintTo(const Weather& weather, std::ostream* out) { *out << weather.name; }
const Weather kWeathers[] = {
    {"calm", {}},
    {"loss", {.loss = 0.02}},
    {"duplicates", {.duplicate = 0.05}},
    {"reordering", {.reorder = 0.05}},
    {"corruption", {.corrupt = 0.02}},
    {"silent_corruption", {.corrupt_fixed = 0.02}},
    {"storm",
     {.loss = 0.03, .duplicate = 0.03, .reorder = 0.03, .corrupt = 0.02, .corrupt_fixed = 0.02}},
};

/// Both directions of one connection at once. Returns a hash of everything that happened.
uint64_t run_reliable(const Weather& weather, uint64_t seed, uint32_t mtu, uint32_t operations) {
  Pair pair(seed);
  Connection how;
  how.path_mtu = mtu;
  how.timeout = 9;     // 2 ms
  how.psn = 0xffff00;  // wraps soon
  how.ipv6 = seed % 2 != 0;
  const Pair::Ends ends = pair.connect(VERNA_QP_RC, how);
  pair.wire.impair(weather.how, seed);
  const ReliableFlow::Config config{.seed = seed, .operations = operations, .mtu = mtu};
  ReliableFlow there(pair.a, ends.a, pair.pd_a, pair.b, ends.b, pair.pd_b, config);
  ReliableFlow back(pair.b, ends.b, pair.pd_b, pair.a, ends.a, pair.pd_a, config);
  const bool finished = pair.world.run_until(
      [&] {
        there.step();
        back.step();
        return (there.done() && back.done()) || there.failures() + back.failures() > 0;
      },
      200 * kSecond);
  EXPECT_TRUE(finished) << "not everything completed";
  EXPECT_EQ(there.failures() + back.failures(), 0u);
  pair.world.settle();
  pair.expect_conserved();
  return there.hash() ^ back.hash() * 3 ^ pair.wire.to_a.hash * 5 ^ pair.wire.to_b.hash * 7;
}

struct ReliableTest : testing::TestWithParam<Weather> {};

TEST_P(ReliableTest, EveryByteAndEveryCompletionOnce) {
  for (uint64_t seed = 1; seed <= 4; seed++) {
    const uint32_t mtu = seed % 4 == 0 ? 4096 : 256u << seed % 4;
    SCOPED_TRACE("seed " + std::to_string(seed) + " mtu " + std::to_string(mtu));
    run_reliable(GetParam(), seed, mtu, 150);
    if (testing::Test::HasFailure()) break;
  }
}
INSTANTIATE_TEST_SUITE_P(Weather, ReliableTest, testing::ValuesIn(kWeathers),
                         [](const auto& i) { return std::string(i.param.name); });

TEST(Simulation, TheSameSeedRepeatsEverything) {
  const Weather& storm = kWeathers[std::size(kWeathers) - 1];
  const uint64_t one = run_reliable(storm, 42, 512, 80);
  EXPECT_EQ(run_reliable(storm, 42, 512, 80), one);
  EXPECT_NE(run_reliable(storm, 43, 512, 80), one);
}

TEST(Simulation, ManyConnectionsShareABadWire) {
  Pair pair(5);
  pair.wire.impair(kWeathers[1].how, 5);
  Connection how;
  how.timeout = 9;
  std::deque<ReliableFlow> flows;
  for (uint64_t i = 0; i < 6; i++) {
    const Pair::Ends ends = pair.connect(VERNA_QP_RC, how);
    const ReliableFlow::Config config{.seed = 100 + i, .operations = 60};
    flows.emplace_back(pair.a, ends.a, pair.pd_a, pair.b, ends.b, pair.pd_b, config);
  }
  EXPECT_TRUE(pair.world.run_until(
      [&] {
        bool all = true;
        for (ReliableFlow& flow : flows) {
          flow.step();
          all &= flow.done();
        }
        return all;
      },
      200 * kSecond));
  pair.expect_conserved();
}

TEST(Simulation, ACardTalksToItselfWithoutTheWire) {
  Pair pair(9);
  QpOptions options;
  options.pdn = pair.pd_a;
  MiniDriver& driver = pair.a.driver;
  QueuePair* one = driver.create_qp(options, driver.create_cq(8), driver.create_cq(8));
  QueuePair* two = driver.create_qp(options, driver.create_cq(8), driver.create_cq(8));
  bring_to_rts(pair.a, one, pair.a, two->qpn, {});
  bring_to_rts(pair.a, two, pair.a, one->qpn, {});
  ReliableFlow there(pair.a, one, pair.pd_a, pair.a, two, pair.pd_a, {.seed = 9});
  ReliableFlow back(pair.a, two, pair.pd_a, pair.a, one, pair.pd_a, {.seed = 10});
  EXPECT_TRUE(pair.world.run_until([&] {
    there.step();
    back.step();
    return there.done() && back.done();
  }));
  EXPECT_EQ(pair.a.port_counter(VERNA_PORT_tx_frames), 0u);
  EXPECT_EQ(pair.wire.to_b.sent, 0u);
  pair.expect_conserved();
}

/// One WRITE, READ and SEND of 32 MiB over page lists, with a packet lost now and then.
TEST(Simulation, LargeMessages) {
  constexpr uint32_t kLen = 32u << 20;
  Pair pair(11);
  Connection how;
  how.path_mtu = 4096;
  const Pair::Ends ends = pair.connect(VERNA_QP_RC, how);
  pair.wire.impair({.loss = 0.0005}, 11);
  constexpr uint8_t kRights =
      VERNA_ACCESS_LOCAL_WRITE | VERNA_ACCESS_REMOTE_WRITE | VERNA_ACCESS_REMOTE_READ;
  const BufferShape shape{.level = 2, .offset = 4000};
  Region* local = pair.a.driver.create_mr(pair.pd_a, kLen, kRights, shape);
  Region* remote = pair.b.driver.create_mr(pair.pd_b, kLen, kRights, shape);
  for (uint8_t opcode : {VERNA_WR_RDMA_WRITE, VERNA_WR_RDMA_READ, VERNA_WR_SEND}) {
    const std::vector<uint8_t> data = pattern(kLen, opcode);
    Region* source = opcode == VERNA_WR_RDMA_READ ? remote : local;
    Region* target = opcode == VERNA_WR_RDMA_READ ? local : remote;
    source->mem.write(0, data);
    if (opcode == VERNA_WR_SEND) pair.b.driver.post_recv(ends.b, {remote->sge(0, kLen)});
    SendWr wr;
    wr.opcode = opcode;
    wr.sges = {local->sge(0, kLen)};
    wr.remote_addr = remote->iova;
    wr.rkey = remote->key;
    pair.a.driver.post_send(ends.a, wr);
    verna_cqe cqe{};
    ASSERT_TRUE(pair.world.run_until([&] { return pair.a.driver.poll(ends.a->send_cq, &cqe); },
                                     100 * kSecond));
    EXPECT_EQ(cqe.status, VERNA_CQE_OK) << int{opcode};
    EXPECT_TRUE(target->mem.read(0, kLen) == data) << int{opcode};
  }
  verna_cqe cqe{};
  ASSERT_TRUE(pair.b.driver.poll(ends.b->recv_cq, &cqe));
  EXPECT_EQ(cqe.byte_len, kLen);
  EXPECT_GT(pair.a.rdma_counter(VERNA_RDMA_tx_retransmits), 0u);
  pair.expect_conserved();
}

struct UnreliableTest : testing::TestWithParam<Weather> {};

TEST_P(UnreliableTest, NothingDamagedIsEverDelivered) {
  for (bool datagrams : {false, true}) {
    Pair pair(7);
    pair.wire.impair(GetParam().how, 7);
    Connection how;
    const Pair::Ends ends = pair.connect(datagrams ? VERNA_QP_UD : VERNA_QP_UC, how);
    UnreliableFlow flow(pair.a, ends.a, pair.pd_a, pair.b, ends.b, pair.pd_b,
                        {.seed = 7,
                         .max_len = datagrams ? 3000u : 6000u,
                         .datagrams = datagrams,
                         .ordered = GetParam().how.duplicate + GetParam().how.reorder == 0});
    EXPECT_TRUE(pair.world.run_until(
        [&] {
          flow.step();
          return flow.all_sent();
        },
        100 * kSecond));
    pair.world.run_for(10 * kMilli);
    flow.step();
    const bool calm = GetParam().how.loss + GetParam().how.corrupt + GetParam().how.corrupt_fixed +
                          GetParam().how.reorder + GetParam().how.duplicate ==
                      0;
    if (calm) EXPECT_EQ(flow.received(), 300u);
    EXPECT_GT(flow.received(), 150u) << (datagrams ? "UD" : "UC");
    pair.expect_conserved();
  }
}
INSTANTIATE_TEST_SUITE_P(Weather, UnreliableTest, testing::ValuesIn(kWeathers),
                         [](const auto& i) { return std::string(i.param.name); });

// --- goodput -----------------------------------------------------------------------------------

/// Goodput of a long WRITE stream relative to a link without loss. Window and bandwidth-delay
/// product are 64 packets.
double goodput(double loss, uint64_t seed) {
  constexpr uint32_t kMtu = 1024;
  constexpr uint64_t kRate = 10'000'000'000;
  constexpr uint64_t kFrame = kMtu + 14 + 20 + 8 + 12 + 4;
  constexpr Nanos kPacketTime = kFrame * 8 * kSecond / kRate;
  NicConfig config;
  config.rdma.send_window = 64;
  Pair pair(seed, config);
  Connection how;
  how.path_mtu = kMtu;
  how.timeout = 6;  // 262 us, about four round trips
  const Pair::Ends ends = pair.connect(VERNA_QP_RC, how);
  Impairment data{.loss = loss, .delay = 32 * kPacketTime, .bits_per_second = kRate};
  pair.wire.to_b.impairment = data;
  data.loss = 0;
  pair.wire.to_a.impairment = data;
  pair.wire.to_b.seed(seed);
  // Each packet a message: acknowledged one by one, as the formula assumes.
  constexpr uint32_t kMessage = kMtu;
  Region* local = pair.a.driver.create_mr(pair.pd_a, kMessage, VERNA_ACCESS_LOCAL_WRITE);
  Region* remote = pair.b.driver.create_mr(pair.pd_b, kMessage,
                                           VERNA_ACCESS_LOCAL_WRITE | VERNA_ACCESS_REMOTE_WRITE);
  SendWr wr;
  wr.opcode = VERNA_WR_RDMA_WRITE;
  wr.sges = {local->sge(0, kMessage)};
  wr.remote_addr = remote->iova;
  wr.rkey = remote->key;
  uint64_t done = 0, posted = 0;
  pair.world.round_cost = 50;
  const Nanos start = pair.world.clock.now;
  constexpr uint64_t kMessages = 10000;
  pair.world.run_until(
      [&] {
        verna_cqe cqe;
        while (pair.a.driver.poll(ends.a->send_cq, &cqe)) {
          EXPECT_EQ(cqe.status, VERNA_CQE_OK);
          done++;
        }
        while (posted - done < 100) {
          pair.a.driver.post_send(ends.a, wr);
          posted++;
        }
        return done >= kMessages;
      },
      10 * kSecond);
  const double seconds = static_cast<double>(pair.world.clock.now - start) / 1e9;
  const double bits = static_cast<double>(done * kFrame) * 8;
  return bits / seconds / static_cast<double>(kRate);
}

TEST(Simulation, GoBackNGoodputFollowsTheFormula) {
  constexpr double kBdp = 64;
  for (double p : {0.0, 0.001, 0.005, 0.01, 0.02}) {
    const double measured = goodput(p, 3);
    const double formula = (1 - p) / (1 - p + p * kBdp);
    std::printf("loss %.3f  goodput %.3f  formula %.3f\n", p, measured, formula);
    EXPECT_NEAR(measured / formula, 1, 0.1) << "loss " << p;
  }
}

}  // namespace
}  // namespace verna::test
