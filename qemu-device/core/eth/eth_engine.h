// SPDX-License-Identifier: GPL-2.0-or-later
// The Ethernet side of the card: its queues, filters and receive steering.
#pragma once

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "ctrl/command.h"
#include "eth/mac_filter.h"
#include "eth/rx_queue.h"
#include "eth/tx_queue.h"
#include "hw/verna_regs.h"

namespace verna {

/// What the engine needs of the card around it. All references outlive the engine.
struct EthEnvironment {
  HostBus& bus;
  PblQuota& pbl_quota;
  EventSink& events;
  std::function<Cq*(uint32_t cqn)> find_cq;
  Scheduler& scheduler;
  Mac& wire;
  Counters& counters;
  Trace& trace;
  uint32_t num_uars;
};

/// Owns TX and RX queues and decides where a received frame goes. Its commands are in
/// eth/eth_commands.cc and eth/sched_commands.cc.
class EthEngine {
 public:
  EthEngine(const EthEnvironment& environment, const EthLimits& limits, const uint8_t (&mac)[6]);
  ~EthEngine();

  /// Executes an Ethernet command (opcodes 0x0100 to 0x01ff). The header was checked.
  CommandResult execute(const CommandBytes& command);

  /// Takes a frame off the wire and counts it: the port's rx_to_eth and one Ethernet counter, or
  /// one drop reason of the port.
  void receive(const PacketView& packet, Nanos now);

  /// A doorbell for a queue. False: no such queue, or it was not made with that page.
  bool doorbell(verna_db_type type, uint32_t id, uint32_t uar);
  /// The doorbell ring overflowed: look at every queue.
  void poll_all();

  /// With true, receive() notes whether its queue has become short of buffers.
  void watch_buffers(bool on) { context_.watch_buffers = on; }
  /// A queue has since the last call.
  bool take_shortage() { return std::exchange(context_.rx_short, false); }
  /// One of the queues is short of buffers now.
  bool short_of_buffers();

  void reset();
  uint32_t mtu() const { return context_.mtu; }
  const EthLimits& limits() const { return limits_; }
  const MacFilter& filter() const { return filter_; }
  const Rss& rss() const { return rss_; }

  /// Null: no such queue.
  const TxQueue* txq(uint32_t id) const { return id < txqs_.size() ? txqs_[id].get() : nullptr; }
  const RxQueue* rxq(uint32_t id) const { return id < rxqs_.size() ? rxqs_[id].get() : nullptr; }

 private:
  CommandResult create_txq(const CommandBytes& command);
  CommandResult create_rxq(const CommandBytes& command);
  CommandResult destroy_txq(const CommandBytes& command);
  CommandResult destroy_rxq(const CommandBytes& command);
  CommandResult modify_txq(const CommandBytes& command);
  CommandResult set_tx_classes(const CommandBytes& command);
  CommandResult set_rx_mode(const CommandBytes& command);
  CommandResult add_mac(const CommandBytes& command);
  CommandResult del_mac(const CommandBytes& command);
  CommandResult set_mtu(const CommandBytes& command);
  CommandResult set_rss(const CommandBytes& command);
  CommandResult prepare_queue(const verna_cmd_create_ethq& cmd, uint8_t log_stride, bool taken,
                              EthQueueSetup* setup);
  void drop(verna_port_counter reason, const PacketView& packet);

  EthEnvironment env_;
  EthLimits limits_;
  EthContext context_;
  MacFilter filter_;
  Rss rss_;
  std::vector<std::unique_ptr<TxQueue>> txqs_;
  std::vector<std::unique_ptr<RxQueue>> rxqs_;
};

}  // namespace verna
