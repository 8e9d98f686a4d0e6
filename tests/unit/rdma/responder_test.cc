// SPDX-License-Identifier: GPL-2.0-or-later
// An RC responder, one packet at a time. Rules: IBTA vol. 1 chapter 9, as transport tables give
// them.
#include <algorithm>
#include <functional>
#include <utility>

#include "rdma/rdma_test.h"

namespace verna::test {
namespace {

struct Responder : RdmaTest {
  Responder() {
    make_rc();
    mr = rig.make_mr(65536);
  }
  Region* post_recv(uint32_t len) {
    Region* buffer = rig.make_mr(std::max(len, 1u), VERNA_ACCESS_LOCAL_WRITE);
    driver().post_recv(qp, {buffer->sge(0, len)});
    return buffer;
  }
  Bytes memory(uint64_t offset, uint64_t len) { return mr->mem.read(offset, len); }
  Region* mr = nullptr;
};

TEST_F(Responder, SendOnlyFillsAReceiveRequestAndIsAcknowledged) {
  for (uint32_t len : {0u, 1u, 3u, 4u, 255u, 256u}) {
    Region* buffer = post_recv(300);
    const Bytes data = pattern(len, len);
    const uint32_t psn = kPsn + qp->rq.prod - 1;
    EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(request(kRcSendOnly, psn, data))))) << len;
    EXPECT_EQ(last.psn, psn);
    EXPECT_EQ(last.msn, qp->rq.prod);
    auto cqe = rig.completion(qp->recv_cq);
    ASSERT_TRUE(cqe) << len;
    EXPECT_EQ(cqe->opcode, VERNA_CQE_RECV);
    EXPECT_EQ(cqe->status, VERNA_CQE_OK);
    EXPECT_EQ(cqe->id, qp->qpn);
    EXPECT_EQ(cqe->wqe_index, qp->rq.prod - 1);
    EXPECT_EQ(cqe->byte_len, len);
    EXPECT_EQ(cqe->flags & (VERNA_CQE_F_IMM | VERNA_CQE_F_INV | VERNA_CQE_F_SOLICITED), 0);
    EXPECT_EQ(buffer->mem.read(0, len), data);
    EXPECT_EQ(buffer->mem.read(len, 300 - len), Bytes(300 - len, 0)) << "wrote past the message";
  }
  EXPECT_EQ(count(VERNA_RDMA_rx_accepted), 6u);
}

TEST_F(Responder, AMessageOfManyPacketsOverManySegments) {
  Region* buffer = rig.make_mr(4096, VERNA_ACCESS_LOCAL_WRITE);
  driver().post_recv(qp, {buffer->sge(0, 100), buffer->sge(1000, 0), buffer->sge(2000, 500),
                          buffer->sge(3000, 1000)});
  const Bytes data = pattern(3 * kMtu + 17, 9);
  for (uint32_t i = 0; i < 4; i++) {
    const uint8_t opcode = i == 0 ? kRcSendFirst : i == 3 ? kRcSendLast : kRcSendMiddle;
    const Bytes part(data.begin() + i * kMtu, i == 3 ? data.end() : data.begin() + (i + 1) * kMtu);
    rig.deliver(request(opcode, kPsn + i, part, i == 3));
    if (i < 3) EXPECT_FALSE(rig.completion(qp->recv_cq));
  }
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->byte_len, data.size());
  Bytes got = buffer->mem.read(0, 100);
  for (const auto& [at, n] : {std::pair{2000, 500}, {3000, 3 * 256 + 17 - 600}}) {
    const Bytes part = buffer->mem.read(static_cast<uint64_t>(at), static_cast<uint64_t>(n));
    got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(got, data);
  auto reply = rig.sent();
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->psn, kPsn + 3);
  EXPECT_EQ(reply->msn, 1u);
}

TEST_F(Responder, ImmediateAndSolicited) {
  post_recv(10);
  RocePacket p = request(kRcSendOnlyImm, kPsn, pattern(10, 1));
  p.imm = 0x11223344;
  p.solicited = true;
  EXPECT_GE(answer(p), 0);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->flags & (VERNA_CQE_F_IMM | VERNA_CQE_F_SOLICITED),
            VERNA_CQE_F_IMM | VERNA_CQE_F_SOLICITED);
  EXPECT_EQ(cqe->imm, __builtin_bswap32(0x11223344)) << "as on the wire";
}

TEST_F(Responder, SendWithInvalidateTakesTheKeyAway) {
  Region* victim = rig.make_mr(4096);
  post_recv(10);
  RocePacket p = request(kRcSendOnlyInv, kPsn, pattern(10, 1));
  p.ieth = victim->key;
  EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(p))));
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_OK);
  EXPECT_TRUE(cqe->flags & VERNA_CQE_F_INV);
  EXPECT_EQ(cqe->imm, victim->key);
  EXPECT_EQ(answer(rdma(kRcWriteOnly, kPsn + 1, victim, 0, 4, Bytes(4, 1))), kNakRemoteAccess);
  EXPECT_EQ(victim->mem.read(0, 4), Bytes(4, 0));
}

TEST_F(Responder, WriteOnlyAndMany) {
  const Bytes data = pattern(2 * kMtu + 5, 4);
  EXPECT_TRUE(is_ack(static_cast<uint8_t>(
      answer(rdma(kRcWriteOnly, kPsn, mr, 7, 5, Bytes(data.begin(), data.begin() + 5))))));
  EXPECT_EQ(memory(7, 5), Bytes(data.begin(), data.begin() + 5));
  rig.deliver(rdma(kRcWriteFirst, kPsn + 1, mr, 4001, static_cast<uint32_t>(data.size()),
                   Bytes(data.begin(), data.begin() + kMtu)));
  rig.deliver(request(kRcWriteMiddle, kPsn + 2, Bytes(data.begin() + kMtu, data.begin() + 2 * kMtu),
                      false));
  rig.deliver(request(kRcWriteLast, kPsn + 3, Bytes(data.begin() + 2 * kMtu, data.end())));
  EXPECT_EQ(memory(4001, data.size()), data);
  const auto replies = rig.all_sent();
  ASSERT_FALSE(replies.empty());
  EXPECT_EQ(replies.back().psn, kPsn + 3);
  EXPECT_EQ(replies.back().msn, 2u);
  EXPECT_FALSE(rig.completion(qp->recv_cq)) << "a write says nothing";
}

TEST_F(Responder, WriteWithImmediateUsesAReceiveRequest) {
  post_recv(0);
  RocePacket p = rdma(kRcWriteOnlyImm, kPsn, mr, 0, 8, pattern(8, 1));
  p.imm = 0xabcdef01;
  EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(p))));
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->opcode, VERNA_CQE_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(cqe->byte_len, 8u);
  EXPECT_EQ(cqe->imm, __builtin_bswap32(0xabcdef01));
  EXPECT_EQ(memory(0, 8), pattern(8, 1));
}

TEST_F(Responder, ReadsOfEverySizeHaveTheRightResponses) {
  const Bytes data = pattern(4 * kMtu, 8);
  mr->mem.write(0, data);
  uint32_t psn = kPsn, msn = 0;
  for (uint32_t len : {0u, 1u, 255u, 256u, 257u, 511u, 512u, 513u, 1024u}) {
    rig.inject(rdma(kRcReadRequest, psn, mr, 0, len));
    const uint32_t packets = std::max(1u, (len + kMtu - 1) / kMtu);
    msn++;
    Bytes got;
    for (uint32_t i = 0; i < packets; i++) {
      auto r = rig.sent();
      ASSERT_TRUE(r) << len << " response " << i;
      EXPECT_EQ(r->psn, psn + i);
      const bool first = i == 0, end = i == packets - 1;
      EXPECT_EQ(r->opcode, first && end ? kRcReadRespOnly
                           : first      ? kRcReadRespFirst
                           : end        ? kRcReadRespLast
                                        : kRcReadRespMiddle);
      if (first || end) {
        EXPECT_TRUE(is_ack(r->syndrome));
        EXPECT_EQ(r->msn, msn);
      }
      got.insert(got.end(), r->payload.begin(), r->payload.end());
    }
    EXPECT_FALSE(rig.sent()) << len;
    EXPECT_EQ(got, Bytes(data.begin(), data.begin() + len));
    psn += packets;
  }
}

TEST_F(Responder, Atomics) {
  mr->mem.store<uint64_t>(64, 1000);
  RocePacket p = rdma(kRcFetchAdd, kPsn, mr, 64, 0);
  p.swap_add = 5;
  rig.inject(p);
  auto r = rig.sent();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->opcode, kRcAtomicAck);
  EXPECT_EQ(r->atomic_original, 1000u);
  EXPECT_EQ(mr->mem.load<uint64_t>(64), 1005u);
  p = rdma(kRcCompareSwap, kPsn + 1, mr, 64, 0);
  p.compare = 1005;
  p.swap_add = 0xfedcba9876543210;
  rig.inject(p);
  r = rig.sent();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->atomic_original, 1005u);
  EXPECT_EQ(mr->mem.load<uint64_t>(64), 0xfedcba9876543210u);
  p = rdma(kRcCompareSwap, kPsn + 2, mr, 64, 0);
  p.compare = 1005;
  p.swap_add = 1;
  rig.inject(p);
  r = rig.sent();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->atomic_original, 0xfedcba9876543210u);
  EXPECT_EQ(mr->mem.load<uint64_t>(64), 0xfedcba9876543210u) << "the comparison failed";
  EXPECT_EQ(r->msn, 3u);
}

TEST_F(Responder, UnalignedAtomicIsAnInvalidRequest) {
  const uint64_t before = rig.card.bus.hash();
  RocePacket p = rdma(kRcFetchAdd, kPsn, mr, 4, 0);
  p.swap_add = 1;
  EXPECT_EQ(answer(p), kNakInvalidRequest);
  EXPECT_EQ(mr->mem.read(0, 64), Bytes(64, 0));
  (void)before;
}

// --- order -------------------------------------------------------------------------------------

TEST_F(Responder, AGapIsNakedOnceAndThenSilentUntilFilled) {
  post_recv(10);
  post_recv(10);
  post_recv(10);
  EXPECT_EQ(answer(request(kRcSendOnly, kPsn + 1, Bytes(4, 1))), kNakSequence);
  EXPECT_EQ(last.psn, kPsn) << "names what it expects";
  EXPECT_EQ(answer(request(kRcSendOnly, kPsn + 2, Bytes(4, 1))), -1);
  EXPECT_EQ(answer(request(kRcSendOnly, kPsn + 1, Bytes(4, 1))), -1);
  EXPECT_FALSE(rig.completion(qp->recv_cq));
  EXPECT_EQ(count(VERNA_RDMA_rx_out_of_sequence), 3u);
  EXPECT_EQ(count(VERNA_RDMA_tx_naks_seq), 1u);
  for (uint32_t i = 0; i < 3; i++) {
    EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(request(kRcSendOnly, kPsn + i, Bytes(4, 1))))));
    EXPECT_TRUE(rig.completion(qp->recv_cq));
  }
  EXPECT_EQ(answer(request(kRcSendOnly, kPsn + 9, Bytes(4, 1))), kNakSequence) << "a new gap";
  EXPECT_EQ(last.psn, kPsn + 3);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
}

TEST_F(Responder, DuplicateSendsAndWritesAreAcknowledgedNotExecuted) {
  Region* buffer = post_recv(10);
  post_recv(10);
  answer(request(kRcSendOnly, kPsn, Bytes(4, 1)));
  ASSERT_TRUE(rig.completion(qp->recv_cq));
  answer(rdma(kRcWriteOnly, kPsn + 1, mr, 0, 4, Bytes(4, 2)));
  EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(request(kRcSendOnly, kPsn, Bytes(4, 9))))));
  EXPECT_EQ(last.psn, kPsn + 1) << "the last packet that was acknowledged";
  EXPECT_FALSE(rig.completion(qp->recv_cq));
  EXPECT_EQ(buffer->mem.read(0, 4), Bytes(4, 1));
  EXPECT_TRUE(
      is_ack(static_cast<uint8_t>(answer(rdma(kRcWriteOnly, kPsn + 1, mr, 0, 4, Bytes(4, 9))))));
  EXPECT_EQ(memory(0, 4), Bytes(4, 2));
  EXPECT_EQ(last.msn, 2u);
  EXPECT_EQ(count(VERNA_RDMA_rx_duplicate), 2u);
}

TEST_F(Responder, DuplicateReadIsExecutedAgain) {
  mr->mem.write(0, pattern(1024, 1));
  rig.inject(rdma(kRcReadRequest, kPsn, mr, 0, 1024));
  EXPECT_EQ(rig.all_sent().size(), 4u);
  // The requester lost responses from the third on and asks for those.
  RocePacket again = rdma(kRcReadRequest, kPsn + 2, mr, 512, 512);
  rig.inject(again);
  const auto replies = rig.all_sent();
  ASSERT_EQ(replies.size(), 2u);
  EXPECT_EQ(replies[0].psn, kPsn + 2);
  EXPECT_EQ(replies[0].opcode, kRcReadRespFirst);
  EXPECT_EQ(replies[0].payload, memory(512, 256));
  EXPECT_EQ(replies[1].payload, memory(768, 256));
  // What was never asked for is not read.
  again.va += 4096;
  rig.inject(again);
  EXPECT_TRUE(rig.all_sent().empty());
  again.va -= 4096;
  again.dma_len = 4096;
  rig.inject(again);
  EXPECT_TRUE(rig.all_sent().empty());
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
}

TEST_F(Responder, DuplicateAtomicIsReplayedNotExecuted) {
  RocePacket p = rdma(kRcFetchAdd, kPsn, mr, 0, 0);
  p.swap_add = 7;
  for (int i = 0; i < 5; i++) {
    rig.inject(p);
    auto r = rig.sent();
    ASSERT_TRUE(r) << i;
    EXPECT_EQ(r->opcode, kRcAtomicAck);
    EXPECT_EQ(r->atomic_original, 0u);
    EXPECT_EQ(r->psn, kPsn);
    EXPECT_EQ(mr->mem.load<uint64_t>(0), 7u);
  }
  RocePacket q = rdma(kRcFetchAdd, kPsn + 1, mr, 0, 0);
  q.swap_add = 100;
  rig.inject(q);
  ASSERT_EQ(rig.sent()->atomic_original, 7u);
  rig.inject(p);
  auto r = rig.sent();
  ASSERT_TRUE(r);
  EXPECT_EQ(r->atomic_original, 0u) << "each keeps its own result";
  EXPECT_EQ(mr->mem.load<uint64_t>(0), 107u);
}

TEST_F(Responder, AnAtomicLongForgottenIsNotExecutedAgain) {
  RocePacket first = rdma(kRcFetchAdd, kPsn, mr, 0, 0);
  first.swap_add = 1;
  for (uint32_t i = 0; i < how.rd_atomic + 4u; i++) {
    RocePacket p = first;
    p.psn = kPsn + i;
    rig.inject(p);
    ASSERT_TRUE(rig.sent());
  }
  rig.inject(first);
  EXPECT_FALSE(rig.sent());
  EXPECT_EQ(mr->mem.load<uint64_t>(0), how.rd_atomic + 4u);
}

TEST_F(Responder, PsnsWrapAtTwoToThe24) {
  how.psn = 0xfffffe;
  make_rc();
  const uint32_t psns[] = {0xfffffe, 0xffffff, 0, 1};
  for (uint32_t psn : psns) {
    EXPECT_TRUE(
        is_ack(static_cast<uint8_t>(answer(rdma(kRcWriteOnly, psn, mr, 0, 4, Bytes(4, 1))))));
    EXPECT_EQ(last.psn, psn);
  }
  EXPECT_TRUE(
      is_ack(static_cast<uint8_t>(answer(rdma(kRcWriteOnly, 0xffffff, mr, 0, 4, Bytes(4, 2))))))
      << "a duplicate from before the wrap";
  EXPECT_EQ(memory(0, 4), Bytes(4, 1));
}

// --- receiver not ready ------------------------------------------------------------------------

TEST_F(Responder, WithoutAReceiveRequestTheSenderIsToldToWait) {
  how.min_rnr_timer = 14;
  make_rc();
  const int syndrome = answer(request(kRcSendOnly, kPsn, Bytes(4, 1)));
  ASSERT_GE(syndrome, 0);
  EXPECT_TRUE(is_rnr_nak(static_cast<uint8_t>(syndrome)));
  EXPECT_EQ(syndrome & 0x1f, 14);
  EXPECT_EQ(last.psn, kPsn);
  EXPECT_EQ(count(VERNA_RDMA_rx_rnr), 1u);
  EXPECT_EQ(count(VERNA_RDMA_tx_rnr_naks), 1u);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
  post_recv(10);
  EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(request(kRcSendOnly, kPsn, Bytes(4, 1))))));
  EXPECT_TRUE(rig.completion(qp->recv_cq));
}

TEST_F(Responder, WhatFollowsAnRnrNakIsSilentlyDropped) {
  EXPECT_TRUE(is_rnr_nak(static_cast<uint8_t>(answer(request(kRcSendOnly, kPsn, Bytes(4, 1))))));
  EXPECT_EQ(answer(request(kRcSendOnly, kPsn + 1, Bytes(4, 1))), -1)
      << "a sequence NAK would make the sender forget to wait";
  EXPECT_EQ(answer(request(kRcSendOnly, kPsn + 2, Bytes(4, 1))), -1);
}

TEST_F(Responder, WriteWithImmediateWithoutAReceiveRequestWaitsToo) {
  RocePacket p = rdma(kRcWriteOnlyImm, kPsn, mr, 0, 4, Bytes(4, 1));
  const int syndrome = answer(p);
  ASSERT_GE(syndrome, 0);
  EXPECT_TRUE(is_rnr_nak(static_cast<uint8_t>(syndrome)));
  post_recv(0);
  EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(p))));
  EXPECT_EQ(memory(0, 4), Bytes(4, 1));
}

TEST_F(Responder, AReceiveRequestThatIsTooSmallIsAnInvalidRequest) {
  Region* buffer = rig.make_mr(100, VERNA_ACCESS_LOCAL_WRITE);
  driver().post_recv(qp, {buffer->sge(0, 50)});
  driver().post_recv(qp, {buffer->sge(0, 50)});
  EXPECT_EQ(answer(request(kRcSendOnly, kPsn, Bytes(51, 1))), kNakInvalidRequest);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_LOC_LEN_ERR);
  EXPECT_EQ(cqe->wqe_index, 0u);
  cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_WR_FLUSH_ERR);
  EXPECT_EQ(cqe->wqe_index, 1u);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR);
  EXPECT_EQ(buffer->mem.read(50, 50), Bytes(50, 0));
}

TEST_F(Responder, AReceiveRequestWithABadKeyIsALocalError) {
  Region* buffer = rig.make_mr(100, VERNA_ACCESS_LOCAL_WRITE);
  verna_sge bad = buffer->sge(0, 50);
  bad.lkey ^= 0x100;
  driver().post_recv(qp, {bad});
  EXPECT_EQ(answer(request(kRcSendOnly, kPsn, Bytes(20, 1))), kNakRemoteOperational);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_LOC_PROT_ERR);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR);
}

// --- requests that break a rule ----------------------------------------------------------------

struct InvalidRequest : Responder {
  /// Sends `first` (accepted, if there) and then `bad`, which must end the QP with NAK 0x61.
  void expect_invalid(const char* what, const std::function<RocePacket(uint32_t)>& bad,
                      const std::function<RocePacket(uint32_t)>& first = {}) {
    SCOPED_TRACE(what);
    make_rc();
    for (int i = 0; i < 3; i++) post_recv(4096);
    uint32_t psn = kPsn;
    if (first) {
      rig.deliver(first(psn++));
      rig.all_sent();
    }
    const uint64_t invalid = count(VERNA_RDMA_remote_invalid_requests);
    EXPECT_EQ(answer(bad(psn)), kNakInvalidRequest);
    EXPECT_EQ(last.psn, psn);
    EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR);
    EXPECT_TRUE(rig.saw_event(VERNA_EVENT_QP_REQ_ERR, qp->qpn));
    EXPECT_EQ(count(VERNA_RDMA_remote_invalid_requests), invalid + 1);
    // Receive requests are flushed, and nothing is answered any more.
    int flushed = 0;
    while (auto cqe = rig.completion(qp->recv_cq)) {
      EXPECT_NE(cqe->status, VERNA_CQE_OK);
      flushed++;
    }
    EXPECT_EQ(flushed, 3);
    EXPECT_EQ(answer(bad(psn)), -1);
  }
};

TEST_F(InvalidRequest, PacketsOutOfPlaceInAMessage) {
  const auto of = [this](uint8_t opcode, size_t len) {
    return [this, opcode, len](uint32_t psn) {
      RocePacket p = rdma(opcode, psn, mr, 0, 1024, Bytes(len, 1));
      return p;
    };
  };
  expect_invalid("SEND MIDDLE at the start", of(kRcSendMiddle, kMtu));
  expect_invalid("SEND LAST at the start", of(kRcSendLast, 10));
  expect_invalid("WRITE MIDDLE at the start", of(kRcWriteMiddle, kMtu));
  expect_invalid("WRITE LAST at the start", of(kRcWriteLast, 10));
  expect_invalid("SEND ONLY in a SEND", of(kRcSendOnly, 10), of(kRcSendFirst, kMtu));
  expect_invalid("SEND FIRST in a SEND", of(kRcSendFirst, kMtu), of(kRcSendFirst, kMtu));
  expect_invalid("WRITE MIDDLE in a SEND", of(kRcWriteMiddle, kMtu), of(kRcSendFirst, kMtu));
  expect_invalid("SEND LAST in a WRITE", of(kRcSendLast, 10), of(kRcWriteFirst, kMtu));
  expect_invalid("READ in a WRITE", of(kRcReadRequest, 0), of(kRcWriteFirst, kMtu));
  expect_invalid("FETCH ADD in a SEND", of(kRcFetchAdd, 0), of(kRcSendFirst, kMtu));
}

TEST_F(InvalidRequest, PacketsOfTheWrongLength) {
  const auto of = [this](uint8_t opcode, size_t len, uint32_t dma_len = 1024) {
    return [this, opcode, len, dma_len](uint32_t psn) {
      return rdma(opcode, psn, mr, 0, dma_len, Bytes(len, 1));
    };
  };
  expect_invalid("FIRST shorter than the MTU", of(kRcSendFirst, kMtu - 1));
  expect_invalid("FIRST longer than the MTU", of(kRcSendFirst, kMtu + 4));
  expect_invalid("ONLY longer than the MTU", of(kRcSendOnly, kMtu + 1));
  expect_invalid("MIDDLE shorter", of(kRcSendMiddle, kMtu - 4), of(kRcSendFirst, kMtu));
  expect_invalid("LAST longer", of(kRcSendLast, kMtu + 4), of(kRcSendFirst, kMtu));
  expect_invalid("LAST of nothing", of(kRcSendLast, 0), of(kRcSendFirst, kMtu));
  expect_invalid("WRITE ONLY shorter than its RETH", of(kRcWriteOnly, 10, 11));
  expect_invalid("WRITE ONLY longer than its RETH", of(kRcWriteOnly, 11, 10));
  expect_invalid("WRITE LAST that ends too early", of(kRcWriteLast, 10, 0),
                 of(kRcWriteFirst, kMtu, 300));
  expect_invalid("WRITE LAST that ends too late", of(kRcWriteLast, 60, 0),
                 of(kRcWriteFirst, kMtu, 300));
  expect_invalid("WRITE MIDDLE beyond the RETH", of(kRcWriteMiddle, kMtu, 0),
                 of(kRcWriteFirst, kMtu, 300));
  expect_invalid("a message longer than 2^31", of(kRcReadRequest, 0, 0x80000001));
}

TEST_F(InvalidRequest, MoreReadsThanAgreed) {
  // max_dest_rd_atomic READs may be under way; with the wire blocked none can be answered.
  mr->mem.write(0, pattern(8192, 1));
  make_rc();
  rig.wire.a.block_tx = true;
  for (uint32_t i = 0; i < how.rd_atomic + 1u; i++) {
    rig.deliver(rdma(kRcReadRequest, kPsn + 8 * i, mr, 0, 8 * kMtu));
  }
  rig.wire.a.block_tx = false;
  const auto replies = rig.all_sent();
  // Whatever the card does with the last one (drop, or refuse as invalid), it must not keep more.
  size_t responses = 0;
  for (const auto& r : replies) responses += r.opcode != kRcAck;
  EXPECT_LE(responses, how.rd_atomic * 8u);
}

}  // namespace
}  // namespace verna::test
