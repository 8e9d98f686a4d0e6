// SPDX-License-Identifier: GPL-2.0-or-later
// The card of switch_rig.h in switchdev mode.
#pragma once

#include "functions/switch_rig.h"

namespace verna::test {

inline constexpr uint16_t kSoftQueue = 1;

/// Rules in few words. Ports of frames are numbers.
struct Rule : verna_flow_rule_ranges {
  Rule() : verna_flow_rule_ranges{} {}
  Rule& from(uint16_t vport);
  Rule& dmac(const uint8_t (&mac)[6]);
  Rule& type(uint16_t ethertype);
  Rule& udp(uint16_t port);
  Rule& vni(uint8_t kind, uint32_t id);
  Rule& port(uint16_t vport);
  Rule& chain(uint32_t number);
  Rule& mark(uint32_t value);
  Rule& action(uint32_t flag) {
    rule.actions.flags |= flag;
    return *this;
  }
  Rule& drop() { return action(VERNA_FLOW_A_DROP); }
  Rule& trap() { return action(VERNA_FLOW_A_TRAP); }
};

struct Table {
  uint16_t group = 0;
  uint32_t chain = 0;
};

struct SwitchdevRig : SwitchRig {
  explicit SwitchdevRig(bool on = true);

  Reply set_mode(uint8_t mode, uint16_t queue = 0);
  /// From now on, with what no rule decides in kSoftQueue.
  void switchdev() { ASSERT_TRUE(set_mode(VERNA_ESWITCH_SWITCHDEV, kSoftQueue).ok()); }
  void legacy() { ASSERT_TRUE(set_mode(VERNA_ESWITCH_LEGACY).ok()); }
  Reply set_group(uint16_t vport, uint16_t group);
  Reply set_miss(const Table& table, uint8_t miss, uint32_t to_chain = 0);
  verna_cmd_add_flow add_command(const Table& table, const Rule& rule, uint32_t priority = 1);
  Reply try_add(const Table& table, const Rule& rule, uint32_t priority = 1);
  /// The number of a rule that must be taken.
  uint32_t add(const Table& table, const Rule& rule, uint32_t priority = 1);
  verna_flow_stats query(uint32_t rule) {
    return card.driver.query<verna_flow_stats>(VERNA_CMD_QUERY_FLOW, rule);
  }
  /// Frames to the address of `to` from any vport of `from` go there.
  void connect(const Station& from, const Station& to);
  /// Posts one frame that asks for a vport; `request` has more that it asks for.
  void send_aimed(Station& from, uint16_t vport, const Bytes& frame, verna_tx_desc request = {});

  static uint16_t vport_of(const Station& s) {
    return static_cast<uint16_t>((s.address.mac[1] ^ 0x56) + VERNA_VPORT_PF);
  }
  Station soft{world, card.driver, card.bus, card};  // the PF's, for what no rule decides
  uint64_t rule_addr;
};

}  // namespace verna::test
