// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/rx_queue.h"

#include <algorithm>

namespace verna {

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

verna_eth_counter RxQueue::deliver(const PacketView& packet, const Rss::Choice& choice, Nanos now) {
  const verna_eth_counter outcome = place(packet, choice, now);
  context_.counters.eth[outcome]++;
  context_.rx_short |= context_.watch_buffers && nearly_empty();
  if (outcome != VERNA_ETH_rx_packets) {
    counters[VERNA_RXQ_drops]++;
    context_.trace.point(Stage::kDrop, VERNA_COUNTERS_ETH << 16 | outcome, packet.len);
    return outcome;
  }
  context_.counters.eth[VERNA_ETH_rx_bytes] += packet.len;
  if (packet.is_group()) context_.counters.eth[VERNA_ETH_rx_multicast]++;
  counters[VERNA_RXQ_packets]++;
  counters[VERNA_RXQ_bytes] += packet.len;
  return outcome;
}

verna_eth_counter RxQueue::place(const PacketView& packet, const Rss::Choice& choice, Nanos now) {
  if (stopped_) return VERNA_ETH_rx_drop_no_queue;
  if (!cq_->has_room()) return VERNA_ETH_rx_drop_no_cqe;
  Buffers buffers;
  const verna_eth_counter found = collect(packet.len, &buffers);
  if (found == VERNA_ETH_rx_drop_desc) {
    write_cqe(nullptr, choice, buffers.count, VERNA_CQE_ETH_DESC_ERR, now);
    ring_.consume(buffers.count);
  }
  if (found != VERNA_ETH_rx_packets) return found;

  context_.trace.point(Stage::kRxDeliver, id_, ring_.next_index());
  const bool placed = scatter(packet, buffers);
  const bool reported = write_cqe(placed ? &packet : nullptr, choice, buffers.count,
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
    room += d.len;
  }
  return VERNA_ETH_rx_packets;
}

bool RxQueue::scatter(const PacketView& packet, const Buffers& buffers) {
  uint32_t done = 0;
  for (uint32_t i = 0; i < buffers.count; i++) {
    const uint32_t n = std::min<uint32_t>(buffers.desc[i].len, packet.len - done);
    if (!context_.bus.write(fn_, buffers.desc[i].addr, packet.data + done, n)) return false;
    done += n;
  }
  return true;
}

/// Completes `count` buffers from the head; `packet` is null if they hold none.
bool RxQueue::write_cqe(const PacketView* packet, const Rss::Choice& choice, uint32_t count,
                        verna_cqe_status status, Nanos now) {
  verna_cqe cqe{};
  cqe.id = id_;
  cqe.wqe_index = ring_.next_index();
  cqe.opcode = VERNA_CQE_ETH_RX;
  cqe.status = status;
  cqe.timestamp = now;
  cqe.num_bufs = static_cast<uint16_t>(count);
  if (packet) cqe.byte_len = packet->len;
  if (packet && choice.hashed) {
    cqe.flags |= VERNA_CQE_F_HASH;
    cqe.rss_hash = choice.hash;
  }
  context_.trace.point(Stage::kComplete, cq_->cqn(), uint64_t{status} << 32 | cqe.wqe_index);
  return cq_->push(&cqe, status != VERNA_CQE_OK);
}

void RxQueue::stop() {
  if (stopped_) return;
  stopped_ = true;
  context_.events.post_event(cq_->eqn(), VERNA_EVENT_RXQ_ERROR, fn_, id_, 0);
}

}  // namespace verna
