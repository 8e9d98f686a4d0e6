// SPDX-License-Identifier: GPL-2.0-or-later
// UD and the GSI queue pair.
#include <algorithm>
#include <functional>

#include "rdma/rdma_test.h"

namespace verna::test {
namespace {

struct Datagram : RdmaTest {
  Datagram() {
    qp = rig.make_qp(VERNA_QP_UD);
    buffer = rig.make_mr(65536, VERNA_ACCESS_LOCAL_WRITE);
  }
  void recv(uint32_t len) { driver().post_recv(qp, {buffer->sge(0, len)}); }
  RocePacket datagram(Bytes payload, uint32_t psn = 1) {
    return rig.packet(qp, kUdSendOnly, psn, std::move(payload));
  }
  SendWr send(uint32_t len) {
    SendWr wr;
    if (len) wr.sges = {buffer->sge(0, len)};
    wr.remote_qpn = 0x99;
    wr.remote_qkey = 0x1234;
    wr.av = make_av(rig.peer, false, 0);
    return wr;
  }
  Region* buffer = nullptr;
};

TEST_F(Datagram, ReceivesWithFortyBytesInFront) {
  recv(200);
  RocePacket p = datagram(pattern(100, 1));
  p.tos = 0x88;
  rig.deliver(p);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_OK);
  EXPECT_EQ(cqe->opcode, VERNA_CQE_RECV);
  EXPECT_EQ(cqe->byte_len, 140u) << "with the 40 bytes, as ibv_wc counts";
  EXPECT_TRUE(cqe->flags & VERNA_CQE_F_GRH);
  EXPECT_TRUE(cqe->flags & VERNA_CQE_F_IPV4);
  EXPECT_EQ(cqe->src_qp, RdmaRig::kPeerQpn);
  EXPECT_EQ(0, std::memcmp(cqe->smac, rig.peer.mac, 6));
  EXPECT_EQ(buffer->mem.read(40, 100), pattern(100, 1));
  EXPECT_EQ(buffer->mem.read(0, 20), Bytes(20, 0));
  const Bytes ip = buffer->mem.read(20, 20);
  EXPECT_EQ(ip[0], 0x45);
  EXPECT_EQ(ip[1], 0x88);
  EXPECT_EQ(Bytes(ip.begin() + 12, ip.begin() + 16), Bytes(p.sip + 12, p.sip + 16));
  EXPECT_EQ(Bytes(ip.begin() + 16, ip.end()), Bytes(p.dip + 12, p.dip + 16));
}

TEST_F(Datagram, ReceivesIpv6WithItsHeader) {
  recv(200);
  RocePacket p = datagram(pattern(20, 1));
  p.ipv6 = true;
  std::copy_n(rig.peer.gid6, 16, p.sip);
  std::copy_n(rig.card.gid6, 16, p.dip);
  rig.deliver(p);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_FALSE(cqe->flags & VERNA_CQE_F_IPV4);
  const Bytes grh = buffer->mem.read(0, 40);
  EXPECT_EQ(grh[0] >> 4, 6);
  EXPECT_EQ(Bytes(grh.begin() + 8, grh.begin() + 24), Bytes(p.sip, p.sip + 16));
  EXPECT_EQ(Bytes(grh.begin() + 24, grh.end()), Bytes(p.dip, p.dip + 16));
}

TEST_F(Datagram, ImmediateVlanSolicited) {
  ASSERT_TRUE(driver().set_gid(4, rig.card.gid4, rig.card.mac, 0x55).ok());
  recv(200);
  RocePacket p = datagram(pattern(8, 1));
  p.opcode = kUdSendOnlyImm;
  p.imm = 0xcafe0001;
  p.solicited = true;
  p.vlan_tci = 3 << 13 | 0x55;
  rig.deliver(p);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_TRUE(cqe->flags & VERNA_CQE_F_IMM);
  EXPECT_TRUE(cqe->flags & VERNA_CQE_F_SOLICITED);
  EXPECT_TRUE(cqe->flags & VERNA_CQE_F_VLAN);
  EXPECT_EQ(cqe->vlan_tci & 0xfff, 0x55);
  EXPECT_EQ(cqe->sl, 3);
  EXPECT_EQ(cqe->imm, __builtin_bswap32(0xcafe0001));
}

TEST_F(Datagram, DropsHurtNothing) {
  recv(140);
  rig.deliver(datagram(pattern(101, 1)));  // 40 + 101 do not fit
  EXPECT_EQ(count(VERNA_RDMA_rx_drop_length), 1u);
  RocePacket p = datagram(pattern(8, 1));
  p.qkey ^= 1;
  rig.deliver(p);
  EXPECT_EQ(count(VERNA_RDMA_rx_drop_qkey), 1u);
  p = datagram(pattern(8, 1));
  p.opcode = kRcSendOnly;
  rig.deliver(p);
  EXPECT_EQ(count(VERNA_RDMA_rx_drop_qp_type), 1u);
  EXPECT_FALSE(rig.completion(qp->recv_cq));
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS) << "a datagram that does not fit is no error of ours";
  rig.deliver(datagram(pattern(100, 1)));
  EXPECT_TRUE(rig.completion(qp->recv_cq));
  rig.deliver(datagram(pattern(8, 1)));
  EXPECT_EQ(count(VERNA_RDMA_rx_drop_no_wqe), 1u);
  EXPECT_TRUE(rig.all_sent().empty());
}

TEST_F(Datagram, PsnsDoNotMatter) {
  for (uint32_t psn : {5u, 5u, 0xffffffu, 0u}) {
    recv(100);
    rig.deliver(datagram(pattern(8, 1), psn));
    EXPECT_TRUE(rig.completion(qp->recv_cq));
  }
}

TEST_F(Datagram, SendsWhereTheRequestSays) {
  buffer->mem.write(0, pattern(100, 5));
  SendWr wr = send(100);
  wr.av.traffic_class = 0x20;
  wr.av.hop_limit = 7;
  wr.av.udp_sport = 0xd001;
  driver().post_send(qp, wr);
  auto p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->opcode, kUdSendOnly);
  EXPECT_EQ(p->dest_qpn, 0x99u);
  EXPECT_EQ(p->qkey, 0x1234u);
  EXPECT_EQ(p->src_qpn, qp->qpn);
  EXPECT_EQ(p->payload, pattern(100, 5));
  EXPECT_EQ(p->tos, 0x20);
  EXPECT_EQ(p->ttl, 7);
  EXPECT_EQ(p->sport, 0xd001);
  EXPECT_EQ(0, std::memcmp(p->dmac, rig.peer.mac, 6));
  auto cqe = rig.completion(qp->send_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_OK);
  const uint32_t psn = p->psn;
  wr.remote_qkey = 0x80000001;
  wr.opcode = VERNA_WR_SEND_WITH_IMM;
  driver().post_send(qp, wr);
  p = rig.sent();
  ASSERT_TRUE(p);
  EXPECT_EQ(p->qkey, RdmaRig::kQkey) << "bit 31: the QP's own";
  EXPECT_EQ(p->opcode, kUdSendOnlyImm);
  EXPECT_EQ(p->psn, psn + 1);
}

TEST_F(Datagram, BadRequests) {
  struct Case {
    const char* what;
    uint8_t status;
    std::function<void(SendWr&)> change;
  };
  for (const Case& c :
       {Case{"READ", VERNA_CQE_LOC_QP_OP_ERR, [](SendWr& w) { w.opcode = VERNA_WR_RDMA_READ; }},
        Case{"WRITE", VERNA_CQE_LOC_QP_OP_ERR, [](SendWr& w) { w.opcode = VERNA_WR_RDMA_WRITE; }},
        Case{"no such GID", VERNA_CQE_LOC_QP_OP_ERR, [](SendWr& w) { w.av.sgid_index = 99; }},
        Case{"bad key", VERNA_CQE_LOC_PROT_ERR, [](SendWr& w) { w.sges[0].lkey ^= 0x100; }},
        Case{"too long", VERNA_CQE_LOC_LEN_ERR, [](SendWr& w) { w.sges[0].length = 8192; }}}) {
    qp = rig.make_qp(VERNA_QP_UD);
    SendWr wr = send(8);
    c.change(wr);
    driver().post_send(qp, wr);
    auto cqe = rig.completion(qp->send_cq);
    ASSERT_TRUE(cqe) << c.what;
    EXPECT_EQ(cqe->status, c.status) << c.what;
    EXPECT_TRUE(rig.all_sent().empty()) << c.what;
    const uint8_t state = rig.state(qp);
    EXPECT_TRUE(state == VERNA_QPS_SQE || state == VERNA_QPS_ERR) << c.what;
  }
}

TEST_F(Datagram, GsiIsQueuePairOne) {
  qp = rig.make_qp(VERNA_QP_GSI);
  EXPECT_EQ(qp->qpn, 1u);
  recv(400);
  RocePacket p = datagram(pattern(256, 1));
  p.qkey = 0x80010000;
  p.src_qpn = 1;
  rig.deliver(p);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe) << "the well-known Q_Key opens it";
  EXPECT_EQ(cqe->id, 1u);
  QueuePair second;
  EXPECT_EQ(driver()
                .create_qp_raw({.type = VERNA_QP_GSI, .pdn = rig.pd}, qp->send_cq->id,
                               qp->recv_cq->id, &second)
                .status,
            VERNA_CMD_EXISTS);
}

TEST_F(Datagram, ToOneself) {
  // Frames to one of our own GIDs never reach the wire.
  recv(200);
  SendWr wr = send(16);
  buffer->mem.write(0, pattern(16, 6));
  QueuePair* sender = rig.make_qp(VERNA_QP_UD);
  wr.remote_qpn = qp->qpn;
  wr.remote_qkey = RdmaRig::kQkey;
  wr.av = make_av(rig.card, false, 0);
  wr.sges = {buffer->sge(1000, 16)};
  buffer->mem.write(1000, pattern(16, 6));
  driver().post_send(sender, wr);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->src_qp, sender->qpn);
  EXPECT_EQ(buffer->mem.read(40, 16), pattern(16, 6));
  EXPECT_TRUE(rig.all_sent().empty());
}

}  // namespace
}  // namespace verna::test
