// SPDX-License-Identifier: GPL-2.0-or-later
// Host memory by mapping: the host says where memory is, the card copies.
#pragma once

#include <array>
#include <atomic>

#include "host/host_bus.h"
#include "host/pending_vectors.h"
#include "verna_core.h"

namespace verna {

/// A HostBus on the C interface. Asking the host where an address is costs far more than copying a
/// few bytes, so mappings are remembered until the host says that its memory changed.
class MappedBus final : public HostBus {
 public:
  /// With `num_vectors` interrupts, which the host sends when it can.
  MappedBus(const verna_host_ops& ops, void* opaque, uint16_t num_vectors)
      : ops_(ops), opaque_(opaque), vectors_(num_vectors) {}

  bool read(FunctionId fn, uint64_t addr, void* dst, size_t len) override;
  bool write(FunctionId fn, uint64_t addr, const void* src, size_t len) override;
  bool write_release64(FunctionId fn, uint64_t addr, uint64_t value) override;
  bool atomic64(FunctionId fn, uint64_t addr, AtomicOp op, uint64_t operand, uint64_t compare,
                uint64_t* original) override;
  void full_barrier() override { std::atomic_thread_fence(std::memory_order_seq_cst); }
  void raise(FunctionId, uint16_t vector) override { vectors_.raise(vector); }

  /// Any thread: all mappings made so far are void.
  void forget() { generation_.fetch_add(1, std::memory_order_seq_cst); }
  PendingVectors& vectors() { return vectors_; }

 private:
  struct Entry {
    uint64_t addr = 0;
    verna_mapping map{};  // len 0: unused
    FunctionId fn = 0;
    uint32_t generation = 0;
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
  void remember(const Entry& entry);
  uint64_t* find64(FunctionId fn, uint64_t addr, Piece* piece);

  verna_host_ops ops_;
  void* opaque_;
  PendingVectors vectors_;
  std::atomic<uint32_t> generation_{0};
  // Guests have few blocks of memory: below and above 4 GiB, and small ones below 1 MiB.
  std::array<Entry, 4> entries_{};
  size_t victim_ = 0;
};

}  // namespace verna
