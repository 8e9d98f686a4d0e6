// SPDX-License-Identifier: GPL-2.0-or-later
// The C interface: options and their errors, and what a host does with a card.
#include <gtest/gtest.h>
#include <unistd.h>

#include <functional>
#include <string>

#include "card_options.h"
#include "hw/verna_regs.h"

namespace verna {
namespace {

verna_card_config good() {
  verna_card_config config{};
  const uint8_t mac[] = {0x52, 0x54, 0, 0, 0, 1};
  std::copy(std::begin(mac), std::end(mac), config.mac);
  config.vectors = 64;
  config.uars = 16;
  config.speed = 100000;
  config.max_qps = 64;
  config.link_ring_kib = 64;
  config.poll_us = 3;
  config.inline_kib = 16;
  config.seed = 1;
  return config;
}

verna_host_ops no_memory() {
  return {[](void*, uint16_t, uint64_t, bool, verna_mapping*) { return false; },
          [](void*, void*, uint64_t, uint64_t) {}};
}

struct Card {
  explicit Card(const verna_card_config& config) {
    const verna_host_ops ops = no_memory();
    card = verna_card_new(&config, &ops, nullptr, error, sizeof error);
  }
  ~Card() {
    if (card) verna_card_free(card);
  }
  char error[256] = "";
  verna_card* card;
};

TEST(CardOptions, EachNumberHasARange) {
  struct Case {
    const char* text;
    std::function<void(verna_card_config&)> change;
  };
  const Case cases[] = {
      {"vectors=0 is out of range, must be 1 to 2048", [](auto& c) { c.vectors = 0; }},
      {"vectors=2049 is", [](auto& c) { c.vectors = 2049; }},
      {"vectors=65537 is", [](auto& c) { c.vectors = 65537; }},
      {"uars=1 is out of range, must be 2 to 16384", [](auto& c) { c.uars = 1; }},
      {"uars=65538 is", [](auto& c) { c.uars = 65538; }},
      {"speed=9 is", [](auto& c) { c.speed = 9; }},
      {"speed=800001 is", [](auto& c) { c.speed = 800001; }},
      {"max-qps=1 is", [](auto& c) { c.max_qps = 1; }},
      {"max-qps=1048577 is", [](auto& c) { c.max_qps = 1048577; }},
      {"link-ring-kib=63 is", [](auto& c) { c.link_ring_kib = 63; }},
      {"poll-us=1000001 is", [](auto& c) { c.poll_us = 1000001; }},
      {"inline-kib=1025 is", [](auto& c) { c.inline_kib = 1025; }},
  };
  EXPECT_EQ(check_options(good()), "");
  for (const Case& c : cases) {
    verna_card_config config = good();
    c.change(config);
    EXPECT_EQ(check_options(config).find(c.text), 0u) << check_options(config);
    Card card(config);
    EXPECT_EQ(card.card, nullptr);
    EXPECT_EQ(std::string(card.error).find(c.text), 0u) << card.error;
  }
}

TEST(CardOptions, OneWire) {
  verna_card_config config = good();
  char link[] = "/tmp/x", netdev[] = "n0";
  config.netdev = netdev;
  EXPECT_EQ(check_options(config), "");
  config.link = link;
  EXPECT_EQ(check_options(config),
            "link=/tmp/x and netdev=n0 exclude each other: the card has one wire");
}

TEST(CardOptions, HelpIsForOursOnly) {
  EXPECT_STREQ(option_help("vectors"), "MSI-X vectors");
  EXPECT_NE(option_help("link"), nullptr);
  EXPECT_EQ(option_help("mac"), nullptr);
  EXPECT_EQ(option_help(""), nullptr);
}

TEST(Card, ErrorsNameWhatTheUserSaid) {
  char nowhere[] = "/nonexistent/dir/x";
  const auto error = [](const verna_card_config& config) {
    Card card(config);
    EXPECT_EQ(card.card, nullptr);
    return std::string(card.error);
  };
  verna_card_config config = good();
  config.ctl = nowhere;
  EXPECT_EQ(error(config).find("ctl=/nonexistent/dir/x: "), 0u) << error(config);
  config = good();
  config.link = nowhere;
  EXPECT_NE(error(config).find(nowhere), std::string::npos);
  config = good();
  config.pcap = nowhere;
  EXPECT_NE(error(config).find(nowhere), std::string::npos);
  config = good();
  config.mac[0] = 1;
  EXPECT_NE(error(config).find("unicast"), std::string::npos);
}

TEST(Card, InterruptsWaitForTheHost) {
  Card card(good());
  ASSERT_TRUE(card.card) << card.error;
  EXPECT_FALSE(verna_card_vectors_pending(card.card));
  verna_card_write(card.card, 0, VERNA_REG_TEST_IRQ, 3, 1000);
  EXPECT_TRUE(verna_card_vectors_pending(card.card));
  uint16_t fn = 99;
  EXPECT_EQ(verna_card_take_vector(card.card, &fn), 3);
  EXPECT_EQ(fn, 0u);
  EXPECT_EQ(verna_card_take_vector(card.card, &fn), -1);
  verna_card_write(card.card, 0, VERNA_REG_TEST_IRQ, 4, 1000);
  verna_card_reset(card.card, 0, 2000);
  EXPECT_FALSE(verna_card_vectors_pending(card.card)) << "a reset takes them back";
}

TEST(Card, OnlyDoorbellsRing) {
  Card card(good());
  ASSERT_TRUE(card.card) << card.error;
  EXPECT_TRUE(verna_card_doorbell(card.card, 0, 15 * VERNA_UAR_SIZE, 0));
  EXPECT_FALSE(verna_card_doorbell(card.card, 0, 16 * VERNA_UAR_SIZE, 0));
  EXPECT_FALSE(verna_card_doorbell(card.card, 0, 8, 0));
}

TEST(CardOptions, ThoseOfVfs) {
  verna_card_config config = good();
  config.vfs = 65;
  EXPECT_EQ(check_options(config), "vfs=65 is out of range, must be 0 to 64");
  config.vfs = 1;
  EXPECT_EQ(check_options(config), "vf-vectors=0 is out of range, must be 1 to 2048");
  config.vf_vectors = 3;
  EXPECT_EQ(check_options(config), "vf-uars=0 is out of range, must be 2 to 16384");
  config.vf_uars = 2;
  EXPECT_EQ(check_options(config), "");
}

TEST(Card, FunctionsOverTheCInterface) {
  verna_card_config config = good();
  config.vfs = 2;
  config.vf_vectors = 3;
  config.vf_uars = 4;
  Card card(config);
  ASSERT_TRUE(card.card) << card.error;
  const auto reg = [&](uint16_t fn, uint32_t offset) {
    return verna_card_read(card.card, fn, offset, 0);
  };
  const auto raise = [&](uint16_t fn, uint32_t vector) {
    verna_card_write(card.card, fn, VERNA_REG_TEST_IRQ, vector, 1000);
  };
  EXPECT_EQ(reg(1, VERNA_REG_MAGIC), ~0u);
  raise(1, 0);
  EXPECT_FALSE(verna_card_vectors_pending(card.card));
  verna_card_set_num_vfs(card.card, 2, 1000);
  EXPECT_EQ(reg(1, VERNA_REG_FUNCTION), 1u);
  EXPECT_EQ(reg(2, VERNA_REG_NUM_VECTORS), 3u);
  EXPECT_EQ(reg(2, VERNA_REG_NUM_UARS), 4u);
  EXPECT_EQ(reg(3, VERNA_REG_MAGIC), ~0u);
  EXPECT_TRUE(verna_card_doorbell(card.card, 1, 3 * VERNA_UAR_SIZE, 0));
  EXPECT_FALSE(verna_card_doorbell(card.card, 1, 4 * VERNA_UAR_SIZE, 0));
  EXPECT_TRUE(verna_card_doorbell(card.card, 0, 4 * VERNA_UAR_SIZE, 0));

  uint16_t fn = 99;
  raise(2, 2);
  raise(2, 3);  // it has three
  EXPECT_EQ(verna_card_take_vector(card.card, &fn), 2);
  EXPECT_EQ(fn, 2u);
  EXPECT_EQ(verna_card_take_vector(card.card, &fn), -1);
  raise(1, 1);
  raise(2, 1);
  verna_card_reset(card.card, 1, 2000);
  EXPECT_EQ(verna_card_take_vector(card.card, &fn), 1);
  EXPECT_EQ(fn, 2u) << "those of others stay";
  raise(1, 1);
  verna_card_reset(card.card, 0, 2000);
  EXPECT_FALSE(verna_card_vectors_pending(card.card));
  raise(2, 1);
  verna_card_set_num_vfs(card.card, 1, 3000);
  EXPECT_FALSE(verna_card_vectors_pending(card.card)) << "its function is gone";
  EXPECT_EQ(reg(2, VERNA_REG_MAGIC), ~0u);
  verna_card_reset(card.card, 7, 2000);
}

TEST(Card, TheLinkNeedsTheUserAndTheNetwork) {
  char netdev[] = "n0";
  verna_card_config config = good();
  Card none(config);
  EXPECT_FALSE(verna_card_read(none.card, 0, VERNA_REG_STATUS, 0) & VERNA_STATUS_LINK_UP);
  config.netdev = netdev;
  Card card(config);
  const auto up = [&] {
    return bool{(verna_card_read(card.card, 0, VERNA_REG_STATUS, 0) & VERNA_STATUS_LINK_UP) != 0};
  };
  EXPECT_TRUE(up());
  verna_card_set_link(card.card, false, true, 0);
  EXPECT_FALSE(up());
  verna_card_set_link(card.card, true, true, 0);
  EXPECT_TRUE(up());
  verna_card_set_link(card.card, true, false, 0);
  EXPECT_FALSE(up()) << "the backend is gone";
}

TEST(Card, OneWithALinkHasNothingForTheNetwork) {
  const std::string path = testing::TempDir() + "card" + std::to_string(getpid());
  std::string copy = path;
  verna_card_config config = good();
  config.link = copy.data();
  Card card(config);
  ASSERT_TRUE(card.card) << card.error;
  const uint8_t* frame;
  const iovec piece = {copy.data(), copy.size()};
  EXPECT_FALSE(verna_card_host_rx_ready(card.card));
  EXPECT_FALSE(verna_card_host_rx(card.card, &piece, 1, 0));
  EXPECT_FALSE(verna_card_host_rx_resumes(card.card));
  EXPECT_EQ(verna_card_host_tx_next(card.card, &frame), 0u);
  verna_card_host_tx_done(card.card, true);
  verna_card_host_tx_resumes(card.card);
  EXPECT_FALSE(verna_card_host_wanted(card.card));
}

}  // namespace
}  // namespace verna
