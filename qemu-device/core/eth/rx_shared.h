// SPDX-License-Identifier: GPL-2.0-or-later
// What the RX queues of a function share.
#pragma once

#include <functional>

#include "base/timer.h"
#include "eth/frame_store.h"

namespace verna {

/// Memory for frames, and the settings of SET_ETH_FEATURES.
struct RxShared {
  static constexpr uint32_t kMaxMergeBytes = 65535;

  RxShared(TimerQueue& timer_queue, uint32_t max_cells) : timers(timer_queue), frames(max_cells) {}
  void reset() {
    features = 0;
    merge_ns = 0;
    merge_bytes = kMaxMergeBytes;
  }

  TimerQueue& timers;
  FrameStore frames;
  std::function<void()> reclaim;  // makes all queues deliver what they hold
  uint32_t features = 0;          // VERNA_ETH_ON_*
  Nanos merge_ns = 0;
  uint32_t merge_bytes = kMaxMergeBytes;
};

}  // namespace verna
