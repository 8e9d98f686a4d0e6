// SPDX-License-Identifier: GPL-2.0-or-later
// Event queues: what the card has to tell, and the interrupts that say so.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "base/counters.h"
#include "base/trace.h"
#include "ctrl/command.h"
#include "ctrl/device_limits.h"
#include "hw/verna_regs.h"
#include "queue/cq.h"

namespace verna {

/// All event queues of a function. Entries are written at once if there is room; flush() writes
/// those that had to wait, looks at the arm words and raises each vector at most once for a batch.
class EventQueues final : public EventSink {
 public:
  /// `fatal` is told when an event is lost.
  EventQueues(HostBus& bus, FunctionId fn, PblQuota& quota, Counters& counters, Trace& trace,
              const DeviceLimits& limits, std::function<void(verna_fatal)> fatal);

  CommandResult create(const verna_cmd_create_eq& cmd);
  CommandResult destroy(uint32_t eqn);
  bool exists(uint32_t eqn) const { return eqn < eqs_.size() && eqs_[eqn]; }
  /// A CQ reports to this (existing) EQ, or does so no more.
  void add_user(uint32_t eqn) { eqs_[eqn]->users++; }
  void remove_user(uint32_t eqn) { eqs_[eqn]->users--; }

  void post_event(uint32_t eqn, verna_event_type type, FunctionId fn, uint32_t id,
                  uint64_t data) override;
  /// An event of the function itself: goes to EQ 0, and nowhere if there is none.
  void post_device_event(verna_event_type type, uint32_t id, uint64_t data);
  /// A quarter of the ring is kept for events other than completions.
  bool ready(uint32_t eqn) override;
  void flush();
  /// Events wait for room.
  bool deferred() const { return !dirty_.empty(); }
  void reset();

  struct Eq {
    PhaseRing ring;
    uint32_t eqn;
    FunctionId fn;
    uint16_t vector;
    uint8_t log_size;
    uint32_t users = 0;
    uint64_t events = 0;
    bool dirty = false;
    std::deque<verna_eqe> waiting;  // for room, oldest first
  };
  static constexpr size_t kMaxWaiting = 4096;  // of one EQ
  const std::vector<std::unique_ptr<Eq>>& all() const { return eqs_; }

 private:
  bool write(Eq& eq, verna_eqe eqe);
  void lose(Eq& eq, verna_fatal cause);

  HostBus& bus_;
  FunctionId fn_;
  PblQuota& quota_;
  Counters& counters_;
  Trace& trace_;
  DeviceLimits limits_;
  std::function<void(verna_fatal)> fatal_;
  bool failed_ = false;
  std::vector<std::unique_ptr<Eq>> eqs_;
  std::vector<Eq*> dirty_;
};

}  // namespace verna
