// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/eth_engine.h"

#include <algorithm>

namespace verna {

EthEngine::EthEngine(const EthEnvironment& environment, const EthLimits& limits,
                     const uint8_t (&mac)[6])
    : env_(environment),
      limits_(limits),
      wire_(env_.wire, env_.loopback),
      rx_(env_.timers, limits.max_held_cells),
      context_{env_.bus, env_.events, wire_, env_.counters, env_.trace, rx_, limits.default_mtu},
      filter_(mac, limits.max_mac_filters),
      steering_(env_.bus, limits.max_queues, limits.max_flow_rules, env_.seed, env_.trace),
      txqs_(limits.max_queues),
      rxqs_(limits.max_queues) {
  rx_.reclaim = [this] { flush_held(); };
}

EthEngine::~EthEngine() { reset(); }

void EthEngine::reset() {
  for (auto& txq : txqs_) {
    if (txq) env_.scheduler.remove(txq.get());
    txq.reset();
  }
  for (auto& rxq : rxqs_) rxq.reset();
  filter_.reset();
  vlans_.reset();
  rx_.reset();
  wire_.set_loopback(false);
  steering_.reset();
  undecided_queue_ = 0;
  context_.mtu = limits_.default_mtu;
}

void EthEngine::halt() {
  const uint32_t mtu = context_.mtu;
  reset();
  context_.mtu = mtu;  // so that nothing is too long of a sudden
}

void EthEngine::receive(const PacketView& packet, Counters& port, Nanos now) {
  if (loopback()) return drop(VERNA_PORT_rx_drop_disabled, packet, port);
  if (!admits(packet, port)) return;
  port.port[VERNA_PORT_rx_to_eth]++;
  steer(packet, now);
}

void EthEngine::receive_loopback(const PacketView& packet, Counters& looped, Nanos now) {
  if (!admits(packet, looped)) return;
  looped.port[VERNA_PORT_rx_to_eth]++;
  env_.counters.eth[VERNA_ETH_rx_loopback]++;
  steer(packet, now);
}

void EthEngine::receive_undecided(const PacketView& packet, Counters& port, Nanos now) {
  now_ = now;
  port.port[VERNA_PORT_rx_to_eth]++;
  Rss::Choice choice = steering_.rss().main().choose(packet);
  choice.queue = undecided_queue_;
  give(packet, choice, now);
}

/// Whether the filters let a frame in; counts it if not.
bool EthEngine::admits(const PacketView& packet, Counters& counters) {
  const bool promiscuous = filter_.mode() & VERNA_RX_MODE_PROMISC;
  if (!filter_.enabled())
    drop(VERNA_PORT_rx_drop_disabled, packet, counters);
  else if (!filter_.accepts(packet.dmac()))
    drop(VERNA_PORT_rx_drop_filter, packet, counters);
  else if (!promiscuous && !vlans_.accepts(packet, rx_.features))
    drop(VERNA_PORT_rx_drop_vlan, packet, counters);
  else
    return true;
  return false;
}

void EthEngine::end_batch(bool more, Nanos now) {
  now_ = now;
  if (rx_.merge_ns || rx_.frames.used() == 0) return;
  for (auto& rxq : rxqs_) {
    if (!rxq) continue;
    if (more)
      rxq->flush_old(now);
    else
      rxq->flush(now);
  }
}

void EthEngine::flush_held() {
  if (rx_.frames.used() == 0) return;
  for (auto& rxq : rxqs_)
    if (rxq) rxq->flush(now_);
}

/// Sends a frame that was let in to its queue.
void EthEngine::steer(const PacketView& packet, Nanos now) {
  now_ = now;
  const std::optional<Rss::Choice> choice = steering_.choose(packet, now);
  if (!choice) return drop(VERNA_ETH_rx_drop_rule, packet);
  give(packet, *choice, now);
}

void EthEngine::give(const PacketView& packet, const Rss::Choice& choice, Nanos now) {
  env_.trace.point(Stage::kSteerEth, choice.queue, choice.hash);
  RxQueue* queue = choice.queue < rxqs_.size() ? rxqs_[choice.queue].get() : nullptr;
  if (!queue) return drop(VERNA_ETH_rx_drop_no_queue, packet);
  queue->receive(packet, choice, now);
}

void EthEngine::drop(verna_eth_counter reason, const PacketView& packet) {
  env_.counters.eth[reason]++;
  env_.trace.point(Stage::kDrop, VERNA_COUNTERS_ETH << 16 | reason, packet.len);
}

void EthEngine::drop(verna_port_counter reason, const PacketView& packet, Counters& counters) {
  counters.port[reason]++;
  env_.trace.point(Stage::kDrop, VERNA_COUNTERS_PORT << 16 | reason, packet.len);
}

bool EthEngine::short_of_buffers() {
  return filter_.enabled() && std::any_of(rxqs_.begin(), rxqs_.end(), [](const auto& queue) {
           return queue && queue->nearly_empty();
         });
}

bool EthEngine::doorbell(verna_db_type type, uint32_t id, uint32_t uar) {
  if (type == VERNA_DB_RXQ) {
    const RxQueue* queue = rxq(id);
    return queue && queue->uar() == uar;
  }
  if (id >= txqs_.size() || !txqs_[id] || txqs_[id]->uar() != uar) return false;
  txqs_[id]->counters[VERNA_TXQ_doorbells]++;
  env_.scheduler.wake(txqs_[id].get());
  return true;
}

void EthEngine::poll_all() {
  for (auto& txq : txqs_)
    if (txq) env_.scheduler.wake(txq.get());
}

}  // namespace verna
