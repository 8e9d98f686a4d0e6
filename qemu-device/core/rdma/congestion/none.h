// SPDX-License-Identifier: GPL-2.0-or-later
// No congestion control: a fixed window, as fast as the wire takes it. Only after silence it starts
// small, so that a peer that is behind is not asked for everything again and again.
#pragma once

#include "rdma/congestion/controller.h"

namespace verna {

class FixedWindow final : public CongestionController {
 public:
  explicit FixedWindow(uint32_t window) : limit_(window), window_(window) {}
  void reset() override { window_ = limit_; }
  uint32_t window() const override { return window_; }
  /// Doubles with each window that was acknowledged, until it is whole again.
  void on_ack(uint32_t packets, Nanos) override {
    window_ = packets < limit_ - window_ ? window_ + packets : limit_;
  }
  void on_timeout(Nanos) override { window_ = limit_ < kRestart ? limit_ : kRestart; }

 private:
  static constexpr uint32_t kRestart = 64;
  uint32_t limit_;
  uint32_t window_;
};

}  // namespace verna
