// SPDX-License-Identifier: GPL-2.0-or-later
// Where a received packet goes: what a flow rule says, else RSS.
#pragma once

#include <optional>

#include "ctrl/command.h"
#include "flow/flow_packet.h"
#include "flow/flow_tables.h"
#include "flow/rss.h"
#include "host/host_bus.h"

namespace verna {

/// Owns RSS contexts and flow tables of a function, which refer to each other. Its commands are in
/// eth/flow_commands.cc.
class RxSteering {
 public:
  /// `max_queues` RX queues can exist.
  RxSteering(HostBus& bus, uint16_t max_queues, uint32_t max_rules, uint64_t seed, Trace& trace)
      : bus_(bus), max_queues_(max_queues), flows_(max_rules, seed, trace) {}

  /// The queue and the hash, or nothing if a rule drops the packet. The queue need not exist.
  std::optional<Rss::Choice> choose(const PacketView& packet, Nanos now);

  /// Executes SET_RSS or DESTROY_RSS. The header was checked.
  CommandResult execute_rss(const CommandBytes& command);
  /// Executes a flow command (opcodes 0x0300 to 0x03ff). The header was checked.
  CommandResult execute_flow(const CommandBytes& command, Nanos now);

  /// Rules age; looks at no more than `budget`.
  void age(Nanos now, size_t budget);

  void reset();
  const RssContexts& rss() const { return rss_; }
  FlowTables& flows() { return flows_; }
  const FlowTables& flows() const { return flows_; }

 private:
  CommandResult set_rss(const CommandBytes& command);
  CommandResult destroy_rss(const CommandBytes& command);
  CommandResult add_flow(const CommandBytes& command, Nanos now);
  CommandResult del_flow(const CommandBytes& command);
  CommandResult set_miss(const CommandBytes& command);
  bool load_actions(const verna_flow_actions& from, FlowActions* to) const;
  void use_context(const FlowActions& actions, int change);

  HostBus& bus_;
  uint16_t max_queues_;
  RssContexts rss_;
  FlowTables flows_;
  TunnelPorts tunnel_ports_;
  FlowTable* table_ = nullptr;  // that received packets go through
};

}  // namespace verna
