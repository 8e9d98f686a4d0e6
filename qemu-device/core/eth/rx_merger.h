// SPDX-License-Identifier: GPL-2.0-or-later
// Receive coalescing: TCP segments of a flow become one packet.
#pragma once

#include <array>
#include <functional>
#include <memory>

#include "eth/rx_shared.h"

namespace verna {

/// Holds the frames of one RX queue that may be merged, and gives packets on: merged ones, and
/// whatever cannot be merged. A merged packet can be cut into exactly the frames that it was made
/// of (rules in eth/merge_rules.h). Frames of a flow stay in order; packets that become old are
/// given on in the order in which their first frames came.
///
/// Takes and gives back frames of the card's store; the sink only looks at what it gets.
class RxMerger {
 public:
  using Sink = std::function<void(const HeldFrame& packet, Nanos now)>;
  static constexpr uint32_t kMaxPackets = 1024;  // held at a time
  static constexpr Nanos kBusyHold = 100'000;    // with merge_ns 0, while frames keep coming

  RxMerger(RxShared& shared, Sink sink) : shared_(shared), sink_(std::move(sink)) {}
  ~RxMerger() { discard(nullptr); }
  RxMerger(const RxMerger&) = delete;
  RxMerger& operator=(const RxMerger&) = delete;

  /// Owns `frame`, whose sums were checked, from now on.
  void take(HeldFrame* frame, Nanos now);
  /// Gives all on, the oldest first.
  void flush(Nanos now);
  /// Gives on what came before `now` by more than may be waited. Returns when to call again, or
  /// kNever.
  Nanos flush_old(Nanos now);
  /// Forgets all without giving it on; tells `lost` how many frames.
  void discard(uint64_t* lost);

  /// When flush_old() is due, or kNever.
  Nanos deadline() const { return oldest_ ? oldest_->merge.started + hold() : kNever; }
  bool empty() const { return oldest_ == nullptr; }
  uint32_t packets() const { return packets_; }
  uint64_t bytes() const { return bytes_; }  // of held packets

 private:
  static constexpr uint32_t kBuckets = 1024;
  static constexpr uint32_t kMaxChain = 8;
  using Buckets = std::array<HeldFrame*, kBuckets>;

  Nanos hold() const { return shared_.merge_ns ? shared_.merge_ns : kBusyHold; }
  HeldFrame* find(uint64_t flow) const;
  void begin(HeldFrame* frame, Nanos now);
  void append(HeldFrame* packet, HeldFrame* frame);
  void unlink(HeldFrame* packet);
  void give_on(HeldFrame* packet, Nanos now);
  void give_back(HeldFrame* packet);
  void pass(HeldFrame* frame, Nanos now);

  RxShared& shared_;
  Sink sink_;
  std::unique_ptr<Buckets> buckets_;  // made when the first frame is held
  HeldFrame* oldest_ = nullptr;
  HeldFrame* youngest_ = nullptr;
  uint32_t packets_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace verna
