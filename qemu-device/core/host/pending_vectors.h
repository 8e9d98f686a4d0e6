// SPDX-License-Identifier: GPL-2.0-or-later
// Interrupts that the card raised and the host has not sent yet.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

namespace verna {

/// A set of MSI-X vectors. Sending one may need a lock of the host that the card's owner must not
/// wait for; so a run only leaves them here, and whoever ran the card takes them out afterwards,
/// when it holds what it needs. A vector that is raised twice before that is sent once, as MSI-X
/// allows.
class PendingVectors {
 public:
  /// Vectors 0 to `count` - 1. Throws std::bad_alloc.
  explicit PendingVectors(uint16_t count);

  /// Any thread. A vector that the card does not have is ignored.
  void raise(uint16_t vector);
  /// Any thread; cheap: there may be something to take. Whoever raised a vector before is told so.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  /// One thread at a time, until there is none.
  std::optional<uint16_t> take();
  /// Forgets all. Serialised with take() and with whoever raises.
  void clear();

 private:
  static constexpr uint32_t kBits = 64;

  uint16_t count_;
  std::atomic<bool> any_{false};
  std::vector<std::atomic<uint64_t>> words_;
  size_t next_ = 0;     // word that take() looks at next
  uint64_t taken_ = 0;  // what is left of the word before it
};

}  // namespace verna
