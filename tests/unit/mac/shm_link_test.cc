// SPDX-License-Identifier: GPL-2.0-or-later
// The shared-memory link: two ends in one process, in threads and in processes, and hostile peers.
#include "mac/shm_link_port.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <memory>
#include <thread>

namespace verna::test {
namespace {

constexpr Nanos kMs = 1'000'000;

Nanos real_now() {
  return static_cast<Nanos>(std::chrono::steady_clock::now().time_since_epoch().count());
}

struct ShmLinkTest : testing::Test {
  ShmLinkTest() {
    char name[] = "/tmp/verna-link-XXXXXX";
    folder = mkdtemp(name);
    path = folder + "/link";
  }
  ~ShmLinkTest() override {
    unlink(path.c_str());
    unlink((path + ".lock").c_str());
    rmdir(folder.c_str());
  }
  std::unique_ptr<ShmLinkPort> make() const { return std::make_unique<ShmLinkPort>(path, 64); }

  /// Polls both in virtual time until both are up.
  bool join(ShmLinkPort& a, ShmLinkPort& b) {
    for (int i = 0; i < 3000; i++) {
      now += kMs;
      a.poll(now);
      b.poll(now);
      if (a.link_up() && b.link_up()) return true;
    }
    return false;
  }

  std::string folder;
  std::string path;
  Nanos now = 1000 * kMs;
};

bool send(Port& port, uint32_t number, uint32_t len = 100) {
  uint8_t* room = port.tx_reserve(len);
  if (!room) return false;
  for (uint32_t i = 0; i < len; i++) room[i] = static_cast<uint8_t>(number * 7 + i);
  store_le(room, number);
  port.tx_commit(len);
  return true;
}

/// 1: the frame with this number, 0: nothing there, -1: something else.
int receive(Port& port, uint32_t number) {
  const RxFrame f = port.rx_peek();
  if (!f.data) return 0;
  bool good = f.len >= 4 && load_le<uint32_t>(f.data) == number;
  for (uint32_t i = 4; good && i < f.len; i++) {
    good = f.data[i] == static_cast<uint8_t>(number * 7 + i);
  }
  port.rx_release();
  return good ? 1 : -1;
}

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

// --- hostile peers ----------------------------------------------------------------------------

/// Does the handshake as the side that connects and keeps the memory that it was offered.
struct HostilePeer {
  int fd = -1;
  uint8_t* memory = nullptr;
  size_t size = 0;
  ~HostilePeer() {
    if (memory) munmap(memory, size);
    if (fd >= 0) close(fd);
  }
};

/// Speaks the handshake's bytes: magic, version, kind, ring size.
void say(int fd, uint32_t kind, uint32_t ring_bytes, uint64_t magic = 0x6b6e694c616e7256) {
  uint8_t m[24] = {};
  store_le<uint64_t>(m, magic);
  store_le<uint32_t>(m + 8, 1);
  store_le<uint32_t>(m + 12, kind);
  store_le<uint32_t>(m + 16, ring_bytes);
  (void)!::send(fd, m, sizeof m, MSG_NOSIGNAL);
}

int dial(const std::string& path) {
  const int s = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, path.size());
  if (connect(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return s;
  close(s);
  return -1;
}

bool take_memory(HostilePeer* peer) {
  uint8_t m[24];
  iovec iov{m, sizeof m};
  alignas(cmsghdr) char control[64];
  msghdr header{};
  header.msg_iov = &iov;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  if (recvmsg(peer->fd, &header, 0) != sizeof m) return false;
  const cmsghdr* c = CMSG_FIRSTHDR(&header);
  if (!c) return false;
  int memory;
  std::memcpy(&memory, CMSG_DATA(c), sizeof memory);
  struct stat st;
  fstat(memory, &st);
  // The link's memory must be sealed: a peer that could cut it would kill the card with SIGBUS.
  EXPECT_NE(ftruncate(memory, 0), 0);
  peer->size = static_cast<size_t>(st.st_size);
  void* p = mmap(nullptr, peer->size, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
  close(memory);
  if (p == MAP_FAILED) return false;
  peer->memory = static_cast<uint8_t*>(p);
  return true;
}

struct HostileLinkTest : ShmLinkTest {
  /// Brings up a link between `port` and a peer in the test's hands.
  bool join_hostile(ShmLinkPort& port, HostilePeer* peer) {
    for (int i = 0; i < 2000 && peer->fd < 0; i++) {
      port.poll(now += kMs);
      peer->fd = dial(path);
    }
    if (peer->fd < 0) return false;
    say(peer->fd, 1, 64 << 10);
    for (int i = 0; i < 200 && !peer->memory; i++) {
      port.poll(now += kMs);
      take_memory(peer);
    }
    if (!peer->memory) return false;
    say(peer->fd, 3, 64 << 10);
    // Our direction is the second; say that our side is up.
    reinterpret_cast<RingControl*>(peer->memory + 4096)->producer_up = 1;
    for (int i = 0; i < 200 && !port.link_up(); i++) port.poll(now += kMs);
    return port.link_up();
  }
  RingControl* ours(HostilePeer& peer) {
    return reinterpret_cast<RingControl*>(peer.memory + 4096);
  }
  RingControl* theirs(HostilePeer& peer) { return reinterpret_cast<RingControl*>(peer.memory); }
  uint8_t* ring(HostilePeer& peer) { return peer.memory + 2 * 4096 + (64 << 10); }
  /// After an offence: nothing was received, it was counted, and a new peer can join.
  void expect_recovery(ShmLinkPort& port) {
    for (int i = 0; i < 50; i++) port.poll(now += kMs);
    EXPECT_FALSE(port.link_up());
    EXPECT_GE(port.bad_records(), 1u);
    auto friendly = make();
    EXPECT_TRUE(join(port, *friendly));
    EXPECT_TRUE(send(*friendly, 9));
    friendly->tx_flush();
    EXPECT_EQ(receive(port, 9), 1);
  }
};

TEST_F(HostileLinkTest, TheTestsOwnPeerWorks) {
  auto port = make();
  HostilePeer peer;
  ASSERT_TRUE(join_hostile(*port, &peer));
  store_le<uint64_t>(ring(peer), 60);
  store_le<uint32_t>(ring(peer) + 8, 5);
  for (uint32_t i = 4; i < 60; i++) ring(peer)[8 + i] = static_cast<uint8_t>(5 * 7 + i);
  ours(peer)->tail = 72;
  EXPECT_EQ(receive(*port, 5), 1);
}

TEST_F(HostileLinkTest, ProducerIndexThatLies) {
  for (uint64_t tail : {uint64_t{1}, uint64_t{7}, uint64_t{(64 << 10) + 8}, uint64_t{1} << 40,
                        ~uint64_t{0}, ~uint64_t{7}}) {
    SCOPED_TRACE(tail);
    auto port = make();
    HostilePeer peer;
    ASSERT_TRUE(join_hostile(*port, &peer));
    ours(peer)->tail = tail;
    for (int i = 0; i < 100000; i++) {
      const RxFrame f = port->rx_peek();
      if (!f.data) break;
      ASSERT_LE(f.len, kMaxFrame);
      port->rx_release();
    }
    expect_recovery(*port);
  }
}

TEST_F(HostileLinkTest, RecordsThatLie) {
  for (uint64_t header : {uint64_t{kMaxFrame + 1}, uint64_t{65000}, uint64_t{0xfffffffe},
                          uint64_t{1} << 32 | 60, ~uint64_t{0}, uint64_t{5000}}) {
    SCOPED_TRACE(header);
    auto port = make();
    HostilePeer peer;
    ASSERT_TRUE(join_hostile(*port, &peer));
    store_le<uint64_t>(ring(peer), header);
    ours(peer)->tail = 80;
    EXPECT_EQ(port->rx_peek().data, nullptr);
    expect_recovery(*port);
  }
}

TEST_F(HostileLinkTest, ConsumerIndexThatLies) {
  for (uint64_t head : {uint64_t{1}, uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{7}}) {
    SCOPED_TRACE(head);
    auto port = make();
    HostilePeer peer;
    ASSERT_TRUE(join_hostile(*port, &peer));
    theirs(peer)->head = head;
    for (uint32_t i = 0; i < 200; i++) {
      if (!send(*port, i, 1000)) break;
      port->tx_flush();
    }
    EXPECT_EQ(port->tx_reserve(kMaxFrame), nullptr);
    expect_recovery(*port);
  }
}

TEST_F(HostileLinkTest, APeerThatRewritesEverythingAllTheTime) {
  auto port = make();
  HostilePeer peer;
  ASSERT_TRUE(join_hostile(*port, &peer));
  std::atomic<bool> stop{false};
  std::thread scribbler([&] {
    uint64_t x = 88172645463325252;
    while (!stop) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      auto* words = reinterpret_cast<std::atomic<uint32_t>*>(peer.memory);
      words[x % (peer.size / 4)].store(static_cast<uint32_t>(x >> 32), std::memory_order_relaxed);
      if (x % 4 == 0) {
        store_le<uint64_t>(ring(peer) + (x >> 8) % 8000 * 8, x >> 50);
        ours(peer)->tail = (x >> 16) % (64 << 10) & ~uint64_t{7};
      }
    }
  });
  const Nanos end = real_now() + 300 * kMs;
  uint64_t sum = 0;
  while (real_now() < end) {
    port->poll(now += kMs);
    for (int i = 0; i < 10; i++) {
      const RxFrame f = port->rx_peek();
      if (!f.data) break;
      ASSERT_LE(f.len, kMaxFrame);
      for (uint32_t k = 0; k < f.len; k++) sum += f.data[k];
      port->rx_release();
    }
    send(*port, 1, 500);
    port->tx_flush();
    if (port->prepare_sleep(true)) port->cancel_sleep();
  }
  stop = true;
  scribbler.join();
  EXPECT_GT(sum + 1, 0u);
}

TEST_F(HostileLinkTest, NonsenseInTheHandshake) {
  auto port = make();
  for (int round = 0; round < 8; round++) {
    int fd = -1;
    for (int i = 0; i < 3000 && fd < 0; i++) {
      port->poll(now += kMs);
      fd = dial(path);
    }
    ASSERT_GE(fd, 0) << "does not listen any more after round " << round;
    switch (round) {
      case 0: say(fd, 1, 64 << 10, 0x1234); break;
      case 1: say(fd, 1, 12345); break;
      case 2: say(fd, 1, 0xffffffff); break;
      case 3: say(fd, 3, 64 << 10); break;
      case 4: (void)!::send(fd, "x", 1, MSG_NOSIGNAL); break;
      case 5: (void)!::send(fd, std::string(5000, 'x').data(), 5000, MSG_NOSIGNAL); break;
      case 6: break;  // says nothing at all
      case 7: say(fd, 1, 64 << 10); break;  // and never confirms
    }
    for (int i = 0; i < 1500; i++) port->poll(now += kMs);
    EXPECT_FALSE(port->link_up());
    close(fd);
  }
  auto friendly = make();
  EXPECT_TRUE(join(*port, *friendly));
}

}  // namespace
}  // namespace verna::test
