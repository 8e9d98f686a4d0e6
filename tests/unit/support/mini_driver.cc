// SPDX-License-Identifier: GPL-2.0-or-later
// Admin queue, event and completion queues.
#include "support/mini_driver.h"

#include <algorithm>

#include "support/fail.h"

namespace verna::test {

void MiniDriver::enable_admin_queue(uint8_t log_size) {
  aq_log_size_ = log_size;
  aq_sq_ = bus_.alloc(uint64_t{VERNA_CMD_SIZE} << log_size, "admin queue");
  aq_cq_ = bus_.alloc(uint64_t{VERNA_CMD_COMP_SIZE} << log_size, "admin completions");
  aq_prod_ = aq_cons_ = 0;
  outstanding_.clear();
  set_reg(VERNA_REG_AQ_SQ_LO, static_cast<uint32_t>(aq_sq_));
  set_reg(VERNA_REG_AQ_SQ_HI, static_cast<uint32_t>(aq_sq_ >> 32));
  set_reg(VERNA_REG_AQ_CQ_LO, static_cast<uint32_t>(aq_cq_));
  set_reg(VERNA_REG_AQ_CQ_HI, static_cast<uint32_t>(aq_cq_ >> 32));
  set_reg(VERNA_REG_AQ_LOG_SIZE, log_size);
  set_reg(VERNA_REG_CONTROL, VERNA_CONTROL_AQ_ENABLE);
}

void MiniDriver::bring_up(uint8_t aq_log_size) {
  if (reg(VERNA_REG_MAGIC) != VERNA_MAGIC) fail("the card does not know its own name");
  if (reg(VERNA_REG_ABI) >> 16 != VERNA_ABI_MAJOR) fail("ABI");
  enable_admin_queue(aq_log_size);
  const auto enabled = [&] { return (reg(VERNA_REG_STATUS) & VERNA_STATUS_AQ_ENABLED) != 0; };
  if (!enabled() && !run_until_(enabled)) fail("the admin queue was not enabled");
  eq0 = create_eq(0, 8, 0);
}

void MiniDriver::post_command(const void* command, size_t len) {
  uint8_t bytes[VERNA_CMD_SIZE] = {};
  std::memcpy(bytes, command, std::min<size_t>(len, sizeof bytes));
  const uint16_t id = next_cmd_id_++;
  std::memcpy(bytes + offsetof(verna_cmd_hdr, cmd_id), &id, sizeof id);
  const uint32_t slot = aq_prod_ & ((1u << aq_log_size_) - 1);
  std::memcpy(bus_.ptr(aq_sq_ + uint64_t{slot} * VERNA_CMD_SIZE, sizeof bytes), bytes,
              sizeof bytes);
  outstanding_.push_back(id);
  aq_prod_++;
}

void MiniDriver::ring_admin_doorbell() { set_reg(VERNA_REG_AQ_DOORBELL, aq_prod_); }

bool MiniDriver::take_reply(Reply* reply) {
  const uint32_t slot = aq_cons_ & ((1u << aq_log_size_) - 1);
  verna_cmd_comp comp;
  std::memcpy(&comp, bus_.ptr(aq_cq_ + uint64_t{slot} * VERNA_CMD_COMP_SIZE, sizeof comp),
              sizeof comp);
  const uint8_t want = (aq_cons_ >> aq_log_size_) & 1 ? 0 : VERNA_PHASE;
  if ((comp.phase & VERNA_PHASE) != want) return false;
  aq_cons_++;
  if (outstanding_.empty()) {
    fail("a command completion that nobody waits for");
    return false;
  }
  if (comp.cmd_id != outstanding_.front()) fail("commands completed out of order");
  outstanding_.pop_front();
  for (uint8_t byte : comp.reserved) {
    if (byte != 0) fail("reserved bytes of a command completion are not zero");
  }
  *reply = {comp.status, comp.detail, comp.result};
  return true;
}

Reply MiniDriver::run_command(const void* command, size_t len) {
  post_command(command, len);
  ring_admin_doorbell();
  Reply reply;
  if (!run_until_([&] { return take_reply(&reply); })) fail("a command was not answered");
  return reply;
}

RingHandle* MiniDriver::create_eq(uint32_t id, uint8_t log_size, uint16_t vector,
                                  const BufferShape& shape) {
  const uint64_t ring_bytes = uint64_t{VERNA_EQE_SIZE} << log_size;
  rings_.push_back({id, HostBuffer(bus_, 128 + ring_bytes, shape, "event queue"), 0, 128, log_size,
                    VERNA_EQE_SIZE});
  RingHandle* eq = &rings_.back();
  verna_cmd_create_eq command{};
  command.id = id;
  command.mem = eq->mem.pbl();
  command.rec_offset = eq->rec;
  command.ring_offset = eq->ring;
  command.log_size = log_size;
  command.vector = vector;
  const Reply reply = execute(VERNA_CMD_CREATE_EQ, command);
  if (!reply.ok()) fail("CREATE_EQ: status " + std::to_string(reply.status));
  return eq;
}

RingHandle* MiniDriver::create_cq(uint8_t log_size, uint32_t eqn, const BufferShape& shape) {
  const uint64_t ring_bytes = uint64_t{VERNA_CQE_SIZE} << log_size;
  rings_.push_back({0, HostBuffer(bus_, 128 + ring_bytes, shape, "completion queue"), 0, 128,
                    log_size, VERNA_CQE_SIZE});
  RingHandle* cq = &rings_.back();
  verna_cmd_create_cq command{};
  command.eqn = eqn;
  command.mem = cq->mem.pbl();
  command.rec_offset = cq->rec;
  command.ring_offset = cq->ring;
  command.log_size = log_size;
  const Reply reply = execute(VERNA_CMD_CREATE_CQ, command);
  if (!reply.ok()) fail("CREATE_CQ: status " + std::to_string(reply.status));
  cq->id = static_cast<uint32_t>(reply.result);
  return cq;
}

bool MiniDriver::take_entry(RingHandle* ring, void* out) {
  const uint32_t mask = (1u << ring->log_size) - 1;
  const uint64_t addr = ring->mem.at(ring->ring + uint64_t{ring->cons & mask} * ring->entry_size);
  const uint8_t* p = bus_.ptr(addr, ring->entry_size);
  const uint8_t want = (ring->cons >> ring->log_size) & 1 ? 0 : VERNA_PHASE;
  if ((p[ring->entry_size - 1] & VERNA_PHASE) != want) return false;
  std::memcpy(out, p, ring->entry_size);
  ring->cons++;
  ring->mem.store<uint32_t>(ring->rec + offsetof(verna_cq_rec, cons_index), ring->cons);
  return true;
}

bool MiniDriver::take_event(RingHandle* eq, verna_eqe* out) { return take_entry(eq, out); }

bool MiniDriver::poll(RingHandle* cq, verna_cqe* out) { return take_entry(cq, out); }

verna_cqe MiniDriver::wait(RingHandle* cq) {
  verna_cqe cqe{};
  if (!run_until_([&] { return poll(cq, &cqe); })) fail("no completion came");
  return cqe;
}

void MiniDriver::arm(RingHandle* ring, uint32_t type) {
  ring->arm_sn++;
  ring->mem.store<uint32_t>(ring->rec + offsetof(verna_cq_rec, arm), VERNA_ARM(ring->arm_sn, type));
}

void MiniDriver::init_wq(WqHandle* wq, HostBuffer* mem, uint32_t rec, uint32_t ring,
                         uint8_t log_size, uint8_t log_stride) {
  wq->mem = mem;
  wq->rec = rec;
  wq->ring = ring;
  wq->log_size = log_size;
  wq->log_stride = log_stride;
}

void MiniDriver::publish(WqHandle* wq) {
  wq->mem->store<uint32_t>(wq->rec + offsetof(verna_wq_rec, prod_index), wq->prod);
  if (wq->mem->load<uint32_t>(wq->rec + offsetof(verna_wq_rec, need_doorbell)) == 0) return;
  doorbells_rung++;
  nic_.ring_doorbell(fn_, wq->uar, VERNA_DB(wq->type, wq->id));
  kick_();
}

std::vector<uint64_t> MiniDriver::counters(uint32_t group, uint32_t id) {
  const uint32_t room = 4096;
  const uint64_t addr = bus_.alloc(room, "counters");
  verna_cmd_query command{};
  command.addr = addr;
  command.len = room;
  command.id = id;
  command.group = group;
  const Reply reply = execute(VERNA_CMD_QUERY_COUNTERS, command);
  if (!reply.ok()) fail("QUERY_COUNTERS: status " + std::to_string(reply.status));
  std::vector<uint64_t> values;
  for (uint64_t i = 0; i < std::min<uint64_t>(reply.result, room) / 8; i++) {
    values.push_back(bus_.load<uint64_t>(addr + 8 * i));
  }
  bus_.release(addr);
  return values;
}

}  // namespace verna::test
