// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/pending_vectors.h"

#include <gtest/gtest.h>

#include <thread>

namespace verna {
namespace {

std::vector<uint16_t> take_all(PendingVectors& vectors) {
  std::vector<uint16_t> taken;
  while (const auto vector = vectors.take()) taken.push_back(*vector);
  return taken;
}

TEST(PendingVectors, EachIsTakenOnceInOrder) {
  PendingVectors vectors(2048);
  EXPECT_FALSE(vectors.any());
  for (uint16_t v : {2047, 0, 63, 64, 0, 1000, 63}) vectors.raise(v);
  EXPECT_TRUE(vectors.any());
  EXPECT_EQ(take_all(vectors), (std::vector<uint16_t>{0, 63, 64, 1000, 2047}));
  EXPECT_FALSE(vectors.any());
  EXPECT_EQ(vectors.take(), std::nullopt);
}

TEST(PendingVectors, WhatTheCardDoesNotHaveIsIgnored) {
  PendingVectors vectors(65);
  vectors.raise(65);
  vectors.raise(0xffff);
  EXPECT_FALSE(vectors.any());
  vectors.raise(64);
  EXPECT_EQ(take_all(vectors), std::vector<uint16_t>{64});
}

TEST(PendingVectors, RaisedWhileTakingIsNotLost) {
  PendingVectors vectors(128);
  vectors.raise(70);
  vectors.raise(71);
  EXPECT_EQ(vectors.take(), 70);
  vectors.raise(5);   // of a word that was looked at
  vectors.raise(70);  // again, after it was taken
  EXPECT_EQ(take_all(vectors), std::vector<uint16_t>{71});
  EXPECT_TRUE(vectors.any());
  EXPECT_EQ(take_all(vectors), (std::vector<uint16_t>{5, 70}));
}

TEST(PendingVectors, ClearForgetsAlsoWhatIsBeingTaken) {
  PendingVectors vectors(128);
  vectors.raise(1);
  vectors.raise(2);
  vectors.raise(100);
  EXPECT_EQ(vectors.take(), 1);
  vectors.clear();
  EXPECT_FALSE(vectors.any());
  EXPECT_EQ(vectors.take(), std::nullopt);
  vectors.raise(3);
  EXPECT_EQ(take_all(vectors), std::vector<uint16_t>{3});
}

/// A vector that is raised is taken afterwards, however the two threads meet.
TEST(PendingVectors, TwoThreadsLoseNothing) {
  constexpr uint32_t kRounds = 20000;
  PendingVectors vectors(256);
  std::atomic<uint32_t> seen[4] = {};
  std::atomic<bool> done{false};
  std::thread sender([&] {
    while (!done.load()) {
      if (!vectors.any()) {
        std::this_thread::yield();
        continue;
      }
      while (const auto vector = vectors.take()) seen[*vector / 64]++;
    }
  });
  for (uint32_t n = 0; n < kRounds; n++) {
    const uint32_t before = seen[n % 4].load();
    vectors.raise(static_cast<uint16_t>(n % 4 * 64 + n % 64));
    while (seen[n % 4].load() == before) std::this_thread::yield();
  }
  done = true;
  sender.join();
}

}  // namespace
}  // namespace verna
