// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/reg_file.h"

#include <algorithm>

namespace verna {
namespace {

constexpr uint32_t kVersion = 0x01000000;  // 1.0.0
constexpr uint32_t kLastRegister = VERNA_REG_BAD_ACCESS;

#define VERNA_RO(name) \
  RegisterInfo { VERNA_REG_##name, Access::kReadOnly, #name }
#define VERNA_RW(name) \
  RegisterInfo { VERNA_REG_##name, Access::kReadWrite, #name }
#define VERNA_WO(name) \
  RegisterInfo { VERNA_REG_##name, Access::kWriteOnly, #name }
constexpr RegisterInfo kTable[] = {
    VERNA_RO(MAGIC),         VERNA_RO(ABI),
    VERNA_RO(VERSION),       VERNA_RO(CAPS_OFFSET),
    VERNA_RO(STATUS),        VERNA_RW(CONTROL),
    VERNA_RO(FATAL_CODE),    VERNA_RO(HEARTBEAT),
    VERNA_RW(AQ_SQ_LO),      VERNA_RW(AQ_SQ_HI),
    VERNA_RW(AQ_CQ_LO),      VERNA_RW(AQ_CQ_HI),
    VERNA_RW(AQ_LOG_SIZE),   VERNA_WO(AQ_DOORBELL),
    VERNA_RO(NUM_UARS),      VERNA_RO(NUM_VECTORS),
    VERNA_RO(MAC_LO),        VERNA_RO(MAC_HI),
    VERNA_RO(FUNCTION),      VERNA_RW(TEST_REG),
    VERNA_WO(TEST_IRQ),      VERNA_RW(TEST_DMA_LO),
    VERNA_RW(TEST_DMA_HI),   VERNA_RW(TEST_DMA_SIZE),
    VERNA_WO(TEST_DMA_CTRL), VERNA_RO(TEST_DMA_STATUS),
    VERNA_RO(BAD_ACCESS),
};
#undef VERNA_RO
#undef VERNA_RW
#undef VERNA_WO

bool is_bogus(uint32_t offset) {
  return offset >= VERNA_REG_BOGUS_FIRST && offset <= VERNA_REG_BOGUS_LAST;
}

}  // namespace

RegFile::RegFile(HostBus& bus, FunctionId fn, CommandQueue& commands, Counters& counters,
                 const DeviceLimits& limits, const uint8_t (&mac)[6], std::vector<uint32_t> caps)
    : bus_(bus),
      fn_(fn),
      commands_(commands),
      counters_(counters),
      limits_(limits),
      caps_(std::move(caps)) {
  set_mac(mac);
}

std::span<const RegisterInfo> RegFile::list() { return kTable; }

/// Index in the table, -1: no such register.
int RegFile::find(uint32_t offset) {
  for (size_t i = 0; i < std::size(kTable); i++)
    if (kTable[i].offset == offset) return static_cast<int>(i);
  return -1;
}

uint32_t RegFile::bad_access(uint32_t offset) {
  counters_.dev[VERNA_DEV_bad_register_access]++;
  return is_bogus(offset) ? VERNA_BOGUS : 0;
}

uint32_t RegFile::read(uint32_t offset) {
  if (offset % 4) return bad_access(offset);
  if (offset >= VERNA_CAPS_BASE && offset < VERNA_CAPS_BASE + caps_.size() * 4)
    return caps_[(offset - VERNA_CAPS_BASE) / 4];
  const int index = find(offset);
  return index < 0 ? bad_access(offset) : peek(kTable[index]);
}

uint32_t RegFile::peek(const RegisterInfo& reg) const {
  return reg.access == Access::kWriteOnly ? 0 : load(reg.offset);
}

uint32_t RegFile::load(uint32_t offset) const {
  switch (offset) {
    case VERNA_REG_MAGIC:
      return VERNA_MAGIC;
    case VERNA_REG_ABI:
      return VERNA_ABI_MAJOR << 16 | VERNA_ABI_MINOR;
    case VERNA_REG_VERSION:
      return kVersion;
    case VERNA_REG_CAPS_OFFSET:
      return VERNA_CAPS_BASE;
    case VERNA_REG_STATUS:
      return status();
    case VERNA_REG_CONTROL:
      return commands_.enabled() ? VERNA_CONTROL_AQ_ENABLE : 0;
    case VERNA_REG_FATAL_CODE:
      return fatal_;
    case VERNA_REG_HEARTBEAT:
      return heartbeat_;
    case VERNA_REG_NUM_UARS:
      return limits_.num_uars;
    case VERNA_REG_NUM_VECTORS:
      return limits_.num_vectors;
    case VERNA_REG_MAC_LO:
      return load_le<uint32_t>(mac_);
    case VERNA_REG_MAC_HI:
      return load_le<uint16_t>(mac_ + 4);
    case VERNA_REG_FUNCTION:
      return fn_;
    case VERNA_REG_TEST_REG:
      return ~values_[offset / 4];
    case VERNA_REG_TEST_DMA_STATUS:
      return self_test_.status();
    case VERNA_REG_BAD_ACCESS:
      return static_cast<uint32_t>(counters_.dev[VERNA_DEV_bad_register_access]);
    default:
      return values_[offset / 4];
  }
}

uint32_t RegFile::status() const {
  uint32_t value = fatal_ == VERNA_FATAL_NONE ? VERNA_STATUS_READY : VERNA_STATUS_FATAL;
  if (commands_.enabled()) value |= VERNA_STATUS_AQ_ENABLED;
  if (link_up_) value |= VERNA_STATUS_LINK_UP;
  return value;
}

RegFile::Effect RegFile::write(uint32_t offset, uint32_t value) {
  const int index = offset % 4 ? -1 : find(offset);
  if (index < 0) {
    // A write to a capability block is like one to any read-only register: nothing.
    const bool caps = offset >= VERNA_CAPS_BASE && offset < VERNA_CAPS_BASE + caps_.size() * 4;
    if (!caps || offset % 4) bad_access(offset);
    return Effect::kNone;
  }
  if (kTable[index].access == Access::kReadWrite) values_[offset / 4] = value;
  switch (offset) {
    case VERNA_REG_CONTROL:
      return control(value);
    case VERNA_REG_AQ_DOORBELL:
      commands_.post(value);
      break;
    case VERNA_REG_TEST_IRQ:
      if (value < limits_.num_vectors) bus_.raise(fn_, static_cast<uint16_t>(value));
      break;
    case VERNA_REG_TEST_DMA_CTRL:
      self_test_.start(pair(VERNA_REG_TEST_DMA_LO), values_[VERNA_REG_TEST_DMA_SIZE / 4], value);
      break;
    default:
      break;
  }
  return Effect::kNone;
}

/// A bit that does not change does nothing; an invalid admin queue stays disabled, which STATUS
/// tells.
RegFile::Effect RegFile::control(uint32_t value) {
  if (value & VERNA_CONTROL_RESET) return Effect::kReset;
  const bool enable = value & VERNA_CONTROL_AQ_ENABLE;
  if (!enable) commands_.disable();
  if (enable && !commands_.enabled() && fatal_ == VERNA_FATAL_NONE)
    commands_.enable(
        {pair(VERNA_REG_AQ_SQ_LO), pair(VERNA_REG_AQ_CQ_LO), values_[VERNA_REG_AQ_LOG_SIZE / 4]});
  return Effect::kNone;
}

uint64_t RegFile::pair(uint32_t low) const {
  return values_[low / 4] | uint64_t{values_[low / 4 + 1]} << 32;
}

void RegFile::reset() {
  static_assert(kLastRegister < sizeof(values_));
  values_.fill(0);
  commands_.disable();
  self_test_.reset();
  fatal_ = VERNA_FATAL_NONE;
}

}  // namespace verna
