// SPDX-License-Identifier: GPL-2.0-or-later
// The host's side of the contract in a few hundred lines: what verna.ko, verna_ib.ko and the
// provider do, against fake memory.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "hw/verna_cmd.h"
#include "hw/verna_regs.h"
#include "nic.h"
#include "support/clock.h"
#include "support/fail.h"
#include "support/host_buffer.h"

namespace verna::test {

struct Reply {
  uint16_t status = 0xffff;  // 0xffff: no completion came
  uint32_t detail = 0;
  uint64_t result = 0;
  bool ok() const { return status == VERNA_CMD_OK; }
};

/// A CQ or an EQ.
struct RingHandle {
  uint32_t id = 0;
  HostBuffer mem;
  uint32_t rec = 0;
  uint32_t ring = 0;
  uint8_t log_size = 0;
  uint32_t entry_size = 0;
  uint32_t cons = 0;
  uint32_t arm_sn = 0;
};

/// A work queue; several may share one buffer.
struct WqHandle {
  HostBuffer* mem = nullptr;
  uint32_t rec = 0;
  uint32_t ring = 0;
  uint8_t log_size = 0;
  uint8_t log_stride = 0;
  uint32_t prod = 0;
  verna_db_type type = VERNA_DB_QP_SQ;
  uint32_t id = 0;
  uint32_t uar = 0;

  uint64_t entry(uint32_t index) const {
    return mem->at(ring + (uint64_t{index & ((1u << log_size) - 1)} << log_stride));
  }
};

struct EthQueue {
  HostBuffer mem;
  WqHandle wq;
  RingHandle* cq = nullptr;
  uint32_t id = 0;
};

struct Region {
  HostBuffer mem;
  uint32_t key = 0;
  uint64_t iova = 0;
  uint32_t pdn = 0;
  verna_sge sge(uint64_t offset, uint32_t length) const { return {iova + offset, length, key}; }
};

struct QpOptions {
  uint8_t type = VERNA_QP_RC;
  uint32_t pdn = 0;
  uint8_t log_sq_size = 6;
  uint8_t log_rq_size = 6;
  uint8_t log_sq_stride = 9;
  uint8_t log_rq_stride = 7;
  uint16_t max_inline = 256;
  uint8_t flags = 0;
  uint32_t uar = 1;
  BufferShape shape{};
};

struct QueuePair {
  uint32_t qpn = 0;
  uint8_t type = 0;
  HostBuffer mem;
  WqHandle sq;
  WqHandle rq;
  RingHandle* send_cq = nullptr;
  RingHandle* recv_cq = nullptr;
};

/// What a send request says; see verna_sq_wqe.
struct SendWr {
  uint8_t opcode = VERNA_WR_SEND;
  uint8_t flags = VERNA_WR_F_SIGNALED;
  std::vector<verna_sge> sges;
  std::vector<uint8_t> inline_data;
  uint32_t imm = 0;
  uint64_t remote_addr = 0;
  uint32_t rkey = 0;
  uint64_t swap_add = 0;
  uint64_t compare = 0;
  uint32_t remote_qpn = 0;
  uint32_t remote_qkey = 0;
  verna_av av{};
};

class MiniDriver {
 public:
  /// `run_until` runs the world until the predicate holds or time is up.
  using RunUntil = std::function<bool(const std::function<bool()>&)>;
  /// `kick` wakes the card's engine, as a register write or a doorbell does.
  MiniDriver(Nic& nic, FakeHostBus& bus, RunUntil run_until, ManualClock& clock,
             std::function<void()> kick, FunctionId fn = 0)
      : nic_(nic),
        fn_(fn),
        bus_(bus),
        run_until_(std::move(run_until)),
        clock_(clock),
        kick_(std::move(kick)) {}

  uint32_t reg(uint32_t offset) { return nic_.read_register(fn_, offset, clock_.now); }
  void set_reg(uint32_t offset, uint32_t v) {
    nic_.write_register(fn_, offset, v, clock_.now);
    kick_();
  }

  /// Enables the admin queue and makes EQ 0 on vector 0.
  void bring_up(uint8_t aq_log_size = 4);
  void enable_admin_queue(uint8_t log_size);

  /// Posts without waiting; reply() takes the oldest completion.
  void post_command(const void* command, size_t len);
  void ring_admin_doorbell();
  bool take_reply(Reply* reply);
  Reply run_command(const void* command, size_t len);
  template <typename T>
  Reply execute(uint16_t opcode, T command) {
    return execute_for(fn_, opcode, command);
  }
  /// In the name of, or about, function `fn`.
  template <typename T>
  Reply execute_for(FunctionId fn, uint16_t opcode, T command) {
    command.hdr.opcode = opcode;
    command.hdr.function = fn;
    return run_command(&command, sizeof command);
  }
  Reply object(uint16_t opcode, uint32_t id) {
    verna_cmd_object command{};
    command.id = id;
    return execute(opcode, command);
  }

  /// What the card answers to a query about an object; fails the test unless that is a whole T.
  template <typename T>
  T query(uint16_t opcode, uint32_t id) {
    verna_cmd_query command{};
    command.addr = bus_.alloc(sizeof(T), "answer");
    command.len = sizeof(T);
    command.id = id;
    const Reply reply = execute(opcode, command);
    if (!reply.ok() || reply.result != sizeof(T)) fail("a query was not answered");
    T answer;
    std::memcpy(&answer, bus_.ptr(command.addr, sizeof answer), sizeof answer);
    bus_.release(command.addr);
    return answer;
  }

  /// Each fails the test if the card refuses. Handles stay where they are until the driver goes.
  RingHandle* create_eq(uint32_t id, uint8_t log_size, uint16_t vector,
                        const BufferShape& shape = {});
  RingHandle* create_cq(uint8_t log_size, uint32_t eqn = 0, const BufferShape& shape = {});
  bool take_event(RingHandle* eq, verna_eqe* out);
  bool poll(RingHandle* cq, verna_cqe* out);
  /// Runs the world until a completion is there; fails the test if none comes.
  verna_cqe wait(RingHandle* cq);
  void arm(RingHandle* ring, uint32_t type);

  EthQueue* create_txq(uint32_t id, RingHandle* cq, uint8_t log_size, uint32_t uar = 1);
  EthQueue* create_rxq(uint32_t id, RingHandle* cq, uint8_t log_size, uint32_t uar = 1);
  void post_tx(EthQueue* q, uint64_t addr, uint32_t len, uint16_t flags = VERNA_TX_F_EOP);
  void post_rx(EthQueue* q, uint64_t addr, uint32_t len);
  Reply set_rx_mode(uint32_t mode);
  Reply set_mac(verna_cmd_opcode opcode, const uint8_t (&mac)[6]);
  Reply set_mtu(uint32_t mtu);

  uint32_t create_pd();
  Region* create_mr(uint32_t pdn, uint64_t len, uint8_t access, const BufferShape& shape = {},
                    uint64_t iova = 0);
  Reply set_gid(uint16_t index, const uint8_t (&gid)[16], const uint8_t (&mac)[6],
                uint16_t vlan = VERNA_VLAN_NONE);
  Reply create_qp_raw(const QpOptions& options, uint32_t send_cqn, uint32_t recv_cqn,
                      QueuePair* qp);
  QueuePair* create_qp(const QpOptions& options, RingHandle* send_cq, RingHandle* recv_cq);
  Reply modify_qp(uint32_t qpn, uint8_t cur_state, uint32_t mask, const verna_qp_attr& attr);
  verna_qp_attr query_qp(uint32_t qpn) { return query<verna_qp_attr>(VERNA_CMD_QUERY_QP, qpn); }
  uint32_t post_send(QueuePair* qp, const SendWr& wr, bool ring = true);
  uint32_t post_recv(QueuePair* qp, const std::vector<verna_sge>& sges, bool ring = true);

  /// Writes prod_index and rings the doorbell if the card wants it.
  void publish(WqHandle* wq);
  std::vector<uint64_t> counters(uint32_t group, uint32_t id = 0);

  RingHandle* eq0 = nullptr;
  uint64_t doorbells_rung = 0;

 private:
  bool take_entry(RingHandle* ring, void* out);
  void init_wq(WqHandle* wq, HostBuffer* mem, uint32_t rec, uint32_t ring, uint8_t log_size,
               uint8_t log_stride);
  EthQueue* create_ethq(verna_cmd_opcode opcode, uint32_t id, RingHandle* cq, uint8_t log_size,
                        uint32_t uar);

  Nic& nic_;
  FunctionId fn_;
  FakeHostBus& bus_;
  RunUntil run_until_;
  ManualClock& clock_;
  std::function<void()> kick_;

  uint64_t aq_sq_ = 0;
  uint64_t aq_cq_ = 0;
  uint8_t aq_log_size_ = 0;
  uint32_t aq_prod_ = 0;
  uint32_t aq_cons_ = 0;
  uint16_t next_cmd_id_ = 0x100;
  std::deque<uint16_t> outstanding_;

  std::deque<RingHandle> rings_;
  std::deque<EthQueue> eth_queues_;
  std::deque<Region> regions_;
  std::deque<QueuePair> qps_;
};

}  // namespace verna::test
