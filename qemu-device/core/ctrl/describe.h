// SPDX-License-Identifier: GPL-2.0-or-later
// Answers to people who look into a running card.
#pragma once

#include <string>

#include "ctrl/cq_table.h"
#include "ctrl/doorbell.h"
#include "ctrl/reg_file.h"
#include "eth/eth_engine.h"
#include "rdma/rdma_engine.h"
#include "sched/rate_tree.h"
#include "vswitch/switch.h"

namespace verna {

/// The parts of a function, and of its card, that can be asked.
struct DescribeContext {
  Switch* vswitch;  // null: the card cannot have VFs
  FunctionId fn;
  RegFile& regs;
  EventQueues& eqs;
  CqTable& cqs;
  EthEngine& eth;
  RdmaEngine& rdma;
  Counters& counters;
  Counters& loopback_counters;
  Scheduler& scheduler;
  const RateTree& rates;
  PblQuota& quota;
  TimerQueue& timers;
  Mac& wire;
  Trace& trace;
  const verna_cap_dev& cap_dev;
  const verna_cap_eth& cap_eth;
  const verna_cap_rdma& cap_rdma;
  const verna_cap_vport& cap_vport;
  const verna_cap_eswitch& cap_eswitch;
  Nanos now;
};

/// JSON in one line. A request that is not known is answered by {"error": ...}, which names it and
/// those that are.
std::string describe(const DescribeContext& card, const std::string& request);

}  // namespace verna
