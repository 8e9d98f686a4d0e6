// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/cq_table.h"

#include <algorithm>

#include "ctrl/pbl_result.h"
#include "queue/ring_place.h"

namespace verna {

CqTable::CqTable(HostBus& bus, PblQuota& quota, EventQueues& eqs, TimerQueue& timers,
                 const DeviceLimits& limits)
    : bus_(bus), quota_(quota), eqs_(eqs), limits_(limits), flush_list_(timers) {}

CommandResult CqTable::create(const verna_cmd_create_cq& cmd) {
  if (cmd.reserved0) return VERNA_BAD_FIELD(verna_cmd_create_cq, reserved0);
  if (std::any_of(std::begin(cmd.reserved1), std::end(cmd.reserved1), [](uint8_t b) { return b; }))
    return VERNA_BAD_FIELD(verna_cmd_create_cq, reserved1);
  if (!eqs_.exists(cmd.eqn)) return VERNA_BAD_FIELD(verna_cmd_create_cq, eqn);
  if (cmd.log_size > limits_.log_max_cq_entries)
    return VERNA_BAD_FIELD(verna_cmd_create_cq, log_size);
  if (count_ >= limits_.max_cqs) return CommandResult::fail(VERNA_CMD_NO_RESOURCE);

  const FunctionId fn = cmd.hdr.function;
  const RingPlace place{cmd.rec_offset, cmd.ring_offset, cmd.log_size, VERNA_CQE_SIZE};
  PageList memory;
  const PblStatus status = PageList::load(bus_, fn, cmd.mem, place.end(), quota_, &memory);
  if (status != PblStatus::kOk) return pbl_result(status, offsetof(verna_cmd_create_cq, mem));
  if (!fits_record(memory, cmd.rec_offset)) return VERNA_BAD_FIELD(verna_cmd_create_cq, rec_offset);
  const uint32_t cqn = free_number();
  auto cq = std::make_unique<Cq>(cqn, fn, cmd.eqn, &flush_list_);
  if (!cq->init(&bus_, std::move(memory), place.layout()))
    return VERNA_BAD_FIELD(verna_cmd_create_cq, ring_offset);
  eqs_.add_user(cmd.eqn);
  cqs_[cqn] = std::move(cq);
  next_ = cqn + 1;
  count_++;
  return CommandResult::ok(cqn);
}

/// There is one: count_ < max_cqs. The table grows to its limit before numbers are used again.
uint32_t CqTable::free_number() {
  if (next_ >= limits_.max_cqs) next_ = 0;
  while (next_ < cqs_.size() && cqs_[next_]) next_ = (next_ + 1) % limits_.max_cqs;
  if (next_ >= cqs_.size()) cqs_.resize(next_ + 1);
  return next_;
}

CommandResult CqTable::modify(const verna_cmd_modify_cq& cmd) {
  Cq* cq = find(cmd.cqn);
  if (!cq) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  if (cmd.delay_ns > VERNA_MAX_CQ_DELAY_NS) return VERNA_BAD_FIELD(verna_cmd_modify_cq, delay_ns);
  if (cmd.reserved[0] || cmd.reserved[1] || cmd.reserved[2])
    return VERNA_BAD_FIELD(verna_cmd_modify_cq, reserved);
  cq->moderate({cmd.delay_ns, cmd.entries});
  return CommandResult::ok();
}

CommandResult CqTable::destroy(uint32_t cqn) {
  Cq* cq = find(cqn);
  if (!cq) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  if (cq->users) return CommandResult::fail(VERNA_CMD_BUSY);
  flush_list_.remove(cq);
  eqs_.remove_user(cq->eqn());
  cqs_[cqn].reset();
  count_--;
  return CommandResult::ok();
}

void CqTable::reset() {
  for (auto& cq : cqs_) {
    if (!cq) continue;
    flush_list_.remove(cq.get());
    eqs_.remove_user(cq->eqn());
  }
  cqs_.clear();
  count_ = next_ = 0;
}

}  // namespace verna
