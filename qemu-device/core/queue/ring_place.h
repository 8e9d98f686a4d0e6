// SPDX-License-Identifier: GPL-2.0-or-later
// Where records and rings may lie in a queue's memory.
#pragma once

#include <algorithm>

#include "queue/completion_queue.h"

namespace verna {

inline constexpr uint32_t kRecordSize = 128;

/// True if `size` bytes at `offset` are inside of `memory` and start at a multiple of `align` (a
/// power of two up to the page size) both in the buffer and on the bus, so that nothing of that
/// size and alignment crosses a page.
inline bool fits_aligned(const PageList& memory, uint64_t offset, uint64_t size, uint64_t align) {
  if (offset & (align - 1)) return false;
  if (size == 0 || size > memory.length() || offset > memory.length() - size) return false;
  uint64_t run;
  return (memory.translate(offset, &run) & (align - 1)) == 0;
}

/// The same for a record.
inline bool fits_record(const PageList& memory, uint64_t offset) {
  return fits_aligned(memory, offset, kRecordSize, kRecordSize);
}

/// Where a command says that a CQ or an EQ lies.
struct RingPlace {
  uint32_t rec_offset;
  uint32_t ring_offset;
  uint8_t log_size;
  uint8_t entry_size;

  /// Bytes that the memory must have at least.
  uint64_t end() const {
    return std::max(uint64_t{rec_offset} + kRecordSize,
                    ring_offset + (uint64_t{entry_size} << log_size));
  }
  PhaseRing::Layout layout() const { return {rec_offset, ring_offset, log_size, entry_size}; }
};

}  // namespace verna
