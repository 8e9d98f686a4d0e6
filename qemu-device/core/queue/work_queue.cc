// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue/work_queue.h"

#include <algorithm>
#include <cstddef>

#include "queue/ring_place.h"

namespace verna {

bool WorkQueue::init(HostBus* bus, FunctionId fn, const PageList* memory, const Layout& layout) {
  if (layout.log_size > 20 || layout.log_stride < 4 || layout.log_stride > 12) return false;
  const uint64_t stride_bytes = uint64_t{1} << layout.log_stride;
  const uint64_t ring_bytes = stride_bytes << layout.log_size;
  if (!fits_record(*memory, layout.rec_offset)) return false;
  if (!fits_aligned(*memory, layout.ring_offset, ring_bytes, stride_bytes)) return false;
  bus_ = bus;
  fn_ = fn;
  memory_ = memory;
  layout_ = layout;
  uint64_t run;
  rec_addr_ = memory->translate(layout.rec_offset, &run);
  batch_ = std::make_unique<std::array<uint8_t, kBatchBytes>>();
  reset();
  return true;
}

bool WorkQueue::refresh() {
  uint32_t prod;
  if (!bus_->read(fn_, rec_addr_ + offsetof(verna_wq_rec, prod_index), &prod, sizeof prod))
    return false;
  if (prod - cons_ > size()) return false;
  // An index that went back would take away entries that were seen already.
  if (prod - cons_ < available()) return false;
  prod_ = prod;
  return true;
}

const uint8_t* WorkQueue::entry(uint32_t ahead) {
  const uint32_t index = cons_ + ahead;
  const uint32_t in_batch = index - batch_first_;
  if (in_batch < batch_count_) return batch_->data() + (in_batch << layout_.log_stride);
  return fetch(index);
}

/// Fills the batch from `index` on, as far as entries are posted and memory is contiguous.
const uint8_t* WorkQueue::fetch(uint32_t index) {
  const uint32_t slot = index & (size() - 1);
  uint64_t run;
  const uint64_t addr =
      memory_->translate(layout_.ring_offset + (uint64_t{slot} << layout_.log_stride), &run);
  uint64_t count = std::min<uint64_t>(prod_ - index, size() - slot);
  count = std::min<uint64_t>({count, run >> layout_.log_stride, kBatchBytes >> layout_.log_stride});
  batch_count_ = 0;
  if (!bus_->read(fn_, addr, batch_->data(), count << layout_.log_stride)) return nullptr;
  batch_first_ = index;
  batch_count_ = static_cast<uint32_t>(count);
  return batch_->data();
}

bool WorkQueue::reread(uint32_t index, void* dst, uint32_t len) {
  const uint64_t slot = index & (size() - 1);
  return read_pages(*bus_, fn_, *memory_, layout_.ring_offset + (slot << layout_.log_stride), dst,
                    std::min(len, stride()));
}

bool WorkQueue::set_need_doorbell(bool need) {
  if (!need && !need_doorbell_) return true;
  const uint32_t value = need;
  need_doorbell_ = need;
  if (!bus_->write(fn_, rec_addr_ + offsetof(verna_wq_rec, need_doorbell), &value, sizeof value))
    return false;
  if (need) bus_->full_barrier();
  return true;
}

void WorkQueue::reset() {
  prod_ = cons_ = 0;
  batch_first_ = batch_count_ = 0;
}

}  // namespace verna
