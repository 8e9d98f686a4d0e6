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

bool host_send(HostQueuePort& port, const uint8_t* frame, size_t len) {
  const iovec piece = {const_cast<uint8_t*>(frame), len};
  return port.host_rx(&piece, 1, 0);
}

TEST(HostQueuePort, FramesPassBothWays) {
  HostQueuePort port(true, 64);
  const std::vector<uint8_t> frame(100, 0x5a);
  ASSERT_TRUE(host_send(port, frame.data(), frame.size()));
  const RxFrame got = port.rx_peek();
  ASSERT_EQ(got.len, 100u);
  EXPECT_EQ(std::memcmp(got.data, frame.data(), 100), 0);
  port.rx_release();
  EXPECT_EQ(port.rx_peek().data, nullptr);

  EXPECT_FALSE(port.host_wanted());
  ASSERT_TRUE(card_send(port, 7, 60));
  EXPECT_TRUE(port.host_wanted());
  const uint8_t* out;
  ASSERT_EQ(port.host_tx_next(&out), 60u);
  EXPECT_EQ(load_le<uint64_t>(out), 7u);
  port.host_tx_done(true);
  EXPECT_EQ(port.host_tx_next(&out), 0u);
  EXPECT_FALSE(port.host_wanted());
}

TEST(HostQueuePort, FrameTooLongForAnyCardArrivesCut) {
  HostQueuePort port(true, 64);
  const std::vector<uint8_t> frame(65000);
  ASSERT_TRUE(host_send(port, frame.data(), frame.size()));
  EXPECT_EQ(port.rx_peek().len, kMaxFrame);
}

TEST(HostQueuePort, EmptyFrameIsNothing) {
  HostQueuePort port(true, 64);
  EXPECT_TRUE(host_send(port, nullptr, 0));
  EXPECT_EQ(port.rx_peek().data, nullptr);
}

TEST(HostQueuePort, RoomIsPromisedOnlyIfALongestFrameFits) {
  HostQueuePort port(true, 64);
  const std::vector<uint8_t> frame(kMaxFrame);
  while (port.host_rx_ready()) ASSERT_TRUE(host_send(port, frame.data(), frame.size()));
  while (port.rx_peek().data) port.rx_release();
  EXPECT_TRUE(port.host_rx_ready());
}

TEST(HostQueuePort, PiecesAreJoinedBehindAHeaderOfTheHost) {
  HostQueuePort port(true, 64);
  std::vector<uint8_t> bytes(100);
  for (size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<uint8_t>(i);
  // However it is cut, also into empty pieces, the frame is what follows the header.
  for (size_t cut = 0; cut <= 100; cut++) {
    const iovec pieces[] = {{bytes.data(), cut}, {nullptr, 0}, {bytes.data() + cut, 100 - cut}};
    for (size_t header : {0u, 12u, 99u}) {
      ASSERT_TRUE(port.host_rx(pieces, 3, header));
      const RxFrame frame = port.rx_peek();
      ASSERT_EQ(frame.len, 100 - header);
      ASSERT_EQ(std::memcmp(frame.data, bytes.data() + header, frame.len), 0);
      port.rx_release();
    }
    EXPECT_TRUE(port.host_rx(pieces, 3, 100)) << "a header alone is nothing";
    EXPECT_TRUE(port.host_rx(pieces, 3, 200));
    ASSERT_EQ(port.rx_peek().data, nullptr);
  }
}

TEST(HostQueuePort, WhoWaitsForRoomIsToldOnce) {
  HostQueuePort port(true, 64);
  const std::vector<uint8_t> frame(kMaxFrame);
  EXPECT_FALSE(port.host_rx_resumes()) << "nobody waits";
  while (port.host_rx_ready()) ASSERT_TRUE(host_send(port, frame.data(), frame.size()));
  EXPECT_FALSE(port.host_wanted());
  EXPECT_FALSE(port.host_rx_resumes());
  while (port.rx_peek().data) port.rx_release();
  EXPECT_TRUE(port.host_wanted());
  EXPECT_TRUE(port.host_rx_resumes());
  EXPECT_FALSE(port.host_wanted());
  EXPECT_FALSE(port.host_rx_resumes());
}

TEST(HostQueuePort, AFrameThatFoundNoRoomWaitsForSome) {
  HostQueuePort port(true, 64);
  const std::vector<uint8_t> frame(1000);
  while (host_send(port, frame.data(), frame.size())) {
  }
  while (port.rx_peek().data) port.rx_release();
  EXPECT_TRUE(port.host_rx_resumes());
}

TEST(HostQueuePort, ABlockedNetworkGetsNothingUntilItResumes) {
  HostQueuePort port(true, 64);
  const uint8_t* out;
  ASSERT_TRUE(card_send(port, 1, 60));
  ASSERT_TRUE(card_send(port, 2, 60));
  ASSERT_EQ(port.host_tx_next(&out), 60u);
  port.host_tx_done(false);
  EXPECT_FALSE(port.host_wanted());
  EXPECT_EQ(port.host_tx_next(&out), 0u);
  port.host_tx_resumes();
  EXPECT_TRUE(port.host_wanted());
  ASSERT_EQ(port.host_tx_next(&out), 60u);
  EXPECT_EQ(load_le<uint64_t>(out), 2u) << "the frame before was taken";
  port.host_tx_done(true);
  EXPECT_EQ(port.host_tx_next(&out), 0u);
}

TEST(HostQueuePort, WithoutANetworkThereIsNoLink) {
  EXPECT_FALSE(HostQueuePort(false, 64).link_up());
}

TEST(HostQueuePort, OnlyASleepingCardIsWoken) {
  HostQueuePort port(true, 64);
  const std::vector<uint8_t> frame(100);
  host_send(port, frame.data(), frame.size());
  EXPECT_FALSE(rung(port));
  EXPECT_FALSE(port.prepare_sleep(false)) << "there is a frame";
  port.rx_peek();
  port.rx_release();
  ASSERT_TRUE(port.prepare_sleep(false));
  ASSERT_TRUE(port.prepare_sleep(false)) << "twice is as once";
  host_send(port, frame.data(), frame.size());
  EXPECT_TRUE(rung(port));
  port.cancel_sleep();
  EXPECT_FALSE(rung(port));
}

TEST(HostQueuePort, RoomWakesACardThatWaitsForIt) {
  HostQueuePort port(true, 64);
  while (card_send(port, 0, 1000)) {
  }
  ASSERT_TRUE(port.prepare_sleep(true));
  const uint8_t* out;
  while (port.host_tx_next(&out)) port.host_tx_done(true);
  EXPECT_TRUE(rung(port));
  port.cancel_sleep();
  EXPECT_TRUE(card_send(port, 1, 1000));
}

TEST(HostQueuePort, LinkChangeWakesTheCard) {
  HostQueuePort port(true, 64);
  EXPECT_TRUE(port.link_up());
  ASSERT_TRUE(port.prepare_sleep(false));
  port.host_set_link(false);
  EXPECT_FALSE(port.link_up());
  EXPECT_TRUE(rung(port));
}

/// The network thread echoes what the card sends; the card sleeps whenever it may.
TEST(HostQueuePort, TwoThreadsLoseNothingAndNeverHang) {
  constexpr uint64_t kFrames = 100000;
  HostQueuePort port(true, 64);
  std::thread network([&] {
    for (uint64_t n = 0; n < kFrames;) {
      const uint8_t* frame;
      const size_t len = port.host_rx_ready() ? port.host_tx_next(&frame) : 0;
      if (!len) {
        std::this_thread::yield();
        continue;
      }
      ASSERT_EQ(load_le<uint64_t>(frame), n);
      ASSERT_TRUE(host_send(port, frame, len));
      port.host_tx_done(true);
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
