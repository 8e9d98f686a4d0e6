// SPDX-License-Identifier: GPL-2.0-or-later
// The embedded switch: carries frames between the wire and the functions of a card, and among
// these.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/trace.h"
#include "hw/verna_counters.h"
#include "hw/verna_vport.h"
#include "mac/loopback_port.h"
#include "mac/mac.h"
#include "vswitch/bridge.h"
#include "vswitch/flow_switch.h"

namespace verna {

using VportCounters = std::array<uint64_t, VERNA_VPORT_NUM_COUNTERS>;

/// The vport of a function.
inline uint16_t vport_of(FunctionId fn) { return static_cast<uint16_t>(fn + kPfPort); }

class Switch;

/// A function's end of the switch, which is the function's wire. What is sent goes through the
/// switch at once; what the switch has for the function waits in a ring, which the card empties in
/// every run whatever the host does.
class Vport final : public Port {
 public:
  static constexpr uint32_t kRingBytes = 512u << 10;
  /// Throws std::bad_alloc.
  Vport(Switch& owner, uint16_t number);

  bool link_up() const override;
  bool has_fcs() const override { return false; }
  uint8_t* tx_reserve(uint32_t len) override;
  void tx_commit(uint32_t len) override;
  bool tx_can_aim(uint16_t vport) const override;
  void tx_commit_to(uint32_t len, uint16_t vport) override;
  void tx_flush() override {}
  RxFrame rx_peek() override { return ring_.rx_peek(); }
  void rx_release() override {
    ring_.rx_release();
    released_++;
  }
  Nanos poll(Nanos) override { return kNever; }
  bool prepare_sleep(bool want_tx_room) override { return ring_.prepare_sleep(want_tx_room); }
  void cancel_sleep() override {}
  size_t poll_fds(struct pollfd*, size_t) const override { return 0; }

  /// Of the frame that rx_peek() shows.
  SwitchOrigin origin() const {
    return origins_.empty() ? SwitchOrigin() : origins_[released_ % kOrigins];
  }

 private:
  friend class Switch;
  // More than frames of the least length in the ring.
  static constexpr size_t kOrigins = kRingBytes / 64;
  void clear();
  void give(uint32_t len, const SwitchOrigin& origin);

  Switch& switch_;
  uint16_t number_;
  LoopbackPort ring_;  // to the function
  // Of the frames in ring_; of the PF, which alone gets what no rule decided.
  std::vector<SwitchOrigin> origins_;
  uint32_t given_ = 0;  // frames ever put into the ring
  uint32_t released_ = 0;
  verna_vport_link link_ = VERNA_VPORT_LINK_AUTO;
  bool enabled_ = false;
};

/// Bridge (legacy mode) or FlowSwitch (switchdev mode) decides, this carries. A frame of a function
/// is made in memory of the card and copied to where it goes, the wire among others; so it never
/// lies where a peer can see it before it is decided. A vport without room drops and counts, and
/// holds up nobody.
///
/// Room on the wire is asked for before the frame is made, as nobody knows yet where it goes: while
/// the wire is full all functions wait, as those do that send to it.
class Switch {
 public:
  /// For functions 0 to `num_functions` - 1, the PF enabled, the others not. `uplink` is used from
  /// the first frame on. `copied` is told the bytes of each copy beyond the first that a function's
  /// frame costs. Throws std::bad_alloc.
  Switch(Mac& uplink, Trace& trace, size_t num_functions, uint64_t seed,
         std::function<void(uint32_t bytes)> copied);

  void set_now(Nanos now) { now_ = now; }
  /// A frame from the wire. Returns to how many vports it went.
  uint32_t receive(const PacketView& frame) { return forward(kUplink, frame); }
  /// The end of a batch: what was sent to functions is there.
  void flush();

  Vport& port(FunctionId fn) { return *vports_[fn]; }
  /// Counters of vport `number`; null: there is none.
  const VportCounters* counters(uint32_t number) const {
    return number < counters_.size() ? &counters_[number] : nullptr;
  }
  size_t num_vports() const { return counters_.size(); }

  verna_eswitch_mode mode() const { return mode_; }
  /// Drops all rules and groups, and what was learned; also if the mode is the same.
  void set_mode(verna_eswitch_mode mode);
  FlowSwitch& flows() { return flows_; }
  const FlowSwitch& flows() const { return flows_; }
  Bridge& bridge() { return bridge_; }
  const Bridge& bridge() const { return bridge_; }

  /// What the administrator says of a function. Nothing changes unless it is kOk; see Bridge.
  Bridge::Status configure(FunctionId fn, const BridgePortConfig& config, verna_vport_link link);
  verna_vport_link link(FunctionId fn) const { return vports_[fn]->link_; }
  bool enabled(FunctionId fn) const { return vports_[fn]->enabled_; }
  /// A function comes or goes, as after its reset.
  void enable(FunctionId fn, bool on);
  /// The function was reset: its addresses and modes go, and what waits for it.
  void reset_function(FunctionId fn);

 private:
  friend class Vport;
  uint8_t* reserve(uint32_t len);
  void send(uint16_t from, uint32_t len);
  void send_to(uint16_t from, uint16_t to, uint32_t len);
  uint32_t forward(uint16_t from, const PacketView& frame);
  uint32_t forward_by_bridge(uint16_t from, const PacketView& frame);
  uint32_t forward_by_rules(uint16_t from, const PacketView& frame);
  void deliver(uint16_t from, uint16_t to, const PacketView& frame, const BridgeVerdict& verdict);
  void deliver(uint16_t to, const FlowPacket& packet, const SwitchOrigin& origin);
  uint8_t* open(uint16_t to, uint32_t len);
  void close(uint16_t from, uint16_t to, uint8_t* out, uint32_t len, const SwitchOrigin& origin);
  uint8_t* room_at(uint16_t to, uint32_t len);
  void drop(uint16_t at, verna_vport_counter reason, uint32_t len);
  void count_entry(uint16_t from, const PacketView& frame);
  void count_exit(uint16_t to, const uint8_t* dmac, uint32_t len);

  Mac& uplink_;
  Trace& trace_;
  std::function<void(uint32_t)> copied_;
  verna_eswitch_mode mode_ = VERNA_ESWITCH_LEGACY;
  Bridge bridge_;
  FlowSwitch flows_;
  uint32_t rule_copies_ = 0;                    // of the frame that is being forwarded
  std::vector<std::unique_ptr<Vport>> vports_;  // by function
  std::vector<VportCounters> counters_;         // by vport
  std::unique_ptr<uint8_t[]> frame_;            // that a function is making
  PacketView packet_;                           // the same, decided next
  Nanos now_ = 0;
};

}  // namespace verna
