// SPDX-License-Identifier: GPL-2.0-or-later
// A card with one TX and one RX queue.
#pragma once

#include <optional>

#include "support/card_test.h"
#include "support/packet_builder.h"

namespace verna::test {

struct EthRig : CardTest {
  EthRig() {
    card.driver.bring_up();
    tx_cq = card.driver.create_cq(8);
    rx_cq = card.driver.create_cq(8);
    txq = card.driver.create_txq(0, tx_cq, 6);
    rxq = card.driver.create_rxq(0, rx_cq, 6);
    card.driver.set_rx_mode(VERNA_RX_MODE_ENABLE);
  }

  uint64_t buffer(const Bytes& data) {
    const uint64_t addr = card.bus.alloc(data.size(), "frame");
    card.bus.fill(addr, data);
    return addr;
  }
  void transmit(const Bytes& frame) {
    card.driver.post_tx(txq, buffer(frame), static_cast<uint32_t>(frame.size()));
    card.driver.publish(&txq->wq);
  }
  /// The next frame on the wire, without FCS.
  std::optional<Bytes> sent() {
    world.settle(20 * kMicro);
    const RxFrame f = wire.b.rx_peek();
    if (!f.data) return {};
    Bytes frame(f.data, f.data + f.len - 4);
    wire.b.rx_release();
    return frame;
  }
  std::optional<verna_cqe> done(RingHandle* cq) {
    verna_cqe cqe;
    world.settle(20 * kMicro);
    if (!card.driver.poll(cq, &cqe)) return {};
    return cqe;
  }
  /// Posts receive buffers of the given sizes; returns their addresses.
  std::vector<uint64_t> post_buffers(const std::vector<uint32_t>& sizes) {
    std::vector<uint64_t> out;
    for (uint32_t size : sizes) {
      out.push_back(card.bus.alloc(size, "receive buffer"));
      card.bus.fill(out.back(), Bytes(size, 0xa5));
      card.driver.post_rx(rxq, out.back(), size);
    }
    card.driver.publish(&rxq->wq);
    return out;
  }
  /// A frame to the card from somebody else.
  Bytes frame_to(const uint8_t (&dmac)[6], size_t len, uint64_t seed = 1) {
    const uint8_t smac[6] = {2, 9, 9, 9, 9, 9};
    return ethernet_frame(dmac, smac, 0x88b5, pattern(len - 14, seed));
  }
  void inject(const Bytes& frame) {
    wire.to_a.send(frame);
    world.settle(20 * kMicro);
  }
  bool saw_event(uint16_t type, uint32_t id) {
    verna_eqe eqe;
    bool seen = false;
    world.settle(20 * kMicro);
    while (card.driver.take_event(card.driver.eq0, &eqe)) seen |= eqe.type == type && eqe.id == id;
    return seen;
  }
  uint64_t eth(verna_eth_counter c) const { return card.eth_counter(c); }
  uint64_t port(verna_port_counter c) const { return card.port_counter(c); }
  void TearDown() override { EXPECT_EQ(card.check_conservation(), ""); }

  RingHandle* tx_cq;
  RingHandle* rx_cq;
  EthQueue* txq;
  EthQueue* rxq;
};

}  // namespace verna::test
