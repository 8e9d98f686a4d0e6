// SPDX-License-Identifier: GPL-2.0-or-later
// A fixture around RdmaRig with the words that RDMA tests use.
#pragma once

#include <gtest/gtest.h>

#include "support/rdma_rig.h"

namespace verna::test {

inline constexpr uint32_t kPsn = RdmaRig::kPsn;
inline constexpr uint32_t kMtu = 256;

inline uint64_t wire_u64(uint64_t v) { return __builtin_bswap64(v); }

struct RdmaTest : testing::Test {
  explicit RdmaTest(NicConfig config = {}) : rig(config) { how.path_mtu = kMtu; }

  void make_rc() { qp = rig.make_qp(VERNA_QP_RC, how); }
  /// The packet's answer, which must be an ACK or NAK: its syndrome, -1 if there was none.
  int answer(const RocePacket& p) {
    rig.inject(p);
    auto reply = rig.sent();
    if (!reply) return -1;
    EXPECT_EQ(reply->opcode, kRcAck);
    EXPECT_EQ(reply->dest_qpn, RdmaRig::kPeerQpn);
    last = *reply;
    return reply->syndrome;
  }
  RocePacket request(uint8_t opcode, uint32_t psn, Bytes payload = {}, bool ack_req = true) {
    RocePacket p = rig.packet(qp, opcode, psn, std::move(payload));
    p.ack_req = ack_req;
    return p;
  }
  RocePacket rdma(uint8_t opcode, uint32_t psn, const Region* mr, uint64_t offset, uint32_t len,
                  Bytes payload = {}) {
    RocePacket p = request(opcode, psn, std::move(payload));
    p.va = mr->iova + offset;
    p.rkey = mr->key;
    p.dma_len = len;
    return p;
  }
  RocePacket ack(uint32_t psn, uint8_t syndrome = 0x1f, uint32_t msn = 0) {
    RocePacket p = rig.packet(qp, kRcAck, psn);
    p.syndrome = syndrome;
    p.msn = msn;
    return p;
  }
  MiniDriver& driver() { return rig.card.driver; }
  uint64_t count(verna_rdma_counter c) const { return rig.card.rdma_counter(c); }
  void TearDown() override { EXPECT_EQ(rig.card.check_conservation(), ""); }

  RdmaRig rig;
  Connection how;
  QueuePair* qp = nullptr;
  RocePacket last;
};

}  // namespace verna::test
