// SPDX-License-Identifier: GPL-2.0-or-later
// The admin queue as a queue; what commands mean is tested in commands_test.cc.
#include <algorithm>

#include "support/card_test.h"

namespace verna::test {
namespace {

struct AdminQueue : CardTest {
  Reply nop(uint16_t flags = 0) {
    verna_cmd_object command{};
    command.hdr.flags = flags;
    return card.driver.execute(VERNA_CMD_NOP, command);
  }
  void enable(uint64_t sq, uint64_t cq, uint32_t log_size) {
    set_reg(VERNA_REG_AQ_SQ_LO, static_cast<uint32_t>(sq));
    set_reg(VERNA_REG_AQ_SQ_HI, static_cast<uint32_t>(sq >> 32));
    set_reg(VERNA_REG_AQ_CQ_LO, static_cast<uint32_t>(cq));
    set_reg(VERNA_REG_AQ_CQ_HI, static_cast<uint32_t>(cq >> 32));
    set_reg(VERNA_REG_AQ_LOG_SIZE, log_size);
    set_reg(VERNA_REG_CONTROL, VERNA_CONTROL_AQ_ENABLE);
    world.settle();
  }
};

TEST_F(AdminQueue, AnswersInOrderForManyRounds) {
  for (uint8_t log_size : {1, 4, 8}) {
    set_reg(VERNA_REG_CONTROL, 0);
    card.driver.enable_admin_queue(log_size);
    world.settle();
    ASSERT_TRUE(aq_enabled());
    for (int i = 0; i < 700; i++) ASSERT_TRUE(nop().ok());
  }
}

TEST_F(AdminQueue, TakesAFullRingAtOnce) {
  card.driver.enable_admin_queue(3);
  for (int round = 0; round < 10; round++) {
    verna_cmd_object command{};
    for (int i = 0; i < 8; i++) card.driver.post_command(&command, sizeof command);
    card.driver.ring_admin_doorbell();
    for (int i = 0; i < 8; i++) {
      Reply reply;
      ASSERT_TRUE(world.run_until([&] { return card.driver.take_reply(&reply); }));
      EXPECT_TRUE(reply.ok());
    }
  }
}

TEST_F(AdminQueue, EventFlagRaisesVectorZero) {
  card.driver.enable_admin_queue(4);
  nop();
  world.settle();
  EXPECT_EQ(card.bus.interrupts(0), 0u);
  nop(VERNA_CMD_F_EVENT);
  world.settle();
  EXPECT_EQ(card.bus.interrupts(0), 1u);
}

TEST_F(AdminQueue, BadConfigurationsStayDisabled) {
  const uint64_t sq = card.bus.alloc(32768), cq = card.bus.alloc(8192);
  const auto refused = [&](uint64_t s, uint64_t c, uint32_t log_size) {
    set_reg(VERNA_REG_CONTROL, 0);
    enable(s, c, log_size);
    return !aq_enabled();
  };
  EXPECT_TRUE(refused(sq + 128, cq, 4));
  EXPECT_TRUE(refused(sq, cq + 32, 4));
  EXPECT_TRUE(refused(sq, cq, 0));
  EXPECT_TRUE(refused(sq, cq, 9));
  EXPECT_TRUE(refused(sq, cq, 0xffffffff));
  EXPECT_FALSE(refused(sq, cq, 8));
}

TEST_F(AdminQueue, ADoorbellBeyondTheRingIsIgnored) {
  card.driver.enable_admin_queue(4);
  ASSERT_TRUE(nop().ok());
  const uint64_t commands = dev(VERNA_DEV_commands);
  for (uint32_t count : {18u, 100u, 0x80000000u, 0xffffffffu, 0u}) {
    set_reg(VERNA_REG_AQ_DOORBELL, count);
    world.settle();
    EXPECT_EQ(dev(VERNA_DEV_commands), commands) << count;
  }
  EXPECT_TRUE(nop().ok());
}

TEST_F(AdminQueue, DoorbellsWhileDisabledAreIgnored) {
  set_reg(VERNA_REG_AQ_DOORBELL, 3);
  world.settle();
  EXPECT_EQ(dev(VERNA_DEV_commands), 0u);
  card.driver.enable_admin_queue(4);
  world.settle();
  EXPECT_EQ(dev(VERNA_DEV_commands), 0u);
  EXPECT_TRUE(nop().ok());
}

TEST_F(AdminQueue, LostMemoryIsFatalAndOnlyAResetHelps) {
  card.bus.expect_faults();
  enable(0x1000, 0x10000, 4);
  set_reg(VERNA_REG_AQ_DOORBELL, 1);
  world.settle();
  EXPECT_TRUE(reg(VERNA_REG_STATUS) & VERNA_STATUS_FATAL);
  EXPECT_EQ(reg(VERNA_REG_FATAL_CODE), uint32_t{VERNA_FATAL_AQ_DMA});
  EXPECT_FALSE(reg(VERNA_REG_STATUS) & VERNA_STATUS_READY);
  // Nothing but a reset brings it back.
  card.driver.enable_admin_queue(4);
  world.settle();
  EXPECT_FALSE(aq_enabled());
  set_reg(VERNA_REG_CONTROL, VERNA_CONTROL_RESET);
  world.settle();
  EXPECT_EQ(reg(VERNA_REG_FATAL_CODE), uint32_t{VERNA_FATAL_NONE});
  card.driver.enable_admin_queue(4);
  EXPECT_TRUE(nop().ok());
}

TEST_F(AdminQueue, ACommandIsReadOnce) {
  card.driver.enable_admin_queue(4);
  verna_cmd_mtu command{};
  command.hdr.opcode = VERNA_CMD_SET_MTU;
  command.mtu = 3000;
  // The host changes everything it can as soon as the card has read something.
  bool active = true;
  card.bus.set_read_hook([&](const FakeHostBus::Access& a) {
    if (!active || a.len < 8) return;
    for (size_t i = 0; i < a.len; i++) *card.bus.ptr(a.addr + i) = 0xff;
  });
  const Reply reply = card.driver.run_command(&command, sizeof command);
  active = false;
  EXPECT_TRUE(reply.ok());
}

TEST_F(AdminQueue, AllReservedBytesAreChecked) {
  card.driver.bring_up();
  for (uint32_t at = 16; at < VERNA_CMD_SIZE; at++) {
    uint8_t bytes[VERNA_CMD_SIZE] = {};
    verna_cmd_mtu command{};
    command.hdr.opcode = VERNA_CMD_SET_MTU;
    command.mtu = 1400;
    std::memcpy(bytes, &command, sizeof command);
    bytes[at] = 1;
    const Reply reply = card.driver.run_command(bytes, sizeof bytes);
    EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM) << at;
    EXPECT_EQ(reply.detail, at);
  }
}

TEST_F(AdminQueue, HeaderFieldsAreChecked) {
  card.driver.bring_up();
  verna_cmd_object command{};
  EXPECT_EQ(card.driver.execute_for(1, VERNA_CMD_NOP, command).status, VERNA_CMD_BAD_FUNCTION);
  EXPECT_EQ(card.driver.execute_for(0xffff, VERNA_CMD_CREATE_PD, command).status,
            VERNA_CMD_BAD_FUNCTION);
  command.hdr.flags = 2;
  const Reply reply = card.driver.execute(VERNA_CMD_NOP, command);
  EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM);
  EXPECT_EQ(reply.detail, offsetof(verna_cmd_hdr, flags));
}

TEST_F(AdminQueue, EveryUnknownOpcodeIsAnswered) {
  card.driver.bring_up(8);
  const uint16_t known[] = {0x0000, 0x0001, 0x0002, 0x0003, 0x0010, 0x0011, 0x0012, 0x0013,
                            0x0014, 0x0100, 0x0101, 0x0102, 0x0103, 0x0104, 0x0105, 0x0110,
                            0x0111, 0x0112, 0x0113, 0x0114, 0x0115, 0x0116, 0x0117, 0x0118,
                            0x0200, 0x0201, 0x0202, 0x0203, 0x0210, 0x0211, 0x0212, 0x0213,
                            0x0220, 0x0300, 0x0301, 0x0302, 0x0303, 0x0304};
  const auto unknown = [&](uint16_t op) {
    return std::find(std::begin(known), std::end(known), op) == std::end(known);
  };
  for (uint32_t op = 0; op <= 0xffff; op += op < 0x400 ? 1 : 251) {
    if (!unknown(static_cast<uint16_t>(op))) continue;
    verna_cmd_object command{};
    const Reply reply = card.driver.execute(static_cast<uint16_t>(op), command);
    ASSERT_EQ(reply.status, VERNA_CMD_BAD_OPCODE) << op;
  }
}

TEST_F(AdminQueue, CountersCount) {
  card.driver.bring_up();
  const uint64_t commands = dev(VERNA_DEV_commands), errors = dev(VERNA_DEV_command_errors);
  nop();
  card.driver.object(VERNA_CMD_DESTROY_PD, 0xffffff);
  EXPECT_EQ(dev(VERNA_DEV_commands), commands + 2);
  EXPECT_EQ(dev(VERNA_DEV_command_errors), errors + 1);
}

TEST_F(AdminQueue, DisableAndEnableStartsAtZero) {
  card.driver.enable_admin_queue(4);
  for (int i = 0; i < 5; i++) ASSERT_TRUE(nop().ok());
  set_reg(VERNA_REG_CONTROL, 0);
  world.settle();
  EXPECT_FALSE(aq_enabled());
  card.driver.enable_admin_queue(2);
  for (int i = 0; i < 9; i++) ASSERT_TRUE(nop().ok());
}

}  // namespace
}  // namespace verna::test
