// SPDX-License-Identifier: GPL-2.0-or-later
// VLAN strip and filters, and Ethernet's loopback.
#include <algorithm>
#include <utility>

#include "eth/eth_rig.h"
#include "support/ip_packet.h"

namespace verna::test {
namespace {

struct VlanTest : EthRig {
  bool set_features(uint32_t features) {
    verna_cmd_eth_features cmd{};
    cmd.features = features;
    return card.driver.execute(VERNA_CMD_SET_ETH_FEATURES, cmd).ok();
  }
  Reply vlan(uint16_t opcode, uint16_t vid, uint16_t tpid = 0x8100) {
    verna_cmd_vlan cmd{};
    cmd.vid = vid;
    cmd.tpid = tpid;
    return card.driver.execute(opcode, cmd);
  }
  IpPacket tagged(std::vector<IpPacket::Tag> tags) {
    IpPacket p;
    std::copy_n(card.mac, 6, p.dmac);
    p.tags = std::move(tags);
    p.payload = pattern(200, 1);
    return p;
  }
  std::optional<verna_cqe> receive(const Bytes& frame, Bytes* bytes = nullptr) {
    const auto buffers = post_buffers({4096});
    inject(frame);
    const auto cqe = done(rx_cq);
    if (cqe && bytes) *bytes = card.bus.bytes(buffers[0], cqe->byte_len);
    return cqe;
  }
};

TEST_F(VlanTest, StripTakesTheOuterTagAlone) {
  const IpPacket::Tag c{0x8100, 0x6123}, s{0x88a8, 0x3456};
  struct Case {
    std::vector<IpPacket::Tag> tags;
    uint32_t features;
    bool stripped;
  };
  for (const Case& t : {Case{{}, VERNA_ETH_ON_STRIP | VERNA_ETH_ON_STRIP_S, false},
                        {{c}, 0, false},
                        {{c}, VERNA_ETH_ON_STRIP_S, false},
                        {{c}, VERNA_ETH_ON_STRIP, true},
                        {{s}, VERNA_ETH_ON_STRIP, false},
                        {{s}, VERNA_ETH_ON_STRIP_S, true},
                        {{s, c}, VERNA_ETH_ON_STRIP, false},
                        {{s, c}, VERNA_ETH_ON_STRIP | VERNA_ETH_ON_STRIP_S, true},
                        {{c, c}, VERNA_ETH_ON_STRIP, true}}) {
    ASSERT_TRUE(set_features(t.features));
    IpPacket p = tagged(t.tags);
    Bytes bytes;
    const auto cqe = receive(p.build(), &bytes);
    ASSERT_TRUE(cqe);
    EXPECT_EQ((cqe->flags & VERNA_CQE_F_VLAN) != 0, t.stripped);
    if (t.stripped) {
      EXPECT_EQ(cqe->vlan_tci, t.tags[0].tci);
      EXPECT_EQ((cqe->rx_flags & VERNA_CQE_RX_SVLAN) != 0, t.tags[0].tpid == 0x88a8);
      p.tags.erase(p.tags.begin());
    }
    EXPECT_EQ(bytes, p.build(false));
    EXPECT_EQ(cqe->csum_ok, 1) << "the tag does not hide the packet";
    EXPECT_EQ(cqe->csum, __builtin_bswap16(naive_sum(bytes.data() + 14, bytes.size() - 14)));
  }
}

TEST_F(VlanTest, FiltersByTypeOfTag) {
  ASSERT_TRUE(set_features(VERNA_ETH_ON_FILTER));
  const auto c = [&](uint16_t tci) { return tagged({{0x8100, tci}}).build(); };
  const auto s = [&](uint16_t tci) { return tagged({{0x88a8, tci}}).build(); };
  EXPECT_FALSE(receive(c(5)));
  EXPECT_EQ(port(VERNA_PORT_rx_drop_vlan), 1u);
  EXPECT_TRUE(receive(c(0xe000))) << "a priority tag";
  EXPECT_TRUE(receive(s(5))) << "the other filter is off";
  EXPECT_TRUE(receive(tagged({}).build()));
  EXPECT_TRUE(vlan(VERNA_CMD_ADD_VLAN, 5).ok());
  EXPECT_TRUE(receive(c(0xf005))) << "the VID is 12 bits";
  EXPECT_TRUE(set_features(VERNA_ETH_ON_FILTER | VERNA_ETH_ON_FILTER_S));
  EXPECT_FALSE(receive(s(5))) << "5 was added for 802.1Q";
  EXPECT_TRUE(vlan(VERNA_CMD_ADD_VLAN, 5, 0x88a8).ok());
  EXPECT_TRUE(receive(s(5)));
  EXPECT_TRUE(receive(tagged({{0x88a8, 5}, {0x8100, 77}}).build())) << "the outer tag decides";
  EXPECT_TRUE(vlan(VERNA_CMD_DEL_VLAN, 5).ok());
  EXPECT_FALSE(receive(c(5)));
  card.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC);
  EXPECT_TRUE(receive(c(5)));
  EXPECT_TRUE(receive(s(6)));
  EXPECT_EQ(port(VERNA_PORT_rx_drop_vlan), 3u);
}

TEST_F(VlanTest, CommandsCheckTheirFields) {
  EXPECT_EQ(vlan(VERNA_CMD_ADD_VLAN, 4096).status, VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(vlan(VERNA_CMD_ADD_VLAN, 1, 0x9100).status, VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(vlan(VERNA_CMD_DEL_VLAN, 1).status, VERNA_CMD_NOT_FOUND);
  EXPECT_TRUE(vlan(VERNA_CMD_ADD_VLAN, 4095).ok());
  EXPECT_EQ(vlan(VERNA_CMD_ADD_VLAN, 4095).status, VERNA_CMD_EXISTS);
  EXPECT_FALSE(set_features(0x80000000));
  card.reset();
  card.driver.bring_up();
  EXPECT_EQ(vlan(VERNA_CMD_DEL_VLAN, 4095).status, VERNA_CMD_NOT_FOUND) << "a reset forgets";
}

// --- loopback ----------------------------------------------------------------------------------

struct LoopbackTest : VlanTest {};

TEST_F(LoopbackTest, WhatIsSentComesBackAndNothingCrossesTheWire) {
  const Bytes frame = tagged({}).build();
  ASSERT_TRUE(set_features(VERNA_ETH_ON_LOOPBACK));
  for (const bool link : {true, false}) {
    card.set_link(link);
    const auto buffers = post_buffers({4096});
    transmit(frame);
    EXPECT_FALSE(sent());
    const auto cqe = done(rx_cq);
    ASSERT_TRUE(cqe);
    EXPECT_EQ(card.bus.bytes(buffers[0], cqe->byte_len), frame);
  }
  EXPECT_EQ(eth(VERNA_ETH_rx_loopback), 2u);
  EXPECT_EQ(eth(VERNA_ETH_tx_packets), 2u);
  EXPECT_EQ(port(VERNA_PORT_tx_frames), 0u);
  EXPECT_EQ(port(VERNA_PORT_rx_frames), 0u);
  card.set_link(true);
  EXPECT_FALSE(receive(frame)) << "from the wire";
  EXPECT_EQ(port(VERNA_PORT_rx_drop_disabled), 1u);
  ASSERT_TRUE(set_features(0));
  EXPECT_TRUE(receive(frame));
  transmit(frame);
  EXPECT_TRUE(sent());
}

TEST_F(LoopbackTest, FiltersHoldAndAFullLoopbackWaits) {
  ASSERT_TRUE(set_features(VERNA_ETH_ON_LOOPBACK));
  IpPacket stranger = tagged({});
  stranger.dmac[5] = 0x77;
  post_buffers({4096});
  transmit(stranger.build());
  EXPECT_FALSE(done(rx_cq));
  EXPECT_EQ(eth(VERNA_ETH_rx_loopback), 0u);
  // More than its ring holds, in one go.
  ASSERT_TRUE(card.driver.set_mtu(9600).ok());
  const Bytes big = frame_to(card.mac, 9600, 3);
  const uint64_t addr = buffer(big);
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < 50; i++) card.driver.post_tx(txq, addr, 9600);
    card.driver.publish(&txq->wq);
    world.settle(kMicro * 1000);
    while (done(tx_cq)) {
    }
  }
  EXPECT_EQ(eth(VERNA_ETH_rx_loopback), 500u);
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_buffer), 500u) << "one buffer of 4096 is too few";
}

}  // namespace
}  // namespace verna::test
