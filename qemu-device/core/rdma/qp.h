// SPDX-License-Identifier: GPL-2.0-or-later
// A queue pair: its state machine, and the parts that do the work.
#pragma once

#include "rdma/completer.h"
#include "rdma/datagram.h"
#include "rdma/requester.h"
#include "rdma/responder.h"

namespace verna {

/// Where a queue pair stands, for people who look into the card.
struct QpSummary {
  uint32_t oldest_psn;
  uint32_t next_psn;
  uint32_t expected_psn;
  uint32_t in_flight;  // send requests
  uint32_t responses_due;
  bool rnr_wait;
  bool blocked;
};

/// A queue pair is one source of the transmit scheduler: when it has its turn it first sends what
/// the responder owes (answers and acknowledgements) and what the requester has, or, in an error
/// state, flushes its queues.
class Qp final : public TxSource {
 public:
  explicit Qp(RdmaServices& services);
  ~Qp() override;

  QpContext& context() { return ctx_; }
  const QpContext& context() const { return ctx_; }

  /// MODIFY_QP. Checks everything first; a command that fails has changed nothing.
  CommandResult modify(const verna_cmd_modify_qp& command, Nanos now);
  /// QUERY_QP.
  verna_qp_attr query() const;
  QpSummary summary() const;

  /// A packet for this queue pair whose headers are parsed and whose ICRC is not checked yet.
  /// Counts it.
  void receive(const RocePacket& packet, Nanos now);

  /// The host rang: looks at both queues.
  void ring(Nanos now);

  bool poll(Nanos now) override;
  Result transmit(uint32_t byte_budget, Nanos now) override;
  bool arm_doorbell(Nanos now) override;
  void disarm_doorbell() override;

 private:
  bool has_work() const;
  bool refresh_sq();
  Result transmit_datagrams(int64_t* budget, Nanos now);
  Result transmit_connected(int64_t* budget, Nanos now);
  Result flush(int64_t* budget, Nanos now);
  bool flushing() const { return ctx_.state == VERNA_QPS_ERR || ctx_.state == VERNA_QPS_SQE; }
  void refresh_for_flush();
  bool sq_to_flush() const;
  bool rq_to_flush() const;
  bool recv_held() const {
    return ctx_.is_datagram() ? datagram_receiver_.recv_held() : responder_.recv_held();
  }

  // qp_state.cc
  void apply(const verna_qp_attr& attr, uint32_t mask);
  void enter(verna_qp_state state, uint32_t mask);
  void to_reset();
  void to_rtr();
  void to_rts(verna_qp_state from);

  // qp_receive.cc
  bool accept(const RocePacket& packet);

  QpContext ctx_;
  SendWindow window_;
  Completer completer_;
  Requester requester_;
  Responder responder_;
  DatagramSender datagram_sender_;
  DatagramReceiver datagram_receiver_;
};

}  // namespace verna
