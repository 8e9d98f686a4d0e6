// SPDX-License-Identifier: GPL-2.0-or-later
// Commands of hostile drivers, of the PF and of VFs: any opcode, any field, page lists that lead
// anywhere, in any order and beside traffic, while VFs come, go and are reset. Each is answered
// unless the function has declared itself dead. Memory of each function is its own, so that DMA in
// the name of another ends the program.
#include <algorithm>

#include "fuzz/fuzz_card.h"
#include "hw/verna_edit.h"
#include "hw/verna_rate.h"
#include "hw/verna_vport.h"
#include "support/fail.h"

namespace verna::fuzz {
namespace {

using test::MiniDriver;

constexpr uint16_t kOpcodes[] = {
    0x000, 0x001, 0x002, 0x010, 0x011, 0x012, 0x013, 0x100, 0x101, 0x102, 0x103, 0x110, 0x111,
    0x112, 0x113, 0x114, 0x118, 0x200, 0x201, 0x202, 0x203, 0x210, 0x211, 0x212, 0x213, 0x220,
    0x300, 0x301, 0x302, 0x303, 0x400, 0x401, 0x003, 0x014, 0x104, 0x105, 0x115, 0x116, 0x117,
    0x310, 0x311, 0x312, 0x313, 0x318, 0x319, 0x402, 0x403, 0x304, 0x410, 0x411, 0x412, 0x413};
constexpr uint16_t kVfs = 2;

/// A number that a command of before returned, or a small one.
struct Numbers {
  std::vector<uint32_t> known;
  uint32_t pick(Input& in) const {
    const uint8_t which = in.byte();
    return which < known.size() ? known[which] : which;
  }
};

/// Who sends commands: a function's driver, with what it knows.
struct Sender {
  MiniDriver& driver;
  uint16_t fn;
  uint64_t arena;
  Numbers numbers;
};

/// False: the function is dead, or not there.
bool has_admin_queue(Sender& who) {
  const uint32_t status = who.driver.reg(VERNA_REG_STATUS);
  if (status & VERNA_STATUS_FATAL) return false;
  if (!(status & VERNA_STATUS_AQ_ENABLED)) who.driver.enable_admin_queue(4);
  return true;
}

void command(Input& in, Rig& rig, Sender& who) {
  const uint64_t arena = who.arena;
  Numbers* numbers = &who.numbers;
  if (!has_admin_queue(who)) return;
  uint8_t bytes[VERNA_CMD_SIZE] = {};
  verna_cmd_hdr hdr{};
  const uint8_t op = in.byte();
  hdr.opcode = op < std::size(kOpcodes) ? kOpcodes[op] : op;
  const uint8_t about = in.byte();
  hdr.function = about < 240 ? who.fn : about - 240;
  if (hdr.opcode == VERNA_CMD_SET_VPORT || hdr.opcode == VERNA_CMD_QUERY_VPORT)
    hdr.function = about % 4;
  std::memcpy(bytes, &hdr, sizeof hdr);
  // Fields: (offset, kind) pairs say what to write where.
  for (unsigned n = in.byte() % 24; n > 0; n--) {
    const size_t at = 8 + in.byte() % 80;
    switch (in.byte() % 6) {
      case 0:
        bytes[at] = in.byte();
        break;
      case 1:
        store_le<uint32_t>(bytes + at / 4 * 4, numbers->pick(in));
        break;
      case 2:
        store_le<uint64_t>(bytes + at / 8 * 8, arena + in.take<uint16_t>());
        break;
      case 3:
        store_le<uint64_t>(bytes + at / 8 * 8, in.take<uint64_t>());
        break;
      case 4:
        store_le<uint16_t>(bytes + at / 2 * 2, in.take<uint16_t>());
        break;
      default:
        store_le<uint64_t>(bytes + at / 8 * 8, arena + uint64_t{in.byte()} * 4096);
    }
  }
  who.driver.post_command(bytes, sizeof bytes);
  who.driver.ring_admin_doorbell();
  test::Reply reply;
  const bool answered =
      rig.world.run_until([&] { return who.driver.take_reply(&reply); }, 20'000'000);
  const bool dead = who.driver.reg(VERNA_REG_STATUS) & VERNA_STATUS_FATAL;
  if (!answered && !dead) test::fail("a command was not answered");
  if (answered && reply.ok() && reply.result) {
    numbers->known.push_back(static_cast<uint32_t>(reply.result));
    if (numbers->known.size() > 100) numbers->known.erase(numbers->known.begin());
  }
}

void step(Input& in, Rig& rig, std::vector<Sender>& senders) {
  switch (in.byte() % 12) {
    case 0:
      rig.inject(rig.packet(rig.rc, test::kRcSendOnly, test::RdmaRig::kPsn + in.byte() % 4,
                            Bytes(in.byte(), 1)));
      break;
    case 1: {
      test::SendWr wr;
      wr.sges = {rig.mr->sge(0, in.byte())};
      rig.card.driver.post_send(rig.rc, wr);
      break;
    }
    case 2:
      rig.world.run_for(uint64_t{in.byte()} * 50'000);
      break;
    case 3:
      rig.card.vfs[in.byte() % kVfs].reset();
      break;
    case 4:
      rig.card.set_num_vfs(in.byte() % (kVfs + 1));
      break;
    default:
      command(in, rig, senders[in.byte() % senders.size()]);
  }
  rig.world.settle(2000);
}

using Fields = std::vector<std::pair<uint8_t, uint64_t>>;
constexpr uint64_t kArena = ~uint64_t{0};  // as a field: the address of the sender's arena

uint8_t index_of(uint16_t opcode) {
  const auto* found = std::find(std::begin(kOpcodes), std::end(kOpcodes), opcode);
  return static_cast<uint8_t>(found - std::begin(kOpcodes));
}

/// One command with its fields written 8 bytes at a time.
Bytes step_of(uint8_t sender, uint8_t op_index, const Fields& fields) {
  Bytes out = {5, sender, op_index, 0, static_cast<uint8_t>(fields.size())};
  for (const auto& [at, v] : fields) {
    const uint8_t kind = v == kArena ? 5 : 3;
    out.insert(out.end(), {static_cast<uint8_t>(at - 8), kind});
    const int bytes = v == kArena ? 1 : 8;  // the page of the arena, or all of it
    for (int i = 0; i < bytes; i++)
      out.push_back(v == kArena ? 0 : static_cast<uint8_t>(v >> (8 * i)));
  }
  return out;
}

/// Commands of one sender, with no bytes for the senders' arenas.
Bytes seed(uint8_t sender, const std::vector<std::pair<uint8_t, Fields>>& commands) {
  Bytes out = {0, 0, 0};
  for (const auto& [op_index, fields] : commands) {
    const Bytes step = step_of(sender, op_index, fields);
    out.insert(out.end(), step.begin(), step.end());
  }
  return out;
}
Bytes seed(uint8_t sender, uint8_t op_index, const Fields& fields) {
  return seed(sender, {{op_index, fields}});
}

/// A tree of rates: two nodes, of which one goes below the other and then is the top.
Bytes rates_seed() {
  constexpr auto fields = [](uint64_t id, uint64_t set) { return id | set << 32; };
  constexpr uint64_t kBelowFirst = 1;
  return seed(0, {{index_of(VERNA_CMD_CREATE_RATE_NODE), {}},
                  {index_of(VERNA_CMD_CREATE_RATE_NODE),
                   {{8, fields(0, VERNA_RATE_SET_PARENT)}, {24, kBelowFirst}}},
                  {index_of(VERNA_CMD_MODIFY_RATE_NODE),
                   {{8, fields(1, VERNA_RATE_SET_MAX)}, {16, 100'000}}},
                  {index_of(VERNA_CMD_MODIFY_RATE_NODE), {{8, fields(2, VERNA_RATE_SET_PARENT)}}},
                  {index_of(VERNA_CMD_DESTROY_RATE_NODE), {{8, 1}}}});
}

/// The switch with rules of its own; all that the arena has are zeros, which is a rule for every
/// frame, a meter that lets nothing through and an edit that changes nothing.
Bytes switchdev_seed() {
  constexpr uint64_t kOfUplink = VERNA_FLOW_SWITCH, kOfPf = VERNA_FLOW_SWITCH | 1 << 16;
  return seed(0,
              {{index_of(VERNA_CMD_SET_ESWITCH), {{8, VERNA_ESWITCH_SWITCHDEV}}},
               {index_of(VERNA_CMD_CREATE_METER), {{8, kArena}, {16, sizeof(verna_meter)}}},
               {index_of(VERNA_CMD_CREATE_FLOW_EDIT), {{8, kArena}, {16, sizeof(verna_flow_edit)}}},
               {index_of(VERNA_CMD_ADD_FLOW),
                {{8, kOfUplink}, {24, kArena}, {32, sizeof(verna_flow_rule)}}},
               {index_of(VERNA_CMD_ADD_FLOW),
                {{8, kOfPf}, {24, kArena}, {32, sizeof(verna_flow_rule_ranges)}}},
               {index_of(VERNA_CMD_SET_FLOW_MISS), {{8, kOfPf | 1 << 8}}},
               {index_of(VERNA_CMD_SET_VPORT_GROUP), {{8, 1 << 16}}}});
}

/// A rule of steering that ages, and its report. The PF's arena has the rule.
Bytes ageing_seed() {
  verna_flow_rule rule{};
  rule.actions.idle_ms = 1;
  constexpr size_t kUsed = offsetof(verna_flow_rule, actions.life_ms);
  static_assert(kUsed % 2 == 0 && kUsed / 2 < 256);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&rule);
  Bytes out = {kUsed / 2};
  out.insert(out.end(), bytes, bytes + kUsed);
  out.insert(out.end(), {0, 0});
  const auto append = [&out](const Bytes& step) {
    out.insert(out.end(), step.begin(), step.end());
  };
  append(step_of(0, index_of(VERNA_CMD_ADD_FLOW), {{24, kArena}, {32, sizeof rule}}));
  append({2, 255});  // time passes
  append(step_of(0, index_of(VERNA_CMD_GET_AGED_FLOWS), {{8, kArena}, {16, 4096}}));
  return out;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> out;
  for (uint8_t op = 0; op < std::size(kOpcodes); op++)
    for (uint8_t sender = 0; sender < 2; sender++) out.push_back(seed(sender, op, {}));
  const uint64_t page = uint64_t{1} << 32;
  // CREATE_EQ 1 and CREATE_CQ: memory, one page, ring at 128.
  out.push_back(seed(0, 3, {{8, 1}, {16, page}, {24, 1}, {40, 128ull << 32}, {48, 2}}));
  out.push_back(seed(0, 5, {{8, 0}, {16, page}, {24, 1}, {40, 128ull << 32}, {48, 2}}));
  // CREATE_TXQ 1.
  out.push_back(seed(0, 7, {{8, 1}, {16, page}, {24, 1}, {40, 128ull << 32}, {48, 2}}));
  // ADD_FLOW: a rule that the arena has.
  out.push_back(
      seed(0, index_of(VERNA_CMD_ADD_FLOW), {{24, kArena}, {32, sizeof(verna_flow_rule)}}));
  out.push_back(switchdev_seed());
  out.push_back(ageing_seed());
  out.push_back(rates_seed());
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
  verna::fuzz::Rig rig(verna::fuzz::kVfs);
  rig.card.set_num_vfs(verna::fuzz::kVfs);
  std::vector<verna::fuzz::Sender> senders;
  const auto add = [&](verna::test::MiniDriver& driver, verna::test::FakeHostBus& bus,
                       uint16_t fn) {
    bus.expect_faults();
    const uint64_t arena = bus.alloc(64 * 4096, "arena");
    bus.fill(arena, in.bytes(2u * in.byte()));  // more than a rule has
    const verna::fuzz::Numbers numbers = {
        {rig.rc->qpn, rig.ud->qpn, rig.mr->key, rig.pd, rig.rc->send_cq->id}};
    senders.push_back({driver, fn, arena, numbers});
  };
  add(rig.card.driver, rig.card.bus, 0);
  for (auto& vf : rig.card.vfs) add(vf.driver, vf.bus, vf.fn);
  for (int steps = 0; !in.empty() && steps < 40; steps++) {
    verna::fuzz::step(in, rig, senders);
  }
  verna::fuzz::check(rig);
  return 0;
}
