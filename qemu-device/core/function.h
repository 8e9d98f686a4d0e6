// SPDX-License-Identifier: GPL-2.0-or-later
// What each PCI function of a card has for itself.
#pragma once

#include <functional>
#include <string>

#include "ctrl/caps.h"
#include "ctrl/cq_table.h"
#include "ctrl/device_commands.h"
#include "ctrl/doorbell.h"
#include "ctrl/reg_file.h"
#include "eth/eth_engine.h"
#include "host/counting_bus.h"
#include "mac/loopback_port.h"
#include "rdma/rdma_engine.h"
#include "sched/rate_tree.h"
#include "vswitch/switch.h"

namespace verna {

/// What a function needs of the card around it. All references outlive the function; `wire` and
/// `vswitch` are not used before the card is complete.
struct FunctionEnvironment {
  HostBus& host;
  Mac& wire;
  Switch* vswitch;  // null: the card has no VFs
  Scheduler& scheduler;
  const RateTree& rates;
  TimerQueue& timers;
  Trace& trace;
  Rng& rng;
  /// Executes a command about what functions share. The header was checked.
  std::function<CommandResult(const CommandBytes&, Nanos now)> card_command;
};

struct FunctionConfig {
  FunctionId id = 0;
  PortIdentity port;
  DeviceLimits device;
  EthLimits eth;
  RdmaLimits rdma;
  uint16_t max_vfs = 0;  // of a PF
};

/// A function: its registers, admin queue, doorbells, event and completion queues, Ethernet and
/// RDMA. Its verbs are steps of the card's pipeline, in the order in which nic.cc calls them.
///
/// The wire of a VF is its vport. That of the PF is the card's, as long as it is alone; else its
/// vport, too.
class Function {
 public:
  /// Throws std::bad_alloc.
  Function(const FunctionEnvironment& environment, const FunctionConfig& config);
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  /// A vCPU wrote `value` to doorbell page `uar`. Any thread; wait-free.
  void ring_doorbell(uint32_t uar, uint32_t value) { doorbells_.push(uar, value); }
  uint32_t read_register(uint32_t offset) { return regs_.read(offset); }
  RegFile::Effect write_register(uint32_t offset, uint32_t value) {
    return regs_.write(offset, value);
  }

  /// Tells registers, and EQ 0 once it has room, what the link is like.
  void watch_link();
  /// What the link is like now need not be told.
  void link_is_known();
  /// Rings at most `max` doorbells; returns how many. A dead function's lead nowhere.
  uint32_t take_doorbells(uint32_t max, Nanos now);
  /// Executes at most `max` commands; returns how many.
  uint32_t run_commands(uint32_t max, Nanos now) { return dead() ? 0 : commands_.run(max, now); }
  /// Takes a frame off the wire.
  void receive(const PacketView& packet, Nanos now);
  /// Takes all that the switch has for it. True: there was something.
  bool receive_vport(Nanos now);
  /// What queue pairs of this function send to each other, and Ethernet to itself in loopback
  /// mode; about `byte_budget` bytes of it. True: there was something.
  bool receive_loopback(uint32_t byte_budget, Nanos now);
  /// The end of reception; with `more`, frames for this function are left on the wire.
  void end_batch(bool more, Nanos now) { eth_.end_batch(more || loopback_left_, now); }
  /// Steering rules age; looks at no more than `budget`.
  void age_flows(Nanos now, size_t budget) { eth_.steering().age(now, budget); }
  /// None does before this.
  Nanos next_ageing() const { return eth_.steering().flows().next_ageing(); }
  /// True: there was a self-test to run.
  bool run_self_test();
  /// The end of a run: frames become visible, then completions, then the interrupts for them.
  void flush(Nanos now);
  /// The part of flush() that events need.
  void flush_events() { eqs_.flush(); }
  void beat() {
    if (!dead()) regs_.beat();
  }

  /// It stopped for an error; only a reset helps.
  bool dead() const { return regs_.fatal() != VERNA_FATAL_NONE; }
  bool has_doorbells() const { return !doorbells_.empty(); }
  /// A function that died has no queues any more, so that it neither sends nor receives. Its event
  /// queues stay, which tell the host.
  void halt();
  /// It need not wait for doorbells, timers or frames to have something to do.
  bool has_work() const;
  /// Completions or events wait for room.
  bool deferred() const { return cqs_.deferred() || eqs_.deferred() || notice_waits_; }
  /// After its queues were armed. False: there is work, do not sleep.
  bool prepare_sleep();

  /// As after power-on, but what the link is like stays known.
  void reset();

  uint32_t max_frame() const { return eth_.mtu() + VERNA_ETH_OVERHEAD; }
  EthEngine& eth() { return eth_; }
  Counters& counters() { return counters_; }
  const Counters& counters() const { return counters_; }
  /// Of a PF with VFs: the port group of what crosses its vport.
  const Counters& vport_counters() const { return vport_counters_; }
  FunctionId id() const { return id_; }
  bool is_pf() const { return id_ == 0; }

  /// A PF's VFs come or go: frames pass the switch, or do not.
  void use_switch(bool on);
  /// The administrator gave it another permanent address.
  void set_mac(const uint8_t (&mac)[6]);
  /// It may be trusted now: what it asked for before counts.
  void repeat_requests();
  HostBus& bus() { return bus_; }
  TxGroup& tx_group() { return tx_group_; }
  /// Answers one question of vernactl. JSON.
  std::string control(const std::string& request, Nanos now);

 private:
  CommandResult execute(const CommandBytes& command, Nanos now);
  bool is_about_card(const CommandBytes& command) const;
  void ring(const DoorbellRing::Doorbell& doorbell, Nanos now);
  CommandResult execute_eth(const CommandBytes& command, Nanos now);
  void repeat_rx_mode();
  void tell_aged(FlowTables& flows, uint32_t direction);
  Bridge::Status tell_switch(const CommandBytes& command);
  void die(verna_fatal code);

  FunctionEnvironment env_;
  FunctionId id_;
  Counters counters_;
  Counters loopback_counters_;  // what the function sends to itself is not on the wire
  Counters vport_counters_;     // of a PF that has VFs: what crosses its vport
  CountingBus bus_;
  PblQuota quota_;
  TxGroup tx_group_;
  DoorbellRing doorbells_;
  LoopbackPort loopback_port_;
  Mac loopback_;
  std::unique_ptr<Mac> vport_mac_;  // null: the card has no VFs
  Mac* wire_;
  Counters* wire_counters_;
  EventQueues eqs_;
  CqTable cqs_;
  EthEngine eth_;
  RdmaEngine rdma_;
  DeviceCommands device_commands_;
  CommandQueue commands_;
  verna_cap_dev cap_dev_;
  verna_cap_eth cap_eth_;
  verna_cap_rdma cap_rdma_;
  verna_cap_vport cap_vport_;
  verna_cap_eswitch cap_eswitch_;
  RegFile regs_;
  PacketView packet_;           // the frame from switch or loopback that is being received
  bool loopback_left_ = false;  // the budget ended before the looped frames did
  bool reported_link_ = false;
  bool notice_waits_ = false;  // that rules aged, for room in EQ 0
  bool halted_ = false;
};

}  // namespace verna
