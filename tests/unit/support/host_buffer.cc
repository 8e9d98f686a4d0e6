// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/host_buffer.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace verna::test {
namespace {

/// Writes the addresses of `pages` into lists of 512 and returns the list pages.
std::vector<uint64_t> write_lists(FakeHostBus& bus, const std::vector<uint64_t>& pages) {
  std::vector<uint64_t> lists;
  for (size_t first = 0; first < pages.size(); first += 512) {
    lists.push_back(bus.alloc(4096, "page list"));
    for (size_t i = first; i < std::min(first + 512, pages.size()); i++) {
      bus.store<uint64_t>(lists.back() + 8 * (i - first), pages[i]);
    }
  }
  return lists;
}

uint64_t write_list(FakeHostBus& bus, const std::vector<uint64_t>& addresses) {
  const uint64_t list = bus.alloc(8 * std::max<size_t>(addresses.size(), 1), "page list");
  for (size_t i = 0; i < addresses.size(); i++) bus.store<uint64_t>(list + 8 * i, addresses[i]);
  return list;
}

}  // namespace

HostBuffer::HostBuffer(FakeHostBus& bus, uint64_t len, const BufferShape& shape, const char* name)
    : bus_(&bus), len_(len), offset_(shape.offset) {
  pbl_.level = shape.level;
  if (shape.level == 0) {
    page_size_ = std::max<uint64_t>(len, 1);
    pages_.push_back(bus.alloc(page_size_, name));
    pbl_.addr = pages_[0];
    pbl_.num_pages = 1;
    return;
  }
  page_size_ = uint64_t{1} << shape.page_shift;
  const uint64_t count = (offset_ + len + page_size_ - 1) / page_size_;
  for (uint64_t i = 0; i < count; i++) pages_.push_back(bus.alloc(page_size_, name, page_size_));
  if (shape.scatter) {
    for (size_t i = 0; i + 1 < pages_.size(); i += 2) std::swap(pages_[i], pages_[i + 1]);
  }
  pbl_.num_pages = static_cast<uint32_t>(count);
  pbl_.offset = shape.offset;
  pbl_.page_shift = shape.page_shift;
  pbl_.addr =
      shape.level == 1 ? write_list(bus, pages_) : write_list(bus, write_lists(bus, pages_));
}

uint64_t HostBuffer::at(uint64_t offset, uint64_t* run) const {
  const uint64_t byte = offset_ + offset;
  if (byte / page_size_ >= pages_.size()) {
    std::fprintf(stderr, "the test itself left its buffer at offset %llu\n",
                 static_cast<unsigned long long>(offset));
    std::abort();
  }
  if (run) *run = page_size_ - byte % page_size_;
  return pages_[byte / page_size_] + byte % page_size_;
}

std::vector<uint8_t> HostBuffer::read(uint64_t offset, uint64_t len) const {
  std::vector<uint8_t> out;
  while (len > 0) {
    uint64_t run;
    const uint64_t addr = at(offset, &run);
    const uint64_t n = std::min(run, len);
    const uint8_t* p = bus_->ptr(addr, n);
    out.insert(out.end(), p, p + n);
    offset += n;
    len -= n;
  }
  return out;
}

void HostBuffer::write(uint64_t offset, const std::vector<uint8_t>& data) {
  uint64_t done = 0;
  while (done < data.size()) {
    uint64_t run;
    const uint64_t addr = at(offset + done, &run);
    const uint64_t n = std::min<uint64_t>(run, data.size() - done);
    std::copy_n(data.begin() + static_cast<ptrdiff_t>(done), n, bus_->ptr(addr, n));
    done += n;
  }
}

void HostBuffer::unmap() {
  for (uint64_t page : pages_) bus_->release(page);
}

}  // namespace verna::test
