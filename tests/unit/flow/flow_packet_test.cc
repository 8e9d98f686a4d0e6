// SPDX-License-Identifier: GPL-2.0-or-later
// Changed packets are those that would have been made so in the first place, checksums included.
#include "flow/flow_packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "flow/tunnel_frames.h"

namespace verna::test {
namespace {

__be16 be(uint16_t value) {
  __be16 out;
  store_be16(reinterpret_cast<uint8_t*>(&out), value);
  return out;
}

/// Changes a packet and its description alike.
struct Change {
  FlowRewrite rewrite;
  IpPacket model;

  explicit Change(const IpPacket& packet) : model(packet) {}
  uint8_t family() const { return model.ip.v6 ? 6 : 4; }
  size_t last() const { return model.ip.v6 ? 15 : 3; }

  void source(uint8_t host) {
    rewrite.value.ip_version = family();
    rewrite.value.src_ip[last()] = host;
    rewrite.mask.src_ip[last()] = 0xff;
    model.ip.source = host;
  }
  void dest(uint8_t host) {
    rewrite.value.ip_version = family();
    rewrite.value.dst_ip[last()] = host;
    rewrite.mask.dst_ip[last()] = 0xff;
    model.ip.dest = host;
  }
  void sport(uint16_t port) {
    rewrite.value.sport = be(port);
    rewrite.mask.sport = 0xffff;
    model.sport = port;
  }
  void dport(uint16_t port) {
    rewrite.value.dport = be(port);
    rewrite.mask.dport = 0xffff;
    model.dport = port;
  }
  void tos(uint8_t value, uint8_t mask) {
    rewrite.value.tos = value & mask;
    rewrite.mask.tos = mask;
    model.ip.tos = static_cast<uint8_t>((model.ip.tos & ~mask) | (value & mask));
  }
  void ttl(uint8_t value) {
    rewrite.value.ttl = value;
    rewrite.mask.ttl = 0xff;
    model.ip.ttl = value;
  }
  void label(uint32_t value) {
    store_be32(reinterpret_cast<uint8_t*>(&rewrite.value.flow_label), value);
    store_be32(reinterpret_cast<uint8_t*>(&rewrite.mask.flow_label), 0xfffff);
    if (model.ip.v6) model.ip.flow_label = value;
  }
  void macs(uint8_t byte) {
    for (size_t i = 0; i < 6; i++) {
      rewrite.value.dmac[i] = model.dmac[i] = static_cast<uint8_t>(byte + i);
      rewrite.value.smac[i] = model.smac[i] = static_cast<uint8_t>(byte - i);
      rewrite.mask.dmac[i] = rewrite.mask.smac[i] = 0xff;
    }
  }
  void tag(uint16_t tpid, uint16_t vid) {
    rewrite.value.vlan_tpid = be(tpid);
    rewrite.mask.vlan_tpid = 0xffff;
    rewrite.value.vlan_tci = be(vid);
    rewrite.mask.vlan_tci = be(0x0fff);
    if (model.tags.empty()) return;
    model.tags[0].tpid = tpid;
    model.tags[0].tci = static_cast<uint16_t>((model.tags[0].tci & 0xf000) | vid);
  }
};

IpPacket packet(uint8_t proto, bool v6, size_t payload = 40) {
  IpPacket p;
  p.proto = proto;
  p.ip.v6 = v6;
  p.payload.resize(payload);
  for (size_t i = 0; i < payload; i++) p.payload[i] = static_cast<uint8_t>(i * 7 + 3);
  return p;
}

void expect_rewritten(const IpPacket& before, const Change& change, const std::string& what) {
  ASSERT_EQ(check_rewrite(change.rewrite), nullptr) << what;
  PacketRig rig(before.build());
  ASSERT_TRUE(rig.packet->rewrite(change.rewrite)) << what;
  EXPECT_EQ(rig.bytes(), change.model.build()) << what;
}

TEST(FlowPacket, UnchangedCostsNoCopy) {
  PacketRig rig(packet(6, false, 400).build());
  rig.packet->keys();
  EXPECT_EQ(rig.packet->head(), rig.view.hdr);
  EXPECT_EQ(rig.packet->rest(), rig.frame.data() + PacketView::kHeaderBytes);
  EXPECT_EQ(rig.bytes(), rig.frame);
}

TEST(FlowPacket, EachFieldByItself) {
  for (const uint8_t proto : {6, 17, 132, 1}) {
    for (const bool v6 : {false, true}) {
      for (const size_t payload : {size_t{0}, size_t{41}, size_t{1200}}) {
        const IpPacket p = packet(proto, v6, payload);
        const std::string what = "protocol " + std::to_string(proto) + (v6 ? " v6" : " v4");
        const auto expect = [&](auto change_it, const char* field) {
          Change change(p);
          change_it(&change);
          expect_rewritten(p, change, what + " " + field);
        };
        expect([](Change* c) { c->source(77); }, "source");
        expect([](Change* c) { c->dest(78); }, "destination");
        expect([](Change* c) { c->tos(0xb8, 0xfc); }, "DSCP");
        expect([](Change* c) { c->ttl(3); }, "TTL");
        expect([](Change* c) { c->label(0xabcde); }, "flow label");
        expect([](Change* c) { c->macs(0x42); }, "MACs");
        expect([](Change* c) { c->tag(0x88a8, 5); }, "a tag that is not there");
        if (proto == 1) continue;
        expect([](Change* c) { c->sport(53); }, "source port");
        expect([](Change* c) { c->dport(65535); }, "destination port");
      }
    }
  }
}

/// All values, and so all carries, and the UDP checksum that would be 0.
TEST(FlowPacket, EveryPort) {
  for (const uint8_t proto : {6, 17}) {
    const IpPacket p = packet(proto, false, 2);
    PacketRig rig(p.build());
    Change change(p);
    for (uint32_t port = 0; port <= 0xffff; port++) {
      change.sport(static_cast<uint16_t>(port));
      ASSERT_TRUE(rig.packet->rewrite(change.rewrite));
      if (rig.bytes() != change.model.build()) FAIL() << "port " << port;
    }
  }
}

TEST(FlowPacket, ManyFieldsOfManyPackets) {
  std::mt19937 random(11);
  const auto maybe = [&random] { return random() % 2 == 0; };
  const auto byte = [&random] { return static_cast<uint8_t>(random()); };
  for (int round = 0; round < 20'000; round++) {
    const uint8_t protos[] = {6, 17, 132};
    IpPacket p = packet(protos[random() % 3], maybe(), random() % 10 ? random() % 64 : 1400);
    for (size_t tags = random() % 3; tags > 0; tags--)
      p.tags.push_back({0x8100, static_cast<uint16_t>(random())});
    if (p.ip.v6 && maybe()) {
      p.ip.extension = 60;
      p.ip.extension_bytes.resize(maybe() ? 6 : 14);
    }
    if (!p.ip.v6 && maybe()) p.ip.options.resize(4 * (random() % 4), 1);
    if (!p.ip.v6 && random() % 4 == 0 && p.proto != 132) {
      p.ip.df = false;
      p.ip.more_fragments = true;
    }
    p.no_checksum = !p.ip.v6 && random() % 4 == 0;
    Change change(p);
    if (maybe()) change.source(byte());
    if (maybe()) change.dest(byte());
    if (maybe()) change.sport(static_cast<uint16_t>(random()));
    if (maybe()) change.dport(static_cast<uint16_t>(random()));
    if (maybe()) change.tos(byte(), byte());
    if (maybe()) change.ttl(byte());
    if (maybe()) change.label(random() & 0xfffff);
    if (maybe()) change.macs(byte());
    if (maybe()) change.tag(maybe() ? 0x88a8 : 0x8100, random() & 0xfff);
    expect_rewritten(p, change, "round " + std::to_string(round));
    if (testing::Test::HasFailure()) return;
  }
}

/// A full address, and one of the other family.
TEST(FlowPacket, AddressesOfTheirFamilyOnly) {
  FlowRewrite to;
  to.value.ip_version = 6;
  std::fill(std::begin(to.mask.dst_ip), std::end(to.mask.dst_ip), uint8_t{0xff});
  std::fill(std::begin(to.value.dst_ip), std::end(to.value.dst_ip), uint8_t{0x2a});
  const Bytes v4 = packet(6, false).build();
  PacketRig other(v4);
  ASSERT_TRUE(other.packet->rewrite(to));
  EXPECT_EQ(other.bytes(), v4);
  PacketRig rig(packet(6, true).build());
  ASSERT_TRUE(rig.packet->rewrite(to));
  Bytes out = rig.bytes();
  EXPECT_TRUE(std::all_of(out.begin() + 38, out.begin() + 54, [](uint8_t b) { return b == 0x2a; }));
  const Bytes tcp(out.begin() + 54, out.begin() + 54 + 60);
  Bytes pseudo(out.begin() + 22, out.begin() + 54);
  put_be32(&pseudo, 60);
  put_be32(&pseudo, 6);
  EXPECT_EQ(naive_sum(tcp.data(), 60, naive_sum(pseudo.data(), pseudo.size())), 0xffff);
}

TEST(FlowPacket, Icmpv6CoversAddresses) {
  IpPacket p = packet(58, true, 24);
  p.payload[0] = 128;
  Bytes frame = p.build();
  const auto sum = [](const Bytes& f) {
    Bytes pseudo(f.begin() + 22, f.begin() + 54);
    put_be32(&pseudo, static_cast<uint32_t>(f.size() - 54));
    put_be32(&pseudo, 58);
    return naive_sum(f.data() + 54, f.size() - 54, naive_sum(pseudo.data(), pseudo.size()));
  };
  frame.resize(54 + 4 + 24);
  store_be16(frame.data() + 56, 0);
  store_be16(frame.data() + 18, static_cast<uint16_t>(frame.size() - 54));
  store_be16(frame.data() + 56, static_cast<uint16_t>(~sum(frame)));
  ASSERT_EQ(sum(frame), 0xffff);
  PacketRig rig(frame);
  Change change(p);
  change.dest(200);
  change.sport(1234);  // ICMP has no ports
  ASSERT_TRUE(rig.packet->rewrite(change.rewrite));
  EXPECT_EQ(sum(rig.bytes()), 0xffff);
  EXPECT_EQ(rig.bytes()[53], 200);
  EXPECT_EQ(rig.bytes()[54], frame[54]);
}

/// The error is the same before and after, so a receiver finds it.
TEST(FlowPacket, WrongChecksumsStayWrong) {
  for (const uint8_t proto : {6, 17, 132}) {
    IpPacket bad = packet(proto, false);
    IpPacket good = bad;
    bad.break_checksum = 0x0101;
    Change change(bad);
    change.sport(99);
    change.dest(9);
    PacketRig rig(bad.build());
    ASSERT_TRUE(rig.packet->rewrite(change.rewrite));
    good.sport = 99;
    good.ip.dest = 9;
    const Bytes right = good.build();
    EXPECT_NE(rig.bytes(), right) << +proto;
    const size_t at = 34 + (proto == 6 ? 16 : proto == 17 ? 6 : 8);
    Bytes rest = rig.bytes();
    std::copy(right.begin() + static_cast<ptrdiff_t>(at),
              right.begin() + static_cast<ptrdiff_t>(at + (proto == 132 ? 4 : 2)),
              rest.begin() + static_cast<ptrdiff_t>(at));
    EXPECT_EQ(rest, right) << "nothing but the checksum differs";
  }
}

TEST(FlowPacket, FragmentsBehindTheFirstHaveNoChecksum) {
  IpPacket p = packet(17, false);
  p.ip.df = false;
  p.ip.more_fragments = true;
  Bytes frame = p.build();
  const auto place = [](Bytes* f) {
    (*f)[21] = 100;
    store_be16(f->data() + 24, 0);
    store_be16(f->data() + 24, static_cast<uint16_t>(~naive_sum(f->data() + 14, 20)));
  };
  place(&frame);
  Change change(p);
  change.dest(9);
  PacketRig rig(frame);
  ASSERT_TRUE(rig.packet->rewrite(change.rewrite));
  Bytes wanted = frame;
  wanted[33] = 9;
  place(&wanted);
  EXPECT_EQ(rig.bytes(), wanted);
  change.sport(1);
  ASSERT_TRUE(rig.packet->rewrite(change.rewrite));
  EXPECT_EQ(rig.bytes(), wanted) << "nor ports";
}

TEST(FlowPacket, WhatCannotBeFollowedIsRefused) {
  Change change(packet(6, false));
  change.dest(9);
  Bytes frame = packet(6, false).build();
  frame.resize(34 + 12);  // half a TCP header
  PacketRig cut(frame);
  EXPECT_FALSE(cut.packet->rewrite(change.rewrite));

  IpPacket sctp = packet(132, false);
  sctp.ip.df = false;
  sctp.ip.more_fragments = true;
  Change port(sctp);
  port.dport(7);
  PacketRig fragment(sctp.build());
  EXPECT_FALSE(fragment.packet->rewrite(port.rewrite)) << "its CRC is over all fragments";

  IpPacket deep = packet(6, true);
  deep.ip.extension = 60;
  deep.ip.extension_bytes.resize(8 * 30 - 2);
  Change v6(deep);
  v6.dest(9);
  PacketRig beyond(deep.build());
  EXPECT_FALSE(beyond.packet->rewrite(v6.rewrite)) << "TCP is behind the headers that were copied";
}

TEST(FlowPacket, Ttl) {
  for (const bool v6 : {false, true}) {
    FlowEdit edit;
    edit.dec_ttl = true;
    for (int ttl = 255; ttl > 0; ttl--) {
      IpPacket p = packet(6, v6);
      p.ip.ttl = static_cast<uint8_t>(ttl);
      PacketRig rig(p.build());
      ASSERT_EQ(rig.packet->ttl_expires(edit), ttl == 1);
      ASSERT_EQ(rig.packet->apply(edit, 0), ttl > 1);
      p.ip.ttl -= ttl > 1;
      ASSERT_EQ(rig.bytes(), p.build()) << ttl;
    }
  }
  IpPacket hidden = packet(6, false);
  hidden.ip.ttl = 1;
  hidden.tags.resize(3, {0x8100, 1});
  FlowEdit pop;
  pop.pop_tags = 1;
  pop.dec_ttl = true;
  PacketRig behind(hidden.build());
  EXPECT_FALSE(behind.packet->ttl_expires(pop));
  EXPECT_FALSE(behind.packet->apply(pop, 0)) << "a TTL of 0 never leaves";
  Bytes arp = packet(6, false).build();
  arp[12] = 0x08;
  arp[13] = 0x06;
  FlowEdit edit;
  edit.dec_ttl = true;
  PacketRig rig(arp);
  EXPECT_FALSE(rig.packet->ttl_expires(edit));
  ASSERT_TRUE(rig.packet->apply(edit, 0));
  EXPECT_EQ(rig.bytes(), arp);
}

TEST(FlowPacket, TagsComeAndGo) {
  IpPacket p = packet(6, false, 400);
  p.tags = {{0x88a8, 0x2005}, {0x8100, 0x0007}};
  PacketRig rig(p.build());
  rig.packet->pop_vlan();
  p.tags.erase(p.tags.begin());
  EXPECT_EQ(rig.bytes(), p.build());
  EXPECT_EQ(flow_key(rig.packet->keys().plain).vlan_tci, be(7));
  rig.packet->pop_vlan();
  p.tags.clear();
  EXPECT_EQ(rig.bytes(), p.build());
  rig.packet->pop_vlan();
  EXPECT_EQ(rig.bytes(), p.build()) << "nothing to pop";
  ASSERT_TRUE(rig.packet->push_vlan({0x8100, 5}));
  ASSERT_TRUE(rig.packet->push_vlan({0x88a8, 6}));
  p.tags = {{0x88a8, 6}, {0x8100, 5}};
  EXPECT_EQ(rig.bytes(), p.build());
  EXPECT_EQ(flow_key(rig.packet->keys().plain).vlan2_tci, be(5));
}

TEST(FlowPacket, RoomInFrontEnds) {
  PacketRig rig(packet(6, false, 400).build());
  uint32_t pushed = 0;
  while (rig.packet->push_vlan({})) pushed++;
  EXPECT_EQ(pushed, FlowPacket::kRoom / 4);
  PacketRig long_one(Bytes(FlowPacket::kMaxBytes - 4, 1));
  EXPECT_TRUE(long_one.packet->push_vlan({}));
  EXPECT_FALSE(long_one.packet->push_vlan({}));
}

TEST(FlowPacket, ChecksOfEdits) {
  const auto wrong = [](auto set) {
    FlowEdit edit;
    FlowRewrite rewrite;
    FlowEncap encap = outer_headers(TunnelKind::kVxlan, 4);
    set(&edit, &rewrite, &encap);
    edit.rewrite = std::make_unique<FlowRewrite>(rewrite);
    edit.encap = std::make_unique<FlowEncap>(encap);
    return check_edit(edit) != nullptr;
  };
  EXPECT_FALSE(wrong([](FlowEdit*, FlowRewrite*, FlowEncap*) {}));
  EXPECT_TRUE(wrong([](FlowEdit* e, FlowRewrite*, FlowEncap*) { e->num_copies = 5; }));
  EXPECT_TRUE(wrong([](FlowEdit* e, FlowRewrite*, FlowEncap*) { e->pop_tags = 3; }));
  EXPECT_TRUE(wrong([](FlowEdit* e, FlowRewrite*, FlowEncap*) { e->num_push = 3; }));
  EXPECT_TRUE(wrong([](FlowEdit* e, FlowRewrite*, FlowEncap*) {
    e->num_push = 1;
    e->push[0].tpid = 0x0800;
  }));
  EXPECT_TRUE(wrong([](FlowEdit* e, FlowRewrite* r, FlowEncap*) {
    e->dec_ttl = true;
    r->mask.ttl = 0xff;
  }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite* r, FlowEncap*) { r->mask.ip_proto = 1; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite* r, FlowEncap*) { r->mask.tun_ttl = 1; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite* r, FlowEncap*) { r->value.ttl = 1; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite* r, FlowEncap*) { r->mask.src_ip[0] = 1; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite* r, FlowEncap*) { r->value.ip_version = 4; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite* r, FlowEncap*) {
    r->value.ip_version = 4;
    r->mask.dst_ip[4] = 1;
  }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite* r, FlowEncap*) {
    r->mask.vlan_tpid = 0xffff;
    r->value.vlan_tpid = be(0x0800);
  }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite*, FlowEncap* e) { e->kind = TunnelKind::kNone; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite*, FlowEncap* e) { e->ip_version = 5; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite*, FlowEncap* e) { e->source[4] = 1; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite*, FlowEncap* e) { e->id = 1u << 24; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite*, FlowEncap* e) { e->has_id = false; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite*, FlowEncap* e) { e->dport = 0; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite*, FlowEncap* e) { e->tos = 1; }));
  EXPECT_TRUE(wrong([](FlowEdit*, FlowRewrite*, FlowEncap* e) { e->ttl = 0; }));
}

}  // namespace
}  // namespace verna::test
