// SPDX-License-Identifier: GPL-2.0-or-later
// Traffic of which every byte is checked, beside processes that misbehave, resets and link flaps.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "sim/flow.h"
#include "sim/pair.h"

namespace verna::test {
namespace {

/// A process with queue pairs of its own that writes what it likes into everything it can reach:
/// its queues, its records, its CQ and its doorbell page.
class HostileProcess {
 public:
  static constexpr uint32_t kUar = 7;
  HostileProcess(Pair& pair, uint64_t seed) : pair_(pair), random_(seed) {
    const uint32_t pd = pair.a.driver.create_pd();
    cq_ = pair.a.driver.create_cq(6);
    region_ = pair.a.driver.create_mr(pd, 16384, VERNA_ACCESS_LOCAL_WRITE);
    for (uint8_t type : {VERNA_QP_RC, VERNA_QP_UC, VERNA_QP_UD}) {
      QpOptions options;
      options.type = type;
      options.pdn = pd;
      options.uar = kUar;
      QueuePair* qp = pair.a.driver.create_qp(options, cq_, cq_);
      if (type == VERNA_QP_UD) {
        bring_ud_to_rts(pair.a, qp, 5);
      } else {
        bring_to_rts(pair.a, qp, pair.b, 0x1234, {});
      }
      qps_.push_back(qp);
    }
  }

  void misbehave() {
    QueuePair* qp = qps_[random_() % qps_.size()];
    switch (random_() % 6) {
      case 0: {  // a plausible request with something wrong
        SendWr wr;
        wr.opcode = static_cast<uint8_t>(random_() % 10);
        wr.flags = static_cast<uint8_t>(random_() % 32);
        wr.sges = {region_->sge(random_() % 20000, static_cast<uint32_t>(random_() % 20000))};
        wr.rkey = static_cast<uint32_t>(random_());
        wr.remote_qpn = static_cast<uint32_t>(random_());
        wr.av = make_av(pair_.b, false, static_cast<uint8_t>(random_() % 4));
        pair_.a.driver.post_send(qp, wr);
        break;
      }
      case 1:  // bytes anywhere in its queues
        for (int i = 0; i < 16; i++) {
          qp->mem.store<uint8_t>(random_() % qp->mem.length(), static_cast<uint8_t>(random_()));
        }
        break;
      case 2:  // producer indices
        qp->mem.store<uint32_t>(random_() % 2 * 128, static_cast<uint32_t>(random_() % 200));
        break;
      case 3:  // its completion queue: consumer index and arm word
        cq_->mem.store<uint32_t>(random_() % 2 * 4, static_cast<uint32_t>(random_()));
        break;
      default:  // doorbells of everybody from its own page
        pair_.a.ring_doorbell(kUar, VERNA_DB(random_() % 6, random_() % 2 ? victim : random_()));
    }
  }
  uint32_t victim = 0;

 private:
  Pair& pair_;
  std::mt19937_64 random_;
  RingHandle* cq_;
  Region* region_;
  std::vector<QueuePair*> qps_;
};

TEST(Hostile, AProcessThatScribblesHurtsOnlyItself) {
  for (uint64_t seed = 1; seed <= 3; seed++) {
    SCOPED_TRACE(seed);
    Pair pair(seed);
    const Pair::Ends ends = pair.connect(VERNA_QP_RC);
    ReliableFlow victim(pair.a, ends.a, pair.pd_a, pair.b, ends.b, pair.pd_b,
                        {.seed = seed, .operations = 400});
    HostileProcess hostile(pair, seed);
    hostile.victim = ends.a->qpn;
    // The wire is slow enough that the hostile process has many turns.
    pair.wire.impair({.bits_per_second = 2'000'000'000}, seed);
    verna_eqe eqe;
    EXPECT_TRUE(pair.world.run_until(
        [&] {
          hostile.misbehave();
          victim.step();
          while (pair.a.driver.take_event(pair.a.driver.eq0, &eqe)) {
            EXPECT_NE(eqe.id, ends.a->qpn) << "an event of the victim";
          }
          return victim.done() || victim.failures() > 0;
        },
        20 * kSecond));
    EXPECT_EQ(victim.failures(), 0u);
    EXPECT_EQ(pair.a.driver.query_qp(ends.a->qpn).state, VERNA_QPS_RTS);
    EXPECT_GT(pair.a.dev_counter(VERNA_DEV_bad_doorbells), 0u);
    pair.world.settle();
    pair.expect_conserved();
  }
}

TEST(Hostile, AfterAResetNoMemoryIsTouched) {
  for (uint64_t seed = 1; seed <= 5; seed++) {
    Pair pair(seed);
    const Pair::Ends ends = pair.connect(VERNA_QP_RC);
    ReliableFlow there(pair.a, ends.a, pair.pd_a, pair.b, ends.b, pair.pd_b,
                       {.seed = seed, .operations = 1'000'000});
    ReliableFlow back(pair.b, ends.b, pair.pd_b, pair.a, ends.a, pair.pd_a,
                      {.seed = seed + 9, .operations = 1'000'000});
    std::mt19937_64 random(seed);
    const Nanos when = pair.world.clock.now + random() % (200 * kMicro);
    pair.world.run_until([&] {
      there.step();
      back.step();
      return pair.world.clock.now >= when;
    });
    pair.b.reset();
    const uint64_t accesses = pair.b.bus.accesses();
    pair.b.bus.clear_interrupts();
    pair.world.run_for(20 * kMilli);
    EXPECT_EQ(pair.b.bus.accesses(), accesses) << "DMA after a reset";
    EXPECT_EQ(pair.b.bus.total_interrupts(), 0u);
    // The other side gives up, and everything works again from the start.
    verna_cqe cqe{};
    EXPECT_TRUE(pair.world.run_until(
        [&] { return pair.a.driver.poll(ends.a->send_cq, &cqe) && cqe.status != VERNA_CQE_OK; },
        30 * kSecond));
    EXPECT_EQ(cqe.status, VERNA_CQE_RETRY_EXC_ERR);
    pair.b.driver.bring_up();
    set_gids(pair.b);
    pair.pd_b = pair.b.driver.create_pd();
    const Pair::Ends again = pair.connect(VERNA_QP_RC);
    ReliableFlow flow(pair.a, again.a, pair.pd_a, pair.b, again.b, pair.pd_b,
                      {.seed = seed, .operations = 50});
    EXPECT_TRUE(pair.world.run_until([&] {
      flow.step();
      return flow.done();
    }));
  }
}

TEST(Hostile, AConnectionSurvivesShortLinkFlaps) {
  Pair pair(3);
  Connection how;
  how.timeout = 14;  // 67 ms, seven times
  const Pair::Ends ends = pair.connect(VERNA_QP_RC, how);
  ReliableFlow flow(pair.a, ends.a, pair.pd_a, pair.b, ends.b, pair.pd_b,
                    {.seed = 3, .operations = 300});
  pair.wire.impair({.bits_per_second = 1'000'000'000}, 3);
  const auto finished = [&] {
    flow.step();
    return flow.done() || flow.failures() > 0;
  };
  bool up = true;
  for (int flap = 0; flap < 2000 && !pair.world.run_until(finished, up ? kMilli : kMilli / 5);
       flap++) {
    up = !up;
    pair.a.set_link(up);
  }
  EXPECT_TRUE(flow.done());
  EXPECT_EQ(flow.failures(), 0u);
  EXPECT_GT(pair.a.port_counter(VERNA_PORT_link_down_events), 3u);
  pair.expect_conserved();
}

TEST(Hostile, DestroyingEverythingUnderTrafficIsClean) {
  for (uint64_t seed = 1; seed <= 5; seed++) {
    Pair pair(seed);
    const Pair::Ends ends = pair.connect(VERNA_QP_RC);
    ReliableFlow there(pair.a, ends.a, pair.pd_a, pair.b, ends.b, pair.pd_b,
                       {.seed = seed, .operations = 1'000'000});
    ReliableFlow back(pair.b, ends.b, pair.pd_b, pair.a, ends.a, pair.pd_a,
                      {.seed = seed + 9, .operations = 1'000'000});
    std::mt19937_64 random(seed);
    const Nanos when = pair.world.clock.now + random() % (200 * kMicro);
    pair.world.run_until([&] {
      there.step();
      back.step();
      return pair.world.clock.now >= when;
    });
    MiniDriver& driver = pair.b.driver;
    EXPECT_TRUE(driver.object(VERNA_CMD_DESTROY_QP, ends.b->qpn).ok());
    ends.b->mem.unmap();  // from here on any access to it fails the test
    EXPECT_TRUE(driver.object(VERNA_CMD_DESTROY_CQ, ends.b->send_cq->id).ok());
    EXPECT_TRUE(driver.object(VERNA_CMD_DESTROY_CQ, ends.b->recv_cq->id).ok());
    ends.b->send_cq->mem.unmap();
    ends.b->recv_cq->mem.unmap();
    pair.world.run_for(50 * kMilli);
    EXPECT_EQ(driver.object(VERNA_CMD_DESTROY_PD, pair.pd_b).status, VERNA_CMD_BUSY)
        << "its memory regions are still there";
    pair.expect_conserved();
  }
}

}  // namespace
}  // namespace verna::test
