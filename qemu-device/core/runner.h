// SPDX-License-Identifier: GPL-2.0-or-later
// Decides when a card runs, polls and sleeps; the host has the thread, the lock and the clock.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <memory>

#include "ctrl/control_server.h"
#include "host/card_clock.h"
#include "mac/link_handshake.h"
#include "nic.h"

namespace verna {

struct RunnerConfig {
  Nanos poll = 20'000;            // longest look for work before a sleep
  uint32_t inline_bytes = 65536;  // budget of one turn of run_inline(), 0: it does nothing
};

/// Drives a Nic for a host with an engine thread. Functions are called under the card lock, except
/// those that say so. Times are the host's, in ns; the card has its own, which stands still while
/// the machine is stopped.
///
/// The engine runs slices while there is work, looks for more for a while, and then sleeps until a
/// descriptor, a deadline or a doorbell wakes it. Waking a thread costs far more than sending a few
/// packets: so who rings the doorbell of a sleeping engine runs the card itself, and wakes the
/// engine only if that was not enough. A process that rings for its QP has nothing better to do;
/// the CPU of a driver has, so it does little for an Ethernet queue, and nothing while that sends
/// in bulk.
class Runner {
 public:
  static constexpr size_t kMaxFds = 8;
  struct Sleep {
    std::array<pollfd, kMaxFds> fds;
    size_t num_fds;
    int64_t timeout;  // ns from the start of the slice, -1: none
  };

  /// Throws std::system_error without a descriptor for wake-ups.
  Runner(Nic& nic, const RunnerConfig& config);

  /// One slice by the engine. True: everything is armed, or the machine is stopped; wait as
  /// `*sleep` says, without the lock.
  bool slice(Nanos host_now, Sleep* sleep);
  /// The engine waited for `duration` of the host's time. By the engine, without the lock.
  void slept(Nanos duration);

  /// The engine sleeps or is about to. Any thread, after it rang a doorbell.
  bool asleep() const {
    std::atomic_thread_fence(std::memory_order_seq_cst);  // between the doorbell and this
    return asleep_.load(std::memory_order_relaxed);
  }
  /// Runs the card for a bounded time. `doorbell` is what the caller has written to a doorbell
  /// page, 0: to a register. True: the engine need not be woken.
  bool run_inline(Nanos host_now, uint32_t doorbell);
  /// The machine is stopped, or goes on. The card does not run once this returned; wake() the
  /// engine afterwards. A machine runs at first.
  void set_running(bool running, Nanos host_now) { clock_.set_running(running, host_now); }
  /// The card's time.
  Nanos now(Nanos host_now) const { return clock_.now(host_now); }
  /// The engine also answers at this socket, even while the machine is stopped. Before it starts.
  void set_control(std::unique_ptr<ControlServer> server) { control_ = std::move(server); }
  /// Ends the engine's sleep. Any thread.
  void wake();

 private:
  static constexpr uint32_t kSliceBytes = 128 << 10;
  static constexpr int kInlineTurns = 4;
  static constexpr uint32_t kDriverShare = 4;  // of inline_bytes is for an Ethernet doorbell one
  static constexpr int kDoorbellsOfBulk = 16;  // that the engine serves after one that was too much
  static constexpr Nanos kControlPeriod = 10'000'000;  // between looks at the socket while busy

  uint32_t inline_budget(uint32_t doorbell);
  void serve_control(Nanos host_now);
  bool prepare_sleep(Nanos now, Nanos deadline);
  Sleep own_descriptors() const;
  Sleep what_to_wait_for() const;

  Nic& nic_;
  RunnerConfig config_;
  CardClock clock_;
  std::unique_ptr<ControlServer> control_;
  Nanos control_served_ = 0;  // host time of the last look at the socket
  Fd event_;
  std::atomic<bool> asleep_{false};  // written under the lock
  std::atomic<Nanos> poll_{0};       // how long to look for work now
  Nanos idle_since_ = 0;             // host time of the first run that found nothing, 0: busy
  Sleep sleep_{};                    // what the sleeping engine waits for
  Nanos deadline_ = kNever;          // and until when, in the card's time
  int bulk_ = 0;                     // Ethernet doorbells to come that are the engine's
};

}  // namespace verna
