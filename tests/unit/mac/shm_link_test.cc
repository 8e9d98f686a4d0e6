// SPDX-License-Identifier: GPL-2.0-or-later
// The shared-memory link: two ends in one process, in threads and in processes.
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <thread>

#include "mac/shm_link_rig.h"

namespace verna::test {
namespace {

TEST_F(ShmLinkTest, PropertiesAreChecked) {
  EXPECT_EQ(ShmLinkPort::check(path, 0), "");
  EXPECT_EQ(ShmLinkPort::check(path, 64), "");
  EXPECT_EQ(ShmLinkPort::check(path, 65536), "");
  for (uint32_t kib : {1u, 63u, 65u, 100u, 131072u, 0xffffffffu}) {
    EXPECT_NE(ShmLinkPort::check(path, kib).find(std::to_string(kib)), std::string::npos) << kib;
  }
  EXPECT_NE(ShmLinkPort::check("", 0), "");
  EXPECT_NE(ShmLinkPort::check(folder + "/" + std::string(200, 'x'), 0), "");
  EXPECT_NE(ShmLinkPort::check(folder + "/no/such/folder", 0), "");
  std::ofstream(folder + "/file") << "x";
  EXPECT_NE(ShmLinkPort::check(folder + "/file", 0), "") << "a file is not to be removed";
  unlink((folder + "/file").c_str());
}

TEST_F(ShmLinkTest, ComesUpAndCarriesFramesBothWays) {
  auto a = make(), b = make();
  EXPECT_FALSE(a->link_up());
  EXPECT_EQ(a->tx_reserve(100), nullptr);
  ASSERT_TRUE(join(*a, *b));
  for (uint32_t i = 0; i < 5000; i++) {
    const uint32_t len = 60 + i * 37 % 1500;
    ASSERT_TRUE(send(*a, i, len));
    ASSERT_TRUE(send(*b, i + 100000, len));
    a->tx_flush();
    b->tx_flush();
    ASSERT_EQ(receive(*b, i), 1) << i;
    ASSERT_EQ(receive(*a, i + 100000), 1) << i;
  }
  ASSERT_TRUE(send(*a, 1, kMaxFrame));
  a->tx_flush();
  ASSERT_EQ(receive(*b, 1), 1);
  EXPECT_EQ(a->tx_reserve(kMaxFrame + 1), nullptr);
}

TEST_F(ShmLinkTest, AFullRingPushesBackAndGoesOn) {
  auto a = make(), b = make();
  ASSERT_TRUE(join(*a, *b));
  uint32_t sent = 0, got = 0;
  for (int round = 0; round < 20; round++) {
    while (send(*a, sent, 1000)) sent++;
    ASSERT_LT(sent - got, 200u);
    a->tx_flush();
    while (receive(*b, got) == 1) got++;
    ASSERT_EQ(got, sent);
  }
}

TEST_F(ShmLinkTest, EitherEndMayComeBack) {
  auto a = make(), b = make();
  for (int round = 0; round < 6; round++) {
    ASSERT_TRUE(join(*a, *b)) << round;
    ASSERT_TRUE(send(*a, 7));
    a->tx_flush();
    ASSERT_EQ(receive(*b, 7), 1);
    auto& victim = round % 2 ? a : b;
    auto& survivor = round % 2 ? b : a;
    victim.reset();
    for (int i = 0; i < 100 && survivor->link_up(); i++) survivor->poll(now += kMs);
    EXPECT_FALSE(survivor->link_up()) << "a dead peer is noticed";
    EXPECT_EQ(survivor->tx_reserve(100), nullptr);
    victim = make();
  }
}

TEST_F(ShmLinkTest, AdminDownIsSeenByThePeer) {
  auto a = make(), b = make();
  ASSERT_TRUE(join(*a, *b));
  a->set_local_up(false);
  for (int i = 0; i < 20; i++) b->poll(now += kMs);
  EXPECT_FALSE(b->link_up());
  a->set_local_up(true);
  for (int i = 0; i < 20; i++) b->poll(now += kMs);
  EXPECT_TRUE(b->link_up());
}

TEST_F(ShmLinkTest, AThirdEndWaitsAndDoesNoHarm) {
  auto a = make(), b = make();
  ASSERT_TRUE(join(*a, *b));
  auto c = make();
  for (int i = 0; i < 3000; i++) {
    now += kMs;
    a->poll(now);
    b->poll(now);
    c->poll(now);
  }
  EXPECT_TRUE(a->link_up());
  EXPECT_TRUE(b->link_up());
  EXPECT_FALSE(c->link_up());
  ASSERT_TRUE(send(*a, 3));
  a->tx_flush();
  EXPECT_EQ(receive(*b, 3), 1);
}

TEST_F(ShmLinkTest, AStaleSocketOfADeadProcessIsReplaced) {
  const int s = socket(AF_UNIX, SOCK_SEQPACKET, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(bind(s, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  close(s);
  auto a = make(), b = make();
  EXPECT_TRUE(join(*a, *b));
}

/// Runs the engine's loop: work, then sleep in poll() until woken. Used by both sides below.
template <typename Work>
void engine(ShmLinkPort& port, Work work, const std::atomic<bool>& stop) {
  while (!stop) {
    port.poll(real_now());
    if (work()) continue;
    if (port.prepare_sleep(false)) {
      pollfd fds[4];
      const size_t n = port.poll_fds(fds, 4);
      ::poll(fds, n, 50);
    }
    port.cancel_sleep();
  }
}

TEST_F(ShmLinkTest, TwoThreadsThatSleepMissNoFrame) {
  auto a = make(), b = make();
  std::atomic<bool> stop{false};
  constexpr uint32_t kFrames = 20000;
  std::atomic<uint32_t> echoed{0};
  std::atomic<bool> broken{false};
  std::thread echo([&] {
    uint32_t next = 0;
    engine(
        *b,
        [&] {
          const int got = b->link_up() ? receive(*b, next) : 0;
          if (got < 0) broken = true;
          if (got <= 0) return false;
          while (!send(*b, next) && !stop) b->poll(real_now());
          b->tx_flush();
          next++;
          return true;
        },
        stop);
  });
  uint32_t sent = 0, next = 0;
  const Nanos end = real_now() + 60'000 * kMs;
  engine(
      *a,
      [&] {
        if (real_now() > end || next == kFrames || broken) stop = true;
        bool worked = false;
        // Ping-pong in bursts of a varying size, so that both sides sleep often.
        if (a->link_up() && sent < kFrames && sent - next < 1 + sent % 5) {
          if (send(*a, sent)) sent++;
          a->tx_flush();
          worked = true;
        }
        const int got = receive(*a, next);
        if (got < 0) broken = true;
        if (got == 1) next++;
        return worked || got == 1;
      },
      stop);
  echo.join();
  EXPECT_FALSE(broken);
  EXPECT_EQ(next, kFrames);
}

/// A child process that echoes frames until it is killed.
pid_t start_echo_process(const std::string& path) {
  const pid_t pid = fork();
  if (pid != 0) return pid;
  ShmLinkPort port(path, 64);
  for (;;) {
    port.poll(real_now());
    const RxFrame f = port.rx_peek();
    if (f.data) {
      uint8_t* room = port.tx_reserve(f.len);
      if (room) {
        std::memcpy(room, f.data, f.len);
        port.tx_commit(f.len);
        port.tx_flush();
        port.rx_release();
      }
    } else {
      usleep(200);
    }
  }
}

TEST_F(ShmLinkTest, APeerProcessIsKilledAndComesBack) {
  auto port = make();
  for (int round = 0; round < 4; round++) {
    const pid_t pid = start_echo_process(path);
    ASSERT_GT(pid, 0);
    const Nanos end = real_now() + 20'000 * kMs;
    uint32_t sent = 0, next = 0;
    while (next < 500 && real_now() < end) {
      port->poll(real_now());
      if (port->link_up() && sent - next < 10 && send(*port, sent)) sent++;
      port->tx_flush();
      const int got = receive(*port, next);
      ASSERT_GE(got, 0);
      if (got == 1) next++;
    }
    EXPECT_EQ(next, 500u) << "round " << round;
    // Killed with frames under way in both directions.
    for (int i = 0; i < 5; i++) send(*port, 1);
    port->tx_flush();
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
    while (port->link_up() && real_now() < end) {
      port->poll(real_now());
      usleep(1000);
    }
    EXPECT_FALSE(port->link_up());
    EXPECT_EQ(port->rx_peek().data, nullptr) << "frames of a dead link are gone";
  }
}

}  // namespace
}  // namespace verna::test
