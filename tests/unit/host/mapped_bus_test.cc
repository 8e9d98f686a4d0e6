// SPDX-License-Identifier: GPL-2.0-or-later
#include "host/mapped_bus.h"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <vector>

namespace verna {
namespace {

/// A host with a few blocks of memory, which counts how often it was asked.
class FakeHost {
 public:
  struct Block {
    std::vector<uint8_t> bytes;
    bool writable = true;
    bool keep = true;
  };

  verna_host_ops ops() {
    return {[](void* self, uint16_t, uint64_t addr, bool write, verna_mapping* m) {
              return static_cast<FakeHost*>(self)->map(addr, write, m);
            },
            [](void* self, void* region, uint64_t offset, uint64_t len) {
              static_cast<FakeHost*>(self)->written.push_back({region, offset, len});
            }};
  }

  bool map(uint64_t addr, bool write, verna_mapping* m) {
    asked++;
    for (auto& [start, block] : blocks) {
      const uint64_t offset = addr - start;
      if (offset >= block.bytes.size() || (write && !block.writable)) continue;
      const uint64_t rest = block.bytes.size() - offset;
      *m = {block.bytes.data() + offset,
            block.keep ? rest : std::min(m->len, rest),
            &block,
            offset,
            block.writable,
            block.keep};
      return true;
    }
    return false;
  }

  struct Written {
    void* region;
    uint64_t offset;
    uint64_t len;
  };
  std::map<uint64_t, Block> blocks;
  std::vector<Written> written;
  int asked = 0;
};

class MappedBusTest : public testing::Test {
 protected:
  MappedBusTest() {
    host.blocks[0x1000].bytes.resize(0x3000);
    host.blocks[0x4000].bytes.resize(0x1000);  // adjacent, but another piece
    host.blocks[0x10000] = {std::vector<uint8_t>(0x1000, 0xee), false, true};
    std::iota(host.blocks[0x1000].bytes.begin(), host.blocks[0x1000].bytes.end(), uint8_t{0});
  }
  FakeHost host;
  MappedBus bus{host.ops(), &host, 8};
};

TEST_F(MappedBusTest, AsksOnceForEachBlock) {
  uint8_t byte;
  for (uint64_t addr = 0x1000; addr < 0x4000; addr++) {
    ASSERT_TRUE(bus.read(0, addr, &byte, 1));
    ASSERT_EQ(byte, static_cast<uint8_t>(addr));
  }
  EXPECT_EQ(host.asked, 1);
  for (uint64_t addr = 0x4fff; addr >= 0x4f00; addr--) ASSERT_TRUE(bus.read(0, addr, &byte, 1));
  const int asked = host.asked;
  for (uint64_t addr = 0x4f00; addr < 0x5000; addr++) ASSERT_TRUE(bus.read(0, addr, &byte, 1));
  EXPECT_EQ(host.asked, asked);
}

TEST_F(MappedBusTest, CrossesFromOneBlockToTheNext) {
  std::vector<uint8_t> data(0x2000);
  std::iota(data.begin(), data.end(), uint8_t{7});
  ASSERT_TRUE(bus.write(0, 0x2800, data.data(), data.size()));
  std::vector<uint8_t> back(data.size());
  ASSERT_TRUE(bus.read(0, 0x2800, back.data(), back.size()));
  EXPECT_EQ(back, data);
  ASSERT_EQ(host.written.size(), 2u);
  EXPECT_EQ(host.written[0].region, &host.blocks[0x1000]);
  EXPECT_EQ(host.written[0].offset, 0x1800u);
  EXPECT_EQ(host.written[0].len, 0x1800u);
  EXPECT_EQ(host.written[1].region, &host.blocks[0x4000]);
  EXPECT_EQ(host.written[1].offset, 0u);
  EXPECT_EQ(host.written[1].len, 0x800u);
}

TEST_F(MappedBusTest, FailsWhereNothingIs) {
  uint8_t buffer[64];
  uint64_t original;
  EXPECT_FALSE(bus.read(0, 0x0, buffer, 64));
  EXPECT_FALSE(bus.read(0, 0x4fe0, buffer, 64)) << "runs over the end";
  EXPECT_FALSE(bus.write(0, 0x9000, buffer, 1));
  EXPECT_FALSE(bus.read(0, ~0ull - 7, buffer, 64)) << "wraps";
  EXPECT_FALSE(bus.write_release64(0, 0x9000, 1));
  EXPECT_FALSE(bus.atomic64(0, 0x9000, AtomicOp::kFetchAdd, 1, 0, &original));
  EXPECT_TRUE(bus.read(0, 0x9000, buffer, 0)) << "nothing is everywhere";
}

TEST_F(MappedBusTest, ReadOnlyMemoryIsNotWrittenEvenAfterItWasRead) {
  uint64_t value = 0;
  ASSERT_TRUE(bus.read(0, 0x10000, &value, 8));
  EXPECT_EQ(value, 0xeeeeeeeeeeeeeeeeu);
  EXPECT_FALSE(bus.write(0, 0x10000, &value, 8));
  EXPECT_FALSE(bus.write_release64(0, 0x10008, 1));
  EXPECT_TRUE(host.written.empty());
  ASSERT_TRUE(bus.read(0, 0x10008, &value, 8));
  EXPECT_EQ(value, 0xeeeeeeeeeeeeeeeeu);
}

TEST_F(MappedBusTest, ForgetsWhenTheHostSaysSo) {
  uint8_t byte;
  ASSERT_TRUE(bus.read(0, 0x1000, &byte, 1));
  host.blocks.erase(0x1000);
  bus.forget();
  EXPECT_FALSE(bus.read(0, 0x1000, &byte, 1));
}

TEST_F(MappedBusTest, KeepsNothingThatItMayNotKeep) {
  host.blocks[0x1000].keep = false;
  uint8_t byte;
  for (int i = 0; i < 5; i++) ASSERT_TRUE(bus.read(0, 0x1000, &byte, 1));
  EXPECT_EQ(host.asked, 5);
  host.blocks.erase(0x1000);
  EXPECT_FALSE(bus.read(0, 0x1000, &byte, 1));
}

TEST_F(MappedBusTest, MoreBlocksThanPlacesStillWork) {
  for (uint64_t i = 0; i < 20; i++) host.blocks[0x100000 + i * 0x2000].bytes.assign(0x1000, i);
  for (int round = 0; round < 3; round++)
    for (uint64_t i = 0; i < 20; i++) {
      uint8_t byte;
      ASSERT_TRUE(bus.read(0, 0x100800 + i * 0x2000, &byte, 1));
      ASSERT_EQ(byte, i);
      ASSERT_FALSE(bus.read(0, 0x101800 + i * 0x2000, &byte, 1));
    }
}

TEST_F(MappedBusTest, AtomicsAndAlignment) {
  uint64_t original;
  ASSERT_TRUE(bus.write_release64(0, 0x1000, 100));
  ASSERT_TRUE(bus.atomic64(0, 0x1000, AtomicOp::kFetchAdd, 5, 0, &original));
  EXPECT_EQ(original, 100u);
  ASSERT_TRUE(bus.atomic64(0, 0x1000, AtomicOp::kCompareSwap, 1, 105, &original));
  EXPECT_EQ(original, 105u);
  ASSERT_TRUE(bus.atomic64(0, 0x1000, AtomicOp::kCompareSwap, 2, 105, &original));
  EXPECT_EQ(original, 1u);
  EXPECT_EQ(load_le<uint64_t>(host.blocks[0x1000].bytes.data()), 1u);
  EXPECT_FALSE(bus.write_release64(0, 0x1004, 1));
  EXPECT_FALSE(bus.atomic64(0, 0x1001, AtomicOp::kFetchAdd, 1, 0, &original));
}

TEST_F(MappedBusTest, PassesInterruptsOn) {
  bus.raise(0, 3);
  EXPECT_TRUE(bus.vectors_pending());
  const auto vector = bus.take_vector();
  ASSERT_TRUE(vector);
  EXPECT_EQ(vector->fn, 0u);
  EXPECT_EQ(vector->number, 3u);
  EXPECT_FALSE(bus.take_vector());
}

TEST_F(MappedBusTest, EachFunctionHasItsOwn) {
  MappedBus many(host.ops(), &host, 8, 2, 4);
  uint32_t word;
  EXPECT_TRUE(many.read(0, 0x1000, &word, 4));
  const auto asked = host.asked;
  EXPECT_TRUE(many.read(0, 0x1000, &word, 4));
  EXPECT_EQ(host.asked, asked);
  EXPECT_TRUE(many.read(2, 0x1000, &word, 4));
  EXPECT_EQ(host.asked, asked + 1) << "what one function may reach says nothing of another";
  EXPECT_FALSE(many.read(3, 0x1000, &word, 4)) << "there is none";

  many.raise(2, 1);
  many.raise(0, 7);
  many.raise(1, 4);  // it has four
  many.raise(3, 0);
  const auto first = many.take_vector();
  ASSERT_TRUE(first);
  EXPECT_EQ(first->fn, 0u);
  EXPECT_EQ(first->number, 7u);
  many.raise(0, 6);  // of functions that were looked at
  const auto second = many.take_vector();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->fn, 2u);
  EXPECT_EQ(second->number, 1u);
  many.raise(1, 3);
  EXPECT_FALSE(many.take_vector());
  EXPECT_TRUE(many.vectors_pending()) << "not lost";
  EXPECT_EQ(many.take_vector()->fn, 0u);
  EXPECT_EQ(many.take_vector()->fn, 1u);
  EXPECT_FALSE(many.take_vector());
  many.raise(1, 0);
  many.raise(2, 0);
  many.clear_vectors(1);
  const auto last = many.take_vector();
  ASSERT_TRUE(last);
  EXPECT_EQ(last->fn, 2u);
  EXPECT_FALSE(many.take_vector());
}

}  // namespace
}  // namespace verna
