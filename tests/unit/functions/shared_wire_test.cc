// SPDX-License-Identifier: GPL-2.0-or-later
// How the functions of a card share its wire.
#include "functions/switch_rig.h"
#include "support/fail.h"

namespace verna::test {
namespace {

/// Has something to send to the wire in all of its queues at any time.
class BusyStation {
 public:
  static constexpr uint32_t kPosted = 16;

  BusyStation(Station& station, uint32_t queues, const Bytes& frame)
      : s_(station), cq_(s_.driver.create_cq(8)), len_(static_cast<uint32_t>(frame.size())) {
    frame_ = s_.bus.alloc(len_, "frame");
    s_.bus.fill(frame_, frame);
    // Queue 0 is the station's own.
    for (uint32_t id = 1; id <= queues; id++) txqs_.push_back(s_.driver.create_txq(id, cq_, 5));
    done_.assign(queues + 1, 0);
  }
  void refill() {
    verna_cqe cqe;
    while (s_.driver.poll(cq_, &cqe)) {
      if (cqe.status != VERNA_CQE_OK) fail("a frame was not sent");
      done_[cqe.id] = cqe.wqe_index + 1;
    }
    for (EthQueue* q : txqs_) {
      if (q->wq.prod - done_[q->id] == kPosted) continue;
      while (q->wq.prod - done_[q->id] < kPosted) s_.driver.post_tx(q, frame_, len_);
      s_.driver.publish(&q->wq);
    }
  }
  bool sent(const uint8_t* frame) const { return std::equal(frame, frame + 6, s_.address.mac); }
  uint64_t bytes = 0;  // of it that have arrived

 private:
  Station& s_;
  RingHandle* cq_;
  uint32_t len_;
  uint64_t frame_;
  std::vector<EthQueue*> txqs_;
  std::vector<uint32_t> done_;  // by queue
};

struct SharedWire : SwitchRig {
  static constexpr uint64_t kBitsPerSecond = 10'000'000'000;
  static constexpr Nanos kSpan = 5 * kMilli;

  SharedWire() {
    wire.to_b.impairment.bits_per_second = kBitsPerSecond;
    wire.to_b.impairment.max_queued = 8;
  }
  void add(Station& s, uint32_t queues, size_t frame_len) {
    busy.emplace_back(s, queues, s.frame_to(peer.mac, frame_len));
  }
  void take_frames() {
    for (RxFrame f = wire.b.rx_peek(); f.data; f = wire.b.rx_peek()) {
      for (BusyStation& b : busy)
        if (b.sent(f.data + 6)) b.bytes += f.len - 4;
      wire.b.rx_release();
    }
  }
  void run() {
    world.run_until(
        [this] {
          take_frames();
          for (BusyStation& b : busy) b.refill();
          return false;
        },
        kSpan);
  }
  /// They have the wire full, and each its part of it.
  void expect_equal_shares() {
    uint64_t all = 0;
    for (const BusyStation& b : busy) all += b.bytes;
    const double carried = static_cast<double>(kBitsPerSecond) / 8e9 * kSpan;
    EXPECT_GT(static_cast<double>(all), 0.97 * carried);
    const double share = static_cast<double>(all) / static_cast<double>(busy.size());
    for (const BusyStation& b : busy)
      EXPECT_NEAR(static_cast<double>(b.bytes), share, 0.02 * share);
  }
  void TearDown() override {
    world.run_until(
        [this] {
          take_frames();
          return false;
        },
        kMilli);
    SwitchRig::TearDown();
  }
  std::deque<BusyStation> busy;
};

TEST_F(SharedWire, AVfWithEightQueuesGetsNoMoreThanThePfWithOne) {
  add(pf, 1, 1514);
  add(vf1, 8, 1514);
  run();
  expect_equal_shares();
}

TEST_F(SharedWire, WhateverTheirFrames) {
  add(vf1, 8, 300);
  add(vf2, 1, 1514);
  add(vf3, 3, 900);
  run();
  expect_equal_shares();
}

}  // namespace
}  // namespace verna::test
