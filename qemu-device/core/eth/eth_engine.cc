// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/eth_engine.h"

#include <algorithm>

namespace verna {

EthEngine::EthEngine(const EthEnvironment& environment, const EthLimits& limits,
                     const uint8_t (&mac)[6])
    : env_(environment),
      limits_(limits),
      context_{env_.bus, env_.events, env_.wire, env_.counters, env_.trace, limits.default_mtu},
      filter_(mac, limits.max_mac_filters),
      txqs_(limits.max_queues),
      rxqs_(limits.max_queues) {}

EthEngine::~EthEngine() { reset(); }

void EthEngine::reset() {
  for (auto& txq : txqs_) {
    if (txq) env_.scheduler.remove(txq.get());
    txq.reset();
  }
  for (auto& rxq : rxqs_) rxq.reset();
  env_.scheduler.reset_classes();
  filter_.reset();
  rss_.reset();
  context_.mtu = limits_.default_mtu;
}

void EthEngine::receive(const PacketView& packet, Nanos now) {
  if (!filter_.enabled()) return drop(VERNA_PORT_rx_drop_disabled, packet);
  if (!filter_.accepts(packet.dmac())) return drop(VERNA_PORT_rx_drop_filter, packet);
  env_.counters.port[VERNA_PORT_rx_to_eth]++;

  const Rss::Choice choice = rss_.choose(packet);
  env_.trace.point(Stage::kSteerEth, choice.queue, choice.hash);
  RxQueue* queue = choice.queue < rxqs_.size() ? rxqs_[choice.queue].get() : nullptr;
  if (queue)
    queue->deliver(packet, choice, now);
  else
    env_.counters.eth[VERNA_ETH_rx_drop_no_queue]++;
}

void EthEngine::drop(verna_port_counter reason, const PacketView& packet) {
  env_.counters.port[reason]++;
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
