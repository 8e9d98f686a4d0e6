// SPDX-License-Identifier: GPL-2.0-or-later
// The embedded switch in legacy mode: a bridge between uplink, PF and VFs.
#pragma once

#include <array>
#include <bitset>
#include <unordered_map>
#include <vector>

#include "base/types.h"
#include "pkt/packet_view.h"

namespace verna {

/// Vports by number: 0 is the uplink, 1 the PF, others VFs.
inline constexpr uint16_t kUplink = 0;
inline constexpr uint16_t kPfPort = 1;
inline constexpr size_t kMaxVports = 66;
using VportSet = std::bitset<kMaxVports>;

/// What the administrator says of a function's vport. The uplink has none of this.
struct BridgePortConfig {
  std::array<uint8_t, 6> mac{};
  bool up = false;          // else nothing goes in or out
  uint16_t vlan = 0;        // the function's frames are untagged, and of this VLAN; 0: as they are
  uint8_t priority = 0;     // of the tag that they get
  bool spoof_check = true;  // its frames are from its own addresses
  bool trusted = false;     // more unicast addresses, and promiscuous modes that count
};

/// What happened to frames of a vport that went nowhere.
struct BridgeDrops {
  uint64_t down = 0;
  uint64_t spoofed = 0;   // another's source address, or none that a station can have
  uint64_t tagged = 0;    // a tag where the vport has a VLAN of its own
  uint64_t reserved = 0;  // to a group address that bridges keep to themselves, from a VF
  uint64_t nobody = 0;    // no vport is it for
};

/// Why a frame goes nowhere.
enum class BridgeDrop { kNone, kDown, kSpoofed, kTagged, kReserved, kNobody };

/// Where a frame goes, and how it looks there.
struct BridgeVerdict {
  BridgeDrop drop = BridgeDrop::kNone;  // else `to` is empty
  VportSet to;
  VportSet untag;     // of these, those that get it without the tag of its VLAN
  bool push = false;  // the others get it with this tag in front
  uint16_t push_tci = 0;
};

/// Decides by destination address and VLAN. Addresses of functions are static; those of stations
/// behind a function whose spoof check is off are learned, and never take a static one's place.
/// What is not known goes to the uplink, and to promiscuous functions if they are trusted; nothing
/// comes back to where it came from. Group addresses go to who asked for them, broadcast to all of
/// the VLAN. Memory is bounded for each vport, so that one can fill its own share only.
class Bridge {
 public:
  static constexpr size_t kMaxAddresses = 128;    // added to a VF's vport
  static constexpr size_t kMaxPfAddresses = 512;  // added to the PF's
  static constexpr size_t kMaxLearned = 256;      // of a vport
  static constexpr Nanos kLearnedFor = 300'000'000'000;

  enum class Status { kOk, kExists, kNoResource, kNotFound, kNotTrusted, kInvalid };
  using Mac = std::array<uint8_t, 6>;

  /// `seed` keeps functions from choosing addresses that collide.
  explicit Bridge(uint64_t seed) : table_(16, Hash{seed}) {}

  /// kExists: the address is another vport's in this VLAN. Without trust added unicast addresses
  /// and promiscuous modes go; what was learned goes with every change.
  Status configure(uint16_t port, const BridgePortConfig& config);
  /// The vport's function asks for frames to one more address. Group addresses are for everyone.
  Status add_address(uint16_t port, const Mac& mac);
  Status remove_address(uint16_t port, const Mac& mac);
  /// Everything, or all group addresses. Counts only while the vport is trusted.
  void set_promiscuous(uint16_t port, bool all, bool all_multicast);
  /// Forgets the function, as its reset does: added addresses, modes, what was learned.
  void reset_function(uint16_t port);

  /// Forgets what was learned behind all functions.
  void forget_stations();
  /// Whether a function's frame may enter, whatever it is to: kNone, kDown or kSpoofed.
  BridgeDrop check_source(uint16_t from, const PacketView& frame) const;
  BridgeVerdict forward(uint16_t from, const PacketView& frame, Nanos now);

  const BridgeDrops& drops(uint16_t port) const { return ports_[port].drops; }
  const BridgePortConfig& config(uint16_t port) const { return ports_[port].config; }
  size_t learned(uint16_t port) const { return ports_[port].learned; }

 private:
  static constexpr uint16_t kAnyVlan = 0xfff;

  struct Entry {
    uint16_t port;
    bool is_static;
    Nanos seen;
  };
  struct Hash {
    uint64_t seed;
    size_t operator()(uint64_t key) const;
  };
  struct Port {
    BridgePortConfig config;
    bool promiscuous = false;
    bool all_multicast = false;
    std::vector<Mac> unicast;  // added
    std::vector<Mac> groups;
    size_t learned = 0;
    Nanos next_sweep = 0;
    BridgeDrops drops;
  };
  using Table = std::unordered_map<uint64_t, Entry, Hash>;

  static uint64_t key_of(const Mac& mac, uint16_t vlan);
  static bool is_function(uint16_t port) { return port != kUplink && port < kMaxVports; }
  bool takes_part(uint16_t port, uint16_t vlan) const;
  static bool owns(const Port& port, const Mac& mac);
  bool taken(uint16_t port, const Mac& mac, uint16_t vlan) const;
  BridgeDrop admit(uint16_t from, const PacketView& frame) const;
  void count(uint16_t from, BridgeDrop drop);
  void note_port(uint16_t port);
  const Entry* find(const Mac& mac, uint16_t vlan, Nanos now);
  void learn(uint16_t from, const Mac& mac, uint16_t vlan, Nanos now);
  bool make_room(uint16_t port, Nanos now);
  void forget_learned(uint16_t port);
  void forget(Table::iterator entry);
  void place(uint16_t port, const Mac& mac);
  void displace(uint16_t port, const Mac& mac);
  VportSet unicast_targets(uint16_t from, const Mac& to, uint16_t vlan, Nanos now);
  VportSet group_targets(const Mac& to, uint16_t vlan) const;

  std::array<Port, kMaxVports> ports_;
  uint16_t end_ = kPfPort;  // no vport from here on was ever configured
  VportSet promiscuous_;    // those that are, and
  VportSet in_vlan_;        // have a VLAN of their own
  Table table_;
};

}  // namespace verna
