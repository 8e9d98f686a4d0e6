// SPDX-License-Identifier: GPL-2.0-or-later
// What all queue pairs of a card share.
#pragma once

#include "rdma/gid_table.h"
#include "rdma/memory_region.h"
#include "rdma/rdma_engine.h"

namespace verna {

/// The card around a queue pair, and the engine's tables.
struct RdmaServices {
  RdmaServices(const RdmaEnvironment& environment, const RdmaLimits& the_limits)
      : env(environment),
        limits(the_limits),
        gids(the_limits.max_gids),
        memory(environment.bus, environment.rng) {}

  RdmaEnvironment env;
  RdmaLimits limits;
  GidTable gids;
  MemoryTable memory;
  uint32_t mtu = 1500;  // of the Ethernet port

  void count(verna_rdma_counter counter, uint64_t n = 1) { env.counters.rdma[counter] += n; }
  /// Counts a packet that ends here.
  void drop(verna_rdma_counter reason, uint32_t len) {
    count(reason);
    env.trace.point(Stage::kDrop, VERNA_COUNTERS_RDMA << 16 | reason, len);
  }
};

}  // namespace verna
