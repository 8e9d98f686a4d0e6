// SPDX-License-Identifier: GPL-2.0-or-later
#include "vswitch/switch.h"

#include <algorithm>

#include "hw/verna_eth.h"
#include "mac/frame_counters.h"
#include "pkt/protocols.h"

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

/// Why rules drop a frame.
verna_vport_counter counter_of(FlowVerdict::Why why) {
  if (why == FlowVerdict::Why::kMeter) return VERNA_VPORT_tx_drop_meter;
  return why == FlowVerdict::Why::kEdit ? VERNA_VPORT_tx_drop_edit : VERNA_VPORT_tx_drop_rule;
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

Vport::Vport(Switch& owner, uint16_t number)
    : switch_(owner),
      number_(number),
      ring_(kRingBytes, false),
      origins_(number == kPfPort ? kOrigins : 0) {}

bool Vport::link_up() const {
  if (!enabled_ || link_ == VERNA_VPORT_LINK_DOWN) return false;
  return link_ == VERNA_VPORT_LINK_UP || switch_.uplink_.link_up();
}

uint8_t* Vport::tx_reserve(uint32_t len) { return switch_.reserve(len); }

void Vport::tx_commit(uint32_t len) { switch_.send(number_, len); }

bool Vport::tx_can_aim(uint16_t vport) const {
  return number_ == kPfPort && switch_.mode() == VERNA_ESWITCH_SWITCHDEV &&
         vport < switch_.num_vports();
}

void Vport::tx_commit_to(uint32_t len, uint16_t vport) { switch_.send_to(number_, vport, len); }

void Vport::clear() {
  while (rx_peek().data) rx_release();
}

/// Commits what was reserved in the ring.
void Vport::give(uint32_t len, const SwitchOrigin& origin) {
  if (!origins_.empty()) origins_[given_ % kOrigins] = origin;
  given_++;
  ring_.tx_commit(len);
}

Switch::Switch(Mac& uplink, Trace& trace, size_t num_functions, uint64_t seed,
               std::function<void(uint32_t)> copied)
    : uplink_(uplink),
      trace_(trace),
      copied_(std::move(copied)),
      bridge_(seed),
      flows_(~seed, trace,
             [this](uint16_t to, const FlowPacket& packet) {
               rule_copies_++;
               deliver(to, packet, {});
             }),
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

void Switch::set_mode(verna_eswitch_mode mode) {
  mode_ = mode;
  flows_.reset();
  bridge_.forget_stations();
}

void Switch::flush() {
  for (auto& vport : vports_) vport->ring_.tx_flush();
}

uint8_t* Switch::reserve(uint32_t len) {
  if (len > kMaxLen) return nullptr;
  const uint32_t more = mode_ == VERNA_ESWITCH_LEGACY ? kTagBytes : FlowPacket::kRoom;
  return uplink_.reserve(std::min(len + more, kMaxLen)) ? frame_.get() : nullptr;
}

void Switch::send(uint16_t from, uint32_t len) {
  parse_packet(frame_.get(), len, &packet_);
  const uint32_t copies = forward(from, packet_);
  if (copies > 1) copied_((copies - 1) * len);
}

/// A frame that says itself where it goes.
void Switch::send_to(uint16_t from, uint16_t to, uint32_t len) {
  parse_packet(frame_.get(), len, &packet_);
  count_entry(from, packet_);
  deliver(from, to, packet_, {});
}

uint32_t Switch::forward(uint16_t from, const PacketView& frame) {
  count_entry(from, frame);
  return mode_ == VERNA_ESWITCH_LEGACY ? forward_by_bridge(from, frame)
                                       : forward_by_rules(from, frame);
}

uint32_t Switch::forward_by_bridge(uint16_t from, const PacketView& frame) {
  const BridgeVerdict verdict = bridge_.forward(from, frame, now_);
  if (verdict.drop != BridgeDrop::kNone) {
    drop(from, counter_of(verdict.drop), frame.len);
    return 0;
  }
  uint32_t copies = 0;
  for (uint16_t to = kUplink; to < counters_.size(); to++)
    if (verdict.to[to]) {
      deliver(from, to, frame, verdict);
      copies++;
    }
  counters_[from][VERNA_VPORT_tx_copies] += copies - 1;
  return copies;
}

/// What no rule decides goes to software: the PF's, or what the PF sent to the wire.
uint32_t Switch::forward_by_rules(uint16_t from, const PacketView& frame) {
  const BridgeDrop refused =
      from == kUplink ? BridgeDrop::kNone : bridge_.check_source(from, frame);
  if (refused != BridgeDrop::kNone) {
    drop(from, counter_of(refused), frame.len);
    return 0;
  }
  FlowPacket packet(frame, from, flows_.tunnel_ports());
  rule_copies_ = 0;
  const FlowVerdict verdict = flows_.decide(&packet, now_);
  counters_[from][VERNA_VPORT_tx_copies] += rule_copies_;
  switch (verdict.kind) {
    case FlowVerdict::Kind::kDrop:
      drop(from, counter_of(verdict.why), frame.len);
      return rule_copies_;
    case FlowVerdict::Kind::kPort:
      deliver(verdict.port, packet, {});
      break;
    default:
      counters_[from][VERNA_VPORT_tx_to_software]++;
      if (from == kPfPort)
        deliver(kUplink, packet, {});
      else
        deliver(kPfPort, packet, {true, from, verdict.chain, verdict.mark});
  }
  return rule_copies_ + 1;
}

/// Whatever becomes of the frame there, it is counted there.
void Switch::deliver(uint16_t from, uint16_t to, const PacketView& frame,
                     const BridgeVerdict& verdict) {
  const TagChange change = tag_change(frame, verdict, to);
  const uint32_t len = change.length(frame.len);
  uint8_t* out = open(to, len);
  if (!out) return;
  write_frame(frame, change, verdict.push_tci, out);
  close(from, to, out, len, {});
  count_exit(to, frame.dmac(), len);
}

void Switch::deliver(uint16_t to, const FlowPacket& packet, const SwitchOrigin& origin) {
  uint8_t* out = open(to, packet.bytes());
  if (!out) return;
  packet.copy_to(out);
  close(packet.port(), to, out, packet.bytes(), origin);
  count_exit(to, packet.head(), packet.bytes());
}

/// Room for a frame at a vport, or null: it is counted there why not.
uint8_t* Switch::open(uint16_t to, uint32_t len) {
  len = std::max(len, VERNA_ETH_MIN_FRAME);
  verna_vport_counter reason = VERNA_VPORT_rx_drop_full;
  if (to != kUplink && !bridge_.config(to).up)
    reason = VERNA_VPORT_rx_drop_disabled;
  else if (len > kMaxLen)
    reason = VERNA_VPORT_rx_drop_oversize;
  else if (uint8_t* out = room_at(to, len))
    return out;
  drop(to, reason, len);
  return nullptr;
}

/// The frame is written.
void Switch::close(uint16_t from, uint16_t to, uint8_t* out, uint32_t len,
                   const SwitchOrigin& origin) {
  if (len < VERNA_ETH_MIN_FRAME) {
    std::memset(out + len, 0, VERNA_ETH_MIN_FRAME - len);
    len = VERNA_ETH_MIN_FRAME;
  }
  trace_.point(Stage::kSwitch, uint32_t{from} << 16 | to, len);
  if (to == kUplink)
    uplink_.commit(len);
  else
    vports_[to - kPfPort]->give(len, origin);
}

/// `dmac` is the card's own copy, as others may write to where the frame lies.
void Switch::count_exit(uint16_t to, const uint8_t* dmac, uint32_t len) {
  VportCounters& counters = counters_[to];
  counters[VERNA_VPORT_rx_frames]++;
  counters[VERNA_VPORT_rx_bytes] += std::max(len, VERNA_ETH_MIN_FRAME);
  if (dmac[0] & 1)
    counters[is_broadcast(dmac) ? VERNA_VPORT_rx_broadcast : VERNA_VPORT_rx_multicast]++;
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
