// SPDX-License-Identifier: GPL-2.0-or-later
#include "functions/switchdev_rig.h"

namespace verna::test {
namespace {

template <typename T>
void fill(T* field) {
  std::memset(field, 0xff, sizeof *field);
}

}  // namespace

Rule& Rule::from(uint16_t vport) {
  rule.key.port = vport;
  fill(&rule.mask.port);
  return *this;
}

Rule& Rule::dmac(const uint8_t (&mac)[6]) {
  std::memcpy(rule.key.dmac, mac, 6);
  fill(&rule.mask.dmac);
  return *this;
}

Rule& Rule::type(uint16_t ethertype) {
  rule.key.ethertype = __builtin_bswap16(ethertype);
  fill(&rule.mask.ethertype);
  return *this;
}

Rule& Rule::udp(uint16_t port) {
  rule.key.ip_proto = 17;
  fill(&rule.mask.ip_proto);
  rule.key.dport = __builtin_bswap16(port);
  fill(&rule.mask.dport);
  return *this;
}

Rule& Rule::vni(uint8_t kind, uint32_t id) {
  rule.key.tun_kind = kind;
  fill(&rule.mask.tun_kind);
  rule.key.tun_id = __builtin_bswap64(id);
  fill(&rule.mask.tun_id);
  return *this;
}

Rule& Rule::port(uint16_t vport) {
  rule.actions.vport = vport;
  return action(VERNA_FLOW_A_PORT);
}

Rule& Rule::chain(uint32_t number) {
  rule.actions.chain = number;
  return action(VERNA_FLOW_A_CHAIN);
}

Rule& Rule::mark(uint32_t value) {
  rule.actions.mark = value;
  return action(VERNA_FLOW_A_MARK);
}

SwitchdevRig::SwitchdevRig(bool on)
    : rule_addr(card.bus.alloc(sizeof(verna_flow_rule_ranges), "rule")) {
  soft.make_queues(kSoftQueue);
  if (on) switchdev();
}

Reply SwitchdevRig::set_mode(uint8_t mode, uint16_t queue) {
  verna_cmd_set_eswitch command{};
  command.mode = mode;
  command.queue = queue;
  return card.driver.execute(VERNA_CMD_SET_ESWITCH, command);
}

Reply SwitchdevRig::set_group(uint16_t vport, uint16_t group) {
  verna_cmd_vport_group command{};
  command.vport = vport;
  command.group = group;
  return card.driver.execute(VERNA_CMD_SET_VPORT_GROUP, command);
}

Reply SwitchdevRig::set_miss(const Table& table, uint8_t miss, uint32_t to_chain) {
  verna_cmd_flow_miss command{};
  command.direction = VERNA_FLOW_SWITCH;
  command.group = table.group;
  command.chain = table.chain;
  command.miss = miss;
  command.to_chain = to_chain;
  return card.driver.execute(VERNA_CMD_SET_FLOW_MISS, command);
}

verna_cmd_add_flow SwitchdevRig::add_command(const Table& table, const Rule& rule,
                                             uint32_t priority) {
  const verna_flow_rule_ranges& contract = rule;
  Bytes bytes(sizeof contract);
  std::memcpy(bytes.data(), &contract, sizeof contract);
  card.bus.fill(rule_addr, bytes);
  verna_cmd_add_flow command{};
  command.direction = VERNA_FLOW_SWITCH;
  command.group = table.group;
  command.chain = table.chain;
  command.priority = priority;
  command.addr = rule_addr;
  command.len = sizeof contract;
  return command;
}

Reply SwitchdevRig::try_add(const Table& table, const Rule& rule, uint32_t priority) {
  return card.driver.execute(VERNA_CMD_ADD_FLOW, add_command(table, rule, priority));
}

uint32_t SwitchdevRig::add(const Table& table, const Rule& rule, uint32_t priority) {
  const Reply reply = try_add(table, rule, priority);
  EXPECT_EQ(reply.status, VERNA_CMD_OK) << "detail " << reply.detail;
  return static_cast<uint32_t>(reply.result);
}

void SwitchdevRig::connect(const Station& from, const Station& to) {
  add({vport_of(from)}, Rule().dmac(to.address.mac).port(vport_of(to)));
}

void SwitchdevRig::send_aimed(Station& from, uint16_t vport, const Bytes& frame,
                              verna_tx_desc request) {
  request.addr = from.bus.alloc(frame.size(), "frame");
  from.bus.fill(request.addr, frame);
  request.len = static_cast<uint32_t>(frame.size());
  request.flags |= VERNA_TX_F_EOP | VERNA_TX_F_VPORT;
  request.vport = vport;
  std::memcpy(from.bus.ptr(from.txq->wq.entry(from.txq->wq.prod++), sizeof request), &request,
              sizeof request);
  from.driver.publish(&from.txq->wq);
}

}  // namespace verna::test
