// SPDX-License-Identifier: GPL-2.0-or-later
// A packet's headers as one flat key, and as the words that rules are compared by.
#pragma once

#include <array>

#include "hw/verna_flow.h"
#include "pkt/packet_view.h"

namespace verna {

inline constexpr size_t kFlowWords = sizeof(verna_flow_key) / sizeof(uint64_t);
static_assert(sizeof(verna_flow_key) % sizeof(uint64_t) == 0);

/// A key or a mask; the order of bytes within a word is the host's and never matters.
using FlowWords = std::array<uint64_t, kFlowWords>;

inline FlowWords flow_words(const verna_flow_key& key) {
  FlowWords words;
  std::memcpy(words.data(), &key, sizeof key);
  return words;
}

/// What is known of `packet`, which came from `port`.
verna_flow_key make_flow_key(const PacketView& packet, uint16_t port);

}  // namespace verna
