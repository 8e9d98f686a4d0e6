// SPDX-License-Identifier: GPL-2.0-or-later
// One rule of a match-action table.
#pragma once

#include <compare>

#include "base/types.h"
#include "hw/verna_flow.h"

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

/// What a rule does, checked.
struct FlowActions {
  uint32_t flags = 0;  // VERNA_FLOW_A_*
  uint32_t mark = 0;
  uint16_t queue = 0;
  uint16_t rss_context = 0;
};

/// A rule lives in FlowTables at a fixed address for as long as it exists.
struct FlowRule {
  uint32_t id = 0;  // 0: this place is free
  uint32_t priority = 0;
  uint64_t order = 0;  // of addition: the older of two rules of one priority wins
  FlowActions actions;
  uint64_t packets = 0;
  uint64_t bytes = 0;
  Nanos last_used = 0;

  // Of FlowTable and MaskGroup.
  FlowTable* table = nullptr;
  MaskGroup* group = nullptr;
  uint32_t entry = 0;        // key of this rule in its group
  FlowRule* next = nullptr;  // of the same key and mask, in the order of before()

  bool before(const FlowRule& other) const {
    return priority != other.priority ? priority < other.priority : order < other.order;
  }
};

}  // namespace verna
