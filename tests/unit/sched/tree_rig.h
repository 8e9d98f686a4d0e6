// SPDX-License-Identifier: GPL-2.0-or-later
// A tree of rates over functions that share a wire in virtual time.
#pragma once

#include <gtest/gtest.h>

#include <deque>

#include "sched/fake_function.h"
#include "sched/rate_tree.h"

namespace verna::test {

/// Functions are leaves 0 and on.
struct TreeRig : testing::Test {
  static constexpr Nanos kSpan = 200 * kMilli;
  explicit TreeRig(double wire_gbps = 1, size_t count = 0) : rig(wire_gbps) {
    while (count-- > 0) add_function();
  }
  ~TreeRig() override { tree.reset(); }

  FakeFunction& add_function() {
    functions.emplace_back(rig);
    tree.add_leaf(&functions.back().group);
    return functions.back();
  }
  uint16_t node(const RateSetup& setup) {
    uint16_t id = 0;
    rig.scheduler.set_now(rig.now);
    EXPECT_EQ(tree.create(setup, &id), RateTree::Status::kOk);
    return id;
  }
  void leaf(size_t i, const RateSetup& setup) {
    rig.scheduler.set_now(rig.now);
    ASSERT_EQ(tree.check_leaf(setup), RateTree::Status::kOk);
    tree.set_leaf(i, setup);
  }
  void modify(uint16_t id, const RateSetup& setup) {
    rig.scheduler.set_now(rig.now);
    ASSERT_EQ(tree.modify(id, setup), RateTree::Status::kOk);
  }
  RateSetup setup(uint16_t id) const { return RateTree::setup_of(*tree.find(id)); }

  /// All send for kSpan, after a while in which bursts are used up.
  void run(Nanos before = 50 * kMilli) {
    rig.run_for(before);
    sent_.clear();
    for (const FakeFunction& f : functions) sent_.push_back(f.sent());
    rig.run_for(kSpan);
  }
  /// Mbit/s of function `i` in the span that run() measured.
  double rate(size_t i) const { return mbps(functions[i].sent() - sent_[i], kSpan); }
  /// What each function has had, within 2 %.
  void expect(std::initializer_list<double> rates) const {
    for (size_t i = 0; const double want : rates) {
      EXPECT_NEAR(rate(i), want, 0.02 * want) << "function " << i;
      i++;
    }
  }
  /// The same of some of them together.
  double sum(std::initializer_list<size_t> of) const {
    double all = 0;
    for (const size_t i : of) all += rate(i);
    return all;
  }

  SchedulerRig rig;
  RateTree tree{rig.scheduler};
  std::deque<FakeFunction> functions;

 private:
  std::vector<uint64_t> sent_;
};

}  // namespace verna::test
