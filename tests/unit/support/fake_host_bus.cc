// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/fake_host_bus.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "support/fail.h"

namespace verna::test {

FakeHostBus::~FakeHostBus() = default;

uint64_t FakeHostBus::alloc(size_t len, const std::string& name, size_t align) {
  const uint64_t addr = (next_ + align - 1) / align * align;
  map(addr, len, name);
  return addr;
}

void FakeHostBus::map(uint64_t addr, size_t len, const std::string& name) {
  Region region{std::vector<uint8_t>(len), name};
  regions_.emplace(addr, std::move(region));
  last_ = regions_.end();
  // A gap of at least a page after every region catches overruns.
  next_ = std::max(next_, (addr + len + 2 * 4096) / 4096 * 4096);
}

void FakeHostBus::release(uint64_t addr) {
  regions_.erase(addr);
  last_ = regions_.end();
}

uint8_t* FakeHostBus::find(uint64_t addr, size_t len) {
  const auto inside = [&](std::map<uint64_t, Region>::iterator it) {
    const uint64_t size = it->second.data.size();
    return addr >= it->first && addr - it->first < size && len <= size - (addr - it->first);
  };
  if (last_ == regions_.end() || !inside(last_)) {
    auto it = regions_.upper_bound(addr);
    if (it == regions_.begin() || !inside(--it)) return nullptr;
    last_ = it;
  }
  return last_->second.data.data() + (addr - last_->first);
}

uint8_t* FakeHostBus::ptr(uint64_t addr, size_t len) {
  uint8_t* p = find(addr, len);
  if (!p) {
    std::fprintf(stderr, "the test itself used unregistered memory at %#llx\n",
                 static_cast<unsigned long long>(addr));
    std::abort();
  }
  return p;
}

std::vector<uint8_t> FakeHostBus::bytes(uint64_t addr, size_t len) {
  if (len == 0) return {};
  const uint8_t* p = ptr(addr, len);
  return {p, p + len};
}

void FakeHostBus::fill(uint64_t addr, const std::vector<uint8_t>& data) {
  if (!data.empty()) std::copy(data.begin(), data.end(), ptr(addr, data.size()));
}

uint8_t* FakeHostBus::access(Kind kind, FunctionId fn, uint64_t addr, size_t len) {
  accesses_++;
  if (fn != fn_) fail("DMA in the name of another function");
  if (fail_nth_ != 0 && --fail_nth_ == 0) {
    faults_++;
    return nullptr;
  }
  uint8_t* p = find(addr, len);
  if (p) return p;
  faults_++;
  if (!expect_faults_) {
    char text[128];
    std::snprintf(text, sizeof text, "DMA outside of registered memory: %s of %zu bytes at %#llx",
                  kind == Kind::kRead ? "read" : "write", len,
                  static_cast<unsigned long long>(addr));
    fail(text);
  }
  return nullptr;
}

void FakeHostBus::watch(uint64_t addr, size_t len) {
  watch_addr_ = addr;
  watch_count_.assign(len, 0);
}

unsigned FakeHostBus::max_fetches() const {
  return watch_count_.empty() ? 0 : *std::max_element(watch_count_.begin(), watch_count_.end());
}

uint64_t FakeHostBus::hash() const {
  uint64_t h = 0xcbf29ce484222325;
  for (const auto& [addr, region] : regions_) {
    h ^= addr;
    for (uint8_t byte : region.data) h = (h ^ byte) * 0x100000001b3;
  }
  return h;
}

bool FakeHostBus::read(FunctionId fn, uint64_t addr, void* dst, size_t len) {
  if (len == 0) return true;
  const uint8_t* p = access(Kind::kRead, fn, addr, len);
  if (!p) return false;
  std::memcpy(dst, p, len);
  for (size_t i = 0; i < watch_count_.size(); i++) {
    const uint64_t byte = watch_addr_ + i;
    if (byte >= addr && byte - addr < len) watch_count_[i]++;
  }
  if (read_hook_) read_hook_({Kind::kRead, addr, len});
  return true;
}

bool FakeHostBus::write(FunctionId fn, uint64_t addr, const void* src, size_t len) {
  if (len == 0) return true;
  uint8_t* p = access(Kind::kWrite, fn, addr, len);
  if (!p) return false;
  std::memcpy(p, src, len);
  if (write_hook_) write_hook_({Kind::kWrite, addr, len});
  return true;
}

bool FakeHostBus::write_release64(FunctionId fn, uint64_t addr, uint64_t value) {
  if (addr % 8 != 0) fail("write_release64 at an unaligned address");
  uint8_t* p = access(Kind::kRelease, fn, addr, 8);
  if (!p) return false;
  store_le(p, value);
  if (write_hook_) write_hook_({Kind::kRelease, addr, 8});
  return true;
}

bool FakeHostBus::atomic64(FunctionId fn, uint64_t addr, AtomicOp op, uint64_t operand,
                           uint64_t compare, uint64_t* original) {
  if (addr % 8 != 0) fail("atomic64 at an unaligned address");
  uint8_t* p = access(Kind::kAtomic, fn, addr, 8);
  if (!p) return false;
  const uint64_t old = load_le<uint64_t>(p);
  *original = old;
  if (op == AtomicOp::kFetchAdd) {
    store_le(p, old + operand);
  } else if (old == compare) {
    store_le(p, operand);
  }
  if (write_hook_) write_hook_({Kind::kAtomic, addr, 8});
  return true;
}

void FakeHostBus::full_barrier() {
  barriers_++;
  if (barrier_hook_) barrier_hook_();
}

void FakeHostBus::raise(FunctionId fn, uint16_t vector) {
  if (fn != fn_) fail("interrupt in the name of another function");
  interrupts_[vector]++;
  total_interrupts_++;
}

}  // namespace verna::test
