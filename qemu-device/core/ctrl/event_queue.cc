// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/event_queue.h"

#include <algorithm>

#include "ctrl/pbl_result.h"
#include "queue/ring_place.h"

namespace verna {

EventQueues::EventQueues(HostBus& bus, FunctionId fn, PblQuota& quota, Counters& counters,
                         Trace& trace, const DeviceLimits& limits,
                         std::function<void(verna_fatal)> fatal)
    : bus_(bus),
      fn_(fn),
      quota_(quota),
      counters_(counters),
      trace_(trace),
      limits_(limits),
      fatal_(std::move(fatal)),
      eqs_(limits.max_eqs) {}

CommandResult EventQueues::create(const verna_cmd_create_eq& cmd) {
  if (cmd.id >= eqs_.size()) return VERNA_BAD_FIELD(verna_cmd_create_eq, id);
  if (eqs_[cmd.id]) return CommandResult::fail(VERNA_CMD_EXISTS);
  if (cmd.reserved0) return VERNA_BAD_FIELD(verna_cmd_create_eq, reserved0);
  if (cmd.reserved1) return VERNA_BAD_FIELD(verna_cmd_create_eq, reserved1);
  if (cmd.reserved2) return VERNA_BAD_FIELD(verna_cmd_create_eq, reserved2);
  if (cmd.log_size > limits_.log_max_eq_entries)
    return VERNA_BAD_FIELD(verna_cmd_create_eq, log_size);
  if (cmd.vector >= limits_.num_vectors) return VERNA_BAD_FIELD(verna_cmd_create_eq, vector);

  const FunctionId fn = cmd.hdr.function;
  const RingPlace place{cmd.rec_offset, cmd.ring_offset, cmd.log_size, VERNA_EQE_SIZE};
  auto eq = std::make_unique<Eq>();
  PageList memory;
  const PblStatus status = PageList::load(bus_, fn, cmd.mem, place.end(), quota_, &memory);
  if (status != PblStatus::kOk) return pbl_result(status, offsetof(verna_cmd_create_eq, mem));
  if (!fits_record(memory, cmd.rec_offset)) return VERNA_BAD_FIELD(verna_cmd_create_eq, rec_offset);
  if (!eq->ring.init(&bus_, fn, std::move(memory), place.layout()))
    return VERNA_BAD_FIELD(verna_cmd_create_eq, ring_offset);
  eq->eqn = cmd.id;
  eq->fn = fn;
  eq->vector = cmd.vector;
  eq->log_size = cmd.log_size;
  eqs_[cmd.id] = std::move(eq);
  return CommandResult::ok();
}

CommandResult EventQueues::destroy(uint32_t eqn) {
  if (!exists(eqn)) return CommandResult::fail(VERNA_CMD_NOT_FOUND);
  if (eqs_[eqn]->users) return CommandResult::fail(VERNA_CMD_BUSY);
  std::erase(dirty_, eqs_[eqn].get());
  eqs_[eqn].reset();
  return CommandResult::ok();
}

void EventQueues::post_event(uint32_t eqn, verna_event_type type, FunctionId fn, uint32_t id,
                             uint64_t data) {
  if (!exists(eqn)) return;
  Eq& eq = *eqs_[eqn];
  verna_eqe eqe{};
  eqe.type = static_cast<uint16_t>(type);
  eqe.function = fn;
  eqe.id = id;
  eqe.data = data;
  if (!eq.waiting.empty() || !write(eq, eqe)) {
    if (eq.waiting.size() >= kMaxWaiting) return lose(eq, VERNA_FATAL_EQ_OVERRUN);
    eq.waiting.push_back(eqe);
  }
  if (eq.dirty) return;
  eq.dirty = true;
  dirty_.push_back(&eq);
}

/// False: the ring is full. An event that cannot be written for another reason is lost.
bool EventQueues::write(Eq& eq, verna_eqe eqe) {
  const PhaseRing::Push result = eq.ring.push(&eqe);
  if (result == PhaseRing::Push::kFull) return false;
  if (result == PhaseRing::Push::kDmaFault) {
    lose(eq, VERNA_FATAL_EQ_DMA);
    return true;
  }
  eq.events++;
  counters_.dev[VERNA_DEV_events]++;
  trace_.point(Stage::kEvent, eq.eqn, eqe.type);
  return true;
}

bool EventQueues::ready(uint32_t eqn) {
  if (!exists(eqn)) return true;
  Eq& eq = *eqs_[eqn];
  return eq.waiting.empty() && eq.ring.has_room(1 + eq.ring.size() / 4);
}

void EventQueues::post_device_event(verna_event_type type, uint32_t id, uint64_t data) {
  post_event(0, type, fn_, id, data);
}

/// The host finds out by the status register, or sooner by EQ 0 and by the vector, which is raised
/// although nobody armed it.
void EventQueues::lose(Eq& eq, verna_fatal cause) {
  if (failed_) return;
  failed_ = true;
  fatal_(cause);
  if (eq.eqn != 0) post_device_event(VERNA_EVENT_FATAL, 0, cause);
  bus_.raise(eq.fn, eq.vector);
}

void EventQueues::flush() {
  size_t kept = 0;
  for (size_t i = 0; i < dirty_.size(); i++) {
    Eq* eq = dirty_[i];
    while (!eq->waiting.empty() && write(*eq, eq->waiting.front())) eq->waiting.pop_front();
    if (eq->ring.take_arm(true)) bus_.raise(eq->fn, eq->vector);
    eq->dirty = !eq->waiting.empty();
    if (eq->dirty) dirty_[kept++] = eq;
  }
  dirty_.resize(kept);
}

void EventQueues::reset() {
  dirty_.clear();
  for (auto& eq : eqs_) eq.reset();
  failed_ = false;
}

}  // namespace verna
