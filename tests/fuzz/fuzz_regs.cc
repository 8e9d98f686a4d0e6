// SPDX-License-Identifier: GPL-2.0-or-later
// Registers and doorbells in any order, with resets, link changes and time between them.
#include "fuzz/fuzz_card.h"

namespace verna::fuzz {
namespace {

enum Kind : uint8_t {
  kRead,
  kWrite,
  kKnown,
  kDoorbell,
  kTime,
  kReset,
  kLink,
  kFrame,
  kControl,
  kKinds
};

constexpr uint32_t kRegisters[] = {
    VERNA_REG_CONTROL,      VERNA_REG_AQ_SQ_LO,    VERNA_REG_AQ_SQ_HI,    VERNA_REG_AQ_CQ_LO,
    VERNA_REG_AQ_CQ_HI,     VERNA_REG_AQ_LOG_SIZE, VERNA_REG_AQ_DOORBELL, VERNA_REG_TEST_REG,
    VERNA_REG_TEST_IRQ,     VERNA_REG_TEST_DMA_LO, VERNA_REG_TEST_DMA_HI, VERNA_REG_TEST_DMA_SIZE,
    VERNA_REG_TEST_DMA_CTRL};

const char* const kQuestions[] = {"regs",       "caps",      "eqs",  "cqs",           "queues",
                                  "qps",        "mrs",       "gids", "counters",      "trace on",
                                  "trace show", "trace off", "help", "trace follow 0"};

void step(Input& in, Rig& rig, uint64_t arena) {
  test::TestCard& card = rig.card;
  switch (in.byte() % kKinds) {
    case kRead:
      card.driver.reg(in.take<uint32_t>() % 0x20000);
      break;
    case kWrite:
      card.driver.set_reg(in.take<uint32_t>() % 0x20000, in.take<uint32_t>());
      break;
    case kKnown: {
      const uint32_t reg = kRegisters[in.byte() % std::size(kRegisters)];
      uint32_t v = in.byte();
      if (reg == VERNA_REG_AQ_SQ_LO || reg == VERNA_REG_AQ_CQ_LO || reg == VERNA_REG_TEST_DMA_LO) {
        v = static_cast<uint32_t>(arena) + v * 1024;
      }
      if (reg == VERNA_REG_AQ_SQ_HI || reg == VERNA_REG_AQ_CQ_HI || reg == VERNA_REG_TEST_DMA_HI) {
        v = static_cast<uint32_t>(arena >> 32) + v / 128;
      }
      card.driver.set_reg(reg, v);
      break;
    }
    case kDoorbell:
      card.ring_doorbell(
          in.byte(), in.byte() % 2 ? VERNA_DB(in.byte() % 6, rig.rc->qpn) : in.take<uint32_t>());
      break;
    case kTime:
      rig.world.run_for(uint64_t{in.byte()} * 1'000'000);
      break;
    case kReset:
      if (in.byte() % 4 == 0) card.reset();
      break;
    case kLink:
      if (in.byte() % 2) {
        card.set_link(in.byte() % 2 != 0);
      } else {
        rig.wire.a.up = in.byte() % 2 != 0;
      }
      break;
    case kFrame:
      rig.wire.to_a.send_raw(in.bytes(in.byte()));
      break;
    default: {
      const uint8_t which = in.byte();
      const Bytes raw = in.bytes(8);
      card.nic->control(which < std::size(kQuestions) ? std::string(kQuestions[which])
                                                      : std::string(raw.begin(), raw.end()),
                        rig.world.clock.now);
      break;
    }
  }
  rig.world.settle(2000);
}

std::vector<Bytes> seeds() {
  // Enable the admin queue over the arena, post commands, test DMA, reset.
  Bytes all = {kKnown, 1,  0, kKnown, 2, 0,      kKnown, 3, 64, kKnown, 4,  0, kKnown, 5,  4,
               kKnown, 0,  2, kKnown, 6, 3,      kKnown, 9, 0,  kKnown, 10, 0, kKnown, 11, 64,
               kKnown, 12, 2, kTime,  1, kReset, 0};
  std::vector<Bytes> out = {all};
  for (uint8_t q = 0; q < std::size(kQuestions); q++) out.push_back({kControl, q});
  return out;
}

}  // namespace
}  // namespace verna::fuzz

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  verna::fuzz::plant_seeds(*argc, *argv, verna::fuzz::seeds());
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  verna::fuzz::Input in(data, size);
  verna::fuzz::Rig rig;
  rig.card.bus.expect_faults();
  const uint64_t arena = rig.card.bus.alloc(64 * 4096, "arena");
  rig.card.bus.fill(arena, in.bytes(in.byte()));
  for (int steps = 0; !in.empty() && steps < 64; steps++) verna::fuzz::step(in, rig, arena);
  verna::fuzz::check(rig);
  return 0;
}
