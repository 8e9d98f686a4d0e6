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
#include "eth/rx_steering.h"
#include "eth/tx_queue.h"
#include "eth/vlan_filter.h"
#include "hw/verna_regs.h"

namespace verna {

/// What the engine needs of the card around it. All references outlive the engine.
struct EthEnvironment {
  HostBus& bus;
  PblQuota& pbl_quota;
  EventSink& events;
  std::function<Cq*(uint32_t cqn)> find_cq;
  Scheduler& scheduler;
  TxGroup& tx_group;  // of the function
  TimerQueue& timers;
  Mac& wire;
  Mac& loopback;  // what it gets comes back through receive_loopback()
  Counters& counters;
  Trace& trace;
  uint32_t num_uars;
  uint64_t seed;  // no host can guess it
};

/// Owns TX and RX queues and decides where a received frame goes. Its commands are in
/// eth/eth_commands.cc and eth/sched_commands.cc.
class EthEngine {
 public:
  EthEngine(const EthEnvironment& environment, const EthLimits& limits, const uint8_t (&mac)[6]);
  ~EthEngine();

  /// Executes an Ethernet command (opcodes 0x0100 to 0x01ff). The header was checked.
  CommandResult execute(const CommandBytes& command, Nanos now);
  /// Executes a flow command (opcodes 0x0300 to 0x03ff). The header was checked.
  CommandResult execute_flow(const CommandBytes& command, Nanos now) {
    return steering_.execute_flow(command, now);
  }

  /// What it sends leaves by `wire` from now on.
  void connect(Mac& wire) { wire_.connect(wire); }
  /// Takes a frame off the wire and counts it: rx_to_eth of `port`, which has the wire's counters,
  /// and one Ethernet counter, or one drop reason of the port.
  void receive(const PacketView& packet, Counters& port, Nanos now);
  /// Takes a frame that Ethernet sent in loopback mode. `looped` has the counters of what does not
  /// cross the wire.
  void receive_loopback(const PacketView& packet, Counters& looped, Nanos now);

  /// Takes a frame of another function that no rule of the switch decided, past filters and
  /// steering. `port` as in receive().
  void receive_undecided(const PacketView& packet, Counters& port, Nanos now);
  /// RX queue that gets these; 0 after a reset.
  void set_undecided_queue(uint16_t queue) { undecided_queue_ = queue; }
  uint16_t undecided_queue() const { return undecided_queue_; }

  /// The end of a batch of frames; with `more`, others are there already. What is held for no
  /// certain time is delivered with the last frame, or when it gets old.
  void end_batch(bool more, Nanos now);
  /// Frames are held that wait for the end of a batch.
  bool batch_open() const { return rx_.merge_ns == 0 && rx_.frames.used() > 0; }
  const FrameStore& held() const { return rx_.frames; }

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
  /// The function died: its queues go, and what is received is dropped.
  void halt();
  void set_mac(const uint8_t (&mac)[6]) { filter_.set_own(mac); }
  uint32_t mtu() const { return context_.mtu; }
  const EthLimits& limits() const { return limits_; }
  const MacFilter& filter() const { return filter_; }
  const VlanFilter& vlans() const { return vlans_; }
  uint32_t features() const { return rx_.features; }  // VERNA_ETH_ON_*
  bool loopback() const { return wire_.loopback(); }
  RxSteering& steering() { return steering_; }
  const RxSteering& steering() const { return steering_; }

  /// Null: no such queue.
  const TxQueue* txq(uint32_t id) const { return id < txqs_.size() ? txqs_[id].get() : nullptr; }
  const RxQueue* rxq(uint32_t id) const { return id < rxqs_.size() ? rxqs_[id].get() : nullptr; }

 private:
  CommandResult create_txq(const CommandBytes& command);
  CommandResult create_rxq(const CommandBytes& command);
  CommandResult destroy_txq(const CommandBytes& command);
  CommandResult destroy_rxq(const CommandBytes& command);
  CommandResult modify_txq(const CommandBytes& command);
  CommandResult set_rx_mode(const CommandBytes& command);
  CommandResult add_mac(const CommandBytes& command);
  CommandResult del_mac(const CommandBytes& command);
  CommandResult set_mtu(const CommandBytes& command);
  CommandResult set_features(const CommandBytes& command);
  CommandResult set_vlan(const CommandBytes& command, bool add);
  CommandResult prepare_queue(const verna_cmd_create_ethq& cmd, uint8_t log_stride, bool taken,
                              EthQueueSetup* setup);
  void flush_held();
  bool admits(const PacketView& packet, Counters& counters);
  void steer(const PacketView& packet, Nanos now);
  void give(const PacketView& packet, const Rss::Choice& choice, Nanos now);
  void drop(verna_port_counter reason, const PacketView& packet, Counters& counters);
  void drop(verna_eth_counter reason, const PacketView& packet);

  EthEnvironment env_;
  EthLimits limits_;
  EthWire wire_;
  RxShared rx_;
  EthContext context_;
  MacFilter filter_;
  VlanFilter vlans_;
  RxSteering steering_;
  std::vector<std::unique_ptr<TxQueue>> txqs_;
  std::vector<std::unique_ptr<RxQueue>> rxqs_;
  uint16_t undecided_queue_ = 0;
  Nanos now_ = 0;  // of the call that is running
};

}  // namespace verna
