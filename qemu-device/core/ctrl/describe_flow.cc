// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/describe_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

namespace verna {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kTypes[VERNA_RSS_NUM_TYPES] = {"ip4", "tcp4", "udp4", "sctp4",
                                                     "ip6", "tcp6", "udp6", "sctp6"};
constexpr const char* kTransforms[] = {"plain", "sym-xor", "sym-or-xor"};

/// Letters as ethtool's: s, d: addresses; f, n: ports; l: flow label.
std::string field_letters(uint8_t fields) {
  std::string out;
  for (size_t bit = 0; bit < 5; bit++)
    if (fields >> bit & 1) out += "sdfnl"[bit];
  return out;
}

/// The table, which often repeats itself: the part that does, and how often.
std::string table_text(const Rss::Table& table) {
  size_t period = 1;
  for (; period < table.size(); period *= 2)
    if (std::equal(table.begin() + static_cast<ptrdiff_t>(period), table.end(), table.begin()))
      break;
  std::string out;
  for (size_t i = 0; i < period; i++) out += fmt::format("{}{}", i ? " " : "", table[i]);
  if (period < table.size()) out += fmt::format(" (*{})", table.size() / period);
  return out;
}

Json describe_context(uint32_t id, const Rss& context) {
  const Rss::Config& config = context.config();
  Json out = {{"context", id}, {"users", context.users}};
  out["transform"] = kTransforms[config.transform];
  for (size_t type = 0; type < VERNA_RSS_NUM_TYPES; type++)
    out[kTypes[type]] = field_letters(config.fields[type]);
  std::string key;
  for (const uint8_t byte : config.key) key += fmt::format("{:02x}", byte);
  out["key"] = key;
  out["table"] = table_text(config.table);
  return out;
}

constexpr size_t kMaxRules = 4096;  // in one answer

/// How one field of a key is shown.
enum class Format { kNumber, kBig16, kBig32, kMac, kIp, kHex };
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
};
#undef VERNA_FIELD

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
    case Format::kMac:
      return hex(bytes, field.size, ":");
    case Format::kIp:
      return ip_text(bytes, v4);
    default:
      return "0x" + hex(bytes, field.size);
  }
}

/// "dport=80 src_ip=10.0.0.0/ff000000": fields whose mask is all ones are without it.
std::string match_text(const FlowWords& key_words, const FlowWords& mask_words) {
  const auto* key = reinterpret_cast<const uint8_t*>(key_words.data());
  const auto* mask = reinterpret_cast<const uint8_t*>(mask_words.data());
  const bool v4 = key[offsetof(verna_flow_key, ip_version)] != 6;
  std::string out;
  for (const Field& field : kFields) {
    const size_t size = field.format == Format::kIp && v4 ? 4 : field.size;
    const uint8_t* bits = mask + field.offset;
    const auto is = [&](uint8_t value) {
      return std::all_of(bits, bits + size, [value](uint8_t b) { return b == value; });
    };
    if (is(0)) continue;
    out += fmt::format("{}{}={}", out.empty() ? "" : " ", field.name,
                       value_text(field, key + field.offset, v4));
    if (!is(0xff)) out += "/" + hex(bits, size);
  }
  return out.empty() ? "any" : out;
}

std::string action_text(const FlowActions& actions) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : " ") + text; };
  if (actions.flags & VERNA_FLOW_A_MARK) add(fmt::format("mark=0x{:x}", actions.mark));
  if (actions.flags & VERNA_FLOW_A_DROP) add("drop");
  if (actions.flags & VERNA_FLOW_A_RSS) add(fmt::format("rss={}", actions.rss_context));
  if (actions.flags & VERNA_FLOW_A_QUEUE) add(fmt::format("queue={}", actions.queue));
  return out.empty() ? "pass" : out;
}

Json describe_rule(const FlowRule& rule) {
  return {{"id", rule.id},
          {"priority", rule.priority},
          {"match", match_text(rule.group->key_of(rule), rule.group->mask())},
          {"action", action_text(rule.actions)},
          {"packets", rule.packets},
          {"bytes", rule.bytes},
          {"last_used", rule.last_used}};
}

Json describe_table(const FlowTable& table) {
  size_t rules = 0;
  for (const auto& group : table.groups()) rules += group->size();
  return {{"direction", table.id().direction == VERNA_FLOW_RX ? "rx" : "tx"},
          {"group", table.id().group},
          {"chain", table.id().chain},
          {"rules", rules},
          {"masks", table.num_masks()},
          {"miss", table.miss == VERNA_FLOW_MISS_DROP ? "drop" : "pass"},
          {"hits", table.hits},
          {"misses", table.misses},
          {"probes", table.probes}};
}

}  // namespace

std::string describe_flows(const EthEngine& eth) {
  const FlowTables& flows = eth.steering().flows();
  Json tables = Json::array();
  for (const auto& [id, table] : flows.tables()) tables.push_back(describe_table(*table));
  std::vector<const FlowRule*> rules;
  flows.for_each_rule([&](const FlowRule& rule) {
    if (rules.size() < kMaxRules) rules.push_back(&rule);
  });
  std::sort(rules.begin(), rules.end(),
            [](const FlowRule* a, const FlowRule* b) { return a->before(*b); });
  Json out = Json::array();
  for (const FlowRule* rule : rules) out.push_back(describe_rule(*rule));
  const Json answer = {{"tables", tables}, {"rules", out}};
  return answer.dump();
}

std::string describe_rss(const EthEngine& eth) {
  Json out = Json::array();
  for (uint32_t id = 0; id < RssContexts::kMaxContexts; id++)
    if (const Rss* context = eth.steering().rss().find(id))
      out.push_back(describe_context(id, *context));
  return out.dump();
}

}  // namespace verna
