// SPDX-License-Identifier: GPL-2.0-or-later
// Random functions and queues against a model that knows nothing of turns, and in random use.
#include <gtest/gtest.h>

#include <deque>
#include <numeric>
#include <random>

#include "sched/fake_function.h"

namespace verna::test {
namespace {

constexpr double kAll = 1e18;  // more than any wire carries

/// One that wants a part.
struct Claim {
  double weight;
  double wants;
};

/// What each gets of `whole`: by weight, what one does not want is for the others.
std::vector<double> divide(double whole, const std::vector<Claim>& claims) {
  std::vector<double> got(claims.size(), -1);
  for (bool changed = true; changed;) {
    changed = false;
    double weights = 0, left = whole;
    for (size_t i = 0; i < claims.size(); i++) {
      if (got[i] < 0)
        weights += claims[i].weight;
      else
        left -= got[i];
    }
    for (size_t i = 0; i < claims.size() && !changed; i++) {
      if (got[i] >= 0 || claims[i].wants > left * claims[i].weight / weights) continue;
      got[i] = claims[i].wants;
      changed = true;
    }
    if (changed) continue;
    for (size_t i = 0; i < claims.size(); i++)
      if (got[i] < 0) got[i] = left * claims[i].weight / weights;
  }
  return got;
}

double wanted(const std::vector<Claim>& claims) {
  return std::accumulate(claims.begin(), claims.end(), 0.0,
                         [](double sum, const Claim& c) { return sum + c.wants; });
}

/// A queue, and what it was told.
struct ModelQueue {
  FakeSource* source;
  bool rdma;
  double weight = 1;
  uint32_t rate_kbps = 0;
  uint64_t before = 0;  // that it had sent when the measurement began

  Claim claim() const {
    if (source->backlog == 0) return {weight, 0};
    return {weight, rate_kbps ? rate_kbps * 1e3 : kAll};
  }
};

struct ModelFunction : FakeFunction {
  using FakeFunction::FakeFunction;
  std::vector<ModelQueue> all;
  double weight = 1;
  uint32_t limit_kbps = 0;

  /// Of its queues in the class.
  std::vector<Claim> claims(bool rdma, bool ethernet) const {
    std::vector<Claim> out;
    for (const ModelQueue& q : all)
      out.push_back((q.rdma ? rdma : ethernet) ? q.claim() : Claim{1, 0});
    return out;
  }
};

struct SharingModel : testing::Test {
  static constexpr Nanos kSpan = 40 * kMilli;
  static constexpr double kWire = 10e9;

  uint64_t pick(uint64_t n) { return random() % n; }
  uint32_t frame() {
    static constexpr uint32_t kFrames[] = {200, 577, 1514, 4178, 9618};
    return kFrames[pick(5)];
  }

  void add_queue(ModelFunction* f) {
    const bool rdma = pick(3) == 0;
    f->all.push_back({rdma ? &f->add_qp(frame()) : &f->add(frame()), rdma});
    if (!rdma) configure(&f->all.back());
  }
  void configure(ModelQueue* q) {
    q->weight = static_cast<double>(1 + pick(6));
    q->rate_kbps = pick(3) ? 0 : static_cast<uint32_t>(100'000 + pick(700'000));
    rig.scheduler.set_now(rig.now);
    rig.scheduler.configure(q->source, {0, static_cast<uint16_t>(q->weight), q->rate_kbps, 65536});
  }
  void remove_queue(ModelFunction* f, size_t i) {
    rig.scheduler.remove(f->all[i].source);
    f->queues.erase(f->queues.begin() + static_cast<ptrdiff_t>(i));
    f->all.erase(f->all.begin() + static_cast<ptrdiff_t>(i));
  }
  void change(ModelFunction* f) {
    for (size_t i = f->all.size(); i-- > 0;) {
      ModelQueue& q = f->all[i];
      if (pick(5) == 0) {
        q.source->backlog = q.source->backlog ? 0 : SchedulerRig::kEndless;
        rig.scheduler.wake(q.source);
      }
      if (!q.rdma && pick(4) == 0) configure(&q);
      if (pick(6) == 0) remove_queue(f, i);
    }
    while (f->all.size() < 6 && pick(2)) add_queue(f);
    if (pick(3)) return;
    f->weight = static_cast<double>(1 + pick(8));
    rig.scheduler.share(&f->group, static_cast<uint16_t>(f->weight));
  }
  void limit(ModelFunction* f, uint32_t kbps) {
    f->limit_kbps = kbps;
    rig.scheduler.set_now(rig.now);
    rig.scheduler.limit(&f->group, kbps);
  }
  /// `two`: queue pairs are in a class of their own.
  void change_classes(bool two) {
    TxClassSetup classes;
    classes.weight = {static_cast<uint16_t>(1 + pick(4)), static_cast<uint16_t>(1 + pick(4))};
    class_weight = classes.weight;
    rdma_class = two;
    rig.scheduler.configure_classes(classes, two);
    for (ModelFunction& f : functions) limit(&f, two || pick(3) ? 0 : 200'000);
  }

  void measure() {
    rig.run_for(10 * kMilli);
    size_t busy = 0;
    for (ModelFunction& f : functions) {
      for (ModelQueue& q : f.all) {
        q.before = q.source->sent;
        busy += q.source->backlog > 0;
      }
    }
    EXPECT_EQ(rig.scheduler.num_runnable() + rig.scheduler.num_parked(), busy);
    rig.run_for(kSpan);
  }
  void check() {
    if (!rdma_class) return check_class(kWire, true, true);
    std::vector<Claim> classes(2);
    for (unsigned c = 0; c < 2; c++) {
      classes[c].weight = class_weight[c];
      for (ModelFunction& f : functions) classes[c].wants += wanted(f.claims(c == 1, c == 0));
    }
    const std::vector<double> got = divide(kWire, classes);
    check_class(got[0], false, true);
    check_class(got[1], true, false);
  }
  void check_class(double rate, bool rdma, bool ethernet) {
    std::vector<Claim> claims;
    for (const ModelFunction& f : functions) {
      const double most = f.limit_kbps ? f.limit_kbps * 1e3 : kAll;
      claims.push_back({f.weight, std::min(most, wanted(f.claims(rdma, ethernet)))});
    }
    const std::vector<double> got = divide(rate, claims);
    for (size_t i = 0; i < got.size(); i++) {
      ModelFunction& f = functions[i];
      check_function(f, got[i], f.claims(rdma, ethernet), rdma, ethernet);
    }
  }
  void check_function(const ModelFunction& f, double rate, const std::vector<Claim>& claims,
                      bool rdma, bool ethernet) {
    const std::vector<double> got = divide(rate, claims);
    uint64_t sum = 0;
    for (size_t i = 0; i < got.size(); i++) {
      if (f.all[i].rdma ? !rdma : !ethernet) continue;
      const uint64_t sent = f.all[i].source->sent - f.all[i].before;
      sum += sent;
      // With a limit they wait for it together, and the one served least lately goes first.
      if (!f.limit_kbps) expect(sent, got[i]);
    }
    expect(sum, rate);
  }
  void expect(uint64_t bytes, double rate) {
    const double want = rate / 8e9 * static_cast<double>(kSpan);
    EXPECT_NEAR(static_cast<double>(bytes), want, 0.02 * want + 8 * kQuantum);
  }

  std::mt19937 random{11};
  SchedulerRig rig;
  std::deque<ModelFunction> functions;
  bool rdma_class = false;
  std::array<uint16_t, VERNA_MAX_TX_CLASSES> class_weight{};
};

TEST_F(SharingModel, EverybodyGetsItsShare) {
  for (int i = 0; i < 6; i++) functions.emplace_back(rig);
  for (int phase = 0; phase < 40 && !HasFailure(); phase++) {
    SCOPED_TRACE(phase);
    for (ModelFunction& f : functions) change(&f);
    change_classes(pick(2));
    measure();
    check();
  }
}

/// Anything at any time.
struct SharingUse : SharingModel {
  void post(FakeSource* q) {
    q->backlog += pick(30);
    rig.scheduler.wake(q);
  }
  void act_on(FakeSource* q) {
    switch (pick(5)) {
      case 0:
        q->not_before = rig.now + pick(20'000);
        break;
      default:
        post(q);
        break;
    }
  }
  void reconfigure(ModelQueue* q) {
    if (q->rdma) return;
    const auto weight = static_cast<uint16_t>(pick(2) ? 1 + pick(kMaxTxWeight) : 1);
    rig.scheduler.configure(q->source, {static_cast<uint8_t>(pick(VERNA_MAX_TX_CLASSES)), weight,
                                        static_cast<uint32_t>(pick(3) * 200'000), 5000});
  }
  void act_on(ModelFunction* f) {
    static constexpr uint32_t kLimits[] = {0, 0, 1'000, 300'000, 3'000'000};
    switch (pick(6)) {
      case 0:
        if (f->all.size() < 12) add_queue(f);
        f->all.back().source->backlog = 0;
        break;
      case 1:
        if (f->all.size() > 1) remove_queue(f, pick(f->all.size()));
        break;
      case 2:
        limit(f, kLimits[pick(5)]);
        break;
      case 3:
        rig.scheduler.share(&f->group, static_cast<uint16_t>(1 + pick(kMaxTxWeight)));
        break;
      default:
        reconfigure(&f->all[pick(f->all.size())]);
        break;
    }
  }
  void act_on_card() {
    TxClassSetup classes;
    for (uint16_t& weight : classes.weight) weight = static_cast<uint16_t>(pick(4));
    classes.max_kbps[pick(8)] = static_cast<uint32_t>(pick(2'000'000));
    switch (pick(4)) {
      case 0:
        rig.scheduler.configure_classes(classes, static_cast<uint8_t>(pick(8)));
        break;
      case 1:
        rig.scheduler.pause(rig.now + pick(10'000));
        break;
      case 2:
        (void)rig.scheduler.arm_all(rig.now);
        break;
      default:
        functions.pop_front();
        add_function();
        break;
    }
  }
  void act() {
    rig.scheduler.set_now(rig.now);
    ModelFunction& f = functions[pick(functions.size())];
    const uint64_t what = pick(100);
    if (what < 70) return act_on(f.all[pick(f.all.size())].source);
    if (what < 97) return act_on(&f);
    act_on_card();
  }
  void add_function() {
    functions.emplace_back(rig);
    add_queue(&functions.back());
    functions.back().all.back().source->backlog = 0;
  }
  /// Nothing holds anybody back any more.
  void release() {
    rig.scheduler.set_now(rig.now);
    rig.scheduler.configure_classes({}, 3);
    for (ModelFunction& f : functions) {
      rig.scheduler.limit(&f.group, 0);
      for (ModelQueue& q : f.all) {
        q.source->not_before = 0;
        if (!q.rdma) rig.scheduler.configure(q.source, {});
      }
    }
  }
};

TEST_F(SharingUse, NobodyIsForgotten) {
  for (int i = 0; i < 5; i++) add_function();
  for (int round = 0; round < 40; round++) {
    for (int i = 0; i < 1000; i++) {
      act();
      rig.run_for(pick(5'000), static_cast<uint32_t>(1 + pick(70'000)));
    }
    release();
    rig.run_for(100 * kMilli);
    for (const ModelFunction& f : functions)
      for (const ModelQueue& q : f.all) EXPECT_EQ(q.source->backlog, 0u);
    EXPECT_EQ(rig.scheduler.num_runnable() + rig.scheduler.num_parked(), 0u);
    EXPECT_EQ(rig.scheduler.next_deadline(rig.now), kNever);
  }
  functions.clear();
  EXPECT_EQ(rig.scheduler.num_polled(), 0u);
}

}  // namespace
}  // namespace verna::test
