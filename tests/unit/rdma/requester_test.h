// SPDX-License-Identifier: GPL-2.0-or-later
// A requester whose peer is in the test's hands.
#pragma once

#include "rdma/rdma_test.h"

namespace verna::test {

struct Requester : RdmaTest {
  Requester() {
    how.timeout = 12;  // 16.8 ms
    make_rc();
    mr = rig.make_mr(65536);
    mr->mem.write(0, pattern(65536, 77));
  }
  Bytes memory(uint64_t offset, uint64_t len) { return mr->mem.read(offset, len); }
  uint32_t post(SendWr wr) { return driver().post_send(qp, wr); }
  SendWr send(uint32_t len, uint64_t offset = 0) {
    SendWr wr;
    wr.opcode = VERNA_WR_SEND;
    if (len) wr.sges = {mr->sge(offset, len)};
    return wr;
  }
  SendWr write(uint32_t len) {
    SendWr wr = send(len);
    wr.opcode = VERNA_WR_RDMA_WRITE;
    wr.remote_addr = 0x1122334455667788;
    wr.rkey = 0xaabbccdd;
    return wr;
  }
  SendWr read(uint32_t len, uint64_t offset = 0) {
    SendWr wr = write(0);
    wr.opcode = VERNA_WR_RDMA_READ;
    if (len) wr.sges = {mr->sge(offset, len)};
    return wr;
  }
  SendWr fetch_add(uint64_t add, uint64_t offset = 0) {
    SendWr wr = write(0);
    wr.opcode = VERNA_WR_ATOMIC_FADD;
    wr.remote_addr = 0x1000;
    wr.sges = {mr->sge(offset, 8)};
    wr.swap_add = add;
    return wr;
  }
  void expect_error(uint8_t status, uint32_t index) {
    auto cqe = rig.completion(qp->send_cq);
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->status, status);
    EXPECT_EQ(cqe->wqe_index, index);
    EXPECT_EQ(rig.state(qp), VERNA_QPS_ERR);
  }
  void expect_ok(uint32_t index, uint8_t opcode) {
    auto cqe = rig.completion(qp->send_cq);
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->status, VERNA_CQE_OK);
    EXPECT_EQ(cqe->wqe_index, index);
    EXPECT_EQ(cqe->opcode, opcode);
    EXPECT_EQ(cqe->id, qp->qpn);
  }
  Region* mr = nullptr;
};

}  // namespace verna::test
