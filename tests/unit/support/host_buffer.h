// SPDX-License-Identifier: GPL-2.0-or-later
// A buffer in host memory as a page list describes it.
#pragma once

#include <vector>

#include "hw/verna_queue.h"
#include "support/fake_host_bus.h"

namespace verna::test {

struct BufferShape {
  uint8_t level = 0;
  uint8_t page_shift = 12;
  uint32_t offset = 0;  // of the first byte in the first page
  bool scatter = true;  // pages in an order that is not that of their addresses
};

/// Memory and the page list that names it. At level 0 it is one run, otherwise pages of their own,
/// each a region of the bus, so that a card that runs over a page's end is caught.
class HostBuffer {
 public:
  HostBuffer() = default;
  HostBuffer(FakeHostBus& bus, uint64_t len, const BufferShape& shape = {},
             const char* name = "buffer");

  const verna_pbl& pbl() const { return pbl_; }
  uint64_t length() const { return len_; }
  /// Bus address of the byte at `offset`, and how many bytes follow in one run.
  uint64_t at(uint64_t offset, uint64_t* run = nullptr) const;

  std::vector<uint8_t> read(uint64_t offset, uint64_t len) const;
  void write(uint64_t offset, const std::vector<uint8_t>& data);
  template <typename T>
  T load(uint64_t offset) const {
    return bus_->load<T>(at(offset));
  }
  template <typename T>
  void store(uint64_t offset, T v) {
    bus_->store<T>(at(offset), v);
  }
  const std::vector<uint64_t>& pages() const { return pages_; }
  /// Takes the memory away from the card.
  void unmap();

 private:
  FakeHostBus* bus_ = nullptr;
  uint64_t len_ = 0;
  uint64_t page_size_ = 0;
  uint32_t offset_ = 0;
  std::vector<uint64_t> pages_;
  verna_pbl pbl_{};
};

}  // namespace verna::test
