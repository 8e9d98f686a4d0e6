// SPDX-License-Identifier: GPL-2.0-or-later
#include "functions/switch_rig.h"

#include "support/fail.h"

namespace verna::test {

Station::Station(World& w, MiniDriver& d, FakeHostBus& b, const PeerAddress& a)
    : world(w), driver(d), bus(b), address(a) {}

void Station::bring_up() {
  driver.bring_up();
  make_queues(0);
  if (!driver.set_rx_mode(VERNA_RX_MODE_ENABLE).ok()) fail("SET_RX_MODE");
}

void Station::make_queues(uint32_t number) {
  tx_cq = driver.create_cq(8);
  rx_cq = driver.create_cq(8);
  txq = driver.create_txq(number, tx_cq, 8);
  rxq = driver.create_rxq(number, rx_cq, 6);
  by_slot_.assign(64, 0);
  for (uint32_t i = 0; i < kBuffers; i++) post(bus.alloc(kBufferBytes, "receive buffer"));
  driver.publish(&rxq->wq);
}

void Station::post(uint64_t buffer) {
  by_slot_[rxq->wq.prod % by_slot_.size()] = buffer;
  driver.post_rx(rxq, buffer, kBufferBytes);
}

void Station::send(const Bytes& frame) {
  const uint64_t addr = bus.alloc(frame.size(), "frame");
  bus.fill(addr, frame);
  driver.post_tx(txq, addr, static_cast<uint32_t>(frame.size()));
  driver.publish(&txq->wq);
}

void Station::send_large(const Bytes& packet, uint16_t mss) {
  verna_tx_desc desc{};
  desc.addr = bus.alloc(packet.size(), "packet");
  bus.fill(desc.addr, packet);
  desc.len = static_cast<uint32_t>(packet.size());
  desc.flags = VERNA_TX_F_EOP | VERNA_TX_F_TSO;
  desc.csum_start = 34;
  desc.mss = mss;
  desc.hdr_len = 54;
  desc.l3_offset = 14;
  std::memcpy(bus.ptr(txq->wq.entry(txq->wq.prod++), sizeof desc), &desc, sizeof desc);
  driver.publish(&txq->wq);
}

std::vector<Bytes> Station::received() {
  std::vector<Bytes> out;
  verna_cqe cqe;
  cqes.clear();
  while (driver.poll(rx_cq, &cqe)) {
    cqes.push_back(cqe);
    if (cqe.num_bufs != 1) fail("a frame in several buffers");
    const uint64_t buffer = by_slot_[cqe.wqe_index % by_slot_.size()];
    out.push_back(bus.bytes(buffer, cqe.byte_len));
    post(buffer);
  }
  driver.publish(&rxq->wq);
  while (driver.poll(tx_cq, &cqe)) {
    if (cqe.status != VERNA_CQE_OK) fail("a frame was not sent");
  }
  return out;
}

SwitchRig::SwitchRig(const NicConfig& config)
    : card(world, wire.a, 1, config),
      stations(),
      pf(stations.emplace_back(world, card.driver, card.bus, card)),
      vf1(stations.emplace_back(world, card.vfs[0].driver, card.vfs[0].bus, card.vfs[0])),
      vf2(stations.emplace_back(world, card.vfs[1].driver, card.vfs[1].bus, card.vfs[1])),
      vf3(stations.emplace_back(world, card.vfs[2].driver, card.vfs[2].bus, card.vfs[2])) {
  world.add(&wire);
  pf.bring_up();
  card.set_num_vfs(kVfs);
  for (Station* s : {&vf1, &vf2, &vf3}) s->bring_up();
}

void SwitchRig::TearDown() {
  EXPECT_EQ(card.check_conservation(), "");
  for (const TestVf& vf : card.vfs) EXPECT_EQ(vf.check_conservation(), "") << "function " << vf.fn;
}

std::vector<Bytes> SwitchRig::on_wire() {
  settle();
  std::vector<Bytes> out;
  for (RxFrame f = wire.b.rx_peek(); f.data; f = wire.b.rx_peek()) {
    out.emplace_back(f.data, f.data + f.len - 4);
    wire.b.rx_release();
  }
  return out;
}

void SwitchRig::expect_silence() {
  EXPECT_EQ(on_wire().size(), 0u) << "the wire";
  for (size_t fn = 0; fn < stations.size(); fn++)
    EXPECT_EQ(stations[fn].received().size(), 0u) << "function " << fn;
}

Reply SwitchRig::set_vlan(FunctionId fn, uint16_t vlan, uint8_t qos) {
  verna_cmd_set_vport command{};
  command.fields = VERNA_VPORT_SET_VLAN;
  command.vlan = vlan;
  command.qos = qos;
  return set_vport(fn, command);
}

Bytes tagged(const Bytes& frame, uint16_t tci) {
  Bytes out = frame;
  const uint8_t tag[4] = {0x81, 0, static_cast<uint8_t>(tci >> 8), static_cast<uint8_t>(tci)};
  out.insert(out.begin() + 12, tag, tag + 4);
  return out;
}

}  // namespace verna::test
