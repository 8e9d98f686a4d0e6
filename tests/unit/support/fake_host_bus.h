// SPDX-License-Identifier: GPL-2.0-or-later
// Host memory for tests: the card may touch only what a test registered.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "host/host_bus.h"

namespace verna::test {

/// Sparse guest memory made of registered regions with unmapped gaps between them. An access that
/// leaves its region fails, and fails the test as well unless the test said that it expects faults.
class FakeHostBus : public HostBus {
 public:
  enum class Kind { kRead, kWrite, kRelease, kAtomic };
  struct Access {
    Kind kind;
    uint64_t addr;
    size_t len;
  };
  /// Called after the card's read was served, so that a test can change memory behind its back.
  using Hook = std::function<void(const Access&)>;

  static constexpr uint64_t kBase = 0x1'0000'0000;

  /// Of function `fn`; access by another fails the test.
  explicit FakeHostBus(FunctionId fn = 0) : fn_(fn) {}
  ~FakeHostBus() override;

  /// Registers `len` zeroed bytes and returns their bus address, aligned to `align`.
  uint64_t alloc(size_t len, const std::string& name = "buffer", size_t align = 4096);
  /// Takes a region away; its addresses are not used again.
  void release(uint64_t addr);
  /// Registers `len` bytes at exactly `addr`.
  void map(uint64_t addr, size_t len, const std::string& name);

  /// The test's own view of memory. Aborts the test program if it is not registered.
  uint8_t* ptr(uint64_t addr, size_t len = 1);
  template <typename T>
  T load(uint64_t addr) {
    return load_le<T>(ptr(addr, sizeof(T)));
  }
  template <typename T>
  void store(uint64_t addr, T v) {
    store_le(ptr(addr, sizeof(T)), v);
  }
  std::vector<uint8_t> bytes(uint64_t addr, size_t len);
  void fill(uint64_t addr, const std::vector<uint8_t>& data);

  /// From now on faults are part of the test.
  void expect_faults(bool on = true) { expect_faults_ = on; }
  uint64_t faults() const { return faults_; }
  /// The n-th access from now (1 is the next) and only it fails as if it were no memory; 0: none.
  void fail_nth(uint64_t n) { fail_nth_ = n; }
  bool fail_pending() const { return fail_nth_ != 0; }
  uint64_t accesses() const { return accesses_; }
  uint64_t barriers() const { return barriers_; }

  void set_read_hook(Hook hook) { read_hook_ = std::move(hook); }
  void set_write_hook(Hook hook) { write_hook_ = std::move(hook); }
  void set_barrier_hook(std::function<void()> hook) { barrier_hook_ = std::move(hook); }

  /// Counts how often the card reads each byte of a range.
  void watch(uint64_t addr, size_t len);
  unsigned max_fetches() const;

  /// Raised vectors since the last call of clear_interrupts().
  unsigned interrupts(uint16_t vector) const {
    auto it = interrupts_.find(vector);
    return it == interrupts_.end() ? 0 : it->second;
  }
  unsigned total_interrupts() const { return total_interrupts_; }
  void clear_interrupts() {
    interrupts_.clear();
    total_interrupts_ = 0;
  }

  /// Hash of all registered memory, for tests that say "nothing changed".
  uint64_t hash() const;

  bool read(FunctionId fn, uint64_t addr, void* dst, size_t len) override;
  bool write(FunctionId fn, uint64_t addr, const void* src, size_t len) override;
  bool write_release64(FunctionId fn, uint64_t addr, uint64_t value) override;
  bool atomic64(FunctionId fn, uint64_t addr, AtomicOp op, uint64_t operand, uint64_t compare,
                uint64_t* original) override;
  void full_barrier() override;
  void raise(FunctionId fn, uint16_t vector) override;

 private:
  struct Region {
    std::vector<uint8_t> data;
    std::string name;
  };
  uint8_t* find(uint64_t addr, size_t len);
  uint8_t* access(Kind kind, FunctionId fn, uint64_t addr, size_t len);

  FunctionId fn_;
  std::map<uint64_t, Region> regions_;
  std::map<uint64_t, Region>::iterator last_ = regions_.end();
  uint64_t next_ = kBase;
  bool expect_faults_ = false;
  uint64_t faults_ = 0;
  uint64_t fail_nth_ = 0;
  uint64_t accesses_ = 0;
  uint64_t barriers_ = 0;
  Hook read_hook_;
  Hook write_hook_;
  std::function<void()> barrier_hook_;
  uint64_t watch_addr_ = 0;
  std::vector<unsigned> watch_count_;
  std::map<uint16_t, unsigned> interrupts_;
  unsigned total_interrupts_ = 0;
};

/// The memory of each function by itself, as an IOMMU makes it.
class FunctionBuses final : public HostBus {
 public:
  void add(FakeHostBus& bus) { buses_.push_back(&bus); }

  bool read(FunctionId fn, uint64_t addr, void* dst, size_t len) override {
    return buses_.at(fn)->read(fn, addr, dst, len);
  }
  bool write(FunctionId fn, uint64_t addr, const void* src, size_t len) override {
    return buses_.at(fn)->write(fn, addr, src, len);
  }
  bool write_release64(FunctionId fn, uint64_t addr, uint64_t value) override {
    return buses_.at(fn)->write_release64(fn, addr, value);
  }
  bool atomic64(FunctionId fn, uint64_t addr, AtomicOp op, uint64_t operand, uint64_t compare,
                uint64_t* original) override {
    return buses_.at(fn)->atomic64(fn, addr, op, operand, compare, original);
  }
  void full_barrier() override { buses_[0]->full_barrier(); }
  void raise(FunctionId fn, uint16_t vector) override { buses_.at(fn)->raise(fn, vector); }

 private:
  std::vector<FakeHostBus*> buses_;  // by function
};

}  // namespace verna::test
