// SPDX-License-Identifier: GPL-2.0-or-later
// An RC and UC requester and its completer against a peer in the test's hands.
#include <algorithm>
#include <functional>
#include <utility>

#include "rdma/requester_test.h"

namespace verna::test {
namespace {

TEST_F(Requester, CutsMessagesIntoPackets) {
  uint32_t psn = kPsn;
  for (uint32_t len : {0u, 1u, 255u, 256u, 257u, 512u, 513u, 1000u}) {
    for (bool is_write : {false, true}) {
      post(is_write ? write(len) : send(len));
      const uint32_t packets = std::max(1u, (len + kMtu - 1) / kMtu);
      Bytes got;
      for (uint32_t i = 0; i < packets; i++) {
        auto p = rig.sent();
        ASSERT_TRUE(p) << len;
        const bool first = i == 0, end = i == packets - 1;
        const uint8_t base = is_write ? kRcWriteFirst : kRcSendFirst;
        EXPECT_EQ(p->opcode, first && end ? base + 4 : first ? base : end ? base + 2 : base + 1);
        EXPECT_EQ(p->psn, psn);
        EXPECT_EQ(p->dest_qpn, RdmaRig::kPeerQpn);
        EXPECT_EQ(p->pkey, 0xffff);
        EXPECT_EQ(p->tver, 0);
        EXPECT_EQ(p->tos & 3, 0);
        EXPECT_GE(p->sport, 0xc000);
        EXPECT_EQ(p->pad, static_cast<uint8_t>(-p->payload.size() & 3));
        if (end) EXPECT_TRUE(p->ack_req) << "the last packet asks for an acknowledgement";
        if (is_write && first) {
          EXPECT_EQ(p->va, 0x1122334455667788u);
          EXPECT_EQ(p->rkey, 0xaabbccddu);
          EXPECT_EQ(p->dma_len, len);
        }
        got.insert(got.end(), p->payload.begin(), p->payload.end());
        psn++;
      }
      EXPECT_EQ(got, memory(0, len));
      EXPECT_FALSE(rig.completion(qp->send_cq)) << "not acknowledged yet";
      rig.deliver(ack(psn - 1));
      expect_ok(qp->sq.prod - 1, is_write ? VERNA_CQE_RDMA_WRITE : VERNA_CQE_SEND);
    }
  }
}

TEST_F(Requester, AddressesOfTheFrame) {
  post(send(10));
  auto p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(0, std::memcmp(p->dmac, rig.peer.mac, 6));
  EXPECT_EQ(0, std::memcmp(p->smac, rig.card.mac, 6));
  EXPECT_EQ(0, std::memcmp(p->sip + 12, rig.card.gid4 + 12, 4));
  EXPECT_EQ(0, std::memcmp(p->dip + 12, rig.peer.gid4 + 12, 4));
  EXPECT_EQ(p->ttl, 64);
  how.ipv6 = true;
  make_rc();
  post(send(10));
  p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_TRUE(p->ipv6);
  EXPECT_EQ(0, std::memcmp(p->sip, rig.card.gid6, 16));
  EXPECT_EQ(0, std::memcmp(p->dip, rig.peer.gid6, 16));
}

TEST_F(Requester, VlanTagCarriesIdAndPriority) {
  ASSERT_TRUE(driver().set_gid(3, rig.card.gid4, rig.card.mac, 0x123).ok());
  how.sgid_index = 3;
  how.sl = 5;
  make_rc();
  post(send(10));
  auto p = rig.sent();
  ASSERT_TRUE(p);
  ASSERT_TRUE(p->vlan_tci);
  EXPECT_EQ(*p->vlan_tci, 5 << 13 | 0x123);
}

TEST_F(Requester, ImmediateInvalidateSolicited) {
  SendWr wr = send(10);
  wr.opcode = VERNA_WR_SEND_WITH_IMM;
  wr.imm = 0x44332211;
  wr.flags |= VERNA_WR_F_SOLICITED;
  post(wr);
  auto p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->opcode, kRcSendOnlyImm);
  EXPECT_EQ(p->imm, __builtin_bswap32(0x44332211)) << "bytes as the host wrote them";
  EXPECT_TRUE(p->solicited);
  wr = send(10);
  wr.opcode = VERNA_WR_SEND_WITH_INV;
  wr.imm = 0x11223344;
  post(wr);
  p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->opcode, kRcSendOnlyInv);
  EXPECT_EQ(p->ieth, 0x11223344u);
  EXPECT_FALSE(p->solicited);
  wr = write(300);
  wr.opcode = VERNA_WR_RDMA_WRITE_WITH_IMM;
  wr.imm = 0x01020304;
  post(wr);
  const auto list = rig.all_sent();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].opcode, kRcWriteFirst);
  EXPECT_EQ(list[1].opcode, kRcWriteLastImm);
  EXPECT_EQ(list[1].imm, __builtin_bswap32(0x01020304));
}

TEST_F(Requester, InlineDataIsTakenFromTheRequest) {
  for (uint32_t len : {0u, 1u, 77u, 256u}) {
    SendWr wr = send(0);
    wr.flags |= VERNA_WR_F_INLINE;
    wr.inline_data = pattern(len, len);
    post(wr);
    auto p = rig.sent();
    ASSERT_TRUE(p) << len;
    EXPECT_EQ(p->payload, pattern(len, len));
    rig.deliver(ack(p->psn));
    expect_ok(qp->sq.prod - 1, VERNA_CQE_SEND);
  }
}

TEST_F(Requester, GathersSegmentsAndSkipsEmptyOnes) {
  SendWr wr = send(0);
  verna_sge empty = mr->sge(0, 0);
  empty.lkey = 0xdeadbeef;
  wr.sges = {mr->sge(5, 3), empty, mr->sge(1000, 500), mr->sge(9, 1)};
  post(wr);
  Bytes want = memory(5, 3);
  for (const auto& part : {memory(1000, 500), memory(9, 1)}) {
    want.insert(want.end(), part.begin(), part.end());
  }
  Bytes got;
  for (const auto& p : rig.all_sent()) got.insert(got.end(), p.payload.begin(), p.payload.end());
  EXPECT_EQ(got, want);
}

TEST_F(Requester, OneAckCompletesAllBeforeIt) {
  for (int i = 0; i < 5; i++) {
    SendWr wr = send(10);
    if (i % 2) wr.flags = 0;  // not signaled
    post(wr);
  }
  EXPECT_EQ(rig.all_sent().size(), 5u);
  rig.deliver(ack(kPsn + 4));
  for (uint32_t i : {0u, 2u, 4u}) expect_ok(i, VERNA_CQE_SEND);
  EXPECT_FALSE(rig.completion(qp->send_cq));
}

TEST_F(Requester, AcksThatMakeNoSenseChangeNothing) {
  post(send(10));
  post(send(10));
  rig.all_sent();
  rig.deliver(ack(kPsn - 1));
  rig.deliver(ack(kPsn + 2));
  rig.deliver(ack(kPsn + 0x400000));
  EXPECT_FALSE(rig.completion(qp->send_cq));
  rig.deliver(ack(kPsn));
  expect_ok(0, VERNA_CQE_SEND);
  rig.deliver(ack(kPsn));
  EXPECT_FALSE(rig.completion(qp->send_cq)) << "an old acknowledgement";
  rig.deliver(ack(kPsn + 1));
  expect_ok(1, VERNA_CQE_SEND);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
}

TEST_F(Requester, SequenceNakSendsAgainFromThere) {
  post(send(4 * kMtu));
  ASSERT_EQ(rig.all_sent().size(), 4u);
  rig.deliver(ack(kPsn + 1, kNakSequence));
  const auto again = rig.all_sent();
  ASSERT_EQ(again.size(), 3u);
  EXPECT_EQ(again[0].psn, kPsn + 1);
  EXPECT_EQ(again[0].opcode, kRcSendMiddle);
  EXPECT_EQ(again[0].payload, memory(kMtu, kMtu));
  EXPECT_EQ(again[2].opcode, kRcSendLast);
  EXPECT_EQ(count(VERNA_RDMA_rx_naks_seq), 1u);
  EXPECT_EQ(count(VERNA_RDMA_tx_retransmits), 3u);
  rig.deliver(ack(kPsn + 3));
  expect_ok(0, VERNA_CQE_SEND);
}

TEST_F(Requester, AnAckWhileSendingAgainMakesTheRestUnnecessary) {
  post(send(4 * kMtu));
  ASSERT_EQ(rig.all_sent().size(), 4u);
  rig.wire.a.block_tx = true;
  rig.deliver(ack(kPsn, kNakSequence));
  rig.deliver(ack(kPsn + 2));
  rig.wire.a.block_tx = false;
  rig.world.settle(kMilli);
  const auto again = rig.all_sent();
  ASSERT_EQ(again.size(), 1u) << "three of four have arrived meanwhile";
  EXPECT_EQ(again[0].psn, kPsn + 3);
}

TEST_F(Requester, SequenceNakAcknowledgesWhatCameBefore) {
  for (int i = 0; i < 3; i++) post(send(10));
  rig.all_sent();
  rig.deliver(ack(kPsn + 2, kNakSequence));
  expect_ok(0, VERNA_CQE_SEND);
  expect_ok(1, VERNA_CQE_SEND);
  EXPECT_FALSE(rig.completion(qp->send_cq));
  EXPECT_EQ(rig.all_sent().size(), 1u);
}

TEST_F(Requester, TimeoutSendsAgainAndThenGivesUp) {
  how.retry_cnt = 3;
  how.timeout = 10;  // 4.2 ms
  make_rc();
  post(send(10));
  post(send(10));
  ASSERT_EQ(rig.all_sent().size(), 2u);
  const Nanos start = rig.world.clock.now;
  rig.world.run_for(3 * kMilli);
  EXPECT_TRUE(rig.all_sent().empty()) << "before the timeout";
  verna_cqe cqe{};
  ASSERT_TRUE(rig.world.run_until([&] { return driver().poll(qp->send_cq, &cqe); }, 10 * kSecond));
  EXPECT_EQ(cqe.status, VERNA_CQE_RETRY_EXC_ERR);
  EXPECT_EQ(cqe.wqe_index, 0u);
  const Nanos took = rig.world.clock.now - start;
  EXPECT_GE(took, 4 * Nanos{4'194'304} - kMilli)
      << "four waits, one before each retry and the last";
  EXPECT_LE(took, 4 * Nanos{4'194'304} * 5);
  auto flushed = rig.completion(qp->send_cq);
  ASSERT_TRUE(flushed);
  EXPECT_EQ(flushed->status, VERNA_CQE_WR_FLUSH_ERR);
  EXPECT_EQ(flushed->wqe_index, 1u);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR);
  size_t first_again = 0;
  for (const auto& p : rig.all_sent()) first_again += p.psn == kPsn;
  EXPECT_EQ(first_again, 3u) << "retry_cnt times";
  EXPECT_GE(count(VERNA_RDMA_tx_timeouts), 4u);
}

TEST_F(Requester, ProgressResetsTheRetryCount) {
  how.retry_cnt = 2;
  how.timeout = 10;
  make_rc();
  for (int i = 0; i < 6; i++) post(send(10));
  rig.all_sent();
  for (uint32_t i = 0; i < 6; i++) {
    rig.world.run_for(7 * kMilli);  // at least one timeout each
    rig.deliver(ack(kPsn + i));
    expect_ok(i, VERNA_CQE_SEND);
  }
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
}

TEST_F(Requester, TimeoutZeroWaitsForEver) {
  how.timeout = 0;
  make_rc();
  post(send(10));
  ASSERT_EQ(rig.all_sent().size(), 1u);
  rig.world.run_for(100 * kSecond);
  EXPECT_TRUE(rig.all_sent().empty());
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
}

TEST_F(Requester, RnrNakWaitsAsLongAsItSays) {
  post(send(10));
  ASSERT_EQ(rig.all_sent().size(), 1u);
  rig.deliver(ack(kPsn, 0x20 | 14));  // 1.28 ms
  EXPECT_TRUE(rig.all_sent().empty());
  rig.world.run_for(kMilli);
  EXPECT_TRUE(rig.all_sent().empty());
  rig.world.run_for(kMilli);
  const auto again = rig.all_sent();
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].psn, kPsn);
  rig.deliver(ack(kPsn));
  expect_ok(0, VERNA_CQE_SEND);
  EXPECT_EQ(count(VERNA_RDMA_rx_rnr_naks), 1u);
}

TEST_F(Requester, EveryRnrTimerCodeHasItsTime) {
  // IBA's table, in units of 10 us.
  const uint64_t table[32] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                              48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                              2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  how.timeout = 0;
  make_rc();
  post(send(10));
  ASSERT_TRUE(rig.sent());
  for (uint8_t code = 0; code < 32; code++) {
    rig.inject(ack(kPsn, 0x20 | code));
    const Nanos start = rig.world.clock.now;
    const uint64_t before = count(VERNA_RDMA_tx_packets);
    ASSERT_TRUE(rig.world.run_until([&] { return count(VERNA_RDMA_tx_packets) > before; }));
    const Nanos waited = rig.world.clock.now - start;
    EXPECT_GE(waited, table[code] * 10 * kMicro) << int{code};
    EXPECT_LE(waited, table[code] * 10 * kMicro + 100 * kMicro) << int{code};
    ASSERT_TRUE(rig.sent());
  }
}

TEST_F(Requester, RnrRetriesRunOut) {
  how.rnr_retry = 2;
  make_rc();
  post(send(10));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(rig.all_sent().size(), 1u) << i;
    rig.deliver(ack(kPsn, 0x20 | 1));
    rig.world.run_for(kMilli);
  }
  expect_error(VERNA_CQE_RNR_RETRY_EXC_ERR, 0);
}

TEST_F(Requester, RnrRetrySevenIsForEver) {
  how.rnr_retry = 7;
  make_rc();
  post(send(10));
  for (int i = 0; i < 50; i++) {
    ASSERT_EQ(rig.all_sent().size(), 1u) << i;
    rig.deliver(ack(kPsn, 0x20 | 1));
    rig.world.run_for(kMilli);
  }
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
}

TEST_F(Requester, FatalNaksEndTheQueuePair) {
  const std::pair<uint8_t, uint8_t> cases[] = {
      {kNakInvalidRequest, VERNA_CQE_REM_INV_REQ_ERR},
      {kNakRemoteAccess, VERNA_CQE_REM_ACCESS_ERR},
      {kNakRemoteOperational, VERNA_CQE_REM_OP_ERR},
  };
  for (const auto& [syndrome, status] : cases) {
    make_rc();
    for (int i = 0; i < 3; i++) post(send(10));
    rig.all_sent();
    rig.deliver(ack(kPsn + 1, syndrome));
    expect_ok(0, VERNA_CQE_SEND);
    expect_error(status, 1);
    auto cqe = rig.completion(qp->send_cq);
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->status, VERNA_CQE_WR_FLUSH_ERR);
    EXPECT_EQ(cqe->wqe_index, 2u);
    post(send(10));
    cqe = rig.completion(qp->send_cq);
    ASSERT_TRUE(cqe) << "posted in error is flushed too";
    EXPECT_EQ(cqe->status, VERNA_CQE_WR_FLUSH_ERR);
    EXPECT_TRUE(rig.all_sent().empty());
  }
}

// --- READ and atomics --------------------------------------------------------------------------

RocePacket response(RdmaTest& t, uint8_t opcode, uint32_t psn, Bytes payload) {
  RocePacket p = t.rig.packet(t.qp, opcode, psn, std::move(payload));
  p.syndrome = 0x1f;
  return p;
}

TEST_F(Requester, ReadPlacesItsResponses) {
  const Bytes data = pattern(600, 3);
  post(read(600, 100));
  auto p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->opcode, kRcReadRequest);
  EXPECT_EQ(p->psn, kPsn);
  EXPECT_EQ(p->dma_len, 600u);
  EXPECT_EQ(p->va, 0x1122334455667788u);
  const Bytes before = memory(0, 100), after = memory(700, 100);
  rig.deliver(response(*this, kRcReadRespFirst, kPsn, Bytes(data.begin(), data.begin() + 256)));
  rig.deliver(
      response(*this, kRcReadRespMiddle, kPsn + 1, Bytes(data.begin() + 256, data.begin() + 512)));
  EXPECT_FALSE(rig.completion(qp->send_cq));
  rig.deliver(response(*this, kRcReadRespLast, kPsn + 2, Bytes(data.begin() + 512, data.end())));
  auto cqe = rig.completion(qp->send_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->opcode, VERNA_CQE_RDMA_READ);
  EXPECT_EQ(cqe->byte_len, 600u);
  EXPECT_EQ(memory(100, 600), data);
  EXPECT_EQ(memory(0, 100), before);
  EXPECT_EQ(memory(700, 100), after);
  post(send(4));
  p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->psn, kPsn + 3) << "a READ takes as many PSNs as it has responses";
}

TEST_F(Requester, ALostResponseIsAskedForAgain) {
  const Bytes data = pattern(1024, 3);
  post(read(1024));
  ASSERT_TRUE(rig.sent());
  rig.deliver(response(*this, kRcReadRespFirst, kPsn, Bytes(data.begin(), data.begin() + 256)));
  // The second is lost, the third comes.
  rig.deliver(
      response(*this, kRcReadRespMiddle, kPsn + 2, Bytes(data.begin() + 512, data.begin() + 768)));
  std::optional<RocePacket> p = rig.sent();
  if (!p) {
    rig.world.run_for(100 * kMilli);
    p = rig.sent();
  }
  ASSERT_TRUE(p);
  EXPECT_EQ(p->opcode, kRcReadRequest);
  EXPECT_EQ(p->psn, kPsn + 1);
  EXPECT_EQ(p->va, 0x1122334455667788u + 256);
  EXPECT_EQ(p->dma_len, 768u);
  rig.all_sent();
  for (uint32_t i = 1; i < 4; i++) {
    const uint8_t opcode = i == 1 ? kRcReadRespFirst : i == 3 ? kRcReadRespLast : kRcReadRespMiddle;
    rig.deliver(response(*this, opcode, kPsn + i,
                         Bytes(data.begin() + 256 * i, data.begin() + 256 * (i + 1))));
  }
  auto cqe = rig.completion(qp->send_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_OK);
  EXPECT_EQ(memory(0, 1024), data);
}

TEST_F(Requester, ResponsesThatLieNeverWriteOutsideOfTheRequest) {
  struct Case {
    const char* what;
    uint8_t opcode;
    size_t len;
  };
  for (const Case& c :
       {Case{"LAST too long", kRcReadRespOnly, 256}, Case{"ONLY too short", kRcReadRespOnly, 99},
        Case{"FIRST instead of ONLY", kRcReadRespFirst, 256},
        Case{"MIDDLE instead of ONLY", kRcReadRespMiddle, 256}, Case{"nothing", kRcReadRespOnly, 0},
        Case{"an atomic's response", kRcAtomicAck, 0}}) {
    make_rc();
    mr->mem.write(0, Bytes(1024, 0x5a));
    post(read(100, 300));
    ASSERT_TRUE(rig.sent());
    rig.deliver(response(*this, c.opcode, kPsn, Bytes(c.len, 0xee)));
    EXPECT_EQ(memory(0, 300), Bytes(300, 0x5a)) << c.what;
    EXPECT_EQ(memory(400, 600), Bytes(600, 0x5a)) << c.what;
    auto cqe = rig.completion(qp->send_cq);
    if (cqe) EXPECT_NE(cqe->status, VERNA_CQE_OK) << c.what;
  }
}

TEST_F(Requester, AnAckDoesNotCompleteARead) {
  post(read(100));
  ASSERT_TRUE(rig.sent());
  rig.deliver(ack(kPsn));
  auto cqe = rig.completion(qp->send_cq);
  if (cqe) EXPECT_NE(cqe->status, VERNA_CQE_OK) << "its data never came";
}

TEST_F(Requester, AtomicsReturnTheOriginalInHostOrder) {
  post(fetch_add(0x0102030405060708, 64));
  auto p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->opcode, kRcFetchAdd);
  EXPECT_EQ(p->swap_add, 0x0102030405060708u);
  EXPECT_EQ(p->va, 0x1000u);
  RocePacket r = response(*this, kRcAtomicAck, kPsn, {});
  r.atomic_original = 0xa1b2c3d4e5f60718;
  rig.deliver(r);
  auto cqe = rig.completion(qp->send_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_OK);
  EXPECT_EQ(cqe->opcode, VERNA_CQE_ATOMIC_FADD);
  EXPECT_EQ(cqe->byte_len, 8u);
  EXPECT_EQ(mr->mem.load<uint64_t>(64), 0xa1b2c3d4e5f60718u);
  SendWr wr = fetch_add(9, 8);
  wr.opcode = VERNA_WR_ATOMIC_CAS;
  wr.compare = 0x77;
  post(wr);
  p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->opcode, kRcCompareSwap);
  EXPECT_EQ(p->compare, 0x77u);
  EXPECT_EQ(p->swap_add, 9u);
}

TEST_F(Requester, NoMoreReadsAndAtomicsThanAgreed) {
  how.rd_atomic = 2;
  make_rc();
  for (int i = 0; i < 3; i++) post(fetch_add(1, static_cast<uint64_t>(i) * 8));
  post(send(10));
  auto list = rig.all_sent();
  ASSERT_EQ(list.size(), 2u) << "the third waits, and what follows it too";
  RocePacket r = response(*this, kRcAtomicAck, kPsn, {});
  rig.deliver(r);
  list = rig.all_sent();
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[0].opcode, kRcFetchAdd);
  EXPECT_EQ(list[1].opcode, kRcSendOnly);
}

TEST_F(Requester, FenceWaitsForReads) {
  post(read(100));
  SendWr wr = send(10);
  wr.flags |= VERNA_WR_F_FENCE;
  post(wr);
  auto list = rig.all_sent();
  ASSERT_EQ(list.size(), 1u);
  rig.deliver(response(*this, kRcReadRespOnly, kPsn, Bytes(100, 1)));
  list = rig.all_sent();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(list[0].opcode, kRcSendOnly);
}

}  // namespace
}  // namespace verna::test
