// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/congestion/none.h"

#include <algorithm>

namespace verna {
namespace {
/// Far enough below half of the sequence numbers that old and new are never confused.
constexpr uint32_t kLargestWindow = 1u << 20;
}  // namespace

std::unique_ptr<CongestionController> make_congestion_controller(uint32_t window) {
  return std::make_unique<FixedWindow>(std::clamp(window, 1u, kLargestWindow));
}

}  // namespace verna
