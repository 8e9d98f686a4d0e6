// SPDX-License-Identifier: GPL-2.0-or-later
#include "runner.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>
#include <system_error>

#include "hw/verna_regs.h"

namespace verna {
namespace {

bool is_ethernet(uint32_t doorbell) {
  const uint32_t type = doorbell >> VERNA_DB_TYPE_SHIFT;
  return type == VERNA_DB_TXQ || type == VERNA_DB_RXQ;
}

uint64_t wire_bytes(const Nic& nic) {
  const auto& port = nic.counters().port;
  return port[VERNA_PORT_tx_bytes] + port[VERNA_PORT_rx_bytes];
}

}  // namespace

Runner::Runner(Nic& nic, const RunnerConfig& config)
    : nic_(nic), config_(config), event_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (!event_) throw std::system_error(errno, std::generic_category(), "eventfd");
}

void Runner::wake() {
  const uint64_t one = 1;
  (void)!write(event_.get(), &one, sizeof one);
}

bool Runner::slice(Nanos host_now, Sleep* sleep) {
  serve_control(host_now);
  if (!clock_.running()) {
    *sleep = own_descriptors();
    return true;
  }
  const Nanos now = clock_.now(host_now);
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
  sleep_ = what_to_wait_for();
  sleep_.timeout = deadline == kNever ? -1 : static_cast<int64_t>(deadline - now);
  deadline_ = deadline;
  nic_.counters().dev[VERNA_DEV_engine_sleeps]++;
  return true;
}

/// Whoever asks wakes a sleeping engine; one that is busy looks now and then.
void Runner::serve_control(Nanos host_now) {
  const bool woke = asleep_.load(std::memory_order_relaxed) || !clock_.running();
  if (!control_ || (!woke && host_now - control_served_ < kControlPeriod)) return;
  control_served_ = host_now;
  try {
    control_->serve(
        [&](const std::string& request) { return nic_.control(request, clock_.now(host_now)); });
  } catch (const std::exception&) {
    // For want of memory: who asked gets no answer, the card goes on.
  }
}

Runner::Sleep Runner::own_descriptors() const {
  Sleep sleep{};
  sleep.fds[sleep.num_fds++] = {event_.get(), POLLIN, 0};
  if (control_) sleep.fds[sleep.num_fds++] = {control_->fd(), POLLIN, 0};
  sleep.timeout = -1;
  return sleep;
}

Runner::Sleep Runner::what_to_wait_for() const {
  Sleep sleep = own_descriptors();
  sleep.num_fds += nic_.port().poll_fds(sleep.fds.data() + sleep.num_fds, kMaxFds - sleep.num_fds);
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

/// What the vCPU may do in one turn for the doorbell that it rang, 0: leave all to the engine.
uint32_t Runner::inline_budget(uint32_t doorbell) {
  if (!is_ethernet(doorbell)) return config_.inline_bytes;
  if (!bulk_) return config_.inline_bytes / kDriverShare;
  bulk_--;
  return 0;
}

bool Runner::run_inline(Nanos host_now, uint32_t doorbell) {
  if (!asleep_.load(std::memory_order_relaxed)) return true;  // it woke up meanwhile
  if (!clock_.running()) return true;                         // it is woken when that changes
  const uint32_t budget = inline_budget(doorbell);
  if (!budget) return false;
  const Nanos now = clock_.now(host_now);
  const uint64_t before = wire_bytes(nic_);
  nic_.set_polling(false);
  Nic::RunResult result{true, 0};
  for (int i = 0; i < kInlineTurns && result.more; i++) result = nic_.run(now, budget);
  nic_.set_polling(true);
  nic_.counters().dev[VERNA_DEV_inline_runs]++;
  if (result.more && is_ethernet(doorbell) && wire_bytes(nic_) - before >= budget)
    bulk_ = kDoorbellsOfBulk;
  if (result.more || result.deadline < deadline_ || !nic_.prepare_sleep(now)) return false;
  // The engine waits for what it was told then; a new connection has new descriptors.
  const Sleep sleep = what_to_wait_for();
  return sleep.num_fds == sleep_.num_fds &&
         std::equal(sleep.fds.begin(), sleep.fds.end(), sleep_.fds.begin(),
                    [](const pollfd& a, const pollfd& b) { return a.fd == b.fd; });
}

}  // namespace verna
