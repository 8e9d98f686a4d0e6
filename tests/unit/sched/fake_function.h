// SPDX-License-Identifier: GPL-2.0-or-later
// Functions for tests of the scheduler: groups of queues.
#pragma once

#include <memory>
#include <vector>

#include "sched/fake_source.h"

namespace verna::test {

/// A function whose queues have more to send than the wire carries.
struct FakeFunction {
  explicit FakeFunction(SchedulerRig& on) : rig(on) {}
  ~FakeFunction() {
    for (auto& queue : queues) rig.scheduler.remove(queue.get());
    rig.scheduler.share(&group, 1);
  }
  FakeFunction(const FakeFunction&) = delete;
  FakeFunction& operator=(const FakeFunction&) = delete;

  /// An Ethernet queue.
  FakeSource& add(uint32_t frame, const TxQueueSetup& setup = {},
                  uint64_t backlog = SchedulerRig::kEndless) {
    rig.add(&join(std::make_unique<FakeSource>(frame)), setup, backlog);
    return *queues.back();
  }
  FakeSource& add_qp(uint32_t frame, uint64_t backlog = SchedulerRig::kEndless) {
    rig.start(&join(std::make_unique<FakeSource>(frame, TxSource::Kind::kRdma)), backlog);
    return *queues.back();
  }
  void add_many(size_t count, uint32_t frame, const TxQueueSetup& setup = {}) {
    for (; count > 0; count--) add(frame, setup);
  }
  FakeSource& operator[](size_t i) { return *queues[i]; }
  uint64_t sent() const {
    uint64_t bytes = 0;
    for (const auto& queue : queues) bytes += queue->sent;
    return bytes;
  }

  SchedulerRig& rig;
  TxGroup group;
  std::vector<std::unique_ptr<FakeSource>> queues;

 private:
  FakeSource& join(std::unique_ptr<FakeSource> queue) {
    queue->join(group);
    queues.push_back(std::move(queue));
    return *queues.back();
  }
};

}  // namespace verna::test
