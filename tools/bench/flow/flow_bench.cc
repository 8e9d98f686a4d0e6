// SPDX-License-Identifier: GPL-2.0-or-later
// What rules cost: adding, finding and removing 1 to a million rules under 1 to 64 masks. Exit code
// 1 if rules are added more slowly than 50 000 a second.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <vector>

#include "flow/flow_tables.h"

namespace verna {
namespace {

constexpr double kMinInsertions = 50'000;
constexpr uint32_t kLookups = 200'000;

double seconds_of(auto work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  return time.count();
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
    for (uint32_t n = 0; n < rules; n++)
      tables.add({}, 1, tuple(n), mask_of(n % masks), {}, 0, &ids[n]);
  });
  row.add = rules / added;
  uint64_t found = 0;
  const auto look = [&](uint32_t first, uint32_t count) {
    FlowTable* table = tables.find_table({});
    return 1e9 / kLookups * seconds_of([&] {
             for (uint32_t i = 0; i < kLookups; i++) {
               const uint32_t n = first + static_cast<uint32_t>(uint64_t{i} * 7919 % count);
               found += tables.match(table, flow_words(tuple(n)), 64, 1).rule != nullptr;
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
    }
  }
  if (!fast_enough) fmt::print("fewer than {:.0f} rules added a second\n", verna::kMinInsertions);
  return fast_enough ? 0 : 1;
}
