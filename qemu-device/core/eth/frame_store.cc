// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/frame_store.h"

#include <algorithm>
#include <new>

namespace verna {

CsumSum HeldFrame::sum_of(uint32_t from, uint32_t to) const {
  CsumSum total = 0;
  uint32_t done = 0;
  pieces(from, to, [&](const uint8_t* bytes, uint32_t n) {
    total = csum_join(total, csum_at(csum_add(0, bytes, n), done));
    done += n;
    return true;
  });
  return total;
}

CsumSum HeldFrame::sum_within(uint32_t from, uint32_t to) const {
  const CsumSum before = sum_of(kMacHeaderBytes, from);
  const CsumSum behind = csum_at(sum_of(to, len), to - kMacHeaderBytes);
  const uint16_t others = csum_fold(csum_join(before, behind));
  return csum_join(sum, static_cast<uint16_t>(~others));
}

bool FrameStore::grow() {
  if (cells() + kSlabCells > max_cells_) return false;
  slabs_.emplace_back(new (std::nothrow) Cell[kSlabCells]);
  if (!slabs_.back()) {
    slabs_.pop_back();
    return false;
  }
  for (uint32_t i = kSlabCells; i-- > 0;) {
    void* cell = &slabs_.back()[i];
    std::memcpy(cell, &free_, sizeof free_);
    free_ = cell;
  }
  return true;
}

void* FrameStore::take_cell() {
  if (!free_ && !grow()) return nullptr;
  void* cell = free_;
  std::memcpy(&free_, cell, sizeof free_);
  used_++;
  return cell;
}

void FrameStore::give_cell(void* cell) {
  std::memcpy(cell, &free_, sizeof free_);
  free_ = cell;
  used_--;
}

/// Appends `len` bytes behind the first cell. False: no room.
bool FrameStore::add_tail(HeldFrame* frame, const uint8_t* data, uint32_t len) {
  HeldFrame::Tail** link = &frame->tail;
  while (len > 0) {
    void* cell = take_cell();
    if (!cell) return false;
    auto* tail = new (cell) HeldFrame::Tail;
    tail->next = nullptr;
    *link = tail;
    link = &tail->next;
    const uint32_t n = std::min<uint32_t>(len, sizeof tail->data);
    std::memcpy(tail->data, data, n);
    data += n;
    len -= n;
  }
  return true;
}

HeldFrame* FrameStore::take(const PacketView& packet, bool strip) {
  void* cell = take_cell();
  if (!cell) return nullptr;
  auto* frame = new (cell) HeldFrame;
  const uint32_t cut = strip ? kVlanBytes : 0;
  // Headers as they were when they were parsed, the rest as it is now; nothing is read twice.
  uint8_t* to = frame->data;
  std::memcpy(to, packet.hdr, kMacAddressBytes);
  std::memcpy(to + kMacAddressBytes, packet.hdr + kMacAddressBytes + cut,
              packet.hdr_len - kMacAddressBytes - cut);
  frame->len = packet.len - cut;
  const uint32_t have = packet.hdr_len - cut;
  const uint32_t first = frame->hdr_len();
  std::memcpy(to + have, packet.data + packet.hdr_len, first - have);
  const uint32_t read = packet.hdr_len + first - have;
  if (read < packet.len && !add_tail(frame, packet.data + read, packet.len - read)) {
    give(frame);
    return nullptr;
  }
  frame->ip = packet;
  if (strip && frame->ip.ip_version) {
    frame->ip.l3 -= cut;
    frame->ip.l3_end -= cut;
    if (frame->ip.l4) frame->ip.l4 -= cut;
  }
  frame->stripped = strip;
  return frame;
}

void FrameStore::give(HeldFrame* frame) {
  for (HeldFrame::Tail* tail = frame->tail; tail;) {
    HeldFrame::Tail* next = tail->next;
    give_cell(tail);
    tail = next;
  }
  give_cell(frame);
}

}  // namespace verna
