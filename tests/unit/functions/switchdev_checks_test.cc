// SPDX-License-Identifier: GPL-2.0-or-later
// Commands about meters and edits: who may send them, when, and with which fields.
#include "functions/switchdev_objects.h"

namespace verna::test {
namespace {

struct LegacyObjects : ObjectsRig {
  LegacyObjects() : ObjectsRig(false) {}
};

TEST_F(LegacyObjects, NeedTheMode) {
  EXPECT_EQ(object(VERNA_CMD_CREATE_METER, packets(1)).status, VERNA_CMD_BAD_STATE);
  EXPECT_EQ(object(VERNA_CMD_CREATE_FLOW_EDIT, verna_flow_edit{}).status, VERNA_CMD_BAD_STATE);
  EXPECT_EQ(object(VERNA_CMD_MODIFY_METER, packets(1), 1).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_METER, 1).status, VERNA_CMD_NOT_FOUND);
  EXPECT_EQ(card.driver.object(VERNA_CMD_DESTROY_FLOW_EDIT, 1).status, VERNA_CMD_NOT_FOUND);
  for (uint16_t opcode = VERNA_CMD_CREATE_METER; opcode <= VERNA_CMD_DESTROY_FLOW_EDIT; opcode++) {
    const bool known = opcode <= VERNA_CMD_QUERY_METER || opcode >= VERNA_CMD_CREATE_FLOW_EDIT;
    struct Plain {
      verna_cmd_hdr hdr;
    };
    EXPECT_EQ(vf1.driver.execute(opcode, Plain{}).status,
              known ? VERNA_CMD_BAD_FUNCTION : VERNA_CMD_BAD_OPCODE);
  }
}

TEST_F(ObjectsRig, CommandsCheckTheirFields) {
  const verna_meter meter = packets(1);
  const size_t len = offsetof(verna_cmd_flow_object, len), id = offsetof(verna_cmd_flow_object, id);
  EXPECT_EQ(object(VERNA_CMD_CREATE_METER, meter, 0, 63).detail, len);
  EXPECT_EQ(object(VERNA_CMD_CREATE_METER, meter, 0, 65).detail, len);
  EXPECT_EQ(object(VERNA_CMD_CREATE_METER, meter, 1).detail, id);
  EXPECT_EQ(object(VERNA_CMD_CREATE_FLOW_EDIT, verna_flow_edit{}, 0, 383).detail, len);
  EXPECT_EQ(object(VERNA_CMD_CREATE_FLOW_EDIT, verna_flow_edit{}, 1).detail, id);
  EXPECT_EQ(object(VERNA_CMD_MODIFY_METER, meter, 77).status, VERNA_CMD_NOT_FOUND);
  const uint32_t there = make(meter);
  EXPECT_EQ(object(VERNA_CMD_MODIFY_METER, meter, there, 0).detail, len);
  verna_cmd_query query{};
  query.id = 77;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_METER, query).status, VERNA_CMD_NOT_FOUND);
  query.group = 1;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_QUERY_METER, query).detail,
            offsetof(verna_cmd_query, group));
  verna_cmd_object destroy{};
  destroy.id = there;
  destroy.reserved = 1;
  EXPECT_EQ(card.driver.execute(VERNA_CMD_DESTROY_METER, destroy).detail,
            offsetof(verna_cmd_object, reserved));
  card.bus.expect_faults();
  verna_cmd_flow_object command{};
  command.addr = 0x1000;
  command.len = sizeof(verna_meter);
  EXPECT_EQ(card.driver.execute(VERNA_CMD_CREATE_METER, command).status, VERNA_CMD_DMA_FAULT);
  command.len = sizeof(verna_flow_edit);
  EXPECT_EQ(card.driver.execute(VERNA_CMD_CREATE_FLOW_EDIT, command).status, VERNA_CMD_DMA_FAULT);
}

TEST_F(ObjectsRig, MetersThatMakeNoSense) {
  const auto refused = [&](auto change, const char* what) {
    verna_meter meter = packets(5);
    change(meter);
    EXPECT_EQ(object(VERNA_CMD_CREATE_METER, meter).status, VERNA_CMD_BAD_PARAM) << what;
  };
  using M = verna_meter;
  refused([](M& m) { m.unit = 2; }, "unit");
  refused([](M& m) { m.second = 2; }, "second");
  refused([](M& m) { m.flags = 4; }, "flags");
  refused([](M& m) { m.reserved0 = 1; }, "reserved0");
  refused([](M& m) { m.reserved1 = 1; }, "reserved1");
  refused([](M& m) { m.reserved2 = 1; }, "reserved2");
  refused([](M& m) { m.committed_rate.ns = 0; }, "in no time");
  refused([](M& m) { m.committed_rate.burst = 0; }, "no burst");
  refused([](M& m) { m.committed_rate = {1, ~0ull, 5}; }, "more than can be held");
  refused([](M& m) { m.second_rate = {0, 1, 0}; }, "nothing in some time");
  refused([](M& m) { m.second_rate = {0, 0, 1}; }, "a burst of nothing");
  refused(
      [](M& m) {
        m.second = VERNA_METER_PEAK;
        m.second_rate = {1, kSecond, 5};
      },
      "a peak below");
}

TEST_F(ObjectsRig, EditsThatMakeNoSense) {
  const auto refused = [&](auto change, const char* what) {
    verna_flow_edit edit{};
    change(edit);
    const Reply reply = object(VERNA_CMD_CREATE_FLOW_EDIT, edit);
    EXPECT_EQ(reply.status, VERNA_CMD_BAD_PARAM) << what;
    EXPECT_EQ(reply.detail, offsetof(verna_cmd_flow_object, addr)) << what;
  };
  using E = verna_flow_edit;
  refused([](E& e) { e.flags = 0x10; }, "flags");
  refused([](E& e) { e.reserved0 = 1; }, "reserved0");
  refused([](E& e) { e.reserved = 1; }, "reserved");
  refused([](E& e) { e.num_copies = 5; }, "copies");
  refused([](E& e) { e.copies[0].vport = 1; }, "a copy too many");
  refused(
      [](E& e) {
        e.num_copies = 1;
        e.copies[0].vport = kVfs + 3;
      },
      "no such vport");
  refused(
      [](E& e) {
        e.num_copies = 1;
        e.copies[0].changed = 2;
      },
      "changed");
  refused([](E& e) { e.num_pop = 3; }, "pop");
  refused([](E& e) { e.num_push = 3; }, "push");
  refused([](E& e) { e.num_push = 1; }, "no tag");
  refused([](E& e) { e.push[0].tci = 1; }, "a tag too many");
  refused([](E& e) { e.mask.ttl = 1; }, "no rewrite");
  refused(
      [](E& e) {
        e.flags = VERNA_EDIT_REWRITE;
        e.mask.ethertype = 1;
      },
      "cannot be set");
  refused(
      [](E& e) {
        e.flags = VERNA_EDIT_REWRITE | VERNA_EDIT_DEC_TTL;
        e.mask.ttl = 0xff;
      },
      "two TTLs");
  refused([](E& e) { e.encap.ttl = 1; }, "no encapsulation");
  const auto encap = [&](auto change, const char* what) {
    refused(
        [&](E& e) {
          e.flags = VERNA_EDIT_ENCAP;
          e.encap.kind = VERNA_FLOW_TUN_VXLAN;
          e.encap.ip_version = 4;
          e.encap.ttl = 64;
          e.encap.flags = VERNA_ENCAP_ID;
          e.encap.dport = 1;
          change(e.encap);
        },
        what);
  };
  using T = verna_edit_encap;
  encap([](T& t) { t.kind = 0; }, "kind");
  encap([](T& t) { t.kind = 4; }, "kind");
  encap([](T& t) { t.ip_version = 5; }, "IP version");
  encap([](T& t) { t.tos = 1; }, "ECN");
  encap([](T& t) { t.ttl = 0; }, "TTL");
  encap([](T& t) { t.flags |= 8; }, "flags");
  encap([](T& t) { t.flags = 0; }, "no VNI");
  encap([](T& t) { t.reserved = 1; }, "reserved");
  encap([](T& t) { t.dport = 0; }, "no port");
  encap([](T& t) { t.id = 1; }, "a VNI of more than 24 bits");
  encap([](T& t) { t.src_ip[4] = 1; }, "a long IPv4 address");
  encap([](T& t) { t.kind = VERNA_FLOW_TUN_GRE; }, "a port of GRE");
  encap(
      [](T& t) {
        t.ip_version = 6;
        t.flags |= VERNA_ENCAP_MAY_FRAGMENT;
      },
      "DF of IPv6");
}

TEST_F(ObjectsRig, AsManyAsThereMayBe) {
  constexpr uint32_t kMax = 65536;
  verna_cmd_flow_object command{};
  (void)object(VERNA_CMD_CREATE_METER, packets(1));
  command.addr = object_addr;
  command.len = sizeof(verna_meter);
  Reply reply;
  for (uint32_t i = 1; i < kMax; i++) reply = card.driver.execute(VERNA_CMD_CREATE_METER, command);
  EXPECT_TRUE(reply.ok());
  const Reply more = card.driver.execute(VERNA_CMD_CREATE_METER, command);
  EXPECT_EQ(more.status, VERNA_CMD_NO_RESOURCE);
  const auto last = static_cast<uint32_t>(reply.result);
  EXPECT_TRUE(card.driver.object(VERNA_CMD_DESTROY_METER, last).ok());
  EXPECT_TRUE(card.driver.execute(VERNA_CMD_CREATE_METER, command).ok());
}

}  // namespace
}  // namespace verna::test
