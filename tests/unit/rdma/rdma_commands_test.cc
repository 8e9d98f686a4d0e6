// SPDX-License-Identifier: GPL-2.0-or-later
// Commands 0x0200 and on: every field, every answer, and what numbers look like.
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "rdma/random_ids.h"
#include "rdma/rdma_test.h"

namespace verna::test {
namespace {

template <typename T>
struct BadField {
  const char* what;
  size_t offset;
  std::function<void(T&)> change;
};

struct RdmaCommands : RdmaTest {
  template <typename T>
  void expect_bad(verna_cmd_opcode opcode, const T& good, const std::vector<BadField<T>>& list) {
    for (const BadField<T>& bad : list) {
      T command = good;
      bad.change(command);
      const Reply reply = driver().execute(opcode, command);
      EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM) << bad.what;
      EXPECT_EQ(reply.detail, bad.offset) << bad.what;
    }
  }
  uint16_t destroy(verna_cmd_opcode opcode, uint32_t id) {
    return driver().object(opcode, id).status;
  }
};

TEST_F(RdmaCommands, ProtectionDomains) {
  const uint32_t pd = driver().create_pd();
  Region* mr = driver().create_mr(pd, 4096, RdmaRig::kFullAccess);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_PD, pd), VERNA_CMD_BUSY);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_MR, mr->key), VERNA_CMD_OK);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_PD, pd), VERNA_CMD_OK);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_PD, pd), VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_PD, 0xffffffff), VERNA_CMD_NOT_FOUND);
}

TEST_F(RdmaCommands, CreateMrChecksEveryField) {
  using T = verna_cmd_create_mr;
  HostBuffer mem(rig.card.bus, 8192, {.level = 1});
  T good{};
  good.pdn = rig.pd;
  good.access = RdmaRig::kFullAccess;
  good.iova = 0x10000;
  good.length = 8192;
  good.mem = mem.pbl();
  expect_bad<T>(VERNA_CMD_CREATE_MR, good,
                {{"pdn", offsetof(T, pdn), [](T& c) { c.pdn = 0xabcdef; }},
                 {"access", offsetof(T, access), [](T& c) { c.access = 0x20; }},
                 {"access 0x80", offsetof(T, access), [](T& c) { c.access = 0x80; }},
                 {"flags", offsetof(T, flags), [](T& c) { c.flags = 2; }},
                 {"reserved", offsetof(T, reserved), [](T& c) { c.reserved = 1; }},
                 {"too long", offsetof(T, mem), [](T& c) { c.length = 8193; }},
                 {"level", offsetof(T, mem), [](T& c) { c.mem.level = 3; }},
                 {"page shift", offsetof(T, mem), [](T& c) { c.mem.page_shift = 63; }},
                 {"pbl reserved", offsetof(T, mem), [](T& c) { c.mem.reserved[0] = 1; }}});
  // iova + length must not wrap; whether that is the iova or the length is a matter of taste.
  T wraps = good;
  wraps.iova = ~uint64_t{0} - 100;
  EXPECT_EQ(driver().execute(VERNA_CMD_CREATE_MR, wraps).status, VERNA_CMD_BAD_PARAM);
  wraps.length = ~uint64_t{0};
  EXPECT_EQ(driver().execute(VERNA_CMD_CREATE_MR, wraps).status, VERNA_CMD_BAD_PARAM);
  const Reply reply = driver().execute(VERNA_CMD_CREATE_MR, good);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_MR, static_cast<uint32_t>(reply.result)), VERNA_CMD_OK);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_MR, static_cast<uint32_t>(reply.result)),
            VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_PD, rig.pd), VERNA_CMD_OK) << "a failed command left a user";
}

TEST_F(RdmaCommands, CreateQpChecksEveryField) {
  using T = verna_cmd_create_qp;
  RingHandle* cq = driver().create_cq(4);
  HostBuffer mem(rig.card.bus, 65536);
  T good{};
  good.pdn = rig.pd;
  good.send_cqn = good.recv_cqn = cq->id;
  good.uar = 3;
  good.type = VERNA_QP_RC;
  good.log_sq_size = 3;
  good.log_sq_stride = 8;
  good.log_rq_size = 3;
  good.log_rq_stride = 6;
  good.max_inline = 64;
  good.mem = mem.pbl();
  good.rq_rec_offset = 128;
  good.sq_offset = 4096;
  good.rq_offset = 8192;
  expect_bad<T>(
      VERNA_CMD_CREATE_QP, good,
      {{"pdn", offsetof(T, pdn), [](T& c) { c.pdn = 0xabcdef; }},
       {"send_cqn", offsetof(T, send_cqn), [](T& c) { c.send_cqn = 0xabcdef; }},
       {"recv_cqn", offsetof(T, recv_cqn), [](T& c) { c.recv_cqn = 0xffffffff; }},
       {"uar", offsetof(T, uar), [](T& c) { c.uar = 1024; }},
       {"type 0", offsetof(T, type), [](T& c) { c.type = 0; }},
       {"type 5", offsetof(T, type), [](T& c) { c.type = 5; }},
       {"flags", offsetof(T, flags), [](T& c) { c.flags = 2; }},
       {"log_sq_size", offsetof(T, log_sq_size), [](T& c) { c.log_sq_size = 16; }},
       {"log_sq_size 255", offsetof(T, log_sq_size), [](T& c) { c.log_sq_size = 255; }},
       {"log_sq_stride 6", offsetof(T, log_sq_stride), [](T& c) { c.log_sq_stride = 6; }},
       {"log_sq_stride 11", offsetof(T, log_sq_stride), [](T& c) { c.log_sq_stride = 11; }},
       {"log_rq_size", offsetof(T, log_rq_size), [](T& c) { c.log_rq_size = 16; }},
       {"log_rq_stride 4", offsetof(T, log_rq_stride), [](T& c) { c.log_rq_stride = 4; }},
       {"log_rq_stride 10", offsetof(T, log_rq_stride), [](T& c) { c.log_rq_stride = 10; }},
       {"max_inline over the entry", offsetof(T, max_inline), [](T& c) { c.max_inline = 193; }},
       {"max_inline over the limit", offsetof(T, max_inline), [](T& c) { c.max_inline = 1000; }},
       {"memory", offsetof(T, mem), [](T& c) { c.mem.level = 7; }},
       {"sq_rec_offset", offsetof(T, sq_rec_offset), [](T& c) { c.sq_rec_offset = 64; }},
       {"rq_rec_offset", offsetof(T, rq_rec_offset), [](T& c) { c.rq_rec_offset = 130; }},
       {"sq_offset", offsetof(T, sq_offset), [](T& c) { c.sq_offset = 4096 + 128; }},
       {"rq_offset", offsetof(T, rq_offset), [](T& c) { c.rq_offset = 8192 + 32; }}});
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_CQ, cq->id), VERNA_CMD_OK) << "failed commands left users";
  cq = driver().create_cq(4);
  good.send_cqn = good.recv_cqn = cq->id;
  const Reply reply = driver().execute(VERNA_CMD_CREATE_QP, good);
  ASSERT_TRUE(reply.ok());
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_CQ, cq->id), VERNA_CMD_BUSY);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_PD, rig.pd), VERNA_CMD_BUSY);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_QP, static_cast<uint32_t>(reply.result)), VERNA_CMD_OK);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_CQ, cq->id), VERNA_CMD_OK);
  EXPECT_EQ(destroy(VERNA_CMD_DESTROY_PD, rig.pd), VERNA_CMD_OK);
}

TEST_F(RdmaCommands, SmallestQueuesWork) {
  QpOptions options;
  options.log_sq_size = options.log_rq_size = 0;
  options.log_sq_stride = 7;
  options.log_rq_stride = 5;
  options.max_inline = 0;
  qp = rig.make_qp(VERNA_QP_RC, how, VERNA_QPS_RTS, options);
  Region* mr = rig.make_mr(100);
  for (uint32_t i = 0; i < 5; i++) {
    SendWr wr;
    wr.sges = {mr->sge(0, 10)};
    driver().post_send(qp, wr);
    ASSERT_TRUE(rig.sent());
    rig.deliver(ack(kPsn + i));
    ASSERT_TRUE(rig.completion(qp->send_cq));
    driver().post_recv(qp, {mr->sge(0, 10)});
    ASSERT_GE(answer(request(kRcSendOnly, kPsn + i, Bytes(4, 1))), 0);
    ASSERT_TRUE(rig.completion(qp->recv_cq));
  }
}

TEST_F(RdmaCommands, ModifyQpChecksRanges) {
  qp = rig.make_qp(VERNA_QP_RC, how, VERNA_QPS_INIT);
  const auto refused = [&](uint32_t mask, const std::function<void(verna_qp_attr&)>& change) {
    verna_qp_attr attr{};
    attr.path_mtu = 1024;
    attr.av = make_av(rig.peer, false, 0);
    attr.dest_qpn = 5;
    change(attr);
    attr.state = VERNA_QPS_RTR;
    const Reply reply = driver().modify_qp(
        qp->qpn, VERNA_QPS_INIT,
        VERNA_QPA_STATE | VERNA_QPA_AV | VERNA_QPA_PATH_MTU | VERNA_QPA_DEST_QPN |
            VERNA_QPA_RQ_PSN | VERNA_QPA_MAX_DEST_RD_ATOMIC | VERNA_QPA_MIN_RNR_TIMER | mask,
        attr);
    EXPECT_EQ(rig.state(qp), VERNA_QPS_INIT) << "a refused command changed the state";
    return reply.status == VERNA_CMD_BAD_PARAM;
  };
  for (uint16_t mtu : {0, 1, 255, 257, 1023, 4097, 8192}) {
    EXPECT_TRUE(refused(0, [&](verna_qp_attr& a) { a.path_mtu = mtu; })) << mtu;
  }
  EXPECT_TRUE(refused(0, [](verna_qp_attr& a) { a.rq_psn = 0x1000000; }));
  EXPECT_TRUE(refused(0, [](verna_qp_attr& a) { a.dest_qpn = 0x1000000; }));
  EXPECT_TRUE(refused(0, [](verna_qp_attr& a) { a.min_rnr_timer = 32; }));
  EXPECT_TRUE(refused(0, [](verna_qp_attr& a) { a.max_dest_rd_atomic = 129; }));
  EXPECT_TRUE(refused(0, [](verna_qp_attr& a) { a.av.sgid_index = 77; })) << "entry not valid";
  EXPECT_TRUE(refused(0, [](verna_qp_attr& a) { a.av.sgid_index = 200; })) << "no such entry";
  EXPECT_TRUE(refused(0, [](verna_qp_attr& a) { a.av.sl = 8; }));
  EXPECT_TRUE(refused(VERNA_QPA_ACCESS, [](verna_qp_attr& a) { a.access = 0x80; }));
  EXPECT_TRUE(refused(VERNA_QPA_PKEY_INDEX, [](verna_qp_attr& a) { a.pkey_index = 1; }));
  EXPECT_TRUE(refused(0x10000, [](verna_qp_attr&) {})) << "unknown mask bit";
  EXPECT_TRUE(refused(0x80000000, [](verna_qp_attr&) {}));
  verna_qp_attr attr{};
  EXPECT_EQ(driver().modify_qp(0xabcdef, 0, VERNA_QPA_STATE, attr).status, VERNA_CMD_NOT_FOUND);
}

TEST_F(RdmaCommands, SetGidChecksEveryField) {
  using T = verna_cmd_set_gid;
  T good{};
  good.index = 5;
  good.valid = 1;
  good.vlan = VERNA_VLAN_NONE;
  std::copy_n(rig.card.mac, 6, good.mac);
  std::copy_n(rig.card.gid4, 16, good.gid);
  expect_bad<T>(VERNA_CMD_SET_GID, good,
                {{"index", offsetof(T, index), [](T& c) { c.index = 128; }},
                 {"index 0xffff", offsetof(T, index), [](T& c) { c.index = 0xffff; }},
                 {"valid", offsetof(T, valid), [](T& c) { c.valid = 2; }},
                 {"reserved0", offsetof(T, reserved0), [](T& c) { c.reserved0 = 1; }},
                 {"vlan 4096", offsetof(T, vlan), [](T& c) { c.vlan = 4096; }},
                 {"reserved1", offsetof(T, reserved1), [](T& c) { c.reserved1 = 1; }}});
  EXPECT_TRUE(driver().execute(VERNA_CMD_SET_GID, good).ok());
  EXPECT_TRUE(driver().execute(VERNA_CMD_SET_GID, good).ok()) << "again overwrites";
  good.valid = 0;
  EXPECT_TRUE(driver().execute(VERNA_CMD_SET_GID, good).ok());
}

TEST_F(RdmaCommands, AClearedGidReceivesAndSendsNothing) {
  make_rc();
  Region* mr = rig.make_mr(100);
  verna_cmd_set_gid c{};
  c.index = 0;
  ASSERT_TRUE(driver().execute(VERNA_CMD_SET_GID, c).ok());
  const uint64_t packets = count(VERNA_RDMA_rx_packets);
  rig.deliver(rdma(kRcWriteOnly, kPsn, mr, 0, 4, Bytes(4, 1)));
  EXPECT_EQ(count(VERNA_RDMA_rx_packets), packets) << "not ours any more";
  SendWr wr;
  wr.sges = {mr->sge(0, 4)};
  driver().post_send(qp, wr);
  EXPECT_TRUE(rig.all_sent().empty());
}

TEST_F(RdmaCommands, KeysAndNumbersAreNotPredictable) {
  std::vector<uint32_t> keys, qpns;
  for (int i = 0; i < 600; i++) {
    keys.push_back(rig.make_mr(0)->key);
    if (i < 200) qpns.push_back(rig.make_qp(VERNA_QP_RC, how, VERNA_QPS_RESET)->qpn);
  }
  for (const auto* list : {&keys, &qpns}) {
    std::set<uint32_t> values(list->begin(), list->end()), steps;
    EXPECT_EQ(values.size(), list->size());
    for (size_t i = 1; i < list->size(); i++) steps.insert((*list)[i] - (*list)[i - 1]);
    EXPECT_GE(steps.size(), list->size() - 3) << "steps repeat";
  }
  // At least 24 bits of a key take both values about half of the time.
  int free_bits = 0;
  for (int bit = 0; bit < 32; bit++) {
    const auto ones =
        std::count_if(keys.begin(), keys.end(), [bit](uint32_t k) { return k >> bit & 1; });
    free_bits += ones > 230 && ones < 370;
  }
  EXPECT_GE(free_bits, 24);
  for (uint32_t qpn : qpns) {
    EXPECT_GT(qpn, 1u);
    EXPECT_LT(qpn, 0xffffffu);
  }
}

TEST_F(RdmaCommands, AFreedKeyIsNotSoonUsedAgain) {
  std::set<uint32_t> seen;
  for (int i = 0; i < 3000; i++) {
    Region* mr = rig.make_mr(0);
    EXPECT_TRUE(seen.insert(mr->key).second) << i;
    ASSERT_EQ(destroy(VERNA_CMD_DESTROY_MR, mr->key), VERNA_CMD_OK);
  }
}

TEST(RandomIds, QuarantineHoldsNumbersBack) {
  Rng rng(uint64_t{1});
  RandomIds ids(rng, 20, 100);
  std::map<uint32_t, size_t> freed;  // number -> when
  for (size_t i = 0; i < 4 * RandomIds::kQuarantine; i++) {
    const uint32_t id = ids.allocate();
    ASSERT_GE(id, 100u);
    ASSERT_LT(id, 1u << 20);
    const auto before = freed.find(id);
    if (before != freed.end()) ASSERT_GE(i - before->second, RandomIds::kQuarantine);
    freed[id] = i;
    ids.release(id);
  }
}

TEST(RandomIds, LiveNumbersAreUnique) {
  Rng rng(uint64_t{1});
  RandomIds ids(rng, 16, 2);
  std::set<uint32_t> live;
  for (int i = 0; i < 30000; i++) ASSERT_TRUE(live.insert(ids.allocate()).second);
}

}  // namespace
}  // namespace verna::test
