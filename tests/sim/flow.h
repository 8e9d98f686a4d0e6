// SPDX-License-Identifier: GPL-2.0-or-later
// Traffic between two cards of which every byte and every completion is checked.
#pragma once

#include <deque>
#include <random>

#include "support/world.h"

namespace verna::test {

/// Reliable traffic in one direction of a connection: random operations of random sizes. What
/// arrives must be what was sent, in order and exactly once.
class ReliableFlow {
 public:
  struct Config {
    uint64_t seed = 1;
    uint32_t operations = 200;
    uint32_t depth = 12;  // outstanding at most
    uint32_t max_len = 12000;
    uint32_t mtu = 1024;
  };
  ReliableFlow(TestCard& from, QueuePair* from_qp, uint32_t from_pd, TestCard& to, QueuePair* to_qp,
               uint32_t to_pd, const Config& config);

  /// Posts what may be posted and checks what has completed.
  void step();
  bool done() const;
  /// Of every completion; the same seed gives the same value.
  uint64_t hash() const { return hash_; }
  uint64_t bytes() const { return bytes_; }
  uint64_t failures() const { return failures_; }

 private:
  static constexpr uint32_t kSlot = 16384;
  static constexpr uint32_t kCounterAt = 0;
  struct Operation {
    uint64_t id;
    uint8_t opcode;
    uint32_t slot;
    uint32_t len;
    uint32_t index;
    bool signaled;
    uint64_t original;  // atomics: what must come back
  };
  struct Expected {
    uint64_t id;
    uint32_t len;
    bool write;
    bool has_imm;
    uint32_t imm;
  };
  void post();
  void post_receive();
  void choose_atomic(Operation* op, SendWr* wr);
  void check_send(const verna_cqe& cqe);
  void check_result(const Operation& op);
  void check_recv(const verna_cqe& cqe);
  void expect(bool good, const char* what, uint64_t id);
  void mix(uint64_t v) { hash_ = (hash_ ^ v) * 0x100000001b3; }

  TestCard& from_;
  QueuePair* from_qp_;
  TestCard& to_;
  QueuePair* to_qp_;
  Config config_;
  std::mt19937_64 random_;
  Region* local_;    // what is sent, and where READs and atomics put results
  Region* remote_;   // what WRITEs change and READs fetch
  Region* counter_;  // what atomics change
  Region* receive_;  // buffers of receive requests
  uint64_t next_id_ = 0;
  uint64_t counter_value_ = 0;
  std::deque<Operation> outstanding_;
  std::deque<Expected> expected_;
  uint32_t next_recv_ = 0;
  uint64_t hash_ = 0xcbf29ce484222325;
  uint64_t bytes_ = 0;
  uint64_t failures_ = 0;
};

/// UC or UD messages in one direction: some may be lost, but none may be damaged.
class UnreliableFlow {
 public:
  struct Config {
    uint64_t seed = 1;
    uint32_t messages = 300;
    uint32_t max_len = 6000;
    bool datagrams = false;
    // UC cannot tell a repeated first packet from a new message; a wire that repeats nothing makes
    // it deliver in order and once.
    bool ordered = true;
    uint32_t qkey = 0x1111;
  };
  UnreliableFlow(TestCard& from, QueuePair* from_qp, uint32_t from_pd, TestCard& to,
                 QueuePair* to_qp, uint32_t to_pd, const Config& config);
  void step();
  bool all_sent() const { return sent_ == config_.messages; }
  uint32_t received() const { return received_; }
  uint64_t hash() const { return hash_; }

 private:
  static constexpr uint32_t kSlot = 8192;
  static constexpr uint32_t kDepth = 64;
  void post();
  void check(const verna_cqe& cqe);

  TestCard& from_;
  QueuePair* from_qp_;
  TestCard& to_;
  QueuePair* to_qp_;
  Config config_;
  std::mt19937_64 random_;
  Region* local_;
  Region* receive_;
  uint32_t posted_ = 0;
  uint32_t sent_ = 0;
  uint32_t received_ = 0;
  uint64_t last_id_ = 0;
  uint64_t hash_ = 0xcbf29ce484222325;
};

}  // namespace verna::test
