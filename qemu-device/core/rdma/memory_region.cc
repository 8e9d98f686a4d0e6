// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/memory_region.h"

#include <algorithm>

namespace verna {

uint32_t MemoryTable::add(std::unique_ptr<MemoryRegion> region) {
  const uint32_t key = keys_.allocate();
  region->key = key;
  regions_.emplace(key, std::move(region));
  return key;
}

bool MemoryTable::remove(uint32_t key, FunctionId fn) {
  const auto it = regions_.find(key);
  if (it == regions_.end() || it->second->fn != fn) return false;
  MemoryRegion*& recent = recent_[key % kRecent];
  if (recent == it->second.get()) recent = nullptr;
  it->second->pd->users--;
  regions_.erase(it);
  keys_.release(key);
  return true;
}

void MemoryTable::clear() {
  for (const auto& [key, region] : regions_) {
    region->pd->users--;
    keys_.release(key);
  }
  regions_.clear();
  recent_.fill(nullptr);
}

MemoryRegion* MemoryTable::find(uint32_t key) const {
  MemoryRegion*& recent = recent_[key % kRecent];
  if (recent && recent->key == key) return recent;
  const auto it = regions_.find(key);
  if (it == regions_.end()) return nullptr;
  recent = it->second.get();
  return recent;
}

/// The one door to host memory for work requests: every rule is checked here.
const MemoryRegion* MemoryTable::admit(const Accessor& who, uint32_t key, uint64_t addr,
                                       uint64_t len, uint8_t need) const {
  const MemoryRegion* region = find(key);
  if (!region || region->invalid || region->pd != who.pd || region->fn != who.fn) return nullptr;
  if ((region->access & need) != need) return nullptr;
  if (region->dma) return range_wraps(addr, len) ? nullptr : region;
  const uint64_t offset = addr - region->start;
  if (addr < region->start || offset > region->length || len > region->length - offset)
    return nullptr;
  return region;
}

bool MemoryTable::check(const Accessor& who, uint32_t key, uint64_t addr, uint64_t len,
                        uint8_t need) const {
  return len == 0 || admit(who, key, addr, len, need) != nullptr;
}

namespace {

/// Calls `copy(bus address, bytes)` for each contiguous run of [addr, addr + len).
template <typename F>
bool for_each_run(const MemoryRegion& region, uint64_t addr, uint32_t len, F copy) {
  if (region.dma) return copy(addr, len);
  uint64_t offset = addr - region.start;
  while (len > 0) {
    uint64_t run;
    const uint64_t bus_addr = region.pages.translate(offset, &run);
    const uint32_t n = static_cast<uint32_t>(std::min<uint64_t>(run, len));
    if (!copy(bus_addr, n)) return false;
    offset += n;
    len -= n;
  }
  return true;
}

}  // namespace

Access MemoryTable::read(const Accessor& who, uint32_t key, uint64_t addr, void* dst, uint32_t len,
                         uint8_t need) const {
  if (len == 0) return Access::kOk;
  const MemoryRegion* region = admit(who, key, addr, len, need);
  if (!region) return Access::kDenied;
  uint8_t* out = static_cast<uint8_t*>(dst);
  const bool ok = for_each_run(*region, addr, len, [&](uint64_t bus_addr, uint32_t n) {
    if (!bus_.read(region->fn, bus_addr, out, n)) return false;
    out += n;
    return true;
  });
  return ok ? Access::kOk : Access::kDmaFault;
}

Access MemoryTable::write(const Accessor& who, uint32_t key, uint64_t addr, const void* src,
                          uint32_t len, uint8_t need) const {
  if (len == 0) return Access::kOk;
  const MemoryRegion* region = admit(who, key, addr, len, need);
  if (!region) return Access::kDenied;
  const uint8_t* in = static_cast<const uint8_t*>(src);
  const bool ok = for_each_run(*region, addr, len, [&](uint64_t bus_addr, uint32_t n) {
    if (!bus_.write(region->fn, bus_addr, in, n)) return false;
    in += n;
    return true;
  });
  return ok ? Access::kOk : Access::kDmaFault;
}

Access MemoryTable::atomic64(const Accessor& who, uint32_t key, uint64_t addr, AtomicOp op,
                             uint64_t operand, uint64_t compare, uint64_t* original) const {
  const MemoryRegion* region = admit(who, key, addr, 8, VERNA_ACCESS_REMOTE_ATOMIC);
  if (!region) return Access::kDenied;
  uint64_t bus_addr = addr;
  if (!region->dma) {
    uint64_t run;
    bus_addr = region->pages.translate(addr - region->start, &run);
    // An address that is aligned in the region need not be aligned in memory.
    if (run < 8 || bus_addr % 8 != 0) return Access::kDenied;
  }
  return bus_.atomic64(region->fn, bus_addr, op, operand, compare, original) ? Access::kOk
                                                                             : Access::kDmaFault;
}

bool MemoryTable::can_invalidate(const Accessor& who, uint32_t key, bool remote) const {
  constexpr uint8_t kRemote =
      VERNA_ACCESS_REMOTE_WRITE | VERNA_ACCESS_REMOTE_READ | VERNA_ACCESS_REMOTE_ATOMIC;
  const MemoryRegion* region = find(key);
  if (!region || region->invalid || region->pd != who.pd || region->fn != who.fn) return false;
  return !region->dma && (!remote || (region->access & kRemote) != 0);
}

}  // namespace verna
