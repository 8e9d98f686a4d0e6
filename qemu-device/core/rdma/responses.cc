// SPDX-License-Identifier: GPL-2.0-or-later
#include "rdma/responses.h"

#include <algorithm>

namespace verna {
namespace {

uint8_t read_response_opcode(bool first, bool last) {
  if (last) return first ? kReadResponseOnly : kReadResponseLast;
  return first ? kReadResponseFirst : kReadResponseMiddle;
}

}  // namespace

void Responses::reset() {
  ack_.clear();
  begin_ = end_ = 0;
  pending_ = 0;
}

ResponderResource* Responses::find(uint32_t psn) {
  for (uint32_t i = begin_; i != end_; i++) {
    if (psn_distance(slot(i).first_psn, psn) < slot(i).span) return &slot(i);
  }
  return nullptr;
}

void Responses::mark_pending(ResponderResource* resource, bool pending) {
  if (resource->pending == pending) return;
  resource->pending = pending;
  pending_ += pending ? 1 : -1u;
}

void Responses::finish(ResponderResource* resource) {
  resource->answered = true;
  mark_pending(resource, false);
}

ResponderResource* Responses::oldest_pending() {
  for (uint32_t i = begin_; i != end_; i++) {
    if (slot(i).pending) return &slot(i);
  }
  return nullptr;
}

bool Responses::has_room() const {
  const uint32_t most = ctx_.attr.max_dest_rd_atomic;
  if (most == 0) return false;
  // The oldest one may be answered a second time just now; that its requester goes on shows that it
  // has the answer.
  return end_ - begin_ < most || table_[begin_ % kMax].answered;
}

ResponderResource& Responses::append() {
  if (table_.empty()) table_.resize(kMax);
  while (end_ - begin_ >= std::min<uint32_t>(ctx_.attr.max_dest_rd_atomic, kMax)) {
    mark_pending(&slot(begin_), false);
    begin_++;
  }
  ResponderResource& resource = slot(end_++);
  resource = ResponderResource{};
  mark_pending(&resource, true);
  return resource;
}

void Responses::add_read(uint32_t psn, uint32_t span, uint32_t msn, uint32_t rkey, uint64_t va,
                         uint32_t length) {
  ResponderResource& r = append();
  r.first_psn = r.next_psn = psn;
  r.span = span;
  r.msn = msn;
  r.rkey = rkey;
  r.va = r.next_va = va;
  r.length = r.left = length;
}

void Responses::add_atomic(uint32_t psn, uint32_t msn, uint64_t original) {
  ResponderResource& r = append();
  r.first_psn = r.next_psn = psn;
  r.span = 1;
  r.msn = msn;
  r.atomic = true;
  r.original = original;
}

bool Responses::repeat_read(const RocePacket& packet) {
  ResponderResource* r = find(packet.psn);
  if (!r || r->atomic) return false;
  const uint32_t k = psn_distance(r->first_psn, packet.psn);
  if (packet.dma_len > 0) {
    const uint64_t offset = packet.va - r->va;
    if (packet.rkey != r->rkey || packet.va < r->va || offset > r->length ||
        packet.dma_len > r->length - offset)
      return false;
  } else if (r->length > 0) {
    return false;
  }
  const uint64_t capacity = uint64_t{r->span - k} * ctx_.mtu();
  if (packet.dma_len > capacity) return false;
  // What was not sent yet will come anyhow.
  if (r->pending && psn_distance(r->first_psn, r->next_psn) <= k) return true;
  r->next_psn = packet.psn;
  r->next_va = packet.va;
  r->left = packet.dma_len;
  r->started = false;
  r->again = true;
  mark_pending(r, true);
  return true;
}

bool Responses::repeat_atomic(const RocePacket& packet) {
  ResponderResource* r = find(packet.psn);
  if (!r || !r->atomic) return false;
  r->again = true;
  mark_pending(r, true);
  return true;
}

TxSource::Result Responses::transmit(int64_t* budget, uint32_t executed, uint32_t msn,
                                     Nanos /*now*/) {
  if (!ctx_.path.refresh(ctx_.services)) {
    reset();
    return TxSource::Result::kIdle;
  }
  while (ResponderResource* resource = pending_ ? oldest_pending() : nullptr) {
    if (*budget <= 0) return TxSource::Result::kMore;
    const uint32_t last = psn_add(resource->first_psn, resource->span - 1);
    switch (send_response(*resource, budget)) {
      case Step::kWireFull:
        return TxSource::Result::kWireFull;
      case Step::kFailed:
        for (uint32_t i = begin_; i != end_; i++) mark_pending(&slot(i), false);
        ctx_.enter_error();
        break;
      case Step::kSent:
        // The answer to the last request acknowledges all before it.
        if (!resource->pending && last == executed && !ack_.is_nak()) ack_.clear();
        break;
    }
  }
  if (ack_.pending() && send_ack(executed, msn, budget) == Step::kWireFull)
    return TxSource::Result::kWireFull;
  return TxSource::Result::kIdle;
}

Responses::Step Responses::send_response(ResponderResource& resource, int64_t* budget) {
  ctx_.trace().next_packet();
  return resource.atomic ? send_atomic(resource, budget) : send_read_part(resource, budget);
}

/// One packet of a READ's answer. The region is looked up for each: it may have gone meanwhile.
Responses::Step Responses::send_read_part(ResponderResource& r, int64_t* budget) {
  const uint32_t payload = std::min(r.left, ctx_.mtu());
  BthFields bth{};
  bth.opcode = read_response_opcode(!r.started, r.left <= ctx_.mtu());
  bth.dest_qpn = ctx_.attr.dest_qpn;
  bth.psn = r.next_psn;
  const FrameTemplate& path = ctx_.path.frame();
  const uint32_t len = roce_frame_len(path, bth.opcode, payload);
  uint8_t* frame = ctx_.path.mac().reserve(len);
  if (!frame) return Step::kWireFull;
  uint8_t* p = begin_roce_frame(path, bth, payload, frame);
  if (op_info(bth.opcode).has(kOpAeth)) p = put_aeth(p, kAethAck, r.msn);
  const Access access = ctx_.services.memory.read(ctx_.accessor(), r.rkey, r.next_va, p, payload,
                                                  VERNA_ACCESS_REMOTE_READ);
  if (access != Access::kOk) {
    ack_.refuse(access == Access::kDenied ? kNakAccess : kNakOperation, r.next_psn);
    return Step::kFailed;
  }
  finish_roce_frame(path, bth.opcode, payload, frame);
  ctx_.commit(bth, len);
  *budget -= len;
  if (r.again) ctx_.count(VERNA_RDMA_tx_retransmits);
  r.started = true;
  r.next_psn = psn_add(r.next_psn, 1);
  r.next_va += payload;
  r.left -= payload;
  if (r.left == 0) finish(&r);
  return Step::kSent;
}

Responses::Step Responses::send_atomic(ResponderResource& r, int64_t* budget) {
  BthFields bth{};
  bth.opcode = kAtomicAcknowledge;
  bth.dest_qpn = ctx_.attr.dest_qpn;
  bth.psn = r.first_psn;
  const FrameTemplate& path = ctx_.path.frame();
  const uint32_t len = roce_frame_len(path, bth.opcode, 0);
  uint8_t* frame = ctx_.path.mac().reserve(len);
  if (!frame) return Step::kWireFull;
  uint8_t* p = put_aeth(begin_roce_frame(path, bth, 0, frame), kAethAck, r.msn);
  store_be64(p, r.original);
  finish_roce_frame(path, bth.opcode, 0, frame);
  ctx_.commit(bth, len);
  *budget -= len;
  if (r.again) ctx_.count(VERNA_RDMA_tx_retransmits);
  finish(&r);
  return Step::kSent;
}

Responses::Step Responses::send_ack(uint32_t executed, uint32_t msn, int64_t* budget) {
  ctx_.trace().next_packet();
  BthFields bth{};
  bth.opcode = kAcknowledge;
  bth.dest_qpn = ctx_.attr.dest_qpn;
  bth.psn = ack_.psn(executed);
  const FrameTemplate& path = ctx_.path.frame();
  const uint32_t len = roce_frame_len(path, bth.opcode, 0);
  uint8_t* frame = ctx_.path.mac().reserve(len);
  if (!frame) return Step::kWireFull;
  put_aeth(begin_roce_frame(path, bth, 0, frame), ack_.syndrome(), msn);
  finish_roce_frame(path, bth.opcode, 0, frame);
  ctx_.commit(bth, len);
  *budget -= len;
  ctx_.trace().point(Stage::kRdmaAck, ctx_.qpn, uint32_t{ack_.syndrome()} << 24 | bth.psn);
  count_ack();
  ack_.clear();
  return Step::kSent;
}

void Responses::count_ack() {
  const uint8_t syndrome = ack_.syndrome();
  if ((syndrome & kAethTypeMask) == kAethTypeRnr) {
    ctx_.count(VERNA_RDMA_tx_rnr_naks);
    return;
  }
  switch (syndrome) {
    case kNakSequence:
      return ctx_.count(VERNA_RDMA_tx_naks_seq);
    case kNakInvalid:
      return ctx_.count(VERNA_RDMA_tx_naks_inv);
    case kNakAccess:
      return ctx_.count(VERNA_RDMA_tx_naks_acc);
    case kNakOperation:
      return ctx_.count(VERNA_RDMA_tx_naks_op);
    default:
      return ctx_.count(VERNA_RDMA_tx_acks);
  }
}

}  // namespace verna
