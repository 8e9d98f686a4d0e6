// SPDX-License-Identifier: GPL-2.0-or-later
// No congestion control: a fixed window, as fast as the wire takes it.
#pragma once

#include "rdma/congestion/controller.h"

namespace verna {

class FixedWindow final : public CongestionController {
 public:
  explicit FixedWindow(uint32_t window) : window_(window) {}
  void reset() override {}
  uint32_t window() const override { return window_; }

 private:
  uint32_t window_;
};

}  // namespace verna
