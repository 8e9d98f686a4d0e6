// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/vport_commands.h"

#include <algorithm>

#include "ctrl/rate_commands.h"

namespace verna {
namespace {

constexpr uint16_t kMaxVlan = 4094;
constexpr uint8_t kMaxPriority = 7;

/// Ranges of what is set, and zeros in what is not.
CommandResult check_fields(const verna_cmd_set_vport& cmd) {
  const auto sets = [&cmd](uint32_t field) { return (cmd.fields & field) != 0; };
  const auto within = [&](uint32_t field, uint32_t value, uint32_t max) {
    return value <= (sets(field) ? max : 0);
  };
  if (cmd.fields & ~VERNA_VPORT_SET_ALL) return VERNA_BAD_FIELD(verna_cmd_set_vport, fields);
  if (sets(VERNA_VPORT_SET_MAC) == all_zero(cmd.mac) || cmd.mac[0] & 1)
    return VERNA_BAD_FIELD(verna_cmd_set_vport, mac);
  if (!within(VERNA_VPORT_SET_VLAN, cmd.vlan, kMaxVlan))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, vlan);
  if (!within(VERNA_VPORT_SET_VLAN, cmd.qos, cmd.vlan ? kMaxPriority : 0))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, qos);
  if (!within(VERNA_VPORT_SET_SPOOF_CHECK, cmd.spoof_check, 1))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, spoof_check);
  if (!within(VERNA_VPORT_SET_TRUST, cmd.trust, 1))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, trust);
  if (!within(VERNA_VPORT_SET_LINK, cmd.link, VERNA_VPORT_LINK_DOWN))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, link);
  if (!within(VERNA_VPORT_SET_RATE, cmd.max_kbps, ~uint32_t{0}))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, max_kbps);
  if (!within(VERNA_VPORT_SET_MIN_RATE, cmd.min_kbps, ~uint32_t{0}))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, min_kbps);
  if (!within(VERNA_VPORT_SET_RATE_PARENT, cmd.rate_parent, 0xffff))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, rate_parent);
  if (!within(VERNA_VPORT_SET_RATE_WEIGHT, cmd.rate_weight, VERNA_RATE_MAX_WEIGHT))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, rate_weight);
  if (!within(VERNA_VPORT_SET_RATE_PRIORITY, cmd.rate_priority, VERNA_RATE_MAX_PRIORITY))
    return VERNA_BAD_FIELD(verna_cmd_set_vport, rate_priority);
  if (!all_zero(cmd.reserved)) return VERNA_BAD_FIELD(verna_cmd_set_vport, reserved);
  return CommandResult::ok();
}

}  // namespace

CommandResult vport_result(Bridge::Status status, uint32_t field) {
  switch (status) {
    case Bridge::Status::kOk:
      return CommandResult::ok();
    case Bridge::Status::kExists:
      return CommandResult::fail(VERNA_CMD_EXISTS);
    case Bridge::Status::kNoResource:
      return CommandResult::fail(VERNA_CMD_NO_RESOURCE);
    case Bridge::Status::kNotFound:
      return CommandResult::fail(VERNA_CMD_NOT_FOUND);
    case Bridge::Status::kNotTrusted:
      return CommandResult::fail(VERNA_CMD_BAD_FUNCTION);
    case Bridge::Status::kInvalid:
      break;
  }
  return CommandResult::fail(VERNA_CMD_BAD_PARAM, field);
}

CommandResult VportCommands::execute(const CommandBytes& command) {
  const auto hdr = command.as<verna_cmd_hdr>();
  if (hdr.function == 0 || hdr.function > rates_.leaves().size())
    return CommandResult::fail(VERNA_CMD_BAD_FUNCTION);
  if (hdr.opcode == VERNA_CMD_SET_VPORT) return set_vport(command.as<verna_cmd_set_vport>());
  return query_vport(command.as<verna_cmd_query>());
}

CommandResult VportCommands::set_vport(const verna_cmd_set_vport& cmd) {
  CommandResult checked = check_fields(cmd);
  if (checked.status != VERNA_CMD_OK) return checked;
  const FunctionId fn = cmd.hdr.function;
  const RateSetup rates = rates_after(cmd);
  checked = check_rates(cmd, rates);
  if (checked.status != VERNA_CMD_OK) return checked;
  BridgePortConfig config = switch_.bridge().config(vport_of(fn));
  verna_vport_link link = switch_.link(fn);
  if (cmd.fields & VERNA_VPORT_SET_MAC)
    std::copy(std::begin(cmd.mac), std::end(cmd.mac), config.mac.begin());
  if (cmd.fields & VERNA_VPORT_SET_VLAN) {
    config.vlan = cmd.vlan;
    config.priority = cmd.qos;
  }
  if (cmd.fields & VERNA_VPORT_SET_SPOOF_CHECK) config.spoof_check = cmd.spoof_check;
  if (cmd.fields & VERNA_VPORT_SET_TRUST) config.trusted = cmd.trust;
  if (cmd.fields & VERNA_VPORT_SET_LINK) link = static_cast<verna_vport_link>(cmd.link);
  const Bridge::Status status = switch_.configure(fn, config, link);
  if (status == Bridge::Status::kOk) {
    rates_.set_leaf(fn - 1, rates);
    changed_(fn);
  }
  return vport_result(status, offsetof(verna_cmd_set_vport, mac));
}

RateSetup VportCommands::rates_after(const verna_cmd_set_vport& cmd) const {
  RateSetup rates = RateTree::setup_of(*rates_.leaves()[cmd.hdr.function - 1]);
  if (cmd.fields & VERNA_VPORT_SET_RATE) rates.max_kbps = cmd.max_kbps;
  if (cmd.fields & VERNA_VPORT_SET_MIN_RATE) rates.min_kbps = cmd.min_kbps;
  if (cmd.fields & VERNA_VPORT_SET_RATE_PARENT) rates.parent = cmd.rate_parent;
  if (cmd.fields & VERNA_VPORT_SET_RATE_PRIORITY) rates.priority = cmd.rate_priority;
  if (cmd.fields & VERNA_VPORT_SET_RATE_WEIGHT)
    rates.weight = cmd.rate_weight ? cmd.rate_weight : uint16_t{1};
  return rates;
}

CommandResult VportCommands::check_rates(const verna_cmd_set_vport& cmd,
                                         const RateSetup& rates) const {
  if (rates.max_kbps && rates.min_kbps > rates.max_kbps)
    return cmd.fields & VERNA_VPORT_SET_MIN_RATE ? VERNA_BAD_FIELD(verna_cmd_set_vport, min_kbps)
                                                 : VERNA_BAD_FIELD(verna_cmd_set_vport, max_kbps);
  return rate_result(rates_.check_leaf(rates), offsetof(verna_cmd_set_vport, rate_parent));
}

CommandResult VportCommands::query_vport(const verna_cmd_query& cmd) {
  if (cmd.id) return VERNA_BAD_FIELD(verna_cmd_query, id);
  if (cmd.group) return VERNA_BAD_FIELD(verna_cmd_query, group);
  if (cmd.reserved) return VERNA_BAD_FIELD(verna_cmd_query, reserved);
  const FunctionId fn = cmd.hdr.function;
  const BridgePortConfig& config = switch_.bridge().config(vport_of(fn));
  verna_vport_state state{};
  std::copy(config.mac.begin(), config.mac.end(), state.mac);
  state.vlan = config.vlan;
  state.qos = config.priority;
  state.spoof_check = config.spoof_check;
  state.trust = config.trusted;
  state.link = static_cast<uint8_t>(switch_.link(fn));
  state.enabled = switch_.enabled(fn);
  const RateSetup rates = RateTree::setup_of(*rates_.leaves()[fn - 1]);
  state.max_kbps = rates.max_kbps;
  state.min_kbps = rates.min_kbps;
  state.rate_parent = rates.parent;
  state.rate_weight = rates.weight;
  state.rate_priority = rates.priority;
  state.link_up = switch_.port(fn).link_up();
  const auto len = std::min<uint32_t>(cmd.len, sizeof state);
  if (len && !bus_.write(0, cmd.addr, &state, len))
    return CommandResult::fail(VERNA_CMD_DMA_FAULT, offsetof(verna_cmd_query, addr));
  return CommandResult::ok(len);
}

}  // namespace verna
