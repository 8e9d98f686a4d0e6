// SPDX-License-Identifier: GPL-2.0-or-later
// Meters: two rates, three colours, in bytes or packets.
#pragma once

#include <array>
#include <cstddef>

#include "base/types.h"

namespace verna {

/// So many bytes or packets in so many nanoseconds.
struct MeterRate {
  uint64_t amount = 0;
  Nanos per = 1'000'000'000;
};

/// A token bucket in whole numbers: what a nanosecond brings is `amount` and what a unit costs is
/// `per`, so nothing is ever rounded, whatever the rate and for however long.
class TokenBucket {
 public:
  /// True: configure() can keep count of this.
  static bool can_hold(const MeterRate& rate, uint64_t burst);

  /// Full if it held nothing before; else the units that it has are kept, as far as they fit.
  void configure(const MeterRate& rate, uint64_t burst, Nanos now);
  void refill(Nanos now);

  bool has(uint64_t units) const { return units <= burst_ && units * per_ <= credit_; }
  /// The bucket has() them.
  void take(uint64_t units) { credit_ -= units * per_; }

 private:
  uint64_t amount_ = 0;  // reduced with per_
  uint64_t per_ = 0;     // 0: not configured yet
  uint64_t burst_ = 0;
  uint64_t credit_ = 0;  // units * per_
  Nanos full_after_ = 0;
  Nanos filled_at_ = 0;
};

enum class Colour : uint8_t { kGreen, kYellow, kRed };

struct MeterConfig {
  enum class Unit : uint8_t { kBytes, kPackets };
  /// kPeak is RFC 2698: the second rate bounds all packets, the committed one the green of them.
  /// kExcess is RFC 4115: the second rate is for what exceeds the committed one; if it and its
  /// burst are zero the meter knows green and red only.
  enum class Second : uint8_t { kPeak, kExcess };

  Unit unit = Unit::kBytes;
  Second second = Second::kExcess;
  bool colour_aware = false;  // believes the colour that an earlier meter gave
  bool drop_yellow = false;   // red is always dropped
  uint16_t overhead = 0;      // bytes that count with each packet
  uint32_t max_bytes = 0;     // longer packets are red; 0: none are too long
  MeterRate committed;
  uint64_t committed_burst = 0;
  MeterRate second_rate;
  uint64_t second_burst = 0;
};

/// Rules share meters. Needs no timer: time is looked at when a packet comes.
class Meter {
 public:
  /// What is wrong with `config`, or null.
  static const char* check(const MeterConfig& config);

  /// `config` was checked. A meter starts with full buckets; a change keeps what is in them.
  Meter(const MeterConfig& config, Nanos now) { configure(config, now); }
  void configure(const MeterConfig& config, Nanos now);
  const MeterConfig& config() const { return config_; }

  /// Colours a packet of `bytes` that had `colour` so far, and counts it. Time does not go back.
  Colour colour(uint32_t bytes, Colour colour, Nanos now);
  bool drops(Colour colour) const {
    return colour == Colour::kRed || (colour == Colour::kYellow && config_.drop_yellow);
  }

  struct Count {
    uint64_t packets = 0;
    uint64_t bytes = 0;
  };
  const Count& count(Colour colour) const { return counts_[static_cast<size_t>(colour)]; }

 private:
  Colour peak(uint64_t units, Colour colour);
  Colour excess(uint64_t units, Colour colour);

  MeterConfig config_;
  TokenBucket committed_;
  TokenBucket second_;
  std::array<Count, 3> counts_{};
};

}  // namespace verna
