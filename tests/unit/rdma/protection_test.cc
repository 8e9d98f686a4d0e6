// SPDX-License-Identifier: GPL-2.0-or-later
// Who may touch what: every operation against every kind of wrong key, range and right, from the
// wire and from the card's own work requests. Memory must be unchanged where it was refused.
#include <algorithm>
#include <functional>
#include <string>

#include "rdma/rdma_test.h"

namespace verna::test {
namespace {

constexpr uint64_t kLen = 8192;

struct Protection : RdmaTest {
  Protection() {
    pd2 = driver().create_pd();
    make_rc();
  }
  /// A request of each kind for `len` bytes at `va`.
  RocePacket op(uint8_t opcode, uint64_t va, uint32_t key, uint32_t len) {
    RocePacket p = request(opcode, kPsn);
    p.va = va;
    p.rkey = key;
    p.dma_len = len;
    p.swap_add = 1;
    if (opcode == kRcWriteOnly) p.payload = Bytes(len, 0xee);
    if (opcode == kRcWriteFirst) p.payload = Bytes(kMtu, 0xee);
    return p;
  }
  /// Sends the request on a fresh QP. True if it was executed; otherwise it must have been refused
  /// as a remote access error.
  bool accepted(const RocePacket& request_packet, const std::string& what) {
    SCOPED_TRACE(what);
    RocePacket p = request_packet;
    qp = rig.make_qp(VERNA_QP_RC, how);
    p.dest_qpn = qp->qpn;
    rig.inject(p);
    auto reply = rig.sent();
    rig.all_sent();
    bool ok = true;
    if (reply && reply->opcode == kRcAck && !is_ack(reply->syndrome)) {
      ok = false;
      EXPECT_EQ(reply->syndrome, kNakRemoteAccess);
      EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR);
      EXPECT_TRUE(rig.saw_event(VERNA_EVENT_QP_ACCESS_ERR, qp->qpn));
    } else {
      EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
    }
    driver().object(VERNA_CMD_DESTROY_QP, qp->qpn);
    return ok;
  }
  uint32_t pd2 = 0;
};

struct Op {
  const char* name;
  uint8_t opcode;
  uint32_t len;
  uint8_t right;
};
const Op kOps[] = {
    {"WRITE", kRcWriteOnly, 16, VERNA_ACCESS_REMOTE_WRITE},
    {"WRITE FIRST", kRcWriteFirst, 300, VERNA_ACCESS_REMOTE_WRITE},
    {"READ", kRcReadRequest, 16, VERNA_ACCESS_REMOTE_READ},
    {"FETCH ADD", kRcFetchAdd, 8, VERNA_ACCESS_REMOTE_ATOMIC},
    {"COMPARE SWAP", kRcCompareSwap, 8, VERNA_ACCESS_REMOTE_ATOMIC},
};

TEST_F(Protection, RightsDecideOperationByOperation) {
  for (uint8_t rights = 0; rights < 16; rights++) {
    // Remote write and atomic need local write, as IBA demands of the registration.
    if ((rights & (VERNA_ACCESS_REMOTE_WRITE | VERNA_ACCESS_REMOTE_ATOMIC)) &&
        !(rights & VERNA_ACCESS_LOCAL_WRITE)) {
      continue;
    }
    Region* mr = rig.make_mr(kLen, rights);
    for (const Op& o : kOps) {
      mr->mem.write(0, Bytes(kLen, 0));
      const bool ok = accepted(op(o.opcode, mr->iova + 64, mr->key, o.len),
                               std::string(o.name) + " rights " + std::to_string(rights));
      EXPECT_EQ(ok, (rights & o.right) != 0) << o.name << " with rights " << int{rights};
      if (!ok) EXPECT_EQ(mr->mem.read(0, kLen), Bytes(kLen, 0)) << o.name;
    }
  }
}

TEST_F(Protection, KeysMustBeRightInEveryBit) {
  Region* mr = rig.make_mr(kLen);
  for (const Op& o : kOps) {
    for (int bit = 0; bit < 32; bit++) {
      EXPECT_FALSE(accepted(op(o.opcode, mr->iova, mr->key ^ (1u << bit), o.len), o.name));
    }
    for (uint32_t key : {0u, 0xffffffffu}) {
      EXPECT_FALSE(accepted(op(o.opcode, mr->iova, key, o.len), o.name));
    }
  }
  EXPECT_EQ(mr->mem.read(0, kLen), Bytes(kLen, 0));
}

TEST_F(Protection, AnotherProtectionDomainIsClosed) {
  Region* foreign = driver().create_mr(pd2, kLen, RdmaRig::kFullAccess);
  for (const Op& o : kOps) {
    EXPECT_FALSE(accepted(op(o.opcode, foreign->iova, foreign->key, o.len), o.name));
  }
  EXPECT_EQ(foreign->mem.read(0, kLen), Bytes(kLen, 0));
}

TEST_F(Protection, BoundsAreExact) {
  for (const BufferShape& shape :
       {BufferShape{}, BufferShape{.level = 1}, BufferShape{.level = 2, .offset = 96}}) {
    Region* mr = rig.make_mr(kLen, RdmaRig::kFullAccess, shape);
    for (const Op& o : kOps) {
      const uint64_t end = mr->iova + kLen;
      const auto at = [&](uint64_t va) {
        return accepted(op(o.opcode, va, mr->key, o.len), o.name);
      };
      EXPECT_TRUE(at(mr->iova)) << o.name;
      EXPECT_TRUE(at(end - (o.len + 7) / 8 * 8)) << o.name;
      EXPECT_FALSE(at(mr->iova - 8)) << o.name;
      EXPECT_FALSE(at(end - o.len / 8 * 8 + 8)) << o.name;
      EXPECT_FALSE(at(end)) << o.name;
      EXPECT_FALSE(at(end + 4096)) << o.name;
      EXPECT_FALSE(at(0)) << o.name;
      EXPECT_FALSE(at(~uint64_t{0} - 7)) << o.name << ": address plus length wraps";
      EXPECT_FALSE(at(mr->iova + (uint64_t{1} << 32))) << o.name;
      EXPECT_FALSE(at(mr->iova ^ (uint64_t{1} << 63))) << o.name;
    }
  }
}

TEST_F(Protection, LengthsThatWrap) {
  Region* mr = rig.make_mr(kLen);
  for (uint32_t len : {8193u, 0x7fffffffu, 0x80000000u}) {
    RocePacket p = op(kRcReadRequest, mr->iova, mr->key, len);
    EXPECT_FALSE(accepted(p, std::to_string(len)));
    p = op(kRcWriteFirst, mr->iova, mr->key, len);
    EXPECT_FALSE(accepted(p, std::to_string(len)));
  }
}

TEST_F(Protection, ARegionAtTheEndOfTheAddressSpace) {
  Region* mr = driver().create_mr(rig.pd, 4096, RdmaRig::kFullAccess, {}, ~uint64_t{0} - 4095);
  EXPECT_TRUE(accepted(op(kRcWriteOnly, ~uint64_t{0} - 15, mr->key, 16), "last bytes"));
  EXPECT_FALSE(accepted(op(kRcWriteOnly, ~uint64_t{0} - 14, mr->key, 16), "over the end"));
  EXPECT_FALSE(accepted(op(kRcReadRequest, ~uint64_t{0} - 15, mr->key, 0x7fffffff), "wraps"));
}

TEST_F(Protection, ZeroBasedRegions) {
  Region* mr = rig.make_mr(kLen, RdmaRig::kFullAccess | VERNA_ACCESS_ZERO_BASED);
  EXPECT_TRUE(accepted(op(kRcWriteOnly, 0, mr->key, 16), "first"));
  EXPECT_TRUE(accepted(op(kRcWriteOnly, kLen - 16, mr->key, 16), "last"));
  EXPECT_FALSE(accepted(op(kRcWriteOnly, kLen - 15, mr->key, 16), "over"));
  EXPECT_FALSE(accepted(op(kRcWriteOnly, ~uint64_t{0} - 7, mr->key, 16), "wraps"));
}

TEST_F(Protection, AZeroLengthRegionGrantsNothing) {
  Region* mr = rig.make_mr(0);
  for (const Op& o : kOps) {
    EXPECT_FALSE(accepted(op(o.opcode, mr->iova, mr->key, o.len), o.name));
    EXPECT_FALSE(accepted(op(o.opcode, 0, mr->key, o.len), o.name));
  }
}

TEST_F(Protection, ZeroLengthRequestsNeedNoKey) {
  EXPECT_TRUE(accepted(op(kRcWriteOnly, 0x1234, 0xdead, 0), "WRITE of nothing"));
  EXPECT_TRUE(accepted(op(kRcReadRequest, 0x1234, 0xdead, 0), "READ of nothing"));
}

TEST_F(Protection, AFreedKeyIsDead) {
  Region* mr = rig.make_mr(kLen);
  ASSERT_TRUE(driver().object(VERNA_CMD_DESTROY_MR, mr->key).ok());
  mr->mem.unmap();  // and any access fails the test
  for (const Op& o : kOps) EXPECT_FALSE(accepted(op(o.opcode, mr->iova, mr->key, o.len), o.name));
}

TEST_F(Protection, AllOfMemoryIsNeverRemote) {
  verna_cmd_create_mr c{};
  c.pdn = rig.pd;
  c.flags = VERNA_MR_F_DMA;
  c.access = VERNA_ACCESS_LOCAL_WRITE;
  const Reply reply = driver().execute(VERNA_CMD_CREATE_MR, c);
  ASSERT_TRUE(reply.ok());
  const uint64_t target = rig.card.bus.alloc(4096);
  for (const Op& o : kOps) {
    EXPECT_FALSE(
        accepted(op(o.opcode, target, static_cast<uint32_t>(reply.result), o.len), o.name));
  }
  c.access = RdmaRig::kFullAccess;
  EXPECT_EQ(driver().execute(VERNA_CMD_CREATE_MR, c).status, VERNA_CMD_BAD_PARAM);
}

TEST_F(Protection, TheQueuePairsRightsCountToo) {
  Region* mr = rig.make_mr(kLen);
  for (const Op& o : kOps) {
    how.access = static_cast<uint8_t>(
        (VERNA_ACCESS_REMOTE_WRITE | VERNA_ACCESS_REMOTE_READ | VERNA_ACCESS_REMOTE_ATOMIC) &
        ~o.right);
    make_rc();
    RocePacket p = op(o.opcode, mr->iova, mr->key, o.len);
    const int syndrome = answer(p);
    EXPECT_TRUE(syndrome == kNakInvalidRequest || syndrome == kNakRemoteAccess) << o.name;
    EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR) << o.name;
  }
  EXPECT_EQ(mr->mem.read(0, kLen), Bytes(kLen, 0));
}

TEST_F(Protection, AViolationEndsOnlyItsOwnQueuePair) {
  Region* mr = rig.make_mr(kLen);
  QueuePair* innocent = rig.make_qp(VERNA_QP_RC, how);
  EXPECT_FALSE(accepted(op(kRcWriteOnly, mr->iova, mr->key ^ 4, 16), "bad key"));
  qp = innocent;
  EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(op(kRcWriteOnly, mr->iova, mr->key, 16)))));
}

TEST_F(Protection, AWriteThatFailsHalfWayWroteOnlyInsideOfItsGrant) {
  // The check is of the whole RETH, before anything is written.
  Region* mr = rig.make_mr(kLen);
  RocePacket p = op(kRcWriteFirst, mr->iova + kLen - kMtu, mr->key, kMtu + 1);
  EXPECT_FALSE(accepted(p, "one byte too many"));
  EXPECT_EQ(mr->mem.read(0, kLen), Bytes(kLen, 0));
}

// --- local keys --------------------------------------------------------------------------------

struct LocalKeys : Protection {
  uint8_t status_of(const SendWr& wr) {
    qp = rig.make_qp(VERNA_QP_RC, how);
    driver().post_send(qp, wr);
    auto cqe = rig.completion(qp->send_cq);
    rig.all_sent();
    return cqe ? cqe->status : 0xff;  // 0xff: it was sent and waits for its answer
  }
  SendWr send(const verna_sge& sge) {
    SendWr wr;
    wr.sges = {sge};
    return wr;
  }
};

TEST_F(LocalKeys, SendNeedsAKeyOfTheDomain) {
  Region* mine = rig.make_mr(kLen, 0);
  Region* foreign = driver().create_mr(pd2, kLen, RdmaRig::kFullAccess);
  EXPECT_EQ(status_of(send(mine->sge(0, 16))), 0xff);
  EXPECT_EQ(status_of(send(foreign->sge(0, 16))), VERNA_CQE_LOC_PROT_ERR);
  for (int bit = 0; bit < 32; bit++) {
    verna_sge sge = mine->sge(0, 16);
    sge.lkey ^= 1u << bit;
    EXPECT_EQ(status_of(send(sge)), VERNA_CQE_LOC_PROT_ERR);
  }
}

TEST_F(LocalKeys, ReceivingIntoAReadOnlyRegionIsRefused) {
  Region* read_only = rig.make_mr(kLen, VERNA_ACCESS_REMOTE_READ);
  qp = rig.make_qp(VERNA_QP_RC, how);
  driver().post_recv(qp, {read_only->sge(0, 100)});
  EXPECT_EQ(answer(request(kRcSendOnly, kPsn, Bytes(16, 1))), kNakRemoteOperational);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_LOC_PROT_ERR);
  EXPECT_EQ(read_only->mem.read(0, 100), Bytes(100, 0));
}

TEST_F(LocalKeys, ReadResponsesIntoAReadOnlyRegionAreRefused) {
  Region* read_only = rig.make_mr(kLen, VERNA_ACCESS_REMOTE_READ);
  qp = rig.make_qp(VERNA_QP_RC, how);
  SendWr wr = send(read_only->sge(0, 16));
  wr.opcode = VERNA_WR_RDMA_READ;
  driver().post_send(qp, wr);
  if (rig.sent()) {
    RocePacket p = rig.packet(qp, kRcReadRespOnly, kPsn, Bytes(16, 0xee));
    p.syndrome = 0x1f;
    rig.deliver(p);
  }
  auto cqe = rig.completion(qp->send_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_LOC_PROT_ERR);
  EXPECT_EQ(read_only->mem.read(0, 16), Bytes(16, 0));
}

TEST_F(LocalKeys, AllOfMemoryByBusAddress) {
  verna_cmd_create_mr c{};
  c.pdn = rig.pd;
  c.flags = VERNA_MR_F_DMA;
  c.access = VERNA_ACCESS_LOCAL_WRITE;
  const Reply reply = driver().execute(VERNA_CMD_CREATE_MR, c);
  ASSERT_TRUE(reply.ok());
  const uint64_t addr = rig.card.bus.alloc(4096);
  rig.card.bus.fill(addr, pattern(16, 3));
  qp = rig.make_qp(VERNA_QP_RC, how);
  driver().post_send(qp, send({addr, 16, static_cast<uint32_t>(reply.result)}));
  auto p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->payload, pattern(16, 3));
  // An address that is no memory ends the request, not the card.
  rig.card.bus.expect_faults();
  driver().post_send(qp, send({0xfee00000, 16, static_cast<uint32_t>(reply.result)}));
  rig.deliver(ack(kPsn));
  rig.completion(qp->send_cq);
  auto cqe = rig.completion(qp->send_cq);
  ASSERT_TRUE(cqe);
  EXPECT_NE(cqe->status, VERNA_CQE_OK);
}

TEST_F(LocalKeys, LocalInvalidate) {
  Region* mr = rig.make_mr(kLen);
  qp = rig.make_qp(VERNA_QP_RC, how);
  SendWr wr;
  wr.opcode = VERNA_WR_LOCAL_INV;
  wr.imm = mr->key;
  driver().post_send(qp, wr);
  auto cqe = rig.completion(qp->send_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_OK);
  EXPECT_EQ(cqe->opcode, VERNA_CQE_LOCAL_INV);
  EXPECT_FALSE(accepted(op(kRcWriteOnly, mr->iova, mr->key, 16), "invalidated"));
  Region* foreign = driver().create_mr(pd2, kLen, RdmaRig::kFullAccess);
  qp = rig.make_qp(VERNA_QP_RC, how);
  wr.imm = foreign->key;
  driver().post_send(qp, wr);
  cqe = rig.completion(qp->send_cq);
  ASSERT_TRUE(cqe);
  EXPECT_NE(cqe->status, VERNA_CQE_OK) << "another domain's key";
}

TEST_F(LocalKeys, MemoryThatVanishesIsAnErrorNotACrash) {
  Region* mr = rig.make_mr(kLen);
  mr->mem.unmap();
  rig.card.bus.expect_faults();
  EXPECT_NE(status_of(send(mr->sge(0, 16))), 0xff);
  qp = rig.make_qp(VERNA_QP_RC, how);
  const int syndrome = answer(op(kRcWriteOnly, mr->iova, mr->key, 16));
  EXPECT_TRUE(syndrome == kNakRemoteOperational || syndrome == kNakRemoteAccess);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR);
}

}  // namespace
}  // namespace verna::test
