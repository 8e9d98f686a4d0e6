// SPDX-License-Identifier: GPL-2.0-or-later
// Link pause: what is a PAUSE frame, how long it stops us, and when we send one.
#include "mac/pause.h"

#include "eth/eth_rig.h"

namespace verna::test {
namespace {

constexpr uint8_t kGroup[6] = {0x01, 0x80, 0xc2, 0, 0, 1};

Bytes pause_frame(uint16_t quanta, const uint8_t (&dmac)[6] = kGroup, uint16_t opcode = 1) {
  const uint8_t smac[6] = {2, 9, 9, 9, 9, 9};
  Bytes data(46);
  data[0] = static_cast<uint8_t>(opcode >> 8);
  data[1] = static_cast<uint8_t>(opcode);
  data[2] = static_cast<uint8_t>(quanta >> 8);
  data[3] = static_cast<uint8_t>(quanta);
  return ethernet_frame(dmac, smac, 0x8808, data);
}

struct Pause : EthRig {
  explicit Pause() { card.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC); }
  void set(uint8_t rx, uint8_t tx) {
    verna_cmd_set_pause cmd{};
    cmd.rx = rx;
    cmd.tx = tx;
    EXPECT_TRUE(card.driver.execute(VERNA_CMD_SET_PAUSE, cmd).ok());
  }
  void inject_now(const Bytes& frame) {
    wire.to_a.send(frame);
    world.run_for(2 * kMicro);
  }
  /// All frames on the wire now.
  std::vector<Bytes> taken() {
    std::vector<Bytes> out;
    for (RxFrame f = wire.b.rx_peek(); f.data; f = wire.b.rx_peek()) {
      out.emplace_back(f.data, f.data + f.len - 4);
      wire.b.rx_release();
    }
    return out;
  }
  /// The time of a PAUSE frame, or -1.
  static int quanta_of(const Bytes& frame) {
    uint16_t quanta;
    const uint8_t nobody[6]{};
    return is_pause_frame(frame.data(), static_cast<uint32_t>(frame.size()), nobody, &quanta)
               ? quanta
               : -1;
  }
};

TEST(PauseTime, IsThatOfTheSpeed) {
  EXPECT_EQ(pause_time(1, 1000), 512u);
  EXPECT_EQ(pause_time(0xffff, 100'000), 335'539u);
  EXPECT_EQ(pause_time(0, 10), 0u);
}

TEST_F(Pause, StopsForTheTimeGivenAndEndsByItself) {
  set(1, 0);
  inject_now(pause_frame(20'000));  // 102.4 us at 100 Gbit/s
  transmit(frame_to(card.mac, 200));
  world.run_for(80 * kMicro);
  EXPECT_TRUE(taken().empty());
  world.run_for(40 * kMicro);
  EXPECT_EQ(taken().size(), 1u);
  EXPECT_EQ(port(VERNA_PORT_rx_pause), 1u);
}

TEST_F(Pause, APauseOfNoTimeEndsIt) {
  set(1, 0);
  inject_now(pause_frame(0xffff));
  transmit(frame_to(card.mac, 200));
  world.run_for(20 * kMicro);
  EXPECT_TRUE(taken().empty());
  inject_now(pause_frame(0));
  world.run_for(10 * kMicro);
  EXPECT_EQ(taken().size(), 1u);
}

TEST_F(Pause, IsCountedButNotObeyedUnlessEnabledAndNeverReachesTheHost) {
  post_buffers({2048, 2048, 2048});
  inject_now(pause_frame(0xffff));
  transmit(frame_to(card.mac, 200));
  world.run_for(20 * kMicro);
  EXPECT_EQ(taken().size(), 1u);
  EXPECT_EQ(port(VERNA_PORT_rx_pause), 1u);
  EXPECT_EQ(port(VERNA_PORT_rx_to_eth), 0u);
  set(1, 0);
  inject_now(pause_frame(0xffff, card.mac));
  EXPECT_EQ(port(VERNA_PORT_rx_pause), 2u) << "to our own address";
  EXPECT_EQ(port(VERNA_PORT_rx_to_eth), 0u);
}

TEST_F(Pause, OnlyAPauseFrameIsOne) {
  set(1, 0);
  post_buffers({2048, 2048, 2048});
  const uint8_t other[6] = {2, 0, 0, 0, 0, 9};
  inject_now(pause_frame(0xffff, other));
  inject_now(pause_frame(0xffff, kGroup, 0x0101));  // priority flow control
  EXPECT_EQ(port(VERNA_PORT_rx_pause), 0u);
  EXPECT_EQ(port(VERNA_PORT_rx_to_eth), 2u);
  transmit(frame_to(card.mac, 200));
  world.run_for(20 * kMicro);
  EXPECT_EQ(taken().size(), 1u);
}

TEST_F(Pause, SwitchingItOffEndsAPause) {
  set(1, 0);
  inject_now(pause_frame(0xffff));
  transmit(frame_to(card.mac, 200));
  set(0, 0);
  world.run_for(20 * kMicro);
  EXPECT_EQ(taken().size(), 1u);
}

TEST_F(Pause, APeerThatPausesForEverIsIgnoredNowAndThen) {
  set(1, 0);
  for (int i = 0; i < 40; i++) transmit(frame_to(card.mac, 200));
  world.run_for(20 * kMicro);
  taken();
  inject_now(pause_frame(0xffff));
  transmit(frame_to(card.mac, 200));
  Nanos first = 0;
  for (const Nanos begin = world.clock.now; world.clock.now < begin + 2 * kSecond;) {
    wire.to_a.send(pause_frame(0xffff));
    world.run_for(300 * kMicro);
    if (!taken().empty() && !first) first = world.clock.now - begin;
  }
  EXPECT_GT(first, PauseReceiver::kLongest - 10 * kMilli) << "obeyed for as long as is bearable";
  EXPECT_LT(first, PauseReceiver::kLongest + 10 * kMilli);
}

TEST_F(Pause, IsSentWhileAQueueIsNearlyEmptyAndTakenBack) {
  set(0, 1);
  post_buffers(std::vector<uint32_t>(9, 2048));  // of 64; an eighth is 8
  inject_now(frame_to(card.mac, 100));
  EXPECT_TRUE(taken().empty());
  inject_now(frame_to(card.mac, 100));
  std::vector<Bytes> frames = taken();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(quanta_of(frames[0]), 0xffff);
  EXPECT_EQ(frames[0].size(), 60u);
  world.run_for(kMilli);
  frames = taken();
  EXPECT_GE(frames.size(), 3u) << "refreshed before it is over, every 335 us";
  for (const Bytes& frame : frames) EXPECT_EQ(quanta_of(frame), 0xffff);
  post_buffers(std::vector<uint32_t>(20, 2048));
  world.run_for(kMilli);
  frames = taken();
  ASSERT_EQ(frames.size(), 1u);
  EXPECT_EQ(quanta_of(frames[0]), 0);
  EXPECT_EQ(port(VERNA_PORT_tx_pause), port(VERNA_PORT_tx_frames));
  world.run_for(10 * kMilli);
  EXPECT_TRUE(taken().empty());
}

TEST_F(Pause, ADeadHostDoesNotStopTheOtherEndForEver) {
  set(0, 1);
  post_buffers({2048, 2048});
  inject_now(frame_to(card.mac, 100));
  int last = -1;
  unsigned count = 0;
  for (Nanos time = 0; time < PauseSender::kLongest + 10 * kMilli; time += 10 * kMilli) {
    world.run_for(10 * kMilli);
    for (const Bytes& frame : taken()) {
      last = quanta_of(frame);
      count++;
    }
  }
  EXPECT_GT(count, 1000u);
  EXPECT_EQ(last, 0);
  world.run_for(100 * kMilli);
  EXPECT_TRUE(taken().empty());
  post_buffers(std::vector<uint32_t>(20, 2048));
  world.run_for(kMilli);
  for (int i = 0; i < 18; i++) inject_now(frame_to(card.mac, 100));
  EXPECT_EQ(taken().size(), 1u) << "the next shortage is a new one";
}

TEST_F(Pause, ItIsOffAfterAReset) {
  set(1, 1);
  inject_now(pause_frame(0xffff));
  card.reset();
  card.driver.bring_up();
  EthQueue* queue = card.driver.create_txq(0, card.driver.create_cq(8), 6);
  taken();
  const Bytes frame = frame_to(card.mac, 100);
  card.driver.post_tx(queue, buffer(frame), 100);
  card.driver.publish(&queue->wq);
  inject_now(pause_frame(0xffff));
  world.run_for(20 * kMicro);
  EXPECT_EQ(taken().size(), 1u);
}

}  // namespace
}  // namespace verna::test
