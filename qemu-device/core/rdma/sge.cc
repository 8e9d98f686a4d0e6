// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/sge.h"

#include <algorithm>
#include <cstring>

namespace verna {

void SgeList::assign(const uint8_t* segments, uint32_t count) {
  clear();
  count_ = count;
  std::memcpy(sge_.data(), segments, count * sizeof(verna_sge));
  for (uint32_t i = 0; i < count; i++) total_ += sge_[i].length;
}

void SgeList::seek(uint64_t offset) {
  index_ = 0;
  while (index_ < count_ && offset >= sge_[index_].length) offset -= sge_[index_++].length;
  offset_ = static_cast<uint32_t>(offset);
}

uint64_t SgeList::left() const {
  uint64_t left = 0;
  for (uint32_t i = index_; i < count_; i++) left += sge_[i].length;
  return left - (index_ < count_ ? offset_ : 0);
}

bool SgeList::check(const MemoryTable& memory, const Accessor& who, uint8_t need) const {
  for (uint32_t i = 0; i < count_; i++) {
    if (!memory.check(who, sge_[i].lkey, sge_[i].addr, sge_[i].length, need)) return false;
  }
  return true;
}

template <typename F>
Access SgeList::walk(uint32_t len, F copy) {
  while (len > 0) {
    if (index_ >= count_) return Access::kDenied;
    const verna_sge& sge = sge_[index_];
    const uint32_t n = std::min(len, sge.length - offset_);
    const Access access = copy(sge.lkey, sge.addr + offset_, n);
    if (access != Access::kOk) return access;
    len -= n;
    offset_ += n;
    if (offset_ == sge.length) {
      index_++;
      offset_ = 0;
    }
  }
  return Access::kOk;
}

Access SgeList::gather(const MemoryTable& memory, const Accessor& who, uint8_t* dst, uint32_t len) {
  return walk(len, [&](uint32_t key, uint64_t addr, uint32_t n) {
    const Access access = memory.read(who, key, addr, dst, n, 0);
    dst += n;
    return access;
  });
}

Access SgeList::scatter(const MemoryTable& memory, const Accessor& who, const uint8_t* src,
                        uint32_t len) {
  return walk(len, [&](uint32_t key, uint64_t addr, uint32_t n) {
    const Access access = memory.write(who, key, addr, src, n, VERNA_ACCESS_LOCAL_WRITE);
    src += n;
    return access;
  });
}

}  // namespace verna
