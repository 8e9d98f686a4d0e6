// SPDX-License-Identifier: GPL-2.0-or-later
// Random trees of rates against a model that fills what there is into them, and in random use.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "sched/tree_rig.h"

namespace verna::test {
namespace {

constexpr double kAll = 1e18;  // more than any wire carries
constexpr double kWireKbps = 1e6;
constexpr Nanos kLong = 500 * kMilli;

/// Bytes at a rate in kLong.
double bytes_at(double kbps) { return kbps / 8e6 * static_cast<double>(kLong); }

/// One that wants a part, in bytes of the span that is looked at.
struct Claim {
  double weight;
  double wants;
};

double total(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// What each gets of `whole`: by weight, what one does not want is for the others.
std::vector<double> divide(double whole, const std::vector<Claim>& claims) {
  std::vector<double> got(claims.size(), -1);
  for (;;) {
    double weights = 0, left = whole;
    for (size_t i = 0; i < claims.size(); i++) {
      if (got[i] < 0)
        weights += claims[i].weight;
      else
        left -= got[i];
    }
    size_t i = 0;
    while (i < claims.size() &&
           (got[i] >= 0 || claims[i].wants > left * claims[i].weight / weights))
      i++;
    if (i < claims.size()) {
      got[i] = claims[i].wants;
      continue;
    }
    for (i = 0; i < claims.size(); i++)
      if (got[i] < 0) got[i] = left * claims[i].weight / weights;
    return got;
  }
}

/// A node of the model; the top of the tree is one, too.
struct ModelNode {
  RateSetup setup;
  uint16_t id = 0;  // of an inner one
  std::vector<size_t> below;
  double wants = 0;
  double got = 0;
};

struct TreeModel : TreeRig {
  static constexpr size_t kLeaves = 7;
  TreeModel() : TreeRig(1, kLeaves) {
    static constexpr uint32_t kFrames[] = {577, 1514, 4178, 9618};
    for (size_t i = 0; i < kLeaves; i++)
      for (size_t queues = 1 + i % 3; queues > 0; queues--)
        functions[i].add(kFrames[(i + queues) % 4]);
  }

  uint64_t pick(uint64_t n) { return random() % n; }
  uint16_t any_node() { return ids.empty() || pick(4) == 0 ? uint16_t{0} : ids[pick(ids.size())]; }
  /// Guarantees start again in every phase, so that what one was behind in the last is forgotten.
  RateSetup any_setup() {
    RateSetup setup;
    setup.parent = any_node();
    setup.priority = static_cast<uint8_t>(pick(3) ? 0 : pick(3));
    setup.weight = static_cast<uint16_t>(1 + pick(6));
    if (pick(3) == 0) setup.max_kbps = static_cast<uint32_t>(20'000 + pick(600'000));
    if (pick(3) == 0) setup.min_kbps = static_cast<uint32_t>(10'000 + pick(300'000));
    if (setup.max_kbps) setup.min_kbps = std::min(setup.min_kbps, setup.max_kbps);
    return setup;
  }
  void change_nodes() {
    uint16_t id = 0;
    if (pick(2) && ids.size() < 6 && tree.create(any_setup(), &id) == RateTree::Status::kOk)
      ids.push_back(id);
    for (size_t i = ids.size(); i-- > 0;) {
      (void)tree.modify(ids[i], any_setup());
      if (pick(6) == 0 && tree.destroy(ids[i]) == RateTree::Status::kOk)
        ids.erase(ids.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  void change() {
    rig.scheduler.set_now(rig.now);
    change_nodes();
    for (size_t i = 0; i < kLeaves; i++) {
      tree.set_leaf(i, any_setup());
      busy[i] = pick(5) != 0;
      for (auto& queue : functions[i].queues) {
        queue->backlog = busy[i] ? SchedulerRig::kEndless : 0;
        rig.scheduler.wake(queue.get());
      }
    }
  }

  /// Leaves first, then inner nodes, at last the top.
  void build() {
    nodes.assign(kLeaves + ids.size() + 1, {});
    for (size_t i = 0; i < kLeaves; i++) {
      nodes[i].setup = RateTree::setup_of(functions[i].group);
      nodes[i].wants = busy[i] ? kAll : 0;
    }
    for (size_t i = 0; i < ids.size(); i++) {
      nodes[kLeaves + i].id = ids[i];
      nodes[kLeaves + i].setup = setup(ids[i]);
    }
    for (size_t i = 0; i + 1 < nodes.size(); i++)
      nodes[index(nodes[i].setup.parent)].below.push_back(i);
  }
  size_t index(uint16_t id) const {
    const auto found = std::find(ids.begin(), ids.end(), id);
    return kLeaves + static_cast<size_t>(found - ids.begin());
  }
  double ask(ModelNode* node) {
    for (const size_t i : node->below) node->wants += ask(&nodes[i]);
    if (node->setup.max_kbps) node->wants = std::min(node->wants, bytes_at(node->setup.max_kbps));
    return node->wants;
  }
  void give(ModelNode* node, double rate) {
    node->got = rate;
    for (int priority = TxNode::kPriorities - 1; priority >= 0; priority--) {
      std::vector<size_t> among;
      for (const size_t i : node->below)
        if (nodes[i].setup.priority == priority) among.push_back(i);
      const std::vector<double> got = give_among(among, rate);
      for (size_t i = 0; i < among.size(); i++) give(&nodes[among[i]], got[i]);
      rate -= total(got);
    }
  }
  /// Guarantees first, if there is not enough by rate; then the rest.
  std::vector<double> give_among(const std::vector<size_t>& among, double rate) const {
    std::vector<Claim> guaranteed, rest;
    for (const size_t i : among) {
      const double least = bytes_at(nodes[i].setup.min_kbps);
      guaranteed.push_back({least, std::min(least, nodes[i].wants)});
    }
    const std::vector<double> first = divide(rate, guaranteed);
    for (size_t i = 0; i < among.size(); i++)
      rest.push_back(
          {static_cast<double>(nodes[among[i]].setup.weight), nodes[among[i]].wants - first[i]});
    std::vector<double> got = divide(rate - total(first), rest);
    for (size_t i = 0; i < got.size(); i++) got[i] += first[i];
    return got;
  }

  uint64_t sent_by(size_t i) const {
    return i < kLeaves ? functions[i].sent() : tree.find(nodes[i].id)->sent;
  }
  std::vector<uint64_t> all_sent() const {
    std::vector<uint64_t> sent;
    for (size_t i = 0; i + 1 < nodes.size(); i++) sent.push_back(sent_by(i));
    return sent;
  }
  /// Nothing is wasted, and what was sent in all was divided as the model says.
  void check() {
    ModelNode& top = nodes.back();
    rig.run_for(kLong);  // bursts are used up then, also of what little room others leave
    const std::vector<uint64_t> before = all_sent();
    rig.run_for(kLong);
    std::vector<double> sent;
    for (size_t i = 0; i < before.size(); i++)
      sent.push_back(static_cast<double>(sent_by(i) - before[i]));
    const double all = std::accumulate(sent.begin(), sent.begin() + kLeaves, 0.0);
    const double most = std::min(ask(&top), bytes_at(kWireKbps));
    EXPECT_NEAR(all, most, 0.005 * most + kQuantum);
    give(&top, all);
    for (size_t i = 0; i < sent.size(); i++)
      EXPECT_NEAR(sent[i], nodes[i].got, 0.02 * nodes[i].got + 3 * kQuantum)
          << "node " << nodes[i].id << " or leaf " << i << ", parent " << nodes[i].setup.parent
          << " max " << nodes[i].setup.max_kbps << " min " << nodes[i].setup.min_kbps
          << " priority " << int{nodes[i].setup.priority} << " weight " << nodes[i].setup.weight;
  }

  std::mt19937 random{23};
  std::vector<uint16_t> ids;
  std::array<bool, kLeaves> busy{};
  std::vector<ModelNode> nodes;
};

TEST_F(TreeModel, EverybodyGetsWhatTheModelSays) {
  size_t deepest = 0;
  for (int phase = 0; phase < 50 && !HasFailure(); phase++) {
    SCOPED_TRACE(phase);
    change();
    build();
    check();
    for (const FakeFunction& f : functions) {
      size_t levels = 0;
      for (const TxNode* node = f.group.parent; node; node = node->parent) levels++;
      deepest = std::max(deepest, levels);
    }
  }
  EXPECT_GE(deepest, 3u);
}

/// Anything at any time.
struct TreeUse : TreeModel {
  void act_on(FakeSource* queue) {
    if (pick(8) == 0) queue->not_before = rig.now + pick(20'000);
    queue->backlog += pick(20);
    rig.scheduler.wake(queue);
  }
  void act_on(FakeFunction* f) {
    if (f->queues.size() < 8 && pick(2)) {
      pick(2) ? f->add(1514, {static_cast<uint8_t>(pick(8)), 1, 0, 0}, 0) : f->add_qp(4178, 0);
    } else if (f->queues.size() > 1) {
      const size_t gone = pick(f->queues.size());
      rig.scheduler.remove(f->queues[gone].get());
      f->queues.erase(f->queues.begin() + static_cast<ptrdiff_t>(gone));
    }
  }
  void act() {
    rig.scheduler.set_now(rig.now);
    const size_t i = pick(kLeaves);
    FakeFunction& f = functions[i];
    switch (pick(30)) {
      case 0:
        return change_nodes();
      case 1:
      case 2:
        return tree.set_leaf(i, pick(5) ? any_setup() : RateSetup{.max_kbps = 1 + 9 * pick_low()});
      case 3:
        return act_on(&f);
      case 4:
        return rig.scheduler.configure_classes(any_classes(), static_cast<uint8_t>(pick(8)));
      default:
        return act_on(f.queues[pick(f.queues.size())].get());
    }
  }
  uint32_t pick_low() { return static_cast<uint32_t>(pick(100)); }
  TxClassSetup any_classes() {
    TxClassSetup classes;
    for (uint16_t& weight : classes.weight) weight = static_cast<uint16_t>(pick(4));
    return classes;
  }
  size_t busy_queues() const {
    size_t count = 0;
    for (const FakeFunction& f : functions)
      for (const auto& queue : f.queues) count += queue->backlog > 0;
    return count;
  }
};

TEST_F(TreeUse, NobodyIsForgotten) {
  for (FakeFunction& f : functions)
    for (auto& queue : f.queues) queue->backlog = 0;
  for (int round = 0; round < 30; round++) {
    for (int i = 0; i < 1000; i++) {
      act();
      rig.run_for(pick(20'000), static_cast<uint32_t>(1 + pick(70'000)));
    }
    EXPECT_GE(rig.scheduler.num_runnable() + rig.scheduler.num_parked(), busy_queues());
    // Nothing holds anybody back any more.
    rig.scheduler.set_now(rig.now);
    if (round % 3 == 0) {
      tree.reset();
      ids.clear();
    } else {
      for (size_t i = 0; i < kLeaves; i++) tree.set_leaf(i, {.parent = any_node()});
      for (const uint16_t id : ids) (void)tree.modify(id, {.parent = setup(id).parent});
    }
    rig.scheduler.configure_classes({}, 3);
    for (FakeFunction& f : functions)
      for (auto& queue : f.queues) queue->not_before = 0;
    rig.run_for(kSecond);
    EXPECT_EQ(busy_queues(), 0u);
    EXPECT_EQ(rig.scheduler.num_runnable() + rig.scheduler.num_parked(), 0u);
    EXPECT_EQ(rig.scheduler.next_deadline(rig.now), kNever);
  }
}

}  // namespace
}  // namespace verna::test
