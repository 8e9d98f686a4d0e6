// SPDX-License-Identifier: GPL-2.0-or-later
// The RDMA side of the card as the rest of it sees it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/counters.h"
#include "base/rng.h"
#include "base/timer.h"
#include "base/trace.h"
#include "ctrl/command.h"
#include "hw/verna_caps.h"
#include "hw/verna_regs.h"
#include "mac/mac.h"
#include "pkt/packet_view.h"
#include "queue/cq.h"
#include "sched/scheduler.h"

namespace verna {

/// Limits that the card advertises in verna_cap_rdma; the engine enforces them.
struct RdmaLimits {
  uint32_t max_qps = 16384;
  uint32_t max_mrs = 131072;
  uint32_t max_pds = 16384;
  uint16_t max_gids = 128;
  uint16_t log_max_wqes = 15;
  uint16_t max_send_sge = 16;
  uint16_t max_recv_sge = 16;
  uint16_t max_inline = 256;
  uint16_t max_rd_atomic = 128;  // as rxe: perftest asks its peer for its own limit
  uint32_t num_uars = 1024;
  uint32_t send_window = 4096;  // unacknowledged packets of a QP
};

/// What the engine needs of the card around it. All references outlive the engine.
struct RdmaEnvironment {
  HostBus& bus;
  PblQuota& pbl_quota;
  EventSink& events;
  std::function<Cq*(uint32_t cqn)> find_cq;
  Rng& rng;
  TimerQueue& timers;
  Scheduler& scheduler;
  TxGroup& tx_group;  // of the function
  Mac* wire;
  Mac& loopback;  // frames to one of our own GIDs
  Counters& counters;
  Trace& trace;
};

/// Protection domains, memory regions, queue pairs, the GID table, and RoCEv2 on the wire. One
/// thread at a time, driven by Nic::run(); never blocks.
class RdmaEngine {
 public:
  RdmaEngine(const RdmaEnvironment& environment, const RdmaLimits& limits);
  ~RdmaEngine();

  /// Executes an RDMA command (opcodes 0x0200 to 0x02ff). The header was checked.
  CommandResult execute(const CommandBytes& command, Nanos now);

  /// True if the frame belongs to RDMA: UDP to port 4791 at the address and VLAN of a valid GID.
  bool claims(const PacketView& packet) const;
  /// Handles a frame that claims() accepted. Counts it exactly once (verna_counters.h).
  void receive(const PacketView& packet, Nanos now);

  /// A doorbell for a QP. False: no such QP, or it was not made with that page.
  bool doorbell(verna_db_type type, uint32_t qpn, uint32_t uar, Nanos now);
  /// The doorbell ring overflowed: look at every queue.
  void poll_all(Nanos now);

  /// Back to the state after power-on: everything destroyed, nothing reported.
  void reset();

  /// What it sends leaves by `wire` from now on.
  void connect(Mac& wire);

  /// Current Ethernet MTU, which bounds what can be received.
  void set_mtu(uint32_t mtu);

  /// JSON for vernactl: arrays of QPs, memory regions and GIDs.
  std::string describe_qps() const;
  std::string describe_mrs() const;
  std::string describe_gids() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace verna
