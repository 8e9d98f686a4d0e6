// SPDX-License-Identifier: GPL-2.0-or-later
// Reception by a queue pair: may it have this packet, and which of its parts is it for.
#include "rdma/qp.h"

namespace verna {
namespace {

bool service_fits(verna_qp_type type, uint8_t opcode) {
  const uint8_t service = opcode & kServiceMask;
  switch (type) {
    case VERNA_QP_RC:
      return service == kServiceRc || opcode == kCnp;
    case VERNA_QP_UC:
      return service == kServiceUc || opcode == kCnp;
    default:
      return service == kServiceUd;
  }
}

/// The only partition is the default one, of which we are a full member: members of both kinds may
/// send.
bool pkey_fits(uint16_t pkey) { return (pkey & 0x7fff) == (kDefaultPkey & 0x7fff); }

}  // namespace

/// The checks that come before anything is executed, in the order of the rule table. False:
/// counted.
bool Qp::accept(const RocePacket& packet) {
  if (!ctx_.is_datagram()) ctx_.path.refresh(ctx_.services);
  const OpInfo& op = *packet.op;
  verna_rdma_counter reason;
  if (!service_fits(ctx_.type, packet.opcode))
    reason = VERNA_RDMA_rx_drop_qp_type;
  else if (op.has(kOpRequest) ? !ctx_.can_receive() : !ctx_.can_send())
    reason = VERNA_RDMA_rx_drop_qp_state;
  else if (!ctx_.is_datagram() && !ctx_.path.matches(*packet.view))
    reason = VERNA_RDMA_rx_drop_addr;
  else if (!pkey_fits(packet.pkey))
    reason = VERNA_RDMA_rx_drop_pkey;
  else if (ctx_.is_datagram() && packet.qkey != ctx_.qkey())
    reason = VERNA_RDMA_rx_drop_qkey;
  else if (!icrc_ok(packet))
    reason = VERNA_RDMA_rx_drop_icrc;
  else
    return true;
  ctx_.services.drop(reason, packet.view->len);
  return false;
}

void Qp::receive(const RocePacket& packet, Nanos now) {
  if (!accept(packet)) return;
  ctx_.trace().point(Stage::kRdmaIn, ctx_.qpn, uint32_t{packet.opcode} << 24 | packet.psn);
  if (ctx_.is_datagram())
    datagram_receiver_.receive(packet, now);
  else if (packet.op->has(kOpRequest))
    responder_.receive(packet, now);
  else
    completer_.receive(packet, now);
}

}  // namespace verna
