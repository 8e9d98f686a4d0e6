// SPDX-License-Identifier: GPL-2.0-or-later
// What a function is to the transmit scheduler.
#pragma once

#include "sched/tx_node.h"

namespace verna {

/// A leaf of the tree: sources that have a rate in common and take turns together, those of a
/// function.
struct TxGroup : TxNode {
  TxGroup() : TxNode(Kind::kLeaf) {}
};

}  // namespace verna
