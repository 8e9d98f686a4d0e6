// SPDX-License-Identifier: GPL-2.0-or-later
#include "ctrl/doorbell.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace verna::test {
namespace {

TEST(DoorbellPage, OnlyTheFirstWordOfEachPageRings) {
  EXPECT_EQ(doorbell_page(0, 2), 0u);
  EXPECT_EQ(doorbell_page(4096, 2), 1u);
  EXPECT_EQ(doorbell_page(4, 2), std::nullopt);
  EXPECT_EQ(doorbell_page(4095, 2), std::nullopt);
  EXPECT_EQ(doorbell_page(4100, 2), std::nullopt);
  EXPECT_EQ(doorbell_page(8192, 2), std::nullopt)
      << "the BAR is a power of two, pages may be fewer";
  EXPECT_EQ(doorbell_page(~uint64_t{0}, 16384), std::nullopt);
  EXPECT_EQ(doorbell_page(uint64_t{1} << 44, 2), std::nullopt);
}

TEST(DoorbellRing, FirstInFirstOut) {
  DoorbellRing ring;
  EXPECT_TRUE(ring.empty());
  for (uint32_t round = 0; round < 5000; round++) {
    for (uint32_t i = 0; i < round % 7; i++) ring.push(round, i);
    DoorbellRing::Doorbell d{};
    for (uint32_t i = 0; i < round % 7; i++) {
      ASSERT_FALSE(ring.empty());
      ASSERT_TRUE(ring.pop(&d));
      ASSERT_EQ(d.uar, round);
      ASSERT_EQ(d.value, i);
    }
    ASSERT_FALSE(ring.pop(&d));
    ASSERT_TRUE(ring.empty());
  }
  EXPECT_FALSE(ring.take_overflow());
}

TEST(DoorbellRing, OverflowIsRemembered) {
  DoorbellRing ring;
  for (uint32_t i = 0; i < DoorbellRing::kSlots; i++) ring.push(0, i);
  EXPECT_FALSE(ring.take_overflow());
  ring.push(0, 1);
  ring.push(0, 2);
  DoorbellRing::Doorbell d{};
  for (uint32_t i = 0; i < DoorbellRing::kSlots; i++) {
    ASSERT_TRUE(ring.pop(&d));
    ASSERT_EQ(d.value, i);
  }
  EXPECT_FALSE(ring.empty()) << "the owner must not sleep on an overflow";
  EXPECT_TRUE(ring.take_overflow());
  EXPECT_FALSE(ring.take_overflow());
  EXPECT_TRUE(ring.empty());
}

TEST(DoorbellRing, ManyThreadsLoseNothing) {
  DoorbellRing ring;
  constexpr int kThreads = 4;
  constexpr uint32_t kEach = 20000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; t++) {
    threads.emplace_back([&, t] {
      for (uint32_t i = 0; i < kEach; i++) {
        ring.push(static_cast<uint32_t>(t), i);
        if (i % 64 == 0) std::this_thread::yield();
      }
      running--;
    });
  }
  std::vector<uint32_t> next(kThreads, 0);
  uint64_t popped = 0, overflows = 0;
  const auto drain = [&] {
    DoorbellRing::Doorbell d{};
    bool any = false;
    while (ring.pop(&d)) {
      any = true;
      popped++;
      ASSERT_LT(d.uar, static_cast<uint32_t>(kThreads));
      ASSERT_GE(d.value, next[d.uar]) << "doorbells of one thread keep their order";
      next[d.uar] = d.value + 1;
    }
    if (ring.take_overflow()) overflows++;
    if (!any) std::this_thread::yield();
  };
  while (running > 0) drain();
  for (std::thread& t : threads) t.join();
  drain();
  EXPECT_TRUE(ring.empty());
  if (popped < uint64_t{kThreads} * kEach) EXPECT_GT(overflows, 0u) << "a doorbell vanished";
}

}  // namespace
}  // namespace verna::test
