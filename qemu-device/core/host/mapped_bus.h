// SPDX-License-Identifier: GPL-2.0-or-later
// Host memory by mapping: the host says where memory is, the card copies.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "host/host_bus.h"
#include "host/pending_vectors.h"
#include "verna_core.h"

namespace verna {

/// A HostBus on the C interface. Asking the host where an address is costs far more than copying a
/// few bytes, so mappings are remembered until the host says that its memory changed; for each
/// function by itself, as an IOMMU may show it other memory.
class MappedBus final : public HostBus {
 public:
  struct Vector {
    FunctionId fn;
    uint16_t number;
  };
  /// The PF has `num_vectors` interrupts, each of `num_vfs` VFs `vf_vectors`. Throws
  /// std::bad_alloc.
  MappedBus(const verna_host_ops& ops, void* opaque, uint16_t num_vectors, uint16_t num_vfs = 0,
            uint16_t vf_vectors = 0);

  bool read(FunctionId fn, uint64_t addr, void* dst, size_t len) override;
  bool write(FunctionId fn, uint64_t addr, const void* src, size_t len) override;
  bool write_release64(FunctionId fn, uint64_t addr, uint64_t value) override;
  bool atomic64(FunctionId fn, uint64_t addr, AtomicOp op, uint64_t operand, uint64_t compare,
                uint64_t* original) override;
  void full_barrier() override { std::atomic_thread_fence(std::memory_order_seq_cst); }
  void raise(FunctionId fn, uint16_t vector) override {
    if (fn < functions_.size()) functions_[fn]->vectors.raise(vector);
  }

  /// Any thread: all mappings made so far are void.
  void forget() { generation_.fetch_add(1, std::memory_order_seq_cst); }

  /// As of PendingVectors, of all functions.
  bool vectors_pending() const;
  std::optional<Vector> take_vector();
  /// Forgets those of a function. Serialised as PendingVectors::clear().
  void clear_vectors(FunctionId fn) { functions_[fn]->vectors.clear(); }

 private:
  struct Entry {
    uint64_t addr = 0;
    verna_mapping map{};  // len 0: unused
    uint32_t generation = 0;
  };
  struct Function {
    explicit Function(uint16_t num_vectors) : vectors(num_vectors) {}
    PendingVectors vectors;
    // Guests have few blocks of memory: below and above 4 GiB, and small ones below 1 MiB.
    std::array<Entry, 4> entries{};
    size_t victim = 0;
  };
  /// A piece of host memory in one run.
  struct Piece {
    uint8_t* host = nullptr;
    uint64_t len = 0;
    void* region = nullptr;
    uint64_t offset = 0;
  };

  Piece find(FunctionId fn, uint64_t addr, uint64_t len, bool write);
  Piece ask(FunctionId fn, uint64_t addr, uint64_t len, bool write);
  static void remember(Function* function, const Entry& entry);
  uint64_t* find64(FunctionId fn, uint64_t addr, Piece* piece);

  verna_host_ops ops_;
  void* opaque_;
  std::atomic<uint32_t> generation_{0};
  std::vector<std::unique_ptr<Function>> functions_;
  size_t taking_ = 0;      // function whose vectors take_vector() looks at
  bool has_more_ = false;  // it had one, and may have others
};

}  // namespace verna
