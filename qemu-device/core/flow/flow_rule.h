// SPDX-License-Identifier: GPL-2.0-or-later
// One rule of a match-action table.
#pragma once

#include <compare>
#include <memory>

#include "flow/age_wheel.h"
#include "flow/flow_edit.h"
#include "flow/meter.h"

namespace verna {

class FlowTable;
class MaskGroup;

/// Which table: direction, port group and chain.
struct FlowTableId {
  uint8_t direction = VERNA_FLOW_RX;
  uint16_t group = 0;
  uint32_t chain = 0;
  auto operator<=>(const FlowTableId&) const = default;
};

/// Where a packet goes after all else that a rule does.
enum class FlowTarget : uint8_t {
  kNext,   // on to the next stage; with QUEUE or RSS: to a queue
  kDrop,   // VERNA_FLOW_A_DROP
  kChain,  // to a table of the same direction and group, of a higher chain
  kPort,   // to a vport
  kTrap,   // to software, as a miss would
};

/// What a rule does.
struct FlowActions {
  uint32_t flags = 0;  // VERNA_FLOW_A_*
  uint32_t mark = 0;
  uint16_t queue = 0;
  uint16_t rss_context = 0;
  FlowTarget target = FlowTarget::kNext;  // other than DROP
  uint16_t port = 0;                      // kPort
  uint32_t chain = 0;                     // kChain
  std::shared_ptr<Meter> meter;           // null: none
  std::shared_ptr<const FlowEdit> edit;   // null: none
  uint32_t meter_id = 0;                  // for people; 0: it has no number
  uint32_t edit_id = 0;
  uint32_t idle_ms = 0;  // ages if not used for so long; 0: does not
  uint32_t life_ms = 0;  // ages so long after it was added; 0: does not

  bool ages() const { return idle_ms || life_ms; }
  FlowTarget where() const { return flags & VERNA_FLOW_A_DROP ? FlowTarget::kDrop : target; }
};

/// Ports from `low` to `high`, in host order. From 0 on: all packets, those without ports too.
struct PortRange {
  uint16_t low = 0;
  uint16_t high = 0xffff;

  bool is_all() const { return low == 0; }
  bool contains(uint16_t port) const { return is_all() || (port >= low && port <= high); }
  bool operator==(const PortRange&) const = default;
};

/// Which packets a rule is for: those of `key` under `mask`, with ports in the ranges.
struct FlowMatchSpec {
  uint32_t priority = 0;
  verna_flow_key key{};  // zero where the mask is
  verna_flow_key mask{};
  PortRange sport;
  PortRange dport;
};

/// What FlowAgeing does with a rule.
enum class FlowAge : uint8_t {
  kNone,     // nothing: it has no limits
  kWatched,  // waits for the end of a limit
  kAged,     // was not used for long, and waits for software to ask
  kTold,     // the same, but software has asked
  kGone,     // is in no table any more, and waits for software to ask
};

/// A rule lives in FlowTables at a fixed address for as long as it exists, and until software has
/// heard of it if the card removed it.
struct FlowRule : AgeLink {
  uint32_t id = 0;  // 0: this place is free
  uint32_t priority = 0;
  uint64_t order = 0;  // of addition: the older of two rules of one priority wins
  FlowActions actions;
  PortRange sport;
  PortRange dport;
  uint64_t packets = 0;
  uint64_t bytes = 0;
  Nanos last_used = 0;
  Nanos added = 0;
  FlowAge age = FlowAge::kNone;

  // Of FlowTable and MaskGroup.
  FlowTable* table = nullptr;  // null: it is in none
  MaskGroup* group = nullptr;
  uint32_t entry = 0;        // key of this rule in its group
  FlowRule* next = nullptr;  // of the same key and mask, in the order of before()

  bool before(const FlowRule& other) const {
    return priority != other.priority ? priority < other.priority : order < other.order;
  }
  bool has_ranges() const { return !sport.is_all() || !dport.is_all(); }
  bool in_ranges(const FlowWords& key) const;
  /// The same packets at the same priority.
  bool is_like(const FlowMatchSpec& spec) const {
    return priority == spec.priority && sport == spec.sport && dport == spec.dport;
  }
};

inline bool FlowRule::in_ranges(const FlowWords& key) const {
  const auto port = [&key](size_t offset) {
    return __builtin_bswap16(flow_field<uint16_t>(key, offset));
  };
  return sport.contains(port(offsetof(verna_flow_key, sport))) &&
         dport.contains(port(offsetof(verna_flow_key, dport)));
}

}  // namespace verna
