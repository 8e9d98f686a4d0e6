// SPDX-License-Identifier: GPL-2.0-or-later
// The embedded switch in switchdev mode: tables of rules.
#pragma once

#include <array>

#include "flow/flow_pipeline.h"
#include "vswitch/bridge.h"
#include "vswitch/flow_objects.h"

namespace verna {

/// Decides by rules. A frame that enters at a vport starts in chain 0 of that vport's group; rules
/// of a group that several vports share can ask for the vport. All of it is the PF's to say.
///
/// Memory is taken as rules come, and given back by reset().
class FlowSwitch {
 public:
  static constexpr uint32_t kMaxRules = 1u << 20;
  static constexpr uint16_t kMaxGroups = 1024;
  /// VERNA_FLOW_A_* that rules may have.
  static constexpr uint32_t kActions = VERNA_FLOW_A_DROP | VERNA_FLOW_A_MARK | VERNA_FLOW_A_PORT |
                                       VERNA_FLOW_A_CHAIN | VERNA_FLOW_A_TRAP | VERNA_FLOW_A_METER |
                                       VERNA_FLOW_A_EDIT | VERNA_FLOW_A_AGE_REPORT;
  static constexpr uint32_t kMaxMeters = 1u << 16;
  static constexpr uint32_t kMaxEdits = 1u << 16;

  /// `seed` keeps functions from choosing addresses that collide. `copy` takes what rules copy.
  FlowSwitch(uint64_t seed, Trace& trace, FlowPipeline::Copy copy)
      : tables_(kMaxRules, seed, trace, VERNA_FLOW_ID_SWITCH), pipeline_(tables_, std::move(copy)) {
    reset();
  }

  /// Where a packet goes, which has been changed as its rules say.
  FlowVerdict decide(FlowPacket* packet, Nanos now) {
    return pipeline_.run({VERNA_FLOW_SWITCH, groups_[packet->port()], 0}, packet, now);
  }
  const TunnelPorts& tunnel_ports() const { return tunnel_ports_; }

  FlowTables& tables() { return tables_; }
  const FlowTables& tables() const { return tables_; }
  FlowObjects<Meter>& meters() { return meters_; }
  const FlowObjects<Meter>& meters() const { return meters_; }
  FlowObjects<const FlowEdit>& edits() { return edits_; }
  const FlowObjects<const FlowEdit>& edits() const { return edits_; }
  uint16_t group(uint16_t vport) const { return groups_[vport]; }
  void set_group(uint16_t vport, uint16_t group) { groups_[vport] = group; }

  /// No rules, meters and edits, and each vport has a group of its own.
  void reset();

 private:
  FlowTables tables_;
  FlowPipeline pipeline_;
  FlowObjects<Meter> meters_{kMaxMeters};
  FlowObjects<const FlowEdit> edits_{kMaxEdits};
  TunnelPorts tunnel_ports_;
  std::array<uint16_t, kMaxVports> groups_;
};

}  // namespace verna
