// SPDX-License-Identifier: GPL-2.0-or-later
// What rules cost, in time of the processor: adding, finding and removing 1 to a million rules
// under 1 to 64 masks, and their actions. Exit code 1 if rules are added more slowly than 50 000 a
// second, or the longest search (a miss among a million rules of 64 masks) takes more than 10 us.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "flow/flow_pipeline.h"

namespace verna {
namespace {

constexpr double kMinInsertions = 50'000;
constexpr double kMaxSearch = 10'000;  // ns
constexpr uint32_t kLookups = 200'000;

/// Of the processor, so that others on the machine do not count.
double seconds_of(auto work) {
  const auto now = [] {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
  };
  const double start = now();
  work();
  return now() - start;
}

/// An IPv4 5-tuple, different for each `n`.
verna_flow_key tuple(uint32_t n) {
  verna_flow_key key{};
  key.ip_version = 4;
  key.ip_proto = 6;
  for (int i = 0; i < 4; i++) key.dst_ip[i] = static_cast<uint8_t>(n * 2654435761u >> (8 * i));
  key.src_ip[0] = 10;
  key.sport = static_cast<uint16_t>(n * 40503u);
  key.dport = 80;
  return key;
}

/// Mask `m` of many: the 5-tuple, and besides it other bits for each.
verna_flow_key mask_of(uint32_t m) {
  verna_flow_key mask{};
  mask.ip_version = mask.ip_proto = 0xff;
  for (int i = 0; i < 4; i++) mask.dst_ip[i] = mask.src_ip[i] = 0xff;
  mask.sport = mask.dport = 0xffff;
  mask.tos = static_cast<uint8_t>(m);
  return mask;
}

struct Row {
  double add;     // rules a second
  double hit;     // ns
  double miss;    // ns
  double remove;  // rules a second
};

Row measure(uint32_t rules, uint32_t masks) {
  Trace trace;
  FlowTables tables(1u << 20, 0x9876543210, trace);
  std::vector<uint32_t> ids(rules);
  Row row{};
  const double added = seconds_of([&] {
    FlowRuleSpec spec;
    for (uint32_t n = 0; n < rules; n++) {
      spec.priority = 1;
      spec.key = tuple(n);
      spec.mask = mask_of(n % masks);
      tables.add({}, spec, 0, &ids[n]);
    }
  });
  row.add = rules / added;
  uint64_t found = 0;
  FlowKeys keys;
  const auto look = [&](uint32_t first, uint32_t count) {
    FlowTable* table = tables.find_table({});
    return 1e9 / kLookups * seconds_of([&] {
             for (uint32_t i = 0; i < kLookups; i++) {
               const uint32_t n = first + static_cast<uint32_t>(uint64_t{i} * 7919 % count);
               keys.plain = flow_words(tuple(n));
               found += tables.match(table, keys, 64, 1).rule != nullptr;
             }
           });
  };
  row.hit = look(0, rules);
  if (found != kLookups)
    fmt::print(stderr, "flow_bench: {} look-ups found nothing\n", kLookups - found);
  row.miss = look(1u << 24, 1u << 20);
  row.remove = rules / seconds_of([&] {
                 for (const uint32_t id : ids) tables.remove(id);
               });
  return row;
}

/// A UDP packet of `len` bytes, at least 64.
std::vector<uint8_t> udp_packet(size_t len) {
  std::vector<uint8_t> frame(len, 0x55);
  const uint8_t head[] = {2,    0, 0,  0, 0, 1, 2,  0, 0,  0,  0, 2, 0x08, 0x00,
                          0x45, 0, 0,  0, 0, 0, 0,  0, 64, 17, 0, 0, 10,   0,
                          0,    1, 10, 0, 0, 2, 16, 0, 0,  80, 0, 0, 0x12, 0x34};
  std::copy(std::begin(head), std::end(head), frame.begin());
  store_be16(frame.data() + 16, static_cast<uint16_t>(len - 14));
  store_be16(frame.data() + 38, static_cast<uint16_t>(len - 34));
  return frame;
}

/// ns for a packet that one rule with `actions` is for, from its headers to the verdict.
double cost_of(const FlowActions& actions, size_t len) {
  Trace trace;
  FlowTables tables(16, 1, trace);
  FlowPipeline pipeline(tables, [](uint16_t, const FlowPacket&) {});
  FlowRuleSpec spec;
  spec.actions = actions;
  uint32_t id = 0;
  tables.add({}, spec, 0, &id);
  const std::vector<uint8_t> frame = udp_packet(len);
  const TunnelPorts ports;
  PacketView view;
  uint64_t sent = 0;
  const double seconds = seconds_of([&] {
    for (uint32_t i = 0; i < kLookups; i++) {
      parse_packet(frame.data(), static_cast<uint32_t>(frame.size()), &view);
      FlowPacket packet(view, 1, ports);
      sent += pipeline.run({}, &packet, i).kind == FlowVerdict::Kind::kPort;
    }
  });
  if (id == 0 || sent != kLookups) fmt::print(stderr, "flow_bench: a rule does not work\n");
  return seconds * 1e9 / kLookups;
}

FlowActions to_port(std::shared_ptr<const FlowEdit> edit = nullptr) {
  FlowActions actions;
  actions.target = FlowTarget::kPort;
  actions.port = 2;
  actions.edit = std::move(edit);
  return actions;
}

void print_actions() {
  const auto print = [](const char* name, const FlowActions& actions) {
    fmt::print("{:<24} {:>9.0f} {:>9.0f}\n", name, cost_of(actions, 64), cost_of(actions, 1514));
  };
  fmt::print("\n{:<24} {:>9} {:>9}\n", "actions", "64 B, ns", "1514 B, ns");
  print("redirect", to_port());
  FlowActions metered = to_port();
  MeterConfig meter;
  meter.unit = MeterConfig::Unit::kPackets;
  meter.committed = {1'000'000'000, 1};
  meter.committed_burst = 1000;
  metered.meter = std::make_shared<Meter>(meter, 0);
  print("meter", metered);
  auto push = std::make_shared<FlowEdit>();
  push->num_push = 1;
  print("push", to_port(push));
  auto nat = std::make_shared<FlowEdit>();
  FlowRewrite rewrite;
  rewrite.value.ip_version = 4;
  for (int i = 0; i < 4; i++) rewrite.mask.src_ip[i] = 0xff;
  rewrite.mask.sport = 0xffff;
  nat->rewrite = std::make_unique<FlowRewrite>(rewrite);
  nat->dec_ttl = true;
  print("NAT and TTL", to_port(nat));
  for (const bool checksum : {false, true}) {
    auto vxlan = std::make_shared<FlowEdit>();
    FlowEncap encap;
    encap.udp_checksum = checksum;
    vxlan->encap = std::make_unique<FlowEncap>(encap);
    print(checksum ? "VXLAN with UDP checksum" : "VXLAN", to_port(vxlan));
  }
}

}  // namespace
}  // namespace verna

int main() {
  bool fast_enough = true;
  fmt::print("{:>9} {:>6} {:>12} {:>9} {:>9} {:>12}\n", "rules", "masks", "added/s", "hit ns",
             "miss ns", "removed/s");
  for (const uint32_t masks : {1u, 8u, 64u}) {
    for (const uint32_t rules : {1u, 100u, 10'000u, 100'000u, 1'000'000u}) {
      if (rules < masks) continue;
      const verna::Row row = verna::measure(rules, masks);
      fmt::print("{:>9} {:>6} {:>12.0f} {:>9.0f} {:>9.0f} {:>12.0f}\n", rules, masks, row.add,
                 row.hit, row.miss, row.remove);
      if (rules >= 10'000) fast_enough &= row.add >= verna::kMinInsertions;
      fast_enough &= row.miss <= verna::kMaxSearch;
    }
  }
  verna::print_actions();
  if (!fast_enough)
    fmt::print("fewer than {:.0f} rules added a second, or a search of more than {:.0f} ns\n",
               verna::kMinInsertions, verna::kMaxSearch);
  return fast_enough ? 0 : 1;
}
