// SPDX-License-Identifier: GPL-2.0-or-later
// Decides when a card runs, polls and sleeps; the host has the thread, the lock and the clock.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>

#include "mac/link_handshake.h"
#include "nic.h"

namespace verna {

struct RunnerConfig {
  Nanos poll = 20'000;            // longest look for work before a sleep
  uint32_t inline_bytes = 65536;  // budget of one turn of run_inline()
};

/// Drives a Nic for a host with an engine thread. Functions are called under the card lock, except
/// those that say so.
///
/// The engine runs slices while there is work, looks for more for a while, and then sleeps until a
/// descriptor, a deadline or a doorbell wakes it. Waking a thread costs far more than sending a few
/// packets: so who rings the doorbell of a sleeping engine runs the card itself, and wakes the
/// engine only if that was not enough.
class Runner {
 public:
  static constexpr size_t kMaxFds = 8;
  struct Sleep {
    std::array<pollfd, kMaxFds> fds;
    size_t num_fds;
    Nanos deadline;  // of the card's clock, kNever: none
  };

  /// Throws std::system_error without a descriptor for wake-ups.
  Runner(Nic& nic, const RunnerConfig& config);

  /// One slice by the engine. True: everything is armed, wait as `*sleep` says, without the lock.
  bool slice(Nanos now, Nanos host_now, Sleep* sleep);
  /// The engine waited for `duration` of the host's time. By the engine, without the lock.
  void slept(Nanos duration);

  /// The engine sleeps or is about to. Any thread, after it rang a doorbell.
  bool asleep() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // between the doorbell and this
    return asleep_.load(std::memory_order_relaxed);
  }
  /// Runs the card for a bounded time. True: the engine need not be woken.
  bool run_inline(Nanos now);
  /// Ends the engine's sleep. Any thread.
  void wake();

 private:
  static constexpr uint32_t kSliceBytes = 128 << 10;
  static constexpr int kInlineTurns = 4;

  bool prepare_sleep(Nanos now, Nanos deadline);
  Sleep what_to_wait_for(Nanos deadline) const;

  Nic& nic_;
  RunnerConfig config_;
  Fd event_;
  std::atomic<bool> asleep_{false};  // written under the lock
  std::atomic<Nanos> poll_{0};       // how long to look for work now
  Nanos idle_since_ = 0;             // host time of the first run that found nothing, 0: busy
  Sleep sleep_{};                    // what the sleeping engine waits for
};

}  // namespace verna
