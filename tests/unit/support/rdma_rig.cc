// SPDX-License-Identifier: GPL-2.0-or-later
#include "support/rdma_rig.h"

#include <algorithm>

#include "support/fail.h"

namespace verna::test {

RdmaRig::RdmaRig(NicConfig config) : wire(world.clock), card(world, wire.a, 1, config) {
  world.add(&wire);
  card.driver.bring_up();
  set_gids(card);
  pd = card.driver.create_pd();
  card.driver.set_rx_mode(VERNA_RX_MODE_ENABLE);
}

QueuePair* RdmaRig::make_qp(uint8_t type, const Connection& how, uint8_t state, QpOptions options) {
  options.type = type;
  options.pdn = pd;
  QueuePair* qp =
      card.driver.create_qp(options, card.driver.create_cq(7), card.driver.create_cq(7));
  if (state == VERNA_QPS_RESET) return qp;
  if (type == VERNA_QP_UD || type == VERNA_QP_GSI) {
    bring_ud_to_rts(card, qp, kQkey, state);
  } else {
    bring_to_rts(card, qp, peer, kPeerQpn, how, state);
  }
  return qp;
}

RocePacket RdmaRig::packet(const QueuePair* qp, uint8_t opcode, uint32_t psn, Bytes payload) const {
  RocePacket p;
  std::copy_n(card.mac, 6, p.dmac);
  std::copy_n(peer.mac, 6, p.smac);
  std::copy_n(peer.gid4, 16, p.sip);
  std::copy_n(card.gid4, 16, p.dip);
  p.opcode = opcode;
  p.dest_qpn = qp->qpn;
  p.psn = psn & 0xffffff;
  p.payload = std::move(payload);
  p.qkey = kQkey;
  p.src_qpn = kPeerQpn;
  return p;
}

void RdmaRig::inject(Bytes frame) {
  if (frame.size() < 60) frame.resize(60, 0);
  wire.to_a.send(std::move(frame));
}

void RdmaRig::deliver(const RocePacket& p) { deliver(p.build()); }

void RdmaRig::deliver(Bytes frame) {
  inject(std::move(frame));
  world.settle(20 * kMicro);
}

void RdmaRig::collect() {
  while (wire.b.rx_peek().data) {
    const RxFrame raw = wire.b.rx_peek();
    const Bytes frame(raw.data, raw.data + raw.len - 4);
    wire.b.rx_release();
    std::optional<RocePacket> p = parse_roce(frame);
    if (!p) {
      other_frames++;
      continue;
    }
    if (!p->icrc_ok) fail("the card sent a packet with a bad ICRC");
    if (!p->ip_checksum_ok) fail("the card sent a packet with a bad IP checksum");
    sent_.push_back(std::move(*p));
  }
}

std::optional<RocePacket> RdmaRig::sent() {
  collect();
  if (next_sent_ == sent_.size()) {
    world.settle(20 * kMicro);
    collect();
  }
  if (next_sent_ == sent_.size()) return {};
  return sent_[next_sent_++];
}

std::vector<RocePacket> RdmaRig::all_sent() {
  std::vector<RocePacket> out;
  while (auto p = sent()) out.push_back(std::move(*p));
  return out;
}

std::optional<verna_cqe> RdmaRig::completion(RingHandle* cq) {
  verna_cqe cqe;
  if (card.driver.poll(cq, &cqe)) return cqe;
  world.settle(20 * kMicro);
  if (card.driver.poll(cq, &cqe)) return cqe;
  return {};
}

std::vector<verna_eqe> RdmaRig::events() {
  world.settle(20 * kMicro);
  std::vector<verna_eqe> out;
  verna_eqe eqe;
  while (card.driver.take_event(card.driver.eq0, &eqe)) out.push_back(eqe);
  return out;
}

bool RdmaRig::saw_event(verna_event_type type, uint32_t id) {
  const std::vector<verna_eqe> list = events();
  return std::any_of(list.begin(), list.end(),
                     [&](const verna_eqe& e) { return e.type == type && e.id == id; });
}

}  // namespace verna::test
