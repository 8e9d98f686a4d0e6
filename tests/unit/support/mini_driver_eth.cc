// SPDX-License-Identifier: GPL-2.0-or-later
// Ethernet queues and filters.
#include "support/fail.h"
#include "support/mini_driver.h"

namespace verna::test {

EthQueue* MiniDriver::create_ethq(verna_cmd_opcode opcode, uint32_t id, RingHandle* cq,
                                  uint8_t log_size, uint32_t uar) {
  const bool tx = opcode == VERNA_CMD_CREATE_TXQ;
  const uint8_t log_stride = tx ? 5 : 4;
  eth_queues_.emplace_back();
  EthQueue* q = &eth_queues_.back();
  q->mem = HostBuffer(bus_, 128 + (uint64_t{1} << (log_size + log_stride)), {}, "Ethernet queue");
  q->cq = cq;
  q->id = id;
  init_wq(&q->wq, &q->mem, 0, 128, log_size, log_stride);
  q->wq.type = tx ? VERNA_DB_TXQ : VERNA_DB_RXQ;
  q->wq.id = id;
  q->wq.uar = uar;
  verna_cmd_create_ethq command{};
  command.id = id;
  command.cqn = cq->id;
  command.mem = q->mem.pbl();
  command.rec_offset = 0;
  command.ring_offset = 128;
  command.log_size = log_size;
  command.uar = uar;
  const Reply reply = execute(opcode, command);
  if (!reply.ok()) fail("CREATE_TXQ/RXQ: status " + std::to_string(reply.status));
  return q;
}

EthQueue* MiniDriver::create_txq(uint32_t id, RingHandle* cq, uint8_t log_size, uint32_t uar) {
  return create_ethq(VERNA_CMD_CREATE_TXQ, id, cq, log_size, uar);
}

EthQueue* MiniDriver::create_rxq(uint32_t id, RingHandle* cq, uint8_t log_size, uint32_t uar) {
  return create_ethq(VERNA_CMD_CREATE_RXQ, id, cq, log_size, uar);
}

void MiniDriver::post_tx(EthQueue* q, uint64_t addr, uint32_t len, uint16_t flags) {
  verna_tx_desc desc{};
  desc.addr = addr;
  desc.len = len;
  desc.flags = flags;
  std::memcpy(bus_.ptr(q->wq.entry(q->wq.prod), sizeof desc), &desc, sizeof desc);
  q->wq.prod++;
}

void MiniDriver::post_rx(EthQueue* q, uint64_t addr, uint32_t len) {
  verna_rx_desc desc{};
  desc.addr = addr;
  desc.len = len;
  std::memcpy(bus_.ptr(q->wq.entry(q->wq.prod), sizeof desc), &desc, sizeof desc);
  q->wq.prod++;
}

Reply MiniDriver::set_rx_mode(uint32_t mode) {
  verna_cmd_rx_mode command{};
  command.mode = mode;
  return execute(VERNA_CMD_SET_RX_MODE, command);
}

Reply MiniDriver::set_mac(verna_cmd_opcode opcode, const uint8_t (&mac)[6]) {
  verna_cmd_mac command{};
  std::memcpy(command.mac, mac, 6);
  return execute(opcode, command);
}

Reply MiniDriver::set_mtu(uint32_t mtu) {
  verna_cmd_mtu command{};
  command.mtu = mtu;
  return execute(VERNA_CMD_SET_MTU, command);
}

}  // namespace verna::test
