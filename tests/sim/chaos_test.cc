// SPDX-License-Identifier: GPL-2.0-or-later
// Two cards, a bad wire and drivers that do anything in any order: post, change states, destroy,
// register, take GIDs away, block the wire. Nothing is expected of a single operation; but the sums
// of all counters hold, no DMA leaves the memory that was given, and in the end everything can be
// destroyed.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sim/pair.h"

namespace verna::test {
namespace {

constexpr uint8_t kFull = VERNA_ACCESS_LOCAL_WRITE | VERNA_ACCESS_REMOTE_WRITE |
                          VERNA_ACCESS_REMOTE_READ | VERNA_ACCESS_REMOTE_ATOMIC;
constexpr uint32_t kRegionBytes = 65536;

class Chaos {
 public:
  explicit Chaos(uint64_t seed) : random_(seed), pair_(seed) {
    pair_.wire.impair({.loss = 0.01,
                       .duplicate = 0.01,
                       .reorder = 0.02,
                       .corrupt = 0.002,
                       .corrupt_fixed = 0.002,
                       .max_queued = 64},
                      seed);
    for (size_t side = 0; side < 2; side++) {
      // The last one is so small that it overruns.
      for (uint8_t log_size : {8, 8, 8, 2}) {
        cqs_[side].push_back(card(side).driver.create_cq(log_size));
      }
      for (int i = 0; i < 3; i++) add_region(side);
    }
    for (int i = 0; i < 3; i++) connect();
  }

  void run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); i++) {
      reap();
      act(random_() % 100);
      if (i % 500 == 0) settle();
    }
  }

  void finish() {
    pair_.wire.a.block_tx = pair_.wire.b.block_tx = false;
    for (size_t side = 0; side < 2; side++) card(side).set_link(true);
    settle();
    for (Qp& qp : qps_) destroy(&qp);
    qps_.clear();
    for (size_t side = 0; side < 2; side++) {
      MiniDriver& driver = card(side).driver;
      for (Region* region : regions_[side]) driver.object(VERNA_CMD_DESTROY_MR, region->key);
      EXPECT_TRUE(driver.object(VERNA_CMD_DESTROY_PD, pd(side)).ok()) << "something uses it still";
      for (RingHandle* cq : cqs_[side]) {
        EXPECT_TRUE(driver.object(VERNA_CMD_DESTROY_CQ, cq->id).ok());
        cq->mem.unmap();
      }
    }
    settle();
    for (size_t side = 0; side < 2; side++) {
      for (auto c : {VERNA_RDMA_rx_accepted, VERNA_RDMA_send_msgs, VERNA_RDMA_write_msgs,
                     VERNA_RDMA_read_msgs, VERNA_RDMA_atomic_msgs}) {
        EXPECT_GT(card(side).rdma_counter(c), 2u) << "too little happened: counter " << c;
      }
    }
  }

 private:
  struct Qp {
    QueuePair* qp;
    size_t side;
    uint8_t type;
    bool failed = false;
    uint32_t sq_done = 0;
    uint32_t rq_done = 0;
    bool sq_full() const { return qp->sq.prod - sq_done >= 1u << qp->sq.log_size; }
    bool rq_full() const { return qp->rq.prod - rq_done >= 1u << qp->rq.log_size; }
  };

  TestCard& card(size_t side) { return side ? pair_.b : pair_.a; }
  uint32_t pd(size_t side) const { return side ? pair_.pd_b : pair_.pd_a; }
  /// Both ends of a connection lie beside each other.
  Qp& peer(const Qp& qp) { return qps_[static_cast<size_t>(&qp - qps_.data()) ^ 1]; }
  template <typename T>
  T& any(std::vector<T>& list) {
    return list[random_() % list.size()];
  }
  bool one_in(uint64_t n) { return random_() % n == 0; }

  void add_region(size_t side) {
    const uint8_t access = one_in(20) ? VERNA_ACCESS_LOCAL_WRITE : kFull;
    const BufferShape shape{.level = static_cast<uint8_t>(random_() % 3)};
    regions_[side].push_back(card(side).driver.create_mr(pd(side), kRegionBytes, access, shape));
  }

  void connect() {
    static constexpr uint8_t kTypes[] = {VERNA_QP_RC, VERNA_QP_RC, VERNA_QP_UC, VERNA_QP_UD};
    const uint8_t type = kTypes[random_() % std::size(kTypes)];
    const size_t first = qps_.size();
    for (size_t side = 0; side < 2; side++) {
      set_gids(card(side));  // one may have been taken away
      QpOptions options;
      options.type = type;
      options.pdn = pd(side);
      options.log_sq_size = static_cast<uint8_t>(1 + random_() % 5);
      options.log_rq_size = static_cast<uint8_t>(1 + random_() % 5);
      RingHandle* send_cq = cqs_[side][random_() % (one_in(30) ? 4 : 3)];
      QueuePair* qp = card(side).driver.create_qp(options, send_cq, cqs_[side][random_() % 3]);
      qps_.push_back({qp, side, type});
    }
    Connection how;
    how.path_mtu = 256u << random_() % 5;
    how.timeout = static_cast<uint8_t>(5 + random_() % 5);
    how.retry_cnt = static_cast<uint8_t>(one_in(8) ? random_() % 8 : 7);
    how.rnr_retry = static_cast<uint8_t>(one_in(8) ? random_() % 8 : 7);
    how.min_rnr_timer = static_cast<uint8_t>(1 + random_() % 3);
    how.rd_atomic = static_cast<uint16_t>(one_in(20) ? 0 : 1 + random_() % 4);
    how.psn = static_cast<uint32_t>(random_() & 0xffffff);
    how.ipv6 = one_in(2);
    const bool to_itself = one_in(4);
    for (size_t i = first; i < first + 2; i++) {
      const size_t other = to_itself ? i : i ^ 1;
      if (type == VERNA_QP_UD) {
        bring_ud_to_rts(card(qps_[i].side), qps_[i].qp, 0x1111);
      } else {
        bring_to_rts(card(qps_[i].side), qps_[i].qp, card(qps_[other].side), qps_[other].qp->qpn,
                     how);
      }
    }
  }

  /// Mostly what the type of the queue pair allows.
  uint8_t choose_opcode(uint8_t type) {
    if (one_in(200)) return static_cast<uint8_t>(random_());
    if (one_in(100)) return one_in(2) ? VERNA_WR_SEND_WITH_INV : VERNA_WR_LOCAL_INV;
    static constexpr uint8_t kOpcodes[] = {VERNA_WR_SEND,       VERNA_WR_SEND_WITH_IMM,
                                           VERNA_WR_RDMA_WRITE, VERNA_WR_RDMA_WRITE_WITH_IMM,
                                           VERNA_WR_RDMA_READ,  VERNA_WR_ATOMIC_CAS,
                                           VERNA_WR_ATOMIC_FADD};
    return kOpcodes[random_() % (type == VERNA_QP_UD ? 2 : type == VERNA_QP_UC ? 4 : 7)];
  }

  void send(const Qp& qp) {
    if (qp.sq_full() && !one_in(1000)) return;
    SendWr wr;
    wr.opcode = choose_opcode(qp.type);
    wr.flags = static_cast<uint8_t>(one_in(200) ? random_() : random_() % 8);
    // So that the queue's free entries are known.
    if (!one_in(4)) wr.flags |= VERNA_WR_F_SIGNALED;
    Region* local = any(regions_[qp.side]);
    Region* remote = any(regions_[1 - qp.side]);
    const bool atomic = wr.opcode == VERNA_WR_ATOMIC_CAS || wr.opcode == VERNA_WR_ATOMIC_FADD;
    for (uint64_t n = atomic ? 1 : random_() % 4; n > 0; n--) {
      const uint64_t most = qp.type == VERNA_QP_UD ? 80 : 3000;
      const auto len = static_cast<uint32_t>(atomic ? 8 : random_() % most);
      wr.sges.push_back(local->sge(random_() % (kRegionBytes - 3000), len));
      if (one_in(300)) wr.sges.back().lkey ^= 1u << random_() % 32;
      if (one_in(300)) wr.sges.back().addr = random_();
    }
    wr.remote_addr = remote->iova + random_() % (kRegionBytes - 9000) / 8 * 8;
    wr.rkey = one_in(300) ? static_cast<uint32_t>(random_()) : remote->key;
    wr.imm = one_in(3) ? remote->key : static_cast<uint32_t>(random_());
    wr.remote_qpn = peer(qp).qp->qpn;
    wr.remote_qkey = one_in(4) ? 0x80000000u : 0x1111u;
    const bool ipv6 = one_in(2);
    wr.av = make_av(card(1 - qp.side), ipv6, ipv6 ? 1 : 0);
    card(qp.side).driver.post_send(qp.qp, wr);
  }

  void receive(const Qp& qp) {
    if (qp.rq_full() && !one_in(1000)) return;
    Region* region = any(regions_[qp.side]);
    std::vector<verna_sge> sges;
    const uint32_t least = one_in(100) ? 0 : 10000;
    for (uint64_t n = 1 + random_() % 3; n > 0; n--) {
      sges.push_back(
          region->sge(random_() % 40000, least + static_cast<uint32_t>(random_() % 10000)));
      if (one_in(300)) sges.back().lkey ^= 4;
    }
    card(qp.side).driver.post_recv(qp.qp, sges);
  }

  void modify(Qp& qp) {
    MiniDriver& driver = card(qp.side).driver;
    verna_qp_attr attr{};
    attr.state = static_cast<uint8_t>(random_() % 7);
    attr.path_mtu = 256;
    attr.timeout = 5;
    attr.av = make_av(card(1 - qp.side), false, 0);
    const Reply reply =
        driver.modify_qp(qp.qp->qpn, driver.query_qp(qp.qp->qpn).state,
                         VERNA_QPA_STATE | static_cast<uint32_t>(random_() & 0xffff), attr);
    if (!reply.ok() || attr.state != VERNA_QPS_RESET) return;
    qp.qp->sq.prod = qp.qp->rq.prod = qp.sq_done = qp.rq_done = 0;
    qp.qp->mem.store<uint32_t>(qp.qp->sq.rec, 0);
    qp.qp->mem.store<uint32_t>(qp.qp->rq.rec, 0);
  }

  void destroy(Qp* qp) {
    EXPECT_TRUE(card(qp->side).driver.object(VERNA_CMD_DESTROY_QP, qp->qp->qpn).ok());
    qp->qp->mem.unmap();  // any access from here on fails the test
  }

  void change_gid(size_t side) {
    TestCard& c = card(side);
    verna_cmd_set_gid command{};
    command.index = static_cast<uint16_t>(random_() % 2);
    command.valid = !one_in(60);
    command.vlan = VERNA_VLAN_NONE;
    std::memcpy(command.mac, c.mac, 6);
    std::memcpy(command.gid, command.index ? c.gid6 : c.gid4, 16);
    c.driver.execute(VERNA_CMD_SET_GID, command);
  }

  void change_regions(size_t side) {
    if (regions_[side].size() < 4) return add_region(side);
    Region* region = any(regions_[side]);
    std::erase(regions_[side], region);
    // A remote or local invalidation may have been faster; the key exists all the same.
    EXPECT_TRUE(card(side).driver.object(VERNA_CMD_DESTROY_MR, region->key).ok());
    region->mem.unmap();
  }

  /// A connection that failed makes room for another.
  void replace(size_t index) {
    const size_t pair = index & ~size_t{1};
    for (size_t i : {pair, pair + 1}) {
      destroy(&qps_[i]);
      qps_[i] = qps_[qps_.size() - 2 + i % 2];
    }
    qps_.resize(qps_.size() - 2);
    connect();
  }

  void act(uint64_t dice) {
    const size_t index = random_() % qps_.size();
    Qp& qp = qps_[index];
    if (qp.failed && one_in(4)) return replace(index);
    if (dice < 40) {
      send(qp);
    } else if (dice < 70) {
      receive(qp);
    } else if (dice < 71) {
      if (one_in(4)) modify(qp);
    } else if (dice < 72) {
      if (one_in(8)) replace(index);
    } else if (dice < 73) {
      if (qps_.size() < 30) connect();
    } else if (dice < 74) {
      if (one_in(4)) change_regions(qp.side);
    } else if (dice < 75) {
      if (one_in(20)) qp.qp->mem.store<uint8_t>(random_() % qp.qp->mem.length(), 0xff);
    } else if (dice < 77) {
      card(qp.side).ring_doorbell(
          1, static_cast<uint32_t>(one_in(2) ? random_() : VERNA_DB(1, qp.qp->qpn)));
    } else if (dice < 78) {
      change_gid(qp.side);
    } else if (dice < 79) {
      pair_.wire.a.block_tx = one_in(6);
      pair_.wire.b.block_tx = one_in(6);
    } else if (dice < 80) {
      card(qp.side).set_link(!one_in(8));
    } else {
      pair_.world.run_for(random_() % (30 * kMicro));
    }
  }

  void completed(size_t side, const verna_cqe& cqe) {
    for (Qp& qp : qps_) {
      if (qp.side != side || qp.qp->qpn != cqe.id) continue;
      qp.failed |= cqe.status != VERNA_CQE_OK;
      (VERNA_CQE_IS_RECV(cqe.opcode) ? qp.rq_done : qp.sq_done) = cqe.wqe_index + 1;
    }
  }

  void reap() {
    verna_cqe cqe;
    verna_eqe eqe;
    for (size_t side = 0; side < 2; side++) {
      for (RingHandle* cq : cqs_[side]) {
        while (!one_in(16) && card(side).driver.poll(cq, &cqe)) completed(side, cqe);
      }
      while (card(side).driver.take_event(card(side).driver.eq0, &eqe)) {
      }
    }
  }

  void settle() {
    pair_.world.run_for(3 * kMilli);
    pair_.expect_conserved();
  }

  std::mt19937_64 random_;
  Pair pair_;
  std::vector<RingHandle*> cqs_[2];
  std::vector<Region*> regions_[2];
  std::vector<Qp> qps_;
};

class ChaosTest : public testing::TestWithParam<uint64_t> {};

TEST_P(ChaosTest, SumsHoldAndEverythingCanBeDestroyed) {
  Chaos chaos(GetParam());
  chaos.run(8000);
  chaos.finish();
}
INSTANTIATE_TEST_SUITE_P(Seeds, ChaosTest, testing::Range(uint64_t{1}, uint64_t{9}));

}  // namespace
}  // namespace verna::test
