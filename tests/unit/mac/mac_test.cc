// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/mac.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "mac/loopback_port.h"
#include "support/crc.h"
#include "support/wire.h"
#include "support/world.h"

namespace verna::test {
namespace {

struct MacTest : testing::Test {
  bool send(size_t len, uint8_t fill = 0x11) {
    uint8_t* room = mac.reserve(static_cast<uint32_t>(len));
    if (!room) return false;
    std::memset(room, fill, len);
    return mac.commit(static_cast<uint32_t>(len));
  }
  uint64_t count(verna_port_counter c) const { return counters.port[c]; }

  ManualClock clock;
  Wire wire{clock};
  Counters counters;
  Trace trace;
  Mac mac{wire.a, counters, trace};
};

TEST_F(MacTest, AppendsAFcsAndPads) {
  // WirePort fails the test on a wrong FCS or a short frame.
  for (size_t len : {14u, 59u, 60u, 61u, 1514u, 9618u}) {
    ASSERT_TRUE(send(len)) << len;
    clock.advance(kMilli);
    const RxFrame frame = wire.b.rx_peek();
    ASSERT_NE(frame.data, nullptr);
    EXPECT_EQ(frame.len, std::max<size_t>(len, 60) + 4);
    if (len < 60) EXPECT_EQ(frame.data[59], 0) << "padding is zero";
    wire.b.rx_release();
  }
  EXPECT_EQ(count(VERNA_PORT_tx_frames), 6u);
  EXPECT_EQ(count(VERNA_PORT_tx_bytes), 60u + 60 + 60 + 61 + 1514 + 9618);
}

TEST_F(MacTest, FullWirePushesBack) {
  wire.a.block_tx = true;
  EXPECT_EQ(mac.reserve(100), nullptr);
  EXPECT_EQ(count(VERNA_PORT_tx_frames), 0u);
  wire.a.block_tx = false;
  EXPECT_TRUE(send(100));
}

TEST_F(MacTest, LinkDownDropsAndCounts) {
  wire.a.up = false;
  EXPECT_FALSE(mac.link_up());
  EXPECT_FALSE(send(100));
  EXPECT_EQ(count(VERNA_PORT_tx_drop_link_down), 1u);
  EXPECT_EQ(count(VERNA_PORT_tx_frames), 0u);
  wire.a.up = true;
  mac.set_admin_up(false);
  EXPECT_FALSE(mac.link_up());
  EXPECT_FALSE(send(100));
  EXPECT_EQ(count(VERNA_PORT_tx_drop_link_down), 2u);
  mac.set_admin_up(true);
  EXPECT_TRUE(send(100));
}

TEST_F(MacTest, AdminDownReceivesNothing) {
  mac.set_admin_up(false);
  wire.to_a.send(Bytes(100, 1));
  clock.advance(kMilli);
  EXPECT_EQ(mac.receive(1518).data, nullptr);
}

TEST_F(MacTest, GoodFramesComeInWithoutTheirFcs) {
  wire.to_a.send(Bytes(100, 0x22));
  clock.advance(kMilli);
  const RxFrame frame = mac.receive(1518);
  ASSERT_NE(frame.data, nullptr);
  EXPECT_EQ(frame.len, 100u);
  EXPECT_EQ(frame.data[99], 0x22);
  mac.release();
  EXPECT_EQ(mac.receive(1518).data, nullptr);
  EXPECT_EQ(count(VERNA_PORT_rx_frames), 1u);
  EXPECT_EQ(count(VERNA_PORT_rx_bytes), 100u);
}

TEST_F(MacTest, EveryBadFrameHasOneReason) {
  const auto raw = [&](Bytes frame) {
    wire.to_a.send_raw(std::move(frame));
    EXPECT_EQ(mac.receive(1518).data, nullptr);
  };
  Bytes bad(100, 0x33);
  bad.resize(104, 0);
  raw(bad);
  EXPECT_EQ(count(VERNA_PORT_rx_drop_fcs), 1u);
  for (size_t len : {1u, 4u, 13u, 17u}) raw(Bytes(len, 0));
  EXPECT_EQ(count(VERNA_PORT_rx_drop_runt), 4u);
  wire.to_a.send(Bytes(1519, 1));
  clock.advance(kMilli);
  EXPECT_EQ(mac.receive(1518).data, nullptr);
  EXPECT_EQ(count(VERNA_PORT_rx_drop_oversize), 1u);
  wire.to_a.send(Bytes(1518, 1));
  clock.advance(kMilli);
  EXPECT_NE(mac.receive(1518).data, nullptr);
  mac.release();
  EXPECT_EQ(count(VERNA_PORT_rx_frames), 7u);
}

TEST_F(MacTest, AFloodOfBadFramesEndsTheCall) {
  for (int i = 0; i < 1000; i++) wire.to_a.send_raw(Bytes(5, 0));
  EXPECT_EQ(mac.receive(1518).data, nullptr);
  EXPECT_LE(count(VERNA_PORT_rx_frames), 64u) << "bounded work per call";
}

TEST_F(MacTest, CaptureHoldsWhatCrossedTheWire) {
  const std::string path = testing::TempDir() + "verna_mac_test.pcap";
  ASSERT_TRUE(mac.capture(path.c_str()));
  mac.set_now(3 * kSecond + 5);
  send(100, 0x44);
  mac.flush();
  wire.to_a.send(Bytes(70, 0x55));
  clock.advance(kMilli);
  mac.set_now(4 * kSecond);
  ASSERT_NE(mac.receive(1518).data, nullptr);
  mac.release();
  mac.flush();
  std::ifstream file(path, std::ios::binary);
  std::vector<uint8_t> bytes((std::istreambuf_iterator<char>(file)), {});
  ASSERT_EQ(bytes.size(), 24u + 16 + 100 + 16 + 70);
  EXPECT_EQ(load_le<uint32_t>(&bytes[0]), 0xa1b23c4du) << "nanosecond pcap";
  EXPECT_EQ(load_le<uint32_t>(&bytes[20]), 1u) << "Ethernet";
  EXPECT_EQ(load_le<uint32_t>(&bytes[24]), 3u);
  EXPECT_EQ(load_le<uint32_t>(&bytes[28]), 5u);
  EXPECT_EQ(load_le<uint32_t>(&bytes[32]), 100u);
  EXPECT_EQ(load_le<uint32_t>(&bytes[36]), 100u);
  EXPECT_EQ(bytes[40], 0x44);
  EXPECT_EQ(load_le<uint32_t>(&bytes[148]), 70u);
  EXPECT_EQ(bytes[156], 0x55);
  std::remove(path.c_str());
}

TEST_F(MacTest, CaptureIntoNowhereFailsCleanly) {
  EXPECT_FALSE(mac.capture("/nonexistent-folder/file.pcap"));
  EXPECT_TRUE(send(100));
}

TEST(Loopback, CarriesFramesInOrderAndPushesBack) {
  LoopbackPort port(64 << 10, true);
  Counters counters;
  Trace trace;
  Mac mac(port, counters, trace);
  int sent = 0;
  for (;; sent++) {
    uint8_t* room = mac.reserve(1000);
    if (!room) break;
    std::memset(room, sent, 1000);
    ASSERT_TRUE(mac.commit(1000));
    ASSERT_LT(sent, 1000) << "the wire is not bounded";
  }
  EXPECT_GT(sent, 30);
  mac.flush();
  for (int i = 0; i < sent; i++) {
    const RxFrame frame = mac.receive(1518);
    ASSERT_NE(frame.data, nullptr);
    ASSERT_EQ(frame.len, 1000u);
    EXPECT_EQ(frame.data[999], static_cast<uint8_t>(i));
    mac.release();
  }
  EXPECT_EQ(mac.receive(1518).data, nullptr);
  EXPECT_NE(mac.reserve(1000), nullptr);
  port.set_link(false);
  EXPECT_FALSE(mac.link_up());
}

}  // namespace
}  // namespace verna::test
