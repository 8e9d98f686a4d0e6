// SPDX-License-Identifier: GPL-2.0-or-later
// What a rule changes in packets. Rules share these objects, which do not change themselves.
#pragma once

#include <array>
#include <memory>

#include "flow/flow_key.h"
#include "pkt/tunnel.h"

namespace verna {

/// Header fields to set, in the form of a key and a mask: the packet's bits become those of `value`
/// where `mask` has ones. Checksums follow. A field that a packet does not have stays away.
///
/// These can be set: dmac, smac, tos, ttl, src_ip, dst_ip (of `ip_version` in `value`, packets of
/// the other are left alone), flow_label, sport and dport of TCP, UDP and SCTP, vlan_tpid and
/// vlan_tci of the outer tag. An ICRC of RoCE is not followed up.
struct FlowRewrite {
  verna_flow_key value{};
  verna_flow_key mask{};
};

/// What is wrong with a rewrite, or null.
const char* check_rewrite(const FlowRewrite& rewrite);

/// The headers that are put around a packet.
struct FlowEncap {
  TunnelKind kind = TunnelKind::kVxlan;
  uint8_t dmac[6]{};
  uint8_t smac[6]{};
  uint8_t ip_version = 4;
  uint8_t source[16]{};  // IPv4 in the first four bytes
  uint8_t destination[16]{};
  uint8_t tos = 0;  // without ECN, which is that of the packet
  uint8_t ttl = 64;
  bool may_fragment = false;  // IPv4 without DF
  bool udp_checksum = false;  // else 0, as RFC 6935 allows for IPv6 as well
  bool has_id = true;         // GRE may have no key
  uint16_t dport = 4789;      // UDP; the source port is a hash of the packet
  uint32_t id = 0;            // VNI or key
};

/// What is wrong with it, or null.
const char* check_encap(const FlowEncap& encap);

struct VlanTag {
  uint16_t tpid = kEthertypeVlan;
  uint16_t tci = 0;
};

/// A copy for another port.
struct FlowCopy {
  uint16_t port = 0;
  bool changed = false;  // as the packet leaves the rule, else as it came to it
};

/// Everything that changes a packet, in the order of execution.
struct FlowEdit {
  static constexpr size_t kMaxCopies = 4;
  static constexpr size_t kMaxTags = 2;

  std::array<FlowCopy, kMaxCopies> copies;
  uint8_t num_copies = 0;
  bool decap = false;
  uint8_t pop_tags = 0;
  bool dec_ttl = false;
  std::unique_ptr<const FlowRewrite> rewrite;
  std::unique_ptr<const FlowEncap> encap;
  std::array<VlanTag, kMaxTags> push;  // the first becomes the inner one
  uint8_t num_push = 0;
};

/// What is wrong with it, or null.
const char* check_edit(const FlowEdit& edit);

}  // namespace verna
