// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/self_test.h"

namespace verna {
namespace {

constexpr uint8_t kFillByte = 0x96;

}  // namespace

void SelfTest::start(uint64_t addr, uint32_t size, uint32_t command) {
  addr_ = addr;
  size_ = size;
  command_ = command;
  const bool known = command >= VERNA_TEST_DMA_CLEAR && command <= VERNA_TEST_DMA_INVERT;
  const bool fits = size >= 1 && size <= VERNA_TEST_DMA_MAX;
  status_ = known && fits ? VERNA_TEST_DMA_BUSY : VERNA_TEST_DMA_EINVAL;
}

void SelfTest::run(HostBus& bus, FunctionId fn) {
  uint8_t buffer[VERNA_TEST_DMA_MAX];
  std::memset(buffer, command_ == VERNA_TEST_DMA_FILL ? kFillByte : 0, size_);
  bool ok = true;
  if (command_ == VERNA_TEST_DMA_INVERT) {
    ok = bus.read(fn, addr_, buffer, size_);
    for (uint32_t i = 0; i < size_; i++) buffer[i] = static_cast<uint8_t>(~buffer[i]);
  }
  ok = ok && bus.write(fn, addr_, buffer, size_);
  status_ = ok ? VERNA_TEST_DMA_OK : VERNA_TEST_DMA_FAULT;
}

}  // namespace verna
