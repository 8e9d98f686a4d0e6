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

constexpr size_t kMaxRules = 4096;    // in one answer
constexpr size_t kMaxObjects = 1024;  // meters and edits, each

Json describe_rule(const FlowRule& rule, Nanos now) {
  constexpr Nanos kMilli = 1'000'000;
  Json out = {{"id", rule.id}};
  const FlowTableId& table = rule.table->id();
  if (table.direction == VERNA_FLOW_SWITCH)
    out.update({{"group", table.group}, {"chain", table.chain}});
  out.update({{"priority", rule.priority},
              {"match", flow_match_text(rule)},
              {"action", flow_action_text(rule.actions)},
              {"packets", rule.packets},
              {"bytes", rule.bytes},
              {"last_used", rule.last_used},
              {"limits", flow_limits_text(rule.actions)},
              {"idle_ms", (now - std::max(rule.last_used, rule.added)) / kMilli},
              {"age_ms", (now - rule.added) / kMilli}});
  return out;
}

Json describe_table(const FlowTable& table) {
  size_t rules = 0;
  for (const auto& group : table.groups()) rules += group->size();
  constexpr const char* kDirections[] = {"rx", "tx", "switch"};
  return {{"direction", kDirections[table.id().direction]},
          {"group", table.id().group},
          {"chain", table.id().chain},
          {"rules", rules},
          {"masks", table.num_masks()},
          {"miss", flow_miss_text(table.miss)},
          {"hits", table.hits},
          {"misses", table.misses},
          {"probes", table.probes}};
}

Json describe_tables(const FlowTables& flows, Nanos now) {
  Json tables = Json::array();
  for (const auto& [id, table] : flows.tables()) tables.push_back(describe_table(*table));
  std::vector<const FlowRule*> rules;
  flows.for_each_rule([&](const FlowRule& rule) {
    if (rules.size() < kMaxRules) rules.push_back(&rule);
  });
  std::sort(rules.begin(), rules.end(), [](const FlowRule* a, const FlowRule* b) {
    return a->table == b->table ? a->before(*b) : a->table->id() < b->table->id();
  });
  Json out = Json::array();
  for (const FlowRule* rule : rules) out.push_back(describe_rule(*rule, now));
  const size_t aged = flows.for_each_aged(kMaxRules, [](const FlowRule&) {});
  return {{"tables", tables}, {"rules", out}, {"aged", aged}};
}

std::string rate_text(const MeterRate& rate, uint64_t burst) {
  return rate.amount ? fmt::format("{} in {} ns, burst {}", rate.amount, rate.per, burst) : "none";
}

Json describe_meter(uint32_t id, const Meter& meter, long users) {
  const MeterConfig& c = meter.config();
  Json out = {{"id", id},
              {"users", users},
              {"unit", c.unit == MeterConfig::Unit::kPackets ? "packets" : "bytes"},
              {"committed", rate_text(c.committed, c.committed_burst)},
              {c.second == MeterConfig::Second::kPeak ? "peak" : "excess",
               rate_text(c.second_rate, c.second_burst)}};
  constexpr const char* kColours[] = {"green", "yellow", "red"};
  for (const Colour colour : {Colour::kGreen, Colour::kYellow, Colour::kRed})
    out[kColours[static_cast<size_t>(colour)]] = meter.count(colour).packets;
  return out;
}

}  // namespace

std::string describe_flows(const EthEngine& eth, Nanos now) {
  return describe_tables(eth.steering().flows(), now).dump();
}

const char* switch_mode_name(const Switch& vswitch) {
  return vswitch.mode() == VERNA_ESWITCH_SWITCHDEV ? "switchdev" : "legacy";
}

std::string describe_switch(const Switch& vswitch, Nanos now) {
  const FlowSwitch& flows = vswitch.flows();
  Json out = {{"mode", switch_mode_name(vswitch)}};
  out.update(describe_tables(flows.tables(), now));
  out["meters"] = out["edits"] = Json::array();
  for (const auto& [id, meter] : flows.meters().all())
    if (out["meters"].size() < kMaxObjects)
      out["meters"].push_back(describe_meter(id, *meter, flows.meters().users(id)));
  for (const auto& [id, edit] : flows.edits().all())
    if (out["edits"].size() < kMaxObjects)
      out["edits"].push_back(
          {{"id", id}, {"users", flows.edits().users(id)}, {"changes", flow_edit_text(*edit)}});
  return out.dump();
}

std::string describe_rss(const EthEngine& eth) {
  Json out = Json::array();
  for (uint32_t id = 0; id < RssContexts::kMaxContexts; id++)
    if (const Rss* context = eth.steering().rss().find(id))
      out.push_back(describe_context(id, *context));
  return out.dump();
}

}  // namespace verna
