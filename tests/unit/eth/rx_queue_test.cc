// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>
#include <utility>

#include "eth/eth_rig.h"
#include "flow/rss.h"

namespace verna::test {
namespace {

struct RxQueueTest : EthRig {};

TEST_F(RxQueueTest, DeliversTheBytesOfTheWire) {
  for (size_t len : {60u, 100u, 1514u, 1522u}) {
    const auto buffers = post_buffers({2048});
    const Bytes frame = frame_to(card.mac, len, len);
    inject(frame);
    auto cqe = done(rx_cq);
    ASSERT_TRUE(cqe) << len;
    EXPECT_EQ(cqe->opcode, VERNA_CQE_ETH_RX);
    EXPECT_EQ(cqe->status, VERNA_CQE_OK);
    EXPECT_EQ(cqe->byte_len, len);
    EXPECT_EQ(cqe->num_bufs, 1);
    EXPECT_EQ(cqe->wqe_index, rxq->wq.prod - 1);
    EXPECT_EQ(card.bus.bytes(buffers[0], len), frame);
    EXPECT_EQ(card.bus.bytes(buffers[0] + len, 2048 - len), Bytes(2048 - len, 0xa5))
        << "wrote behind the packet";
  }
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 4u);
  EXPECT_EQ(eth(VERNA_ETH_rx_bytes), 60u + 100 + 1514 + 1522);
}

TEST_F(RxQueueTest, FillsOneBufferAfterTheOther) {
  ASSERT_TRUE(card.driver.set_mtu(9000).ok());
  const auto buffers = post_buffers({64, 100, 4096, 64, 8192});
  const Bytes frame = frame_to(card.mac, 4270, 7);
  inject(frame);
  auto cqe = done(rx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->num_bufs, 4);
  EXPECT_EQ(cqe->wqe_index, 0u);
  EXPECT_EQ(cqe->byte_len, 4270u);
  Bytes got = card.bus.bytes(buffers[0], 64);
  for (const auto& [i, n] : {std::pair{1, 100u}, {2, 4096u}, {3, 10u}}) {
    const Bytes part = card.bus.bytes(buffers[static_cast<size_t>(i)], n);
    got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(got, frame);
  EXPECT_EQ(card.bus.bytes(buffers[3] + 10, 54), Bytes(54, 0xa5));
  inject(frame_to(card.mac, 100));
  cqe = done(rx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->wqe_index, 4u) << "the next packet begins in a buffer of its own";
}

TEST_F(RxQueueTest, AJumboInTheSmallestBuffers) {
  ASSERT_TRUE(card.driver.set_mtu(9600).ok());
  RingHandle* cq = card.driver.create_cq(8);
  card.driver.object(VERNA_CMD_DESTROY_RXQ, 0);
  rxq = card.driver.create_rxq(0, cq, 8);
  const auto buffers = post_buffers(std::vector<uint32_t>(200, 64));
  const Bytes frame = frame_to(card.mac, 9618, 3);
  inject(frame);
  auto cqe = done(cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->num_bufs, (9618 + 63) / 64);
  Bytes got;
  for (size_t i = 0; i < cqe->num_bufs; i++) {
    const Bytes part = card.bus.bytes(buffers[i], std::min<size_t>(64, 9618 - got.size()));
    got.insert(got.end(), part.begin(), part.end());
  }
  EXPECT_EQ(got, frame);
}

TEST_F(RxQueueTest, TooFewBuffersUseNone) {
  post_buffers({64, 64});
  inject(frame_to(card.mac, 129));
  EXPECT_FALSE(done(rx_cq));
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_buffer), 1u);
  inject(frame_to(card.mac, 128));
  auto cqe = done(rx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->wqe_index, 0u);
  inject(frame_to(card.mac, 60));
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_buffer), 2u);
  // Buffers posted without any doorbell are found by the next packet.
  post_buffers({64});
  inject(frame_to(card.mac, 60));
  EXPECT_TRUE(done(rx_cq));
}

TEST_F(RxQueueTest, RefillAfterEmptyNeedsNoDoorbell) {
  for (int i = 0; i < 300; i++) {
    post_buffers({256});
    inject(frame_to(card.mac, 200, static_cast<uint64_t>(i)));
    auto cqe = done(rx_cq);
    ASSERT_TRUE(cqe) << i;
    ASSERT_EQ(cqe->wqe_index, static_cast<uint32_t>(i));
  }
  EXPECT_EQ(card.driver.doorbells_rung, 0u);
}

TEST_F(RxQueueTest, BadDescriptorsCostOnlyThePacket) {
  struct Case {
    uint32_t len;
    uint32_t reserved;
  };
  uint64_t dropped = 0;
  for (const Case& c :
       {Case{63, 0}, Case{0, 0}, Case{65537, 0}, Case{0xffffffff, 0}, Case{100, 1}}) {
    verna_rx_desc desc{};
    desc.addr = card.bus.alloc(4096);
    desc.len = c.len;
    desc.reserved = c.reserved;
    std::memcpy(card.bus.ptr(rxq->wq.entry(rxq->wq.prod), sizeof desc), &desc, sizeof desc);
    rxq->wq.prod++;
    card.driver.publish(&rxq->wq);
    inject(frame_to(card.mac, 100));
    EXPECT_EQ(eth(VERNA_ETH_rx_drop_desc), ++dropped);
    auto cqe = done(rx_cq);
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->status, VERNA_CQE_ETH_DESC_ERR);
    post_buffers({2048});
    inject(frame_to(card.mac, 100));
    cqe = done(rx_cq);
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->status, VERNA_CQE_OK);
  }
}

TEST_F(RxQueueTest, ABufferThatIsNoMemoryCostsOnlyThePacket) {
  card.bus.expect_faults();
  card.driver.post_rx(rxq, 0xfee00000, 2048);
  card.driver.publish(&rxq->wq);
  inject(frame_to(card.mac, 100));
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_dma), 1u);
  auto cqe = done(rx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_ETH_DMA_ERR);
  post_buffers({2048});
  inject(frame_to(card.mac, 100));
  cqe = done(rx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_OK);
}

TEST_F(RxQueueTest, FullCompletionQueueDropsAndRecovers) {
  RingHandle* small = card.driver.create_cq(1);
  card.driver.object(VERNA_CMD_DESTROY_RXQ, 0);
  rxq = card.driver.create_rxq(0, small, 6);
  post_buffers(std::vector<uint32_t>(20, 256));
  for (int i = 0; i < 5; i++) inject(frame_to(card.mac, 100));
  EXPECT_EQ(eth(VERNA_ETH_rx_packets), 2u);
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_cqe), 3u);
  EXPECT_TRUE(done(small));
  EXPECT_TRUE(done(small));
  inject(frame_to(card.mac, 100));
  auto cqe = done(small);
  ASSERT_TRUE(cqe) << "a full CQ of an RX queue is no error";
  EXPECT_EQ(cqe->wqe_index, 2u);
}

TEST_F(RxQueueTest, NoQueueNoBufferNoModeEachHasItsReason) {
  card.driver.object(VERNA_CMD_DESTROY_RXQ, 0);
  inject(frame_to(card.mac, 100));
  EXPECT_EQ(eth(VERNA_ETH_rx_drop_no_queue), 1u);
  card.driver.set_rx_mode(0);
  inject(frame_to(card.mac, 100));
  EXPECT_EQ(port(VERNA_PORT_rx_drop_disabled), 1u);
  EXPECT_EQ(port(VERNA_PORT_rx_to_eth), 1u);
}

TEST_F(RxQueueTest, AProducerIndexThatLiesStopsOnlyItsQueue) {
  rxq->wq.mem->store<uint32_t>(0, 1000);
  inject(frame_to(card.mac, 100));
  EXPECT_TRUE(saw_event(VERNA_EVENT_RXQ_ERROR, 0));
  ASSERT_TRUE(card.driver.object(VERNA_CMD_DESTROY_RXQ, 0).ok());
  rxq = card.driver.create_rxq(0, rx_cq, 6);
  post_buffers({256});
  inject(frame_to(card.mac, 100));
  EXPECT_TRUE(done(rx_cq));
}

TEST_F(RxQueueTest, DescriptorsAreReadOnce) {
  const auto buffers = post_buffers({2048});
  const uint64_t ring = rxq->wq.mem->at(rxq->wq.ring);
  card.bus.watch(ring, 64 * 16);
  card.bus.set_read_hook([&](const FakeHostBus::Access& a) {
    if (a.addr < ring || a.addr >= ring + 64 * 16) return;
    for (size_t i = 0; i < a.len; i++) *card.bus.ptr(a.addr + i) = 0xff;
  });
  const Bytes frame = frame_to(card.mac, 500, 4);
  inject(frame);
  ASSERT_TRUE(done(rx_cq));
  EXPECT_EQ(card.bus.bytes(buffers[0], 500), frame);
  EXPECT_LE(card.bus.max_fetches(), 1u);
}

TEST_F(RxQueueTest, TheMtuBoundsReception) {
  post_buffers({16384, 16384});
  inject(frame_to(card.mac, 1523));
  EXPECT_EQ(port(VERNA_PORT_rx_drop_oversize), 1u);
  ASSERT_TRUE(card.driver.set_mtu(9600).ok());
  inject(frame_to(card.mac, 9622));
  auto cqe = done(rx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->byte_len, 9622u);
  inject(frame_to(card.mac, 9623));
  EXPECT_EQ(port(VERNA_PORT_rx_drop_oversize), 2u);
}

// --- filter ------------------------------------------------------------------------------------

struct MacFilterTest : EthRig {
  bool receives(const uint8_t (&mac)[6]) {
    post_buffers({2048});
    inject(frame_to(mac, 100));
    return done(rx_cq).has_value();
  }
  const uint8_t broadcast[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  const uint8_t other[6] = {0x52, 0x56, 0x4e, 0, 0, 0x77};
  const uint8_t group[6] = {0x01, 0x00, 0x5e, 1, 2, 3};
};

TEST_F(MacFilterTest, OwnAddressAndBroadcast) {
  EXPECT_TRUE(receives(card.mac));
  EXPECT_TRUE(receives(broadcast));
  EXPECT_FALSE(receives(other));
  EXPECT_FALSE(receives(group));
  EXPECT_EQ(port(VERNA_PORT_rx_drop_filter), 2u);
  EXPECT_EQ(eth(VERNA_ETH_rx_multicast), 1u);
}

TEST_F(MacFilterTest, ExactAddresses) {
  EXPECT_TRUE(card.driver.set_mac(VERNA_CMD_ADD_MAC, other).ok());
  EXPECT_TRUE(card.driver.set_mac(VERNA_CMD_ADD_MAC, group).ok());
  EXPECT_TRUE(receives(other));
  EXPECT_TRUE(receives(group));
  EXPECT_TRUE(card.driver.set_mac(VERNA_CMD_DEL_MAC, other).ok());
  EXPECT_FALSE(receives(other));
  EXPECT_TRUE(receives(group));
}

TEST_F(MacFilterTest, AllMulticastAndPromiscuous) {
  card.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_ALLMULTI);
  EXPECT_TRUE(receives(group));
  EXPECT_FALSE(receives(other));
  card.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC);
  EXPECT_TRUE(receives(group));
  EXPECT_TRUE(receives(other));
  card.driver.set_rx_mode(VERNA_RX_MODE_PROMISC);
  EXPECT_FALSE(receives(card.mac)) << "not enabled";
}

TEST_F(MacFilterTest, ResetForgetsEverything) {
  card.driver.set_mac(VERNA_CMD_ADD_MAC, other);
  card.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC);
  card.reset();
  card.driver.bring_up();
  rx_cq = card.driver.create_cq(4);
  rxq = card.driver.create_rxq(0, rx_cq, 4);
  EXPECT_FALSE(receives(card.mac));
  card.driver.set_rx_mode(VERNA_RX_MODE_ENABLE);
  EXPECT_TRUE(receives(card.mac));
  EXPECT_FALSE(receives(other));
}

// --- steering ----------------------------------------------------------------------------------

struct SteeringTest : EthRig {};

TEST_F(SteeringTest, RssSpreadsFlowsAndReportsTheHash) {
  std::vector<RingHandle*> cqs = {rx_cq};
  std::vector<EthQueue*> queues = {rxq};
  for (uint32_t i = 1; i < 4; i++) {
    cqs.push_back(card.driver.create_cq(8));
    queues.push_back(card.driver.create_rxq(i, cqs[i], 6));
  }
  for (EthQueue* q : queues) {
    rxq = q;
    post_buffers(std::vector<uint32_t>(60, 256));
  }
  verna_cmd_set_rss rss{};
  for (size_t i = 0; i < VERNA_RSS_KEY_SIZE; i++) rss.key[i] = static_cast<uint8_t>(i * 41 + 7);
  rss.table_addr = card.bus.alloc(2 * Rss::kTableSize);
  rss.table_len = Rss::kTableSize;
  std::fill(std::begin(rss.fields), std::end(rss.fields), VERNA_RSS_IPS);
  rss.fields[VERNA_RSS_UDPV4] = VERNA_RSS_IPS | VERNA_RSS_PORTS;
  for (uint64_t i = 0; i < Rss::kTableSize; i++) {
    card.bus.store<uint16_t>(rss.table_addr + 2 * i, static_cast<uint16_t>(i % 4));
  }
  ASSERT_TRUE(card.driver.execute(VERNA_CMD_SET_RSS, rss).ok());
  for (uint16_t flow = 0; flow < 64; flow++) {
    RocePacket p;
    std::copy_n(card.mac, 6, p.dmac);
    p.sip[15] = 5;
    p.dip[15] = 6;
    p.sport = static_cast<uint16_t>(1000 + flow);
    p.dport = 53;
    p.opcode = kUdSendOnly;
    inject(p.build());
  }
  size_t total = 0;
  for (uint32_t i = 0; i < 4; i++) {
    size_t count = 0;
    while (auto cqe = done(cqs[i])) {
      EXPECT_EQ(cqe->id, i);
      EXPECT_TRUE(cqe->flags & VERNA_CQE_F_HASH);
      EXPECT_TRUE(cqe->rx_flags & VERNA_CQE_RX_HASH_L4);
      EXPECT_EQ(cqe->rss_hash % Rss::kTableSize % 4, i);
      count++;
    }
    EXPECT_GT(count, 3u) << "queue " << i;
    total += count;
  }
  EXPECT_EQ(total, 64u);
}

TEST_F(SteeringTest, RoceFramesGoToEthernetUntilTheirAddressIsAGid) {
  post_buffers({2048, 2048, 2048});
  RocePacket p;
  std::copy_n(card.mac, 6, p.dmac);
  std::copy_n(card.gid4, 16, p.dip);
  p.opcode = kRcSendOnly;
  p.dest_qpn = 0x1234;
  inject(p.build());
  EXPECT_TRUE(done(rx_cq)) << "no GID yet";
  ASSERT_TRUE(card.driver.set_gid(0, card.gid4, card.mac).ok());
  inject(p.build());
  EXPECT_FALSE(done(rx_cq));
  EXPECT_EQ(port(VERNA_PORT_rx_to_rdma), 1u);
  p.dport = 4790;
  inject(p.build());
  EXPECT_TRUE(done(rx_cq)) << "another port";
  p.dport = 4791;
  p.vlan_tci = 5;
  inject(p.build());
  EXPECT_TRUE(done(rx_cq)) << "another VLAN";
  EXPECT_EQ(port(VERNA_PORT_rx_to_rdma), 1u);
}

}  // namespace
}  // namespace verna::test
