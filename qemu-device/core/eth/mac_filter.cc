// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/mac_filter.h"

#include "hw/verna_cmd.h"

namespace verna {
namespace {

constexpr uint64_t kBroadcast = 0xffffffffffff;

}  // namespace

MacFilter::MacFilter(const uint8_t (&own)[6], uint16_t max_addresses)
    : own_(pack(own)), max_addresses_(max_addresses) {}

bool MacFilter::enabled() const { return mode_ & VERNA_RX_MODE_ENABLE; }

bool MacFilter::accepts(const uint8_t* dmac) const {
  if (mode_ & VERNA_RX_MODE_PROMISC) return true;
  if ((dmac[0] & 1) && (mode_ & VERNA_RX_MODE_ALLMULTI)) return true;
  return pack(dmac) == kBroadcast || is_local(dmac);
}

bool MacFilter::is_local(const uint8_t* dmac) const {
  const uint64_t address = pack(dmac);
  return address == own_ || addresses_.contains(address);
}

void MacFilter::reset() {
  mode_ = 0;
  addresses_.clear();
}

}  // namespace verna
