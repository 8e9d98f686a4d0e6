// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/age_wheel.h"

#include <algorithm>
#include <bit>

namespace verna {

void AgeLine::push_back(AgeLink* link) {
  link->ahead = end_.ahead;
  link->behind = &end_;
  end_.ahead->behind = link;
  end_.ahead = link;
}

void AgeLine::remove(AgeLink* link) {
  link->ahead->behind = link->behind;
  link->behind->ahead = link->ahead;
  link->ahead = link->behind = nullptr;
}

void AgeLine::take_all(AgeLine* from) {
  if (from->empty()) return;
  from->end_.behind->ahead = end_.ahead;
  from->end_.ahead->behind = &end_;
  end_.ahead->behind = from->end_.behind;
  end_.ahead = from->end_.ahead;
  from->clear();
}

void AgeWheel::add(AgeLink* link, uint64_t tick) {
  tick = std::max(tick, current_);
  const uint64_t differs = tick ^ current_;
  const int level = differs ? (std::bit_width(differs) - 1) / kSlotBits : 0;
  const uint64_t slot = tick >> (level * kSlotBits) & (kSlots - 1);
  link->slot = static_cast<uint16_t>(static_cast<uint64_t>(level) * kSlots + slot);
  lines_[link->slot].push_back(link);
  used_[static_cast<size_t>(level)] |= uint64_t{1} << slot;
  levels_ = static_cast<uint8_t>(levels_ | 1u << level);
}

/// What has come up still names the slot that it came from, which may have others by now.
void AgeWheel::remove(AgeLink* link) {
  AgeLine::remove(link);
  if (lines_[link->slot].empty()) close(link->slot);
}

/// A slot has no links.
void AgeWheel::close(size_t slot) {
  const size_t level = slot / kSlots;
  used_[level] &= ~(uint64_t{1} << slot % kSlots);
  if (!used_[level]) levels_ = static_cast<uint8_t>(levels_ & ~(1u << level));
}

/// The first slot that has links; there is one.
size_t AgeWheel::first_slot() const {
  const auto level = static_cast<size_t>(std::countr_zero(levels_));
  return level * kSlots + static_cast<size_t>(std::countr_zero(used_[level]));
}

uint64_t AgeWheel::next() const {
  if (!due_.empty()) return current_;
  if (!levels_) return kNoTick;
  const size_t slot = first_slot();
  const auto shift = static_cast<int>(slot / kSlots) * kSlotBits;
  return ((current_ >> shift & ~uint64_t{kSlots - 1}) | slot % kSlots) << shift;
}

void AgeWheel::advance(uint64_t tick) {
  if (tick > current_ && tick < next()) current_ = tick;
}

AgeLink* AgeWheel::take(uint64_t tick) {
  advance(tick);
  const uint64_t at = next();
  if (at > tick) return nullptr;
  if (due_.empty()) {
    const size_t slot = first_slot();
    current_ = at;
    due_.take_all(&lines_[slot]);
    close(slot);
  }
  AgeLink* link = due_.front();
  AgeLine::remove(link);
  return link;
}

void AgeWheel::clear() {
  due_.clear();
  for (AgeLine& line : lines_) line.clear();
  used_.fill(0);
  levels_ = 0;
  current_ = 0;
}

}  // namespace verna
