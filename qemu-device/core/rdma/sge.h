// SPDX-License-Identifier: GPL-2.0-or-later
// Scatter-gather lists of work requests.
#pragma once

#include <array>

#include "rdma/memory_region.h"

namespace verna {

inline constexpr uint32_t kMaxSge = 16;

/// The data segments of one work request and a place in them. It is the card's copy.
class SgeList {
 public:
  void clear() { count_ = 0, total_ = 0, index_ = 0, offset_ = 0; }
  /// Takes over `count` (at most kMaxSge) segments as they lie in a work request.
  void assign(const uint8_t* segments, uint32_t count);

  /// Sum of all lengths; may exceed the largest message.
  uint64_t total() const { return total_; }
  uint32_t count() const { return count_; }
  /// Goes to byte `offset`, at most total().
  void seek(uint64_t offset);
  uint64_t left() const;

  /// Checks every segment that is not empty.
  bool check(const MemoryTable& memory, const Accessor& who, uint8_t need) const;

  /// Copies the next `len` bytes, which must be there, and moves on.
  Access gather(const MemoryTable& memory, const Accessor& who, uint8_t* dst, uint32_t len);
  Access scatter(const MemoryTable& memory, const Accessor& who, const uint8_t* src, uint32_t len);

 private:
  template <typename F>
  Access walk(uint32_t len, F copy);

  std::array<verna_sge, kMaxSge> sge_;
  uint32_t count_ = 0;
  uint32_t index_ = 0;   // current segment
  uint32_t offset_ = 0;  // in it
  uint64_t total_ = 0;
};

}  // namespace verna
