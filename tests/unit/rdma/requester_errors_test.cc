// SPDX-License-Identifier: GPL-2.0-or-later
// Send requests that break a rule, and what a UC requester does not have.
#include <functional>

#include "rdma/requester_test.h"

namespace verna::test {
namespace {

// --- requests that break a rule ----------------------------------------------------------------

TEST_F(Requester, BadRequestsFailWithoutAPacket) {
  struct Case {
    const char* what;
    uint8_t status;
    std::function<void(SendWr&)> change;
  };
  const Case cases[] = {
      {"unknown opcode", VERNA_CQE_LOC_QP_OP_ERR, [](SendWr& w) { w.opcode = 9; }},
      {"opcode 255", VERNA_CQE_LOC_QP_OP_ERR, [](SendWr& w) { w.opcode = 255; }},
      {"unknown flag", VERNA_CQE_LOC_QP_OP_ERR, [](SendWr& w) { w.flags |= 0x40; }},
      {"unknown key", VERNA_CQE_LOC_PROT_ERR, [](SendWr& w) { w.sges[0].lkey ^= 0x100; }},
      {"before the region", VERNA_CQE_LOC_PROT_ERR, [](SendWr& w) { w.sges[0].addr -= 1; }},
      {"behind the region", VERNA_CQE_LOC_PROT_ERR, [](SendWr& w) { w.sges[0].addr += 65536; }},
      {"over its end", VERNA_CQE_LOC_PROT_ERR, [](SendWr& w) { w.sges[0].addr += 65527; }},
      {"length wraps", VERNA_CQE_LOC_PROT_ERR, [](SendWr& w) { w.sges[0].length = 0x7fffffff; }},
  };
  for (const Case& c : cases) {
    make_rc();
    SendWr wr = send(10);
    c.change(wr);
    const uint32_t index = post(wr);
    post(send(10));
    expect_error(c.status, index);
    auto cqe = rig.completion(qp->send_cq);
    ASSERT_TRUE(cqe) << c.what;
    EXPECT_EQ(cqe->status, VERNA_CQE_WR_FLUSH_ERR) << c.what;
    EXPECT_TRUE(rig.all_sent().empty()) << c.what;
  }
}

TEST_F(Requester, AFailureInTheMiddleOfTheRingLeavesEarlierRequestsAlone) {
  post(send(10));
  SendWr bad = send(10);
  bad.sges[0].lkey ^= 0x100;
  post(bad);
  ASSERT_TRUE(rig.sent());
  // The first one is on its way; whether it completes or is flushed is told exactly once.
  rig.deliver(ack(kPsn));
  int first = 0, second = 0;
  while (auto cqe = rig.completion(qp->send_cq)) {
    if (cqe->wqe_index == 0) {
      first++;
    } else {
      second++;
      EXPECT_EQ(cqe->status, VERNA_CQE_LOC_PROT_ERR);
    }
  }
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 1);
}

TEST_F(Requester, RequestsAreReadOnceBeforeTheyAreUsed) {
  // The process changes its queue as soon as the card has read it; the card uses its copy.
  const uint64_t ring = qp->mem.at(qp->sq.ring);
  bool active = true;
  rig.card.bus.set_read_hook([&](const FakeHostBus::Access& a) {
    if (!active || a.addr < ring || a.addr >= ring + (64u << 9)) return;
    for (size_t i = 0; i < a.len; i++) *rig.card.bus.ptr(a.addr + i) = 0xff;
  });
  rig.card.bus.watch(ring, 64u << 9);
  post(write(100));
  auto p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->va, 0x1122334455667788u);
  EXPECT_EQ(p->payload, memory(0, 100));
  EXPECT_LE(rig.card.bus.max_fetches(), 1u);
  active = false;
}

TEST_F(Requester, WorkPostedWhileTheCardArmsTheDoorbellIsNotLost) {
  const uint64_t need = qp->mem.at(qp->sq.rec + offsetof(verna_wq_rec, need_doorbell));
  driver().post_send(qp, send(10), false);
  bool posted = false;
  rig.card.bus.set_write_hook([&](const FakeHostBus::Access& a) {
    if (posted || a.addr != need || rig.card.bus.load<uint32_t>(need) == 0) return;
    posted = true;
    qp->mem.store<uint32_t>(qp->sq.rec, qp->sq.prod);
  });
  rig.card.ring_doorbell(1, VERNA_DB(VERNA_DB_QP_SQ, qp->qpn));
  rig.world.run_for(kMilli);
  EXPECT_TRUE(posted) << "the doorbell was not armed";
  EXPECT_TRUE(rig.sent()) << "the card slept over it";
}

TEST_F(Requester, AProducerIndexThatLiesHurtsOnlyItsQueuePair) {
  QueuePair* victim = qp;
  make_rc();
  victim->mem.store<uint32_t>(victim->sq.rec, 65);
  rig.card.ring_doorbell(1, VERNA_DB(VERNA_DB_QP_SQ, victim->qpn));
  rig.world.settle();
  EXPECT_EQ(rig.state(victim), VERNA_QPS_ERR);
  post(send(10));
  EXPECT_TRUE(rig.sent());
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
}

// --- UC ----------------------------------------------------------------------------------------

struct UcRequester : Requester {
  UcRequester() { qp = rig.make_qp(VERNA_QP_UC, how); }
};

TEST_F(UcRequester, CompletesWhenSent) {
  post(send(600));
  const auto list = rig.all_sent();
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[0].opcode, kUcSendFirst);
  EXPECT_EQ(list[2].opcode, kUcSendLast);
  expect_ok(0, VERNA_CQE_SEND);
  post(write(10));
  auto p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->opcode, kUcWriteOnly);
  expect_ok(1, VERNA_CQE_RDMA_WRITE);
}

TEST_F(UcRequester, HasNeitherReadsNorAtomics) {
  for (uint8_t opcode :
       {VERNA_WR_RDMA_READ, VERNA_WR_ATOMIC_CAS, VERNA_WR_ATOMIC_FADD, VERNA_WR_SEND_WITH_INV}) {
    qp = rig.make_qp(VERNA_QP_UC, how);
    SendWr wr = read(8);
    wr.opcode = opcode;
    post(wr);
    auto cqe = rig.completion(qp->send_cq);
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->status, VERNA_CQE_LOC_QP_OP_ERR);
    EXPECT_EQ(rig.state(qp), VERNA_QPS_SQE) << "of the send queue only; receiving goes on";
    EXPECT_TRUE(rig.all_sent().empty());
  }
}

}  // namespace
}  // namespace verna::test
