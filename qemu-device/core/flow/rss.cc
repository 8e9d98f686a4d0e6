// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/rss.h"

namespace verna {
namespace {

/// What the types say about one IP version.
struct Kinds {
  uint32_t ip;
  uint32_t tcp;
  uint32_t udp;
};
constexpr Kinds kV4 = {VERNA_RSS_IPV4, VERNA_RSS_TCPV4, VERNA_RSS_UDPV4};
constexpr Kinds kV6 = {VERNA_RSS_IPV6, VERNA_RSS_TCPV6, VERNA_RSS_UDPV6};

bool hashes_ports(const PacketView& p, const Kinds& kinds, uint32_t types) {
  if (!p.l4) return false;
  return (p.ip_proto == kProtoTcp && types & kinds.tcp) ||
         (p.ip_proto == kProtoUdp && types & kinds.udp);
}

}  // namespace

void Rss::configure(const uint8_t (&key)[VERNA_RSS_KEY_SIZE], const Table& table, uint32_t types) {
  toeplitz_.set_key(key);
  table_ = table;
  types_ = types;
}

void Rss::reset() { *this = Rss(); }

Rss::Choice Rss::choose(const PacketView& p) const {
  if (types_ == 0 || p.ip_version == 0) return {table_[0], false, 0};
  const bool v4 = p.ip_version == 4;
  const Kinds& kinds = v4 ? kV4 : kV6;
  const bool ports = hashes_ports(p, kinds, types_);
  if (!ports && !(types_ & kinds.ip)) return {table_[0], false, 0};

  uint8_t input[Toeplitz::kMaxInput];
  const uint32_t addresses = v4 ? 8 : 32;
  std::memcpy(input, p.hdr + p.l3 + (v4 ? 12 : 8), addresses);
  if (ports) std::memcpy(input + addresses, p.hdr + p.l4, 4);
  const uint32_t hash = toeplitz_.hash(input, addresses + (ports ? 4 : 0));
  return {table_[hash % kTableSize], true, hash};
}

}  // namespace verna
