// SPDX-License-Identifier: GPL-2.0-or-later
// The DMA self-test behind the TEST_DMA registers.
#pragma once

#include "host/host_bus.h"
#include "hw/verna_regs.h"

namespace verna {

/// One test at a time, started by a register write and executed by the card's next run.
class SelfTest {
 public:
  /// `command`: VERNA_TEST_DMA_*.
  void start(uint64_t addr, uint32_t size, uint32_t command);
  bool pending() const { return status_ == VERNA_TEST_DMA_BUSY; }
  uint32_t status() const { return status_; }
  void run(HostBus& bus, FunctionId fn);
  void reset() { status_ = VERNA_TEST_DMA_OK; }

 private:
  uint64_t addr_ = 0;
  uint32_t size_ = 0;
  uint32_t command_ = 0;
  uint32_t status_ = VERNA_TEST_DMA_OK;
};

}  // namespace verna
