// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue/queue_memory.h"

#include <gtest/gtest.h>

#include "support/host_buffer.h"
#include "support/world.h"

namespace verna::test {
namespace {

struct PageListTest : testing::Test {
  PblStatus load(const verna_pbl& pbl, uint64_t length) {
    return PageList::load(bus, 0, pbl, length, quota, &pages);
  }
  FakeHostBus bus;
  PblQuota quota{4096};
  PageList pages;
};

TEST_F(PageListTest, TranslatesEveryByteAtEveryLevel) {
  for (uint8_t level : {0, 1, 2}) {
    for (uint32_t offset : {0u, 1u, 4095u}) {
      if (level == 0 && offset != 0) continue;
      const uint64_t len = 3 * 4096 + 17;
      HostBuffer mem(bus, len, {.level = level, .page_shift = 12, .offset = offset});
      ASSERT_EQ(load(mem.pbl(), len), PblStatus::kOk);
      ASSERT_GE(pages.length(), len);
      for (uint64_t at = 0; at < len; at++) {
        uint64_t run, want_run;
        ASSERT_EQ(pages.translate(at, &run), mem.at(at, &want_run));
        ASSERT_GE(run, 1u);
        ASSERT_LE(run, want_run) << "a run goes over a page's end";
      }
    }
  }
}

TEST_F(PageListTest, ReadsAndWritesAcrossPages) {
  HostBuffer mem(bus, 5 * 4096, {.level = 1, .page_shift = 12, .offset = 100});
  ASSERT_EQ(load(mem.pbl(), 5 * 4096), PblStatus::kOk);
  const auto data = pattern(5 * 4096, 1);
  ASSERT_TRUE(write_pages(bus, 0, pages, 0, data.data(), data.size()));
  EXPECT_EQ(mem.read(0, data.size()), data);
  std::vector<uint8_t> back(9000);
  ASSERT_TRUE(read_pages(bus, 0, pages, 3000, back.data(), back.size()));
  EXPECT_EQ(back, std::vector<uint8_t>(data.begin() + 3000, data.begin() + 12000));
  EXPECT_TRUE(read_pages(bus, 0, pages, pages.length(), back.data(), 0));
  EXPECT_FALSE(read_pages(bus, 0, pages, pages.length(), back.data(), 1));
  EXPECT_FALSE(read_pages(bus, 0, pages, pages.length() - 1, back.data(), 2));
  EXPECT_FALSE(read_pages(bus, 0, pages, ~uint64_t{0}, back.data(), 2)) << "offset + len wraps";
  EXPECT_FALSE(write_pages(bus, 0, pages, ~uint64_t{0} - 10, back.data(), 100));
}

TEST_F(PageListTest, BigPages) {
  HostBuffer mem(bus, (4u << 20) + 5, {.level = 1, .page_shift = 21, .offset = 77});
  ASSERT_EQ(load(mem.pbl(), (4u << 20) + 5), PblStatus::kOk);
  EXPECT_EQ(pages.num_pages(), 3u);
  uint64_t run;
  EXPECT_EQ(pages.translate((2u << 20) - 77, &run), mem.pages()[1]);
}

TEST_F(PageListTest, LevelTwoBeyondOneListPage) {
  const uint64_t len = 1200 * 4096;
  HostBuffer mem(bus, len, {.level = 2});
  ASSERT_EQ(load(mem.pbl(), len), PblStatus::kOk);
  EXPECT_EQ(pages.num_pages(), 1200u);
  uint64_t run;
  for (uint64_t page : {0u, 511u, 512u, 1023u, 1024u, 1199u}) {
    EXPECT_EQ(pages.translate(page * 4096, &run), mem.pages()[page]);
  }
}

TEST_F(PageListTest, BadListsAreRefusedAndCostNothing) {
  HostBuffer mem(bus, 4 * 4096, {.level = 1});
  const auto bad = [&](auto change, uint64_t length = 4 * 4096) {
    verna_pbl pbl = mem.pbl();
    change(pbl);
    return load(pbl, length);
  };
  const auto expect_bad = [&](const char* what, auto change, uint64_t length = 4 * 4096) {
    EXPECT_EQ(bad(change, length), PblStatus::kBadParam) << what;
    EXPECT_EQ(quota.used(), 0u) << what;
  };
  expect_bad("level 3", [](verna_pbl& p) { p.level = 3; });
  expect_bad("level 255", [](verna_pbl& p) { p.level = 255; });
  expect_bad("reserved", [](verna_pbl& p) { p.reserved[3] = 1; });
  expect_bad("page shift 0", [](verna_pbl& p) { p.page_shift = 0; });
  expect_bad("page shift 11", [](verna_pbl& p) { p.page_shift = 11; });
  expect_bad("page shift 64", [](verna_pbl& p) { p.page_shift = 64; });
  expect_bad("page shift 255", [](verna_pbl& p) { p.page_shift = 255; });
  expect_bad("offset of a page", [](verna_pbl& p) { p.offset = 4096; });
  expect_bad("offset huge", [](verna_pbl& p) { p.offset = 0xffffffff; });
  expect_bad("offset leaves too little", [](verna_pbl& p) { p.offset = 1; });
  expect_bad("too short", [](verna_pbl& p) { p.num_pages = 3; });
  expect_bad("no pages", [](verna_pbl& p) { p.num_pages = 0; });
  expect_bad("longer than 2^63", [](verna_pbl&) {}, ~uint64_t{0});
  expect_bad("level 0 with an offset",
             [](verna_pbl& p) { p.level = 0, p.num_pages = 1, p.offset = 8; });
  expect_bad("level 0 that wraps", [](verna_pbl& p) {
    p.level = 0;
    p.num_pages = 1;
    p.addr = ~uint64_t{0} - 100;
  });
}

TEST_F(PageListTest, MisalignedPageAddressIsRefused) {
  for (uint8_t level : {1, 2}) {
    HostBuffer mem(bus, 4 * 4096, {.level = level});
    uint64_t list = mem.pbl().addr;
    if (level == 2) list = bus.load<uint64_t>(list);
    bus.store<uint64_t>(list + 8, bus.load<uint64_t>(list + 8) + 16);
    EXPECT_EQ(load(mem.pbl(), 4 * 4096), PblStatus::kBadParam);
    EXPECT_EQ(quota.used(), 0u);
  }
}

TEST_F(PageListTest, QuotaIsTakenAndGivenBack) {
  HostBuffer mem(bus, 3000 * 4096, {.level = 1});
  ASSERT_EQ(load(mem.pbl(), 4096), PblStatus::kOk);
  EXPECT_EQ(quota.used(), 3000u);
  PageList second;
  EXPECT_EQ(PageList::load(bus, 0, mem.pbl(), 4096, quota, &second), PblStatus::kNoResource);
  EXPECT_EQ(quota.used(), 3000u);
  PageList moved = std::move(pages);
  EXPECT_EQ(quota.used(), 3000u);
  moved = PageList();
  EXPECT_EQ(quota.used(), 0u);
}

TEST_F(PageListTest, AHugeListIsRefusedBeforeAnythingIsReadOrAllocated) {
  verna_pbl pbl{};
  pbl.level = 1;
  pbl.page_shift = 12;
  pbl.num_pages = 0xffffffff;
  pbl.addr = 0x1000;
  const uint64_t before = bus.accesses();
  EXPECT_EQ(load(pbl, 4096), PblStatus::kNoResource);
  EXPECT_EQ(bus.accesses(), before);
}

TEST_F(PageListTest, FaultsInTheListAreReportedAtEveryAccess) {
  bus.expect_faults();
  HostBuffer mem(bus, 1200 * 4096, {.level = 2});
  for (uint64_t n = 1;; n++) {
    bus.fail_nth(n);
    const PblStatus status = load(mem.pbl(), 4096);
    if (bus.fail_pending()) {
      EXPECT_EQ(status, PblStatus::kOk);
      EXPECT_GT(n, 3u);
      bus.fail_nth(0);
      break;
    }
    EXPECT_EQ(status, PblStatus::kDmaFault) << n;
    EXPECT_EQ(quota.used(), 0u);
  }
}

}  // namespace
}  // namespace verna::test
