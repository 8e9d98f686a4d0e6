// SPDX-License-Identifier: GPL-2.0-or-later
// Page lists: the memory of queues and memory regions.
#pragma once

#include <memory>
#include <vector>

#include "host/host_bus.h"
#include "hw/verna_queue.h"

namespace verna {

/// Counts the page addresses that all objects of a card hold, against the limit that it advertises,
/// so that no guest can make the card grow.
class PblQuota {
 public:
  explicit PblQuota(uint64_t limit) : limit_(limit) {}
  bool take(uint64_t n) {
    if (n > limit_ - used_) return false;
    used_ += n;
    return true;
  }
  void give(uint64_t n) { used_ -= n; }
  uint64_t used() const { return used_; }

 private:
  uint64_t limit_;
  uint64_t used_ = 0;
};

/// Page sizes that a page list may have, bit n for 2^n bytes: 4 KiB to 1 GiB.
inline constexpr uint64_t kPageShifts = 0x7ffff000;

enum class PblStatus { kOk, kBadParam, kNoResource, kDmaFault };

/// The pages of one buffer, read once from the host when the object is made. Movable, not copyable;
/// gives its quota back when it goes.
class PageList {
 public:
  PageList() = default;
  PageList(PageList&&) noexcept;
  PageList& operator=(PageList&&) noexcept;
  ~PageList();

  /// Reads and checks `pbl`. `length` is what the buffer must hold at least, bytes from its start;
  /// with 0 the list may be empty. kBadParam: a field of `pbl` or a page address is invalid, or the
  /// pages are fewer than `length` needs.
  static PblStatus load(HostBus& bus, FunctionId fn, const verna_pbl& pbl, uint64_t length,
                        PblQuota& quota, PageList* out);

  /// Bus address of the byte at `offset`, and in `*run` how many bytes follow contiguously.
  /// `offset` must be below length(). Physically adjacent pages count as one run only within a
  /// page.
  uint64_t translate(uint64_t offset, uint64_t* run) const;

  /// Bytes from the buffer's start to the end of its last page.
  uint64_t length() const { return length_; }
  uint64_t num_pages() const { return pages_.size(); }

 private:
  std::vector<uint64_t> pages_;
  uint64_t offset_ = 0;  // of the buffer in its first page
  uint64_t length_ = 0;
  uint8_t shift_ = 12;
  PblQuota* quota_ = nullptr;
};

/// Reads or writes `len` bytes at `offset` of a buffer, page by page. False: DMA failed or the
/// range is outside.
[[nodiscard]] bool read_pages(HostBus& bus, FunctionId fn, const PageList& pages, uint64_t offset,
                              void* dst, size_t len);
[[nodiscard]] bool write_pages(HostBus& bus, FunctionId fn, const PageList& pages, uint64_t offset,
                               const void* src, size_t len);

}  // namespace verna
