// SPDX-License-Identifier: GPL-2.0-or-later
#include "vswitch/bridge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>

#include "support/ip_packet.h"

namespace verna::test {
namespace {

using Mac = Bridge::Mac;
using Status = Bridge::Status;

constexpr uint16_t kPf = kPfPort;
constexpr uint16_t kVf0 = 2;
constexpr uint16_t kVf1 = 3;
constexpr uint16_t kVf2 = 4;
constexpr Mac kBroadcast = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
constexpr Mac kGroup = {0x01, 0, 0x5e, 1, 2, 3};
constexpr Mac kLldp = {0x01, 0x80, 0xc2, 0, 0, 0x0e};
constexpr Mac kStranger = {0x02, 9, 9, 9, 9, 9};

Mac mac_of(uint16_t port) { return {0x02, 0, 0, 0, 0, static_cast<uint8_t>(port)}; }
Mac numbered(uint32_t n) {
  return {
      0x06, 0, static_cast<uint8_t>(n >> 16), static_cast<uint8_t>(n >> 8), static_cast<uint8_t>(n),
      1};
}

struct BridgeTest : testing::Test {
  BridgeTest() {
    for (const uint16_t port : {kPf, kVf0, kVf1, kVf2}) set(port, {});
  }
  struct Options {
    uint16_t vlan = 0;
    bool spoof_check = true;
    bool trusted = false;
    bool up = true;
  };
  Status set(uint16_t port, const Options& o, std::optional<Mac> mac = {}) {
    BridgePortConfig config;
    config.mac = mac.value_or(mac_of(port));
    config.vlan = o.vlan;
    config.priority = o.vlan ? 5 : 0;
    config.spoof_check = o.spoof_check;
    config.trusted = o.trusted;
    config.up = o.up;
    return bridge.configure(port, config);
  }
  BridgeVerdict send(uint16_t from, const Mac& to, const Mac& source,
                     std::optional<uint16_t> vid = {}) {
    IpPacket p;
    std::copy(to.begin(), to.end(), p.dmac);
    std::copy(source.begin(), source.end(), p.smac);
    if (vid) p.tags.push_back({0x8100, *vid});
    const Bytes frame = p.build();
    PacketView view;
    parse_packet(frame.data(), static_cast<uint32_t>(frame.size()), &view);
    return bridge.forward(from, view, now);
  }
  std::vector<uint16_t> to(uint16_t from, const Mac& mac, std::optional<uint16_t> vid = {}) {
    return list(send(from, mac, from == kUplink ? kStranger : mac_of(from), vid).to);
  }
  static std::vector<uint16_t> list(const VportSet& set) {
    std::vector<uint16_t> out;
    for (uint16_t port = 0; port < kMaxVports; port++)
      if (set[port]) out.push_back(port);
    return out;
  }
  using Ports = std::vector<uint16_t>;

  Bridge bridge{42};
  Nanos now = 1'000'000'000;
};

TEST_F(BridgeTest, Unicast) {
  EXPECT_EQ(to(kVf0, mac_of(kVf1)), Ports{kVf1});
  EXPECT_EQ(to(kVf0, mac_of(kPf)), Ports{kPf});
  EXPECT_EQ(to(kPf, mac_of(kVf0)), Ports{kVf0});
  EXPECT_EQ(to(kUplink, mac_of(kVf0)), Ports{kVf0});
  EXPECT_EQ(to(kVf0, kStranger), Ports{kUplink});
  EXPECT_EQ(to(kVf0, mac_of(kVf0)), Ports{}) << "to itself";
  EXPECT_EQ(bridge.drops(kVf0).nobody, 1u);
  EXPECT_EQ(to(kUplink, numbered(5)), Ports{}) << "not for this card";
  EXPECT_EQ(to(kVf0, mac_of(kVf1), 7), Ports{kVf1}) << "tags of those without a VLAN are theirs";
}

TEST_F(BridgeTest, BroadcastAndGroups) {
  EXPECT_EQ(to(kVf0, kBroadcast), (Ports{kUplink, kPf, kVf1, kVf2}));
  EXPECT_EQ(to(kUplink, kBroadcast), (Ports{kPf, kVf0, kVf1, kVf2}));
  EXPECT_EQ(to(kVf0, kGroup), Ports{kUplink}) << "nobody asked";
  EXPECT_EQ(bridge.add_address(kVf1, kGroup), Status::kOk);
  EXPECT_EQ(bridge.add_address(kVf1, kGroup), Status::kOk);
  EXPECT_EQ(to(kVf0, kGroup), (Ports{kUplink, kVf1}));
  EXPECT_EQ(to(kUplink, kGroup), Ports{kVf1});
  EXPECT_EQ(bridge.remove_address(kVf1, kGroup), Status::kOk);
  EXPECT_EQ(bridge.remove_address(kVf1, kGroup), Status::kNotFound);
  EXPECT_EQ(to(kUplink, kGroup), Ports{});
}

TEST_F(BridgeTest, AVportsVlan) {
  set(kVf0, {.vlan = 10});
  set(kVf1, {.vlan = 10});
  set(kVf2, {.vlan = 20});
  BridgeVerdict v = send(kVf0, mac_of(kVf1), mac_of(kVf0));
  EXPECT_EQ(list(v.to), Ports{kVf1});
  EXPECT_TRUE(v.untag[kVf1]);
  EXPECT_EQ(to(kVf0, mac_of(kVf2)), Ports{kUplink}) << "in another VLAN nobody knows it";
  v = send(kVf0, kBroadcast, mac_of(kVf0));
  EXPECT_EQ(list(v.to), (Ports{kUplink, kPf, kVf1}));
  EXPECT_EQ(list(v.untag), Ports{kVf1});
  EXPECT_TRUE(v.push);
  EXPECT_EQ(v.push_tci, 5 << 13 | 10);
  EXPECT_EQ(to(kUplink, mac_of(kVf0)), Ports{}) << "untagged";
  EXPECT_EQ(to(kUplink, mac_of(kVf0), 20), Ports{});
  v = send(kUplink, mac_of(kVf0), kStranger, 10);
  EXPECT_EQ(list(v.to), Ports{kVf0});
  EXPECT_TRUE(v.untag[kVf0]);
  EXPECT_FALSE(v.push);
  EXPECT_EQ(to(kUplink, kBroadcast, 20), (Ports{kPf, kVf2}));
  EXPECT_EQ(to(kVf0, mac_of(kVf1), 10), Ports{}) << "a tag inside of the VLAN";
  EXPECT_EQ(bridge.drops(kVf0).tagged, 1u);
}

TEST_F(BridgeTest, SpoofCheck) {
  EXPECT_EQ(list(send(kVf0, mac_of(kVf1), mac_of(kVf2)).to), Ports{});
  EXPECT_EQ(list(send(kVf0, kBroadcast, kStranger).to), Ports{});
  EXPECT_EQ(bridge.drops(kVf0).spoofed, 2u);
  set(kVf0, {.spoof_check = false});
  EXPECT_EQ(list(send(kVf0, mac_of(kVf1), kStranger).to), Ports{kVf1});
  EXPECT_EQ(list(send(kVf0, mac_of(kVf1), kGroup).to), Ports{}) << "no station has such an address";
  EXPECT_EQ(list(send(kVf0, mac_of(kVf1), Mac{}).to), Ports{});
  set(kVf0, {}, Mac{});
  EXPECT_EQ(list(send(kVf0, mac_of(kVf1), Mac{}).to), Ports{}) << "without an address, nothing";
}

TEST_F(BridgeTest, StationsBehindAFunctionAreLearned) {
  set(kVf0, {.spoof_check = false});
  EXPECT_EQ(to(kVf1, kStranger), Ports{kUplink});
  send(kVf0, kBroadcast, kStranger);
  EXPECT_EQ(bridge.learned(kVf0), 1u);
  EXPECT_EQ(to(kVf1, kStranger), Ports{kVf0});
  EXPECT_EQ(list(send(kUplink, kStranger, numbered(1)).to), Ports{kVf0});
  now += Bridge::kLearnedFor - 1;
  EXPECT_EQ(to(kVf1, kStranger), Ports{kVf0});
  now += 1;
  EXPECT_EQ(to(kVf1, kStranger), Ports{kUplink}) << "too old";
  EXPECT_EQ(bridge.learned(kVf0), 0u);
  send(kVf0, kBroadcast, kStranger);
  send(kUplink, kBroadcast, kStranger);
  EXPECT_EQ(to(kVf1, kStranger), Ports{kUplink}) << "it moved out";
  send(kVf0, kBroadcast, kStranger);
  set(kVf1, {.spoof_check = false});
  send(kVf1, kBroadcast, kStranger);
  EXPECT_EQ(to(kVf2, kStranger), Ports{kVf1}) << "it moved to a neighbour";
  EXPECT_EQ(bridge.learned(kVf0), 0u);
  EXPECT_EQ(to(kVf2, kStranger, 30), Ports{kUplink}) << "in its VLAN only";
  bridge.reset_function(kVf1);
  EXPECT_EQ(to(kVf2, kStranger), Ports{kUplink});
}

TEST_F(BridgeTest, NobodyTakesAnothersAddress) {
  set(kVf0, {.spoof_check = false});
  send(kVf0, kBroadcast, mac_of(kVf1));
  EXPECT_EQ(to(kVf2, mac_of(kVf1)), Ports{kVf1});
  EXPECT_EQ(set(kVf2, {}, mac_of(kVf1)), Status::kExists);
  EXPECT_EQ(to(kVf0, mac_of(kVf2)), Ports{kVf2}) << "a refusal changes nothing";
  EXPECT_EQ(set(kVf2, {.vlan = 5}, mac_of(kVf1)), Status::kExists) << "kVf1 is in all VLANs";
  set(kVf1, {.vlan = 6});
  EXPECT_EQ(set(kVf2, {.vlan = 5}, mac_of(kVf1)), Status::kOk);
  EXPECT_EQ(to(kUplink, mac_of(kVf1), 5), Ports{kVf2});
  EXPECT_EQ(to(kUplink, mac_of(kVf1), 6), Ports{kVf1});
  // What was learned before does not stay in front of an address that is given out.
  send(kVf0, kBroadcast, numbered(1), 9);
  EXPECT_EQ(set(kVf1, {}, numbered(1)), Status::kOk);
  EXPECT_EQ(to(kUplink, numbered(1), 9), Ports{kVf1});
}

TEST_F(BridgeTest, OneFunctionFillsItsOwnShareOnly) {
  set(kVf0, {.spoof_check = false});
  set(kVf1, {.spoof_check = false});
  for (uint32_t n = 0; n < 10'000; n++) send(kVf0, kBroadcast, numbered(n));
  EXPECT_EQ(bridge.learned(kVf0), Bridge::kMaxLearned);
  send(kVf1, kBroadcast, kStranger);
  EXPECT_EQ(to(kVf2, kStranger), Ports{kVf1});
  now += Bridge::kLearnedFor;
  send(kVf0, kBroadcast, numbered(20'000));
  EXPECT_EQ(bridge.learned(kVf0), 1u) << "old ones make room";
  for (uint32_t n = 0; n < Bridge::kMaxAddresses; n++) {
    Mac group = numbered(n);
    group[0] = 1;
    ASSERT_EQ(bridge.add_address(kVf0, group), Status::kOk);
  }
  EXPECT_EQ(bridge.add_address(kVf0, kGroup), Status::kNoResource);
  EXPECT_EQ(bridge.add_address(kVf1, kGroup), Status::kOk);
}

TEST_F(BridgeTest, TrustIsForAddressesAndPromiscuity) {
  EXPECT_EQ(bridge.add_address(kVf0, kStranger), Status::kNotTrusted);
  bridge.set_promiscuous(kVf0, true, true);
  EXPECT_EQ(to(kVf1, mac_of(kVf2)), Ports{kVf2});
  set(kVf0, {.trusted = true});
  EXPECT_EQ(bridge.add_address(kVf0, kStranger), Status::kOk);
  EXPECT_EQ(bridge.add_address(kVf0, mac_of(kVf1)), Status::kExists);
  EXPECT_EQ(to(kVf1, kStranger), Ports{kVf0});
  EXPECT_EQ(list(send(kVf0, mac_of(kVf1), kStranger).to), Ports{kVf1}) << "its own, no spoof";
  bridge.set_promiscuous(kVf0, true, false);
  EXPECT_EQ(to(kVf1, mac_of(kVf2)), (Ports{kVf0, kVf2}));
  EXPECT_EQ(to(kUplink, numbered(9)), Ports{kVf0});
  bridge.set_promiscuous(kVf0, false, true);
  EXPECT_EQ(to(kUplink, kGroup), Ports{kVf0});
  EXPECT_EQ(to(kVf1, mac_of(kVf2)), Ports{kVf2});
  set(kVf0, {});
  EXPECT_EQ(to(kUplink, kGroup), Ports{});
  EXPECT_EQ(to(kVf1, kStranger), Ports{kUplink});
  EXPECT_EQ(list(send(kVf0, mac_of(kVf1), kStranger).to), Ports{});
}

TEST_F(BridgeTest, PromiscuityEndsAtTheVlan) {
  set(kVf0, {.vlan = 10, .trusted = true});
  bridge.set_promiscuous(kVf0, true, true);
  EXPECT_EQ(to(kVf1, mac_of(kVf2)), Ports{kVf2});
  EXPECT_EQ(to(kUplink, kGroup, 11), Ports{});
  EXPECT_EQ(to(kUplink, kGroup, 10), Ports{kVf0});
}

TEST_F(BridgeTest, LinkProtocolsAreNotForwarded) {
  EXPECT_EQ(to(kUplink, kLldp), Ports{kPf});
  EXPECT_EQ(to(kPf, kLldp), Ports{kUplink});
  EXPECT_EQ(to(kVf0, kLldp), Ports{});
  EXPECT_EQ(bridge.drops(kVf0).reserved, 1u);
  set(kPf, {.up = false});
  EXPECT_EQ(to(kUplink, kLldp), Ports{});
}

TEST_F(BridgeTest, AVportThatIsDown) {
  set(kVf1, {.up = false});
  EXPECT_EQ(to(kVf0, mac_of(kVf1)), Ports{}) << "nor does it leave by the uplink";
  EXPECT_EQ(to(kVf0, kBroadcast), (Ports{kUplink, kPf, kVf2}));
  EXPECT_EQ(to(kVf1, mac_of(kVf0)), Ports{});
  EXPECT_EQ(bridge.drops(kVf1).down, 1u);
  set(kPf, {.up = false});
  EXPECT_EQ(to(kVf0, mac_of(kVf2)), Ports{kVf2}) << "VFs do not need the PF";
  EXPECT_EQ(to(kVf0, kStranger), Ports{kUplink});
}

TEST_F(BridgeTest, WhatCannotBeIsRefused) {
  EXPECT_EQ(set(kUplink, {}), Status::kInvalid);
  EXPECT_EQ(set(kMaxVports, {}, kStranger), Status::kInvalid);
  EXPECT_EQ(set(kVf0, {.vlan = 4095}), Status::kInvalid);
  EXPECT_EQ(set(kVf0, {}, kGroup), Status::kInvalid);
  EXPECT_EQ(bridge.add_address(kUplink, kGroup), Status::kInvalid);
  EXPECT_EQ(bridge.add_address(kVf0, Mac{}), Status::kInvalid);
  EXPECT_EQ(list(send(kMaxVports, kBroadcast, kStranger).to), Ports{});
  EXPECT_EQ(to(kVf0, mac_of(kVf1)), Ports{kVf1}) << "nothing was changed";
}

/// Whatever is configured and sent: nothing comes back, leaves its VLAN, reaches a vport that is
/// down, or an untrusted one that neither owns nor taught the address.
TEST_F(BridgeTest, IsolationHoldsUnderRandomUse) {
  std::mt19937 random(5);
  const auto below = [&random](uint32_t n) { return static_cast<uint16_t>(random() % n); };
  uint64_t delivered = 0;
  for (int round = 0; round < 100'000; round++) {
    now += below(1000) * 10'000'000ull;
    const uint16_t port = static_cast<uint16_t>(1 + below(8));
    switch (below(12)) {
      case 0:
        set(port, {.vlan = static_cast<uint16_t>(below(2) ? 0 : 1 + below(2)),
                   .spoof_check = below(3) > 0,
                   .trusted = below(3) == 0,
                   .up = below(6) > 0});
        break;
      case 1:
        bridge.add_address(port, numbered(below(6)));
        break;
      case 2:
        bridge.remove_address(port, numbered(below(6)));
        break;
      case 3:
        bridge.set_promiscuous(port, below(2), below(2));
        break;
      case 4:
        if (below(10) == 0) bridge.reset_function(port);
        break;
      default:
        break;
    }
    const uint16_t from = below(9);
    const Mac to_mac = below(4) ? mac_of(below(9)) : below(2) ? numbered(below(6)) : kBroadcast;
    const Mac source = below(3) ? mac_of(from) : numbered(below(6));
    const std::optional<uint16_t> vid = below(2) ? std::optional(below(3)) : std::nullopt;
    const BridgeVerdict v = send(from, to_mac, source, vid);
    const uint16_t vlan = bridge.config(from).vlan ? bridge.config(from).vlan : vid.value_or(0);
    ASSERT_FALSE(v.to[from]);
    for (const uint16_t target : list(v.to)) {
      delivered++;
      if (target == kUplink) continue;
      const BridgePortConfig& c = bridge.config(target);
      ASSERT_TRUE(c.up);
      ASSERT_TRUE(!c.vlan || c.vlan == vlan);
      ASSERT_EQ(v.untag[target], c.vlan != 0);
      if (to_mac == kBroadcast || c.trusted || c.mac == to_mac) continue;
      ASSERT_FALSE(c.spoof_check) << "an address that is not " << target << "'s";
    }
  }
  EXPECT_GT(delivered, 50'000u);
}

}  // namespace
}  // namespace verna::test
