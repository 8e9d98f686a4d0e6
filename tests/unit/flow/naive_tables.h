// SPDX-License-Identifier: GPL-2.0-or-later
// Match-action tables as their documentation has them, and nothing else: a packet is a description,
// a look-up asks every rule, and a changed packet is made anew.
#pragma once

#include <map>

#include "flow/flow_pipeline.h"
#include "flow/tunnel_frames.h"

namespace verna::test {

/// What is around a frame.
struct NaiveOuter {
  FlowEncap headers;
  uint16_t sport = 0;
  uint8_t ecn = 0;
  std::vector<IpPacket::Tag> tags;
};

struct NaivePacket {
  uint16_t port = 0;
  IpPacket frame;                  // the innermost; long enough not to be padded
  std::vector<NaiveOuter> outers;  // around it, the outermost last
  std::optional<NaiveOuter> was;   // taken off

  std::vector<IpPacket::Tag>& tags() { return outers.empty() ? frame.tags : outers.back().tags; }
  /// More tags than the card looks at.
  bool opaque() const { return (outers.empty() ? frame.tags : outers.back().tags).size() > 2; }

  Bytes build() const;
  verna_flow_key plain() const;
  std::optional<verna_flow_key> inside() const;
};

struct NaiveRule {
  uint32_t id;
  uint32_t chain;
  uint64_t order;
  FlowRuleSpec spec;
  uint64_t packets = 0;
};

struct NaiveCopy {
  uint16_t port;
  Bytes bytes;
  bool operator==(const NaiveCopy&) const = default;
};

struct NaiveVerdict {
  FlowVerdict::Kind kind;
  FlowVerdict::Why why;
  uint32_t chain = 0;
  uint32_t rule = 0;
  uint32_t mark = 0;
  uint16_t port = 0;
  Colour colour = Colour::kGreen;
};

class NaiveTables {
 public:
  std::vector<NaiveRule> rules;
  std::map<uint32_t, FlowMiss> misses;                    // by chain
  std::map<const Meter*, std::unique_ptr<Meter>> meters;  // the card's, and the model's
  std::vector<NaiveCopy> copies;                          // of the last packet

  NaiveVerdict run(NaivePacket* packet, Nanos now);

 private:
  NaiveRule* find(uint32_t chain, const NaivePacket& packet);
  bool execute(const FlowActions& actions, NaivePacket* packet, Nanos now, NaiveVerdict* verdict);
};

}  // namespace verna::test
