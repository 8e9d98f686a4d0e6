// SPDX-License-Identifier: GPL-2.0-or-later
#include "hw/verna_caps.h"
#include "support/card_test.h"

namespace verna::test {
namespace {

struct Registers : CardTest {};

struct Known {
  uint32_t offset;
  bool writable;  // reads back what was written
};
/// Every register of verna_regs.h.
const Known kKnown[] = {
    {VERNA_REG_MAGIC, false},         {VERNA_REG_ABI, false},
    {VERNA_REG_VERSION, false},       {VERNA_REG_CAPS_OFFSET, false},
    {VERNA_REG_STATUS, false},        {VERNA_REG_CONTROL, false},
    {VERNA_REG_FATAL_CODE, false},    {VERNA_REG_HEARTBEAT, false},
    {VERNA_REG_AQ_SQ_LO, true},       {VERNA_REG_AQ_SQ_HI, true},
    {VERNA_REG_AQ_CQ_LO, true},       {VERNA_REG_AQ_CQ_HI, true},
    {VERNA_REG_AQ_LOG_SIZE, true},    {VERNA_REG_AQ_DOORBELL, false},
    {VERNA_REG_NUM_UARS, false},      {VERNA_REG_NUM_VECTORS, false},
    {VERNA_REG_MAC_LO, false},        {VERNA_REG_MAC_HI, false},
    {VERNA_REG_FUNCTION, false},      {VERNA_REG_TEST_REG, false},
    {VERNA_REG_TEST_IRQ, false},      {VERNA_REG_TEST_DMA_LO, true},
    {VERNA_REG_TEST_DMA_HI, true},    {VERNA_REG_TEST_DMA_SIZE, true},
    {VERNA_REG_TEST_DMA_CTRL, false}, {VERNA_REG_TEST_DMA_STATUS, false},
    {VERNA_REG_BAD_ACCESS, false},
};

bool is_known(uint32_t offset) {
  for (const Known& k : kKnown)
    if (k.offset == offset) return true;
  return false;
}

TEST_F(Registers, Identification) {
  EXPECT_EQ(reg(VERNA_REG_MAGIC), VERNA_MAGIC);
  EXPECT_EQ(reg(VERNA_REG_ABI), VERNA_ABI_MAJOR << 16 | VERNA_ABI_MINOR);
  EXPECT_EQ(reg(VERNA_REG_STATUS) & ~VERNA_STATUS_LINK_UP, VERNA_STATUS_READY);
  EXPECT_EQ(reg(VERNA_REG_FATAL_CODE), uint32_t{VERNA_FATAL_NONE});
  EXPECT_EQ(reg(VERNA_REG_NUM_UARS), 1024u);
  EXPECT_EQ(reg(VERNA_REG_NUM_VECTORS), NicConfig().num_vectors);
  EXPECT_EQ(reg(VERNA_REG_MAC_LO), 0x004e5652u);
  EXPECT_EQ(reg(VERNA_REG_MAC_HI), 0x0100u);
  EXPECT_EQ(reg(VERNA_REG_BAD_ACCESS), 0u);
}

TEST_F(Registers, EveryKnownRegisterCanBeReadAndWrittenWithoutHarm) {
  for (const Known& k : kKnown) {
    const uint32_t before = reg(k.offset);
    set_reg(k.offset, k.offset == VERNA_REG_CONTROL ? 0 : 0xa5a5a5a4);
    if (k.writable) {
      EXPECT_EQ(reg(k.offset), 0xa5a5a5a4) << k.offset;
    } else if (k.offset != VERNA_REG_TEST_REG && k.offset != VERNA_REG_TEST_DMA_STATUS) {
      EXPECT_EQ(reg(k.offset), before) << k.offset << " is read only";
    }
  }
  EXPECT_EQ(reg(VERNA_REG_BAD_ACCESS), 0u);
}

TEST_F(Registers, EveryOtherOffsetIsCountedAndHarmless) {
  const uint32_t caps_end =
      VERNA_CAPS_BASE + sizeof(verna_cap_dev) + sizeof(verna_cap_eth) + sizeof(verna_cap_rdma);
  uint32_t expected = 0;
  for (uint32_t offset = 0; offset < VERNA_REGS_SIZE; offset += 4) {
    if (is_known(offset) || (offset >= VERNA_CAPS_BASE && offset < caps_end)) continue;
    const uint32_t v = reg(offset);
    if (offset >= VERNA_REG_BOGUS_FIRST && offset <= VERNA_REG_BOGUS_LAST) {
      EXPECT_EQ(v, VERNA_BOGUS) << offset;
    }
    set_reg(offset, 0xffffffff);
    expected += 2;
    if (offset < 0x1000) ASSERT_EQ(reg(VERNA_REG_BAD_ACCESS), expected) << offset;
  }
  EXPECT_EQ(reg(VERNA_REG_BAD_ACCESS), expected);
  EXPECT_EQ(dev(VERNA_DEV_bad_register_access), expected);
  EXPECT_EQ(reg(VERNA_REG_STATUS) & ~VERNA_STATUS_LINK_UP, VERNA_STATUS_READY);
}

TEST_F(Registers, HugeOffsetsDoNotReachMemory) {
  for (uint32_t offset : {0x10000u, 0x7ffffffcu, 0xfffffffcu, 0x80000000u}) {
    reg(offset);
    set_reg(offset, 1);
  }
  EXPECT_EQ(reg(VERNA_REG_BAD_ACCESS), 8u);
}

TEST_F(Registers, TestRegisterComplements) {
  for (uint32_t v : {0u, 1u, 0xffffffffu, 0x12345678u}) {
    set_reg(VERNA_REG_TEST_REG, v);
    EXPECT_EQ(reg(VERNA_REG_TEST_REG), ~v);
  }
}

TEST_F(Registers, TestInterruptRaisesTheVectorNamed) {
  set_reg(VERNA_REG_TEST_IRQ, 0);
  set_reg(VERNA_REG_TEST_IRQ, 128);
  world.settle();
  EXPECT_EQ(card.bus.interrupts(0), 1u);
  EXPECT_EQ(card.bus.interrupts(128), 1u);
  set_reg(VERNA_REG_TEST_IRQ, 129);
  set_reg(VERNA_REG_TEST_IRQ, 0xffffffff);
  world.settle();
  EXPECT_EQ(card.bus.total_interrupts(), 2u) << "a vector that is not there raises nothing";
}

TEST_F(Registers, HeartbeatBeatsAtLeastOnceASecond) {
  const uint32_t first = reg(VERNA_REG_HEARTBEAT);
  world.run_for(1001 * kMilli);
  const uint32_t second = reg(VERNA_REG_HEARTBEAT);
  EXPECT_NE(first, second);
  world.run_for(1001 * kMilli);
  EXPECT_NE(reg(VERNA_REG_HEARTBEAT), second);
}

TEST_F(Registers, LinkBitFollowsTheWireAndTheAdministrator) {
  world.settle();
  EXPECT_TRUE(reg(VERNA_REG_STATUS) & VERNA_STATUS_LINK_UP);
  wire.a.up = false;
  world.run_for(kSecond);
  EXPECT_FALSE(reg(VERNA_REG_STATUS) & VERNA_STATUS_LINK_UP);
  wire.a.up = true;
  world.run_for(kSecond);
  EXPECT_TRUE(reg(VERNA_REG_STATUS) & VERNA_STATUS_LINK_UP);
  card.set_link(false);
  world.settle();
  EXPECT_FALSE(reg(VERNA_REG_STATUS) & VERNA_STATUS_LINK_UP);
  card.set_link(true);
  world.settle();
  EXPECT_TRUE(reg(VERNA_REG_STATUS) & VERNA_STATUS_LINK_UP);
  EXPECT_EQ(card.port_counter(VERNA_PORT_link_down_events), 2u);
}

struct SelfTestDma : Registers {
  uint32_t run(uint64_t addr, uint32_t size, uint32_t command) {
    set_reg(VERNA_REG_TEST_DMA_LO, static_cast<uint32_t>(addr));
    set_reg(VERNA_REG_TEST_DMA_HI, static_cast<uint32_t>(addr >> 32));
    set_reg(VERNA_REG_TEST_DMA_SIZE, size);
    set_reg(VERNA_REG_TEST_DMA_CTRL, command);
    world.run_until([&] { return reg(VERNA_REG_TEST_DMA_STATUS) != VERNA_TEST_DMA_BUSY; });
    return reg(VERNA_REG_TEST_DMA_STATUS);
  }
};

TEST_F(SelfTestDma, FillsClearsAndInverts) {
  const uint64_t addr = card.bus.alloc(4096);
  EXPECT_EQ(run(addr, 4096, VERNA_TEST_DMA_FILL), VERNA_TEST_DMA_OK);
  EXPECT_EQ(card.bus.bytes(addr, 4096), Bytes(4096, 0x96));
  EXPECT_EQ(run(addr + 1, 100, VERNA_TEST_DMA_INVERT), VERNA_TEST_DMA_OK);
  EXPECT_EQ(card.bus.load<uint8_t>(addr), 0x96);
  EXPECT_EQ(card.bus.bytes(addr + 1, 100), Bytes(100, 0x69));
  EXPECT_EQ(card.bus.load<uint8_t>(addr + 101), 0x96);
  EXPECT_EQ(run(addr, 4096, VERNA_TEST_DMA_CLEAR), VERNA_TEST_DMA_OK);
  EXPECT_EQ(card.bus.bytes(addr, 4096), Bytes(4096, 0));
}

TEST_F(SelfTestDma, BadRequestsAreRefused) {
  const uint64_t addr = card.bus.alloc(4096);
  const uint64_t before = card.bus.hash();
  EXPECT_EQ(run(addr, 4097, VERNA_TEST_DMA_FILL), VERNA_TEST_DMA_EINVAL);
  EXPECT_EQ(run(addr, 0xffffffff, VERNA_TEST_DMA_FILL), VERNA_TEST_DMA_EINVAL);
  EXPECT_EQ(run(addr, 16, 0), VERNA_TEST_DMA_EINVAL);
  EXPECT_EQ(run(addr, 16, 4), VERNA_TEST_DMA_EINVAL);
  EXPECT_EQ(run(addr, 16, 0xffffffff), VERNA_TEST_DMA_EINVAL);
  card.bus.expect_faults();
  EXPECT_EQ(run(0x1000, 16, VERNA_TEST_DMA_FILL), VERNA_TEST_DMA_FAULT);
  EXPECT_EQ(run(addr + 4090, 16, VERNA_TEST_DMA_INVERT), VERNA_TEST_DMA_FAULT);
  EXPECT_EQ(run(~uint64_t{0} - 3, 16, VERNA_TEST_DMA_INVERT), VERNA_TEST_DMA_FAULT);
  EXPECT_EQ(card.bus.hash(), before);
}

TEST_F(Registers, CapabilityBlocksFormAList) {
  uint32_t offset = reg(VERNA_REG_CAPS_OFFSET);
  std::vector<uint16_t> types;
  for (int i = 0; i < 16 && offset != 0; i++) {
    ASSERT_GE(offset, VERNA_CAPS_BASE);
    ASSERT_LT(offset, VERNA_CAPS_BASE + VERNA_CAPS_SIZE);
    ASSERT_EQ(offset % 4, 0u);
    const uint32_t words[2] = {reg(offset), reg(offset + 4)};
    verna_cap_hdr hdr;
    std::memcpy(&hdr, words, sizeof hdr);
    EXPECT_GE(hdr.version, 1);
    EXPECT_EQ(hdr.length % 4, 0);
    EXPECT_GE(hdr.length, sizeof hdr);
    types.push_back(hdr.type);
    offset = hdr.next;
  }
  EXPECT_EQ(offset, 0u) << "the list does not end";
  EXPECT_EQ(types, (std::vector<uint16_t>{VERNA_CAP_DEV, VERNA_CAP_ETH, VERNA_CAP_RDMA}));
  EXPECT_EQ(reg(VERNA_REG_BAD_ACCESS), 0u);
}

TEST_F(Registers, ResetPutsEverythingBack) {
  card.driver.bring_up();
  card.driver.set_mtu(9000);
  set_reg(VERNA_REG_TEST_REG, 5);
  set_reg(VERNA_REG_TEST_DMA_SIZE, 5);
  set_reg(VERNA_REG_CONTROL, VERNA_CONTROL_RESET);
  world.settle();
  EXPECT_EQ(reg(VERNA_REG_CONTROL), 0u);
  EXPECT_FALSE(aq_enabled());
  for (uint32_t offset : {VERNA_REG_AQ_SQ_LO, VERNA_REG_AQ_SQ_HI, VERNA_REG_AQ_CQ_LO,
                          VERNA_REG_AQ_CQ_HI, VERNA_REG_AQ_LOG_SIZE, VERNA_REG_TEST_DMA_SIZE}) {
    EXPECT_EQ(reg(offset), 0u) << offset;
  }
  EXPECT_EQ(reg(VERNA_REG_TEST_REG), 0xffffffffu);
  EXPECT_TRUE(reg(VERNA_REG_STATUS) & VERNA_STATUS_LINK_UP) << "the link stays";
  EXPECT_EQ(dev(VERNA_DEV_resets), 1u);
  // And the card works again from the beginning.
  card.driver.bring_up();
  EXPECT_TRUE(card.driver.set_mtu(1500).ok());
}

}  // namespace
}  // namespace verna::test
