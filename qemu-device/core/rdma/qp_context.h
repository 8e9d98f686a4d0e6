// SPDX-License-Identifier: GPL-2.0-or-later
// What the requester, the completer and the responder of a queue pair share.
#pragma once

#include "queue/work_queue.h"
#include "rdma/path.h"
#include "rdma/services.h"
#include "rdma/wqe.h"

namespace verna {

/// Identity, attributes, queues and path of a queue pair, and what any of its parts may report.
struct QpContext {
  explicit QpContext(RdmaServices& the_services) : services(the_services) {}

  RdmaServices& services;
  TxSource* source = nullptr;  // the queue pair, as the scheduler knows it

  uint32_t qpn = 0;
  FunctionId fn = 0;
  verna_qp_type type = VERNA_QP_RC;
  uint8_t flags = 0;  // VERNA_QP_F_*
  uint32_t uar = 0;
  uint16_t max_inline = 0;
  ProtectionDomain* pd = nullptr;
  Cq* send_cq = nullptr;
  Cq* recv_cq = nullptr;

  verna_qp_state state = VERNA_QPS_RESET;
  verna_qp_attr attr{};
  Path path;
  bool av_set = false;  // `path` was given

  PageList memory;  // of both queues
  WorkQueue sq;
  WorkQueue rq;

  uint32_t mtu() const { return attr.path_mtu; }
  Accessor accessor() const { return {fn, pd}; }
  /// Q_Key that datagrams to this QP must have; that of the GSI QP is well known.
  uint32_t qkey() const { return type == VERNA_QP_GSI ? 0x80010000u : uint32_t{attr.qkey}; }
  bool is_datagram() const { return type == VERNA_QP_UD || type == VERNA_QP_GSI; }
  bool can_receive() const {
    return state == VERNA_QPS_RTR || state == VERNA_QPS_RTS || state == VERNA_QPS_SQD ||
           state == VERNA_QPS_SQE;
  }
  bool can_send() const { return state == VERNA_QPS_RTS || state == VERNA_QPS_SQD; }

  void count(verna_rdma_counter counter, uint64_t n = 1) { services.count(counter, n); }
  Trace& trace() { return services.env.trace; }
  void wake() { services.env.scheduler.wake(source); }

  /// Sends the frame that was built in the path's MAC. While the link is down it is lost.
  void commit(const BthFields& bth, uint32_t len);
  /// Writes a completion of this QP; fills id, timestamp. A CQ in error moves the QP to error.
  void complete(Cq* cq, verna_cqe* cqe, bool solicited, Nanos now);
  /// Reports an asynchronous event of this QP.
  void report(verna_event_type type);
  /// To ERR, if it is not there; the queue pair then flushes its queues as it gets its turn.
  void enter_error();
  /// UC and UD: a send request failed. The send queue stops and flushes, receiving goes on.
  void enter_send_error();
  /// To ERR for a reason that no completion can tell.
  void enter_fatal();
  /// To RESET: forgets that it was in error.
  void leave_error() { fatal_reported_ = false; }

 private:
  bool fatal_reported_ = false;
};

/// A completion with everything zero but these.
verna_cqe make_cqe(uint32_t wqe_index, uint8_t opcode, verna_cqe_status status);

}  // namespace verna
