// SPDX-License-Identifier: GPL-2.0-or-later
// A packet's headers as one flat key, and as the words that rules are compared by.
#pragma once

#include <array>
#include <cstddef>

#include "hw/verna_flow.h"
#include "pkt/tunnel.h"

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

inline verna_flow_key flow_key(const FlowWords& words) {
  verna_flow_key key;
  std::memcpy(&key, words.data(), sizeof key);
  return key;
}

/// One field of a key's words, as it stands in the contract.
template <typename T>
T flow_field(const FlowWords& words, size_t offset) {
  T value;
  std::memcpy(&value, reinterpret_cast<const uint8_t*>(words.data()) + offset, sizeof value);
  return value;
}

/// A rule whose mask has this looks at what is inside of a tunnel.
inline bool looks_inside(const FlowWords& mask) {
  return flow_field<uint8_t>(mask, offsetof(verna_flow_key, tun_kind)) != 0;
}

/// The two ways in which a packet of a tunnel can be looked at.
struct FlowKeys {
  FlowWords plain;   // the outermost headers; no tun_* fields
  FlowWords tunnel;  // the inner headers, and the outer ones in tun_*
  bool has_tunnel = false;

  const FlowWords* of(bool inside) const {
    if (!inside) return &plain;
    return has_tunnel ? &tunnel : nullptr;
  }
};

/// What is known of `packet`, which came from `port`, from its outermost headers.
verna_flow_key make_flow_key(const PacketView& packet, uint16_t port);

/// The same of any frame, or of one inside of another.
verna_flow_key make_flow_key(const HeaderBytes& bytes, const FrameLayers& layers, uint16_t port);

/// Fills the tun_* fields from the outer headers of `tunnel`.
void set_tunnel(const HeaderBytes& bytes, const FrameLayers& outer, const Tunnel& tunnel,
                verna_flow_key* key);

/// Takes the tun_* fields of `from`.
void copy_tunnel(const verna_flow_key& from, verna_flow_key* key);

}  // namespace verna
