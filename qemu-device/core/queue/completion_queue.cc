// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue/completion_queue.h"

#include "queue/ring_place.h"

namespace verna {

bool PhaseRing::init(HostBus* bus, FunctionId fn, PageList memory, const Layout& layout) {
  if (layout.log_size > 24 || (layout.entry_size != 32 && layout.entry_size != 64)) return false;
  const uint64_t ring_bytes = uint64_t{layout.entry_size} << layout.log_size;
  if (!fits_record(memory, layout.rec_offset)) return false;
  if (!fits_aligned(memory, layout.ring_offset, ring_bytes, layout.entry_size)) return false;
  bus_ = bus;
  fn_ = fn;
  layout_ = layout;
  uint64_t run;
  rec_addr_ = memory.translate(layout.rec_offset, &run);
  memory_ = std::move(memory);
  prod_ = cons_ = served_arm_sn_ = 0;
  return true;
}

PhaseRing::Push PhaseRing::push(void* entry) {
  if (prod_ - cons_ >= size()) {
    if (!read_record(nullptr)) return Push::kDmaFault;
    if (prod_ - cons_ >= size()) return Push::kFull;
  }
  auto* bytes = static_cast<uint8_t*>(entry);
  bytes[layout_.entry_size - 1] = ~(prod_ >> layout_.log_size) & VERNA_PHASE;

  const uint64_t slot = prod_ & (size() - 1);
  uint64_t run;
  const uint64_t addr = memory_.translate(layout_.ring_offset + slot * layout_.entry_size, &run);
  const uint32_t body = layout_.entry_size - 8u;
  if (!bus_->write(fn_, addr, bytes, body)) return Push::kDmaFault;
  if (!bus_->write_release64(fn_, addr + body, load_le<uint64_t>(bytes + body)))
    return Push::kDmaFault;
  prod_++;
  return Push::kOk;
}

bool PhaseRing::has_room(uint32_t wanted) {
  if (size() - (prod_ - cons_) >= wanted) return true;
  return read_record(nullptr) && size() - (prod_ - cons_) >= wanted;
}

PhaseRing::Arm PhaseRing::look_for_arm() {
  uint32_t word;
  bus_->full_barrier();
  if (!read_record(&word)) return {VERNA_ARM_NONE, 0};
  const Arm arm{word & VERNA_ARM_TYPE_MASK, word >> VERNA_ARM_SN_SHIFT};
  return arm.sn == served_arm_sn_ ? Arm{VERNA_ARM_NONE, arm.sn} : arm;
}

bool PhaseRing::take_arm(bool solicited) {
  const Arm arm = look_for_arm();
  if (arm.type != VERNA_ARM_NEXT && !(arm.type == VERNA_ARM_SOLICITED && solicited)) return false;
  serve(arm);
  return true;
}

/// Takes the host's consumer index, unless it names entries that do not exist.
bool PhaseRing::read_record(uint32_t* arm) {
  uint32_t rec[2];
  static_assert(offsetof(verna_cq_rec, cons_index) == 0 && offsetof(verna_cq_rec, arm) == 4);
  if (!bus_->read(fn_, rec_addr_, rec, sizeof rec)) return false;
  if (prod_ - rec[0] <= prod_ - cons_) cons_ = rec[0];
  if (arm) *arm = rec[1];
  return true;
}

}  // namespace verna
