// SPDX-License-Identifier: GPL-2.0-or-later
// Commands 0x0000 to 0x00ff: counters, port state, event and completion queues.
#pragma once

#include <span>

#include "base/counters.h"
#include "ctrl/cq_table.h"
#include "ctrl/event_queue.h"
#include "eth/eth_engine.h"

namespace verna {

/// Facts about port 0 that do not change.
struct PortIdentity {
  uint8_t mac[6];
  uint32_t speed_mbps;
};

class DeviceCommands {
 public:
  DeviceCommands(HostBus& bus, const Counters& counters, EventQueues& eqs, CqTable& cqs,
                 const EthEngine& eth, const Mac& wire, const PortIdentity& port)
      : bus_(bus), counters_(counters), eqs_(eqs), cqs_(cqs), eth_(eth), wire_(wire), port_(port) {}

  /// Executes a device command. The header was checked.
  CommandResult execute(const CommandBytes& command);

 private:
  CommandResult query_counters(const verna_cmd_query& cmd);
  CommandResult query_port(const verna_cmd_query& cmd);
  CommandResult reply(const verna_cmd_query& cmd, const void* data, size_t len);
  bool find_group(const verna_cmd_query& cmd, std::span<const uint64_t>* values) const;

  HostBus& bus_;
  const Counters& counters_;
  EventQueues& eqs_;
  CqTable& cqs_;
  const EthEngine& eth_;
  const Mac& wire_;
  PortIdentity port_;
};

}  // namespace verna
