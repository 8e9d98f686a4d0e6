// SPDX-License-Identifier: GPL-2.0-or-later
// Queues for tests of the scheduler, and a wire with a speed in virtual time.
#pragma once

#include <functional>
#include <vector>

#include "sched/scheduler.h"
#include "support/clock.h"

namespace verna::test {

/// A queue with frames of one size.
struct FakeSource : TxSource {
  explicit FakeSource(uint32_t frame_len, Kind kind = Kind::kEthernet)
      : TxSource(kind), frame(frame_len) {}
  bool poll(Nanos) override {
    polls++;
    return backlog > 0;
  }
  Result transmit(uint32_t budget, Nanos now) override {
    turns++;
    if (wire_full) return Result::kWireFull;
    uint32_t used = 0;
    while (backlog > 0 && used < budget) {
      if (may_send && !may_send(frame)) return Result::kWireFull;
      if (not_before > now) return later(not_before);
      backlog--;
      // As real queues do: a frame costs more of the budget than its bytes.
      used += frame + 64;
      sent += frame;
      frames++;
      charge(frame);
      if (on_frame) on_frame();
    }
    return backlog > 0 ? Result::kMore : Result::kIdle;
  }
  bool arm_doorbell(Nanos) override {
    armed = true;
    // Work that appeared in the last moment.
    return backlog == 0;
  }
  void disarm_doorbell() override { armed = false; }

  uint32_t frame;
  uint64_t backlog = 0;
  uint64_t sent = 0;
  uint64_t frames = 0;
  unsigned turns = 0;
  unsigned polls = 0;
  bool armed = true;
  bool wire_full = false;
  Nanos not_before = 0;
  std::function<bool(uint32_t len)> may_send;
  std::function<void()> on_frame;
};

/// A scheduler in virtual time whose sources share a wire that carries `bits_per_ns` and has room
/// for little. Time moves to the next point where something can happen, as the engine does.
struct SchedulerRig {
  explicit SchedulerRig(double wire_gbps = 10) : ns_per_byte(8 / wire_gbps) {}

  FakeSource* add(FakeSource* source, const TxQueueSetup& setup = {}, uint64_t backlog = kEndless) {
    scheduler.set_now(now);
    scheduler.configure(source, setup);
    return start(source, backlog);
  }
  /// As add(), but of one that is not configured, as queue pairs are.
  FakeSource* start(FakeSource* source, uint64_t backlog = kEndless) {
    source->backlog = backlog;
    source->may_send = [this](uint32_t len) {
      if (wire_free_at > static_cast<double>(now) + kRoom) return false;
      wire_free_at = std::max(wire_free_at, static_cast<double>(now)) + len * ns_per_byte;
      return true;
    };
    scheduler.wake(source);
    return source;
  }
  void run_for(Nanos span, uint32_t budget = 65536) {
    const Nanos end = now + span;
    while (now < end) {
      runs++;
      if (scheduler.run(now, budget)) {
        now += 50;  // the engine's own time
        continue;
      }
      Nanos next = scheduler.next_deadline(now);
      if (scheduler.wire_full())
        next = std::min(next, static_cast<Nanos>(wire_free_at) - kRoom + 1);
      ASSERT_GT(next, now) << "a scheduler with nothing to do asks for another run at once";
      now = std::min(next, end);
    }
  }

  static constexpr uint64_t kEndless = ~0ull >> 1;
  static constexpr Nanos kRoom = 1000;
  double ns_per_byte;
  double wire_free_at = 0;
  Nanos now = 1'000'000;
  uint64_t runs = 0;
  Scheduler scheduler;
};

inline double mbps(uint64_t bytes, Nanos span) {
  return static_cast<double>(bytes) * 8000 / static_cast<double>(span);
}

}  // namespace verna::test
