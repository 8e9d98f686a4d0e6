// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/rx_steering.h"

namespace verna {

std::optional<Rss::Choice> RxSteering::choose(const PacketView& packet, Nanos now) {
  if (!table_) [[likely]]
    return rss_.main().choose(packet);
  FlowPacket looked_at(packet, 0, tunnel_ports_);
  const FlowMatch match = flows_.match(table_, looked_at.keys(), packet.len, now);
  if (match.miss.kind == FlowMiss::Kind::kDrop) return {};
  if (!match.rule) return rss_.main().choose(packet);

  const FlowActions& actions = match.rule->actions;
  if (actions.flags & VERNA_FLOW_A_DROP) return {};
  const bool rss = actions.flags & VERNA_FLOW_A_RSS;
  const Rss* context = rss ? rss_.find(actions.rss_context) : &rss_.main();
  Rss::Choice choice = context->choose(packet);
  if (actions.flags & VERNA_FLOW_A_QUEUE)
    choice.queue = static_cast<uint16_t>(actions.queue + (rss ? choice.queue : 0));
  choice.mark = actions.mark;
  return choice;
}

void RxSteering::reset() {
  flows_.reset();
  table_ = nullptr;
  rss_.reset();
}

}  // namespace verna
