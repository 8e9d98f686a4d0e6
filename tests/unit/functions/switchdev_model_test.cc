// SPDX-License-Identifier: GPL-2.0-or-later
// Random rules of the switch against a model that asks every rule, through the whole card.
#include <algorithm>
#include <random>

#include "functions/switchdev_rig.h"

namespace verna::test {
namespace {

/// A rule as the model has it: nothing where any value will do.
struct ModelRule {
  uint32_t id = 0;
  Table table;
  uint32_t priority = 0;
  std::optional<uint16_t> from;
  std::optional<uint8_t> to;  // number of an address
  std::optional<uint16_t> type;
  uint32_t action = 0;  // VERNA_FLOW_A_*
  uint32_t operand = 0;
  uint64_t packets = 0;
};

struct ModelFrame {
  uint16_t from;
  uint8_t to;
  uint16_t type;
};

/// Where a frame ends.
struct ModelEnd {
  bool dropped = false;
  uint16_t vport = 0;
  bool undecided = false;  // then at the PF, with
  uint32_t chain = 0;
};

struct SwitchdevModel : SwitchdevRig {
  static constexpr uint16_t kVports = kVfs + 2;
  static constexpr uint32_t kChains[] = {0, 1, 5, 70'000};
  static constexpr uint16_t kTypes[] = {0x88b5, 0x88b6, 0x88b7};
  std::mt19937 random{7};
  std::vector<ModelRule> rules;
  std::array<uint16_t, kVports> groups{0, 1, 2, 3, 4};

  uint32_t below(uint32_t n) { return random() % n; }
  template <typename T>
  std::optional<T> maybe(T value) {
    return below(2) ? std::optional<T>(value) : std::nullopt;
  }
  const PeerAddress& address(uint8_t number) {
    return number < stations.size() ? stations[number].address : peer;
  }
  uint8_t any_address() { return static_cast<uint8_t>(below(5)); }

  void add_random();
  void remove_random();
  void regroup();
  ModelRule* find(const ModelFrame& frame, const Table& table);
  ModelEnd decide(const ModelFrame& frame);
  void send_random(uint32_t number);
  void check_counters();
};

void SwitchdevModel::add_random() {
  ModelRule r;
  const size_t chain = below(4);
  r.table = {static_cast<uint16_t>(below(kVports)), kChains[chain]};
  r.priority = below(4);
  r.from = maybe(static_cast<uint16_t>(below(kVports)));
  r.to = maybe(any_address());
  r.type = maybe(kTypes[below(3)]);
  constexpr uint32_t kActions[] = {0,
                                   VERNA_FLOW_A_DROP,
                                   VERNA_FLOW_A_TRAP,
                                   VERNA_FLOW_A_PORT,
                                   VERNA_FLOW_A_PORT,
                                   VERNA_FLOW_A_PORT,
                                   VERNA_FLOW_A_CHAIN};
  r.action = kActions[below(chain < 3 ? 7 : 6)];
  if (r.action == VERNA_FLOW_A_PORT) r.operand = below(kVports);
  if (r.action == VERNA_FLOW_A_CHAIN)
    r.operand = kChains[chain + 1 + below(static_cast<uint32_t>(3 - chain))];
  Rule rule;
  if (r.from) rule.from(*r.from);
  if (r.to) rule.dmac(address(*r.to).mac);
  if (r.type) rule.type(*r.type);
  if (r.action == VERNA_FLOW_A_PORT)
    rule.port(static_cast<uint16_t>(r.operand));
  else if (r.action == VERNA_FLOW_A_CHAIN)
    rule.chain(r.operand);
  else
    rule.action(r.action);
  const bool exists = std::any_of(rules.begin(), rules.end(), [&](const ModelRule& o) {
    return o.table.group == r.table.group && o.table.chain == r.table.chain &&
           o.priority == r.priority && o.from == r.from && o.to == r.to && o.type == r.type;
  });
  const Reply reply = try_add(r.table, rule, r.priority);
  ASSERT_EQ(reply.status, exists ? VERNA_CMD_EXISTS : VERNA_CMD_OK);
  if (exists) return;
  r.id = static_cast<uint32_t>(reply.result);
  rules.push_back(r);
}

void SwitchdevModel::remove_random() {
  if (rules.empty()) return;
  const size_t victim = below(static_cast<uint32_t>(rules.size()));
  ASSERT_TRUE(card.driver.object(VERNA_CMD_DEL_FLOW, rules[victim].id).ok());
  rules.erase(rules.begin() + static_cast<ptrdiff_t>(victim));
}

void SwitchdevModel::regroup() {
  const uint16_t vport = static_cast<uint16_t>(below(kVports));
  groups[vport] = static_cast<uint16_t>(below(kVports));
  ASSERT_TRUE(set_group(vport, groups[vport]).ok());
}

/// The first of those of the lowest priority number.
ModelRule* SwitchdevModel::find(const ModelFrame& frame, const Table& table) {
  ModelRule* best = nullptr;
  for (ModelRule& r : rules) {
    if (r.table.group != table.group || r.table.chain != table.chain) continue;
    if (r.from.value_or(frame.from) != frame.from || r.to.value_or(frame.to) != frame.to ||
        r.type.value_or(frame.type) != frame.type)
      continue;
    if (!best || r.priority < best->priority) best = &r;
  }
  return best;
}

ModelEnd SwitchdevModel::decide(const ModelFrame& frame) {
  Table table{groups[frame.from], 0};
  for (;;) {
    ModelRule* rule = find(frame, table);
    if (rule) rule->packets++;
    if (rule && rule->action == VERNA_FLOW_A_DROP) return {true};
    if (rule && rule->action == VERNA_FLOW_A_PORT)
      return {false, static_cast<uint16_t>(rule->operand)};
    if (!rule || rule->action != VERNA_FLOW_A_CHAIN) break;
    table.chain = rule->operand;
  }
  if (frame.from == VERNA_VPORT_PF) return {false, VERNA_VPORT_UPLINK};
  return {false, VERNA_VPORT_PF, true, table.chain};
}

/// One frame, which must come out where the model says, and nowhere else.
void SwitchdevModel::send_random(uint32_t number) {
  const ModelFrame frame = {static_cast<uint16_t>(below(kVports)), any_address(), kTypes[below(3)]};
  const PeerAddress& source = frame.from ? stations[frame.from - 1u].address : peer;
  const Bytes bytes = ethernet_frame(address(frame.to).mac, source.mac, frame.type,
                                     pattern(46 + below(1000), number));
  const ModelEnd end = decide(frame);
  if (frame.from)
    stations[frame.from - 1u].send(bytes);
  else
    inject(bytes);
  const std::vector<Bytes> expected =
      end.dropped ? std::vector<Bytes>() : std::vector<Bytes>{bytes};
  const auto at = [&](uint16_t vport, bool undecided) {
    const bool here = end.vport == vport && end.undecided == undecided;
    return here ? expected : std::vector<Bytes>();
  };
  ASSERT_EQ(on_wire(), at(VERNA_VPORT_UPLINK, false));
  const bool by_wire = frame.from == VERNA_VPORT_UPLINK;  // what is undecided is the PF's own
  ASSERT_EQ(soft.received(), by_wire ? std::vector<Bytes>() : at(VERNA_VPORT_PF, true));
  const std::vector<verna_cqe> told = soft.cqes;
  for (size_t fn = 0; fn < stations.size(); fn++) {
    const auto vport = static_cast<uint16_t>(fn + 1);
    ASSERT_EQ(stations[fn].received(), at(vport, fn == 0 && by_wire && end.undecided)) << fn;
  }
  for (const verna_cqe& cqe : end.undecided&& by_wire ? pf.cqes : told) {
    ASSERT_TRUE(cqe.rx_flags & VERNA_CQE_RX_VPORT);
    ASSERT_EQ(cqe.pkey_index, frame.from);
    ASSERT_EQ(cqe.src_qp, end.chain);
  }
}

void SwitchdevModel::check_counters() {
  for (const ModelRule& r : rules) ASSERT_EQ(query(r.id).packets, r.packets);
}

TEST_F(SwitchdevModel, RandomRulesAndFrames) {
  for (Station& s : stations)
    ASSERT_TRUE(s.driver.set_rx_mode(VERNA_RX_MODE_ENABLE | VERNA_RX_MODE_PROMISC).ok());
  for (uint32_t step = 0; step < 2500 && !HasFatalFailure(); step++) {
    const uint32_t what = below(20);
    if (what < 8 && rules.size() < 150)
      add_random();
    else if (what < 11)
      remove_random();
    else if (what == 11)
      regroup();
    else
      send_random(step);
    if (step % 500 == 499) check_counters();
  }
}

}  // namespace
}  // namespace verna::test
