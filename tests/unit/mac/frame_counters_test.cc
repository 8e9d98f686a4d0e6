// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/frame_counters.h"

#include <gtest/gtest.h>

#include "base/types.h"
#include "mac/mac.h"
#include "pkt/crc32.h"
#include "support/wire.h"
#include "support/world.h"

namespace verna::test {
namespace {

Bytes frame_of(size_t len, uint16_t type = 0x0800, uint8_t first = 0x02) {
  Bytes frame(len, 0);
  frame[0] = first;
  if (len >= 14) {
    frame[12] = static_cast<uint8_t>(type >> 8);
    frame[13] = static_cast<uint8_t>(type);
  }
  return frame;
}

struct FrameCountersTest : testing::Test {
  uint64_t at(int counter) const { return counters.port[static_cast<size_t>(counter)]; }

  /// Sends a frame through the MAC's front door.
  void send(const Bytes& frame) {
    uint8_t* room = mac.reserve(static_cast<uint32_t>(frame.size()));
    ASSERT_NE(room, nullptr);
    std::memcpy(room, frame.data(), frame.size());
    ASSERT_TRUE(mac.commit(static_cast<uint32_t>(frame.size())));
  }
  void receive(const Bytes& frame, bool good_fcs = true) {
    if (good_fcs) {
      wire.to_a.send(frame);
    } else {
      Bytes raw = frame;
      raw.resize(raw.size() + 4, 0xee);
      wire.to_a.send_raw(std::move(raw));
    }
    clock.advance(kMilli);
    if (mac.receive(1518).data) mac.release();
  }

  ManualClock clock;
  Wire wire{clock};
  Counters counters;
  Trace trace;
  Mac mac{wire.a, counters, trace};
};

struct Size {
  uint32_t with_fcs;
  int bucket;
};

TEST_F(FrameCountersTest, EverySizeHasItsBucketInBothDirections) {
  const Size sizes[] = {{64, 0},  {65, 1},   {127, 1},  {128, 2},  {255, 2},  {256, 3}, {511, 3},
                        {512, 4}, {1023, 4}, {1024, 5}, {1518, 5}, {1519, 6}, {1522, 6}};
  for (const Size& size : sizes) {
    counters = {};
    send(frame_of(size.with_fcs - 4));
    receive(frame_of(size.with_fcs - 4));
    for (int b = 0; b < 7; b++) {
      EXPECT_EQ(at(VERNA_PORT_tx_frames_64 + b), b == size.bucket) << size.with_fcs << " " << b;
      EXPECT_EQ(at(VERNA_PORT_rx_frames_64 + b), b == size.bucket) << size.with_fcs << " " << b;
    }
  }
  counters = {};
  send(frame_of(9618));
  EXPECT_EQ(at(VERNA_PORT_tx_frames_1519_max), 1u);
}

TEST_F(FrameCountersTest, ShortFramesArePaddedBeforeTheyAreCounted) {
  send(frame_of(14));
  EXPECT_EQ(at(VERNA_PORT_tx_frames_64), 1u);
  EXPECT_EQ(at(VERNA_PORT_tx_bytes), 60u);
}

TEST_F(FrameCountersTest, BadSizesByFcs) {
  Bytes runt(30, 0);
  store_le<uint32_t>(&runt[26], crc32(0, runt.data(), 26));
  wire.to_a.send_raw(runt);
  clock.advance(kMilli);
  if (mac.receive(1518).data) mac.release();
  EXPECT_EQ(at(VERNA_PORT_rx_undersize), 1u);
  receive(Bytes(40, 1), false);
  EXPECT_EQ(at(VERNA_PORT_rx_fragments), 1u);
  receive(Bytes(1600, 1), false);
  EXPECT_EQ(at(VERNA_PORT_rx_jabbers), 1u);
  EXPECT_EQ(at(VERNA_PORT_rx_drop_fcs), 2u) << "still one reason for each drop";
  receive(Bytes(1600, 1));
  EXPECT_EQ(at(VERNA_PORT_rx_jabbers), 1u);
  EXPECT_EQ(at(VERNA_PORT_rx_drop_oversize), 1u);
  uint64_t buckets = 0;
  for (int b = 0; b < 7; b++) buckets += at(VERNA_PORT_rx_frames_64 + b);
  EXPECT_EQ(buckets, 2u) << "bad frames are in the histogram if they are long enough";
}

TEST_F(FrameCountersTest, GroupAddresses) {
  Bytes broadcast = frame_of(100);
  std::fill(broadcast.begin(), broadcast.begin() + 6, 0xff);
  for (const Bytes& frame : {frame_of(100), frame_of(100, 0x0800, 0x01), broadcast}) {
    send(frame);
    receive(frame);
    receive(frame, false);
  }
  EXPECT_EQ(at(VERNA_PORT_tx_multicast), 1u);
  EXPECT_EQ(at(VERNA_PORT_tx_broadcast), 1u);
  EXPECT_EQ(at(VERNA_PORT_rx_multicast), 1u) << "bad frames are not counted";
  EXPECT_EQ(at(VERNA_PORT_rx_broadcast), 1u);
  EXPECT_EQ(at(VERNA_PORT_rx_good_bytes), 300u);
}

TEST_F(FrameCountersTest, ControlFrames) {
  Bytes pause = frame_of(60, 0x8808);
  pause[15] = 1;
  Bytes unknown = frame_of(60, 0x8808);
  unknown[15] = 0x77;
  send(pause);
  receive(pause);
  EXPECT_EQ(at(VERNA_PORT_tx_control), 1u);
  EXPECT_EQ(at(VERNA_PORT_rx_control), 1u);
  EXPECT_EQ(at(VERNA_PORT_rx_control_unknown), 0u);
  receive(unknown);
  count_good(counters, frame_of(14, 0x8808).data(), 14);
  EXPECT_EQ(at(VERNA_PORT_rx_control), 3u);
  EXPECT_EQ(at(VERNA_PORT_rx_control_unknown), 2u);
}

TEST_F(FrameCountersTest, LengthFields) {
  receive(frame_of(14 + 100, 100));
  receive(frame_of(60, 3));
  EXPECT_EQ(at(VERNA_PORT_rx_length_in_range), 0u);
  receive(frame_of(14 + 100, 99));
  receive(frame_of(14 + 100, 3));
  EXPECT_EQ(at(VERNA_PORT_rx_length_in_range), 2u);
  receive(frame_of(60, 1501));
  receive(frame_of(60, 1535));
  receive(frame_of(60, 1536));
  EXPECT_EQ(at(VERNA_PORT_rx_length_out_of_range), 2u);
}

}  // namespace
}  // namespace verna::test
