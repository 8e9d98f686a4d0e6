// SPDX-License-Identifier: GPL-2.0-or-later
// Cards, wires and time: everything a test runs.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "support/mini_driver.h"
#include "support/wire.h"

namespace verna::test {

class TestCard;

/// Runs cards in one thread in virtual time: first everything that can happen now, then time moves
/// to the next deadline or arrival. A card that has nothing to do sleeps as in QEMU, and then only
/// a doorbell, a register write, a frame or its deadline wakes it: a lost wake-up shows as a hang.
class World {
 public:
  ManualClock clock;

  void add(TestCard* card) { cards_.push_back(card); }
  void add(Wire* wire) { wires_.push_back(wire); }

  /// True once `done` holds; false if it does not within `limit`.
  bool run_until(const std::function<bool()>& done, Nanos limit = 2 * kSecond);
  /// Runs for `span` of virtual time.
  void run_for(Nanos span) {
    run_until([] { return false; }, span);
  }
  /// Runs until nothing is left to do before `horizon` from now.
  void settle(Nanos horizon = 100 * kMicro) { run_for(horizon); }

  /// Cost of one round of the engine; keeps time moving while there is work.
  Nanos round_cost = 200;
  uint32_t budget = 65536;
  uint64_t rounds = 0;

 private:
  bool run_card(TestCard* card);
  Nanos next_event() const;

  std::vector<TestCard*> cards_;
  std::vector<Wire*> wires_;
};

/// Who somebody is on the wire.
struct PeerAddress {
  explicit PeerAddress(uint8_t number);
  uint8_t mac[6];
  uint8_t gid4[16];  // ::ffff:10.0.0.number
  uint8_t gid6[16];  // fd00::number
};

class TestCard;

/// A VF with its memory and its driver.
class TestVf : public PeerAddress {
 public:
  TestVf(TestCard& card, FunctionId fn);

  TestCard& card;
  FunctionId fn;
  FakeHostBus bus;
  MiniDriver driver;

  uint16_t vport() const { return static_cast<uint16_t>(fn + 1); }
  const Counters& counters() const;
  void ring_doorbell(uint32_t uar, uint32_t value);
  void reset();
  std::string check_conservation() const;
};

/// A card with its memory and its driver. With VFs, each has memory of its own.
class TestCard : public PeerAddress {
 public:
  TestCard(World& world, Port& port, uint8_t number, NicConfig config = {}, uint64_t seed = 0);

  World& world;
  FakeHostBus bus;
  FunctionBuses buses;
  std::unique_ptr<Nic> nic;
  MiniDriver driver;
  std::deque<TestVf> vfs;  // all that there can be

  void set_num_vfs(uint16_t count);
  uint64_t vport_counter(uint16_t vport, unsigned i) const {
    return nic->vport_counters(vport)->at(i);
  }
  /// As a vCPU would: wakes the card if it sleeps.
  void ring_doorbell(uint32_t uar, uint32_t value);
  void set_link(bool up);
  void reset();
  void kick() { kicked_ = true; }

  uint64_t port_counter(unsigned i) const { return nic->counters().port[i]; }
  uint64_t eth_counter(unsigned i) const { return nic->counters().eth[i]; }
  uint64_t rdma_counter(unsigned i) const { return nic->counters().rdma[i]; }
  uint64_t dev_counter(unsigned i) const { return nic->counters().dev[i]; }
  /// Empty, or which sum of counters does not add up; see verna_counters.h.
  std::string check_conservation() const;
  /// The same of the switch, if there is one.
  std::string check_switch() const;

 private:
  friend class World;
  static FunctionBuses& with_pf(FunctionBuses& all, FakeHostBus& pf);
  WirePort* wire_port_;
  bool asleep_ = false;
  bool kicked_ = true;
  Nanos deadline_ = 0;
};

/// What a connection is made with.
struct Connection {
  uint32_t path_mtu = 1024;
  uint8_t timeout = 8;  // about 1 ms
  uint8_t retry_cnt = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 1;
  uint16_t rd_atomic = 4;
  uint8_t access =
      VERNA_ACCESS_REMOTE_WRITE | VERNA_ACCESS_REMOTE_READ | VERNA_ACCESS_REMOTE_ATOMIC;
  uint32_t psn = 0x123456;  // of both directions
  bool ipv6 = false;
  uint8_t sl = 0;
  uint8_t sgid_index = 0;
};

verna_av make_av(const PeerAddress& to, bool ipv6, uint8_t sgid_index);
/// GID 0 is IPv4, GID 1 IPv6.
void set_gids(MiniDriver& driver, const PeerAddress& own);
inline void set_gids(TestCard& card) { set_gids(card.driver, card); }
/// Takes one QP from RESET to RTS (or less).
void bring_to_rts(MiniDriver& driver, QueuePair* qp, const PeerAddress& peer, uint32_t peer_qpn,
                  const Connection& how, uint8_t until = VERNA_QPS_RTS);
inline void bring_to_rts(TestCard& card, QueuePair* qp, const PeerAddress& peer, uint32_t peer_qpn,
                         const Connection& how, uint8_t until = VERNA_QPS_RTS) {
  bring_to_rts(card.driver, qp, peer, peer_qpn, how, until);
}
void bring_ud_to_rts(TestCard& card, QueuePair* qp, uint32_t qkey, uint8_t until = VERNA_QPS_RTS);
std::vector<uint8_t> pattern(size_t len, uint64_t seed);

}  // namespace verna::test
