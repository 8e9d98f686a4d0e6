// SPDX-License-Identifier: GPL-2.0-or-later
// What a frame on its way through the switch must not cost: memory.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "support/packet_builder.h"
#include "vswitch/switch.h"

namespace {

uint64_t allocations = 0;

}  // namespace

// Not inlined, so that the compiler takes them for a pair.
[[gnu::noinline]] void* operator new(size_t size, const std::nothrow_t&) noexcept {
  allocations++;
  return std::malloc(size);
}
[[gnu::noinline]] void* operator new(size_t size) {
  if (void* memory = operator new(size, std::nothrow)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace verna::test {
namespace {

struct SwitchCost : testing::Test {
  static constexpr uint16_t kFrom = 2, kTo = 3;  // vports of functions 1 and 2
  static constexpr uint8_t kMac[6] = {2, 0, 0, 0, 0, 1};

  SwitchCost() {
    for (FunctionId fn = 0; fn < 3; fn++) {
      BridgePortConfig config;
      config.spoof_check = false;
      EXPECT_EQ(vswitch.configure(fn, config, VERNA_VPORT_LINK_UP), Bridge::Status::kOk);
      vswitch.enable(fn, true);
    }
    vswitch.set_mode(VERNA_ESWITCH_SWITCHDEV);
  }
  void add(uint32_t chain, const FlowActions& actions) {
    FlowRuleSpec spec;
    spec.mask.ethertype = 0xffff;
    spec.key.ethertype = __builtin_bswap16(0x88b5);
    spec.actions = actions;
    uint32_t id = 0;
    const FlowTableId table{VERNA_FLOW_SWITCH, kFrom, chain};
    ASSERT_EQ(vswitch.flows().tables().add(table, spec, 0, &id), FlowTables::Status::kOk);
  }
  static FlowActions to(uint16_t port) {
    FlowActions actions;
    actions.target = FlowTarget::kPort;
    actions.port = port;
    return actions;
  }
  /// Sends frames from one function and empties all vports. Returns how often memory was asked for.
  uint64_t cost() {
    const Bytes frame = ethernet_frame(kMac, kMac, 0x88b5, Bytes(500));
    const uint64_t before = allocations;
    for (int i = 0; i < 1000; i++) {
      uint8_t* out = vswitch.port(1).tx_reserve(static_cast<uint32_t>(frame.size()));
      std::copy(frame.begin(), frame.end(), out);
      vswitch.port(1).tx_commit(static_cast<uint32_t>(frame.size()));
      vswitch.flush();
      for (FunctionId fn = 0; fn < 3; fn++)
        while (vswitch.port(fn).rx_peek().data) vswitch.port(fn).rx_release();
      while (wire.rx_peek().data) wire.rx_release();
    }
    return allocations - before;
  }
  uint64_t at(uint16_t vport) { return vswitch.counters(vport)->at(VERNA_VPORT_rx_frames); }

  Counters counters;
  Trace trace;
  LoopbackPort wire{1u << 20, false};
  Mac mac{wire, counters, trace};
  Switch vswitch{mac, trace, 3, 1, [](uint32_t) {}};
};

TEST_F(SwitchCost, NothingForWhatNoRuleDecides) {
  EXPECT_EQ(cost(), 0u);
  EXPECT_EQ(at(kPfPort), 1000u);
  EXPECT_GT(allocations, 0u) << "it is counted";
}

TEST_F(SwitchCost, NothingForChainsMetersAndChanges) {
  auto edit = std::make_shared<FlowEdit>();
  edit->num_copies = 1;
  edit->copies[0] = {kUplink, true};
  edit->num_push = 1;
  edit->push[0].tci = 7;
  auto rewrite = std::make_unique<FlowRewrite>();
  rewrite->mask.dmac[5] = 0xff;
  edit->rewrite = std::move(rewrite);
  MeterConfig config;
  config.committed = {1'000'000};
  config.committed_burst = 1'000'000;
  FlowActions first;
  first.meter = std::make_shared<Meter>(config, 0);
  first.target = FlowTarget::kChain;
  first.chain = 1;
  add(0, first);
  FlowActions second = to(kTo);
  second.edit = edit;
  add(1, second);
  EXPECT_EQ(cost(), 0u);
  EXPECT_EQ(at(kTo), 1000u);
  EXPECT_EQ(at(kUplink), 1000u);
}

}  // namespace
}  // namespace verna::test
