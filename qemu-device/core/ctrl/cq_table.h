// SPDX-License-Identifier: GPL-2.0-or-later
// The completion queues of a card, by number.
#pragma once

#include <memory>
#include <vector>

#include "base/timer.h"
#include "ctrl/event_queue.h"

namespace verna {

/// Makes and destroys CQs and finds them by number. Numbers go round, so that a freed one is not
/// taken again at once.
class CqTable {
 public:
  CqTable(HostBus& bus, PblQuota& quota, EventQueues& eqs, TimerQueue& timers,
          const DeviceLimits& limits);

  CommandResult create(const verna_cmd_create_cq& cmd);
  CommandResult modify(const verna_cmd_modify_cq& cmd);
  CommandResult destroy(uint32_t cqn);
  /// Null: no such CQ.
  Cq* find(uint32_t cqn) { return cqn < cqs_.size() ? cqs_[cqn].get() : nullptr; }
  /// Reports completions of armed CQs; at the end of a run.
  void flush(Nanos now) { flush_list_.flush(eqs_, now); }
  /// Some of them wait for room in an EQ.
  bool deferred() const { return !flush_list_.empty(); }
  void reset();

  const std::vector<std::unique_ptr<Cq>>& all() const { return cqs_; }

 private:
  uint32_t free_number();

  HostBus& bus_;
  PblQuota& quota_;
  EventQueues& eqs_;
  DeviceLimits limits_;
  CqFlushList flush_list_;
  std::vector<std::unique_ptr<Cq>> cqs_;  // as many as were ever used at once, or more
  uint32_t count_ = 0;
  uint32_t next_ = 0;
};

}  // namespace verna
