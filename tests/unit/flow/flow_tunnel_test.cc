// SPDX-License-Identifier: GPL-2.0-or-later
// Tunnels: what is seen of them, putting packets in and taking them out.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "flow/tunnel_frames.h"

namespace verna::test {
namespace {

constexpr TunnelKind kKinds[] = {TunnelKind::kVxlan, TunnelKind::kGeneve, TunnelKind::kGre};

Bytes inner_frame(size_t payload = 40, bool v6 = false) {
  IpPacket p;
  p.ip.v6 = v6;
  p.ip.tos = 0x28;
  p.tags = {{0x8100, 0x0123}};
  p.payload.resize(payload, 0x5a);
  return p.build();
}

std::string name(TunnelKind kind, uint8_t version) {
  constexpr const char* kNames[] = {"none", "VXLAN", "GENEVE", "GRE"};
  return std::string(kNames[static_cast<size_t>(kind)]) + " over IPv" + std::to_string(version);
}

void for_all_tunnels(auto test) {
  for (const TunnelKind kind : kKinds)
    for (const uint8_t version : {uint8_t{4}, uint8_t{6}}) {
      SCOPED_TRACE(name(kind, version));
      test(outer_headers(kind, version));
    }
}

TEST(FlowTunnel, TwoKeysOfOnePacket) {
  for_all_tunnels([](const FlowEncap& e) {
    PacketRig rig(wrap(e, 50'000, inner_frame()), 3);
    const FlowKeys& keys = rig.packet->keys();
    ASSERT_TRUE(keys.has_tunnel);
    PacketRig alone(inner_frame(), 3);
    const verna_flow_key plain = flow_key(keys.plain);
    verna_flow_key inside = flow_key(keys.tunnel);
    EXPECT_EQ(plain.port, 3);
    EXPECT_EQ(plain.ip_version, e.ip_version);
    EXPECT_EQ(plain.tun_kind, VERNA_FLOW_TUN_NONE);
    EXPECT_EQ(plain.ip_proto, e.kind == TunnelKind::kGre ? 47 : 17);
    EXPECT_EQ(inside.tun_kind, static_cast<uint8_t>(e.kind));
    EXPECT_EQ(inside.tun_ip_version, e.ip_version);
    EXPECT_EQ(inside.tun_tos, 0xb8);
    EXPECT_EQ(inside.tun_ttl, 61);
    EXPECT_EQ(load_be64(reinterpret_cast<const uint8_t*>(&inside.tun_id)), 0x123456u);
    EXPECT_EQ(std::memcmp(inside.tun_src, e.source, 16), 0);
    EXPECT_EQ(std::memcmp(inside.tun_dst, e.destination, 16), 0);
    const auto* port = reinterpret_cast<const uint8_t*>(&inside.tun_sport);
    EXPECT_EQ(load_be16(port), e.kind == TunnelKind::kGre ? 0 : 50'000);
    verna_flow_key rest{};
    copy_tunnel(inside, &rest);
    EXPECT_EQ(rest.flags, VERNA_FLOW_K_TUN_ID);
    verna_flow_key wanted = flow_key(alone.packet->keys().plain);
    copy_tunnel(inside, &wanted);
    EXPECT_EQ(flow_words(inside), flow_words(wanted)) << "the rest is the inner packet's own key";
    EXPECT_FALSE(alone.packet->keys().has_tunnel);
  });
}

TEST(FlowTunnel, OptionalFieldsAreSkipped) {
  FlowEncap gre = outer_headers(TunnelKind::kGre, 4);
  const Bytes inner = inner_frame();
  for (int bits = 0; bits < 8; bits++) {
    WrapOptions o;
    gre.has_id = bits & 1;
    gre.id = gre.has_id ? 0xfedcba98 : 0;
    o.gre_checksum = bits & 2;
    o.gre_sequence = bits & 4;
    PacketRig rig(wrap(gre, 0, inner, o));
    const verna_flow_key key = flow_key(rig.packet->keys().tunnel);
    ASSERT_TRUE(rig.packet->keys().has_tunnel) << bits;
    EXPECT_EQ(load_be64(reinterpret_cast<const uint8_t*>(&key.tun_id)), gre.id);
    EXPECT_EQ(key.flags & VERNA_FLOW_K_TUN_ID, gre.has_id ? VERNA_FLOW_K_TUN_ID : 0);
    ASSERT_TRUE(rig.packet->decap());
    EXPECT_EQ(rig.bytes(), inner) << bits;
  }
  WrapOptions o;
  o.geneve_options.resize(124, 0x11);
  PacketRig rig(wrap(outer_headers(TunnelKind::kGeneve, 6), 1, inner, o));
  ASSERT_TRUE(rig.packet->decap());
  EXPECT_EQ(rig.bytes(), inner);
}

TEST(FlowTunnel, WhatIsNoneOfOurs) {
  const Bytes inner = inner_frame();
  const auto is_tunnel = [](const Bytes& frame) {
    return PacketRig(frame).packet->keys().has_tunnel;
  };
  const auto changed = [&](const FlowEncap& e, size_t at, uint8_t value) {
    Bytes frame = wrap(e, 1, inner);
    frame[at] = value;
    return frame;
  };
  const FlowEncap vxlan = outer_headers(TunnelKind::kVxlan, 4);
  const FlowEncap geneve = outer_headers(TunnelKind::kGeneve, 4);
  const FlowEncap gre = outer_headers(TunnelKind::kGre, 4);
  EXPECT_TRUE(is_tunnel(wrap(vxlan, 1, inner)));
  EXPECT_FALSE(is_tunnel(changed(vxlan, 37, 0x99))) << "another port";
  EXPECT_FALSE(is_tunnel(changed(vxlan, 42, 0x00))) << "no VNI";
  EXPECT_FALSE(is_tunnel(changed(vxlan, 20, 0x20))) << "a fragment";
  EXPECT_FALSE(is_tunnel(changed(geneve, 42, 0x40))) << "version";
  EXPECT_FALSE(is_tunnel(changed(geneve, 43, 0x80))) << "control";
  EXPECT_FALSE(is_tunnel(changed(geneve, 43, 0x40))) << "critical options";
  EXPECT_FALSE(is_tunnel(changed(geneve, 44, 0x08))) << "no Ethernet";
  EXPECT_FALSE(is_tunnel(changed(gre, 34, 0x60))) << "routing";
  EXPECT_FALSE(is_tunnel(changed(gre, 35, 0x01))) << "version";
  EXPECT_FALSE(is_tunnel(changed(gre, 36, 0x08))) << "no Ethernet";
}

/// Every prefix: reads stay inside (the sanitizer looks), and nothing is half a tunnel.
TEST(FlowTunnel, TruncatedFrames) {
  for_all_tunnels([](const FlowEncap& e) {
    const Bytes whole = wrap(e, 1, inner_frame());
    for (size_t len = 14; len < whole.size(); len++) {
      PacketRig rig(Bytes(whole.begin(), whole.begin() + static_cast<ptrdiff_t>(len)));
      if (rig.packet->keys().has_tunnel) {
        EXPECT_TRUE(rig.packet->decap());
        EXPECT_GE(rig.packet->bytes(), 14u);
      } else {
        EXPECT_FALSE(rig.packet->decap());
      }
    }
  });
}

TEST(FlowTunnel, InAndOutAgain) {
  for_all_tunnels([](FlowEncap e) {
    for (const bool checksum : {false, true}) {
      for (const size_t payload : {size_t{0}, size_t{101}, size_t{333}, size_t{8000}}) {
        e.udp_checksum = checksum;
        const Bytes inner = inner_frame(payload);
        PacketRig rig(inner, 9);
        ASSERT_TRUE(rig.packet->encap(e, 0));
        const Bytes out = rig.bytes();
        const uint16_t sport = load_be16(out.data() + (e.ip_version == 4 ? 34 : 54));
        ASSERT_EQ(out, wrap(e, sport, inner));
        if (e.kind != TunnelKind::kGre) {
          EXPECT_GE(sport, 0xc000);
        }
        EXPECT_TRUE(rig.packet->keys().has_tunnel);
        ASSERT_TRUE(rig.packet->decap());
        EXPECT_EQ(rig.bytes(), inner);
        EXPECT_FALSE(rig.packet->decap());
        EXPECT_TRUE(rig.packet->keys().has_tunnel) << "where it came from is still known";
        const verna_flow_key key = flow_key(rig.packet->keys().tunnel);
        EXPECT_EQ(key.tun_ttl, 61);
        EXPECT_EQ(key.port, 9);
      }
    }
  });
}

TEST(FlowTunnel, OneFlowHasOneSourcePort) {
  const FlowEncap e = outer_headers(TunnelKind::kVxlan, 4);
  const auto source = [&](uint16_t sport, uint8_t ttl) {
    IpPacket p;
    p.sport = sport;
    p.ip.ttl = ttl;
    PacketRig rig(p.build());
    EXPECT_TRUE(rig.packet->encap(e, 0));
    return load_be16(rig.bytes().data() + 34);
  };
  EXPECT_EQ(source(1000, 64), source(1000, 63));
  std::set<uint16_t> ports;
  for (uint16_t port = 0; port < 100; port++) ports.insert(source(port, 64));
  EXPECT_GT(ports.size(), 95u);
}

TEST(FlowTunnel, IdentificationWhereFragmentsMayBe) {
  FlowEncap e = outer_headers(TunnelKind::kGre, 4);
  e.may_fragment = true;
  WrapOptions o;
  o.ip_id = 0xabcd;
  PacketRig rig(inner_frame());
  ASSERT_TRUE(rig.packet->encap(e, 0xabcd));
  EXPECT_EQ(rig.bytes(), wrap(e, 0, inner_frame(), o));
}

TEST(FlowTunnel, CongestionCrossesTheTunnel) {
  for (uint8_t inner_ecn = 0; inner_ecn < 4; inner_ecn++) {
    for (const bool v6 : {false, true}) {
      IpPacket p;
      p.ip.v6 = v6;
      p.ip.tos = static_cast<uint8_t>(0x20 | inner_ecn);
      const FlowEncap e = outer_headers(TunnelKind::kVxlan, v6 ? 6 : 4);
      PacketRig in(p.build());
      ASSERT_TRUE(in.packet->encap(e, 0));
      EXPECT_EQ(flow_key(in.packet->keys().plain).tos, 0xb8 | inner_ecn);
      for (uint8_t outer_ecn = 0; outer_ecn < 4; outer_ecn++) {
        WrapOptions o;
        o.ecn = outer_ecn;
        PacketRig out(wrap(e, 1, p.build(), o));
        if (outer_ecn == 3 && inner_ecn == 0) {
          EXPECT_FALSE(out.packet->decap()) << "RFC 6040: dropped";
          continue;
        }
        ASSERT_TRUE(out.packet->decap());
        IpPacket wanted = p;
        if (outer_ecn == 3) wanted.ip.tos |= 3;
        EXPECT_EQ(out.bytes(), wanted.build());
      }
    }
  }
}

TEST(FlowTunnel, BrokenOuterHeadersAreNotTakenOff) {
  Bytes frame = wrap(outer_headers(TunnelKind::kVxlan, 4), 1, inner_frame());
  frame[22] ^= 1;
  PacketRig rig(frame);
  EXPECT_TRUE(rig.packet->keys().has_tunnel);
  EXPECT_FALSE(rig.packet->decap());
}

TEST(FlowTunnel, WhatIsBehindTheOuterPacketGoesWithIt) {
  WrapOptions o;
  o.trailer.resize(20, 0xee);
  for (const size_t payload : {size_t{0}, size_t{1000}}) {
    PacketRig rig(wrap(outer_headers(TunnelKind::kGre, 4), 1, inner_frame(payload), o));
    ASSERT_TRUE(rig.packet->decap());
    EXPECT_EQ(rig.bytes(), inner_frame(payload));
  }
}

TEST(FlowTunnel, TtlOfWhatComesOut) {
  FlowEdit edit;
  edit.decap = edit.dec_ttl = true;
  IpPacket p;
  p.ip.ttl = 1;
  PacketRig rig(wrap(outer_headers(TunnelKind::kVxlan, 4), 1, p.build()));
  EXPECT_TRUE(rig.packet->ttl_expires(edit));
  edit.decap = false;
  EXPECT_FALSE(rig.packet->ttl_expires(edit)) << "the outer one is larger";
  EXPECT_EQ(rig.bytes(), rig.frame) << "looking changes nothing";
}

TEST(FlowTunnel, ARewrittenPortMakesATunnel) {
  Bytes frame = wrap(outer_headers(TunnelKind::kVxlan, 4), 1, inner_frame());
  frame[37] ^= 1;
  PacketRig rig(frame);
  EXPECT_FALSE(rig.packet->keys().has_tunnel);
  FlowRewrite rewrite;
  rewrite.mask.dport = 0xffff;
  store_be16(reinterpret_cast<uint8_t*>(&rewrite.value.dport), 4789);
  ASSERT_TRUE(rig.packet->rewrite(rewrite));
  EXPECT_TRUE(rig.packet->keys().has_tunnel);
}

/// Damaged and cut frames under every change: the sanitizer looks, and lengths stay possible.
TEST(FlowTunnel, HostileFrames) {
  std::mt19937 random(8);
  for (int round = 0; round < 30'000; round++) {
    IpPacket p;
    const uint8_t protos[] = {6, 17, 132, 1, 58};
    p.proto = protos[random() % 5];
    p.ip.v6 = random() % 2;
    p.tags.resize(random() % 4, {0x8100, 1});
    p.payload.resize(random() % 300);
    Bytes frame = p.build();
    for (size_t layers = random() % 3; layers > 0; layers--)
      frame = wrap(outer_headers(kKinds[random() % 3], random() % 2 ? 4 : 6), 1, frame);
    for (size_t n = random() % 4; n > 0; n--)
      frame[random() % std::min<size_t>(frame.size(), 160)] = static_cast<uint8_t>(random());
    if (random() % 2) frame.resize(14 + random() % (frame.size() - 13));
    FlowEdit edit;
    edit.decap = random() % 2;
    edit.pop_tags = random() % 3;
    edit.dec_ttl = random() % 2;
    FlowRewrite rewrite;
    rewrite.value.ip_version = random() % 2 ? 4 : 6;
    rewrite.mask.dst_ip[3] = 0xff;
    rewrite.mask.sport = rewrite.mask.vlan_tci = 0xffff;
    rewrite.mask.tos = 0xff;
    if (random() % 2) edit.rewrite = std::make_unique<FlowRewrite>(rewrite);
    if (random() % 2)
      edit.encap =
          std::make_unique<FlowEncap>(outer_headers(kKinds[random() % 3], random() % 2 ? 4 : 6));
    if (edit.encap && random() % 2) {
      FlowEncap summed = *edit.encap;
      summed.udp_checksum = true;
      edit.encap = std::make_unique<FlowEncap>(summed);
    }
    edit.num_push = random() % 3;
    PacketRig rig(frame);
    rig.packet->keys();
    for (int times = 0; times < 3; times++) {
      rig.packet->ttl_expires(edit);
      if (!rig.packet->apply(edit, 0)) break;
      ASSERT_GE(rig.packet->bytes(), 14u);
      ASSERT_LE(rig.packet->bytes(), frame.size() + FlowPacket::kRoom);
      rig.packet->keys();
    }
    rig.bytes();
  }
}

/// Everything at once, in the order of the contract.
TEST(FlowTunnel, AWholeEdit) {
  IpPacket p;
  p.tags = {{0x88a8, 1}, {0x8100, 2}};
  p.ip.tos = 2;
  p.payload.resize(60);
  FlowEdit edit;
  edit.decap = edit.dec_ttl = true;
  edit.pop_tags = 1;
  FlowRewrite rewrite;
  rewrite.value.ip_version = 4;
  rewrite.value.dst_ip[3] = 99;
  rewrite.mask.dst_ip[3] = 0xff;
  edit.rewrite = std::make_unique<FlowRewrite>(rewrite);
  const FlowEncap from = outer_headers(TunnelKind::kVxlan, 4);
  const FlowEncap to = outer_headers(TunnelKind::kGeneve, 6);
  edit.encap = std::make_unique<FlowEncap>(to);
  edit.push = {{{0x8100, 7}, {0x88a8, 8}}};
  edit.num_push = 2;
  ASSERT_EQ(check_edit(edit), nullptr);
  PacketRig rig(wrap(from, 1, p.build()));
  ASSERT_TRUE(rig.packet->apply(edit, 0));
  p.tags.erase(p.tags.begin());
  p.ip.ttl--;
  p.ip.dest = 99;
  Bytes out = rig.bytes();
  const Bytes tags(out.begin() + 12, out.begin() + 20);
  EXPECT_EQ(tags, Bytes({0x88, 0xa8, 0, 8, 0x81, 0, 0, 7}));
  out.erase(out.begin() + 12, out.begin() + 20);
  WrapOptions o;
  o.ecn = 2;
  Bytes inner = p.build();
  EXPECT_EQ(out, wrap(to, load_be16(out.data() + 54), inner, o));
}

}  // namespace
}  // namespace verna::test
