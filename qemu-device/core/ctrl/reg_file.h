// SPDX-License-Identifier: GPL-2.0-or-later
// The registers of BAR 0.
#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/counters.h"
#include "ctrl/command_queue.h"
#include "ctrl/device_limits.h"
#include "ctrl/self_test.h"

namespace verna {

enum class Access : uint8_t { kReadOnly, kReadWrite, kWriteOnly };

struct RegisterInfo {
  uint16_t offset;
  Access access;
  const char* name;
};

/// What registers say and do. A write may ask for a reset, which the caller then carries out.
class RegFile {
 public:
  /// Of function `fn`, whose permanent address is `mac`.
  RegFile(HostBus& bus, FunctionId fn, CommandQueue& commands, Counters& counters,
          const DeviceLimits& limits, const uint8_t (&mac)[6], std::vector<uint32_t> caps);

  /// Never fails: what is not there reads as VERNA_BOGUS or 0 and is counted.
  uint32_t read(uint32_t offset);
  enum class Effect { kNone, kReset };
  Effect write(uint32_t offset, uint32_t value);
  /// As read(), but without counting; for people who look.
  uint32_t peek(const RegisterInfo& reg) const;
  static std::span<const RegisterInfo> list();

  void set_mac(const uint8_t* mac) { std::copy(mac, mac + 6, mac_); }
  void set_link(bool up) { link_up_ = up; }
  bool link_up() const { return link_up_; }
  /// The first cause stays.
  void set_fatal(verna_fatal code) {
    if (fatal_ == VERNA_FATAL_NONE) fatal_ = code;
  }
  verna_fatal fatal() const { return fatal_; }
  void beat() { heartbeat_++; }
  SelfTest& self_test() { return self_test_; }
  const SelfTest& self_test() const { return self_test_; }

  /// As after power-on, but the link stays.
  void reset();

 private:
  static int find(uint32_t offset);
  uint32_t bad_access(uint32_t offset);
  uint32_t status() const;
  uint32_t load(uint32_t offset) const;
  Effect control(uint32_t value);
  uint64_t pair(uint32_t low) const;

  HostBus& bus_;
  FunctionId fn_;
  CommandQueue& commands_;
  Counters& counters_;
  DeviceLimits limits_;
  uint8_t mac_[6];
  std::vector<uint32_t> caps_;
  SelfTest self_test_;
  std::array<uint32_t, 0x100 / 4> values_{};  // of those that the host writes
  verna_fatal fatal_ = VERNA_FATAL_NONE;
  uint32_t heartbeat_ = 1;
  bool link_up_ = false;
};

}  // namespace verna
