// SPDX-License-Identifier: GPL-2.0-or-later
// Private copies of received frames.
#pragma once

#include <memory>
#include <vector>

#include "pkt/checksum.h"
#include "pkt/packet_view.h"

namespace verna {

/// Of a merged packet: kept in the first of its frames, written by RxMerger alone.
struct MergeState {
  uint64_t flow = 0;        // hash of addresses and ports
  Nanos started = 0;        // when its first frame came
  uint32_t next_seq = 0;    // TCP sequence number that would continue it
  uint32_t bytes = 0;       // of the packet as it is to be delivered
  uint32_t wire_bytes = 0;  // of all its frames
  uint16_t frames = 0;
  uint16_t mss = 0;        // payload of its first frame
  uint8_t fixed_ids = 0;   // bit n: header n (0: the outer one) has the same ID in all frames
  uint8_t last_flags = 0;  // TCP flags of its last frame
  CsumSum payload_sum = 0;
};

/// A frame as the host will see it, in memory of the card: what was summed is what is delivered,
/// even if a peer that shares the wire's memory writes to it at the same time. A tag that is to be
/// stripped is left out already.
///
/// The bytes lie in cells of the store: the first, with all headers that anyone looks at, here.
struct HeldFrame {
  static constexpr uint32_t kCellBytes = 2048;
  struct Tail {  // further cells
    Tail* next;
    uint8_t data[kCellBytes - sizeof(Tail*)];
  };

  Tail* tail = nullptr;
  uint32_t len = 0;
  IpLayer ip;  // outermost
  bool hashed = false;
  bool hash_l4 = false;
  uint32_t hash = 0;
  uint32_t mark = 0;  // of the flow rule that chose the queue
  SwitchOrigin origin;
  bool stripped = false;  // a tag was left out
  bool stripped_s = false;
  uint16_t vlan_tci = 0;

  // By check_sums():
  CsumSum sum = 0;      // everything behind the Ethernet header
  uint8_t csum_ok = 0;  // as verna_cqe has it
  bool csum_bad = false;

  // By RxMerger:
  uint16_t inner_l3 = 0;  // 0: no tunnel
  uint16_t l4 = 0;        // TCP header
  uint16_t payload = 0;   // where the TCP payload begins
  uint32_t payload_len = 0;
  HeldFrame* more = nullptr;   // next frame of the same packet
  HeldFrame* last = nullptr;   // of the packet
  HeldFrame* older = nullptr;  // of all packets that are held by a queue
  HeldFrame* younger = nullptr;
  HeldFrame* chain = nullptr;  // in its hash bucket
  MergeState merge;

  static constexpr uint32_t kFirst = 1728;
  alignas(8) uint8_t data[kFirst];

  /// The packet as it is to be delivered: this frame, or all that were merged with it.
  uint32_t frames() const { return more ? merge.frames : 1; }
  uint32_t bytes() const { return more ? merge.bytes : len; }
  uint32_t wire_bytes() const { return more ? merge.wire_bytes : len; }
  /// Calls `visit` as pieces() for the packet's bytes.
  template <typename Visit>
  bool each_piece(Visit visit) const;

  /// Bytes of this frame that are in `data`.
  uint32_t hdr_len() const { return len < kFirst ? len : kFirst; }
  /// Calls `visit(bytes, n)` for the pieces of [from, to) in order until it returns false.
  template <typename Visit>
  bool pieces(uint32_t from, uint32_t to, Visit visit) const;
  /// Ones' complement sum of [from, to), as if `from` were even.
  CsumSum sum_of(uint32_t from, uint32_t to) const;
  /// The same from `sum`, by what the frame has besides; at most as exact as modulo 65535. `from`
  /// is at an even distance from the Ethernet header's end.
  CsumSum sum_within(uint32_t from, uint32_t to) const;
};
static_assert(sizeof(HeldFrame) <= HeldFrame::kCellBytes);

/// Memory for held frames of all queues of a function: grows as needed up to a limit, and stays.
class FrameStore {
 public:
  static constexpr uint32_t kDefaultCells = 8192;  // 16 MiB
  explicit FrameStore(uint32_t max_cells = kDefaultCells) : max_cells_(max_cells) {}

  /// A copy of the frame, without its outer tag if `strip`. Null: the store is full.
  HeldFrame* take(const PacketView& packet, bool strip);
  void give(HeldFrame* frame);
  uint32_t used() const { return used_; }
  uint32_t cells() const { return static_cast<uint32_t>(slabs_.size()) * kSlabCells; }

 private:
  static constexpr uint32_t kSlabCells = 64;
  struct alignas(64) Cell {
    uint8_t bytes[HeldFrame::kCellBytes];
  };
  void* take_cell();
  void give_cell(void* cell);
  bool grow();
  bool add_tail(HeldFrame* frame, const uint8_t* data, uint32_t len);

  uint32_t max_cells_;
  uint32_t used_ = 0;
  void* free_ = nullptr;  // the last one given first: it is in the processor's cache
  std::vector<std::unique_ptr<Cell[]>> slabs_;
};

template <typename Visit>
bool HeldFrame::pieces(uint32_t from, uint32_t to, Visit visit) const {
  uint32_t at = 0;  // of the cell's first byte
  const uint8_t* bytes = data;
  uint32_t room = kFirst;
  for (const Tail* next = tail; from < to; next = next->next) {
    if (from < at + room) {
      const uint32_t end = to < at + room ? to : at + room;
      if (!visit(bytes + (from - at), end - from)) return false;
      from = end;
    }
    if (from >= to) break;
    at += room;
    bytes = next->data;
    room = sizeof next->data;
  }
  return true;
}

template <typename Visit>
bool HeldFrame::each_piece(Visit visit) const {
  if (!more) return pieces(0, len, visit);
  if (!pieces(0, payload, visit)) return false;
  for (const HeldFrame* f = this; f; f = f->more)
    if (!f->pieces(f->payload, f->payload + f->payload_len, visit)) return false;
  return true;
}

}  // namespace verna
