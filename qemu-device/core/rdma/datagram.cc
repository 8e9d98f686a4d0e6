// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/datagram.h"

#include <cstring>

#include "rdma/completer.h"

namespace verna {
namespace {

constexpr uint32_t kMaxDatagram = 4096;
constexpr uint32_t kOwnQkey = 0x80000000;  // in a request's Q_Key: the QP's own is used

}  // namespace

TxSource::Result DatagramSender::transmit(int64_t* budget, Nanos now) {
  while (*budget > 0) {
    if (!has_work()) return TxSource::Result::kIdle;
    switch (send_next(budget, now)) {
      case Step::kSent:
        break;
      case Step::kWireFull:
        return TxSource::Result::kWireFull;
      case Step::kEnded:
        return TxSource::Result::kIdle;
    }
  }
  return has_work() ? TxSource::Result::kMore : TxSource::Result::kIdle;
}

bool DatagramSender::set_path() {
  if (av_valid_ && std::memcmp(&av_, &wqe_.av, sizeof av_) == 0)
    return ctx_.path.refresh(ctx_.services);
  av_ = wqe_.av;
  av_valid_ = true;
  return ctx_.path.set(ctx_.services, av_, default_udp_sport(ctx_.qpn, wqe_.remote_qpn));
}

verna_cqe_status DatagramSender::check() {
  const verna_av& av = wqe_.av;
  if (av.sl > 7 || av.flow_label > 0xfffff || (av.udp_sport != 0 && av.udp_sport < 0xc000))
    return VERNA_CQE_LOC_QP_OP_ERR;
  if (!set_path()) return VERNA_CQE_LOC_QP_OP_ERR;
  const FrameTemplate& path = ctx_.path.frame();
  const uint64_t ip_len = wqe_.length + (path.length - path.l3) + kBthSize + 8 + 4 + 3 + kIcrcSize;
  if (wqe_.length > kMaxDatagram || ip_len > ctx_.services.mtu) return VERNA_CQE_LOC_LEN_ERR;
  if (!wqe_.sge.check(ctx_.services.memory, ctx_.accessor(), 0)) return VERNA_CQE_LOC_PROT_ERR;
  return VERNA_CQE_OK;
}

DatagramSender::Step DatagramSender::fail(verna_cqe_status status, Nanos now) {
  const uint32_t index = ctx_.sq.next_index();
  ctx_.sq.consume();
  completer_.fail_local(index, send_cqe_opcode(wqe_.opcode), status, now);
  return Step::kEnded;
}

DatagramSender::Step DatagramSender::send_next(int64_t* budget, Nanos now) {
  ctx_.trace().next_packet();
  const uint8_t* raw = ctx_.sq.entry();
  if (!raw) {
    ctx_.enter_fatal();
    return Step::kEnded;
  }
  const SendRules rules{ctx_.type, ctx_.sq.stride(), ctx_.services.limits.max_send_sge,
                        ctx_.max_inline};
  verna_cqe_status status = decode_send_wqe(raw, rules, &wqe_);
  if (status == VERNA_CQE_OK) status = check();
  if (status != VERNA_CQE_OK) return fail(status, now);

  const uint32_t index = ctx_.sq.next_index();
  ctx_.trace().point(Stage::kTxFetch, ctx_.qpn, index);
  BthFields bth{};
  bth.opcode = kServiceUd | (wqe_.opcode == VERNA_WR_SEND_WITH_IMM ? kSendOnlyImm : kSendOnly);
  bth.solicited = wqe_.flags & VERNA_WR_F_SOLICITED;
  bth.dest_qpn = wqe_.remote_qpn;
  bth.psn = psn_;
  const uint32_t payload = static_cast<uint32_t>(wqe_.length);
  const uint32_t len = roce_frame_len(ctx_.path.frame(), bth.opcode, payload);
  uint8_t* frame = ctx_.path.mac().reserve(len);
  if (!frame) return Step::kWireFull;
  if (fill(bth, payload, frame) != Access::kOk) return fail(VERNA_CQE_LOC_PROT_ERR, now);
  ctx_.commit(bth, len);
  *budget -= len;
  psn_ = psn_add(psn_, 1);
  ctx_.sq.consume();
  completer_.complete_local(index, wqe_, now);
  return Step::kSent;
}

Access DatagramSender::fill(const BthFields& bth, uint32_t payload, uint8_t* frame) {
  const FrameTemplate& path = ctx_.path.frame();
  const uint32_t qkey = wqe_.remote_qkey & kOwnQkey ? ctx_.qkey() : wqe_.remote_qkey;
  uint8_t* p = put_deth(begin_roce_frame(path, bth, payload, frame), qkey, ctx_.qpn);
  if (op_info(bth.opcode).has(kOpImm)) {
    store_le(p, wqe_.imm);
    p += 4;
  }
  Access access = Access::kOk;
  if (wqe_.is_inline())
    std::memcpy(p, wqe_.inline_data.data(), payload);
  else
    access = wqe_.sge.gather(ctx_.services.memory, ctx_.accessor(), p, payload);
  finish_roce_frame(path, bth.opcode, payload, frame);
  return access;
}

/// A receive request with room for the packet. False: the packet was counted.
bool DatagramReceiver::take(const RocePacket& packet, Nanos now) {
  switch (recv_.take()) {
    case RecvRequest::Take::kTaken:
      break;
    case RecvRequest::Take::kEmpty:
      ctx_.services.drop(VERNA_RDMA_rx_drop_no_wqe, packet.view->len);
      return false;
    case RecvRequest::Take::kMalformed:
      recv_.fail(VERNA_CQE_LOC_QP_OP_ERR, now);
      ctx_.enter_error();
      [[fallthrough]];
    case RecvRequest::Take::kFatal:
      ctx_.services.drop(VERNA_RDMA_rx_drop_error, packet.view->len);
      return false;
  }
  if (recv_.room() < VERNA_GRH_SIZE + packet.payload_len) {
    ctx_.services.drop(VERNA_RDMA_rx_drop_length, packet.view->len);
    return false;
  }
  return true;
}

void DatagramReceiver::receive(const RocePacket& packet, Nanos now) {
  if (!take(packet, now)) return;
  const PacketView& view = *packet.view;
  uint8_t header[VERNA_GRH_SIZE] = {};
  if (view.ip_version == 4)
    std::memcpy(header + 20, view.hdr + view.l3, 20);
  else
    std::memcpy(header, view.hdr + view.l3, VERNA_GRH_SIZE);
  if (!recv_.check() || recv_.place(header, sizeof header) != Access::kOk ||
      recv_.place(packet.payload, packet.payload_len) != Access::kOk) {
    recv_.fail(VERNA_CQE_LOC_PROT_ERR, now);
    ctx_.enter_error();
    ctx_.services.drop(VERNA_RDMA_rx_drop_protection, view.len);
    return;
  }
  ctx_.count(VERNA_RDMA_rx_accepted);
  ctx_.trace().point(Stage::kRdmaExecute, ctx_.qpn, packet.payload_len);
  complete(packet, now);
}

void DatagramReceiver::complete(const RocePacket& packet, Nanos now) {
  const PacketView& view = *packet.view;
  verna_cqe cqe = make_cqe(0, VERNA_CQE_RECV, VERNA_CQE_OK);
  cqe.byte_len = VERNA_GRH_SIZE + packet.payload_len;
  cqe.flags = VERNA_CQE_F_GRH;
  cqe.src_qp = packet.src_qpn;
  std::memcpy(cqe.smac, view.smac(), sizeof cqe.smac);
  if (view.ip_version == 4) cqe.flags |= VERNA_CQE_F_IPV4;
  if (view.has_vlan) {
    cqe.flags |= VERNA_CQE_F_VLAN;
    cqe.vlan_tci = view.vlan_tci;
    cqe.sl = static_cast<uint8_t>(view.vlan_tci >> 13);
  }
  if (packet.op->has(kOpImm)) {
    cqe.flags |= VERNA_CQE_F_IMM;
    cqe.imm = packet.imm;
  }
  if (packet.solicited) cqe.flags |= VERNA_CQE_F_SOLICITED;
  recv_.complete(&cqe, packet.solicited, now);
}

}  // namespace verna
