// SPDX-License-Identifier: GPL-2.0-or-later
// Meters and edits of the switch, as its driver makes them.
#pragma once

#include "functions/switchdev_rig.h"
#include "hw/verna_edit.h"

namespace verna::test {

struct ObjectsRig : SwitchdevRig {
  explicit ObjectsRig(bool on = true)
      : SwitchdevRig(on), object_addr(card.bus.alloc(sizeof(verna_flow_edit), "object")) {}

  template <typename T>
  Reply object(uint16_t opcode, const T& contents, uint32_t id = 0, uint32_t len = sizeof(T)) {
    Bytes bytes(sizeof contents);
    std::memcpy(bytes.data(), &contents, sizeof contents);
    card.bus.fill(object_addr, bytes);
    verna_cmd_flow_object command{};
    command.addr = object_addr;
    command.len = len;
    command.id = id;
    return card.driver.execute(opcode, command);
  }
  uint32_t make(const verna_meter& meter) {
    const Reply reply = object(VERNA_CMD_CREATE_METER, meter);
    EXPECT_EQ(reply.status, VERNA_CMD_OK);
    return static_cast<uint32_t>(reply.result);
  }
  uint32_t make(const verna_flow_edit& edit) {
    const Reply reply = object(VERNA_CMD_CREATE_FLOW_EDIT, edit);
    EXPECT_EQ(reply.status, VERNA_CMD_OK);
    return static_cast<uint32_t>(reply.result);
  }
  verna_meter_stats stats(uint32_t meter) {
    return card.driver.query<verna_meter_stats>(VERNA_CMD_QUERY_METER, meter);
  }
  /// So many packets a second, and a burst of as many.
  static verna_meter packets(uint64_t amount) {
    verna_meter meter{};
    meter.unit = VERNA_METER_PACKETS;
    meter.committed_rate = {amount, kSecond, amount};
    return meter;
  }
  static Rule metered(uint32_t meter, Rule rule) {
    rule.rule.actions.meter = meter;
    return rule.action(VERNA_FLOW_A_METER);
  }
  static Rule edited(uint32_t edit, Rule rule) {
    rule.rule.actions.edit = edit;
    return rule.action(VERNA_FLOW_A_EDIT);
  }
  IpPacket packet(const Station& from, const Station& to) {
    IpPacket p;
    std::copy_n(from.address.mac, 6, p.smac);
    std::copy_n(to.address.mac, 6, p.dmac);
    p.payload = pattern(100, 1);
    return p;
  }

  uint64_t object_addr;
};

}  // namespace verna::test
