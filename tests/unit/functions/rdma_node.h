// SPDX-License-Identifier: GPL-2.0-or-later
// A function's queue pair, and what two of them do with each other.
#pragma once

#include <gtest/gtest.h>

#include "support/world.h"

namespace verna::test {

inline constexpr uint8_t kAccess = VERNA_ACCESS_LOCAL_WRITE | VERNA_ACCESS_REMOTE_WRITE |
                                   VERNA_ACCESS_REMOTE_READ | VERNA_ACCESS_REMOTE_ATOMIC;

/// A function with a queue pair and memory.
struct Node {
  Node(World& w, MiniDriver& d, const PeerAddress& a) : world(w), driver(d), address(a) {
    set_gids(driver, address);
    pd = driver.create_pd();
    mr = driver.create_mr(pd, 1 << 16, kAccess);
    make_qp();
  }
  void make_qp() {
    QpOptions options;
    options.pdn = pd;
    qp = driver.create_qp(options, driver.create_cq(7), driver.create_cq(7));
  }
  void connect(const Node& to, const Connection& how = {}) {
    bring_to_rts(driver, qp, to.address, to.qp->qpn, how);
  }
  void post_recv(uint64_t offset, uint32_t len) { driver.post_recv(qp, {mr->sge(offset, len)}); }
  void send(uint64_t offset, uint32_t len) {
    SendWr wr;
    wr.sges = {mr->sge(offset, len)};
    driver.post_send(qp, wr);
  }
  void write(const Node& to, uint64_t offset, uint32_t len, uint8_t opcode = VERNA_WR_RDMA_WRITE) {
    SendWr wr;
    wr.opcode = opcode;
    wr.sges = {mr->sge(offset, len)};
    wr.remote_addr = to.mr->iova + offset;
    wr.rkey = to.mr->key;
    driver.post_send(qp, wr);
  }
  std::vector<uint8_t> bytes(uint64_t offset, uint32_t len) { return mr->mem.read(offset, len); }

  World& world;
  MiniDriver& driver;
  const PeerAddress& address;
  uint32_t pd;
  Region* mr;
  QueuePair* qp;
};

/// SEND, WRITE and READ of many packets, with every byte looked at.
inline void exchange(Node& a, Node& b) {
  const uint32_t len = 9000;
  b.mr->mem.write(0, pattern(len, 10));
  a.mr->mem.write(0, pattern(len, 11));
  b.post_recv(20'000, len);
  a.send(0, len);
  EXPECT_EQ(b.driver.wait(b.qp->recv_cq).status, VERNA_CQE_OK);
  EXPECT_EQ(a.driver.wait(a.qp->send_cq).status, VERNA_CQE_OK);
  EXPECT_EQ(b.bytes(20'000, len), pattern(len, 11));
  a.write(b, 0, len);
  EXPECT_EQ(a.driver.wait(a.qp->send_cq).status, VERNA_CQE_OK);
  EXPECT_EQ(b.bytes(0, len), pattern(len, 11));
  b.mr->mem.write(0, pattern(len, 12));
  a.write(b, 0, len, VERNA_WR_RDMA_READ);
  EXPECT_EQ(a.driver.wait(a.qp->send_cq).status, VERNA_CQE_OK);
  EXPECT_EQ(a.bytes(0, len), pattern(len, 12));
}

}  // namespace verna::test
