// SPDX-License-Identifier: GPL-2.0-or-later
// Peers of a shared-memory link that lie: in the handshake, in records and in every index.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "mac/shm_link_rig.h"

namespace verna::test {
namespace {

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
      case 0:
        say(fd, 1, 64 << 10, 0x1234);
        break;
      case 1:
        say(fd, 1, 12345);
        break;
      case 2:
        say(fd, 1, 0xffffffff);
        break;
      case 3:
        say(fd, 3, 64 << 10);
        break;
      case 4:
        (void)!::send(fd, "x", 1, MSG_NOSIGNAL);
        break;
      case 5:
        (void)!::send(fd, std::string(5000, 'x').data(), 5000, MSG_NOSIGNAL);
        break;
      case 6:
        break;  // says nothing at all
      case 7:
        say(fd, 1, 64 << 10);
        break;  // and never confirms
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
