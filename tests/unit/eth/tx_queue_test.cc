// SPDX-License-Identifier: GPL-2.0-or-later
#include <algorithm>

#include "eth/eth_limits.h"
#include "eth/eth_rig.h"

namespace verna::test {
namespace {

struct TxQueueTest : EthRig {
  /// Posts one descriptor as it is.
  void post_raw(const verna_tx_desc& desc) {
    std::memcpy(card.bus.ptr(txq->wq.entry(txq->wq.prod), sizeof desc), &desc, sizeof desc);
    txq->wq.prod++;
  }
};

TEST_F(TxQueueTest, SendsTheBytesOfTheHost) {
  for (size_t len : {14u, 59u, 60u, 61u, 1000u, 1514u, 1522u}) {
    const Bytes frame = pattern(len, len);
    transmit(frame);
    auto out = sent();
    ASSERT_TRUE(out) << len;
    EXPECT_EQ(out->size(), std::max<size_t>(len, 60));
    EXPECT_TRUE(std::equal(frame.begin(), frame.end(), out->begin())) << len;
    for (size_t i = len; i < out->size(); i++) EXPECT_EQ((*out)[i], 0);
    auto cqe = done(tx_cq);
    ASSERT_TRUE(cqe);
    EXPECT_EQ(cqe->opcode, VERNA_CQE_ETH_TX);
    EXPECT_EQ(cqe->status, VERNA_CQE_OK);
    EXPECT_EQ(cqe->id, 0u);
    EXPECT_EQ(cqe->wqe_index, txq->wq.prod - 1);
    EXPECT_GT(cqe->timestamp, 0u);
  }
  EXPECT_EQ(eth(VERNA_ETH_tx_packets), 7u);
  EXPECT_EQ(eth(VERNA_ETH_tx_bytes), 14u + 59 + 60 + 61 + 1000 + 1514 + 1522);
}

TEST_F(TxQueueTest, GathersFragments) {
  const Bytes frame = pattern(1000, 5);
  const size_t cuts[] = {0, 1, 14, 15, 500, 999, 1000};
  for (size_t i = 0; i + 1 < std::size(cuts); i++) {
    const Bytes part(frame.begin() + static_cast<ptrdiff_t>(cuts[i]),
                     frame.begin() + static_cast<ptrdiff_t>(cuts[i + 1]));
    card.driver.post_tx(txq, buffer(part), static_cast<uint32_t>(part.size()),
                        i + 2 == std::size(cuts) ? VERNA_TX_F_EOP : 0);
  }
  card.driver.publish(&txq->wq);
  auto out = sent();
  ASSERT_TRUE(out);
  EXPECT_EQ(*out, frame);
  auto cqe = done(tx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->wqe_index, 5u);
}

TEST_F(TxQueueTest, StartsAPacketOnlyWhenItsEndIsPosted) {
  const Bytes frame = pattern(200, 1);
  card.driver.post_tx(txq, buffer(Bytes(frame.begin(), frame.begin() + 100)), 100, 0);
  card.driver.publish(&txq->wq);
  EXPECT_FALSE(sent());
  world.run_for(10 * kMilli);
  EXPECT_FALSE(sent());
  card.driver.post_tx(txq, buffer(Bytes(frame.begin() + 100, frame.end())), 100);
  card.driver.publish(&txq->wq);
  auto out = sent();
  ASSERT_TRUE(out);
  EXPECT_EQ(*out, frame);
}

TEST_F(TxQueueTest, KeepsOrderAroundTheRingManyTimes) {
  uint32_t next = 0, acknowledged = 0;
  verna_cqe cqe;
  for (uint32_t n = 0; n < 1000; n++) {
    Bytes frame(100, 0);
    store_le(frame.data() + 20, n);
    card.driver.post_tx(txq, buffer(frame), 100);
    card.driver.publish(&txq->wq);
    if (n % 60 != 59) continue;
    world.settle();
    while (auto out = sent()) ASSERT_EQ(load_le<uint32_t>(out->data() + 20), next++);
    while (card.driver.poll(tx_cq, &cqe)) {
      ASSERT_GE(cqe.wqe_index + 1, acknowledged);
      acknowledged = cqe.wqe_index + 1;
    }
    ASSERT_EQ(acknowledged, n + 1) << "a completion reports all descriptors before it";
  }
}

TEST_F(TxQueueTest, BadDescriptorsAreRefusedAndTheQueueGoesOn) {
  struct Case {
    const char* what;
    std::function<void(verna_tx_desc&)> change;
  };
  const Case cases[] = {
      {"length 0", [](verna_tx_desc& d) { d.len = 0; }},
      {"shorter than a header", [](verna_tx_desc& d) { d.len = 13; }},
      {"longer than MTU + 22", [](verna_tx_desc& d) { d.len = 1523; }},
      {"65537", [](verna_tx_desc& d) { d.len = 65537; }},
      {"2^32 - 1", [](verna_tx_desc& d) { d.len = 0xffffffff; }},
      {"flag 15", [](verna_tx_desc& d) { d.flags |= 0x8000; }},
      {"a vport without VPORT", [](verna_tx_desc& d) { d.vport = 1; }},
      {"VPORT without a switch", [](verna_tx_desc& d) { d.flags |= VERNA_TX_F_VPORT; }},
  };
  const uint64_t addr = buffer(Bytes(4096, 1));
  uint64_t refused = 0;
  for (const Case& c : cases) {
    verna_tx_desc desc{};
    desc.addr = addr;
    desc.len = 100;
    desc.flags = VERNA_TX_F_EOP;
    c.change(desc);
    post_raw(desc);
    card.driver.publish(&txq->wq);
    EXPECT_FALSE(sent()) << c.what;
    auto cqe = done(tx_cq);
    ASSERT_TRUE(cqe) << c.what;
    EXPECT_EQ(cqe->status, VERNA_CQE_ETH_DESC_ERR) << c.what;
    EXPECT_EQ(cqe->wqe_index, txq->wq.prod - 1) << c.what;
    EXPECT_EQ(eth(VERNA_ETH_tx_drop_desc), ++refused) << c.what;
    transmit(pattern(80, 1));
    EXPECT_TRUE(sent()) << c.what;
    ASSERT_TRUE(done(tx_cq)) << c.what;
  }
}

TEST_F(TxQueueTest, FragmentsThatAddUpToTooMuchAreRefused) {
  const uint64_t addr = buffer(Bytes(1000, 1));
  for (int i = 0; i < 20; i++) card.driver.post_tx(txq, addr, 1000, i == 19 ? VERNA_TX_F_EOP : 0);
  card.driver.publish(&txq->wq);
  EXPECT_FALSE(sent());
  auto cqe = done(tx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_ETH_DESC_ERR);
  EXPECT_EQ(cqe->wqe_index, 19u);
}

TEST_F(TxQueueTest, ABufferThatIsNoMemoryIsRefused) {
  card.bus.expect_faults();
  card.driver.post_tx(txq, buffer(Bytes(100, 1)), 100, 0);
  card.driver.post_tx(txq, 0xfee00000, 100);
  card.driver.publish(&txq->wq);
  EXPECT_FALSE(sent());
  auto cqe = done(tx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_ETH_DMA_ERR);
  EXPECT_EQ(cqe->wqe_index, 1u);
  EXPECT_EQ(eth(VERNA_ETH_tx_drop_dma), 1u);
  EXPECT_GE(card.dev_counter(VERNA_DEV_dma_errors), 1u);
  transmit(pattern(80, 1));
  EXPECT_TRUE(sent());
}

TEST_F(TxQueueTest, NoEndInTheLargestPacketStopsTheQueue) {
  const uint64_t addr = buffer(Bytes(100, 1));
  for (uint32_t i = 0; i <= kMaxTxFrags; i++) card.driver.post_tx(txq, addr, 1, 0);
  card.driver.publish(&txq->wq);
  EXPECT_FALSE(sent());
  EXPECT_TRUE(saw_event(VERNA_EVENT_TXQ_ERROR, 0));
  transmit(pattern(80, 1));
  EXPECT_FALSE(sent()) << "a stopped queue stays stopped";
  // It can be destroyed and made again.
  ASSERT_TRUE(card.driver.object(VERNA_CMD_DESTROY_TXQ, 0).ok());
  txq = card.driver.create_txq(0, tx_cq, 6);
  transmit(pattern(80, 1));
  EXPECT_TRUE(sent());
}

TEST_F(TxQueueTest, AProducerIndexThatLiesStopsOnlyItsQueue) {
  RingHandle* other_cq = card.driver.create_cq(6);
  EthQueue* other = card.driver.create_txq(1, other_cq, 4);
  txq->wq.mem->store<uint32_t>(0, 65);
  card.ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 0));
  world.settle();
  EXPECT_TRUE(saw_event(VERNA_EVENT_TXQ_ERROR, 0));
  card.driver.post_tx(other, buffer(Bytes(100, 1)), 100);
  card.driver.publish(&other->wq);
  EXPECT_TRUE(sent());
}

TEST_F(TxQueueTest, LostRingMemoryStopsOnlyItsQueue) {
  card.bus.expect_faults();
  RingHandle* other_cq = card.driver.create_cq(6);
  EthQueue* other = card.driver.create_txq(1, other_cq, 4);
  txq->mem.unmap();
  card.ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 0));
  EXPECT_TRUE(saw_event(VERNA_EVENT_TXQ_ERROR, 0));
  card.driver.post_tx(other, buffer(Bytes(100, 1)), 100);
  card.driver.publish(&other->wq);
  EXPECT_TRUE(sent());
}

TEST_F(TxQueueTest, DescriptorsAreReadOnce) {
  const Bytes frame = pattern(100, 3);
  const uint64_t addr = buffer(frame);
  card.driver.post_tx(txq, addr, 100);
  const uint64_t ring = txq->wq.mem->at(txq->wq.ring);
  card.bus.watch(ring, 64 * 32);
  card.bus.set_read_hook([&](const FakeHostBus::Access& a) {
    if (a.addr < ring || a.addr >= ring + 64 * 32) return;
    for (size_t i = 0; i < a.len; i++) *card.bus.ptr(a.addr + i) = 0xff;
  });
  card.driver.publish(&txq->wq);
  auto out = sent();
  ASSERT_TRUE(out);
  EXPECT_EQ(*out, frame);
  EXPECT_LE(card.bus.max_fetches(), 1u);
}

TEST_F(TxQueueTest, LinkDownCompletesWithoutSending) {
  wire.a.up = false;
  world.run_for(kSecond);
  transmit(pattern(100, 1));
  auto cqe = done(tx_cq);
  ASSERT_TRUE(cqe);
  EXPECT_EQ(cqe->status, VERNA_CQE_OK);
  EXPECT_EQ(eth(VERNA_ETH_tx_drop_link_down), 1u);
  EXPECT_EQ(eth(VERNA_ETH_tx_packets), 0u);
  EXPECT_EQ(port(VERNA_PORT_tx_drop_link_down), 1u);
  EXPECT_EQ(wire.to_b.sent, 0u);
}

TEST_F(TxQueueTest, AFullWireDelaysAndLosesNothing) {
  wire.a.block_tx = true;
  for (int i = 0; i < 10; i++) transmit(pattern(100, static_cast<uint64_t>(i)));
  EXPECT_FALSE(sent());
  EXPECT_FALSE(done(tx_cq));
  wire.a.block_tx = false;
  for (int i = 0; i < 10; i++) {
    auto out = sent();
    ASSERT_TRUE(out) << i;
    EXPECT_EQ(*out, pattern(100, static_cast<uint64_t>(i)));
  }
}

TEST_F(TxQueueTest, MtuBoundsTheFrame) {
  ASSERT_TRUE(card.driver.set_mtu(9000).ok());
  transmit(pattern(9022, 1));
  auto out = sent();
  ASSERT_TRUE(out);
  EXPECT_EQ(out->size(), 9022u);
  ASSERT_TRUE(card.driver.set_mtu(68).ok());
  transmit(pattern(90, 1));
  EXPECT_TRUE(sent());
  transmit(pattern(91, 1));
  EXPECT_FALSE(sent());
  EXPECT_EQ(eth(VERNA_ETH_tx_drop_desc), 1u);
}

TEST_F(TxQueueTest, QueuesShareTheWire) {
  std::vector<EthQueue*> queues = {txq};
  for (uint32_t i = 1; i < 4; i++) {
    queues.push_back(card.driver.create_txq(i, card.driver.create_cq(8), 6));
  }
  const uint64_t addr = buffer(pattern(1000, 1));
  wire.a.block_tx = true;
  for (EthQueue* q : queues) {
    for (int i = 0; i < 60; i++) card.driver.post_tx(q, addr, 1000);
    card.driver.publish(&q->wq);
  }
  world.settle();
  wire.a.block_tx = false;
  world.run_for(kMilli);
  EXPECT_EQ(wire.to_b.sent, 240u);
  for (uint32_t i = 0; i < 4; i++) {
    EXPECT_EQ(card.driver.counters(VERNA_COUNTERS_TXQ, i)[VERNA_TXQ_packets], 60u);
    EXPECT_EQ(card.driver.counters(VERNA_COUNTERS_TXQ, i)[VERNA_TXQ_bytes], 60000u);
  }
}

TEST_F(TxQueueTest, WorkPostedWhileTheCardArmsTheDoorbellIsNotLost) {
  transmit(pattern(100, 1));
  ASSERT_TRUE(sent());
  // The host saw need_doorbell clear a moment ago and rings none; the card sets it just now.
  const uint64_t need = txq->mem.at(offsetof(verna_wq_rec, need_doorbell));
  transmit(pattern(100, 2));
  ASSERT_TRUE(sent());
  bool posted = false;
  card.driver.post_tx(txq, buffer(pattern(100, 3)), 100);
  card.bus.set_write_hook([&](const FakeHostBus::Access& a) {
    if (posted || a.addr != need || card.bus.load<uint32_t>(need) == 0) return;
    posted = true;
    txq->mem.store<uint32_t>(0, txq->wq.prod);
  });
  txq->mem.store<uint32_t>(0, txq->wq.prod - 1);
  card.ring_doorbell(1, VERNA_DB(VERNA_DB_TXQ, 0));  // one more round, so that it goes to sleep
  world.run_for(10 * kMilli);
  EXPECT_TRUE(posted) << "the doorbell was not armed";
  EXPECT_TRUE(sent()) << "the card slept over it";
}

TEST_F(TxQueueTest, DestroyWithWorkPendingIsClean) {
  wire.a.block_tx = true;
  for (int i = 0; i < 10; i++) transmit(pattern(100, 1));
  world.settle();
  ASSERT_TRUE(card.driver.object(VERNA_CMD_DESTROY_TXQ, 0).ok());
  txq->mem.unmap();
  wire.a.block_tx = false;
  world.run_for(10 * kMilli);
  EXPECT_EQ(wire.to_b.sent, 0u) << "nothing is sent, and nothing is read, after the destroy";
}

}  // namespace
}  // namespace verna::test
