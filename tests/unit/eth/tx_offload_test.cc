// SPDX-License-Identifier: GPL-2.0-or-later
// Checksums and tags of packets that are not cut.
#include <algorithm>
#include <random>

#include "eth/eth_rig.h"

namespace verna::test {
namespace {

/// CRC32c one bit at a time.
uint32_t naive_crc32c(const uint8_t* data, size_t len) {
  uint32_t crc = 0xffffffff;
  for (size_t i = 0; i < len; i++) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78 : 0);
  }
  return ~crc;
}

/// What the field has to be so that everything adds up, in network order.
uint16_t naive_checksum(const Bytes& packet, size_t start) {
  uint64_t sum = 0;
  for (size_t i = start; i < packet.size(); i++)
    sum += (i - start) & 1 ? packet[i] : packet[i] << 8;
  while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(~sum);
}

struct TxOffloadTest : EthRig {
  void post(verna_tx_desc request, const Bytes& packet, const std::vector<size_t>& cuts = {}) {
    size_t from = 0;
    for (size_t i = 0; i <= cuts.size(); i++) {
      const size_t to = i < cuts.size() ? cuts[i] : packet.size();
      verna_tx_desc desc = i == 0 ? request : verna_tx_desc{};
      desc.addr = buffer(Bytes(packet.begin() + static_cast<ptrdiff_t>(from),
                               packet.begin() + static_cast<ptrdiff_t>(to)));
      desc.len = static_cast<uint32_t>(to - from);
      if (i == cuts.size()) desc.flags |= VERNA_TX_F_EOP;
      std::memcpy(card.bus.ptr(txq->wq.entry(txq->wq.prod), sizeof desc), &desc, sizeof desc);
      txq->wq.prod++;
      from = to;
    }
    card.driver.publish(&txq->wq);
  }
  std::vector<size_t> random_cuts(size_t bytes) {
    std::vector<size_t> cuts;
    for (size_t i = random() % 6; i > 0; i--) cuts.push_back(1 + random() % (bytes - 1));
    std::sort(cuts.begin(), cuts.end());
    cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
    return cuts;
  }
  verna_cqe_status status() {
    auto cqe = done(tx_cq);
    return cqe ? static_cast<verna_cqe_status>(cqe->status) : VERNA_CQE_OK;
  }
  std::mt19937_64 random{5};
};

TEST_F(TxOffloadTest, ChecksumsAtAnyPlace) {
  for (int round = 0; round < 500; round++) {
    Bytes packet = pattern(14 + random() % 1500, random());
    verna_tx_desc request{};
    request.flags = VERNA_TX_F_CSUM;
    request.csum_start = static_cast<uint16_t>(random() % (packet.size() - 1));
    request.csum_offset = static_cast<uint16_t>(
        random() % std::min<size_t>(packet.size() - request.csum_start - 1, 64));
    post(request, packet, random_cuts(packet.size()));
    uint16_t sum = naive_checksum(packet, request.csum_start);
    if (request.csum_offset == 6 && sum == 0) sum = 0xffff;
    store_be16(&packet[request.csum_start + size_t{request.csum_offset}], sum);
    auto out = sent();
    ASSERT_TRUE(out);
    packet.resize(std::max<size_t>(packet.size(), 60), 0);
    ASSERT_EQ(*out, packet) << round;
    ASSERT_EQ(status(), VERNA_CQE_OK);
  }
  EXPECT_EQ(eth(VERNA_ETH_tx_csum), 500u);
}

TEST_F(TxOffloadTest, OnlyUdpHasNoChecksumOfZero) {
  for (uint16_t offset : {2, 6, 16}) {
    Bytes packet(100, 0);
    packet[40] = packet[41] = 0xff;  // the sum of all is 0xffff, its complement 0
    verna_tx_desc request{};
    request.flags = VERNA_TX_F_CSUM;
    request.csum_start = 34;
    request.csum_offset = offset;
    post(request, packet);
    auto out = sent();
    ASSERT_TRUE(out);
    EXPECT_EQ(load_be16(&(*out)[34u + offset]), offset == 6 ? 0xffff : 0) << offset;
    ASSERT_EQ(status(), VERNA_CQE_OK);
  }
}

TEST_F(TxOffloadTest, Crc32cAtAnyPlace) {
  for (int round = 0; round < 300; round++) {
    Bytes packet = pattern(14 + random() % 1500, random());
    verna_tx_desc request{};
    request.flags = VERNA_TX_F_CRC32C;
    request.csum_start = static_cast<uint16_t>(random() % (packet.size() - 3));
    request.csum_offset = static_cast<uint16_t>(
        random() % std::min<size_t>(packet.size() - request.csum_start - 3, 64));
    post(request, packet, random_cuts(packet.size()));
    const size_t field = request.csum_start + size_t{request.csum_offset};
    store_le<uint32_t>(&packet[field], 0);
    store_le(&packet[field],
             naive_crc32c(&packet[request.csum_start], packet.size() - request.csum_start));
    auto out = sent();
    ASSERT_TRUE(out);
    packet.resize(std::max<size_t>(packet.size(), 60), 0);
    ASSERT_EQ(*out, packet) << round;
    ASSERT_EQ(status(), VERNA_CQE_OK);
  }
}

TEST_F(TxOffloadTest, InsertsTags) {
  for (size_t len : {14u, 55u, 56u, 60u, 1000u, 1518u})
    for (uint16_t flag : {VERNA_TX_F_VLAN, VERNA_TX_F_SVLAN}) {
      const Bytes packet = pattern(len, len);
      verna_tx_desc request{};
      request.flags = flag;
      request.vlan_tci = 0xa123;
      post(request, packet, len > 20 ? std::vector<size_t>{5, 13} : std::vector<size_t>{});
      Bytes expected(packet.begin(), packet.begin() + 12);
      const uint8_t tag[4] = {static_cast<uint8_t>(flag == VERNA_TX_F_VLAN ? 0x81 : 0x88),
                              static_cast<uint8_t>(flag == VERNA_TX_F_VLAN ? 0x00 : 0xa8), 0xa1,
                              0x23};
      expected.insert(expected.end(), tag, tag + 4);
      expected.insert(expected.end(), packet.begin() + 12, packet.end());
      expected.resize(std::max<size_t>(expected.size(), 60), 0);
      auto out = sent();
      ASSERT_TRUE(out) << len;
      EXPECT_EQ(*out, expected) << len;
      EXPECT_EQ(status(), VERNA_CQE_OK);
    }
}

TEST_F(TxOffloadTest, ATagDoesNotMoveTheChecksum) {
  Bytes packet = pattern(200, 3);
  verna_tx_desc request{};
  request.flags = VERNA_TX_F_SVLAN | VERNA_TX_F_CSUM;
  request.vlan_tci = 5;
  request.csum_start = 34;
  request.csum_offset = 16;
  post(request, packet);
  store_be16(&packet[50], naive_checksum(packet, 34));
  auto out = sent();
  ASSERT_TRUE(out);
  EXPECT_EQ(Bytes(out->begin() + 16, out->end()), Bytes(packet.begin() + 12, packet.end()));
}

TEST_F(TxOffloadTest, BadRequestsAreRefused) {
  struct Case {
    const char* what;
    std::function<void(verna_tx_desc&)> change;
    size_t len = 100;
  };
  const Case cases[] = {
      {"checksum behind the end",
       [](auto& d) { d.flags = VERNA_TX_F_CSUM, d.csum_start = 90, d.csum_offset = 9; }},
      {"checksum start behind the end",
       [](auto& d) { d.flags = VERNA_TX_F_CSUM, d.csum_start = 65535; }},
      {"checksum offset 65535",
       [](auto& d) { d.flags = VERNA_TX_F_CSUM, d.csum_start = 20, d.csum_offset = 65535; }},
      {"both 65535",
       [](auto& d) { d.flags = VERNA_TX_F_CSUM, d.csum_start = d.csum_offset = 65535; }},
      {"CRC32c behind the end",
       [](auto& d) { d.flags = VERNA_TX_F_CRC32C, d.csum_start = 90, d.csum_offset = 7; }},
      {"checksum and CRC32c", [](auto& d) { d.flags = VERNA_TX_F_CSUM | VERNA_TX_F_CRC32C; }},
      {"both tags", [](auto& d) { d.flags = VERNA_TX_F_VLAN | VERNA_TX_F_SVLAN; }},
      {"a tag that makes it too long", [](auto& d) { d.flags = VERNA_TX_F_VLAN; }, 1519},
      {"TCI without a tag", [](auto& d) { d.vlan_tci = 1; }},
      {"checksum start without a checksum", [](auto& d) { d.csum_start = 14; }},
      {"checksum offset without a checksum", [](auto& d) { d.csum_offset = 16; }},
      {"mss", [](auto& d) { d.mss = 1; }},
      {"hdr_len", [](auto& d) { d.hdr_len = 54; }},
      {"l3", [](auto& d) { d.flags = VERNA_TX_F_CSUM, d.l3_offset = 14; }},
      {"outer l3", [](auto& d) { d.outer_l3_offset = 14; }},
      {"outer l4", [](auto& d) { d.outer_l4_offset = 34; }},
      {"fixed ID", [](auto& d) { d.flags = VERNA_TX_F_FIXED_ID; }},
      {"outer fixed ID", [](auto& d) { d.flags = VERNA_TX_F_OUTER_FIXED_ID; }},
      {"keep CWR", [](auto& d) { d.flags = VERNA_TX_F_KEEP_CWR; }},
  };
  uint64_t refused = 0;
  for (const Case& c : cases) {
    verna_tx_desc request{};
    c.change(request);
    post(request, pattern(c.len, 1));
    EXPECT_FALSE(sent()) << c.what;
    EXPECT_EQ(status(), VERNA_CQE_ETH_DESC_ERR) << c.what;
    EXPECT_EQ(eth(VERNA_ETH_tx_drop_desc), ++refused) << c.what;
  }
  // Every flag alone and with every other either works or is refused; the queue goes on.
  for (uint32_t flags = 0; flags < 0x10000; flags += 2) {
    if (__builtin_popcount(flags) > 2) continue;
    verna_tx_desc request{};
    request.flags = static_cast<uint16_t>(flags);
    post(request, pattern(100, 1));
    ASSERT_TRUE(done(tx_cq)) << flags;
    while (sent()) {
    }
  }
}

}  // namespace
}  // namespace verna::test
