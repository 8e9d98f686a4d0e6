// SPDX-License-Identifier: GPL-2.0-or-later
#include "sched/tx_node.h"

#include "sched/tx_siblings.h"

namespace verna {

TxNode::TxNode(Kind kind) {
  for (size_t i = 0; i < parts.size(); i++) {
    parts[i].node = this;
    parts[i].tclass = static_cast<uint8_t>(i);
    if (kind == Kind::kInner) parts[i].children = std::make_unique<TxSiblings>();
  }
}

TxNode::~TxNode() = default;

}  // namespace verna
