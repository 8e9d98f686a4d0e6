// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/flow_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace verna {
namespace {

/// How one field of a key is shown.
enum class Format { kNumber, kBig16, kBig32, kBig64, kMac, kIp, kTunnelIp, kHex };
struct Field {
  const char* name;
  size_t offset;
  size_t size;
  Format format;
};
#define VERNA_FIELD(name, format) \
  {#name, offsetof(verna_flow_key, name), sizeof(verna_flow_key::name), Format::format}
constexpr Field kFields[] = {
    VERNA_FIELD(port, kNumber),      VERNA_FIELD(flags, kHex),
    VERNA_FIELD(dmac, kMac),         VERNA_FIELD(smac, kMac),
    VERNA_FIELD(ethertype, kHex),    VERNA_FIELD(vlan_tpid, kHex),
    VERNA_FIELD(vlan_tci, kBig16),   VERNA_FIELD(vlan2_tpid, kHex),
    VERNA_FIELD(vlan2_tci, kBig16),  VERNA_FIELD(ip_version, kNumber),
    VERNA_FIELD(src_ip, kIp),        VERNA_FIELD(dst_ip, kIp),
    VERNA_FIELD(ip_proto, kNumber),  VERNA_FIELD(tos, kHex),
    VERNA_FIELD(ttl, kNumber),       VERNA_FIELD(sport, kBig16),
    VERNA_FIELD(dport, kBig16),      VERNA_FIELD(tcp_flags, kHex),
    VERNA_FIELD(icmp_type, kNumber), VERNA_FIELD(icmp_code, kNumber),
    VERNA_FIELD(arp_op, kBig16),     VERNA_FIELD(flow_label, kBig32),
    VERNA_FIELD(tun_kind, kNumber),  VERNA_FIELD(tun_ip_version, kNumber),
    VERNA_FIELD(tun_id, kBig64),     VERNA_FIELD(tun_src, kTunnelIp),
    VERNA_FIELD(tun_dst, kTunnelIp), VERNA_FIELD(tun_sport, kBig16),
    VERNA_FIELD(tun_dport, kBig16),  VERNA_FIELD(tun_tos, kHex),
    VERNA_FIELD(tun_ttl, kNumber),
};
#undef VERNA_FIELD

/// Texts are put together of parts that begin with a blank.
std::string without_blank(const std::string& text) { return text.empty() ? text : text.substr(1); }

std::string hex(const uint8_t* bytes, size_t size, const char* separator = "") {
  std::string out;
  for (size_t i = 0; i < size; i++) out += fmt::format("{}{:02x}", i ? separator : "", bytes[i]);
  return out;
}

std::string ip_text(const uint8_t* ip, bool v4) {
  if (v4) return fmt::format("{}.{}.{}.{}", ip[0], ip[1], ip[2], ip[3]);
  std::string out;
  for (size_t i = 0; i < 16; i += 2) out += fmt::format("{}{:x}", i ? ":" : "", load_be16(ip + i));
  return out;
}

std::string value_text(const Field& field, const uint8_t* bytes, bool v4) {
  switch (field.format) {
    case Format::kNumber:
      return fmt::format("{}", bytes[0] | (field.size > 1 ? bytes[1] << 8 : 0));
    case Format::kBig16:
      return fmt::format("{}", load_be16(bytes));
    case Format::kBig32:
      return fmt::format("{}", load_be32(bytes));
    case Format::kBig64:
      return fmt::format("{}", load_be64(bytes));
    case Format::kMac:
      return hex(bytes, field.size, ":");
    case Format::kIp:
    case Format::kTunnelIp:
      return ip_text(bytes, v4);
    default:
      return "0x" + hex(bytes, field.size);
  }
}

std::string range_text(const char* name, const PortRange& range) {
  return range.is_all() ? "" : fmt::format(" {}={}-{}", name, range.low, range.high);
}

/// " dport=80 src_ip=10.0.0.0/ff000000": fields whose mask is all ones are without it.
std::string fields_text(const FlowWords& key_words, const FlowWords& mask_words) {
  const auto* key = reinterpret_cast<const uint8_t*>(key_words.data());
  const auto* mask = reinterpret_cast<const uint8_t*>(mask_words.data());
  const bool v4 = key[offsetof(verna_flow_key, ip_version)] != 6;
  const bool tunnel_v4 = key[offsetof(verna_flow_key, tun_ip_version)] != 6;
  std::string out;
  for (const Field& field : kFields) {
    const bool short_ip =
        (field.format == Format::kIp && v4) || (field.format == Format::kTunnelIp && tunnel_v4);
    const size_t size = short_ip ? 4 : field.size;
    const uint8_t* bits = mask + field.offset;
    const auto is = [&](uint8_t value) {
      return std::all_of(bits, bits + size, [value](uint8_t b) { return b == value; });
    };
    if (is(0)) continue;
    out += fmt::format(" {}={}", field.name, value_text(field, key + field.offset, short_ip));
    if (!is(0xff)) out += "/" + hex(bits, size);
  }
  return out;
}

constexpr const char* kTunnels[] = {"none", "vxlan", "geneve", "gre"};

/// What is changed, in the order of execution.
std::string edit_text(const FlowEdit& edit) {
  std::string out;
  const auto copies = [&](bool changed) {
    for (size_t i = 0; i < edit.num_copies; i++)
      if (edit.copies[i].changed == changed) out += fmt::format(" copy={}", edit.copies[i].port);
  };
  copies(false);
  if (edit.decap) out += " decap";
  for (size_t i = 0; i < edit.pop_tags; i++) out += " pop";
  if (edit.rewrite)
    out += fmt::format(" set({})", without_blank(fields_text(flow_words(edit.rewrite->value),
                                                             flow_words(edit.rewrite->mask))));
  if (edit.dec_ttl) out += " dec_ttl";
  if (edit.encap)
    out += fmt::format(" encap={}:{}", kTunnels[static_cast<size_t>(edit.encap->kind)],
                       edit.encap->id);
  for (size_t i = 0; i < edit.num_push; i++)
    out += fmt::format(" push=0x{:04x}:0x{:04x}", edit.push[i].tpid, edit.push[i].tci);
  copies(true);
  return out;
}

}  // namespace

std::string flow_match_text(const FlowRule& rule) {
  const std::string out = fields_text(rule.group->key_of(rule), rule.group->mask()) +
                          range_text("sport", rule.sport) + range_text("dport", rule.dport);
  return out.empty() ? "any" : without_blank(out);
}

std::string flow_action_text(const FlowActions& actions) {
  std::string out;
  if (actions.meter)
    out += actions.meter_id ? fmt::format(" meter={}", actions.meter_id) : " meter";
  if (actions.flags & VERNA_FLOW_A_MARK) out += fmt::format(" mark=0x{:x}", actions.mark);
  if (actions.edit) out += edit_text(*actions.edit);
  if (actions.where() == FlowTarget::kDrop) out += " drop";
  if (actions.where() == FlowTarget::kTrap) out += " trap";
  if (actions.where() == FlowTarget::kPort) out += fmt::format(" port={}", actions.port);
  if (actions.where() == FlowTarget::kChain) out += fmt::format(" chain={}", actions.chain);
  if (actions.flags & VERNA_FLOW_A_RSS) out += fmt::format(" rss={}", actions.rss_context);
  if (actions.flags & VERNA_FLOW_A_QUEUE) out += fmt::format(" queue={}", actions.queue);
  return out.empty() ? "pass" : without_blank(out);
}

std::string flow_limits_text(const FlowActions& actions) {
  std::string out;
  if (actions.idle_ms) out += fmt::format(" idle={}ms", actions.idle_ms);
  if (actions.life_ms) out += fmt::format(" life={}ms", actions.life_ms);
  if (actions.flags & VERNA_FLOW_A_AGE_REPORT) out += " report";
  return out.empty() ? "none" : without_blank(out);
}

std::string flow_edit_text(const FlowEdit& edit) { return without_blank(edit_text(edit)); }

std::string flow_miss_text(const FlowMiss& miss) {
  constexpr const char* kNames[] = {"pass", "drop", "trap"};
  if (miss.kind == FlowMiss::Kind::kChain) return fmt::format("chain={}", miss.chain);
  return kNames[static_cast<size_t>(miss.kind)];
}

}  // namespace verna
