// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_edit.h"

#include <algorithm>

namespace verna {
namespace {

/// The bits of a key that can be set.
FlowWords settable() {
  verna_flow_key mask{};
  std::fill(std::begin(mask.dmac), std::end(mask.dmac), uint8_t{0xff});
  std::fill(std::begin(mask.smac), std::end(mask.smac), uint8_t{0xff});
  std::fill(std::begin(mask.src_ip), std::end(mask.src_ip), uint8_t{0xff});
  std::fill(std::begin(mask.dst_ip), std::end(mask.dst_ip), uint8_t{0xff});
  mask.tos = mask.ttl = 0xff;
  mask.sport = mask.dport = mask.vlan_tpid = mask.vlan_tci = 0xffff;
  store_be32(reinterpret_cast<uint8_t*>(&mask.flow_label), 0xfffff);
  return flow_words(mask);
}

bool any(const uint8_t (&bytes)[16], size_t from = 0) {
  return std::any_of(bytes + from, bytes + 16, [](uint8_t b) { return b != 0; });
}

}  // namespace

const char* check_rewrite(const FlowRewrite& rewrite) {
  static const FlowWords allowed = settable();
  const FlowWords mask = flow_words(rewrite.mask);
  for (size_t i = 0; i < kFlowWords; i++)
    if (mask[i] & ~allowed[i]) return "rewrite: a field that cannot be set";
  verna_flow_key bits = rewrite.value;
  bits.ip_version = 0;
  const FlowWords value = flow_words(bits);
  for (size_t i = 0; i < kFlowWords; i++)
    if (value[i] & ~mask[i]) return "rewrite: a value outside of its mask";
  const auto* tpid = reinterpret_cast<const uint8_t*>(&rewrite.value.vlan_tpid);
  if (rewrite.mask.vlan_tpid && (rewrite.mask.vlan_tpid != 0xffff || !is_vlan(load_be16(tpid))))
    return "rewrite: an ethertype that is none of a VLAN";
  const uint8_t version = rewrite.value.ip_version;
  if (version != 0 && version != 4 && version != 6) return "rewrite: IP version";
  const bool addresses = any(rewrite.mask.src_ip) || any(rewrite.mask.dst_ip);
  if (addresses != (version != 0)) return "rewrite: addresses need their IP version";
  if (version == 4 && (any(rewrite.mask.src_ip, 4) || any(rewrite.mask.dst_ip, 4)))
    return "rewrite: an IPv4 address has four bytes";
  return nullptr;
}

const char* check_encap(const FlowEncap& encap) {
  if (encap.kind == TunnelKind::kNone) return "encapsulation: kind of tunnel";
  if (encap.ip_version != 4 && encap.ip_version != 6) return "encapsulation: IP version";
  if (encap.ip_version == 4 && (any(encap.source, 4) || any(encap.destination, 4)))
    return "encapsulation: an IPv4 address has four bytes";
  const bool udp = encap.kind != TunnelKind::kGre;
  if (udp && !encap.dport) return "encapsulation: UDP port";
  if (udp && (!encap.has_id || encap.id >> 24)) return "encapsulation: a VNI has 24 bits";
  if (!encap.has_id && encap.id) return "encapsulation: an id that is not sent";
  if (encap.tos & kEcnMask) return "encapsulation: ECN is that of the packet";
  return encap.ttl ? nullptr : "encapsulation: TTL";
}

const char* check_edit(const FlowEdit& edit) {
  if (edit.num_copies > FlowEdit::kMaxCopies) return "too many copies";
  if (edit.pop_tags > FlowEdit::kMaxTags) return "too many tags to pop";
  if (edit.num_push > FlowEdit::kMaxTags) return "too many tags to push";
  for (size_t i = 0; i < edit.num_push; i++)
    if (!is_vlan(edit.push[i].tpid)) return "a tag with an ethertype that is none of a VLAN";
  if (edit.dec_ttl && edit.rewrite && edit.rewrite->mask.ttl) return "two changes of the TTL";
  if (edit.rewrite)
    if (const char* error = check_rewrite(*edit.rewrite)) return error;
  return edit.encap ? check_encap(*edit.encap) : nullptr;
}

}  // namespace verna
