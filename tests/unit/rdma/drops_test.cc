// SPDX-License-Identifier: GPL-2.0-or-later
// Packets that must be dropped: each in its own counter, silently, the queue pair unharmed.
#include <algorithm>
#include <functional>
#include <random>
#include <string>

#include "rdma/rdma_test.h"

namespace verna::test {
namespace {

struct Drops : RdmaTest {
  Drops() {
    make_rc();
    mr = rig.make_mr(4096);
    next = kPsn;
  }
  RocePacket good() {
    RocePacket p = rdma(kRcWriteOnly, next, mr, 0, 8, Bytes(8, 0xbb));
    p.vlan_tci = tag;
    return p;
  }

  /// `frame` is dropped and counted in `counter` (or one of two); then the QP still works.
  void expect_drop(const char* what, const Bytes& frame, verna_rdma_counter counter) {
    SCOPED_TRACE(what);
    mr->mem.write(0, Bytes(64, 0));
    const uint64_t before = count(counter), packets = count(VERNA_RDMA_rx_packets);
    rig.deliver(frame);
    EXPECT_EQ(count(VERNA_RDMA_rx_packets), packets + 1);
    EXPECT_EQ(count(counter), before + 1);
    EXPECT_TRUE(rig.all_sent().empty()) << "must be silent";
    EXPECT_EQ(mr->mem.read(0, 64), Bytes(64, 0));
    still_works();
  }
  void still_works() {
    EXPECT_TRUE(is_ack(static_cast<uint8_t>(answer(good()))));
    EXPECT_EQ(last.psn, next);
    next = (next + 1) & 0xffffff;
    EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
  }
  void expect_drop(const char* what, const std::function<void(RocePacket&)>& change,
                   verna_rdma_counter counter) {
    RocePacket p = good();
    change(p);
    expect_drop(what, p.build(), counter);
  }
  Region* mr = nullptr;
  uint32_t next;
  std::optional<uint16_t> tag;
};

TEST_F(Drops, EachReasonHasItsCounter) {
  expect_drop("BTH version", [](RocePacket& p) { p.tver = 1; }, VERNA_RDMA_rx_drop_version);
  expect_drop("BTH version 15", [](RocePacket& p) { p.tver = 15; }, VERNA_RDMA_rx_drop_version);
  expect_drop("P_Key", [](RocePacket& p) { p.pkey = 0x8001; }, VERNA_RDMA_rx_drop_pkey);
  expect_drop("P_Key 0", [](RocePacket& p) { p.pkey = 0; }, VERNA_RDMA_rx_drop_pkey);
  expect_drop("no such QP", [](RocePacket& p) { p.dest_qpn ^= 0x555; }, VERNA_RDMA_rx_drop_no_qp);
  expect_drop("QP 0", [](RocePacket& p) { p.dest_qpn = 0; }, VERNA_RDMA_rx_drop_no_qp);
  expect_drop(
      "multicast QPN", [](RocePacket& p) { p.dest_qpn = 0xffffff; }, VERNA_RDMA_rx_drop_no_qp);
  expect_drop(
      "UC opcode", [](RocePacket& p) { p.opcode = kUcWriteOnly; }, VERNA_RDMA_rx_drop_qp_type);
  expect_drop(
      "UD opcode", [](RocePacket& p) { p.opcode = kUdSendOnly; }, VERNA_RDMA_rx_drop_qp_type);
  expect_drop("from another host", [](RocePacket& p) { p.sip[15] = 77; }, VERNA_RDMA_rx_drop_addr);
  expect_drop(
      "unsolicited READ response", [](RocePacket& p) { p.opcode = kRcReadRespOnly; },
      VERNA_RDMA_rx_drop_unsolicited);
  expect_drop(
      "unsolicited atomic response",
      [](RocePacket& p) {
        p.opcode = kRcAtomicAck;
        p.payload.clear();
      },
      VERNA_RDMA_rx_drop_unsolicited);
}

/// A GID is an address on a VLAN: the same address on another one is another host.
TEST_F(Drops, TheRightAddressOnTheWrongVlan) {
  ASSERT_TRUE(driver().set_gid(3, rig.card.gid4, rig.card.mac, 5).ok());
  ASSERT_TRUE(driver().set_gid(4, rig.card.gid4, rig.card.mac, 6).ok());
  how.sgid_index = 3;
  make_rc();
  tag = 5;
  next = kPsn;
  still_works();
  const auto wear = [](std::optional<uint16_t> tci) {
    return [tci](RocePacket& p) { p.vlan_tci = tci; };
  };
  expect_drop("another VLAN of ours", wear(6), VERNA_RDMA_rx_drop_addr);
  expect_drop("no tag", wear(std::nullopt), VERNA_RDMA_rx_drop_addr);
  expect_drop("a priority alone", wear(3 << 13), VERNA_RDMA_rx_drop_addr);
  tag = 3 << 13 | 5;
  still_works();  // the priority does not matter

  // A VLAN on which we have no address: the frame is none of RDMA's.
  const uint64_t packets = count(VERNA_RDMA_rx_packets);
  RocePacket p = good();
  p.vlan_tci = 7;
  mr->mem.write(0, Bytes(64, 0));
  rig.deliver(p.build());
  EXPECT_EQ(count(VERNA_RDMA_rx_packets), packets);
  EXPECT_EQ(mr->mem.read(0, 64), Bytes(64, 0));
  still_works();
}

TEST_F(Drops, UnknownOpcodes) {
  for (unsigned op = 0; op < 256; op++) {
    const uint8_t low = op & 0x1f;
    const uint8_t service = static_cast<uint8_t>(op & 0xe0);
    const bool rc = service == 0 && (low <= 0x14 || low == 0x16 || low == 0x17);
    const bool uc = service == 0x20 && low <= 0x0b;
    const bool ud = op == 0x64 || op == 0x65;
    if (rc || uc || ud || op == kCnp) continue;
    expect_drop(("opcode " + std::to_string(op)).c_str(),
                [op](RocePacket& p) { p.opcode = static_cast<uint8_t>(op); },
                VERNA_RDMA_rx_drop_opcode);
  }
}

TEST_F(Drops, BadIcrc) {
  const Bytes frame = good().build();
  for (size_t back = 1; back <= 4; back++) {
    Bytes bad = frame;
    bad[bad.size() - back] ^= 1;
    expect_drop("ICRC byte", bad, VERNA_RDMA_rx_drop_icrc);
  }
  // Damage of the payload and of the headers that the ICRC covers.
  for (size_t at : {frame.size() - 6, size_t{14 + 20 + 8 + 13}, size_t{14 + 20 + 8 + 11}}) {
    Bytes bad = good().build();
    bad[at] ^= 0x10;
    expect_drop("damaged byte", bad, VERNA_RDMA_rx_drop_icrc);
  }
}

/// Every opcode cut at every length, in the frame and in the length fields: dropped, never read
/// behind its end (the sanitizer watches), never executed.
TEST_F(Drops, TruncatedPackets) {
  const uint8_t opcodes[] = {kRcSendOnly,    kRcSendOnlyImm, kRcWriteOnly,    kRcWriteOnlyImm,
                             kRcReadRequest, kRcAck,         kRcAtomicAck,    kRcCompareSwap,
                             kRcFetchAdd,    kRcSendOnlyInv, kRcReadRespOnly, kRcSendFirst};
  for (uint8_t opcode : opcodes) {
    RocePacket p = rdma(opcode, next, mr, 0, 8);
    const Bytes frame = p.build();
    const size_t headers = 14 + 20 + 8;
    for (size_t cut = 1; cut <= frame.size() - headers; cut++) {
      Bytes bad(frame.begin(), frame.end() - static_cast<ptrdiff_t>(cut));
      const auto ip_len = static_cast<uint16_t>(bad.size() - 14);
      bad[16] = static_cast<uint8_t>(ip_len >> 8);
      bad[17] = static_cast<uint8_t>(ip_len);
      bad[38] = static_cast<uint8_t>((ip_len - 20) >> 8);
      bad[39] = static_cast<uint8_t>(ip_len - 20);
      if (bad.size() >= headers + 16) fix_icrc(&bad);
      const uint64_t accepted = count(VERNA_RDMA_rx_accepted);
      rig.deliver(bad);
      ASSERT_EQ(count(VERNA_RDMA_rx_accepted), accepted) << int{opcode} << " cut by " << cut;
      ASSERT_TRUE(rig.all_sent().empty()) << int{opcode} << " cut by " << cut;
    }
  }
  EXPECT_GT(count(VERNA_RDMA_rx_drop_malformed), 100u);
  still_works();
}

TEST_F(Drops, LengthsThatContradict) {
  struct Case {
    const char* what;
    size_t offset;  // of a 16-bit field in the frame
    int change;
  };
  for (const Case& c : {Case{"UDP length too large", 38, 4}, Case{"UDP length too small", 38, -4},
                        Case{"UDP length 0", 38, -1000}, Case{"IP length too large", 16, 4},
                        Case{"UDP length huge", 38, 60000}}) {
    Bytes bad = good().build();
    int v = bad[c.offset] << 8 | bad[c.offset + 1];
    v = std::max(0, std::min(65535, v + c.change));
    bad[c.offset] = static_cast<uint8_t>(v >> 8);
    bad[c.offset + 1] = static_cast<uint8_t>(v);
    const uint64_t accepted = count(VERNA_RDMA_rx_accepted);
    rig.deliver(bad);
    EXPECT_EQ(count(VERNA_RDMA_rx_accepted), accepted) << c.what;
    EXPECT_TRUE(rig.all_sent().empty()) << c.what;
  }
  still_works();
}

TEST_F(Drops, PadThatIsLongerThanThePayload) {
  for (uint8_t pad = 1; pad <= 3; pad++) {
    RocePacket p = request(kRcSendOnly, next);
    p.pad = pad;
    Bytes bad = p.build();
    bad.erase(bad.end() - 4 - pad, bad.end() - 4);
    const auto ip_len = static_cast<uint16_t>(bad.size() - 14);
    bad[17] = static_cast<uint8_t>(ip_len);
    bad[39] = static_cast<uint8_t>(ip_len - 20);
    fix_icrc(&bad);
    const uint64_t accepted = count(VERNA_RDMA_rx_accepted);
    rig.deliver(bad);
    EXPECT_EQ(count(VERNA_RDMA_rx_accepted), accepted) << int{pad};
  }
  still_works();
}

TEST_F(Drops, CongestionNotificationIsHarmless) {
  RocePacket p = rig.packet(qp, kCnp, 0, Bytes(16, 0));
  p.becn = true;
  rig.deliver(p);
  EXPECT_TRUE(rig.all_sent().empty());
  still_works();
}

TEST_F(Drops, EthernetPaddingBehindTheIcrcIsIgnored) {
  Bytes frame = good().build();
  frame.insert(frame.end(), 30, 0xcc);
  rig.inject(frame);
  auto reply = rig.sent();
  ASSERT_TRUE(reply);
  EXPECT_TRUE(is_ack(reply->syndrome));
}

TEST_F(Drops, StateDecidesWhatIsTaken) {
  for (uint8_t state : {VERNA_QPS_RESET, VERNA_QPS_INIT, VERNA_QPS_RTR, VERNA_QPS_RTS}) {
    qp = rig.make_qp(VERNA_QP_RC, how, state);
    const uint64_t before = count(VERNA_RDMA_rx_drop_qp_state);
    const int syndrome = answer(rdma(kRcWriteOnly, kPsn, mr, 0, 8, Bytes(8, 1)));
    if (state < VERNA_QPS_RTR) {
      EXPECT_EQ(syndrome, -1) << int{state};
      EXPECT_EQ(count(VERNA_RDMA_rx_drop_qp_state), before + 1) << int{state};
    } else {
      EXPECT_TRUE(is_ack(static_cast<uint8_t>(syndrome))) << int{state};
    }
  }
  qp = rig.make_qp(VERNA_QP_RC, how);
  verna_qp_attr attr{};
  attr.state = VERNA_QPS_ERR;
  ASSERT_TRUE(driver().modify_qp(qp->qpn, VERNA_QPS_RTS, VERNA_QPA_STATE, attr).ok());
  const uint64_t before = count(VERNA_RDMA_rx_drop_qp_state);
  EXPECT_EQ(answer(rdma(kRcWriteOnly, kPsn, mr, 0, 8, Bytes(8, 1))), -1);
  EXPECT_EQ(count(VERNA_RDMA_rx_drop_qp_state), before + 1);
}

/// Random damage with a right ICRC: whatever happens is counted exactly once (TearDown checks the
/// sums), memory outside of the regions stays, and the card lives.
TEST_F(Drops, RandomHeadersWithAGoodIcrc) {
  std::mt19937 random(11);
  for (int i = 0; i < 3000; i++) {
    RocePacket p = rdma(static_cast<uint8_t>(random() % 0x18), kPsn + random() % 4, mr,
                        random() % 64, random() % 600, Bytes(random() % 300, 0xdd));
    if (random() % 4 == 0) p.va = random() * uint64_t{random()};
    if (random() % 4 == 0) p.rkey = static_cast<uint32_t>(random());
    if (random() % 4 == 0) p.dma_len = static_cast<uint32_t>(random());
    if (random() % 4 == 0) p.pad = static_cast<uint8_t>(random() % 4);
    p.syndrome = static_cast<uint8_t>(random());
    rig.deliver(p);
    if (rig.state(qp) == VERNA_QPS_ERR) {
      driver().object(VERNA_CMD_DESTROY_QP, qp->qpn);
      make_rc();
    }
  }
  rig.all_sent();
}

// --- UC ----------------------------------------------------------------------------------------

struct UcResponder : RdmaTest {
  UcResponder() {
    qp = rig.make_qp(VERNA_QP_UC, how);
    buffer = rig.make_mr(4096, RdmaRig::kFullAccess);
    for (int i = 0; i < 8; i++) driver().post_recv(qp, {buffer->sge(0, 4096)});
  }
  void send(uint8_t opcode, uint32_t psn, size_t len) {
    rig.deliver(request(opcode, psn, Bytes(len, static_cast<uint8_t>(psn)), false));
  }
  Region* buffer = nullptr;
};

TEST_F(UcResponder, DeliversWholeMessagesWithoutAnswer) {
  send(kUcSendFirst, kPsn, kMtu);
  send(kUcSendMiddle, kPsn + 1, kMtu);
  send(kUcSendLast, kPsn + 2, 5);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->byte_len, 2 * kMtu + 5);
  EXPECT_TRUE(rig.all_sent().empty());
}

TEST_F(UcResponder, AGapDropsTheMessageAndTheNextOneIsGood) {
  send(kUcSendFirst, kPsn, kMtu);
  send(kUcSendLast, kPsn + 2, 5);
  EXPECT_FALSE(rig.completion(qp->recv_cq));
  send(kUcSendMiddle, kPsn + 3, kMtu);
  EXPECT_EQ(count(VERNA_RDMA_rx_drop_sequence), 2u);
  send(kUcSendOnly, kPsn + 7, 9);
  auto cqe = rig.completion(qp->recv_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_OK);
  EXPECT_EQ(cqe->byte_len, 9u);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
  EXPECT_TRUE(rig.all_sent().empty());
}

TEST_F(UcResponder, WritesArePlaced) {
  rig.deliver(rdma(kUcWriteOnly, kPsn, buffer, 100, 8, Bytes(8, 0x42)));
  EXPECT_EQ(buffer->mem.read(100, 8), Bytes(8, 0x42));
  EXPECT_FALSE(rig.completion(qp->recv_cq));
}

TEST_F(UcResponder, NoReceiveRequestIsADrop) {
  qp = rig.make_qp(VERNA_QP_UC, how);
  send(kUcSendOnly, kPsn, 9);
  EXPECT_EQ(count(VERNA_RDMA_rx_drop_no_wqe), 1u);
  EXPECT_EQ(rig.state(qp), VERNA_QPS_RTS);
  driver().post_recv(qp, {buffer->sge(0, 4096)});
  send(kUcSendOnly, kPsn + 1, 9);
  EXPECT_TRUE(rig.completion(qp->recv_cq));
}

TEST_F(UcResponder, AForbiddenWriteIsADrop) {
  RocePacket p = rdma(kUcWriteOnly, kPsn, buffer, 0, 8, Bytes(8, 1));
  p.rkey ^= 0x100;
  rig.deliver(p);
  EXPECT_EQ(buffer->mem.read(0, 8), Bytes(8, 0));
  EXPECT_EQ(count(VERNA_RDMA_rx_drop_protection), 1u);
  EXPECT_TRUE(rig.all_sent().empty());
}

}  // namespace
}  // namespace verna::test
