// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/tx_queue.h"

namespace verna {
namespace {

constexpr uint32_t kMacHeader = 14;

/// No offload is offered yet, so none of its fields may be used.
bool uses_offload(const verna_tx_desc& d) {
  return (d.flags & ~VERNA_TX_F_EOP) || d.vlan_tci || d.csum_start || d.csum_offset || d.mss ||
         d.hdr_len || d.l3_offset || d.outer_l3_offset || d.outer_l4_offset;
}

bool is_bad(const verna_tx_desc& d) {
  return d.len == 0 || d.len > kMaxBufferBytes || d.reserved || uses_offload(d);
}

}  // namespace

TxQueue::Init TxQueue::init(EthQueueSetup setup) {
  id_ = setup.id;
  fn_ = setup.fn;
  uar_ = setup.uar;
  memory_ = std::move(setup.memory);
  if (!ring_.init(&context_.bus, fn_, &memory_, setup.layout)) return Init::kBadLayout;
  if (!ring_.set_need_doorbell(true)) return Init::kDmaFault;
  cq_ = setup.cq;
  cq_->users++;
  return Init::kOk;
}

bool TxQueue::poll(Nanos) {
  if (stopped_) return false;
  if (!ring_.refresh()) {
    stop();
    return false;
  }
  return ring_.available() > incomplete_;
}

TxSource::Result TxQueue::transmit(uint32_t byte_budget, Nanos now) {
  if (stopped_ || !poll(now)) return Result::kIdle;
  int64_t left = byte_budget;
  Step step = Step::kSent;
  while (left > 0 && step == Step::kSent) {
    uint32_t bytes = 0;
    step = send_one(&bytes, now);
    left -= bytes + kFrameCost;
    if (unreported_ >= kBatch) complete(now);
  }
  complete(now);
  if (step == Step::kSent) return Result::kMore;
  return step == Step::kWireFull ? Result::kWireFull : Result::kIdle;
}

/// Sends or refuses the packet at the head of the ring.
TxQueue::Step TxQueue::send_one(uint32_t* bytes, Nanos now) {
  Packet packet;
  const Step step = collect(&packet);
  if (step != Step::kSent) return step;

  context_.trace.next_packet();
  context_.trace.point(Stage::kTxFetch, id_, ring_.next_index());
  if (packet.bad || packet.bytes < kMacHeader || packet.bytes > context_.mtu + VERNA_ETH_OVERHEAD) {
    refuse(packet, VERNA_CQE_ETH_DESC_ERR, VERNA_ETH_tx_drop_desc, now);
    return Step::kSent;
  }
  const auto length = static_cast<uint32_t>(packet.bytes);
  uint8_t* frame = context_.wire.reserve(length);
  if (!frame) return Step::kWireFull;
  if (!gather(packet, frame)) {
    refuse(packet, VERNA_CQE_ETH_DMA_ERR, VERNA_ETH_tx_drop_dma, now);
    return Step::kSent;
  }
  context_.trace.point(Stage::kTxSend, id_, length);
  finish(packet, context_.wire.commit(length));
  *bytes = length;
  return Step::kSent;
}

/// Copies descriptors up to EOP. kSent means that the packet is whole.
TxQueue::Step TxQueue::collect(Packet* packet) {
  for (uint32_t i = 0; i < kMaxTxFrags; i++) {
    if (i >= ring_.available() && !ring_.refresh()) {
      stop();
      return Step::kStopped;
    }
    if (i >= ring_.available()) {
      incomplete_ = i;
      return Step::kIncomplete;
    }
    const uint8_t* entry = ring_.entry(i);
    if (!entry) {
      stop();
      return Step::kStopped;
    }
    verna_tx_desc& d = packet->frags[i];
    std::memcpy(&d, entry, sizeof d);
    packet->bytes += d.len;
    packet->bad |= is_bad(d);
    if (d.flags & VERNA_TX_F_EOP) {
      packet->count = i + 1;
      incomplete_ = 0;
      return Step::kSent;
    }
  }
  stop();  // where the next packet begins is not known
  return Step::kStopped;
}

bool TxQueue::gather(const Packet& packet, uint8_t* frame) {
  for (uint32_t i = 0; i < packet.count; i++) {
    const verna_tx_desc& d = packet.frags[i];
    if (!context_.bus.read(fn_, d.addr, frame, d.len)) return false;
    frame += d.len;
  }
  return true;
}

/// The packets before it must be seen to have gone well, so they get their own CQE.
void TxQueue::refuse(const Packet& packet, verna_cqe_status status, verna_eth_counter reason,
                     Nanos now) {
  complete(now);
  context_.counters.eth[reason]++;
  context_.trace.point(Stage::kDrop, VERNA_COUNTERS_ETH << 16 | reason, packet.bytes);
  counters[VERNA_TXQ_drops]++;
  const uint32_t eop = ring_.next_index() + packet.count - 1;
  ring_.consume(packet.count);
  write_cqe(eop, status, now);
}

void TxQueue::finish(const Packet& packet, bool sent) {
  if (sent) {
    context_.counters.eth[VERNA_ETH_tx_packets]++;
    context_.counters.eth[VERNA_ETH_tx_bytes] += packet.bytes;
    counters[VERNA_TXQ_packets]++;
    counters[VERNA_TXQ_bytes] += packet.bytes;
  } else {
    context_.counters.eth[VERNA_ETH_tx_drop_link_down]++;
    counters[VERNA_TXQ_drops]++;
  }
  last_done_ = ring_.next_index() + packet.count - 1;
  ring_.consume(packet.count);
  unreported_++;
}

void TxQueue::complete(Nanos now) {
  if (unreported_ == 0) return;
  unreported_ = 0;
  write_cqe(last_done_, VERNA_CQE_OK, now);
}

void TxQueue::write_cqe(uint32_t index, verna_cqe_status status, Nanos now) {
  verna_cqe cqe{};
  cqe.id = id_;
  cqe.wqe_index = index;
  cqe.opcode = VERNA_CQE_ETH_TX;
  cqe.status = status;
  cqe.timestamp = now;
  context_.trace.point(Stage::kComplete, cq_->cqn(), uint64_t{status} << 32 | index);
  counters[VERNA_TXQ_completions]++;
  if (!cq_->push(&cqe, status != VERNA_CQE_OK)) stop();
}

bool TxQueue::arm_doorbell(Nanos now) {
  if (stopped_) return true;
  if (!ring_.set_need_doorbell(true)) {
    stop();
    return true;
  }
  if (!poll(now)) return true;
  disarm_doorbell();
  return false;
}

void TxQueue::disarm_doorbell() {
  if (!stopped_ && !ring_.set_need_doorbell(false)) stop();
}

void TxQueue::stop() {
  if (stopped_) return;
  stopped_ = true;
  context_.events.post_event(cq_->eqn(), VERNA_EVENT_TXQ_ERROR, fn_, id_, 0);
}

}  // namespace verna
