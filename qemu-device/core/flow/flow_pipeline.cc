// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_pipeline.h"

namespace verna {
namespace {

using Kind = FlowVerdict::Kind;
using Why = FlowVerdict::Why;

Kind kind_of(FlowMiss::Kind miss) {
  if (miss == FlowMiss::Kind::kDrop) return Kind::kDrop;
  return miss == FlowMiss::Kind::kTrap ? Kind::kTrap : Kind::kPass;
}

Kind kind_of(FlowTarget target) {
  switch (target) {
    case FlowTarget::kDrop:
      return Kind::kDrop;
    case FlowTarget::kPort:
      return Kind::kPort;
    case FlowTarget::kTrap:
      return Kind::kTrap;
    default:
      return Kind::kPass;
  }
}

}  // namespace

FlowVerdict FlowPipeline::run(const FlowTableId& first, FlowPacket* packet, Nanos now) {
  FlowVerdict verdict;
  FlowTableId id = first;
  for (int hops = 0; hops < kMaxChains; hops++) {
    verdict.chain = id.chain;
    FlowTable* table = tables_.find_table(id);
    const FlowMatch match =
        table ? tables_.match(table, packet->keys(), packet->bytes(), now) : FlowMatch();
    if (!match.rule) {
      verdict.kind = kind_of(match.miss.kind);
      verdict.why = Why::kMiss;
      if (match.miss.kind != FlowMiss::Kind::kChain) return verdict;
      id.chain = match.miss.chain;
      continue;
    }
    verdict.rule = match.rule;
    if (!execute(*match.rule, packet, now, &verdict)) return verdict;
    if (match.rule->actions.where() != FlowTarget::kChain) return verdict;
    id.chain = match.rule->actions.chain;
  }
  verdict.kind = Kind::kTrap;
  verdict.why = Why::kHops;
  return verdict;
}

/// False: the packet's way ends before the rule's destination.
bool FlowPipeline::execute(const FlowRule& rule, FlowPacket* packet, Nanos now,
                           FlowVerdict* verdict) {
  const FlowActions& actions = rule.actions;
  const auto end = [verdict](Kind kind, Why why) {
    verdict->kind = kind;
    verdict->why = why;
    return false;
  };
  if (Meter* meter = actions.meter.get()) {
    verdict->colour = meter->colour(packet->bytes(), verdict->colour, now);
    if (meter->drops(verdict->colour)) return end(Kind::kDrop, Why::kMeter);
  }
  if (actions.flags & VERNA_FLOW_A_MARK) verdict->mark = actions.mark;
  if (const FlowEdit* edit = actions.edit.get()) {
    if (packet->ttl_expires(*edit)) return end(Kind::kTrap, Why::kTtl);
    copy(*edit, false, *packet);
    if (!packet->apply(*edit, ip_id_++)) return end(Kind::kDrop, Why::kEdit);
    copy(*edit, true, *packet);
  }
  verdict->kind = kind_of(actions.where());
  verdict->why = Why::kRule;
  verdict->flags = actions.flags & (VERNA_FLOW_A_QUEUE | VERNA_FLOW_A_RSS);
  verdict->queue = actions.queue;
  verdict->rss_context = actions.rss_context;
  verdict->port = actions.port;
  return true;
}

void FlowPipeline::copy(const FlowEdit& edit, bool changed, const FlowPacket& packet) {
  for (size_t i = 0; i < edit.num_copies; i++)
    if (edit.copies[i].changed == changed) copy_(edit.copies[i].port, packet);
}

}  // namespace verna
