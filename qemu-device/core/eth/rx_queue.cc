// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/rx_queue.h"

#include <algorithm>

#include "eth/rx_checksum.h"
#include "eth/vlan_filter.h"

namespace verna {
namespace {

/// What a completion tells of a packet.
void describe(const HeldFrame& packet, verna_cqe* cqe) {
  cqe->byte_len = packet.bytes();
  if (packet.hashed) {
    cqe->flags |= VERNA_CQE_F_HASH;
    cqe->rss_hash = packet.hash;
    if (packet.hash_l4) cqe->rx_flags |= VERNA_CQE_RX_HASH_L4;
  }
  if (packet.mark) {
    cqe->rx_flags |= VERNA_CQE_RX_MARK;
    cqe->imm = packet.mark;
  }
  if (packet.origin.valid) {
    cqe->rx_flags |= VERNA_CQE_RX_VPORT;
    cqe->src_qp = packet.origin.chain;
    cqe->pkey_index = packet.origin.vport;
  }
  if (packet.stripped) {
    cqe->flags |= VERNA_CQE_F_VLAN;
    cqe->vlan_tci = packet.vlan_tci;
    if (packet.stripped_s) cqe->rx_flags |= VERNA_CQE_RX_SVLAN;
  }
  cqe->rx_flags |= VERNA_CQE_RX_CSUM;
  cqe->csum = csum_fold(packet.sum);
  cqe->csum_ok = packet.csum_ok;
  if (packet.csum_bad) cqe->rx_flags |= VERNA_CQE_RX_CSUM_BAD;
  if (packet.frames() == 1) return;
  cqe->gro_segs = static_cast<uint16_t>(packet.frames());
  cqe->gro_size = packet.merge.mss;
  if (packet.merge.fixed_ids & 1) cqe->rx_flags |= VERNA_CQE_RX_FIXED_ID;
  if (packet.merge.fixed_ids & 2) cqe->rx_flags |= VERNA_CQE_RX_INNER_FIXED_ID;
}

}  // namespace

RxQueue::RxQueue(EthContext& context)
    : context_(context),
      merger_(context.rx, [this](const HeldFrame& packet, Nanos now) { deliver(packet, now); }),
      timer_(
          context.rx.timers,
          [](void* queue, Nanos now) {
            auto* self = static_cast<RxQueue*>(queue);
            self->set_timer(self->merger_.flush_old(now));
          },
          this) {}

RxQueue::~RxQueue() {
  uint64_t lost = 0;
  merger_.discard(&lost);
  context_.counters.eth[VERNA_ETH_rx_drop_no_queue] += lost;
  if (cq_) cq_->users--;
}

TxQueue::Init RxQueue::init(EthQueueSetup setup) {
  id_ = setup.id;
  fn_ = setup.fn;
  uar_ = setup.uar;
  memory_ = std::move(setup.memory);
  if (!ring_.init(&context_.bus, fn_, &memory_, setup.layout)) return TxQueue::Init::kBadLayout;
  // The index is read when a packet finds too few buffers: no doorbell, ever.
  if (!ring_.set_need_doorbell(true) || !ring_.set_need_doorbell(false))
    return TxQueue::Init::kDmaFault;
  cq_ = setup.cq;
  cq_->users++;
  return TxQueue::Init::kOk;
}

/// A private copy of the frame with all that the completion tells, or null: no memory.
HeldFrame* RxQueue::hold(const PacketView& packet, const Rss::Choice& choice) {
  const bool strip = VlanFilter::strips(packet, context_.rx.features);
  HeldFrame* frame = context_.rx.frames.take(packet, strip);
  if (!frame) {
    context_.rx.reclaim();
    frame = context_.rx.frames.take(packet, strip);
  }
  if (!frame) return nullptr;
  frame->stripped_s = frame->stripped && VlanFilter::is_service(packet);
  frame->vlan_tci = packet.vlan_tci;
  frame->hashed = choice.hashed;
  frame->hash_l4 = choice.l4;
  frame->hash = choice.hash;
  frame->mark = choice.mark ? choice.mark : packet.origin.mark;
  frame->origin = packet.origin;
  check_sums(frame);
  return frame;
}

void RxQueue::receive(const PacketView& packet, const Rss::Choice& choice, Nanos now) {
  HeldFrame* frame = hold(packet, choice);
  if (!frame) {
    context_.counters.eth[VERNA_ETH_rx_drop_no_buffer]++;
    counters[VERNA_RXQ_drops]++;
    return;
  }
  // What software is to decide it gets as it came.
  const bool whole = packet.origin.is_function();
  if (context_.rx.features & VERNA_ETH_ON_MERGE && !whole) return merge(frame, now);
  deliver(*frame, now);
  context_.rx.frames.give(frame);
}

/// What is held takes buffers only when it is delivered; so that they are there then, no more is
/// held than would fit now.
void RxQueue::merge(HeldFrame* frame, Nanos now) {
  if (!has_buffers_for(frame->len)) merger_.flush(now);
  merger_.take(frame, now);
  if (context_.rx.merge_ns && !timer_.pending()) set_timer(merger_.deadline());
}

void RxQueue::set_timer(Nanos deadline) {
  if (deadline != kNever) timer_.set(deadline);
}

/// Whether all that is held, and `more_bytes`, would find buffers if all are as long as the last.
bool RxQueue::has_buffers_for(uint32_t more_bytes) {
  if (merger_.empty() || buffer_bytes_ == 0) return true;
  const uint64_t need = (merger_.bytes() + more_bytes) / buffer_bytes_ + merger_.packets() + 1;
  return need <= ring_.available() || (ring_.refresh() && need <= ring_.available());
}

void RxQueue::deliver(const HeldFrame& packet, Nanos now) {
  count(packet, place(packet, now));
  context_.rx_short |= context_.watch_buffers && nearly_empty();
}

/// Every frame ends in one counter, those of a merged packet all in the same.
void RxQueue::count(const HeldFrame& packet, verna_eth_counter outcome) {
  auto& eth = context_.counters.eth;
  const uint32_t frames = packet.frames();
  eth[outcome] += frames;
  if (outcome != VERNA_ETH_rx_packets) {
    counters[VERNA_RXQ_drops] += frames;
    context_.trace.point(Stage::kDrop, VERNA_COUNTERS_ETH << 16 | outcome, packet.bytes());
    return;
  }
  eth[VERNA_ETH_rx_bytes] += packet.wire_bytes();
  if (packet.data[0] & 1) eth[VERNA_ETH_rx_multicast] += frames;
  if (packet.csum_bad)
    eth[VERNA_ETH_rx_csum_bad]++;
  else if (packet.csum_ok)
    eth[VERNA_ETH_rx_csum_ok] += frames;
  counters[VERNA_RXQ_packets] += frames;
  counters[VERNA_RXQ_bytes] += packet.wire_bytes();
  counters[VERNA_RXQ_csum_bad] += packet.csum_bad;
  if (frames == 1) return;
  eth[VERNA_ETH_rx_merged_packets]++;
  eth[VERNA_ETH_rx_merged_wire_packets] += frames;
  counters[VERNA_RXQ_merged_packets]++;
  counters[VERNA_RXQ_merged_wire_packets] += frames;
}

verna_eth_counter RxQueue::place(const HeldFrame& packet, Nanos now) {
  if (stopped_) return VERNA_ETH_rx_drop_no_queue;
  if (!cq_->has_room()) return VERNA_ETH_rx_drop_no_cqe;
  Buffers buffers;
  const verna_eth_counter found = collect(packet.bytes(), &buffers);
  if (found == VERNA_ETH_rx_drop_desc) {
    write_cqe(nullptr, buffers.count, VERNA_CQE_ETH_DESC_ERR, now);
    ring_.consume(buffers.count);
  }
  if (found != VERNA_ETH_rx_packets) return found;

  context_.trace.point(Stage::kRxDeliver, id_, ring_.next_index());
  const bool placed = scatter(packet, buffers);
  const bool reported = write_cqe(placed ? &packet : nullptr, buffers.count,
                                  placed ? VERNA_CQE_OK : VERNA_CQE_ETH_DMA_ERR, now);
  ring_.consume(buffers.count);
  if (!placed) return VERNA_ETH_rx_drop_dma;
  return reported ? VERNA_ETH_rx_packets : VERNA_ETH_rx_drop_no_cqe;
}

bool RxQueue::nearly_empty() {
  const uint32_t few = ring_.size() / 8;
  if (stopped_ || ring_.available() >= few) return false;
  return ring_.refresh() && ring_.available() < few;
}

/// Copies descriptors until their buffers hold `len` bytes. Returns rx_packets if they do.
verna_eth_counter RxQueue::collect(uint32_t len, Buffers* buffers) {
  uint64_t room = 0;
  while (room < len) {
    const uint32_t i = buffers->count;
    if (i >= ring_.available() && !ring_.refresh()) {
      stop();
      return VERNA_ETH_rx_drop_no_queue;
    }
    if (i >= ring_.available()) return VERNA_ETH_rx_drop_no_buffer;
    const uint8_t* entry = ring_.entry(i);
    if (!entry) {
      stop();
      return VERNA_ETH_rx_drop_no_queue;
    }
    verna_rx_desc& d = buffers->desc[buffers->count++];
    std::memcpy(&d, entry, sizeof d);
    if (d.len < kMinRxBufferBytes || d.len > kMaxBufferBytes || d.reserved)
      return VERNA_ETH_rx_drop_desc;
    buffer_bytes_ = d.len;
    room += d.len;
  }
  return VERNA_ETH_rx_packets;
}

bool RxQueue::scatter(const HeldFrame& packet, const Buffers& buffers) {
  uint32_t index = 0;
  uint32_t used = 0;  // of that buffer
  const auto write = [&](const uint8_t* bytes, uint32_t n) {
    while (n > 0) {
      if (used == buffers.desc[index].len) {
        index++;
        used = 0;
      }
      const verna_rx_desc& d = buffers.desc[index];
      const uint32_t piece = std::min(n, d.len - used);
      if (!context_.bus.write(fn_, d.addr + used, bytes, piece)) return false;
      bytes += piece;
      n -= piece;
      used += piece;
    }
    return true;
  };
  return packet.each_piece(write);
}

/// Completes `count` buffers from the head; `packet` is null if they hold none.
bool RxQueue::write_cqe(const HeldFrame* packet, uint32_t count, verna_cqe_status status,
                        Nanos now) {
  verna_cqe cqe{};
  cqe.id = id_;
  cqe.wqe_index = ring_.next_index();
  cqe.opcode = VERNA_CQE_ETH_RX;
  cqe.status = status;
  cqe.timestamp = now;
  cqe.num_bufs = static_cast<uint16_t>(count);
  if (packet) describe(*packet, &cqe);
  context_.trace.point(Stage::kComplete, cq_->cqn(), uint64_t{status} << 32 | cqe.wqe_index);
  return cq_->push(&cqe, status != VERNA_CQE_OK);
}

void RxQueue::stop() {
  if (stopped_) return;
  stopped_ = true;
  context_.events.post_event(cq_->eqn(), VERNA_EVENT_RXQ_ERROR, fn_, id_, 0);
}

}  // namespace verna
