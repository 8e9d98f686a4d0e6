// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/host_queue_port.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "base/rng.h"

namespace verna {
namespace {

bool rung(const HostQueuePort& port) {
  pollfd fd;
  return port.poll_fds(&fd, 1) == 1 && poll(&fd, 1, 0) == 1;
}

bool card_send(HostQueuePort& port, uint64_t number, uint32_t len) {
  uint8_t* room = port.tx_reserve(len);
  if (!room) return false;
  store_le<uint64_t>(room, number);
  port.tx_commit(len);
  port.tx_flush();
  return true;
}

TEST(HostQueuePort, FramesPassBothWays) {
  HostQueuePort port(64);
  const std::vector<uint8_t> frame(100, 0x5a);
  ASSERT_TRUE(port.host_rx(frame.data(), frame.size()));
  const RxFrame got = port.rx_peek();
  ASSERT_EQ(got.len, 100u);
  EXPECT_EQ(std::memcmp(got.data, frame.data(), 100), 0);
  port.rx_release();
  EXPECT_EQ(port.rx_peek().data, nullptr);

  EXPECT_FALSE(port.host_tx_pending());
  ASSERT_TRUE(card_send(port, 7, 60));
  EXPECT_TRUE(port.host_tx_pending());
  const uint8_t* out;
  ASSERT_EQ(port.host_tx_peek(&out), 60u);
  EXPECT_EQ(load_le<uint64_t>(out), 7u);
  port.host_tx_pop();
  EXPECT_EQ(port.host_tx_peek(&out), 0u);
  EXPECT_FALSE(port.host_tx_pending());
}

TEST(HostQueuePort, FrameTooLongForAnyCardArrivesCut) {
  HostQueuePort port(64);
  const std::vector<uint8_t> frame(65000);
  ASSERT_TRUE(port.host_rx(frame.data(), frame.size()));
  EXPECT_EQ(port.rx_peek().len, kMaxFrame);
}

TEST(HostQueuePort, EmptyFrameIsNothing) {
  HostQueuePort port(64);
  EXPECT_TRUE(port.host_rx(nullptr, 0));
  EXPECT_EQ(port.rx_peek().data, nullptr);
}

TEST(HostQueuePort, RoomIsPromisedOnlyIfALongestFrameFits) {
  HostQueuePort port(64);
  const std::vector<uint8_t> frame(kMaxFrame);
  while (port.host_rx_room()) ASSERT_TRUE(port.host_rx(frame.data(), frame.size()));
  while (port.rx_peek().data) port.rx_release();
  EXPECT_TRUE(port.host_rx_room());
}

TEST(HostQueuePort, OnlyASleepingCardIsWoken) {
  HostQueuePort port(64);
  const std::vector<uint8_t> frame(100);
  port.host_rx(frame.data(), frame.size());
  EXPECT_FALSE(rung(port));
  EXPECT_FALSE(port.prepare_sleep(false)) << "there is a frame";
  port.rx_peek();
  port.rx_release();
  ASSERT_TRUE(port.prepare_sleep(false));
  ASSERT_TRUE(port.prepare_sleep(false)) << "twice is as once";
  port.host_rx(frame.data(), frame.size());
  EXPECT_TRUE(rung(port));
  port.cancel_sleep();
  EXPECT_FALSE(rung(port));
}

TEST(HostQueuePort, RoomWakesACardThatWaitsForIt) {
  HostQueuePort port(64);
  while (card_send(port, 0, 1000)) {
  }
  ASSERT_TRUE(port.prepare_sleep(true));
  const uint8_t* out;
  while (port.host_tx_peek(&out)) port.host_tx_pop();
  EXPECT_TRUE(rung(port));
  port.cancel_sleep();
  EXPECT_TRUE(card_send(port, 1, 1000));
}

TEST(HostQueuePort, LinkChangeWakesTheCard) {
  HostQueuePort port(64);
  EXPECT_TRUE(port.link_up());
  ASSERT_TRUE(port.prepare_sleep(false));
  port.host_set_link(false);
  EXPECT_FALSE(port.link_up());
  EXPECT_TRUE(rung(port));
}

/// The network thread echoes what the card sends; the card sleeps whenever it may.
TEST(HostQueuePort, TwoThreadsLoseNothingAndNeverHang) {
  constexpr uint64_t kFrames = 100000;
  HostQueuePort port(64);
  std::thread network([&] {
    for (uint64_t n = 0; n < kFrames;) {
      const uint8_t* frame;
      const size_t len = port.host_rx_room() ? port.host_tx_peek(&frame) : 0;
      if (!len) {
        std::this_thread::yield();
        continue;
      }
      ASSERT_EQ(load_le<uint64_t>(frame), n);
      ASSERT_TRUE(port.host_rx(frame, len));
      port.host_tx_pop();
      n++;
    }
  });
  Rng rng(3);
  uint64_t sent = 0, received = 0, sleeps = 0;
  while (received < kFrames) {
    bool full = false;
    for (int i = 0; i < 8 && sent < kFrames && !full; i++) {
      full = !card_send(port, sent, 64 + rng.below(1500));
      if (!full) sent++;
    }
    const RxFrame frame = port.rx_peek();
    if (frame.data) {
      ASSERT_EQ(load_le<uint64_t>(frame.data), received++);
      port.rx_release();
    } else if ((full || sent == kFrames) && port.prepare_sleep(full)) {
      pollfd fd;
      ASSERT_EQ(port.poll_fds(&fd, 1), 1u);
      ASSERT_EQ(poll(&fd, 1, 10000), 1) << "a wake-up was lost";
      port.cancel_sleep();
      sleeps++;
    }
  }
  network.join();
}

}  // namespace
}  // namespace verna
