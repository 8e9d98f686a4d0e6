// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/pending_vectors.h"

#include <bit>

namespace verna {

PendingVectors::PendingVectors(uint16_t count)
    : count_(count), words_((count + kBits - 1) / kBits) {}

void PendingVectors::raise(uint16_t vector) {
  if (vector >= count_) return;
  words_[vector / kBits].fetch_or(uint64_t{1} << vector % kBits, std::memory_order_relaxed);
  // After the bit: who takes it clears this flag before it looks at the bits.
  any_.store(true, std::memory_order_release);
}

std::optional<uint16_t> PendingVectors::take() {
  if (next_ == 0 && !taken_) any_.exchange(false, std::memory_order_seq_cst);
  while (!taken_ && next_ < words_.size())
    taken_ = words_[next_++].exchange(0, std::memory_order_acq_rel);
  if (!taken_) {
    next_ = 0;
    return std::nullopt;
  }
  const auto bit = static_cast<uint32_t>(std::countr_zero(taken_));
  taken_ &= taken_ - 1;
  return static_cast<uint16_t>((next_ - 1) * kBits + bit);
}

void PendingVectors::clear() {
  any_.store(false, std::memory_order_relaxed);
  for (auto& word : words_) word.store(0, std::memory_order_relaxed);
  next_ = 0;
  taken_ = 0;
}

}  // namespace verna
