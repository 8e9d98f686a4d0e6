// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/world.h"

#include <algorithm>
#include <random>

#include "support/fail.h"

namespace verna::test {

/// True if the card has more to do at this moment.
bool World::run_card(TestCard* card) {
  if (card->asleep_) {
    const bool frame = !card->wire_port_ || card->wire_port_->wakes();
    if (!card->kicked_ && !frame && card->deadline_ > clock.now) return false;
    card->nic->cancel_sleep();
    card->asleep_ = false;
  }
  card->kicked_ = false;
  const Nic::RunResult r = card->nic->run(clock.now, budget);
  card->deadline_ = r.deadline;
  if (r.more) return true;
  card->asleep_ = card->nic->prepare_sleep(clock.now);
  return !card->asleep_;
}

Nanos World::next_event() const {
  Nanos next = kNever;
  for (const TestCard* card : cards_) {
    next = std::min(next, card->kicked_ ? clock.now : card->deadline_);
  }
  for (const Wire* wire : wires_) next = std::min(next, wire->next_arrival());
  return next;
}

bool World::run_until(const std::function<bool()>& done, Nanos limit) {
  const Nanos end = clock.now + limit;
  unsigned spins = 0;
  while (!done()) {
    if (clock.now >= end) return false;
    bool more = false;
    for (TestCard* card : cards_) more |= run_card(card);
    rounds++;
    const Nanos next = next_event();
    if (more || next <= clock.now) {
      // A card that always has more to do would burn a processor for ever.
      if (++spins > 5'000'000) {
        fail("the card never becomes idle");
        return false;
      }
      clock.now += round_cost;
    } else {
      clock.now = std::min(next, end);
    }
  }
  return true;
}

PeerAddress::PeerAddress(uint8_t number)
    : mac{0x52, 0x56, 0x4e, 0, 0, number},
      gid4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 0, 0, number},
      gid6{0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, number} {}

namespace {

NicConfig with_mac(NicConfig config, const uint8_t (&mac)[6]) {
  std::copy_n(mac, 6, config.mac);
  return config;
}

}  // namespace

TestCard::TestCard(World& w, Port& port, uint8_t number, NicConfig config, uint64_t seed)
    : PeerAddress(number),
      world(w),
      nic(std::make_unique<Nic>(with_mac(config, mac),
                                config.num_vfs ? static_cast<HostBus&>(with_pf(buses, bus)) : bus,
                                port, Rng(seed ? seed : 0x5eed0000u + number))),
      driver(
          *nic, bus, [&w](const std::function<bool()>& done) { return w.run_until(done); }, w.clock,
          [this] { kick(); }),
      wire_port_(dynamic_cast<WirePort*>(&port)) {
  const std::string why = nic->start();
  if (!why.empty()) fail("the card does not start: " + why);
  for (FunctionId fn = 1; fn <= config.num_vfs; fn++) buses.add(vfs.emplace_back(*this, fn).bus);
  world.add(this);
}

FunctionBuses& TestCard::with_pf(FunctionBuses& all, FakeHostBus& pf) {
  all.add(pf);
  return all;
}

void TestCard::set_num_vfs(uint16_t count) {
  nic->set_num_vfs(count, world.clock.now);
  kick();
}

/// The address is the card's choice; see default_mac().
TestVf::TestVf(TestCard& owner, FunctionId number)
    : PeerAddress(static_cast<uint8_t>(100 + number)),
      card(owner),
      fn(number),
      bus(number),
      driver(
          *card.nic, bus,
          [this](const std::function<bool()>& done) { return card.world.run_until(done); },
          card.world.clock, [this] { card.kick(); }, number) {
  std::copy(std::begin(card.mac), std::end(card.mac), mac);
  mac[1] = static_cast<uint8_t>(mac[1] ^ number);
}

const Counters& TestVf::counters() const { return card.nic->counters(fn); }

void TestVf::ring_doorbell(uint32_t uar, uint32_t value) {
  card.nic->ring_doorbell(fn, uar, value);
  card.kick();
}

void TestVf::reset() {
  card.nic->reset(fn, card.world.clock.now);
  card.kick();
}

void TestCard::ring_doorbell(uint32_t uar, uint32_t value) {
  nic->ring_doorbell(0, uar, value);
  kick();
}

void TestCard::set_link(bool up) {
  nic->set_link_admin(up, world.clock.now);
  kick();
}

void TestCard::reset() {
  nic->reset(0, world.clock.now);
  kick();
}

namespace {

/// `wire` has the port group of its vport, which only a PF with VFs has apart from its own.
std::string conservation(const Counters& counters, const Counters& wire) {
  const auto& p = counters.port;
  const auto& w = wire.port;
  const auto& e = counters.eth;
  const auto& r = counters.rdma;
  const auto sum = [](const auto& list, unsigned first, unsigned last) {
    uint64_t total = 0;
    for (unsigned i = first; i <= last; i++) total += list[i];
    return total;
  };
  std::string why;
  const auto expect = [&](const char* what, uint64_t have, uint64_t want) {
    if (have != want) {
      why += std::string(what) + ": " + std::to_string(have) + " != " + std::to_string(want) + "; ";
    }
  };
  const auto port_ends = [&](const auto& c) {
    return sum(c, VERNA_PORT_rx_to_eth, VERNA_PORT_rx_drop_disabled) + c[VERNA_PORT_rx_drop_vlan] +
           c[VERNA_PORT_rx_pause] + c[VERNA_PORT_rx_to_switch];
  };
  const bool apart = &p != &w;  // a PF that has, or had, VFs
  expect("rx_frames", p[VERNA_PORT_rx_frames], port_ends(p));
  expect("rx_frames of the vport", w[VERNA_PORT_rx_frames], port_ends(w));
  expect("rx_to_eth",
         p[VERNA_PORT_rx_to_eth] + (apart ? w[VERNA_PORT_rx_to_eth] : 0) + e[VERNA_ETH_rx_loopback],
         e[VERNA_ETH_rx_packets] + sum(e, VERNA_ETH_rx_drop_no_queue, VERNA_ETH_rx_drop_dma) +
             e[VERNA_ETH_rx_drop_rule]);
  // Frames to one of our own GIDs count in the RDMA group and never cross the port.
  if (r[VERNA_RDMA_rx_packets] < p[VERNA_PORT_rx_to_rdma]) why += "rx_to_rdma > rdma rx_packets; ";
  expect("rdma rx_packets", r[VERNA_RDMA_rx_packets],
         sum(r, VERNA_RDMA_rx_accepted, VERNA_RDMA_rx_rnr) +
             sum(r, VERNA_RDMA_rx_drop_malformed, VERNA_RDMA_rx_drop_error));
  return why;
}

}  // namespace

std::string TestVf::check_conservation() const { return conservation(counters(), counters()); }

std::string TestCard::check_conservation() const {
  return conservation(nic->counters(), nic->vport_mac_counters()) + check_switch();
}

std::string TestCard::check_switch() const {
  uint64_t entered = 0, left = 0;
  for (uint32_t vport = 0; const auto* c = nic->vport_counters(vport); vport++) {
    entered += c->at(VERNA_VPORT_tx_frames) + c->at(VERNA_VPORT_tx_copies);
    left += c->at(VERNA_VPORT_rx_frames);
    for (unsigned i = VERNA_VPORT_tx_drop_down; i <= VERNA_VPORT_tx_drop_nobody; i++)
      left += c->at(i);
    for (unsigned i = VERNA_VPORT_rx_drop_full; i <= VERNA_VPORT_rx_drop_disabled; i++)
      left += c->at(i);
  }
  if (entered == left) return {};
  return "switch: " + std::to_string(entered) + " != " + std::to_string(left) + "; ";
}

verna_av make_av(const PeerAddress& to, bool ipv6, uint8_t sgid_index) {
  verna_av av{};
  std::copy_n(ipv6 ? to.gid6 : to.gid4, 16, av.dgid);
  std::copy_n(to.mac, 6, av.dmac);
  av.sgid_index = sgid_index;
  return av;
}

void set_gids(MiniDriver& driver, const PeerAddress& own) {
  if (!driver.set_gid(0, own.gid4, own.mac).ok()) fail("SET_GID 0");
  if (!driver.set_gid(1, own.gid6, own.mac).ok()) fail("SET_GID 1");
}

namespace {

void modify(MiniDriver& driver, QueuePair* qp, uint8_t from, uint32_t mask, verna_qp_attr attr,
            uint8_t to) {
  attr.state = to;
  const Reply reply = driver.modify_qp(qp->qpn, from, mask | VERNA_QPA_STATE, attr);
  if (!reply.ok()) {
    fail("MODIFY_QP to " + std::to_string(to) + ": status " + std::to_string(reply.status) +
         " detail " + std::to_string(reply.detail));
  }
}

}  // namespace

void bring_to_rts(MiniDriver& driver, QueuePair* qp, const PeerAddress& peer, uint32_t peer_qpn,
                  const Connection& how, uint8_t until) {
  verna_qp_attr attr{};
  attr.access = how.access;
  attr.path_mtu = static_cast<uint16_t>(how.path_mtu);
  attr.timeout = how.timeout;
  attr.retry_cnt = how.retry_cnt;
  attr.rnr_retry = how.rnr_retry;
  attr.min_rnr_timer = how.min_rnr_timer;
  attr.max_rd_atomic = attr.max_dest_rd_atomic = how.rd_atomic;
  attr.rq_psn = attr.sq_psn = how.psn;
  attr.dest_qpn = peer_qpn;
  attr.av = make_av(peer, how.ipv6, how.ipv6 ? 1 : how.sgid_index);
  attr.av.sl = how.sl;
  const bool rc = qp->type == VERNA_QP_RC;
  modify(driver, qp, VERNA_QPS_RESET, VERNA_QPA_ACCESS | VERNA_QPA_PKEY_INDEX, attr,
         VERNA_QPS_INIT);
  if (until == VERNA_QPS_INIT) return;
  modify(driver, qp, VERNA_QPS_INIT,
         VERNA_QPA_AV | VERNA_QPA_PATH_MTU | VERNA_QPA_DEST_QPN | VERNA_QPA_RQ_PSN |
             (rc ? VERNA_QPA_MAX_DEST_RD_ATOMIC | VERNA_QPA_MIN_RNR_TIMER : 0),
         attr, VERNA_QPS_RTR);
  if (until == VERNA_QPS_RTR) return;
  modify(driver, qp, VERNA_QPS_RTR,
         VERNA_QPA_SQ_PSN | (rc ? VERNA_QPA_TIMEOUT | VERNA_QPA_RETRY_CNT | VERNA_QPA_RNR_RETRY |
                                      VERNA_QPA_MAX_RD_ATOMIC
                                : 0),
         attr, VERNA_QPS_RTS);
}

void bring_ud_to_rts(TestCard& card, QueuePair* qp, uint32_t qkey, uint8_t until) {
  verna_qp_attr attr{};
  attr.qkey = qkey;
  attr.sq_psn = 0x777;
  modify(card.driver, qp, VERNA_QPS_RESET, VERNA_QPA_PKEY_INDEX | VERNA_QPA_QKEY, attr,
         VERNA_QPS_INIT);
  if (until == VERNA_QPS_INIT) return;
  modify(card.driver, qp, VERNA_QPS_INIT, 0, attr, VERNA_QPS_RTR);
  if (until == VERNA_QPS_RTR) return;
  modify(card.driver, qp, VERNA_QPS_RTR, VERNA_QPA_SQ_PSN, attr, VERNA_QPS_RTS);
}

std::vector<uint8_t> pattern(size_t len, uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15 + 1);
  std::vector<uint8_t> out(len);
  for (size_t i = 0; i < len; i += 8) {
    const uint64_t word = random();
    std::memcpy(out.data() + i, &word, std::min<size_t>(8, len - i));
  }
  return out;
}

}  // namespace verna::test
