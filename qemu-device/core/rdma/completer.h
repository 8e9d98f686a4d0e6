// SPDX-License-Identifier: GPL-2.0-or-later
// The completer: takes what the peer answers, and completes send requests in order.
#pragma once

#include "rdma/send_window.h"

namespace verna {

/// Handles acknowledgements, NAKs and responses of a reliable queue pair, and its retransmission
/// and RNR timers. Every completion of a send queue is written here.
class Completer {
 public:
  Completer(QpContext& context, SendWindow& window);

  /// A response or CNP whose headers and ICRC are right. Counts it.
  void receive(const RocePacket& packet, Nanos now);

  /// The requester put a packet on the wire: the answer is due in time.
  void on_sent(Nanos now);
  /// The oldest request is complete without an answer (UC).
  void finish_front(Nanos now);
  /// The oldest request failed; the queue goes to error.
  void fail_front(verna_cqe_status status, Nanos now);
  /// A request that never was in the window: done, or failed.
  void complete_local(uint32_t index, const SendWqe& wqe, Nanos now);
  void fail_local(uint32_t index, uint8_t cqe_opcode, verna_cqe_status status, Nanos now);

  /// Completes the oldest request of the window, or else the next of the queue, as flushed. There
  /// must be one.
  void flush_one(Nanos now);
  /// In SQD: reports once that all sent work is acknowledged.
  void check_drained();
  void want_drained_event() { drained_event_ = true; }

  void reset();

 private:
  void on_acknowledge(const RocePacket& packet, Nanos now);
  void on_rnr(const RocePacket& packet, Nanos now);
  void on_nak(const RocePacket& packet, Nanos now);
  void on_read_response(const RocePacket& packet, Nanos now);
  void on_atomic_response(const RocePacket& packet, Nanos now);

  bool acknowledge_before(uint32_t psn, Nanos now);
  bool is_next_response(const RocePacket& packet, bool atomic, Nanos now);
  verna_cqe_status check_read_response(const SendRequest& request, const RocePacket& packet) const;
  verna_cqe_status place(const SendRequest& request, uint64_t offset, const uint8_t* data,
                         uint32_t len);
  void missing(Nanos now);
  bool take_retry(Nanos now);
  void progress(Nanos now);
  void complete_front(verna_cqe_status status, Nanos now);
  void count_done(uint8_t wr_opcode);
  void bad_response(Nanos now);

  static void retry_timer_expired(void* self, Nanos now);
  static void rnr_timer_expired(void* self, Nanos now);
  void on_timeout(Nanos now);
  void start_retry_timer(Nanos now);

  QpContext& ctx_;
  SendWindow& window_;
  Timer retry_timer_;
  Timer rnr_timer_;
  uint8_t retries_left_ = 0;
  uint8_t rnr_left_ = 0;
  bool gap_handled_ = false;  // the response that is missing now was asked for again
  bool drained_event_ = false;

  SgeList response_sge_;  // segments of the request that responses are being placed for
  uint32_t response_index_ = 0;
  bool response_valid_ = false;
  uint64_t response_position_ = 0;
};

/// Pause that a RNR NAK's timer code asks for.
Nanos rnr_delay(uint8_t code);

}  // namespace verna
