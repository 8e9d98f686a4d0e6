// SPDX-License-Identifier: GPL-2.0-or-later
#include "vswitch/switch.h"

#include <algorithm>

#include "hw/verna_eth.h"
#include "mac/frame_counters.h"

namespace verna {
namespace {

constexpr uint32_t kAddressBytes = 12;  // of the MAC addresses, behind which tags are
constexpr uint32_t kTagBytes = 4;
constexpr uint32_t kMaxLen = kMaxFrame - kFcsBytes;  // of a frame without FCS

/// How a frame changes on its way out of the switch.
struct TagChange {
  bool strip = false;
  bool push = false;
  uint32_t length(uint32_t len) const {
    return len + (push ? kTagBytes : 0) - (strip ? kTagBytes : 0);
  }
};

TagChange tag_change(const PacketView& frame, const BridgeVerdict& verdict, uint16_t to) {
  // A frame of a vport with a VLAN has no tag itself.
  if (verdict.push) return {false, !verdict.untag[to]};
  return {verdict.untag[to] && frame.has_vlan, false};
}

/// Headers come from the copy that was decided by, as others may write to where the frame lies.
void write_frame(const PacketView& frame, const TagChange& change, uint16_t tci, uint8_t* out) {
  std::memcpy(out, frame.hdr, kAddressBytes);
  out += kAddressBytes;
  if (change.push) {
    store_be16(out, kEthertypeVlan);
    store_be16(out + 2, tci);
    out += kTagBytes;
  }
  const uint32_t from = kAddressBytes + (change.strip ? kTagBytes : 0);
  std::memcpy(out, frame.hdr + from, frame.hdr_len - from);
  out += frame.hdr_len - from;
  std::memcpy(out, frame.data + frame.hdr_len, frame.len - frame.hdr_len);
}

bool is_broadcast(const uint8_t* mac) {
  return std::all_of(mac, mac + 6, [](uint8_t b) { return b == 0xff; });
}

verna_vport_counter counter_of(BridgeDrop drop) {
  switch (drop) {
    case BridgeDrop::kDown:
      return VERNA_VPORT_tx_drop_down;
    case BridgeDrop::kSpoofed:
      return VERNA_VPORT_tx_drop_spoof;
    case BridgeDrop::kTagged:
      return VERNA_VPORT_tx_drop_tag;
    case BridgeDrop::kReserved:
      return VERNA_VPORT_tx_drop_reserved;
    default:
      return VERNA_VPORT_tx_drop_nobody;
  }
}

}  // namespace

bool Vport::link_up() const {
  if (!enabled_ || link_ == VERNA_VPORT_LINK_DOWN) return false;
  return link_ == VERNA_VPORT_LINK_UP || switch_.uplink_.link_up();
}

uint8_t* Vport::tx_reserve(uint32_t len) { return switch_.reserve(len); }

void Vport::tx_commit(uint32_t len) { switch_.send(number_, len); }

void Vport::clear() {
  while (ring_.rx_peek().data) ring_.rx_release();
}

Switch::Switch(Mac& uplink, Trace& trace, size_t num_functions, uint64_t seed,
               std::function<void(uint32_t)> copied)
    : uplink_(uplink),
      trace_(trace),
      copied_(std::move(copied)),
      bridge_(seed),
      counters_(num_functions + 1),
      frame_(std::make_unique<uint8_t[]>(kMaxFrame)) {
  for (FunctionId fn = 0; fn < num_functions; fn++)
    vports_.push_back(std::make_unique<Vport>(*this, vport_of(fn)));
  vports_[0]->enabled_ = true;
}

Bridge::Status Switch::configure(FunctionId fn, const BridgePortConfig& config,
                                 verna_vport_link link) {
  Vport& vport = *vports_[fn];
  BridgePortConfig wanted = config;
  wanted.up = vport.enabled_ && link != VERNA_VPORT_LINK_DOWN;
  const Bridge::Status status = bridge_.configure(vport.number_, wanted);
  if (status == Bridge::Status::kOk) vport.link_ = link;
  return status;
}

void Switch::enable(FunctionId fn, bool on) {
  reset_function(fn);
  vports_[fn]->enabled_ = on;
  // It had its addresses before, so that this cannot be refused.
  configure(fn, bridge_.config(vport_of(fn)), vports_[fn]->link_);
}

void Switch::reset_function(FunctionId fn) {
  bridge_.reset_function(vport_of(fn));
  vports_[fn]->ring_.tx_flush();
  vports_[fn]->clear();
}

void Switch::flush() {
  for (auto& vport : vports_) vport->ring_.tx_flush();
}

uint8_t* Switch::reserve(uint32_t len) {
  if (len > kMaxLen) return nullptr;
  return uplink_.reserve(std::min(len + kTagBytes, kMaxLen)) ? frame_.get() : nullptr;
}

void Switch::send(uint16_t from, uint32_t len) {
  parse_packet(frame_.get(), len, &packet_);
  const uint32_t copies = forward(from, packet_);
  if (copies > 1) copied_((copies - 1) * len);
}

uint32_t Switch::forward(uint16_t from, const PacketView& frame) {
  count_entry(from, frame);
  const BridgeVerdict verdict = bridge_.forward(from, frame, now_);
  if (verdict.drop != BridgeDrop::kNone) {
    drop(from, counter_of(verdict.drop), frame.len);
    return 0;
  }
  uint32_t copies = 0;
  for (uint16_t to = kUplink; to < counters_.size(); to++)
    if (verdict.to[to]) copies += deliver(from, to, frame, verdict);
  counters_[from][VERNA_VPORT_tx_copies] += copies - 1;
  return copies;
}

/// Whatever becomes of the frame there, it is counted there. Returns 1.
uint32_t Switch::deliver(uint16_t from, uint16_t to, const PacketView& frame,
                         const BridgeVerdict& verdict) {
  const TagChange change = tag_change(frame, verdict, to);
  const uint32_t len = std::max(change.length(frame.len), VERNA_ETH_MIN_FRAME);
  uint8_t* out = len <= kMaxLen ? room_at(to, len) : nullptr;
  if (!out) {
    drop(to, len <= kMaxLen ? VERNA_VPORT_rx_drop_full : VERNA_VPORT_rx_drop_oversize, len);
    return 1;
  }
  write_frame(frame, change, verdict.push_tci, out);
  std::memset(out + change.length(frame.len), 0, len - change.length(frame.len));
  trace_.point(Stage::kSwitch, uint32_t{from} << 16 | to, len);
  if (to == kUplink)
    uplink_.commit(len);
  else
    vports_[to - kPfPort]->ring_.tx_commit(len);
  VportCounters& counters = counters_[to];
  counters[VERNA_VPORT_rx_frames]++;
  counters[VERNA_VPORT_rx_bytes] += len;
  if (frame.is_group())
    counters[is_broadcast(frame.dmac()) ? VERNA_VPORT_rx_broadcast : VERNA_VPORT_rx_multicast]++;
  return 1;
}

uint8_t* Switch::room_at(uint16_t to, uint32_t len) {
  return to == kUplink ? uplink_.reserve(len) : vports_[to - kPfPort]->ring_.tx_reserve(len);
}

void Switch::drop(uint16_t at, verna_vport_counter reason, uint32_t len) {
  counters_[at][reason]++;
  trace_.point(Stage::kDrop, VERNA_COUNTERS_VPORT << 16 | reason, len);
}

void Switch::count_entry(uint16_t from, const PacketView& frame) {
  VportCounters& counters = counters_[from];
  counters[VERNA_VPORT_tx_frames]++;
  counters[VERNA_VPORT_tx_bytes] += frame.len;
  if (frame.is_group())
    counters[is_broadcast(frame.dmac()) ? VERNA_VPORT_tx_broadcast : VERNA_VPORT_tx_multicast]++;
}

}  // namespace verna
