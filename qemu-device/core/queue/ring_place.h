// SPDX-License-Identifier: GPL-2.0-or-later
// Where records and rings may lie in a queue's memory.
#pragma once

#include "queue/queue_memory.h"

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

}  // namespace verna
