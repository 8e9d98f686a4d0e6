// SPDX-License-Identifier: GPL-2.0-or-later
// The state machine of a queue pair: transitions, attributes, flush, drain, reset.
#include <algorithm>

#include "rdma/rdma_test.h"

namespace verna::test {
namespace {

struct QpState : RdmaTest {
  Reply to(uint8_t state, uint8_t from, uint32_t mask = 0) {
    verna_qp_attr attr{};
    attr.state = state;
    attr.path_mtu = kMtu;
    attr.dest_qpn = RdmaRig::kPeerQpn;
    attr.rq_psn = attr.sq_psn = kPsn;
    attr.retry_cnt = 7;
    attr.timeout = 14;
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 4;
    attr.av = make_av(rig.peer, false, 0);
    return driver().modify_qp(qp->qpn, from, VERNA_QPA_STATE | mask, attr);
  }
  int flushed(RingHandle* cq) {
    int n = 0;
    while (auto cqe = rig.completion(cq)) {
      EXPECT_EQ(cqe->status, VERNA_CQE_WR_FLUSH_ERR);
      n++;
    }
    return n;
  }
};

constexpr uint32_t kToRtr = VERNA_QPA_AV | VERNA_QPA_PATH_MTU | VERNA_QPA_DEST_QPN |
                            VERNA_QPA_RQ_PSN | VERNA_QPA_MAX_DEST_RD_ATOMIC |
                            VERNA_QPA_MIN_RNR_TIMER;
constexpr uint32_t kToRts = VERNA_QPA_SQ_PSN | VERNA_QPA_TIMEOUT | VERNA_QPA_RETRY_CNT |
                            VERNA_QPA_RNR_RETRY | VERNA_QPA_MAX_RD_ATOMIC;

uint32_t mask_for(uint8_t state) {
  return state == VERNA_QPS_RTR ? kToRtr : state == VERNA_QPS_RTS ? kToRts : 0;
}

/// IBA's figure of transitions that MODIFY_QP may ask for.
bool allowed(uint8_t from, uint8_t to) {
  if (to == VERNA_QPS_RESET || to == VERNA_QPS_ERR) return true;
  switch (from) {
    case VERNA_QPS_RESET:
      return to == VERNA_QPS_INIT;
    case VERNA_QPS_INIT:
      return to == VERNA_QPS_INIT || to == VERNA_QPS_RTR;
    case VERNA_QPS_RTR:
      return to == VERNA_QPS_RTS;
    case VERNA_QPS_RTS:
      return to == VERNA_QPS_RTS || to == VERNA_QPS_SQD;
    case VERNA_QPS_SQD:
      return to == VERNA_QPS_SQD || to == VERNA_QPS_RTS;
    case VERNA_QPS_SQE:
      return to == VERNA_QPS_RTS;
    default:
      return false;
  }
}

TEST_F(QpState, EveryTransitionOfTheTable) {
  for (uint8_t from :
       {VERNA_QPS_RESET, VERNA_QPS_INIT, VERNA_QPS_RTR, VERNA_QPS_RTS, VERNA_QPS_ERR}) {
    for (uint8_t target = 0; target <= VERNA_QPS_ERR; target++) {
      if (from == VERNA_QPS_RESET && target == VERNA_QPS_ERR) continue;  // below
      qp = rig.make_qp(VERNA_QP_RC, how, from == VERNA_QPS_ERR ? uint8_t{VERNA_QPS_RTS} : from);
      if (from == VERNA_QPS_ERR) ASSERT_TRUE(to(VERNA_QPS_ERR, VERNA_QPS_RTS).ok());
      ASSERT_EQ(rig.state(qp), from);
      const Reply reply = to(target, from, mask_for(target));
      if (allowed(from, target)) {
        EXPECT_TRUE(reply.ok()) << int{from} << " -> " << int{target} << ": " << reply.status;
        EXPECT_EQ(rig.state(qp), target);
      } else {
        EXPECT_FALSE(reply.ok()) << int{from} << " -> " << int{target};
        EXPECT_EQ(rig.state(qp), from) << "a refused command changed the state";
      }
      EXPECT_TRUE(driver().object(VERNA_CMD_DESTROY_QP, qp->qpn).ok());
    }
  }
}

TEST_F(QpState, AWrongCurrentStateIsRefused) {
  qp = rig.make_qp(VERNA_QP_RC, how, VERNA_QPS_INIT);
  EXPECT_EQ(to(VERNA_QPS_RTR, VERNA_QPS_RESET, kToRtr).status, VERNA_CMD_BAD_STATE);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_INIT);
  EXPECT_TRUE(to(VERNA_QPS_ERR, VERNA_QPS_RTS).ok()) << "ERR and RESET do not ask";
  EXPECT_TRUE(to(VERNA_QPS_RESET, VERNA_QPS_RTS).ok());
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RESET);
}

TEST_F(QpState, QueryTellsWhatWasSet) {
  how.timeout = 13;
  how.retry_cnt = 5;
  how.rnr_retry = 6;
  how.min_rnr_timer = 21;
  how.rd_atomic = 3;
  how.access = VERNA_ACCESS_REMOTE_READ;
  qp = rig.make_qp(VERNA_QP_RC, how);
  const verna_qp_attr a = driver().query_qp(qp->qpn);
  EXPECT_EQ(a.state, VERNA_QPS_RTS);
  EXPECT_EQ(a.access, VERNA_ACCESS_REMOTE_READ);
  EXPECT_EQ(a.path_mtu, kMtu);
  EXPECT_EQ(a.timeout, 13);
  EXPECT_EQ(a.retry_cnt, 5);
  EXPECT_EQ(a.rnr_retry, 6);
  EXPECT_EQ(a.min_rnr_timer, 21);
  EXPECT_EQ(a.max_rd_atomic, 3);
  EXPECT_EQ(a.max_dest_rd_atomic, 3);
  EXPECT_EQ(a.rq_psn, kPsn);
  EXPECT_EQ(a.sq_psn, kPsn);
  EXPECT_EQ(a.dest_qpn, RdmaRig::kPeerQpn);
  EXPECT_EQ(0, std::memcmp(a.av.dgid, rig.peer.gid4, 16));
  EXPECT_EQ(0, std::memcmp(a.av.dmac, rig.peer.mac, 6));
}

TEST_F(QpState, ErrorFlushesEverythingPostedBeforeAndAfter) {
  make_rc();
  Region* mr = rig.make_mr(100);
  SendWr wr;
  wr.sges = {mr->sge(0, 10)};
  for (int i = 0; i < 3; i++) driver().post_recv(qp, {mr->sge(0, 10)});
  wr.flags = 0;  // flushed although not signaled
  for (int i = 0; i < 4; i++) driver().post_send(qp, wr);
  rig.all_sent();
  ASSERT_TRUE(to(VERNA_QPS_ERR, VERNA_QPS_RTS).ok());
  EXPECT_EQ(flushed(qp->send_cq), 4);
  EXPECT_EQ(flushed(qp->recv_cq), 3);
  for (int i = 0; i < 2; i++) driver().post_send(qp, wr);
  for (int i = 0; i < 2; i++) driver().post_recv(qp, {mr->sge(0, 10)});
  EXPECT_EQ(flushed(qp->send_cq), 2) << "posted in the error state";
  EXPECT_EQ(flushed(qp->recv_cq), 2);
}

TEST_F(QpState, FlushTakesRequestsPostedWithoutADoorbell) {
  make_rc();
  Region* mr = rig.make_mr(100);
  SendWr wr;
  wr.sges = {mr->sge(0, 10)};
  driver().post_send(qp, wr, false);
  driver().post_recv(qp, {mr->sge(0, 10)}, false);
  qp->mem.store<uint32_t>(qp->sq.rec, qp->sq.prod);
  qp->mem.store<uint32_t>(qp->rq.rec, qp->rq.prod);
  ASSERT_TRUE(to(VERNA_QPS_ERR, VERNA_QPS_RTS).ok());
  EXPECT_EQ(flushed(qp->send_cq), 1);
  EXPECT_EQ(flushed(qp->recv_cq), 1);
}

TEST_F(QpState, ResetForgetsAndStartsAgain) {
  make_rc();
  Region* mr = rig.make_mr(100);
  SendWr wr;
  wr.sges = {mr->sge(0, 10)};
  driver().post_send(qp, wr);
  driver().post_send(qp, wr);
  driver().post_recv(qp, {mr->sge(0, 10)});
  rig.all_sent();
  ASSERT_TRUE(to(VERNA_QPS_RESET, VERNA_QPS_RTS).ok());
  EXPECT_FALSE(rig.completion(qp->send_cq)) << "reset completes nothing";
  rig.world.run_for(kSecond);
  EXPECT_TRUE(rig.all_sent().empty()) << "and sends nothing again";
  qp->sq.prod = qp->rq.prod = 0;
  qp->mem.store<uint32_t>(qp->sq.rec, 0);
  qp->mem.store<uint32_t>(qp->rq.rec, 0);
  bring_to_rts(rig.card, qp, rig.peer, RdmaRig::kPeerQpn, how);
  driver().post_send(qp, wr);
  auto p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->psn, kPsn);
  rig.deliver(ack(kPsn));
  auto cqe = rig.completion(qp->send_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->wqe_index, 0u);
  driver().post_recv(qp, {mr->sge(0, 10)});
  EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(request(kRcSendOnly, kPsn, Bytes(4, 1))))));
}

TEST_F(QpState, DrainFinishesWhatIsUnderWayAndTells) {
  make_rc();
  Region* mr = rig.make_mr(100);
  SendWr wr;
  wr.sges = {mr->sge(0, 10)};
  driver().post_send(qp, wr);
  ASSERT_EQ(rig.all_sent().size(), 1u);
  ASSERT_TRUE(to(VERNA_QPS_SQD, VERNA_QPS_RTS, VERNA_QPA_SQD_EVENT).ok());
  EXPECT_EQ(driver().query_qp(qp->qpn).sq_draining, 1);
  driver().post_send(qp, wr);
  EXPECT_TRUE(rig.all_sent().empty()) << "nothing new is sent";
  EXPECT_FALSE(rig.saw_event(VERNA_EVENT_QP_SQ_DRAINED, qp->qpn));
  rig.deliver(ack(kPsn));
  EXPECT_TRUE(rig.completion(qp->send_cq));
  EXPECT_TRUE(rig.saw_event(VERNA_EVENT_QP_SQ_DRAINED, qp->qpn));
  EXPECT_EQ(driver().query_qp(qp->qpn).sq_draining, 0);
  // The receive side goes on.
  driver().post_recv(qp, {mr->sge(0, 10)});
  EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(request(kRcSendOnly, kPsn, Bytes(4, 1))))));
  ASSERT_TRUE(to(VERNA_QPS_RTS, VERNA_QPS_SQD).ok());
  EXPECT_EQ(rig.all_sent().size(), 1u) << "what waited goes out";
}

TEST_F(QpState, FirstPacketInRtrIsReported) {
  qp = rig.make_qp(VERNA_QP_RC, how, VERNA_QPS_RTR);
  Region* mr = rig.make_mr(100);
  answer(rdma(kRcWriteOnly, kPsn, mr, 0, 4, Bytes(4, 1)));
  EXPECT_TRUE(rig.saw_event(VERNA_EVENT_QP_COMM_EST, qp->qpn));
  answer(rdma(kRcWriteOnly, kPsn + 1, mr, 0, 4, Bytes(4, 1)));
  EXPECT_FALSE(rig.saw_event(VERNA_EVENT_QP_COMM_EST, qp->qpn)) << "once";
}

TEST_F(QpState, NothingIsSentBeforeRts) {
  qp = rig.make_qp(VERNA_QP_RC, how, VERNA_QPS_RTR);
  Region* mr = rig.make_mr(100);
  SendWr wr;
  wr.sges = {mr->sge(0, 10)};
  driver().post_send(qp, wr, false);
  qp->mem.store<uint32_t>(qp->sq.rec, 1);
  rig.card.ring_doorbell(1, VERNA_DB(VERNA_DB_QP_SQ, qp->qpn));
  EXPECT_TRUE(rig.all_sent().empty());
}

TEST_F(QpState, AfterDestroyNothingIsWritten) {
  make_rc();
  Region* mr = rig.make_mr(100);
  SendWr wr;
  wr.sges = {mr->sge(0, 10)};
  driver().post_send(qp, wr);
  driver().post_recv(qp, {mr->sge(0, 10)});
  rig.all_sent();
  ASSERT_TRUE(driver().object(VERNA_CMD_DESTROY_QP, qp->qpn).ok());
  qp->mem.unmap();  // any access from here on fails the test
  rig.deliver(ack(kPsn));
  rig.deliver(request(kRcSendOnly, kPsn, Bytes(4, 1)));
  rig.card.ring_doorbell(1, VERNA_DB(VERNA_DB_QP_SQ, qp->qpn));
  rig.world.run_for(10 * kSecond);
  EXPECT_FALSE(rig.completion(qp->send_cq));
  EXPECT_FALSE(rig.completion(qp->recv_cq));
  EXPECT_EQ(count(VERNA_RDMA_rx_drop_no_qp), 2u);
}

TEST_F(QpState, LostQueueMemoryIsAFatalEventOfThisQueuePair) {
  rig.card.bus.expect_faults();
  QueuePair* other = rig.make_qp(VERNA_QP_RC, how);
  make_rc();
  qp->mem.unmap();
  rig.card.ring_doorbell(1, VERNA_DB(VERNA_DB_QP_SQ, qp->qpn));
  EXPECT_TRUE(rig.saw_event(VERNA_EVENT_QP_FATAL, qp->qpn));
  EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR);
  EXPECT_EQ(rig.state(other), VERNA_QPS_RTS);
}

// --- completion queues -------------------------------------------------------------------------

TEST_F(QpState, CqOverrunTakesItsQueuePairsAlong) {
  QpOptions options;
  options.type = VERNA_QP_UC;
  options.pdn = rig.pd;
  RingHandle* tiny = driver().create_cq(1);
  qp = driver().create_qp(options, tiny, driver().create_cq(4));
  bring_to_rts(rig.card, qp, rig.peer, RdmaRig::kPeerQpn, how);
  QueuePair* other = rig.make_qp(VERNA_QP_RC, how);
  Region* mr = rig.make_mr(100);
  SendWr wr;
  wr.sges = {mr->sge(0, 10)};
  for (int i = 0; i < 6; i++) driver().post_send(qp, wr);
  rig.world.settle();
  const auto events = rig.events();
  const auto has = [&](uint16_t type, uint32_t id) {
    return std::count_if(events.begin(), events.end(),
                         [&](const verna_eqe& e) { return e.type == type && e.id == id; });
  };
  EXPECT_EQ(has(VERNA_EVENT_CQ_ERROR, tiny->id), 1);
  EXPECT_EQ(has(VERNA_EVENT_QP_FATAL, qp->qpn), 1) << "its CQ cannot tell";
  EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR);
  EXPECT_EQ(rig.state(other), VERNA_QPS_RTS);
  verna_cqe cqe;
  for (uint32_t i = 0; i < 2; i++) {
    ASSERT_TRUE(driver().poll(tiny, &cqe));
    EXPECT_EQ(cqe.wqe_index, i) << "what was there was not overwritten";
  }
  EXPECT_EQ(count(VERNA_RDMA_cq_overruns), 1u);
}

TEST_F(QpState, ArmedCqRaisesOneEventAndOneInterrupt) {
  make_rc();
  Region* mr = rig.make_mr(100);
  for (int i = 0; i < 4; i++) driver().post_recv(qp, {mr->sge(0, 10)});
  rig.events();
  rig.card.bus.clear_interrupts();
  driver().arm(driver().eq0, VERNA_ARM_NEXT);
  driver().arm(qp->recv_cq, VERNA_ARM_SOLICITED);
  rig.deliver(request(kRcSendOnly, kPsn, Bytes(4, 1)));
  EXPECT_TRUE(rig.events().empty()) << "not solicited";
  RocePacket p = request(kRcSendOnly, kPsn + 1, Bytes(4, 1));
  p.solicited = true;
  rig.deliver(p);
  auto events = rig.events();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].type, VERNA_EVENT_COMPLETION);
  EXPECT_EQ(events[0].id, qp->recv_cq->id);
  EXPECT_EQ(rig.card.bus.interrupts(0), 1u);
  p.psn = kPsn + 2;
  rig.deliver(p);
  EXPECT_TRUE(rig.events().empty()) << "armed once, told once";
  driver().arm(qp->recv_cq, VERNA_ARM_NEXT);
  p.psn = kPsn + 3;
  p.solicited = false;
  rig.deliver(p);
  EXPECT_EQ(rig.events().size(), 1u);
  EXPECT_EQ(rig.card.bus.interrupts(0), 1u) << "the EQ was not armed again";
}

TEST_F(QpState, ErrorsCountAsSolicited) {
  make_rc();
  Region* mr = rig.make_mr(100);
  driver().post_recv(qp, {mr->sge(0, 10)});
  driver().arm(qp->recv_cq, VERNA_ARM_SOLICITED);
  rig.events();
  ASSERT_TRUE(to(VERNA_QPS_ERR, VERNA_QPS_RTS).ok());
  EXPECT_TRUE(rig.saw_event(VERNA_EVENT_COMPLETION, qp->recv_cq->id));
}

}  // namespace
}  // namespace verna::test
