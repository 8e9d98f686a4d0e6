// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue/work_queue.h"

#include <gtest/gtest.h>

#include <optional>

#include "support/host_buffer.h"

namespace verna::test {
namespace {

/// A ring in memory of the given shape; entries hold their index in every word.
struct Ring {
  Ring(uint8_t log_size, uint8_t log_stride, const BufferShape& shape = {}, uint32_t ring_at = 128)
      : mem(bus, ring_at + (uint64_t{1} << (log_size + log_stride)), shape),
        log_size(log_size),
        log_stride(log_stride),
        ring_at(ring_at) {
    EXPECT_EQ(PageList::load(bus, 0, mem.pbl(), mem.length(), quota, &pages), PblStatus::kOk);
    queue.emplace();
    ok = queue->init(&bus, 0, &pages, {0, ring_at, log_size, log_stride});
  }
  void post(uint32_t n = 1) {
    for (uint32_t i = 0; i < n; i++, prod++) fill(prod, prod);
    mem.store<uint32_t>(0, prod);
  }
  void fill(uint32_t index, uint32_t word) {
    const uint32_t slot = index & ((1u << log_size) - 1);
    for (uint32_t at = 0; at < 1u << log_stride; at += 4) {
      mem.store<uint32_t>(ring_at + (uint64_t{slot} << log_stride) + at, word);
    }
  }
  uint32_t word(uint32_t ahead, uint32_t at = 0) {
    const uint8_t* p = queue->entry(ahead);
    if (!p) return 0xdeadbeef;
    return load_le<uint32_t>(p + at);
  }

  FakeHostBus bus;
  HostBuffer mem;
  PblQuota quota{1000};
  PageList pages;
  uint8_t log_size;
  uint8_t log_stride;
  uint32_t ring_at;
  uint32_t prod = 0;
  std::optional<WorkQueue> queue;
  bool ok = false;
};

TEST(WorkQueue, ReadsEntriesInOrderAroundTheRing) {
  Ring ring(3, 6);
  ASSERT_TRUE(ring.ok);
  EXPECT_EQ(ring.queue->size(), 8u);
  EXPECT_EQ(ring.queue->stride(), 64u);
  uint32_t next = 0;
  for (int round = 0; round < 40; round++) {
    ring.post(1 + static_cast<uint32_t>(round) % 8);
    ASSERT_TRUE(ring.queue->refresh());
    while (ring.queue->available() > 0) {
      ASSERT_EQ(ring.queue->next_index(), next);
      ASSERT_EQ(ring.word(0), next);
      ASSERT_EQ(ring.word(0, 60), next);
      ring.queue->consume();
      next++;
    }
  }
  EXPECT_EQ(next, ring.prod);
}

TEST(WorkQueue, LooksAheadWithoutConsuming) {
  Ring ring(4, 7);
  ring.post(16);
  ASSERT_TRUE(ring.queue->refresh());
  for (uint32_t i = 0; i < 16; i++) ASSERT_EQ(ring.word(i), i);
  for (uint32_t i = 16; i-- > 0;) ASSERT_EQ(ring.word(i), i);
  ring.queue->consume(5);
  EXPECT_EQ(ring.queue->available(), 11u);
  EXPECT_EQ(ring.word(0), 5u);
}

TEST(WorkQueue, WorksOverScatteredPages) {
  for (uint8_t level : {1, 2}) {
    Ring ring(7, 7, {.level = level}, 4096);
    ASSERT_TRUE(ring.ok);
    for (int round = 0; round < 3; round++) {
      ring.post(128);
      ASSERT_TRUE(ring.queue->refresh());
      for (uint32_t i = 0; i < 128; i++) {
        ASSERT_EQ(ring.word(0), ring.queue->next_index());
        ring.queue->consume();
      }
    }
  }
}

TEST(WorkQueue, IndicesWrapAtTwoToThe32) {
  // The only way there is to count, so this takes the largest steps that are legal.
  Ring ring(20, 4);
  ASSERT_TRUE(ring.ok);
  uint64_t total = 0;
  while (total < (uint64_t{1} << 32) + (1u << 21)) {
    ring.prod += 1u << 20;
    ring.mem.store<uint32_t>(0, ring.prod);
    ASSERT_TRUE(ring.queue->refresh());
    ASSERT_EQ(ring.queue->available(), 1u << 20);
    ring.queue->consume(1u << 20);
    total += 1u << 20;
  }
  ring.post(3);
  ASSERT_TRUE(ring.queue->refresh());
  EXPECT_EQ(ring.word(0), ring.queue->next_index());
}

TEST(WorkQueue, MoreEntriesThanTheRingHoldsIsAnError) {
  for (uint32_t bad : {9u, 100u, 0x80000000u, 0xffffffffu}) {
    Ring ring(3, 6);
    ring.mem.store<uint32_t>(0, bad);
    EXPECT_FALSE(ring.queue->refresh()) << bad;
  }
}

TEST(WorkQueue, AnIndexThatGoesBackIsAnError) {
  Ring ring(3, 6);
  ring.post(4);
  ASSERT_TRUE(ring.queue->refresh());
  ring.queue->consume(2);
  ring.mem.store<uint32_t>(0, 1);
  EXPECT_FALSE(ring.queue->refresh()) << "before what was consumed";
  ring.mem.store<uint32_t>(0, 3);
  EXPECT_FALSE(ring.queue->refresh()) << "before what was seen";
}

TEST(WorkQueue, MisalignedOrTooLargeLayoutsAreRefused) {
  Ring ring(3, 6);  // 128 + 512 bytes
  const auto init = [&](WorkQueue::Layout layout) {
    WorkQueue queue;
    return queue.init(&ring.bus, 0, &ring.pages, layout);
  };
  EXPECT_TRUE(init({0, 128, 3, 6}));
  EXPECT_FALSE(init({64, 128, 3, 6})) << "record not at a multiple of 128";
  EXPECT_FALSE(init({0, 160, 3, 6})) << "ring not at a multiple of its stride";
  EXPECT_FALSE(init({0, 128, 4, 6})) << "ring larger than the memory";
  EXPECT_FALSE(init({640, 0, 3, 6})) << "record outside";
  EXPECT_FALSE(init({0xffffff80, 0, 3, 6})) << "record far outside";
  EXPECT_FALSE(init({0, 0xffffff80, 3, 6})) << "ring wraps 32 bits";
  EXPECT_FALSE(init({0, 128, 31, 6})) << "absurd size";
  EXPECT_FALSE(init({0, 128, 3, 31})) << "absurd stride";
}

TEST(WorkQueue, PhysicalMisalignmentIsRefused) {
  // Offsets are fine, but the buffer starts in the middle of a page, so an entry would cross it.
  FakeHostBus bus;
  PblQuota quota(100);
  HostBuffer mem(bus, 8192, {.level = 1, .page_shift = 12, .offset = 8});
  PageList pages;
  ASSERT_EQ(PageList::load(bus, 0, mem.pbl(), 8192, quota, &pages), PblStatus::kOk);
  WorkQueue queue;
  EXPECT_FALSE(queue.init(&bus, 0, &pages, {0, 128, 3, 6}));
}

TEST(WorkQueue, EveryEntryIsFetchedOnceAndCopied) {
  Ring ring(6, 6);
  ring.post(64);
  ring.bus.watch(ring.mem.at(128), 64 * 64);
  // The host scribbles over whatever the card has read.
  ring.bus.set_read_hook([&](const FakeHostBus::Access& a) {
    if (a.addr >= ring.mem.at(128)) {
      for (size_t i = 0; i < a.len; i++) *ring.bus.ptr(a.addr + i) = 0xee;
    }
  });
  ASSERT_TRUE(ring.queue->refresh());
  const uint64_t before = ring.bus.accesses();
  for (uint32_t i = 0; i < 64; i++) {
    ASSERT_EQ(ring.word(0), i);
    ASSERT_EQ(ring.word(0, 60), i) << "asked again, memory has changed";
    ring.queue->consume();
  }
  EXPECT_EQ(ring.bus.max_fetches(), 1u);
  EXPECT_LE(ring.bus.accesses() - before, 4u) << "entries are fetched in batches";
}

TEST(WorkQueue, RereadSeesMemoryAsItIsNow) {
  Ring ring(3, 6);
  ring.post(2);
  ASSERT_TRUE(ring.queue->refresh());
  EXPECT_EQ(ring.word(0), 0u);
  ring.queue->consume(2);
  uint32_t word = 0;
  ASSERT_TRUE(ring.queue->reread(1, &word, 4));
  EXPECT_EQ(word, 1u);
  ring.fill(1, 77);
  ASSERT_TRUE(ring.queue->reread(1, &word, 4));
  EXPECT_EQ(word, 77u);
}

TEST(WorkQueue, DmaFaultsAreReported) {
  Ring ring(3, 6);
  ring.post(8);
  ring.bus.expect_faults();
  ring.bus.fail_nth(1);
  EXPECT_FALSE(ring.queue->refresh());
  ASSERT_TRUE(ring.queue->refresh());
  ring.bus.fail_nth(1);
  EXPECT_EQ(ring.queue->entry(), nullptr);
  uint32_t word;
  ring.bus.fail_nth(1);
  EXPECT_FALSE(ring.queue->reread(0, &word, 4));
  ring.bus.fail_nth(1);
  EXPECT_FALSE(ring.queue->set_need_doorbell(true));
  ring.mem.unmap();
  EXPECT_FALSE(ring.queue->refresh());
}

TEST(WorkQueue, NeedDoorbellIsWrittenAndFollowedByABarrier) {
  Ring ring(3, 6);
  const uint64_t barriers = ring.bus.barriers();
  ASSERT_TRUE(ring.queue->set_need_doorbell(true));
  EXPECT_NE(ring.mem.load<uint32_t>(offsetof(verna_wq_rec, need_doorbell)), 0u);
  EXPECT_GT(ring.bus.barriers(), barriers);
  EXPECT_TRUE(ring.queue->need_doorbell());
  ASSERT_TRUE(ring.queue->set_need_doorbell(false));
  EXPECT_EQ(ring.mem.load<uint32_t>(offsetof(verna_wq_rec, need_doorbell)), 0u);
  EXPECT_FALSE(ring.queue->need_doorbell());
}

TEST(WorkQueue, ResetStartsAtZero) {
  Ring ring(3, 6);
  ring.post(5);
  ASSERT_TRUE(ring.queue->refresh());
  EXPECT_EQ(ring.word(0), 0u);
  ring.queue->consume(5);
  ring.queue->reset();
  EXPECT_EQ(ring.queue->next_index(), 0u);
  EXPECT_EQ(ring.queue->available(), 0u);
  ring.fill(0, 99);
  ring.mem.store<uint32_t>(0, 1);
  ASSERT_TRUE(ring.queue->refresh());
  EXPECT_EQ(ring.word(0), 99u) << "an entry from before the reset";
}

TEST(WorkQueue, ASingleEntryRingWorks) {
  Ring ring(0, 6);
  ASSERT_TRUE(ring.ok);
  for (uint32_t i = 0; i < 5; i++) {
    ring.post();
    ASSERT_TRUE(ring.queue->refresh());
    ASSERT_EQ(ring.word(0), i);
    ring.queue->consume();
  }
}

}  // namespace
}  // namespace verna::test
