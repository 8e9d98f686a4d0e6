// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/rx_merger.h"

#include "eth/merge_rules.h"

namespace verna {

HeldFrame* RxMerger::find(uint64_t flow) const {
  if (!buckets_) return nullptr;
  HeldFrame* packet = (*buckets_)[flow % kBuckets];
  while (packet && packet->merge.flow != flow) packet = packet->chain;
  return packet;
}

void RxMerger::take(HeldFrame* frame, Nanos now) {
  const FlowKind kind = find_flow(frame);
  if (kind == FlowKind::kUnknown) flush(now);
  HeldFrame* packet = kind == FlowKind::kTcp ? find(frame->merge.flow) : nullptr;
  const bool candidate = kind == FlowKind::kTcp && may_merge(*frame);
  if (packet && candidate && continues(packet, *frame, shared_)) {
    const bool last = ends_packet(*packet, *frame);
    append(packet, frame);
    if (last) give_on(packet, now);
    return;
  }
  if (packet) give_on(packet, now);
  if (!candidate) return pass(frame, now);
  frame->merge.mss = static_cast<uint16_t>(frame->payload_len);
  if (ends_packet(*frame, *frame)) return pass(frame, now);
  begin(frame, now);
}

void RxMerger::begin(HeldFrame* frame, Nanos now) {
  if (packets_ == kMaxPackets) give_on(oldest_, now);
  if (!buckets_) buckets_ = std::make_unique<Buckets>();
  HeldFrame** head = &(*buckets_)[frame->merge.flow % kBuckets];
  // Whoever chooses flows so that they meet in one bucket gains nothing by it.
  uint32_t length = 0;
  HeldFrame* end = nullptr;
  for (HeldFrame* f = *head; f; f = f->chain, length++) end = f;
  if (length == kMaxChain) give_on(end, now);
  frame->chain = *head;
  *head = frame;

  MergeState& m = frame->merge;
  m.started = now;
  m.next_seq = tcp_sequence(*frame) + frame->payload_len;
  m.bytes = frame->payload + frame->payload_len;
  m.wire_bytes = frame->len;
  m.frames = 1;
  m.payload_sum = frame->sum_within(frame->payload, m.bytes);
  frame->last = frame;
  frame->older = youngest_;
  (youngest_ ? youngest_->younger : oldest_) = frame;
  youngest_ = frame;
  packets_++;
  bytes_ += m.bytes;
}

void RxMerger::append(HeldFrame* packet, HeldFrame* frame) {
  MergeState& m = packet->merge;
  const CsumSum sum = frame->sum_within(frame->payload, frame->payload + frame->payload_len);
  m.payload_sum = csum_join(m.payload_sum, csum_at(sum, m.bytes - packet->payload));
  m.next_seq += frame->payload_len;
  m.bytes += frame->payload_len;
  m.wire_bytes += frame->len;
  m.frames++;
  m.last_flags = tcp_flags(*frame);
  packet->last->more = frame;
  packet->last = frame;
  bytes_ += frame->payload_len;
}

void RxMerger::unlink(HeldFrame* packet) {
  HeldFrame** link = &(*buckets_)[packet->merge.flow % kBuckets];
  while (*link != packet) link = &(*link)->chain;
  *link = packet->chain;
  (packet->older ? packet->older->younger : oldest_) = packet->younger;
  (packet->younger ? packet->younger->older : youngest_) = packet->older;
  packets_--;
  bytes_ -= packet->merge.bytes;
}

void RxMerger::give_on(HeldFrame* packet, Nanos now) {
  unlink(packet);
  if (packet->more) finish_headers(packet);
  sink_(*packet, now);
  give_back(packet);
}

void RxMerger::give_back(HeldFrame* packet) {
  while (packet) {
    HeldFrame* next = packet->more;
    shared_.frames.give(packet);
    packet = next;
  }
}

void RxMerger::pass(HeldFrame* frame, Nanos now) {
  sink_(*frame, now);
  shared_.frames.give(frame);
}

void RxMerger::flush(Nanos now) {
  while (oldest_) give_on(oldest_, now);
}

Nanos RxMerger::flush_old(Nanos now) {
  while (deadline() <= now) give_on(oldest_, now);
  return deadline();
}

void RxMerger::discard(uint64_t* lost) {
  while (HeldFrame* packet = oldest_) {
    unlink(packet);
    if (lost) *lost += packet->frames();
    give_back(packet);
  }
}

}  // namespace verna
