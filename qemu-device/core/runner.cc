// SPDX-License-Identifier: GPL-2.0-or-later
#include "runner.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace verna {

Runner::Runner(Nic& nic, const RunnerConfig& config)
    : nic_(nic), config_(config), event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Runner::wake() {
  const uint64_t one = 1;
  (void)!write(event_.get(), &one, sizeof one);
}

bool Runner::slice(Nanos now, Nanos host_now, Sleep* sleep) {
  if (asleep_.load(std::memory_order_relaxed)) {
    asleep_.store(false, std::memory_order_relaxed);
    nic_.cancel_sleep();
    idle_since_ = 0;
  }
  const Nic::RunResult result = nic_.run(now, kSliceBytes);
  if (result.more) {
    idle_since_ = 0;
    return false;
  }
  if (!idle_since_) idle_since_ = host_now;
  const bool look_on = host_now - idle_since_ < poll_.load(std::memory_order_relaxed);
  if (look_on || result.deadline <= now || !prepare_sleep(now, result.deadline)) return false;
  *sleep = sleep_;
  return true;
}

// `asleep_` is set before the card looks for work for the last time: who rings after that look must
// see it, and who rings before is seen.
bool Runner::prepare_sleep(Nanos now, Nanos deadline) {
  asleep_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!nic_.prepare_sleep(now)) {
    asleep_.store(false, std::memory_order_relaxed);
    return false;
  }
  sleep_ = what_to_wait_for(deadline);
  nic_.counters().dev[VERNA_DEV_engine_sleeps]++;
  return true;
}

Runner::Sleep Runner::what_to_wait_for(Nanos deadline) const {
  Sleep sleep{};
  sleep.fds[0] = {event_.get(), POLLIN, 0};
  sleep.num_fds = 1 + nic_.port().poll_fds(sleep.fds.data() + 1, kMaxFds - 1);
  sleep.deadline = deadline;
  return sleep;
}

// Looks longer next time if looking would have found the work, and less if the sleep was long.
void Runner::slept(Nanos duration) {
  uint64_t count;
  (void)!read(event_.get(), &count, sizeof count);
  const Nanos poll = poll_.load(std::memory_order_relaxed);
  const Nanos least = config_.poll / 8;
  const Nanos next = duration < 2 * config_.poll ? std::min(config_.poll, std::max(poll * 2, least))
                                                 : std::max(poll / 2, least);
  poll_.store(next, std::memory_order_relaxed);
}

bool Runner::run_inline(Nanos now) {
  if (!asleep_.load(std::memory_order_relaxed)) return true;  // it woke up meanwhile
  nic_.set_polling(false);
  Nic::RunResult result{true, 0};
  for (int i = 0; i < kInlineTurns && result.more; i++)
    result = nic_.run(now, config_.inline_bytes);
  nic_.set_polling(true);
  nic_.counters().dev[VERNA_DEV_inline_runs]++;
  if (result.more || result.deadline < sleep_.deadline || !nic_.prepare_sleep(now)) return false;
  // The engine waits for what it was told then; a new connection has new descriptors.
  const Sleep sleep = what_to_wait_for(sleep_.deadline);
  return sleep.num_fds == sleep_.num_fds &&
         std::equal(sleep.fds.begin(), sleep.fds.end(), sleep_.fds.begin(),
                    [](const pollfd& a, const pollfd& b) { return a.fd == b.fd; });
}

}  // namespace verna
