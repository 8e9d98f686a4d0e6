// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/tx_queue.h"

#include <utility>

#include "eth/tx_offload.h"
#include "eth/tx_request.h"

namespace verna {
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
  return in_progress_ || ring_.available() > incomplete_;
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
  if (step == Step::kPaced) return later(pace_.ready_at());
  return step == Step::kWireFull ? Result::kWireFull : Result::kIdle;
}

/// Sends the next frame of the packet at the head of the ring, or refuses the packet.
TxQueue::Step TxQueue::send_one(uint32_t* bytes, Nanos now) {
  if (!in_progress_) {
    const Step step = collect();
    if (step != Step::kSent) return step;
    if (!start_packet(now)) return Step::kSent;
  }
  if (packet_.segmented() && pace_.ready_at() > now) return Step::kPaced;
  const uint32_t tag = tx_tag_bytes(packet_.request());
  const uint32_t length = next_length();
  if (!may_go()) {
    refuse(VERNA_CQE_ETH_DESC_ERR, VERNA_ETH_tx_drop_desc, now);
    return Step::kSent;
  }
  uint8_t* frame = reserve(length + tag);
  if (!frame) return Step::kWireFull;
  if (!write_packet(frame + tag, length)) {
    refuse(VERNA_CQE_ETH_DMA_ERR, VERNA_ETH_tx_drop_dma, now);
    return Step::kSent;
  }
  if (tag) tx_insert_tag(packet_.request(), frame);
  context_.trace.point(Stage::kTxSend, id_, length + tag);
  count_frame(length + tag, commit(length + tag));
  if (packet_.segmented()) pace(length + tag, now);
  if (!packet_.segmented() || segmenter_.done()) finish();
  *bytes = length + tag;
  return Step::kSent;
}

/// A vport that the packet names is there, which may end between two of its segments.
bool TxQueue::may_go() const {
  return !packet_.aimed() || context_.wire.can_aim(packet_.request().vport);
}

uint8_t* TxQueue::reserve(uint32_t length) {
  return packet_.aimed() ? context_.wire.reserve_aimed(length) : context_.wire.reserve(length);
}

/// False: the link is down.
bool TxQueue::commit(uint32_t length) {
  if (!packet_.aimed()) return context_.wire.commit(length);
  context_.wire.commit_to(length, packet_.request().vport);
  return true;
}

/// Copies descriptors up to EOP. kSent means that the packet is whole.
TxQueue::Step TxQueue::collect() {
  packet_.bytes = 0;
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
    verna_tx_desc& d = packet_.frags[i];
    std::memcpy(&d, entry, sizeof d);
    packet_.bytes += d.len;
    if (d.flags & VERNA_TX_F_EOP) {
      packet_.count = i + 1;
      incomplete_ = 0;
      return Step::kSent;
    }
  }
  stop();  // where the next packet begins is not known
  return Step::kStopped;
}

/// Checks a packet, and the headers of one that is to be cut. False: it was refused.
bool TxQueue::start_packet(Nanos now) {
  context_.trace.next_packet();
  context_.trace.point(Stage::kTxFetch, id_, ring_.next_index());
  auto begun = Segmenter::Begin::kBad;
  if (tx_request_valid(packet_, max_frame()) && may_go()) {
    begun = Segmenter::Begin::kReady;
    if (packet_.segmented())
      begun = segmenter_.begin(context_.bus, fn_, packet_,
                               max_frame() - tx_tag_bytes(packet_.request()));
    else
      reader_.start(&packet_);
  }
  in_progress_ = first_segment_ = begun == Segmenter::Begin::kReady;
  if (begun == Segmenter::Begin::kBad) refuse(VERNA_CQE_ETH_DESC_ERR, VERNA_ETH_tx_drop_desc, now);
  if (begun == Segmenter::Begin::kDmaFault)
    refuse(VERNA_CQE_ETH_DMA_ERR, VERNA_ETH_tx_drop_dma, now);
  return in_progress_;
}

/// Bytes of the next frame without the tag that is inserted.
uint32_t TxQueue::next_length() const {
  return packet_.segmented() ? segmenter_.next_length() : static_cast<uint32_t>(packet_.bytes);
}

/// Reads the next frame from host memory and finishes its headers. False: DMA failed.
bool TxQueue::write_packet(uint8_t* packet, uint32_t length) {
  if (packet_.segmented()) return segmenter_.write(context_.bus, fn_, packet);
  if (!reader_.read(context_.bus, fn_, packet, length)) return false;
  tx_write_checksum(packet_.request(), packet, length);
  return true;
}

/// The packets before it must be seen to have gone well, so they get their own CQE. Segments that
/// are on the wire stay there.
void TxQueue::refuse(verna_cqe_status status, verna_eth_counter reason, Nanos now) {
  complete(now);
  in_progress_ = false;
  context_.counters.eth[reason]++;
  context_.trace.point(Stage::kDrop, VERNA_COUNTERS_ETH << 16 | reason, packet_.bytes);
  counters[VERNA_TXQ_drops]++;
  const uint32_t eop = ring_.next_index() + packet_.count - 1;
  ring_.consume(packet_.count);
  write_cqe(eop, status, now);
}

void TxQueue::count_frame(uint32_t length, bool sent) {
  auto& eth = context_.counters.eth;
  if (!sent) {
    eth[VERNA_ETH_tx_drop_link_down]++;
    counters[VERNA_TXQ_drops]++;
    return;
  }
  const uint16_t flags = packet_.request().flags;
  const uint32_t segment = packet_.segmented();
  const uint32_t summed = segment || (flags & (VERNA_TX_F_CSUM | VERNA_TX_F_CRC32C));
  charge(length);
  eth[VERNA_ETH_tx_packets]++;
  eth[VERNA_ETH_tx_bytes] += length;
  eth[VERNA_ETH_tx_tso_segments] += segment;
  eth[VERNA_ETH_tx_csum] += summed;
  counters[VERNA_TXQ_packets]++;
  counters[VERNA_TXQ_bytes] += length;
  counters[VERNA_TXQ_tso_segments] += segment;
  counters[VERNA_TXQ_csum] += summed;
}

/// A packet begins when it may; its segments then have their places in time, so that one that comes
/// late, because the card was not run, does not make all that follow late.
void TxQueue::pace(uint32_t length, Nanos now) {
  pace_.charge(length, std::exchange(first_segment_, false) ? now : 0);
}

/// All frames of the packet have gone.
void TxQueue::finish() {
  in_progress_ = false;
  if (packet_.segmented()) {
    context_.counters.eth[VERNA_ETH_tx_tso_packets]++;
    counters[VERNA_TXQ_tso_packets]++;
  }
  last_done_ = ring_.next_index() + packet_.count - 1;
  ring_.consume(packet_.count);
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
