// SPDX-License-Identifier: GPL-2.0-or-later
// Doorbells on their way from processors to the card.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace verna {

/// The doorbell page that a write to this offset of the doorbell BAR rings, of `num_uars` pages.
/// Nothing: there is no doorbell.
std::optional<uint32_t> doorbell_page(uint64_t offset, uint32_t num_uars);

/// A bounded ring that any number of threads put doorbells into and the card's owner takes them out
/// of, without locks. If it is full the doorbell is not kept, but a flag that makes the card look
/// at every queue: a doorbell carries no data, so nothing is lost.
class DoorbellRing {
 public:
  struct Doorbell {
    uint32_t uar;
    uint32_t value;
  };
  static constexpr size_t kSlots = 1024;

  DoorbellRing();

  /// Any thread; wait-free: gives up and sets the flag after a few collisions with other threads.
  void push(uint32_t uar, uint32_t value);

  /// Owner only. False: the ring is empty (or a thread is just about to fill the next slot).
  bool pop(Doorbell* out);
  /// Owner only: was a doorbell turned away since the last call?
  bool take_overflow();
  /// Owner only. Nothing to pop, nothing about to come, no overflow. Sequentially consistent, so
  /// that the owner can tell the pushers that it sleeps, call this, and sleep.
  bool empty() const;

 private:
  static constexpr int kAttempts = 16;
  struct Slot {
    // n: free for the push number n; n + 1: holds it
    std::atomic<uint64_t> turn;
    Doorbell doorbell;
  };
  alignas(64) std::atomic<uint64_t> tail_{0};  // pushes
  alignas(64) uint64_t head_ = 0;              // pops
  std::atomic<bool> overflow_{false};
  std::array<Slot, kSlots> slots_;
};

}  // namespace verna
