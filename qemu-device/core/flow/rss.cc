// SPDX-License-Identifier: GPL-2.0-or-later
#include "flow/rss.h"

#include <algorithm>

namespace verna {
namespace {

constexpr uint8_t kAllFields = VERNA_RSS_IPS | VERNA_RSS_PORTS | VERNA_RSS_FLOW_LABEL;

verna_rss_type rss_type(const PacketView& p) {
  const int first = p.ip_version == 4 ? VERNA_RSS_IPV4 : VERNA_RSS_IPV6;
  int kind = 0;
  if (p.l4 && p.ip_proto == kProtoTcp) kind = 1;
  if (p.l4 && p.ip_proto == kProtoUdp) kind = 2;
  if (p.l4 && p.ip_proto == kProtoSctp) kind = 3;
  return static_cast<verna_rss_type>(first + kind);
}

/// Both or none of a pair.
bool is_symmetric(uint8_t fields) {
  const uint8_t ips = fields & VERNA_RSS_IPS;
  const uint8_t ports = fields & VERNA_RSS_PORTS;
  return (ips == 0 || ips == VERNA_RSS_IPS) && (ports == 0 || ports == VERNA_RSS_PORTS) &&
         !(fields & VERNA_RSS_FLOW_LABEL);
}

/// Makes a source and a destination of `len` bytes each independent of their order.
void mix(uint8_t* src, uint8_t* dst, size_t len, verna_rss_transform transform) {
  for (size_t i = 0; i < len; i++) {
    const uint8_t difference = src[i] ^ dst[i];
    src[i] = transform == VERNA_RSS_SYM_XOR ? difference : src[i] | dst[i];
    dst[i] = difference;
  }
}

}  // namespace

/// What is hashed, one field behind the other.
struct Rss::Input {
  uint8_t bytes[Toeplitz::kMaxInput];
  size_t len = 0;

  void append(const uint8_t* data, size_t n) {
    std::memcpy(bytes + len, data, n);
    len += n;
  }
  /// A pair of fields of `n` bytes each, source first.
  void append_pair(const uint8_t* src, const uint8_t* dst, size_t n, unsigned which,
                   verna_rss_transform transform) {
    const size_t start = len;
    if (which & 1) append(src, n);
    if (which & 2) append(dst, n);
    if (which == 3 && transform != VERNA_RSS_PLAIN)
      mix(bytes + start, bytes + start + n, n, transform);
  }
};

const char* Rss::check(const Fields& fields, uint8_t transform) {
  if (transform > VERNA_RSS_SYM_OR_XOR) return "transform is not known";
  for (size_t type = 0; type < fields.size(); type++) {
    if (fields[type] & ~kAllFields) return "fields are not known";
    const bool ports = type != VERNA_RSS_IPV4 && type != VERNA_RSS_IPV6;
    if (!ports && fields[type] & VERNA_RSS_PORTS) return "the type has no ports";
    if (type < VERNA_RSS_IPV6 && fields[type] & VERNA_RSS_FLOW_LABEL)
      return "IPv4 has no flow label";
    if (transform != VERNA_RSS_PLAIN && !is_symmetric(fields[type]))
      return "fields are not symmetric";
  }
  return nullptr;
}

void Rss::configure(const Config& config) {
  config_ = config;
  toeplitz_.set_key(config.key);
}

/// False: nothing of this packet is hashed.
bool Rss::gather(const PacketView& p, uint8_t fields, Input* input) const {
  const bool v4 = p.ip_version == 4;
  const size_t size = v4 ? 4 : 16;
  const uint8_t* src = p.hdr + p.l3 + (v4 ? 12 : 8);
  input->append_pair(src, src + size, size, fields & 3u, config_.transform);
  if (fields & VERNA_RSS_PORTS) {
    const uint8_t* ports = p.hdr + p.l4;
    input->append_pair(ports, ports + 2, 2, fields >> 2 & 3u, config_.transform);
  }
  if (fields & VERNA_RSS_FLOW_LABEL) {
    uint8_t label[4];
    store_be32(label, ipv6_flow_label(p.hdr + p.l3));
    input->append(label, sizeof label);
  }
  return input->len > 0;
}

Rss::Choice Rss::choose(const PacketView& p) const {
  Input input;
  if (p.ip_version == 0) return {config_.table[0], false, false, 0, 0};
  const uint8_t fields = config_.fields[rss_type(p)];
  if (!gather(p, fields, &input)) return {config_.table[0], false, false, 0, 0};
  const uint32_t hash = toeplitz_.hash(input.bytes, input.len);
  const bool l4 = (fields & VERNA_RSS_PORTS) == VERNA_RSS_PORTS;
  return {config_.table[hash % kTableSize], true, l4, hash, 0};
}

void RssContexts::reset() {
  for (auto& context : contexts_) context.reset();
  contexts_[0] = std::make_unique<Rss>();
}

void RssContexts::configure(uint32_t id, const Rss::Config& config) {
  if (!contexts_[id]) contexts_[id] = std::make_unique<Rss>();
  contexts_[id]->configure(config);
}

}  // namespace verna
