// SPDX-License-Identifier: GPL-2.0-or-later
// One packet's way through the chains of a port group.
#pragma once

#include <functional>

#include "flow/flow_packet.h"
#include "flow/flow_tables.h"

namespace verna {

/// What becomes of a packet, which may have been changed on the way.
struct FlowVerdict {
  enum class Kind : uint8_t { kPass, kDrop, kPort, kTrap };
  enum class Why : uint8_t {
    kMiss,   // no rule of the last table was for it
    kRule,   // the last rule says so
    kMeter,  // dropped: a meter's colour
    kTtl,    // trapped before that rule changed it: its TTL is used up
    kHops,   // trapped: more chains than kMaxChains
    kEdit,   // dropped: cannot be changed as the rule wants
  };

  Kind kind = Kind::kPass;
  Why why = Why::kMiss;
  uint32_t chain = 0;              // where the way ended
  const FlowRule* rule = nullptr;  // the last that was for it
  Colour colour = Colour::kGreen;
  uint32_t flags = 0;  // kPass: VERNA_FLOW_A_QUEUE, _RSS of the last rule
  uint32_t mark = 0;   // of the last rule that marks
  uint16_t queue = 0;
  uint16_t rss_context = 0;
  uint16_t port = 0;  // kPort
};

/// Executes rules: meter, mark, copies, changes, copies of the changed, and then where to. The work
/// for a packet is bounded: kMaxChains tables of FlowTable::kMaxMasks masks.
class FlowPipeline {
 public:
  static constexpr int kMaxChains = 16;
  /// Takes a copy of the packet for a vport. The copy passes no tables.
  using Copy = std::function<void(uint16_t port, const FlowPacket& packet)>;

  FlowPipeline(FlowTables& tables, Copy copy) : tables_(tables), copy_(std::move(copy)) {}

  /// From table `first` on.
  FlowVerdict run(const FlowTableId& first, FlowPacket* packet, Nanos now);

 private:
  bool execute(const FlowRule& rule, FlowPacket* packet, Nanos now, FlowVerdict* verdict);
  void copy(const FlowEdit& edit, bool changed, const FlowPacket& packet);

  FlowTables& tables_;
  Copy copy_;
  uint16_t ip_id_ = 0;  // of outer IPv4 headers that may be fragmented
};

}  // namespace verna
