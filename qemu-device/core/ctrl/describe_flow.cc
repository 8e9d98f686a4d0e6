// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/describe_flow.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "flow/flow_text.h"

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

Json describe_rule(const FlowRule& rule) {
  return {{"id", rule.id},
          {"priority", rule.priority},
          {"match", flow_match_text(rule)},
          {"action", flow_action_text(rule.actions)},
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
          {"miss", flow_miss_text(table.miss)},
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
