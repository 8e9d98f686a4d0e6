// SPDX-License-Identifier: GPL-2.0-or-later
#include "queue/cq.h"

#include <gtest/gtest.h>

#include "support/host_buffer.h"

namespace verna::test {
namespace {

struct Events : EventSink {
  struct Event {
    uint32_t eqn;
    verna_event_type type;
    uint32_t id;
  };
  void post_event(uint32_t eqn, verna_event_type type, FunctionId, uint32_t id, uint64_t) override {
    list.push_back({eqn, type, id});
  }
  std::vector<Event> list;
};

struct CqTest : testing::Test {
  CqTest() : mem(bus, 128 + 64 * 4), cq(0x77, 0, 5, &dirty) {
    PageList pages;
    EXPECT_EQ(PageList::load(bus, 0, mem.pbl(), mem.length(), quota, &pages), PblStatus::kOk);
    EXPECT_TRUE(cq.init(&bus, std::move(pages), {0, 128, 2, 64}));
  }
  bool push(bool solicited = false) {
    verna_cqe cqe{};
    return cq.push(&cqe, solicited);
  }
  void arm(uint32_t sn, uint32_t type) { mem.store<uint32_t>(4, VERNA_ARM(sn, type)); }

  FakeHostBus bus;
  HostBuffer mem;
  PblQuota quota{10};
  TimerQueue timers;
  CqFlushList dirty{timers};
  Cq cq;
  Events events;
};

TEST_F(CqTest, OneEventForABatch) {
  arm(1, VERNA_ARM_NEXT);
  EXPECT_TRUE(push());
  EXPECT_TRUE(push());
  EXPECT_TRUE(events.list.empty());
  dirty.flush(events, 0);
  ASSERT_EQ(events.list.size(), 1u);
  EXPECT_EQ(events.list[0].eqn, 5u);
  EXPECT_EQ(events.list[0].type, VERNA_EVENT_COMPLETION);
  EXPECT_EQ(events.list[0].id, 0x77u);
  dirty.flush(events, 0);
  EXPECT_EQ(events.list.size(), 1u);
}

TEST_F(CqTest, SolicitedIsRememberedAcrossTheBatchOnly) {
  arm(1, VERNA_ARM_SOLICITED);
  push(false);
  dirty.flush(events, 0);
  EXPECT_TRUE(events.list.empty());
  push(true);
  push(false);
  dirty.flush(events, 0);
  EXPECT_EQ(events.list.size(), 1u);
  arm(2, VERNA_ARM_SOLICITED);
  mem.store<uint32_t>(0, 3);
  push(false);
  dirty.flush(events, 0);
  EXPECT_EQ(events.list.size(), 1u);
}

TEST_F(CqTest, OverrunIsReportedOnceAndForGood) {
  for (int i = 0; i < 4; i++) EXPECT_TRUE(push());
  EXPECT_FALSE(cq.has_room());
  EXPECT_FALSE(cq.in_error());
  EXPECT_FALSE(push());
  EXPECT_TRUE(cq.in_error());
  mem.store<uint32_t>(0, 4);
  EXPECT_FALSE(push()) << "an overrun queue does not come back";
  EXPECT_FALSE(cq.has_room());
  dirty.flush(events, 0);
  push();
  dirty.flush(events, 0);
  unsigned errors = 0;
  for (const auto& e : events.list) errors += e.type == VERNA_EVENT_CQ_ERROR && e.id == 0x77;
  EXPECT_EQ(errors, 1u);
}

TEST_F(CqTest, LostMemoryIsAnError) {
  bus.expect_faults();
  mem.unmap();
  EXPECT_FALSE(push());
  EXPECT_TRUE(cq.in_error());
  dirty.flush(events, 0);
  ASSERT_FALSE(events.list.empty());
  EXPECT_EQ(events.list.back().type, VERNA_EVENT_CQ_ERROR);
}

TEST_F(CqTest, RemovedFromTheListIsNotFlushed) {
  arm(1, VERNA_ARM_NEXT);
  push();
  dirty.remove(&cq);
  dirty.flush(events, 0);
  EXPECT_TRUE(events.list.empty());
}

}  // namespace
}  // namespace verna::test
