// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/meter.h"

#include <algorithm>
#include <numeric>

namespace verna {
namespace {

/// A bucket and what flows into it fit into 64 bits together.
constexpr uint64_t kMaxCredit = uint64_t{1} << 62;

bool is_zero(const MeterRate& rate) { return rate.amount == 0; }

/// `a` is lower than `b`.
bool slower(const MeterRate& a, const MeterRate& b) {
  __extension__ using Wide = unsigned __int128;
  return Wide{a.amount} * b.per < Wide{b.amount} * a.per;
}

}  // namespace

bool TokenBucket::can_hold(const MeterRate& rate, uint64_t burst) {
  if (rate.per == 0) return false;
  const uint64_t common = std::gcd(rate.amount, rate.per);
  return rate.amount / common <= kMaxCredit && burst <= kMaxCredit / (rate.per / common);
}

void TokenBucket::configure(const MeterRate& rate, uint64_t burst, Nanos now) {
  if (per_) refill(now);
  const uint64_t kept = per_ ? credit_ / per_ : burst;
  const uint64_t common = std::gcd(rate.amount, rate.per);
  amount_ = rate.amount / common;
  per_ = rate.per / common;
  burst_ = burst;
  credit_ = std::min(kept, burst) * per_;
  full_after_ = amount_ ? burst_ * per_ / amount_ + 1 : kNever;
  filled_at_ = now;
}

void TokenBucket::refill(Nanos now) {
  const Nanos passed = now - filled_at_;
  filled_at_ = now;
  const uint64_t full = burst_ * per_;
  credit_ = passed >= full_after_ ? full : std::min(full, credit_ + passed * amount_);
}

const char* Meter::check(const MeterConfig& c) {
  if (is_zero(c.committed) && c.committed_burst) return "a committed burst without a rate";
  if (is_zero(c.second_rate) && c.second_burst) return "a second burst without a rate";
  if (!is_zero(c.committed) && !c.committed_burst) return "a committed rate without a burst";
  if (!is_zero(c.second_rate) && !c.second_burst) return "a second rate without a burst";
  if (c.second == MeterConfig::Second::kPeak && slower(c.second_rate, c.committed))
    return "the peak rate is below the committed rate";
  if (!TokenBucket::can_hold(c.committed, c.committed_burst)) return "the committed rate or burst";
  if (!TokenBucket::can_hold(c.second_rate, c.second_burst)) return "the second rate or burst";
  return nullptr;
}

void Meter::configure(const MeterConfig& config, Nanos now) {
  const bool same_unit = config.unit == config_.unit;
  if (!same_unit) committed_ = second_ = {};
  config_ = config;
  committed_.configure(config.committed, config.committed_burst, now);
  second_.configure(config.second_rate, config.second_burst, now);
}

Colour Meter::peak(uint64_t units, Colour colour) {
  if (colour == Colour::kRed || !second_.has(units)) return Colour::kRed;
  second_.take(units);
  if (colour == Colour::kYellow || !committed_.has(units)) return Colour::kYellow;
  committed_.take(units);
  return Colour::kGreen;
}

Colour Meter::excess(uint64_t units, Colour colour) {
  if (colour == Colour::kGreen && committed_.has(units)) {
    committed_.take(units);
    return Colour::kGreen;
  }
  if (colour == Colour::kRed || !second_.has(units)) return Colour::kRed;
  second_.take(units);
  return Colour::kYellow;
}

Colour Meter::colour(uint32_t bytes, Colour colour, Nanos now) {
  committed_.refill(now);
  second_.refill(now);
  if (!config_.colour_aware) colour = Colour::kGreen;
  if (config_.max_bytes && bytes > config_.max_bytes) colour = Colour::kRed;
  const uint64_t units =
      config_.unit == MeterConfig::Unit::kPackets ? 1 : uint64_t{bytes} + config_.overhead;
  if (colour != Colour::kRed)
    colour =
        config_.second == MeterConfig::Second::kPeak ? peak(units, colour) : excess(units, colour);
  Count& count = counts_[static_cast<size_t>(colour)];
  count.packets++;
  count.bytes += bytes;
  return colour;
}

}  // namespace verna
