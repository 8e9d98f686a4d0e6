// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/fault_port.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

#include "mac/loopback_port.h"
#include "support/crc.h"

namespace verna::test {
namespace {

struct Result {
  std::map<uint32_t, unsigned> received;  // number of the frame -> how often
  std::vector<uint32_t> order;
  unsigned damaged = 0;
  unsigned bad_fcs = 0;
};

/// Sends `count` numbered frames through a faulty port and receives them all.
Result run(const FaultConfig& config, uint32_t count, FaultStats* stats = nullptr) {
  LoopbackPort inner(1 << 20, true);
  FaultPort port(inner, config);
  Result result;
  Nanos now = 0;
  const auto receive = [&] {
    for (RxFrame f = port.rx_peek(); f.data; f = port.rx_peek()) {
      const uint32_t id = load_le<uint32_t>(f.data);
      bool good = f.len == 100;
      for (uint32_t i = 4; good && i < 96; i++) good = f.data[i] == static_cast<uint8_t>(id + i);
      if (load_le<uint32_t>(f.data + 96) != ethernet_fcs(f.data, 96)) result.bad_fcs++;
      if (good && id < count) {
        result.received[id]++;
        result.order.push_back(id);
      } else {
        result.damaged++;
      }
      port.rx_release();
    }
  };
  for (uint32_t id = 0; id < count; id++) {
    uint8_t* room = port.tx_reserve(100);
    EXPECT_NE(room, nullptr);
    if (!room) break;
    store_le(room, id);
    for (uint32_t i = 4; i < 96; i++) room[i] = static_cast<uint8_t>(id + i);
    store_le(room + 96, ethernet_fcs(room, 96));
    port.tx_commit(100);
    port.tx_flush();
    now += 1000;
    port.poll(now);
    receive();
  }
  for (int i = 0; i < 1000; i++) {
    now += 100'000;
    port.poll(now);
    receive();
  }
  if (stats) *stats = port.stats();
  return result;
}

TEST(FaultPort, WithoutFaultsNothingChanges) {
  const Result r = run({}, 2000);
  EXPECT_EQ(r.order.size(), 2000u);
  EXPECT_TRUE(std::is_sorted(r.order.begin(), r.order.end()));
  EXPECT_EQ(r.damaged, 0u);
}

TEST(FaultPort, LosesDuplicatesReordersAndDamagesAtTheRateAsked) {
  FaultStats stats;
  Result r = run({.seed = 5, .loss_ppm = 100'000}, 20000, &stats);
  EXPECT_NEAR(static_cast<double>(r.order.size()), 18000, 300);
  EXPECT_EQ(stats.lost + r.order.size(), 20000u);
  r = run({.seed = 5, .duplicate_ppm = 100'000}, 20000, &stats);
  EXPECT_NEAR(static_cast<double>(r.order.size()), 22000, 300);
  r = run({.seed = 5, .reorder_ppm = 100'000}, 20000, &stats);
  EXPECT_EQ(r.order.size(), 20000u);
  EXPECT_FALSE(std::is_sorted(r.order.begin(), r.order.end()));
  r = run({.seed = 5, .corrupt_ppm = 100'000}, 20000, &stats);
  EXPECT_NEAR(r.damaged, 2000, 300);
  EXPECT_EQ(r.bad_fcs, stats.corrupted);
  r = run({.seed = 5, .corrupt_ppm = 100'000, .repair_fcs = true}, 20000, &stats);
  EXPECT_NEAR(r.damaged, 2000, 300);
  EXPECT_EQ(r.bad_fcs, 0u);
}

TEST(FaultPort, SameSeedSameFaults) {
  const FaultConfig config{.seed = 9,
                           .loss_ppm = 50'000,
                           .duplicate_ppm = 50'000,
                           .reorder_ppm = 50'000,
                           .corrupt_ppm = 50'000,
                           .delay = 5000,
                           .jitter = 3000};
  EXPECT_EQ(run(config, 3000).order, run(config, 3000).order);
  FaultConfig other = config;
  other.seed = 10;
  EXPECT_NE(run(config, 3000).order, run(other, 3000).order);
}

TEST(FaultPort, DelaysAndSaysWhenItWantsToBeCalled) {
  LoopbackPort inner(1 << 20, true);
  FaultPort port(inner, {.delay = 5000});
  port.poll(100);
  uint8_t* room = port.tx_reserve(100);
  ASSERT_NE(room, nullptr);
  std::memset(room, 1, 100);
  port.tx_commit(100);
  port.tx_flush();
  EXPECT_EQ(port.poll(101), 5100u);
  EXPECT_EQ(port.rx_peek().data, nullptr);
  port.poll(5100);
  EXPECT_NE(port.rx_peek().data, nullptr);
}

}  // namespace
}  // namespace verna::test
