// SPDX-License-Identifier: GPL-2.0-or-later
// A function's view of its host: counts failures and interrupts.
#pragma once

#include "base/counters.h"
#include "base/trace.h"
#include "host/host_bus.h"

namespace verna {

/// Passes everything on to the real bus. All blocks of a function use this one, so that no block
/// has to count, and none can reach memory in the name of another function.
class CountingBus final : public HostBus {
 public:
  CountingBus(HostBus& bus, FunctionId fn, Counters& counters, Trace& trace)
      : bus_(bus), fn_(fn), counters_(counters), trace_(trace) {}

  bool read(FunctionId fn, uint64_t addr, void* dst, size_t len) override {
    return count(fn == fn_ && bus_.read(fn, addr, dst, len));
  }
  bool write(FunctionId fn, uint64_t addr, const void* src, size_t len) override {
    return count(fn == fn_ && bus_.write(fn, addr, src, len));
  }
  bool write_release64(FunctionId fn, uint64_t addr, uint64_t value) override {
    return count(fn == fn_ && bus_.write_release64(fn, addr, value));
  }
  bool atomic64(FunctionId fn, uint64_t addr, AtomicOp op, uint64_t operand, uint64_t compare,
                uint64_t* original) override {
    return count(fn == fn_ && bus_.atomic64(fn, addr, op, operand, compare, original));
  }
  void full_barrier() override { bus_.full_barrier(); }
  void raise(FunctionId fn, uint16_t vector) override {
    if (fn != fn_) return;
    counters_.dev[VERNA_DEV_interrupts]++;
    trace_.point(Stage::kInterrupt, vector);
    bus_.raise(fn, vector);
  }

 private:
  bool count(bool ok) {
    if (!ok) [[unlikely]]
      counters_.dev[VERNA_DEV_dma_errors]++;
    return ok;
  }

  HostBus& bus_;
  FunctionId fn_;
  Counters& counters_;
  Trace& trace_;
};

}  // namespace verna
