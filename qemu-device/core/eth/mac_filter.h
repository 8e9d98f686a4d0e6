// SPDX-License-Identifier: GPL-2.0-or-later
// Which frames Ethernet takes.
#pragma once

#include <array>
#include <unordered_set>

#include "base/types.h"

namespace verna {

/// Receive mode and the list of exact addresses.
class MacFilter {
 public:
  /// `own` is the permanent address, which is always on the list.
  MacFilter(const uint8_t (&own)[6], uint16_t max_addresses);

  void set_own(const uint8_t (&own)[6]) { own_ = pack(own); }
  void set_mode(uint32_t mode) { mode_ = mode; }  // VERNA_RX_MODE_*
  uint32_t mode() const { return mode_; }
  bool enabled() const;

  bool accepts(const uint8_t* dmac) const;

  /// An own address or one of the list, whatever the mode.
  bool is_local(const uint8_t* dmac) const;

  bool contains(const uint8_t* mac) const { return addresses_.contains(pack(mac)); }
  bool full() const { return addresses_.size() >= max_addresses_; }
  /// False: it is there already.
  bool add(const uint8_t* mac) { return addresses_.insert(pack(mac)).second; }
  /// False: it is not there.
  bool remove(const uint8_t* mac) { return addresses_.erase(pack(mac)) > 0; }
  size_t size() const { return addresses_.size(); }
  /// Calls `f` with each address that was added.
  template <typename F>
  void for_each(F f) const {
    for (const uint64_t address : addresses_) {
      std::array<uint8_t, 6> mac;
      for (size_t i = 0; i < 6; i++) mac[i] = static_cast<uint8_t>(address >> (40 - 8 * i));
      f(mac);
    }
  }
  void reset();

 private:
  static uint64_t pack(const uint8_t* mac) {
    return uint64_t{load_be16(mac)} << 32 | load_be32(mac + 2);
  }

  uint64_t own_;
  uint16_t max_addresses_;
  uint32_t mode_ = 0;
  std::unordered_set<uint64_t> addresses_;
};

}  // namespace verna
