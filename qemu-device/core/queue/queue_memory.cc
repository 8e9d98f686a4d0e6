// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue/queue_memory.h"

#include <algorithm>
#include <utility>

namespace verna {
namespace {

constexpr uint64_t kEntriesPerRead = 512;  // a 4 KiB page of addresses
constexpr uint8_t kContiguousShift = 63;   // level 0: one "page" that no buffer fills

/// Reads `count` (at most kEntriesPerRead) page addresses at `addr` and appends them.
PblStatus append(HostBus& bus, FunctionId fn, uint64_t addr, uint64_t count, uint64_t align_mask,
                 std::vector<uint64_t>* pages) {
  uint64_t entries[kEntriesPerRead];
  if (!bus.read(fn, addr, entries, count * sizeof entries[0])) return PblStatus::kDmaFault;
  for (uint64_t i = 0; i < count; i++) {
    if (entries[i] & align_mask) return PblStatus::kBadParam;
    pages->push_back(entries[i]);
  }
  return PblStatus::kOk;
}

PblStatus append_level1(HostBus& bus, FunctionId fn, const verna_pbl& pbl, uint64_t align_mask,
                        std::vector<uint64_t>* pages) {
  for (uint64_t i = 0; i < pbl.num_pages; i += kEntriesPerRead) {
    const uint64_t count = std::min<uint64_t>(kEntriesPerRead, pbl.num_pages - i);
    const PblStatus status =
        append(bus, fn, pbl.addr + i * sizeof(uint64_t), count, align_mask, pages);
    if (status != PblStatus::kOk) return status;
  }
  return PblStatus::kOk;
}

PblStatus append_level2(HostBus& bus, FunctionId fn, const verna_pbl& pbl, uint64_t align_mask,
                        std::vector<uint64_t>* pages) {
  for (uint64_t i = 0; i < pbl.num_pages; i += kEntriesPerRead) {
    uint64_t table;
    if (!bus.read(fn, pbl.addr + i / kEntriesPerRead * sizeof table, &table, sizeof table))
      return PblStatus::kDmaFault;
    if (table & (VERNA_PAGE_SIZE - 1)) return PblStatus::kBadParam;
    const uint64_t count = std::min<uint64_t>(kEntriesPerRead, pbl.num_pages - i);
    const PblStatus status = append(bus, fn, table, count, align_mask, pages);
    if (status != PblStatus::kOk) return status;
  }
  return PblStatus::kOk;
}

bool reserved_clear(const verna_pbl& pbl) { return all_zero(pbl.reserved); }

/// Level 0: the buffer is [addr, addr + length), of which nothing else is known.
bool contiguous_is_valid(const verna_pbl& pbl, uint64_t length) {
  return pbl.num_pages == (length ? 1 : 0) && pbl.offset == 0 &&
         length < uint64_t{1} << kContiguousShift && pbl.addr <= ~uint64_t{0} - length;
}

bool list_is_valid(const verna_pbl& pbl, uint64_t length) {
  if (pbl.level > 2 || pbl.page_shift > 63 || !(kPageShifts >> pbl.page_shift & 1)) return false;
  if (pbl.offset >= uint64_t{1} << pbl.page_shift) return false;
  const uint64_t total = uint64_t{pbl.num_pages} << pbl.page_shift;  // below 2^63
  return total >= length && total - length >= pbl.offset;
}

}  // namespace

PageList::PageList(PageList&& other) noexcept { *this = std::move(other); }

PageList& PageList::operator=(PageList&& other) noexcept {
  if (this == &other) return *this;
  if (quota_) quota_->give(pages_.size());
  pages_ = std::move(other.pages_);
  other.pages_.clear();
  offset_ = std::exchange(other.offset_, 0);
  length_ = std::exchange(other.length_, 0);
  shift_ = other.shift_;
  quota_ = std::exchange(other.quota_, nullptr);
  return *this;
}

PageList::~PageList() {
  if (quota_) quota_->give(pages_.size());
}

PblStatus PageList::load(HostBus& bus, FunctionId fn, const verna_pbl& pbl, uint64_t length,
                         PblQuota& quota, PageList* out) {
  if (!reserved_clear(pbl)) return PblStatus::kBadParam;
  const bool contiguous = pbl.level == 0;
  if (!(contiguous ? contiguous_is_valid(pbl, length) : list_is_valid(pbl, length)))
    return PblStatus::kBadParam;
  if (!quota.take(pbl.num_pages)) return PblStatus::kNoResource;

  PageList list;
  PblStatus status = PblStatus::kOk;
  list.pages_.reserve(pbl.num_pages);
  const uint64_t align_mask = contiguous ? 0 : (uint64_t{1} << pbl.page_shift) - 1;
  if (contiguous && length) list.pages_.push_back(pbl.addr);
  if (pbl.level == 1) status = append_level1(bus, fn, pbl, align_mask, &list.pages_);
  if (pbl.level == 2) status = append_level2(bus, fn, pbl, align_mask, &list.pages_);
  if (status != PblStatus::kOk) {
    quota.give(pbl.num_pages);
    return status;
  }
  list.quota_ = &quota;
  list.offset_ = pbl.offset;
  list.shift_ = contiguous ? kContiguousShift : pbl.page_shift;
  list.length_ = contiguous || !pbl.num_pages
                     ? length
                     : (uint64_t{pbl.num_pages} << pbl.page_shift) - pbl.offset;
  *out = std::move(list);
  return PblStatus::kOk;
}

uint64_t PageList::translate(uint64_t offset, uint64_t* run) const {
  const uint64_t pos = offset_ + offset;
  const uint64_t page_size = uint64_t{1} << shift_;
  const uint64_t in_page = pos & (page_size - 1);
  *run = std::min(page_size - in_page, length_ - offset);
  return pages_[pos >> shift_] + in_page;
}

bool read_pages(HostBus& bus, FunctionId fn, const PageList& pages, uint64_t offset, void* dst,
                size_t len) {
  if (len > pages.length() || offset > pages.length() - len) return false;
  auto* out = static_cast<uint8_t*>(dst);
  while (len > 0) {
    uint64_t run;
    const uint64_t addr = pages.translate(offset, &run);
    const size_t n = std::min<uint64_t>(run, len);
    if (!bus.read(fn, addr, out, n)) return false;
    out += n;
    offset += n;
    len -= n;
  }
  return true;
}

bool write_pages(HostBus& bus, FunctionId fn, const PageList& pages, uint64_t offset,
                 const void* src, size_t len) {
  if (len > pages.length() || offset > pages.length() - len) return false;
  const auto* in = static_cast<const uint8_t*>(src);
  while (len > 0) {
    uint64_t run;
    const uint64_t addr = pages.translate(offset, &run);
    const size_t n = std::min<uint64_t>(run, len);
    if (!bus.write(fn, addr, in, n)) return false;
    in += n;
    offset += n;
    len -= n;
  }
  return true;
}

}  // namespace verna
