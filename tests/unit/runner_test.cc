// SPDX-License-Identifier: GPL-2.0-or-later
// When a card runs and sleeps: with a real card on a port that tells what it was asked.
#include "runner.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "mac/loopback_port.h"

namespace verna {
namespace {

class NoMemory final : public HostBus {
 public:
  bool read(FunctionId, uint64_t, void*, size_t) override { return false; }
  bool write(FunctionId, uint64_t, const void*, size_t) override { return false; }
  bool write_release64(FunctionId, uint64_t, uint64_t) override { return false; }
  bool atomic64(FunctionId, uint64_t, AtomicOp, uint64_t, uint64_t, uint64_t*) override {
    return false;
  }
  void full_barrier() override {}
  void raise(FunctionId, uint16_t) override {}
};

/// A wire to nowhere whose upkeep and descriptors the test decides.
class StubPort final : public Port {
 public:
  bool link_up() const override { return true; }
  bool has_fcs() const override { return false; }
  uint8_t* tx_reserve(uint32_t) override { return nullptr; }
  void tx_commit(uint32_t) override {}
  void tx_flush() override {}
  RxFrame rx_peek() override { return frames ? RxFrame{frame, sizeof frame} : RxFrame{}; }
  void rx_release() override { frames--; }
  Nanos poll(Nanos) override { return next; }
  bool prepare_sleep(bool) override {
    prepared++;
    return may_sleep;
  }
  void cancel_sleep() override { cancelled++; }
  size_t poll_fds(pollfd* fds, size_t max) const override {
    if (!max) return 0;
    fds[0] = {fd, POLLIN, 0};
    return 1;
  }

  Nanos next = kNever;
  bool may_sleep = true;
  int fd = 100;
  int prepared = 0;
  int cancelled = 0;
  int frames = 0;  // that wait
  uint8_t frame[64] = {};
};

constexpr uint32_t kQpDoorbell = VERNA_DB_QP_SQ << VERNA_DB_TYPE_SHIFT | 5;
constexpr uint32_t kTxDoorbell = VERNA_DB_TXQ << VERNA_DB_TYPE_SHIFT;

class RunnerTest : public testing::Test {
 protected:
  RunnerTest() { EXPECT_EQ(nic.start(), ""); }

  /// Runs slices, one each microsecond of both clocks, until the engine may sleep.
  int slices_until_sleep(Runner& runner, int limit = 1000) {
    for (int i = 1; i <= limit; i++) {
      now += 1000;
      if (runner.slice(now, &sleep)) return i;
    }
    return limit + 1;
  }

  NoMemory bus;
  StubPort port;
  NicConfig config;
  Nic nic{config, bus, port, Rng(1)};
  Runner::Sleep sleep{};
  Nanos now = 1000;
};

TEST_F(RunnerTest, SleepsWhenThereIsNothingToDo) {
  Runner runner(nic, {0, 65536});
  EXPECT_LT(slices_until_sleep(runner), 10);
  EXPECT_TRUE(runner.asleep());
  EXPECT_EQ(sleep.num_fds, 2u);
  EXPECT_EQ(sleep.fds[1].fd, 100);
  runner.slice(now, &sleep);
  EXPECT_GE(port.cancelled, 1);
}

TEST_F(RunnerTest, DoesNotSleepIfThePortHasWork) {
  Runner runner(nic, {0, 65536});
  port.may_sleep = false;
  EXPECT_EQ(slices_until_sleep(runner, 50), 51);
  EXPECT_FALSE(runner.asleep());
}

TEST_F(RunnerTest, ShortSleepsMakeItLookLongerAndLongOnesLess) {
  Runner runner(nic, {20'000, 65536});
  slices_until_sleep(runner);
  for (int i = 0; i < 6; i++) runner.slept(1000);
  const int eager = slices_until_sleep(runner);
  EXPECT_GE(eager, 20);
  EXPECT_LE(eager, 23);
  for (int i = 0; i < 6; i++) runner.slept(10'000'000);
  EXPECT_LE(slices_until_sleep(runner), 5);
}

TEST_F(RunnerTest, WakeEndsTheSleepAndIsTakenBack) {
  Runner runner(nic, {0, 65536});
  slices_until_sleep(runner);
  EXPECT_EQ(poll(sleep.fds.data(), 1, 0), 0);
  runner.wake();
  runner.wake();
  EXPECT_EQ(poll(sleep.fds.data(), 1, 0), 1);
  runner.slept(1000);
  EXPECT_EQ(poll(sleep.fds.data(), 1, 0), 0);
}

TEST_F(RunnerTest, InlineRunNeedsNoEngineIfItDidAll) {
  Runner runner(nic, {0, 65536});
  slices_until_sleep(runner);
  const int prepared = port.prepared;
  EXPECT_TRUE(runner.run_inline(now, kQpDoorbell));
  EXPECT_GT(port.prepared, prepared) << "everything must be armed again";
  EXPECT_TRUE(runner.asleep());
  EXPECT_EQ(nic.counters().dev[VERNA_DEV_inline_runs], 1u);
}

TEST_F(RunnerTest, InlineRunWakesTheEngineForWorkThatIsLeft) {
  Runner runner(nic, {0, 65536});
  slices_until_sleep(runner);
  port.may_sleep = false;
  EXPECT_FALSE(runner.run_inline(now, kQpDoorbell));
}

TEST_F(RunnerTest, InlineRunWakesTheEngineForAnEarlierDeadline) {
  Runner runner(nic, {0, 65536});
  slices_until_sleep(runner);
  port.next = now + 5;
  EXPECT_FALSE(runner.run_inline(now, kQpDoorbell));
}

TEST_F(RunnerTest, InlineRunWakesTheEngineIfThePortHasOtherDescriptors) {
  Runner runner(nic, {0, 65536});
  slices_until_sleep(runner);
  port.fd = 101;
  EXPECT_FALSE(runner.run_inline(now, kQpDoorbell));
}

TEST_F(RunnerTest, TheTimeoutIsUntilTheNextDeadline) {
  Runner runner(nic, {0, 65536});
  port.next = kNever;
  slices_until_sleep(runner);
  const int64_t beat = sleep.timeout;  // the card's own heartbeat
  EXPECT_GT(beat, 0);
  port.next = now + 5000;
  runner.slice(now, &sleep);
  EXPECT_EQ(sleep.timeout, 5000);
}

TEST_F(RunnerTest, AStoppedMachineHasACardThatStandsStill) {
  Runner runner(nic, {20'000, 65536});
  runner.set_running(false, now);
  const uint64_t runs = nic.counters().dev[VERNA_DEV_engine_runs];
  const Nanos stopped = runner.now(now);
  now += 1'000'000;
  EXPECT_TRUE(runner.slice(now, &sleep)) << "the engine waits to be woken";
  EXPECT_EQ(sleep.timeout, -1);
  EXPECT_EQ(sleep.num_fds, 1u);
  EXPECT_EQ(nic.counters().dev[VERNA_DEV_engine_runs], runs);
  EXPECT_EQ(runner.now(now), stopped);
  runner.set_running(true, now);
  EXPECT_EQ(runner.now(now + 7), stopped + 7);
  runner.slice(now, &sleep);
  EXPECT_GT(nic.counters().dev[VERNA_DEV_engine_runs], runs);
}

TEST_F(RunnerTest, AMachineThatStopsWhileTheEngineSleepsLeavesWorkForLater) {
  Runner runner(nic, {0, 65536});
  slices_until_sleep(runner);
  runner.set_running(false, now);
  const uint64_t runs = nic.counters().dev[VERNA_DEV_engine_runs];
  EXPECT_TRUE(runner.run_inline(now, kQpDoorbell)) << "nothing to do, and nobody to wake";
  EXPECT_EQ(nic.counters().dev[VERNA_DEV_engine_runs], runs);
  EXPECT_TRUE(runner.slice(now, &sleep));
  EXPECT_EQ(sleep.num_fds, 1u) << "frames do not wake it either";
  runner.set_running(true, now);
  runner.slice(now, &sleep);
  EXPECT_GT(nic.counters().dev[VERNA_DEV_engine_runs], runs);
}

TEST_F(RunnerTest, ADriversDoorbellGetsLessThanAProcess) {
  Runner runner(nic, {0, 65536});
  slices_until_sleep(runner);
  const auto taken = [&](uint32_t doorbell) {
    port.frames = 1'000'000;
    EXPECT_FALSE(runner.run_inline(now, doorbell));
    return 1'000'000 - port.frames;
  };
  const int by_driver = taken(kTxDoorbell);
  EXPECT_GT(by_driver, 0);
  EXPECT_EQ(taken(kQpDoorbell), 4 * by_driver);
  EXPECT_EQ(taken(0), 4 * by_driver) << "a register write";
}

TEST_F(RunnerTest, WhileADriverSendsInBulkTheEngineDoesIt) {
  Runner runner(nic, {0, 65536});
  slices_until_sleep(runner);
  const uint64_t& runs = nic.counters().dev[VERNA_DEV_inline_runs];
  EXPECT_TRUE(runner.run_inline(now, kTxDoorbell)) << "little to do is done";
  port.frames = 1'000'000;
  EXPECT_FALSE(runner.run_inline(now, kTxDoorbell));
  EXPECT_EQ(runs, 2u);
  port.frames = 0;
  for (int i = 0; i < 16; i++) EXPECT_FALSE(runner.run_inline(now, kTxDoorbell)) << i;
  EXPECT_EQ(runs, 2u) << "left to the engine";
  EXPECT_TRUE(runner.run_inline(now, kQpDoorbell)) << "a process goes on as ever";
  EXPECT_TRUE(runner.run_inline(now, kTxDoorbell)) << "and then it is tried again";
  EXPECT_EQ(runs, 4u);
}

TEST_F(RunnerTest, InlineRunsCanBeTurnedOff) {
  Runner runner(nic, {0, 0});
  slices_until_sleep(runner);
  EXPECT_FALSE(runner.run_inline(now, kQpDoorbell));
  EXPECT_EQ(nic.counters().dev[VERNA_DEV_inline_runs], 0u);
}

/// vernactl, who asks at the card's socket.
class Asking {
 public:
  explicit Asking(Runner& runner) {
    std::string error;
    auto server = ControlServer::listen(path_, &error);
    EXPECT_TRUE(server) << error;
    runner.set_control(std::move(server));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, path_.size());
    EXPECT_EQ(connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ~Asking() { close(fd_); }
  void ask() { EXPECT_EQ(write(fd_, "caps\n", 5), 5); }
  bool answered() {
    char buffer[65536];
    return recv(fd_, buffer, sizeof buffer, MSG_DONTWAIT) > 0;
  }

 private:
  std::string path_ = testing::TempDir() + "runner" + std::to_string(getpid());
  int fd_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
};

TEST_F(RunnerTest, WhoAsksWakesTheEngineAndIsAnswered) {
  Runner runner(nic, {0, 65536});
  Asking vernactl(runner);
  slices_until_sleep(runner);  // accepts it
  ASSERT_EQ(sleep.num_fds, 3u);
  vernactl.ask();
  ASSERT_EQ(poll(sleep.fds.data() + 1, 1, 1000), 1);
  now += 1000;
  slices_until_sleep(runner);
  slices_until_sleep(runner);
  EXPECT_TRUE(vernactl.answered());
}

TEST_F(RunnerTest, AStoppedMachineAnswers) {
  Runner runner(nic, {0, 65536});
  Asking vernactl(runner);
  runner.set_running(false, now);
  vernactl.ask();
  for (int i = 0; i < 3; i++) {
    EXPECT_TRUE(runner.slice(now, &sleep));
    EXPECT_EQ(sleep.num_fds, 2u);
  }
  EXPECT_TRUE(vernactl.answered());
}

TEST_F(RunnerTest, ABusyCardAnswersNowAndThen) {
  Runner runner(nic, {0, 65536});
  Asking vernactl(runner);
  port.may_sleep = false;
  vernactl.ask();
  int slices = 0;
  while (!vernactl.answered() && slices < 100000) {
    now += 1000;
    EXPECT_FALSE(runner.slice(now, &sleep));
    slices++;
  }
  EXPECT_GT(slices, 9000) << "looking costs a system call";
  EXPECT_LT(slices, 31000);
}

TEST_F(RunnerTest, InlineRunLeavesAnAwakeEngineAlone) {
  Runner runner(nic, {20'000, 65536});
  EXPECT_FALSE(runner.asleep());
  EXPECT_TRUE(runner.run_inline(now, kQpDoorbell));
  EXPECT_EQ(nic.counters().dev[VERNA_DEV_inline_runs], 0u);
}

}  // namespace
}  // namespace verna
