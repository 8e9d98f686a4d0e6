// SPDX-License-Identifier: GPL-2.0-or-later
// The host as the card sees it: memory by bus address, and interrupts.
#pragma once

#include <cstddef>

#include "base/types.h"

namespace verna {

enum class AtomicOp { kCompareSwap, kFetchAdd };

/// Access to the host. Implemented by the QEMU shim (PCI DMA of the function), by the simulator and
/// by the unit tests' fake, which fails on memory that was not registered.
///
/// Every access may fail: the address is no memory, belongs to a device (a BAR) or the IOMMU
/// forbids it. Addresses are the guest's; nothing about them may be assumed. Called only from
/// Nic::run() and the control entry points, by one thread at a time.
class HostBus {
 public:
  virtual ~HostBus() = default;

  /// Copies `len` bytes from host memory. False: the access failed and `dst` is undefined.
  [[nodiscard]] virtual bool read(FunctionId fn, uint64_t addr, void* dst, size_t len) = 0;

  /// Copies `len` bytes to host memory; an earlier write is visible no later than a later one
  /// that uses write_release64().
  [[nodiscard]] virtual bool write(FunctionId fn, uint64_t addr, const void* src, size_t len) = 0;

  /// Stores 8 bytes at an 8-byte aligned address in one piece, after all earlier writes.
  [[nodiscard]] virtual bool write_release64(FunctionId fn, uint64_t addr, uint64_t value) = 0;

  /// Atomic on 8 naturally aligned bytes in host byte order, also against the host's processors.
  /// `operand` is the swap or add value. Stores the value before the operation in `*original`.
  [[nodiscard]] virtual bool atomic64(FunctionId fn, uint64_t addr, AtomicOp op, uint64_t operand,
                                      uint64_t compare, uint64_t* original) = 0;

  /// Full memory barrier between the card's writes and its following reads of host memory.
  virtual void full_barrier() = 0;

  /// Raises an MSI-X vector. May be deferred by the implementation until Nic::run() returns.
  virtual void raise(FunctionId fn, uint16_t vector) = 0;
};

}  // namespace verna
