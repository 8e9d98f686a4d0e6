// SPDX-License-Identifier: GPL-2.0-or-later
// Commands 0x0000 to 0x00ff: counters, port state, event and completion queues.
#pragma once

#include <span>

#include "base/counters.h"
#include "ctrl/cq_table.h"
#include "ctrl/event_queue.h"
#include "ctrl/reg_file.h"
#include "eth/eth_engine.h"
#include "vswitch/switch.h"

namespace verna {

/// Facts about a function's port.
struct PortIdentity {
  uint8_t mac[6];
  uint32_t speed_mbps;
};

/// Commands of a function about itself.
class DeviceCommands {
 public:
  /// `vswitch` is null if the card has no VFs. `regs` knows what the link is like.
  DeviceCommands(HostBus& bus, FunctionId fn, const Counters& counters, const Switch* vswitch,
                 EventQueues& eqs, CqTable& cqs, const EthEngine& eth, const RegFile& regs,
                 const PortIdentity& port)
      : bus_(bus),
        fn_(fn),
        counters_(counters),
        vswitch_(vswitch),
        eqs_(eqs),
        cqs_(cqs),
        eth_(eth),
        regs_(regs),
        port_(port) {}

  /// Executes a device command. The header was checked.
  CommandResult execute(const CommandBytes& command);
  void set_mac(const uint8_t* mac) { std::copy(mac, mac + 6, port_.mac); }

 private:
  CommandResult query_counters(const verna_cmd_query& cmd);
  CommandResult query_port(const verna_cmd_query& cmd);
  CommandResult reply(const verna_cmd_query& cmd, const void* data, size_t len);
  bool find_group(const verna_cmd_query& cmd, std::span<const uint64_t>* values) const;
  const VportCounters* find_vport(uint32_t number) const;

  HostBus& bus_;
  FunctionId fn_;
  const Counters& counters_;
  const Switch* vswitch_;
  EventQueues& eqs_;
  CqTable& cqs_;
  const EthEngine& eth_;
  const RegFile& regs_;
  PortIdentity port_;
};

}  // namespace verna
