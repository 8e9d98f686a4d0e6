// SPDX-License-Identifier: GPL-2.0-or-later
// The responder: executes the requests of the peer.
#pragma once

#include "rdma/recv_request.h"
#include "rdma/reliability/policy.h"
#include "rdma/responses.h"

namespace verna {

/// Executes SEND, WRITE, READ and atomics that arrive for an RC or UC queue pair. A packet passes
/// the states psn, sequence, length, resources, access, execute, acknowledge, one function each;
/// each may end it. What is to be sent waits in Responses, so that receiving never waits for the
/// wire.
///
/// RC answers what it refuses with a NAK; UC drops the rest of the message silently.
class Responder {
 public:
  explicit Responder(QpContext& context)
      : ctx_(context), recv_(context), responses_(context), policy_(make_receiver_policy()) {}

  /// A request whose headers and ICRC are right. Counts it.
  void receive(const RocePacket& packet, Nanos now);
  /// The first request expected is `psn`.
  void start(uint32_t psn);
  void reset();

  bool has_output() const { return responses_.has_output(); }
  /// In ERR only a NAK, and the answers before it, still go out.
  bool owes_nak() const { return responses_.ack().is_nak(); }
  void drop_output() { responses_.reset(); }
  TxSource::Result transmit(int64_t* budget, Nanos now);
  /// Completes the oldest receive request as flushed.
  void flush_one(Nanos now) { recv_.flush_one(now); }
  bool recv_held() const { return recv_.held(); }

  uint32_t expected_psn() const { return policy_->expected(); }

 private:
  enum class Message : uint8_t { kNone, kSend, kWrite };

  bool check_psn(const RocePacket& packet);
  bool check_psn_reliable(const RocePacket& packet);
  bool check_psn_unreliable(const RocePacket& packet);
  bool check_sequence(const RocePacket& packet, Nanos now);
  bool check_length(const RocePacket& packet, Nanos now);
  bool check_resources(const RocePacket& packet, Nanos now);
  bool check_access(const RocePacket& packet, Nanos now);
  bool execute(const RocePacket& packet, Nanos now);
  void acknowledge(const RocePacket& packet, Nanos now);

  void duplicate(const RocePacket& packet);
  bool take_recv(const RocePacket& packet, Nanos now);
  bool check_recv_room(const RocePacket& packet, Nanos now);
  bool execute_send(const RocePacket& packet, Nanos now);
  bool execute_write(const RocePacket& packet, Nanos now);
  void execute_read(const RocePacket& packet);
  bool execute_atomic(const RocePacket& packet, Nanos now);
  void advance(uint32_t span);
  void complete_recv(const RocePacket& packet, Nanos now);

  bool refuse(const RocePacket& packet, uint8_t syndrome, verna_rdma_counter unreliable_drop,
              Nanos now);
  bool refuse_local(const RocePacket& packet, uint8_t syndrome, verna_cqe_status status, Nanos now);
  bool refuse_access(const RocePacket& packet, Access access, Nanos now);
  bool drop_unreliable(const RocePacket& packet, verna_rdma_counter counter);
  bool reliable() const { return ctx_.type == VERNA_QP_RC; }

  QpContext& ctx_;
  RecvRequest recv_;
  Responses responses_;
  std::unique_ptr<ReceiverPolicy> policy_;
  uint32_t msn_ = 0;
  bool heard_ = false;  // a packet has come

  // The message in progress.
  Message message_ = Message::kNone;
  uint32_t received_ = 0;  // bytes placed
  uint32_t write_rkey_ = 0;
  uint64_t write_va_ = 0;  // of the next byte
  uint32_t write_left_ = 0;
  uint32_t write_length_ = 0;
};

}  // namespace verna
