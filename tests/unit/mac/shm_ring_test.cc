// SPDX-License-Identifier: GPL-2.0-or-later
#include "mac/shm_ring.h"

#include <gtest/gtest.h>

#include <deque>
#include <thread>
#include <vector>

#include "base/rng.h"

namespace verna {
namespace {

constexpr uint32_t kSize = kMinRingBytes;

uint8_t pattern(uint64_t n, uint32_t i) { return static_cast<uint8_t>(n * 31 + i * 7); }

void fill(uint8_t* to, uint64_t n, uint32_t len) {
  for (uint32_t i = 0; i < len; i++) to[i] = pattern(n, i);
}

bool intact(const RxFrame& f, uint64_t n, uint32_t len) {
  if (f.len != len) return false;
  for (uint32_t i = 0; i < len; i++)
    if (f.data[i] != pattern(n, i)) return false;
  return true;
}

TEST(ShmRing, KeepsOrderAndContentsAcrossManyWraps) {
  LocalRing memory(kSize);
  RingProducer producer = memory.producer();
  RingConsumer consumer = memory.consumer();
  Rng rng(7);
  std::deque<std::pair<uint64_t, uint32_t>> sent;
  uint64_t produced = 0;
  for (int step = 0; step < 200000; step++) {
    if (rng.below(2)) {
      const uint32_t len = 1 + rng.below(kMaxFrame);
      const uint32_t used = rng.below(4) ? len : 1 + rng.below(len);  // commit less than reserved
      if (uint8_t* room = producer.reserve(len)) {
        fill(room, produced, used);
        producer.commit(used);
        (void)producer.publish();
        sent.emplace_back(produced++, used);
      }
    } else {
      const RxFrame frame = consumer.peek();
      ASSERT_EQ(frame.data == nullptr, sent.empty());
      if (!frame.data) continue;
      ASSERT_TRUE(intact(frame, sent.front().first, sent.front().second));
      consumer.release();
      sent.pop_front();
      (void)consumer.publish();
    }
  }
  EXPECT_GT(produced, 1000u);
  EXPECT_FALSE(producer.broken());
  EXPECT_FALSE(consumer.broken());
}

TEST(ShmRing, NothingIsSeenBeforePublish) {
  LocalRing memory(kSize);
  RingProducer producer = memory.producer();
  RingConsumer consumer = memory.consumer();
  ASSERT_NE(producer.reserve(100), nullptr);
  producer.commit(100);
  EXPECT_EQ(consumer.peek().data, nullptr);
  EXPECT_FALSE(producer.publish());
  EXPECT_EQ(consumer.peek().len, 100u);
}

TEST(ShmRing, FullRingPushesBackAndWakesOnceAQuarterIsFree) {
  LocalRing memory(1 << 20);
  RingProducer producer = memory.producer();
  RingConsumer consumer = memory.consumer();
  uint32_t frames = 0;
  while (producer.reserve(1000)) {
    producer.commit(1000);
    frames++;
  }
  (void)producer.publish();
  EXPECT_EQ(frames, (1u << 20) / 1008);
  ASSERT_TRUE(producer.prepare_wait());
  bool woken = false;
  uint32_t taken = 0;
  while (!woken && consumer.peek().data) {
    consumer.release();
    taken++;
    woken = consumer.publish();
  }
  EXPECT_TRUE(woken);
  EXPECT_NEAR(taken, frames / 4.0, 2);
  EXPECT_FALSE(producer.prepare_wait()) << "there is room now";
  EXPECT_NE(producer.reserve(1000), nullptr);
}

TEST(ShmRing, SleepingConsumerIsWokenOnceOnly) {
  LocalRing memory(kSize);
  RingProducer producer = memory.producer();
  RingConsumer consumer = memory.consumer();
  ASSERT_TRUE(consumer.prepare_sleep());
  producer.reserve(64);
  producer.commit(64);
  EXPECT_TRUE(producer.publish());
  producer.reserve(64);
  producer.commit(64);
  EXPECT_FALSE(producer.publish());
  EXPECT_FALSE(consumer.prepare_sleep()) << "there are frames";
}

struct Lie {
  const char* name;
  uint64_t tail;
  uint64_t header;
};

class HostileProducer : public testing::TestWithParam<Lie> {};

TEST_P(HostileProducer, BreaksTheRingAndNothingElse) {
  LocalRing memory(kSize);
  RingConsumer consumer = memory.consumer();
  uint8_t* data = reinterpret_cast<uint8_t*>(memory.control()) + 4096;
  store_le<uint64_t>(data, GetParam().header);
  memory.control()->tail = GetParam().tail;
  EXPECT_EQ(consumer.peek().data, nullptr);
  EXPECT_TRUE(consumer.broken());
  EXPECT_FALSE(consumer.prepare_sleep());
  EXPECT_EQ(consumer.peek().data, nullptr);
}

INSTANTIATE_TEST_SUITE_P(Lies, HostileProducer,
                         testing::Values(Lie{"TailBeyondRing", kSize + 8, 64},
                                         Lie{"TailFarBeyond", ~7ull, 64},
                                         Lie{"TailUnaligned", 12, 4}, Lie{"EmptyRecord", 1024, 0},
                                         Lie{"RecordBeyondTail", 64, 64},
                                         Lie{"RecordLongerThanAnyFrame", kSize, kMaxFrame + 1},
                                         Lie{"HugeRecord", kSize, 0x1'0000'0040},
                                         Lie{"WrapAtStart", kSize, kRingWrap}),
                         [](const auto& info) { return info.param.name; });

TEST(ShmRing, TailThatMovesBackBreaksTheRing) {
  LocalRing memory(kSize);
  RingProducer producer = memory.producer();
  RingConsumer consumer = memory.consumer();
  for (int i = 0; i < 3; i++) {
    producer.reserve(100);
    producer.commit(100);
  }
  (void)producer.publish();
  for (int i = 0; i < 3; i++) {
    ASSERT_NE(consumer.peek().data, nullptr);
    consumer.release();
  }
  memory.control()->tail = 112;
  EXPECT_EQ(consumer.peek().data, nullptr);
  EXPECT_TRUE(consumer.broken());
}

TEST(ShmRing, HeadThatLiesBreaksTheProducer) {
  for (uint64_t head : std::initializer_list<uint64_t>{8ull << 40, ~7ull, 12}) {
    LocalRing memory(kSize);
    RingProducer producer = memory.producer();
    while (producer.reserve(1000)) producer.commit(1000);
    (void)producer.publish();
    memory.control()->head = head;
    EXPECT_EQ(producer.reserve(1000), nullptr);
    EXPECT_TRUE(producer.broken()) << head;
  }
}

// Both sides sleep through a futex-like flag; a lost wake-up shows as a hang.
TEST(ShmRing, NoWakeUpIsLostBetweenTwoThreads) {
  constexpr uint64_t kFrames = 200000;
  LocalRing memory(kSize);
  std::atomic<uint32_t> wake_consumer{0}, wake_producer{0};
  auto ring = [](std::atomic<uint32_t>& bell) {
    bell = 1;
    bell.notify_one();
  };
  auto sleep = [](std::atomic<uint32_t>& bell) {
    bell.wait(0);
    bell = 0;
  };
  std::thread consumer_thread([&] {
    RingConsumer consumer = memory.consumer();
    Rng rng(2);
    for (uint64_t n = 0; n < kFrames;) {
      const RxFrame frame = consumer.peek();
      if (frame.data) {
        ASSERT_EQ(load_le<uint64_t>(frame.data), n);
        consumer.release();
        n++;
        if (consumer.should_publish() && consumer.publish()) ring(wake_producer);
        continue;
      }
      if (consumer.publish()) ring(wake_producer);
      if (consumer.prepare_sleep()) {
        sleep(wake_consumer);
        consumer.cancel_sleep();
      }
    }
  });
  RingProducer producer = memory.producer();
  Rng rng(1);
  for (uint64_t n = 0; n < kFrames;) {
    const uint32_t len = 8 + rng.below(3000);
    uint8_t* room = producer.reserve(len);
    if (room) {
      store_le<uint64_t>(room, n++);
      producer.commit(len);
      if (rng.below(4) == 0 && producer.publish()) ring(wake_consumer);
      continue;
    }
    if (producer.publish()) ring(wake_consumer);
    if (producer.prepare_wait()) {
      sleep(wake_producer);
      producer.cancel_wait();
    }
  }
  if (producer.publish()) ring(wake_consumer);
  consumer_thread.join();
}

}  // namespace
}  // namespace verna
