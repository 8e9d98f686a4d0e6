// SPDX-License-Identifier: GPL-2.0-or-later
#include "vswitch/bridge.h"

#include <algorithm>

#include "pkt/protocols.h"

namespace verna {
namespace {

using Mac = Bridge::Mac;

constexpr uint16_t kVidMask = 0xfff;
constexpr Nanos kSweepEvery = 1'000'000'000;

Mac mac_at(const uint8_t* bytes) {
  Mac mac;
  std::copy(bytes, bytes + 6, mac.begin());
  return mac;
}

bool is_group(const Mac& mac) { return mac[0] & 1; }
bool is_station(const Mac& mac) { return !is_group(mac) && mac != Mac{}; }
/// 01-80-C2-00-00-00 to -0F: link protocols, which no bridge forwards.
bool is_reserved(const Mac& mac) {
  constexpr Mac kFirst = {0x01, 0x80, 0xc2, 0, 0, 0};
  return std::equal(mac.begin(), mac.begin() + 5, kFirst.begin()) && mac[5] < 16;
}

/// The VLAN that a frame names; 0: none, or a tag for its priority alone.
uint16_t vid_of(const PacketView& frame) { return frame.has_vlan ? frame.vlan_tci & kVidMask : 0; }

bool contains(const std::vector<Mac>& list, const Mac& mac) {
  return std::find(list.begin(), list.end(), mac) != list.end();
}

}  // namespace

size_t Bridge::Hash::operator()(uint64_t key) const {
  __extension__ using Wide = unsigned __int128;
  const Wide product = Wide{key ^ seed} * (0x9e3779b97f4a7c15 + 2 * seed);
  return static_cast<size_t>(product ^ product >> 64);
}

uint64_t Bridge::key_of(const Mac& mac, uint16_t vlan) {
  return load_be64(
             std::array<uint8_t, 8>{0, 0, mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]}.data())
             << 12 |
         vlan;
}

/// Frames of `vlan` may go to this vport.
bool Bridge::takes_part(uint16_t port, uint16_t vlan) const {
  if (port == kUplink) return true;
  const BridgePortConfig& config = ports_[port].config;
  return config.up && (!config.vlan || config.vlan == vlan);
}

bool Bridge::owns(const Port& port, const Mac& mac) {
  return port.config.mac == mac || contains(port.unicast, mac);
}

/// The address is another vport's in a VLAN that is also this one's.
bool Bridge::taken(uint16_t port, const Mac& mac, uint16_t vlan) const {
  for (uint16_t other = kPfPort; other < end_; other++) {
    const uint16_t there = ports_[other].config.vlan;
    const bool meet = !vlan || !there || vlan == there;
    if (other != port && meet && owns(ports_[other], mac)) return true;
  }
  return false;
}

/// An address of a function: in its VLAN, or in all.
void Bridge::place(uint16_t port, const Mac& mac) {
  const uint16_t vlan = ports_[port].config.vlan;
  const uint64_t key = key_of(mac, vlan ? vlan : kAnyVlan);
  const auto there = table_.find(key);
  if (there != table_.end() && !there->second.is_static) forget(there);
  table_.insert_or_assign(key, Entry{port, true, 0});
}

void Bridge::displace(uint16_t port, const Mac& mac) {
  const uint16_t vlan = ports_[port].config.vlan;
  const auto there = table_.find(key_of(mac, vlan ? vlan : kAnyVlan));
  if (there != table_.end() && there->second.is_static && there->second.port == port)
    table_.erase(there);
}

void Bridge::forget(Table::iterator entry) {
  ports_[entry->second.port].learned--;
  table_.erase(entry);
}

void Bridge::forget_learned(uint16_t port) {
  for (auto it = table_.begin(); it != table_.end();) {
    const auto entry = it++;
    if (!entry->second.is_static && entry->second.port == port) forget(entry);
  }
}

void Bridge::forget_stations() {
  for (uint16_t port = kPfPort; port < end_; port++) forget_learned(port);
}

Bridge::Status Bridge::configure(uint16_t port, const BridgePortConfig& config) {
  if (!is_function(port) || config.vlan >= kVidMask || config.priority > 7) return Status::kInvalid;
  if (config.mac != Mac{} && !is_station(config.mac)) return Status::kInvalid;
  Port& p = ports_[port];
  std::vector<Mac> addresses = config.trusted ? p.unicast : std::vector<Mac>();
  if (config.mac != Mac{}) addresses.push_back(config.mac);
  for (const Mac& mac : addresses)
    if (taken(port, mac, config.vlan)) return Status::kExists;
  for (const Mac& mac : p.unicast) displace(port, mac);
  displace(port, p.config.mac);
  forget_learned(port);
  p.config = config;
  if (!config.trusted) {
    p.unicast.clear();
    p.promiscuous = p.all_multicast = false;
  }
  for (const Mac& mac : addresses) place(port, mac);
  note_port(port);
  return Status::kOk;
}

Bridge::Status Bridge::add_address(uint16_t port, const Mac& mac) {
  if (!is_function(port) || (!is_group(mac) && !is_station(mac))) return Status::kInvalid;
  Port& p = ports_[port];
  if (is_broadcast(mac.data()) || owns(p, mac) || contains(p.groups, mac)) return Status::kOk;
  if (!is_group(mac) && !p.config.trusted) return Status::kNotTrusted;
  if (p.unicast.size() + p.groups.size() >= (port == kPfPort ? kMaxPfAddresses : kMaxAddresses))
    return Status::kNoResource;
  if (is_group(mac)) {
    p.groups.push_back(mac);
    return Status::kOk;
  }
  if (taken(port, mac, p.config.vlan)) return Status::kExists;
  place(port, mac);
  p.unicast.push_back(mac);
  return Status::kOk;
}

Bridge::Status Bridge::remove_address(uint16_t port, const Mac& mac) {
  if (!is_function(port)) return Status::kInvalid;
  Port& p = ports_[port];
  if (std::erase(p.groups, mac)) return Status::kOk;
  if (!std::erase(p.unicast, mac)) return Status::kNotFound;
  if (p.config.mac != mac) displace(port, mac);
  return Status::kOk;
}

void Bridge::set_promiscuous(uint16_t port, bool all, bool all_multicast) {
  if (!is_function(port)) return;
  Port& p = ports_[port];
  p.promiscuous = all && p.config.trusted;
  p.all_multicast = all_multicast && p.config.trusted;
  note_port(port);
}

/// Keeps what forward() would else look for in all vports.
void Bridge::note_port(uint16_t port) {
  end_ = std::max<uint16_t>(end_, static_cast<uint16_t>(port + 1));
  promiscuous_.set(port, ports_[port].promiscuous);
  in_vlan_.set(port, ports_[port].config.vlan != 0);
}

void Bridge::reset_function(uint16_t port) {
  if (!is_function(port)) return;
  Port& p = ports_[port];
  for (const Mac& mac : p.unicast)
    if (mac != p.config.mac) displace(port, mac);
  p.unicast.clear();
  p.groups.clear();
  p.promiscuous = p.all_multicast = false;
  promiscuous_.reset(port);
  forget_learned(port);
}

BridgeDrop Bridge::check_source(uint16_t from, const PacketView& frame) const {
  const Port& p = ports_[from];
  const Mac source = mac_at(frame.smac());
  if (!p.config.up) return BridgeDrop::kDown;
  if (!is_station(source) || (p.config.spoof_check && !owns(p, source)))
    return BridgeDrop::kSpoofed;
  return BridgeDrop::kNone;
}

/// Whether a function's frame may enter.
BridgeDrop Bridge::admit(uint16_t from, const PacketView& frame) const {
  const Port& p = ports_[from];
  const BridgeDrop source = check_source(from, frame);
  if (source != BridgeDrop::kNone) return source;
  if (p.config.vlan && frame.has_vlan) return BridgeDrop::kTagged;
  if (is_reserved(mac_at(frame.dmac())) && from != kPfPort) return BridgeDrop::kReserved;
  return BridgeDrop::kNone;
}

void Bridge::count(uint16_t from, BridgeDrop drop) {
  BridgeDrops& drops = ports_[from].drops;
  drops.down += drop == BridgeDrop::kDown;
  drops.spoofed += drop == BridgeDrop::kSpoofed;
  drops.tagged += drop == BridgeDrop::kTagged;
  drops.reserved += drop == BridgeDrop::kReserved;
  drops.nobody += drop == BridgeDrop::kNobody;
}

const Bridge::Entry* Bridge::find(const Mac& mac, uint16_t vlan, Nanos now) {
  for (const uint16_t domain : {kAnyVlan, vlan}) {
    const auto there = table_.find(key_of(mac, domain));
    if (there == table_.end()) continue;
    if (there->second.is_static || now - there->second.seen < kLearnedFor) return &there->second;
    forget(there);
  }
  return nullptr;
}

/// Throws out what is too old if the vport's share is used up, not more often than once a second.
bool Bridge::make_room(uint16_t port, Nanos now) {
  Port& p = ports_[port];
  if (p.learned < kMaxLearned) return true;
  if (now < p.next_sweep) return false;
  p.next_sweep = now + kSweepEvery;
  for (auto it = table_.begin(); it != table_.end();) {
    const auto entry = it++;
    const Entry& e = entry->second;
    if (!e.is_static && e.port == port && now - e.seen >= kLearnedFor) forget(entry);
  }
  return p.learned < kMaxLearned;
}

/// The uplink teaches one thing: that a station is not behind a function any more.
void Bridge::learn(uint16_t from, const Mac& mac, uint16_t vlan, Nanos now) {
  if (!is_station(mac) || find(mac, kAnyVlan, now)) return;
  const auto there = table_.find(key_of(mac, vlan));
  if (there != table_.end()) {
    Entry& entry = there->second;
    if (entry.is_static) return;
    if (entry.port == from) {
      entry.seen = now;
      return;
    }
    forget(there);
  }
  if (from == kUplink || !make_room(from, now)) return;
  table_.insert({key_of(mac, vlan), {from, false, now}});
  ports_[from].learned++;
}

VportSet Bridge::unicast_targets(uint16_t from, const Mac& to, uint16_t vlan, Nanos now) {
  VportSet targets;
  const Entry* entry = find(to, vlan, now);
  targets.set(entry && takes_part(entry->port, vlan) ? entry->port : kUplink);
  // A function's own address on a vport that is down is nobody's: not the uplink's either.
  if (entry && !takes_part(entry->port, vlan)) targets.reset();
  if (entry && entry->port == from) targets.reset();
  return targets;
}

VportSet Bridge::group_targets(const Mac& to, uint16_t vlan) const {
  VportSet targets;
  targets.set(kUplink);
  for (uint16_t port = kPfPort; port < end_; port++) {
    const Port& p = ports_[port];
    const bool wanted = is_broadcast(to.data()) || p.all_multicast || contains(p.groups, to);
    if (wanted && takes_part(port, vlan)) targets.set(port);
  }
  return targets;
}

BridgeVerdict Bridge::forward(uint16_t from, const PacketView& frame, Nanos now) {
  BridgeVerdict verdict;
  if (from >= kMaxVports) return verdict;
  if (from != kUplink) verdict.drop = admit(from, frame);
  if (verdict.drop != BridgeDrop::kNone) {
    count(from, verdict.drop);
    return verdict;
  }
  const BridgePortConfig& config = ports_[from].config;
  const uint16_t vlan = config.vlan ? config.vlan : vid_of(frame);
  const Mac source = mac_at(frame.smac());
  const Mac to = mac_at(frame.dmac());
  if (from == kUplink || !config.spoof_check) learn(from, source, vlan, now);

  if (is_reserved(to)) {
    verdict.to.set(from == kUplink ? kPfPort : kUplink);
    if (!takes_part(kPfPort, vlan)) verdict.to.reset(kPfPort);
  } else {
    verdict.to = is_group(to) ? group_targets(to, vlan) : unicast_targets(from, to, vlan, now);
    for (uint16_t port = kPfPort; promiscuous_.any() && port < end_; port++)
      if (promiscuous_[port] && takes_part(port, vlan)) verdict.to.set(port);
  }
  verdict.to.reset(from);
  if (verdict.to.none()) count(from, verdict.drop = BridgeDrop::kNobody);

  verdict.push = config.vlan != 0;
  verdict.push_tci = static_cast<uint16_t>(config.priority << 13 | config.vlan);
  verdict.untag = verdict.to & in_vlan_;
  return verdict;
}

}  // namespace verna
