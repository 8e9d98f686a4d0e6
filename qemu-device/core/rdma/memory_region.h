// SPDX-License-Identifier: GPL-2.0-or-later
// Protection domains and memory regions: who may touch which host memory.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>

#include "hw/verna_rdma.h"
#include "queue/queue_memory.h"
#include "rdma/random_ids.h"

namespace verna {

/// Why an access to a region failed, or that it did not.
enum class Access {
  kOk,
  kDenied,    // key, domain, bounds or rights
  kDmaFault,  // the region's memory is not memory
};

/// A protection domain. Queue pairs and regions hold it.
struct ProtectionDomain {
  uint32_t pdn;
  uint32_t users = 0;
};

struct MemoryRegion {
  uint32_t key;
  ProtectionDomain* pd;
  FunctionId fn;
  uint8_t access;  // VERNA_ACCESS_*
  bool dma;        // all of memory by bus address
  bool invalid;    // invalidated: only destroying it is left
  uint64_t start;  // address of the first byte as requests name it
  uint64_t length;
  PageList pages;
};

/// The owner of an access: what a queue pair shows at a region's door.
struct Accessor {
  FunctionId fn;
  const ProtectionDomain* pd;
};

/// All regions of a card by key. A key of 32 random bits names a region for local and remote use.
class MemoryTable {
 public:
  MemoryTable(HostBus& bus, Rng& rng) : bus_(bus), keys_(rng, 32, 1) {}

  /// Gives `region` a key. The caller has counted the domain's user.
  uint32_t add(std::unique_ptr<MemoryRegion> region);
  /// Destroys the region and drops its use of the domain. False: no such key.
  bool remove(uint32_t key, FunctionId fn);
  void clear();
  size_t size() const { return regions_.size(); }
  MemoryRegion* find(uint32_t key) const;

  /// May `who` use [addr, addr + len) with all rights in `need`? A length of 0 is always allowed.
  bool check(const Accessor& who, uint32_t key, uint64_t addr, uint64_t len, uint8_t need) const;

  /// Checked copies between the region and the card.
  Access read(const Accessor& who, uint32_t key, uint64_t addr, void* dst, uint32_t len,
              uint8_t need) const;
  Access write(const Accessor& who, uint32_t key, uint64_t addr, const void* src, uint32_t len,
               uint8_t need) const;
  /// `addr` is a multiple of 8.
  Access atomic64(const Accessor& who, uint32_t key, uint64_t addr, AtomicOp op, uint64_t operand,
                  uint64_t compare, uint64_t* original) const;

  /// True if `who` may invalidate the region: one of its domain, not that of all memory, and, if a
  /// peer asks, one that grants peers something.
  bool can_invalidate(const Accessor& who, uint32_t key, bool remote) const;
  /// After can_invalidate().
  void invalidate(uint32_t key) { find(key)->invalid = true; }

  template <typename F>
  void for_each(F f) const {
    for (const auto& [key, region] : regions_) f(*region);
  }

 private:
  const MemoryRegion* admit(const Accessor& who, uint32_t key, uint64_t addr, uint64_t len,
                            uint8_t need) const;

  HostBus& bus_;
  RandomIds keys_;
  std::unordered_map<uint32_t, std::unique_ptr<MemoryRegion>> regions_;
  static constexpr uint32_t kRecent = 16;
  mutable std::array<MemoryRegion*, kRecent> recent_{};  // streams use few keys again and again
};

/// True if [start, start + length) goes over the end of the 64-bit addresses.
inline bool range_wraps(uint64_t start, uint64_t length) {
  return length > 0 && start + (length - 1) < start;
}

}  // namespace verna
