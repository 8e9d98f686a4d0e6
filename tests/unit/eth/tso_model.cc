// SPDX-License-Identifier: GPL-2.0-or-later
#include "eth/tso_model.h"

#include <algorithm>

#include "support/world.h"

namespace verna::test {
namespace {

void put8(Bytes* b, unsigned v) { b->push_back(static_cast<uint8_t>(v)); }
void put16(Bytes* b, unsigned v) {
  put8(b, v >> 8);
  put8(b, v);
}
void put32(Bytes* b, uint32_t v) {
  put16(b, v >> 16);
  put16(b, v);
}
void put(Bytes* b, const Bytes& more) { b->insert(b->end(), more.begin(), more.end()); }
void set16(Bytes* b, size_t at, unsigned v) {
  (*b)[at] = static_cast<uint8_t>(v >> 8);
  (*b)[at + 1] = static_cast<uint8_t>(v);
}

uint16_t checksum(const Bytes& data) {
  uint64_t sum = 0;
  for (size_t i = 0; i < data.size(); i++) sum += i & 1 ? data[i] : data[i] << 8;
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

Bytes address(int version, uint8_t who) {
  Bytes a = version == 4 ? Bytes{10, 1, 2, who} : Bytes(16, 0xfd);
  a.back() = who;
  return a;
}

/// Where headers begin, from the MAC addresses on.
struct Offsets {
  size_t outer_l3 = 0, outer_l4 = 0, l3 = 0, l4 = 0, end = 0;
};

/// One frame of the spec. `index` is its place; the packet for the card is the only one of its
/// kind, with rubbish where the card has to write.
class Builder {
 public:
  Builder(const TsoSpec& spec, uint32_t index, bool last, bool raw)
      : s_(spec), index_(index), last_(last), raw_(raw) {}

  Bytes frame(const Bytes& payload, Offsets* at) {
    Bytes inner = l4(payload);
    const size_t l4_bytes = inner.size() - payload.size();
    inner = ip(s_.version, s_.options, id(s_.id, VERNA_TX_F_FIXED_ID), s_.tcp ? 6 : 17, inner, 1);
    const size_t ip_bytes = inner.size() - payload.size() - l4_bytes;
    const Bytes packet = s_.tunnel == Tunnel::kNone ? inner : outer(inner);
    Bytes out = {2, 9, 9, 9, 9, 9, 2, 0, 0, 0, 0, 1};
    if (!raw_ && (s_.flags & (VERNA_TX_F_VLAN | VERNA_TX_F_SVLAN))) {
      put16(&out, s_.flags & VERNA_TX_F_VLAN ? 0x8100 : 0x88a8);
      put16(&out, s_.tci);
    }
    for (const auto& [tpid, tci] : s_.tags) {
      put16(&out, tpid);
      put16(&out, tci);
    }
    const int version = s_.tunnel == Tunnel::kNone ? s_.version : s_.outer_version;
    put16(&out, version == 4 ? 0x0800 : 0x86dd);
    if (s_.tunnel != Tunnel::kNone) at->outer_l3 = out.size();
    if (s_.tunnel != Tunnel::kNone && s_.tunnel != Tunnel::kIp)
      at->outer_l4 = out.size() + outer_ip_bytes();
    put(&out, packet);
    at->end = out.size() - payload.size();
    at->l4 = at->end - l4_bytes;
    at->l3 = at->l4 - ip_bytes;
    return out;
  }

 private:
  uint16_t id(uint16_t first, uint16_t fixed) const {
    return static_cast<uint16_t>(s_.flags & fixed ? first : first + index_);
  }
  size_t outer_ip_bytes() const { return (s_.outer_version == 4 ? 20 : 40) + s_.outer_options; }

  Bytes pseudo(int version, unsigned proto, size_t len, uint8_t who) const {
    Bytes p = address(version, who);
    put(&p, address(version, static_cast<uint8_t>(who + 100)));
    put32(&p, static_cast<uint32_t>(len));
    put32(&p, proto);
    return p;
  }

  Bytes l4(const Bytes& payload) const {
    Bytes b;
    put16(&b, 40000);
    put16(&b, 5001);
    if (s_.tcp) {
      uint8_t flags = s_.tcp_flags;
      if (!raw_ && !last_) flags &= 0xf6;
      if (!raw_ && index_ && !(s_.flags & VERNA_TX_F_KEEP_CWR)) flags &= 0x7f;
      put32(&b, s_.seq + index_ * s_.mss);
      put32(&b, 0x01020304);
      put8(&b, static_cast<unsigned>(20 + s_.tcp_options) / 4 << 4);
      put8(&b, flags);
      put16(&b, 0x2222);
      put32(&b, raw_ ? 0xdead0000 : 0);
      b.resize(20 + s_.tcp_options, 1);
    } else {
      put16(&b, raw_ ? 3 : static_cast<unsigned>(8 + payload.size()));
      put16(&b, raw_ ? 0xdead : 0);
    }
    put(&b, payload);
    if (raw_) return b;
    const unsigned proto = s_.tcp ? 6 : 17;
    Bytes all = pseudo(s_.version, proto, b.size(), 1);
    put(&all, b);
    const uint16_t sum = checksum(all);
    set16(&b, s_.tcp ? 16 : 6, !s_.tcp && sum == 0 ? 0xffff : sum);
    return b;
  }

  Bytes ip(int version, size_t options, uint16_t ident, unsigned proto, const Bytes& payload,
           uint8_t who) const {
    Bytes b;
    const Bytes from = address(version, who),
                to = address(version, static_cast<uint8_t>(who + 100));
    if (version == 4) {
      put8(&b, static_cast<unsigned>(0x40 + (20 + options) / 4));
      put8(&b, 0x02);
      put16(&b, raw_ ? 0xffff : static_cast<unsigned>(20 + options + payload.size()));
      put16(&b, ident);
      put16(&b, 0x4000);
      put8(&b, 63);
      put8(&b, proto);
      put16(&b, raw_ ? 0xbeef : 0);
      put(&b, from);
      put(&b, to);
      b.resize(20 + options, 1);
      if (!raw_) set16(&b, 10, checksum(b));
    } else {
      put32(&b, 0x61234567);
      put16(&b, raw_ ? 0 : static_cast<unsigned>(options + payload.size()));
      put8(&b, options ? 60 : proto);
      put8(&b, 62);
      put(&b, from);
      put(&b, to);
      if (options) {
        put8(&b, proto);
        put8(&b, static_cast<unsigned>(options / 8 - 1));
        b.resize(40 + options, 0);
      }
    }
    put(&b, payload);
    return b;
  }

  Bytes outer(const Bytes& inner) const {
    const unsigned inner_type = s_.version == 4 ? 0x0800 : 0x86dd;
    Bytes ether = {2, 7, 7, 7, 7, 7, 2, 8, 8, 8, 8, 8};
    put16(&ether, inner_type);
    Bytes b;
    unsigned proto = 17;
    if (s_.tunnel == Tunnel::kVxlan || s_.tunnel == Tunnel::kGeneve) {
      const bool geneve = s_.tunnel == Tunnel::kGeneve;
      put16(&b, 50000);
      put16(&b, geneve ? 6081 : 4789);
      put16(&b, 0);
      put16(&b, raw_ && s_.outer_checksum ? 0x1111 : 0);
      put32(&b, geneve ? 0x02006558 : 0x08000000);
      put32(&b, 0x00006400);
      if (geneve) b.resize(b.size() + 8, 0x5a);
      put(&b, ether);
      put(&b, inner);
      if (!raw_) set16(&b, 4, static_cast<unsigned>(b.size()));
      if (!raw_ && s_.outer_checksum) {
        Bytes all = pseudo(s_.outer_version, 17, b.size(), 3);
        put(&all, b);
        const uint16_t sum = checksum(all);
        set16(&b, 6, sum ? sum : 0xffff);
      }
    } else if (s_.tunnel == Tunnel::kIp) {
      proto = s_.version == 4 ? 4 : 41;
      b = inner;
    } else {
      proto = 47;
      const bool key = s_.tunnel == Tunnel::kGreKey, tap = s_.tunnel == Tunnel::kGreTap;
      put16(&b, (s_.outer_checksum ? 0x8000u : 0) | (key ? 0x2000u : 0));
      put16(&b, tap ? 0x6558 : inner_type);
      if (s_.outer_checksum) put32(&b, raw_ ? 0xffff5a5a : 0);
      if (key) put32(&b, 0x12345678);
      if (tap) put(&b, ether);
      put(&b, inner);
      if (!raw_ && s_.outer_checksum) set16(&b, 4, checksum(b));
    }
    return ip(s_.outer_version, s_.outer_options, id(s_.outer_id, VERNA_TX_F_OUTER_FIXED_ID), proto,
              b, 3);
  }

  const TsoSpec& s_;
  uint32_t index_;
  bool last_;
  bool raw_;
};

Offsets offsets_of(const TsoSpec& spec) {
  Offsets at;
  Builder(spec, 0, true, true).frame(spec.payload, &at);
  return at;
}

}  // namespace

size_t header_bytes(const TsoSpec& spec) { return offsets_of(spec).end; }

TsoCase make_case(const TsoSpec& spec) {
  TsoCase out;
  Offsets at, ignored;
  out.packet = Builder(spec, 0, true, true).frame(spec.payload, &at);
  out.request.flags =
      static_cast<uint16_t>(spec.flags | (spec.tcp ? VERNA_TX_F_TSO : VERNA_TX_F_USO));
  out.request.vlan_tci = spec.tci;
  out.request.csum_start = static_cast<uint16_t>(at.l4);
  out.request.mss = spec.mss;
  out.request.hdr_len = static_cast<uint16_t>(at.end);
  out.request.l3_offset = static_cast<uint16_t>(at.l3);
  out.request.outer_l3_offset = static_cast<uint16_t>(at.outer_l3);
  out.request.outer_l4_offset = static_cast<uint16_t>(at.outer_l4);
  uint32_t index = 0;
  for (size_t done = 0; done < spec.payload.size(); index++) {
    const size_t piece = std::min<size_t>(spec.mss, spec.payload.size() - done);
    const auto first = spec.payload.begin() + static_cast<ptrdiff_t>(done);
    const Bytes part(first, first + static_cast<ptrdiff_t>(piece));
    done += piece;
    Bytes frame = Builder(spec, index, done == spec.payload.size(), false).frame(part, &ignored);
    frame.resize(std::max<size_t>(frame.size(), 60), 0);
    out.segments.push_back(std::move(frame));
  }
  return out;
}

TsoSpec random_spec(std::mt19937_64& random, size_t max_payload, size_t max_frame) {
  const auto pick = [&](size_t n) { return static_cast<size_t>(random() % n); };
  TsoSpec s;
  for (size_t i = pick(3); i > 0; i--)
    s.tags.emplace_back(pick(2) ? 0x8100 : 0x88a8, static_cast<uint16_t>(random()));
  s.tunnel = static_cast<Tunnel>(pick(7));
  s.outer_version = pick(2) ? 4 : 6;
  s.outer_options = pick(3) ? 0 : 8 * pick(4);
  s.outer_checksum = s.tunnel != Tunnel::kNone && s.tunnel != Tunnel::kIp && pick(2);
  s.version = pick(2) ? 4 : 6;
  s.options = pick(3) ? 0 : 8 * pick(5);
  s.tcp = pick(2);
  s.tcp_options = 4 * pick(11);
  s.tcp_flags = static_cast<uint8_t>(random());
  s.seq = static_cast<uint32_t>(random());
  s.id = static_cast<uint16_t>(random());
  s.outer_id = static_cast<uint16_t>(random());
  if (pick(3) == 0) s.flags |= VERNA_TX_F_FIXED_ID;
  if (s.tunnel != Tunnel::kNone && pick(3) == 0) s.flags |= VERNA_TX_F_OUTER_FIXED_ID;
  if (s.tcp && pick(3) == 0) s.flags |= VERNA_TX_F_KEEP_CWR;
  if (const size_t tag = pick(3)) {
    s.flags |= tag == 1 ? VERNA_TX_F_VLAN : VERNA_TX_F_SVLAN;
    s.tci = static_cast<uint16_t>(random());
  }
  const size_t room = max_frame - header_bytes(s) - 4;
  s.mss = static_cast<uint16_t>(1 + pick(pick(2) ? 64 : room));
  s.payload = pattern(1 + pick(std::min<size_t>(max_payload, s.mss * 60u)), random());
  return s;
}

}  // namespace verna::test
