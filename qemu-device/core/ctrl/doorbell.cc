// SPDX-License-Identifier: GPL-2.0-or-later
// After D. Vyukov's bounded queue: each slot says whose turn it is.
#include "ctrl/doorbell.h"

#include "hw/verna_regs.h"

namespace verna {

std::optional<uint32_t> doorbell_page(uint64_t offset, uint32_t num_uars) {
  const uint64_t page = offset / VERNA_UAR_SIZE;
  if (page >= num_uars || offset % VERNA_UAR_SIZE != VERNA_UAR_DOORBELL) return std::nullopt;
  return static_cast<uint32_t>(page);
}

DoorbellRing::DoorbellRing() {
  for (size_t i = 0; i < kSlots; i++) slots_[i].turn.store(i, std::memory_order_relaxed);
}

void DoorbellRing::push(uint32_t uar, uint32_t value) {
  for (int i = 0; i < kAttempts; i++) {
    uint64_t number = tail_.load(std::memory_order_relaxed);
    Slot& slot = slots_[number % kSlots];
    const uint64_t turn = slot.turn.load(std::memory_order_acquire);
    if (turn < number) break;     // holds a doorbell of the last round: full
    if (turn > number) continue;  // another thread was faster
    if (!tail_.compare_exchange_weak(number, number + 1, std::memory_order_seq_cst)) continue;
    slot.doorbell = {uar, value};
    slot.turn.store(number + 1, std::memory_order_release);
    return;
  }
  overflow_.store(true, std::memory_order_seq_cst);
}

bool DoorbellRing::pop(Doorbell* out) {
  Slot& slot = slots_[head_ % kSlots];
  if (slot.turn.load(std::memory_order_acquire) != head_ + 1) return false;
  *out = slot.doorbell;
  slot.turn.store(head_ + kSlots, std::memory_order_release);
  head_++;
  return true;
}

bool DoorbellRing::take_overflow() {
  if (!overflow_.load(std::memory_order_relaxed)) return false;
  return overflow_.exchange(false, std::memory_order_seq_cst);
}

bool DoorbellRing::empty() const {
  return tail_.load(std::memory_order_seq_cst) == head_ &&
         !overflow_.load(std::memory_order_seq_cst);
}

}  // namespace verna
