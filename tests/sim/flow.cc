// SPDX-License-Identifier: GPL-2.0-or-later
#include "sim/flow.h"

#include <algorithm>
#include <string>

#include "support/fail.h"

namespace verna::test {
namespace {

constexpr uint8_t kAccess = VERNA_ACCESS_LOCAL_WRITE | VERNA_ACCESS_REMOTE_WRITE |
                            VERNA_ACCESS_REMOTE_READ | VERNA_ACCESS_REMOTE_ATOMIC;

uint8_t completion_of(uint8_t opcode) {
  switch (opcode) {
    case VERNA_WR_RDMA_WRITE:
    case VERNA_WR_RDMA_WRITE_WITH_IMM:
      return VERNA_CQE_RDMA_WRITE;
    case VERNA_WR_RDMA_READ:
      return VERNA_CQE_RDMA_READ;
    case VERNA_WR_ATOMIC_CAS:
      return VERNA_CQE_ATOMIC_CAS;
    case VERNA_WR_ATOMIC_FADD:
      return VERNA_CQE_ATOMIC_FADD;
    default:
      return VERNA_CQE_SEND;
  }
}

bool is_atomic(uint8_t opcode) {
  return opcode == VERNA_WR_ATOMIC_CAS || opcode == VERNA_WR_ATOMIC_FADD;
}

bool uses_receive(uint8_t opcode) {
  return opcode == VERNA_WR_SEND || opcode == VERNA_WR_SEND_WITH_IMM ||
         opcode == VERNA_WR_RDMA_WRITE_WITH_IMM;
}

}  // namespace

ReliableFlow::ReliableFlow(TestCard& from, QueuePair* from_qp, uint32_t from_pd, TestCard& to,
                           QueuePair* to_qp, uint32_t to_pd, const Config& config)
    : from_(from),
      from_qp_(from_qp),
      to_(to),
      to_qp_(to_qp),
      config_(config),
      random_(config.seed),
      local_(from.driver.create_mr(from_pd, uint64_t{kSlot} * config.depth, kAccess,
                                   {.level = 1, .offset = 40})),
      remote_(to.driver.create_mr(to_pd, uint64_t{kSlot} * config.depth, kAccess,
                                  {.level = 2, .offset = 8})),
      counter_(to.driver.create_mr(to_pd, 64, kAccess)),
      receive_(to.driver.create_mr(to_pd, uint64_t{kSlot} * (config.depth + 4),
                                   VERNA_ACCESS_LOCAL_WRITE)) {
  for (uint32_t i = 0; i < config.depth; i++) post_receive();
}

void ReliableFlow::expect(bool good, const char* what, uint64_t id) {
  if (good) return;
  if (failures_++ < 5) fail(std::string(what) + ", operation " + std::to_string(id));
}

bool ReliableFlow::done() const {
  return next_id_ == config_.operations && outstanding_.empty() && expected_.empty();
}

void ReliableFlow::post_receive() {
  const uint32_t slots = config_.depth + 4;
  to_.driver.post_recv(to_qp_, {receive_->sge(uint64_t{to_qp_->rq.prod % slots} * kSlot, kSlot)});
}

void ReliableFlow::choose_atomic(Operation* op, SendWr* wr) {
  op->original = counter_value_;
  wr->remote_addr = counter_->iova + kCounterAt;
  wr->rkey = counter_->key;
  if (op->opcode == VERNA_WR_ATOMIC_FADD) {
    wr->swap_add = random_();
    counter_value_ += wr->swap_add;
    return;
  }
  wr->swap_add = random_();
  wr->compare = random_() % 2 ? counter_value_ : random_();
  if (wr->compare == counter_value_) counter_value_ = wr->swap_add;
}

void ReliableFlow::post() {
  static constexpr uint8_t kOpcodes[] = {
      VERNA_WR_SEND,      VERNA_WR_SEND_WITH_IMM, VERNA_WR_RDMA_WRITE, VERNA_WR_RDMA_WRITE_WITH_IMM,
      VERNA_WR_RDMA_READ, VERNA_WR_ATOMIC_CAS,    VERNA_WR_ATOMIC_FADD};
  Operation op{};
  op.id = next_id_++;
  op.opcode = kOpcodes[random_() % std::size(kOpcodes)];
  op.slot = static_cast<uint32_t>(op.id % config_.depth);
  op.signaled = random_() % 4 != 0 || outstanding_.size() + 1 == config_.depth ||
                next_id_ == config_.operations;
  const uint32_t edges[] = {0, 1, config_.mtu - 1, config_.mtu, config_.mtu + 1};
  op.len = random_() % 3 ? static_cast<uint32_t>(random_() % config_.max_len)
                         : edges[random_() % std::size(edges)];
  if (is_atomic(op.opcode)) op.len = 8;
  SendWr wr;
  wr.opcode = op.opcode;
  wr.flags = op.signaled ? VERNA_WR_F_SIGNALED : 0;
  wr.imm = static_cast<uint32_t>(random_());
  const uint64_t at = uint64_t{op.slot} * kSlot;
  if (is_atomic(op.opcode)) {
    choose_atomic(&op, &wr);
  } else {
    wr.remote_addr = remote_->iova + at;
    wr.rkey = remote_->key;
  }
  Region* source = op.opcode == VERNA_WR_RDMA_READ ? remote_ : local_;
  source->mem.write(at, pattern(op.len, config_.seed * 1000003 + op.id));
  // One to three segments.
  uint32_t cut = op.len > 16 && random_() % 2 ? static_cast<uint32_t>(random_() % op.len) : op.len;
  if (is_atomic(op.opcode)) cut = op.len;
  if (cut > 0) wr.sges.push_back(local_->sge(at, cut));
  if (cut < op.len) wr.sges.push_back(local_->sge(at + cut, op.len - cut));
  op.index = from_.driver.post_send(from_qp_, wr);
  outstanding_.push_back(op);
  if (uses_receive(op.opcode)) {
    expected_.push_back({op.id, op.len, op.opcode == VERNA_WR_RDMA_WRITE_WITH_IMM,
                         op.opcode != VERNA_WR_SEND, wr.imm});
  }
}

void ReliableFlow::check_result(const Operation& op) {
  const uint64_t at = uint64_t{op.slot} * kSlot;
  const std::vector<uint8_t> want = pattern(op.len, config_.seed * 1000003 + op.id);
  switch (op.opcode) {
    case VERNA_WR_RDMA_WRITE:
    case VERNA_WR_RDMA_WRITE_WITH_IMM:
      expect(remote_->mem.read(at, op.len) == want, "a WRITE's bytes differ", op.id);
      break;
    case VERNA_WR_RDMA_READ:
      expect(local_->mem.read(at, op.len) == want, "a READ's bytes differ", op.id);
      break;
    case VERNA_WR_ATOMIC_CAS:
    case VERNA_WR_ATOMIC_FADD:
      expect(local_->mem.load<uint64_t>(at) == op.original, "an atomic returned the wrong value",
             op.id);
      break;
    default:
      break;
  }
  bytes_ += op.len;
}

void ReliableFlow::check_send(const verna_cqe& cqe) {
  mix(cqe.wqe_index);
  mix(cqe.status);
  mix(cqe.timestamp);
  // Requests before it that asked for no completion are done as well.
  while (!outstanding_.empty() && outstanding_.front().index != cqe.wqe_index) {
    expect(!outstanding_.front().signaled, "a completion is missing", outstanding_.front().id);
    check_result(outstanding_.front());
    outstanding_.pop_front();
  }
  if (outstanding_.empty()) {
    expect(false, "a completion that nobody waits for", cqe.wqe_index);
    return;
  }
  const Operation op = outstanding_.front();
  outstanding_.pop_front();
  expect(op.signaled, "a completion that was not asked for", op.id);
  expect(cqe.status == VERNA_CQE_OK,
         ("completed with status " + std::to_string(cqe.status)).c_str(), op.id);
  expect(cqe.opcode == completion_of(op.opcode), "the wrong opcode", op.id);
  expect(cqe.id == from_qp_->qpn, "the wrong QPN", op.id);
  check_result(op);
}

void ReliableFlow::check_recv(const verna_cqe& cqe) {
  mix(cqe.wqe_index);
  mix(cqe.byte_len);
  if (expected_.empty()) {
    expect(false, "a receive completion that nobody waits for", cqe.wqe_index);
    return;
  }
  const Expected e = expected_.front();
  expected_.pop_front();
  expect(cqe.status == VERNA_CQE_OK, "received in error", e.id);
  expect(cqe.wqe_index == next_recv_, "receive requests out of order", e.id);
  expect(cqe.byte_len == e.len, "the wrong length", e.id);
  expect(((cqe.flags & VERNA_CQE_F_IMM) != 0) == e.has_imm, "the immediate flag", e.id);
  if (e.has_imm) expect(cqe.imm == e.imm, "the immediate data", e.id);
  expect(cqe.opcode == (e.write ? VERNA_CQE_RECV_RDMA_WITH_IMM : VERNA_CQE_RECV),
         "the wrong receive opcode", e.id);
  if (!e.write) {
    const uint64_t at = uint64_t{next_recv_ % (config_.depth + 4)} * kSlot;
    expect(receive_->mem.read(at, e.len) == pattern(e.len, config_.seed * 1000003 + e.id),
           "a SEND's bytes differ", e.id);
  }
  next_recv_++;
  post_receive();
}

void ReliableFlow::step() {
  verna_cqe cqe;
  while (to_.driver.poll(to_qp_->recv_cq, &cqe)) check_recv(cqe);
  while (from_.driver.poll(from_qp_->send_cq, &cqe)) check_send(cqe);
  while (next_id_ < config_.operations && outstanding_.size() < config_.depth) post();
}

// --- unreliable --------------------------------------------------------------------------------

UnreliableFlow::UnreliableFlow(TestCard& from, QueuePair* from_qp, uint32_t from_pd, TestCard& to,
                               QueuePair* to_qp, uint32_t to_pd, const Config& config)
    : from_(from),
      from_qp_(from_qp),
      to_(to),
      to_qp_(to_qp),
      config_(config),
      random_(config.seed),
      local_(from.driver.create_mr(from_pd, uint64_t{kSlot} * kDepth, kAccess)),
      receive_(to.driver.create_mr(to_pd, uint64_t{kSlot} * kDepth, kAccess)) {
  for (uint32_t i = 0; i < kDepth; i++) {
    to.driver.post_recv(to_qp, {receive_->sge(uint64_t{i} * kSlot, kSlot)});
  }
}

void UnreliableFlow::post() {
  const auto len = static_cast<uint32_t>(8 + random_() % config_.max_len);
  const uint64_t at = uint64_t{posted_ % kDepth} * kSlot;
  std::vector<uint8_t> data = pattern(len, config_.seed * 77 + posted_);
  store_le<uint64_t>(data.data(), posted_ + 1);
  local_->mem.write(at, data);
  SendWr wr;
  wr.sges = {local_->sge(at, len)};
  if (config_.datagrams) {
    wr.remote_qpn = to_qp_->qpn;
    wr.remote_qkey = config_.qkey;
    wr.av = make_av(to_, false, 0);
  }
  from_.driver.post_send(from_qp_, wr);
  posted_++;
}

void UnreliableFlow::check(const verna_cqe& cqe) {
  hash_ = (hash_ ^ cqe.byte_len) * 0x100000001b3;
  const uint32_t front = config_.datagrams ? VERNA_GRH_SIZE : 0;
  const uint64_t at = uint64_t{cqe.wqe_index % kDepth} * kSlot;
  std::vector<uint8_t> got = receive_->mem.read(at + front, cqe.byte_len - front);
  const uint64_t id = load_le<uint64_t>(got.data());
  std::vector<uint8_t> want = pattern(got.size(), config_.seed * 77 + id - 1);
  store_le<uint64_t>(want.data(), id);
  if (cqe.status != VERNA_CQE_OK) fail("an unreliable message was received in error");
  if (got != want) fail("an unreliable message was delivered damaged");
  if (config_.ordered && id <= last_id_) fail("UC delivered a message twice or out of order");
  last_id_ = id;
  received_++;
  to_.driver.post_recv(to_qp_, {receive_->sge(at, kSlot)});
}

void UnreliableFlow::step() {
  verna_cqe cqe;
  while (to_.driver.poll(to_qp_->recv_cq, &cqe)) check(cqe);
  while (from_.driver.poll(from_qp_->send_cq, &cqe)) {
    if (cqe.status != VERNA_CQE_OK) fail("an unreliable send failed");
    sent_++;
  }
  while (posted_ < config_.messages && posted_ - sent_ < 4) post();
}

}  // namespace verna::test
